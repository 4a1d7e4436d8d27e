"""Which observations belong together, and whether a scorer can be trusted."""

import math

import polars as pl
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cells import UNIT_KEYS, number_clusters
from facevalue.measures.judges import AUDIT_TEMPLATES, audit_scorer
from facevalue.studies.stylisticbias.measures import MEASURES

WORDS = {"Black man": "Black man", "woman": "woman"}


def test_rows_of_one_identity_are_one_cluster_wherever_they_stand() -> None:
    codes, names = number_clusters(pl.DataFrame({"identity": ["x", "y", "x", "z", "y"]}), "identity")
    assert codes.tolist() == [0, 1, 0, 2, 1]
    assert names == ["x", "y", "z"]


def test_a_pair_is_one_cluster_whichever_side_its_pictures_are_on() -> None:
    frame = pl.DataFrame({"image_1": ["a", "b", "a"], "image_2": ["b", "a", "c"]})
    assert number_clusters(frame, "picture pair")[0].tolist() == [0, 0, 1]


def test_every_measure_names_a_unit() -> None:
    assert {m.cluster for m in MEASURES} <= set(UNIT_KEYS)


def test_unknown_units_and_missing_columns_are_named() -> None:
    with pytest.raises(UnknownNameError, match="identity"):
        number_clusters(pl.DataFrame({"identity": ["x"]}), "identiy")
    with pytest.raises(UnknownNameError, match="identity"):
        number_clusters(pl.DataFrame({"face": ["x"]}), "identity")


def test_a_fair_scorer_shifts_nothing() -> None:
    found = audit_scorer(lambda texts: [0.3] * len(texts), WORDS)
    assert found["shift"].to_list() == [0.0, 0.0]
    assert found["n"].to_list() == [len(AUDIT_TEMPLATES)] * 2


def test_a_scorer_that_hears_a_group_is_found_out() -> None:
    found = audit_scorer(lambda texts: [0.1 + 0.3 * ("Black" in t) + 0.01 * (len(t) % 5) for t in texts], WORDS)
    black, woman = found.rows(named=True)
    assert black["low"] > 0.2
    assert woman["low"] < 0.02
    assert black["low"] <= black["shift"] <= black["high"]


def test_scores_that_are_missing_are_left_out_and_never_zero() -> None:
    found = audit_scorer(lambda texts: [math.nan if "woman" in t else 0.2 for t in texts], WORDS)
    assert found["shift"].to_list() == [0.0, None]


@pytest.mark.parametrize(
    ("groups", "templates"), [({}, AUDIT_TEMPLATES), (WORDS, ["One {group}."]), (WORDS, ["A {group}.", "no place"])]
)
def test_audits_that_could_say_nothing_are_refused(groups: dict[str, str], templates: list[str]) -> None:
    with pytest.raises(DataError, match="at least two sentences"):
        audit_scorer(lambda texts: [0.0] * len(texts), groups, templates=templates)


def test_a_scorer_with_too_few_scores_is_refused() -> None:
    with pytest.raises(DataError, match="1 scores"):
        audit_scorer(lambda texts: [0.0], WORDS)
