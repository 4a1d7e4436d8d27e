"""Drift: found where it is, held at its level where it isn't, and never zero where nobody can know."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from facevalue.measures.instrument import UNTIMED, Course
from tests.measure_keys import by_key

START = datetime(2026, 1, 5, tzinfo=UTC)
WEIGHT = {"": pl.col("weight")}


def answers(
    units: int, questions: int, drift: float, seed: int, spread: float = 0.8, skew: bool = False
) -> pl.DataFrame:
    """Sampled replies of units that differ, asked one after the other in a random order."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(rng.permutation(units), questions)
    question = np.tile(np.arange(questions), units)
    person = rng.normal(0, spread, units) if not skew else rng.exponential(2 * spread, units) - 4
    time = np.linspace(0, 1, unit.size)
    logit = person[unit] + rng.normal(0, 1, questions)[question] + drift * time
    mass = np.where(rng.random(unit.size) < 0.05, 0.0, 1.0)
    return pl.DataFrame(
        {
            "unit": unit, "scenario": question, "status": "ok", "mass": mass,
            "weight": np.where(mass > 0, (rng.random(unit.size) < 1 / (1 + np.exp(-logit))).astype(float), np.nan),
            "at": [START + timedelta(seconds=60 * float(t)) for t in time],
        }
    ).with_columns(pl.col("weight").fill_nan(None), pl.col("at").dt.cast_time_unit("ms"))  # fmt: skip


def course(*chunks: pl.DataFrame) -> Course:
    out = Course(WEIGHT, ["scenario"])
    for chunk in chunks:
        out.take(chunk.drop("unit"), chunk["unit"])
    return out


def rows(*chunks: pl.DataFrame) -> dict[str, dict[str, object]]:
    return {row["measure"]: row for row in by_key(course(*chunks).estimates("s", "m")).iter_rows(named=True)}


def test_three_tenths_of_a_logit_are_found_and_the_interval_holds_them() -> None:
    found = rows(answers(400, 30, 0.3, seed=1, spread=0.3))["drift"]
    assert 0.02 < found["value"] < 0.11  # type: ignore[operator]
    assert found["low"] > 0  # type: ignore[operator]
    assert found["p"] < 0.05  # type: ignore[operator]
    assert (found["clusters"], found["model"]) == (400, "m")
    assert rows(answers(400, 30, 0.3, seed=1, spread=0.3))["drift.no valid answer"]["p"] > 0.05  # type: ignore[operator]


def test_answers_that_go_missing_are_a_drift_of_their_own() -> None:
    made = answers(40, 30, 0.0, seed=2).sort("at").with_row_index("place")
    late = (pl.col("place") > 900) & (pl.col("place") % 3 == 0)
    made = made.with_columns(mass=pl.when(late).then(0.0).otherwise("mass"), weight=pl.when(~late).then("weight"))
    found = rows(made.drop("place"))
    assert found["drift.no valid answer"]["low"] > 0.1  # type: ignore[operator]
    assert found["drift"]["p"] > 0.01  # type: ignore[operator]


def test_chunks_parts_and_order_of_rows_change_nothing() -> None:
    made = answers(20, 10, 0.3, seed=3)
    whole = rows(made)["drift"]
    parts = rows(made.sample(fraction=1, shuffle=True, seed=1)[:70], made.sample(fraction=1, shuffle=True, seed=1)[70:])
    assert parts["drift"]["value"] == pytest.approx(whole["value"])
    assert parts["drift"]["se"] == pytest.approx(whole["se"])
    two = Course(WEIGHT, ["scenario"])
    for part in (0, 1):  # the same names in two parts are other units and other questions
        two.take(made.drop("unit"), made["unit"], part)
    assert two.estimates("s", "m")["clusters"][0] == 40


