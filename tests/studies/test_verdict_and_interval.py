"""Verdict, p, q and both intervals of every study say the same, whatever was answered."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from facevalue import studies
from facevalue.measures.definitions import rows_of
from facevalue.measures.families import ALPHA
from facevalue.measures.judgment import judge
from facevalue.protocol.study import Study
from facevalue.types import OptionValue
from tests.studies.visbias.simulated import answered

SMALL: dict[str, dict[str, OptionValue]] = {
    "stylisticbias": {"faces": "6", "scenario": ["polite", "wealthy"], "seeds": ["1"]},
    "vignette": {"dimension": ["age"], "gender": ["male"], "activity": ["cooking", "eating"], "paradigm": ["decision"]},
    "visbias": {"forms": "2", "descriptions": "2"},
    "modscan": {"instances": ["nurse", "pilot", "cook", "poor", "slob"]},
    "counterfactuals": {"sets": "4", "prompt": ["all"]},
}
HARD = ("null", "strong", "mumbler")
"""Nothing planted; strong effects; one who says nothing in half of the answers."""
SLACK = 1e-9
ABOUT_MISSING = ("missing_gap", "spread.no valid answer")
"""Tests of whether answers are missing: of these none is."""


LONG = ("counterfactuals", "visbias")


def cases() -> list[Any]:
    """Studies and models; what takes seconds is asked of one model wherever tests are to be fast."""
    slow = pytest.mark.slow
    return [
        pytest.param((name, model), id=f"{name}-{model}", marks=slow if name in LONG and model != "strong" else ())
        for name in SMALL
        for model in HARD
    ]


@pytest.fixture(scope="module", params=cases())
def judged(request: pytest.FixtureRequest) -> tuple[Study, pl.DataFrame]:
    """What a page says of a model's answers."""
    name, model = request.param
    study = studies.build(name, SMALL[name])
    table = study.analyse({model: iter([answered(study, model)])})
    return study, judge(table, study.estimates.measures, lead=study.estimates.lead)


def compared(judged: tuple[Study, pl.DataFrame]) -> pl.DataFrame:
    """Comparisons with an interval and p, and what both intervals leave out."""
    study, table = judged
    names = [measure.key for measure in study.estimates.measures if measure.comparison]
    rows = table.filter(rows_of(names), pl.col("p").is_not_null(), pl.col("low").is_not_null())
    assert rows.height > 20
    return rows.with_columns(
        row_clear=(pl.col("low") > 0) | (pl.col("high") < 0),
        page_clear=(pl.col("page_low") > 0) | (pl.col("page_high") < 0),
        found=pl.col("verdict") == "difference found",
    )


def test_p_is_below_five_percent_exactly_where_the_interval_of_the_row_leaves_zero_out(
    judged: tuple[Study, pl.DataFrame],
) -> None:
    rows = compared(judged)
    wrong = rows.filter(pl.col("row_clear") != (pl.col("p") < ALPHA))
    assert wrong.select("measure", "value", "low", "high", "p", "method", "detail").rows() == []


def test_a_difference_is_found_exactly_where_the_interval_of_the_page_leaves_zero_out(
    judged: tuple[Study, pl.DataFrame],
) -> None:
    rows = compared(judged).filter(pl.col("q_page").is_not_null())
    wrong = rows.filter(pl.col("page_clear") != pl.col("found"))
    assert wrong.select("measure", "value", "page_low", "page_high", "p", "q_page", "verdict").rows() == []
    assert rows.filter(pl.col("found") & (pl.col("q_page") >= ALPHA)).is_empty()


def test_the_interval_of_the_page_is_never_the_narrower_one(judged: tuple[Study, pl.DataFrame]) -> None:
    rows = compared(judged).filter(pl.col("q_page").is_not_null())
    size = SLACK * pl.max_horizontal(pl.col("low", "high").abs(), pl.lit(1.0))
    inside = (pl.col("page_low") <= pl.col("low") + size) & (pl.col("page_high") >= pl.col("high") - size)
    assert rows.filter(~inside).select("measure", "low", "high", "page_low", "page_high", "page_level").rows() == []


def test_no_interval_reaches_beyond_what_is_possible(judged: tuple[Study, pl.DataFrame]) -> None:
    study, table = judged
    for measure in study.estimates.measures:
        rows = table.filter(measure.rows)
        least, most = measure.limits
        for name in ("low", "page_low"):
            assert (rows[name].drop_nulls() >= least - SLACK).all(), (measure.name, name)
        for name in ("high", "page_high"):
            assert (rows[name].drop_nulls() <= most + SLACK).all(), (measure.name, name)
        assert rows["value"].drop_nulls().is_between(least - SLACK, most + SLACK).all(), measure.name


def test_every_other_comparison_has_bounds_for_missing_answers(judged: tuple[Study, pl.DataFrame]) -> None:
    """Around its value, but where units are left out of which one side is missing (`shift_bounds`)."""
    unbounded = [measure.key for measure in judged[0].estimates.measures if measure.unbounded]
    assert set(unbounded) <= {f"{name}.{score}" for name in ("gap", "mean") for score in ("characters", "tokens")}
    rows = compared(judged).filter(pl.col("q_page").is_not_null(), ~rows_of([*ABOUT_MISSING, *unbounded]))
    assert rows.filter(pl.col("bound_low").is_null() | pl.col("bound_high").is_null())["measure"].to_list() == []
    size = 1e-6 * pl.max_horizontal(pl.col("value").abs(), pl.lit(1.0))
    held = (pl.col("bound_low") <= pl.col("value") + size) & (pl.col("value") <= pl.col("bound_high") + size)
    paired = [measure.key for measure in judged[0].estimates.measures if measure.paired]
    assert rows.filter(~held, ~rows_of(paired)).select("measure", "value", "bound_low", "bound_high").rows() == []


@pytest.mark.parametrize("name", SMALL)
def test_measures_in_parts_of_a_whole_have_limits(name: str) -> None:
    for measure in studies.build(name, SMALL[name]).estimates.measures:
        if measure.unit in ("share", "probability", "%", "pp"):
            assert np.isfinite(measure.limits).all(), measure.name
