"""Intervals at the level at which the page judges each row."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import estimate_schema
from facevalue.measures.families import parse_preregistration
from facevalue.measures.judgment import judge, row_levels
from facevalue.measures.multitest import ADJUSTMENTS, adjust_p, p_thresholds

ALPHA = 0.05
SHIFT = Measure("shift", "shift", "mean", "probability", "face", "", paired=True, comparison=True, limits=(-1.0, 1.0))
SPREAD = Measure("spread", "spread", "sd", "probability", "face", "", signed=False, comparison=True, limits=(0.0, 1.0))
SCHEMA = estimate_schema(["cue"])


@given(st.integers(0, 2**32), st.integers(1, 14), st.sampled_from(ADJUSTMENTS))
def test_a_test_is_found_below_its_threshold_and_not_above(seed: int, tests: int, method: str) -> None:
    """Each p in turn is moved to either side of its threshold, the others staying where they are."""
    rng = np.random.default_rng(seed)
    p = rng.random(tests) ** rng.integers(1, 6)
    edges = p_thresholds(p, method, ALPHA)
    for i, edge in enumerate(edges):
        for moved, found in ((edge * (1 - 1e-6), True), (min(edge * (1 + 1e-6), 1.0), False)):
            others = p.copy()
            others[i] = moved
            assert (adjust_p(others, method)[i] < ALPHA) == found


def test_a_missing_p_is_no_test_and_has_no_threshold() -> None:
    assert np.isnan(p_thresholds(np.array([np.nan]), "holm", ALPHA)).all()
    assert p_thresholds(np.array([0.02, np.nan]), "holm", ALPHA)[0] == ALPHA


def t_rows(
    rng: np.random.Generator, family: str, effects: list[float], faces: int, measure: str
) -> list[dict[str, object]]:
    """Rows of t tests over faces with these effects, an asymmetric interval for some."""
    rows: list[dict[str, object]] = []
    for number, effect in enumerate(effects):
        x = np.clip(effect + 0.2 * rng.standard_normal(faces), -1, 1)
        mean, se = float(x.mean()), float(x.std(ddof=1) / np.sqrt(faces))
        reach = float(stats.t.ppf(0.975, faces - 1)) * se
        p = float(2 * stats.t.sf(abs(mean) / se, faces - 1))
        row: dict[str, object] = {
            "measure": measure,
            "model": "m",
            "cue": f"{family}{number}",
            "family": family,
            "p": p,
        }
        row |= {"value": mean, "low": mean - reach, "high": mean + reach * (1.7 if number % 2 and mean > 0 else 1.0)}
        if measure == "spread":
            clear = mean > 0 and p < ALPHA
            row |= {"value": abs(mean), "low": abs(mean) / 3 if clear else 0.0, "high": 3 * abs(mean)}
            row |= {
                "p": p if clear else max(p, ALPHA),
                "floor": 0.01,
                "floor_high": abs(mean) * (0.9 if clear else 1.1),
            }
        rows.append(row | {"se": se, "n": 10 * faces, "clusters": faces, "level": 0.95, "unit": "probability"})
    q = adjust_p(np.array([row["p"] for row in rows], dtype=float), "bh")
    return [row | {"q": float(own)} for row, own in zip(rows, q, strict=True)]


def table(rows: list[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame([{name: row.get(name) for name in SCHEMA} for row in rows], schema=SCHEMA)


def agree(judged: pl.DataFrame) -> pl.DataFrame:
    """Rows that were tested, with what their intervals say."""
    left_out = (pl.col("page_low") > 0) | (pl.col("page_high") < 0)
    return judged.filter(pl.col("q_page").is_not_null()).with_columns(
        found=pl.col("verdict") == "difference found",
        left_out=left_out,
        row_left_out=(pl.col("low") > 0) | (pl.col("high") < 0),
    )


@given(st.integers(0, 2**32), st.integers(2, 30), st.sampled_from([0.0, 0.1, 0.3, 0.8]), st.booleans())
def test_a_difference_is_found_exactly_where_the_interval_of_the_page_leaves_zero_out(
    seed: int, faces: int, effect: float, declared: bool
) -> None:
    rng = np.random.default_rng(seed)
    effects = [0.0, effect, 0.0, -effect, effect / 2, 0.0]
    rows = t_rows(rng, "lead", effects, faces, "shift") + t_rows(rng, "beside", effects[:4], faces, "shift")
    rows += t_rows(rng, "spreads", effects[:3], faces, "spread")
    text = b'[[family]]\nname = "one"\nmeasure = "shift"\nalpha = 0.01\n[family.where]\ncue = ["lead1", "lead2"]\n'
    registered = parse_preregistration(text) if declared else None
    judged = agree(judge(table(rows), (SHIFT, SPREAD), registered, lead=("lead",)))
    assert judged.height == len(rows)
    assert (judged["left_out"] == judged["found"]).all()
    assert (judged["row_left_out"] == (judged["p"] < ALPHA)).all()
    assert (judged["q_page"] >= judged["q"] - 1e-12).all()
    assert judged.select((pl.col("page_low") <= pl.col("low").clip(-1, 1) + 1e-12).all()).item()
    assert judged.select((pl.col("page_high") >= pl.col("high").clip(-1, 1) - 1e-12).all()).item()
    assert judged.select((pl.col("page_low") >= -1).all() & (pl.col("page_high") <= 1).all()).item()


def test_for_t_it_is_the_interval_of_t_at_the_level_of_the_page() -> None:
    rows = t_rows(np.random.default_rng(3), "cues", [0.0, 0.3], 12, "shift")
    judged = judge(table([rows[0]]), (SHIFT,)).row(0, named=True)
    assert judged["page_level"] == pytest.approx(0.95)
    assert (judged["page_low"], judged["page_high"]) == pytest.approx((judged["low"], judged["high"]))
    many = judge(table([rows[0] | {"cue": str(i)} for i in range(5)]), (SHIFT,)).row(0, named=True)
    assert many["page_level"] == pytest.approx(0.99)
    reach = float(stats.t.ppf(0.995, 11)) * rows[0]["se"]  # type: ignore[operator]
    assert many["page_high"] - many["value"] == pytest.approx(reach)


def test_where_the_largest_of_all_shuffles_decides_it_agrees_as_well() -> None:
    """q is twice the smaller of Benjamini-Hochberg's and of max-T's, which is no step of p."""
    p = np.array([0.0004, 0.0006, 0.02, 0.4])
    q = np.minimum(2 * np.fmin(adjust_p(p, "bh"), [0.002, 0.03, 0.01, 0.9]), 1.0)
    rows = t_rows(np.random.default_rng(3), "words", [0.3] * 4, 12, "shift")
    rows = [row | {"p": float(a), "q": float(b)} for row, a, b in zip(rows, p, q, strict=True)]
    judged = agree(judge(table(rows), (SHIFT,)))
    assert judged["found"].to_list() == [True, True, True, False]
    assert (judged["left_out"] == judged["found"]).all()


def test_a_value_below_its_floor_is_not_left_out_whatever_its_p() -> None:
    row = t_rows(np.random.default_rng(3), "spreads", [0.9], 12, "spread")[0] | {"floor_high": 0.99, "value": 0.9}
    judged = agree(judge(table([row]), (SPREAD,)))
    assert judged["q_page"][0] < ALPHA
    assert judged["found"].to_list() == judged["left_out"].to_list() == [False]


def test_what_the_page_does_not_test_has_no_interval_of_the_page() -> None:
    row = t_rows(np.random.default_rng(3), "cues", [0.3], 12, "shift")[0]
    for lacking in ("p", "family", "low"):
        judged = judge(table([row | {lacking: None}]), (SHIFT,))
        assert judged.select("page_low", "page_high", "page_level").row(0) == (None, None, None)


def test_units_that_all_agree_and_are_found_by_their_signs_keep_their_value() -> None:
    row = t_rows(np.random.default_rng(3), "cues", [0.3], 12, "shift")[0]
    judged = agree(judge(table([row | {"value": 0.3, "low": 0.3, "high": 0.3, "p": 0.0005, "q": 0.0005}]), (SHIFT,)))
    assert judged["found"].to_list() == judged["left_out"].to_list() == [True]


@pytest.mark.filterwarnings("error")
def test_a_p_value_of_zero_is_no_division_by_zero() -> None:
    """p as small as floats go, with q as small: what is kept of the level is kept by the other rows alone."""
    p, q = np.array([0.0, 0.01, 0.7]), np.array([0.0, 0.06, 0.8])
    levels = row_levels(p, q, q < ALPHA, np.zeros(3, dtype=int), ["bh"], np.full(3, ALPHA))
    assert levels[1] < 0.01
    assert np.isfinite(levels).all()
