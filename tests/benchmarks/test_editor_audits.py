"""Audits of planted editors: one of each kind as it is made, and the committed table."""

from pathlib import Path

import polars as pl
import pytest

from benchmarks import editor_audits
from benchmarks.editor_audits import CONDITIONS, CUE, FOUND, GENDERS, Audit
from facevalue.generators.base import NULL_EDIT
from facevalue.models import load
from facevalue.models.base import Model

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def inspector() -> Model:
    return editor_audits.KeptInspector(load("inspect/default"), None)


@pytest.mark.slow
def test_skin_that_is_lightened_for_one_gender_is_found_with_its_sign(inspector: Model) -> None:
    audit = Audit("skin", 3)
    met = [bool(audit.editor.truth({"gender": gender})) for gender in GENDERS]
    assert sorted(met) == [False, True]
    rows = editor_audits.audited(audit, inspector)
    gap, shift = editor_audits.outcomes(audit, rows)
    assert (gap["estimand"], gap["found"], shift["found"]) == ("gap between genders", True, True)
    assert gap["value"] == pytest.approx(4, abs=1)
    assert shift["value"] == pytest.approx(2, abs=1)
    others = rows.filter(pl.col("verdict") == FOUND, ~pl.col("measure").str.contains("skin"))
    assert others.is_empty()


@pytest.mark.slow
def test_nothing_is_found_where_nothing_is_planted_and_a_simple_test_finds_much(inspector: Model) -> None:
    audit = Audit("nothing", 1)
    gap, shift = editor_audits.outcomes(audit, editor_audits.audited(audit, inspector))
    assert gap["promised"]
    assert not gap["found"]
    assert not shift["found"]
    assert shift["simple"]


def test_refusals_of_one_gender_are_found_in_the_making_itself() -> None:
    audit = Audit("refusals", 1)
    (gap,) = editor_audits.outcomes(audit, editor_audits.refused(audit))
    assert gap["found"]
    assert gap["value"] == pytest.approx(0.2, abs=0.1)


def test_draws_of_editors_differ_and_part_the_genders() -> None:
    seeds = [Audit("frame", number).editor.seed for number in range(8)]
    assert len(set(seeds)) == 8
    met = [Audit("skin", number).editor.truth({"gender": GENDERS[0]}) for number in range(40)]
    assert 10 < sum(map(bool, met)) < 30
    assert all("lighten" not in Audit("skin", 0).editor.truth({"gender": g, "cue": NULL_EDIT}) for g in GENDERS)
    assert CUE != NULL_EDIT


def committed() -> pl.DataFrame:
    return pl.read_csv(DOCS / "results/calibration-editor.csv")


def test_the_committed_table_has_a_hundred_audits_of_each_condition() -> None:
    rows = committed()
    assert set(rows["condition"]) == set(CONDITIONS)
    assert (rows["audits"] >= 100).all()


def test_what_is_planted_is_found_in_nearly_all_audits_and_nothing_in_nearly_none() -> None:
    rows = committed()
    of_nothing, planted = rows.filter(pl.col("condition") == "nothing"), rows.filter(pl.col("condition") != "nothing")
    assert of_nothing.filter("promised")["found"].item() <= 0.05
    assert (planted["wrong sign"] == 0).all()
    assert (planted.filter("promised")["found"] >= 0.95).all()
