"""Audits of scorers, taken from scores that a run keeps."""

from pathlib import Path

import pytest

from facevalue.annotations import scores
from facevalue.annotations.scorers import LexicalHostility
from facevalue.annotations.scoring import score_texts
from facevalue.errors import DataError
from facevalue.measures.judges import AUDIT_TEMPLATES, audit_of_run, audit_scorer, audit_texts, largest_shift
from tests.annotations.test_scoring import Lengths, pieces

GROUPS = {"Black male": "Black man", "old Asian": "old Asian person"}


def kept(folder: Path, scorer: Lengths | LexicalHostility, texts: list[str]) -> scores.Scores:
    score_texts(folder, scorer, pieces(texts))
    (found,) = scores.read(folder)
    return found


def test_an_audit_of_stored_scores_finds_how_far_words_of_a_group_move_each_label(tmp_path: Path) -> None:
    found = audit_of_run(kept(tmp_path, Lengths(), audit_texts(GROUPS)), GROUPS)
    assert found.columns == ["label", "group", "shift", "low", "high", "n", "method", "detail"]
    by = {(label, group): shift for label, group, shift in found.select("label", "group", "shift").iter_rows()}
    assert by["length", "Black male"] == len("Black man") - len("person")
    assert by["length", "old Asian"] == len("old Asian person") - len("person")
    assert set(found["n"]) == {len(AUDIT_TEMPLATES)}
    assert largest_shift(found).select("label", "group").rows()[0] == ("length", "old Asian")


def test_a_scorer_that_looks_at_no_group_word_has_no_shift(tmp_path: Path) -> None:
    found = audit_of_run(kept(tmp_path, LexicalHostility(), audit_texts(GROUPS)), GROUPS)
    assert found["shift"].to_list() == [0.0, 0.0]


def test_sentences_without_a_score_are_left_out_and_none_is_not_measurable(tmp_path: Path) -> None:
    texts = audit_texts(GROUPS)
    none = [text for text in texts if "old Asian" in text]

    found = audit_of_run(kept(tmp_path, Lengths(), [text for text in texts if text not in none][:-1]), GROUPS)
    rows = {
        (label, group): (shift, n) for label, group, shift, n in found.select("label", "group", "shift", "n").rows()
    }
    assert rows["length", "Black male"] == (3.0, len(AUDIT_TEMPLATES) - 1)
    assert rows["length", "old Asian"] == (None, 0)
    assert "old Asian" not in set(largest_shift(found)["group"])


def test_an_audit_without_groups_has_no_rows(tmp_path: Path) -> None:
    empty = audit_of_run(kept(tmp_path, Lengths(), ["a"]), {})
    assert empty.is_empty()
    assert empty.columns == ["label", "group", "shift", "low", "high", "n", "method", "detail"]
    assert largest_shift(empty).is_empty()
    with pytest.raises(DataError, match="needs groups"):
        audit_scorer(lambda texts: [0.0] * len(texts), {})
