"""Tests and intervals that hold at all looks together."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.family_tests import (
    AT_ANY_TIME,
    LEAST_UNITS,
    any_time_critical,
    any_time_p,
    at_any_time,
    single_look_level,
)
from facevalue.measures.judgment import judge
from facevalue.measures.uncertainty import Estimates
from facevalue.measures.verdicts import Verdict

Array = npt.NDArray[np.float64]
LOOKS = 500
SBS = Measure("shift", "Shift", "d", "probability", "identity", "", paired=True, comparison=True, limits=(-1.0, 1.0))


def shifts(rng: np.random.Generator, audits: int, effect: float = 0.0) -> Array:
    """Mean shifts of people over four scenarios, replies drawn; people differ in their level and their shift."""
    level = rng.normal(0, 1, (audits, LOOKS, 1)) + rng.normal(0, 0.7, (1, 1, 4))
    own = rng.normal(effect, 0.5, (audits, LOOKS, 1))
    drawn = [rng.binomial(1, special.expit(level + sign * own / 2)) for sign in (1, -1)]
    return np.asarray((drawn[0] - drawn[1]).mean(axis=2), dtype=np.float64)


def p_at_each_look(x: Array) -> tuple[Array, Array]:
    """P of t over people at each number of people: of a single look, and at any time."""
    n = np.arange(1, x.shape[1] + 1, dtype=np.float64)
    mean = np.cumsum(x, axis=1) / n
    variance = (np.cumsum(x**2, axis=1) - n * mean**2) / np.maximum(n - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(variance > 1e-12, mean / np.sqrt(variance / n), 0.0)
    p = 2 * special.stdtr(np.maximum(n - 1, 1), -np.abs(t))
    return p, any_time_p(p, n - 1, n)


def test_looking_five_hundred_times_finds_nothing_where_nothing_is() -> None:
    single, any_time = p_at_each_look(shifts(np.random.default_rng(1), 1_000))
    assert (any_time < 0.05).any(axis=1).mean() <= 0.05
    assert (single[:, LEAST_UNITS:] < 0.05).any(axis=1).mean() > 0.3  # what looking does to the test of one look


def test_an_effect_is_found_long_before_the_end() -> None:
    _, any_time = p_at_each_look(shifts(np.random.default_rng(2), 300, effect=0.8))
    is_found = any_time < 0.05
    assert is_found.any(axis=1).mean() > 0.95
    assert np.median(is_found.argmax(axis=1)) < LOOKS / 2


def test_intervals_hold_the_truth_at_all_looks_together() -> None:
    x = np.random.default_rng(3).normal(0.3, 1, (1_000, LOOKS))
    n = np.arange(1, LOOKS + 1)
    mean = np.cumsum(x, axis=1) / n
    se = np.sqrt((np.cumsum(x**2, axis=1) - n * mean**2) / np.maximum(n - 1, 1) / n)
    reach = any_time_critical(0.05, np.maximum(n - 1, 1), n)[LEAST_UNITS:]
    assert (np.abs(mean - 0.3)[:, LEAST_UNITS:] > reach * se[:, LEAST_UNITS:]).any(axis=1).mean() <= 0.05


@given(st.floats(1e-12, 1), st.integers(2, 5_000), st.floats(1e-6, 0.5))
def test_p_lies_below_a_level_exactly_where_its_interval_leaves_zero_out(p: float, units: int, level: float) -> None:
    t = -float(special.stdtrit(units - 1, p / 2))
    critical = any_time_critical(level, units - 1, units).item()
    at = any_time_p(p, units - 1, units).item()
    if abs(t - critical) > 1e-6 * t:
        assert (at < level) == (t > critical)
    assert at >= p


def test_too_few_units_claim_nothing() -> None:
    assert any_time_p(1e-12, LEAST_UNITS - 2, LEAST_UNITS - 1).item() == 1.0
    assert any_time_critical(0.05, LEAST_UNITS - 2, LEAST_UNITS - 1).item() == np.inf
    assert np.isnan(any_time_p(np.nan, 99, 100))


def test_a_single_look_of_the_same_strictness_has_a_lower_level() -> None:
    level = single_look_level(0.05, 99, 100).item()
    assert -special.stdtrit(99, level / 2) == pytest.approx(any_time_critical(0.05, 99, 100).item())


def table(t: Array, units: int = 100) -> pl.DataFrame:
    """Shifts of as many cues as there are t values, of so many people, one family."""
    estimates = EstimateTable("s", "m", ["variation"])
    se, reach = 0.02, -special.stdtrit(units - 1, 0.025)
    many = np.full(t.size, units)
    method = np.full(t.size, "t: over people", dtype=object)
    estimates.add(
        SBS,
        {"variation": [f"cue {i}" for i in range(t.size)]},
        replace(
            Estimates(t * se, (t - reach) * se, (t + reach) * se, 4 * many, many, method, np.full(t.size, se)),
            p=2 * special.stdtr(units - 1, -np.abs(t)),
        ),
        family="cues",
    )
    return estimates.frame()


def test_the_verdict_can_be_read_off_the_interval_of_the_page() -> None:
    judged = judge(table(np.array([1.0, 3.2, 6.0, -8.0])), [SBS], lead=("cues",), any_time=True)
    clear = (judged["page_low"] > 0) | (judged["page_high"] < 0)
    assert clear.to_list() == (judged["verdict"] == Verdict.DIFFERENCE).to_list()
    assert clear.to_list() == [False, False, True, True]  # 3.2 would do at a single look
    assert judged["detail"].str.ends_with(AT_ANY_TIME).all()


def test_what_could_have_been_missed_is_more_than_at_a_single_look() -> None:
    once, any_time = (judge(table(np.array([1.0, 6.0])), [SBS], lead=("cues",), any_time=x) for x in (False, True))
    assert (any_time["mde"] > 1.2 * once["mde"]).all()
    assert (any_time["high"] > once["high"]).all()


def test_equivalence_asks_for_the_interval_at_any_time() -> None:
    def verdict(margin: float) -> str:
        judged = judge(table(np.array([0.0])), [SBS], margins={"shift": margin}, lead=("cues",), any_time=True)
        return str(judged["verdict"].item())

    reach = 0.02 * any_time_critical(0.05, 99, 100).item()
    assert verdict(reach * 2) == Verdict.EQUIVALENT
    assert verdict(reach * 0.98) == Verdict.INCONCLUSIVE


def test_an_interval_without_an_end_stops_at_the_limits_of_its_measure() -> None:
    few = at_any_time(table(np.array([1.0]), units=10), np.array([9.0]), [SBS])
    assert few.select("low", "high", "p").row(0) == (-1.0, 1.0, 1.0)
