"""Profiles of identities across paradigms and models."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from facevalue.errors import UnknownNameError
from facevalue.studies.vignette.comparisons import (
    ALONE,
    CONFLICTING,
    HIGH,
    LOW,
    MIXED,
    profile_correlations,
    profile_pattern,
)


def scores(*values: float | None, se: float = 2.0, clusters: int = 40, neutral: float = 50.0) -> pl.DataFrame:
    """One identity's scores, a paradigm each."""
    return pl.DataFrame(
        {
            "identity": ["old"] * len(values),
            "paradigm": [f"p{i}" for i in range(len(values))],
            "value": values,
            "se": [se] * len(values),
            "clusters": [clusters] * len(values),
            "neutral": [neutral] * len(values),
        },
        schema_overrides={"value": pl.Float64},
    )


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ((30.0, 30.0, 30.0, 30.0), LOW),
        ((70.0, 70.0), HIGH),
        ((30.0, 70.0, 50.0), CONFLICTING),
        ((30.0, 50.0), MIXED),
        ((50.0, 50.0), MIXED),
        ((30.0,), ALONE),
        ((30.0, None), ALONE),
    ],
)
def test_patterns(values: tuple[float | None, ...], says: str) -> None:
    assert profile_pattern(scores(*values), ["identity"])["pattern"].to_list() == [says]


def test_intervals_are_adjusted_for_the_number_of_paradigms() -> None:
    # 4.5 points are 2.25 standard errors: beyond t(39) at .05 (2.02), not beyond it at .05/4 (2.62).
    assert profile_pattern(scores(45.5, 45.5, 45.5, 45.5), ["identity"])["pattern"].to_list() == [MIXED]
    assert profile_pattern(scores(45.5, 45.5, se=1.9), ["identity"])["pattern"].to_list() == [LOW]


def test_neutral_is_what_the_score_is_compared_with() -> None:
    found = profile_pattern(scores(80.0, 80.0, neutral=90.0), ["identity"])
    assert found.select("pattern", "low", "high").row(0) == (LOW, ["p0", "p1"], [])


def test_what_never_varied_marks_nothing() -> None:
    assert profile_pattern(scores(0.0, 0.0, se=0.0), ["identity"])["pattern"].to_list() == [MIXED]
    assert profile_pattern(scores(0.0, 0.0, clusters=1), ["identity"])["pattern"].to_list() == [MIXED]


def test_scores_without_a_column_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Unknown column 'neutral'"):
        profile_pattern(scores(1.0).drop("neutral"), ["identity"])


@given(st.lists(st.floats(0, 100), min_size=2, max_size=4), st.floats(0.1, 20))
def test_mirrored_scores_have_the_mirrored_pattern(values: list[float], se: float) -> None:
    mirror = {LOW: HIGH, HIGH: LOW, CONFLICTING: CONFLICTING, MIXED: MIXED}
    mirrored = [100 - value for value in values]
    one = profile_pattern(scores(*values, se=se), ["identity"])["pattern"][0]
    assert profile_pattern(scores(*mirrored, se=se), ["identity"])["pattern"][0] == mirror[one]


def test_false_marks_are_rare_without_any_preference() -> None:
    rng = np.random.default_rng(2)
    frame = pl.concat([scores(*rng.normal(50, 2, 4)).with_columns(identity=pl.lit(f"i{k}")) for k in range(1500)])
    found = profile_pattern(frame, ["identity"])
    marked = ((found["low"].list.len() + found["high"].list.len()) > 0).mean()
    assert marked is not None
    assert 0.01 < float(marked) < 0.055  # type: ignore[arg-type]  # t(39) on normal noise: .044 expected, error .005
    assert (found["pattern"] == CONFLICTING).sum() <= 5


def test_correlations_are_those_of_scipy() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(50, 10, 25)
    y = x + rng.normal(0, 8, 25)
    found = profile_correlations(x, np.append(y[:-1], y[-1]), seed=0)
    assert found.value == pytest.approx([stats.pearsonr(x, y).statistic, stats.spearmanr(x, y).statistic])
    assert (found.low < found.value).all()
    assert (found.value < found.high).all()
    assert found.clusters.tolist() == [25, 25]


def test_the_interval_of_a_correlation_covers() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(200):
        x = rng.normal(size=26)
        found = profile_correlations(x, 0.6 * x + 0.8 * rng.normal(size=26), seed=1, resamples=400)
        hits += found.low[0] <= 0.6 <= found.high[0]
    assert 0.88 <= hits / 200 <= 0.98  # the size of the nationality dimension; error of .95 over 200: .015


@pytest.mark.parametrize("few", [0, 1, 2, 3])
def test_few_identities_have_no_interval(few: int) -> None:
    found = profile_correlations(np.arange(few, dtype=float), np.arange(few, dtype=float) ** 2, seed=0)
    assert np.isnan(found.low).all()
    assert all("fewer than 4" in method for method in found.method)


def test_a_profile_that_does_not_vary_correlates_with_nothing() -> None:
    found = profile_correlations(np.full(8, 50.0), np.arange(8, dtype=float), seed=0)
    assert np.isnan(found.value).all()


def test_unmeasured_identities_are_left_out() -> None:
    x, y = np.array([1.0, 2, 3, 4, np.nan, 9]), np.array([2.0, 1, 4, 3, 7, np.nan])
    assert profile_correlations(x, y, seed=0).n.tolist() == [4, 4]
