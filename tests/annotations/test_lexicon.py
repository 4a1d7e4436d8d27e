"""Word lists: reading, merging, counting."""

import json
from pathlib import Path

import polars as pl
import pytest

from facevalue.annotations import lexicon
from facevalue.annotations.counts import Tokeniser
from facevalue.annotations.lexicon import Lexicon
from facevalue.errors import DataError, UnknownNameError
from tests.reference import reference


def test_nested_lists_of_a_user_are_read_with_names_of_both_levels(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"woman": {"A": ["Quiet", "quiet", "shy"]}, "man": {"A": ["tall"]}}))
    found = lexicon.read(path)
    assert dict(found.lists) == {"woman/A": ("quiet", "shy"), "man/A": ("tall",)}
    assert found.name == "mine.json"


def test_a_toml_file_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "n"\nversion = "2"\nsource = "s"\n[lists]\nx = ["one"]\n')
    found = lexicon.read(path)
    assert (found.name, found.version, found.source, dict(found.lists)) == ("n", "2", "s", {"x": ("one",)})


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", "{", "not valid JSON"),
        ("a.toml", "x = ", "not valid TOML"),
        ("a.json", "[1]", "a table of names with words, not list"),
        ("a.json", "{}", "holds no word list"),
        ("a.json", '{"x": "word"}', "should be a list of words"),
        ("a.json", '{"x": []}', "should be a list of words"),
        ("a.json", '{"x": ["two words"]}', "single words"),
        ("a.json", '{"x": {"y": [3]}}', "list 'x/y' holds 3"),
        ("a.json", "[" * 100_000, "not valid JSON"),
    ],
)
def test_what_holds_no_lists_is_refused(tmp_path: Path, name: str, content: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError, match=says):
        lexicon.read(path)


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file"):
        lexicon.read(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xfa\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        lexicon.read(tmp_path / "b.toml")


DIMENSIONS = """word,dimension,sign
Able,competence,+1
smart kid,competence,1
virus,competence,1
lazy,ability,-1
of,competence,1
kind,warmth,1
kind,morality,low
tall,looks,0
"""


def _lists(folder: Path, text: str, name: str = "lists.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_words_are_put_under_their_dimension_and_sign(tmp_path: Path) -> None:
    found = lexicon.read(_lists(tmp_path, DIMENSIONS))
    assert dict(found.lists) == {
        "competence": ("able", "virus", "of"), "incompetence": ("lazy",), "warmth": ("kind",), "coldness": ("kind",),
    }  # fmt: skip
    assert found.phrases == ("smart kid",)


def test_one_word_a_line_is_a_list_of_the_files_name(tmp_path: Path) -> None:
    found = lexicon.read(_lists(tmp_path, "\ufeffHat\n\ntop hat\nhat\ntie\n", "Hats.txt"))
    assert (dict(found.lists), found.phrases) == ({"hats": ("hat", "tie")}, ("top hat",))


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
        lexicon.read(_lists(tmp_path, text))


def test_the_digest_follows_the_words_and_not_their_order() -> None:
    one = Lexicon("a", "1", "", {"x": ("b", "a"), "y": ("c",)})
    assert one.digest == Lexicon("other", "2", "", {"y": ("c",), "x": ("a", "b")}).digest
    assert one.digest != Lexicon("a", "1", "", {"x": ("b",), "y": ("c",)}).digest


def test_what_is_shipped_is_lower_case_and_found_by_name() -> None:
    words = [word for entries in lexicon.shipped_lexicon("group_words").lists.values() for word in entries]
    assert words == [word.lower() for word in words]
    assert {"hijab", "she", "asian"} & set(words) == {"she", "asian"}  # clothes are findings, not names of groups
    with pytest.raises(UnknownNameError, match="Did you mean 'group_words'"):
        lexicon.shipped_lexicon("group_word")


def test_unknown_lists_cannot_be_merged() -> None:
    with pytest.raises(UnknownNameError, match="woman"):
        Lexicon("a", "1", "", {"woman": ("x",)}).merge_lists({"g": ["womann"]})


LISTS = Lexicon("l", "1", "", {"one": ("hat", "dark-skinned"), "two": ("hat",), "none": ("xyz",)})


def test_hits_count_tokens_and_a_word_may_be_in_two_lists() -> None:
    frame = pl.DataFrame({"said": ["A hat, the hat's dark-skinned owner", None, "nothing", "?!"]})
    found = lexicon.count(frame, "said", LISTS)
    assert found.rows() == [(6, 3, 2, 0), (None,) * 4, (1, 0, 0, 0), (0, 0, 0, 0)]


def test_hyphenated_entries_never_match_as_published() -> None:
    frame = pl.DataFrame({"said": ["dark-skinned"]})
    assert lexicon.count(frame, "said", LISTS, Tokeniser.STEREOTYPE)["one"].to_list() == [0]


def test_a_frame_without_texts_or_hits_has_all_columns() -> None:
    assert lexicon.count(pl.DataFrame({"said": []}, schema={"said": pl.String}), "said", LISTS).columns == [
        "tokens", "one", "two", "none",
    ]  # fmt: skip
    assert lexicon.count(pl.DataFrame({"said": ["", "a"]}), "said", LISTS).rows() == [(None,) * 4, (1, 0, 0, 0)]


def test_stereotype_rates_of_the_released_descriptions_are_those_published() -> None:
    """Table 8: a race's lists are those of its people, men and women; a gender's are all lists of it."""
    frame = pl.read_parquet(reference("visbias", "descriptions_gpt-4o.parquet"))
    expected = [e for e in json.loads(reference("visbias", "expected.json").read_text()) if e["table"] == "8"]
    given = lexicon.read(reference("visbias", "stereotype_words.json"))
    races = {"asian": "Asian", "black": "Black", "latino": "Latino", "ME": "Middle-Eastern", "white": "White"}
    lists = {race: [f"{kind}/{name}" for kind in ("person", "man", "woman")] for race, name in races.items()}
    lists |= {g: [n for n in given.lists if n.startswith(f"{k}/")] for g, k in (("female", "woman"), ("male", "man"))}
    found = frame.hstack(lexicon.count(frame, "text", given.merge_lists(lists), Tokeniser.STEREOTYPE))
    assert len(expected) == 7
    for cell in expected:
        group = cell["column"]
        own = found.filter(pl.col("gender" if group.endswith("male") else "race") == group)
        rate = 1000 * own[group].sum() / own["tokens"].sum()
        assert rate == pytest.approx(cell["value"], abs=cell["tolerance"]), group
