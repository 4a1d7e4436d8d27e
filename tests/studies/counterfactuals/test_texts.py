"""Word lists of the study: ours, and the user's as released or clean."""

from pathlib import Path

from facevalue.studies.counterfactuals.settings import CLEAN
from facevalue.studies.counterfactuals.texts import stop_words, word_lists

LISTS = """word,dimension,sign
Able,competence,+1
virus,competence,1
of,competence,1
kind,warmth,1
kind,morality,low
"""


def test_the_clean_variant_leaves_out_what_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text(LISTS)
    released = dict(word_lists(str(tmp_path / "lists.csv")).lists)
    assert released == {"competence": ("able", "virus", "of"), "warmth": ("kind",), "coldness": ("kind",)}
    clean = dict(word_lists(str(tmp_path / "lists.csv"), CLEAN).lists)
    assert clean == {"competence": ("able",), "warmth": (), "coldness": ()}


def test_our_lists_have_each_word_on_one_list_and_no_stop_word() -> None:
    words = [word for own in word_lists().lists.values() for word in own]
    assert len(words) == len(set(words)) > 150
    assert not set(words) & stop_words()
