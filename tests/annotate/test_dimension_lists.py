"""Word lists of dimensions, ours and the user's."""

from pathlib import Path

import pytest

from facevalue.annotate import dimension_lists
from facevalue.errors import DataError, UnknownNameError

RELEASED = """word,dimension,sign
Able,competence,+1
smart kid,competence,1
virus,competence,1
lazy,ability,-1
of,competence,1
kind,warmth,1
kind,morality,low
tall,looks,0
"""


def _file(folder: Path, text: str, name: str = "lists.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_words_are_put_under_their_dimension_and_sign(tmp_path: Path) -> None:
    found = dimension_lists.read(_file(tmp_path, RELEASED))
    assert dict(found.lexicon.lists) == {
        "competence": ("able", "virus", "of"), "incompetence": ("lazy",), "warmth": ("kind",), "coldness": ("kind",),
    }  # fmt: skip
    assert found.phrases == ("smart kid",)
    assert found.left_out == ()


def test_the_clean_variant_leaves_out_what_says_nothing(tmp_path: Path) -> None:
    found = dimension_lists.read(_file(tmp_path, RELEASED), "clean")
    assert found.lexicon.lists["competence"] == ("able",)
    assert found.left_out == ("kind", "of", "virus")


def test_one_word_a_line_is_a_list_of_the_files_name(tmp_path: Path) -> None:
    found = dimension_lists.read(_file(tmp_path, "\ufeffHat\n\ntop hat\nhat\ntie\n", "Hats.txt"))
    assert (dict(found.lexicon.lists), found.phrases) == ({"hats": ("hat", "tie")}, ("top hat",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no word"),
        ("word,dimension\nable,competence\n", "column 'sign' is missing"),
        ("word,dimension,sign\nable,competence,often\n", "line 2: the sign 'often'"),
        ("word,dimension,sign\nvery able,competence,1\n", "holds no word"),
    ],
)
def test_files_that_are_no_lists_are_errors(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        dimension_lists.read(_file(tmp_path, text))


def test_a_variant_that_there_is_not_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="released"):
        dimension_lists.read(_file(tmp_path, RELEASED), "release")


def test_our_lists_have_each_word_on_one_list_and_no_stop_word() -> None:
    words = [word for own in dimension_lists.ours().lexicon.lists.values() for word in own]
    assert len(words) == len(set(words)) > 150
    assert not set(words) & dimension_lists.stop_words()