SAME = answers(20, 5, 0.0, seed=1)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (SAME.with_columns(at=pl.lit(None, pl.Datetime("ms", "UTC"))), UNTIMED),
        (SAME.with_columns(at=pl.lit(START).dt.cast_time_unit("ms")), "all answers came at one time"),
        (answers(2, 5, 0.0, seed=1), "too few units asked together: 2"),
        (SAME.with_columns(scenario=pl.col("unit")), "too few units asked together: 20"),
        (SAME.with_columns(weight=pl.lit(1.0), mass=pl.lit(1.0)), "no answers to one question differ"),
        (SAME.clear(), UNTIMED),
        (SAME.with_columns(weight=pl.lit(None, pl.Float64), mass=pl.lit(0.0)), "no valid answer"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_not_zero(made: pl.DataFrame, said: str) -> None:
    found = rows(made)["drift"]
    assert found["value"] is None
    assert found["p"] is None
    assert (found["method"], found["detail"]) == ("none", f"not measurable: {said}")


def test_requests_that_failed_are_missing_answers_that_drift() -> None:
    made = answers(20, 10, 0.0, seed=4)
    failed = pl.col("at").rank() > made.height / 2
    mass = pl.when(failed).then(0.0).otherwise("mass")
    with_errors = made.with_columns(status=pl.when(failed).then(pl.lit("error")).otherwise("status"), mass=mass)
    drift = rows(with_errors)["drift.no valid answer"]
    assert drift["clusters"] == 20
    assert float(str(drift["low"])) > 0


def test_many_cells_are_thinned_by_whole_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facevalue.measures.estimators.MOST_ROWS", 500)
    made = answers(200, 10, 0.8, seed=5).sort("at")
    found = rows(*(made[start : start + 100] for start in range(0, made.height, 100)))["drift"]
    assert 5 < found["clusters"] < 60  # type: ignore[operator]
    assert str(found["detail"]).endswith("of a part drawn by hash")


@pytest.mark.slow
@pytest.mark.parametrize("units", [5, 8, 20, 60])
@pytest.mark.parametrize("skew", [False, True])
def test_without_drift_it_is_found_in_one_run_of_twenty(units: int, skew: bool) -> None:
    p = [rows(answers(units, 12, 0.0, seed=seed, skew=skew))["drift"]["p"] for seed in range(600)]
    level = np.mean(np.array([1.0 if one is None else one for one in p], dtype=float) < 0.05)
    assert level < 0.05 + 3 * 0.009
    if not skew:
        assert level > 0.05 - 3 * 0.009


@pytest.mark.slow
def test_with_drift_intervals_hold_what_was_planted() -> None:
    held = power = 0
    for seed in range(400):
        made = answers(300, 20, 0.3, seed=seed, spread=0.3)
        rng = np.random.default_rng(seed)
        rng.permutation(300)
        people, asked = rng.normal(0, 0.3, 300), rng.normal(0, 1, 20)
        logit = people[:, None] + asked
        truth = float((1 / (1 + np.exp(-logit - 0.3)) - 1 / (1 + np.exp(-logit))).mean())
        found = rows(made)["drift"]
        held += found["low"] <= truth <= found["high"]  # type: ignore[operator]
        power += found["p"] < 0.05  # type: ignore[operator]
    assert 0.92 < held / 400 < 0.98
    assert power / 400 > 0.6


@pytest.mark.parametrize("seed", range(20))
def test_drift_of_few_answers_lies_within_its_interval_and_its_limits(seed: int) -> None:
    row = rows(answers(6, 1, 9.0, seed=seed))["drift"]
    if row["value"] is not None:
        assert -1 <= row["low"] <= row["value"] <= row["high"] <= 1  # type: ignore[operator]


def wavering(
    units: int, wave: float, seed: int, questions: int = 6, cycles: float = 2.0
) -> dict[str, dict[str, object]]:
    """Rows of a model that moves by so many logits to one side and back while it is asked."""
    made = answers(units, questions, 0.0, seed).sort("at").with_row_index("place")
    rng = np.random.default_rng(seed)
    logit = rng.normal(0, 0.8, units)[made["unit"].to_numpy()] + wave * np.sin(
        2 * np.pi * (cycles * np.linspace(0, 1, made.height) + rng.random())
    )
    weight = (rng.random(made.height) < 1 / (1 + np.exp(-logit))).astype(float)
    return rows(made.drop("place").with_columns(weight=pl.Series(weight), mass=pl.lit(1.0)))


def test_a_model_that_wavers_is_found_where_no_line_goes_through_it() -> None:
    """A line alone saw none of twenty models that waver by 1.5 logits."""
    several = [wavering(40, 1.5, seed) for seed in range(12)]
    assert np.mean([found["wavering"]["p"] < 0.025 for found in several]) > 0.8  # type: ignore[operator]
    assert np.mean([found["drift"]["p"] < 0.025 for found in several]) < 0.5  # type: ignore[operator]
    values = [float(str(found["wavering"]["value"])) for found in several]
    assert np.mean(values) == pytest.approx(0.2, abs=0.04)  # the SD of its chance over the run


def test_a_steady_model_wavers_in_one_run_of_twenty_and_its_interval_begins_at_zero_exactly_there() -> None:
    several = [wavering(30, 0.0, seed, questions=3)["wavering"] for seed in range(150)]
    assert np.mean([found["p"] < 0.05 for found in several]) < 0.1  # type: ignore[operator]
    with_interval = [found for found in several if found["low"] is not None]
    assert len(with_interval) > 140
    for found in with_interval:
        assert (found["low"] > 0) == (found["p"] < 0.05)  # type: ignore[operator]
        assert found["low"] <= found["value"] <= found["high"]  # type: ignore[operator]
    assert all(found["p"] >= 0.05 for found in several if found["low"] is None)  # type: ignore[operator]


def test_few_units_say_nothing_of_waves() -> None:
    found = rows(answers(6, 10, 0.0, seed=3))
    assert found["drift"]["value"] is not None
    assert found["wavering"]["value"] is None
    assert "too few units" in str(found["wavering"]["detail"])
