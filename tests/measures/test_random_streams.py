"""Random answers in random chunks: sums that stream by are those of the whole table, to the last bit."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.measures.cells import Grouped, MissingBy
from facevalue.measures.estimators import UnitTable, in_grains
from facevalue.measures.instrument import AT_ONCE, Course
from facevalue.measures.pairs import pair_cells, pair_sides, selection_frequencies
from facevalue.statistics.missing_answers import MissingAnswers

seeds = st.integers(0, 2**32 - 1)
START = datetime(2026, 1, 5, tzinfo=UTC)


def answers(rng: np.random.Generator) -> pl.DataFrame:
    """Answers about units in groups, some of them probabilities, some missing for a reason."""
    size = int(rng.integers(20, 200))
    reason = pl.Series(["refused", "error", "neither", None]).gather(rng.choice([0, 1, 2, 3, 3, 3], size))
    rows = pl.DataFrame({
        "unit": rng.integers(0, 12, size).astype(str),
        "group": pl.Series(["f", "m", "x", None]).gather(rng.integers(0, 4, size)),
        "question": rng.choice(["a", "b", "c"], size), "weight": rng.random(size),
        "mass": rng.random(size).astype(np.float32),
        "at": [START + timedelta(seconds=int(second)) for second in rng.integers(0, 40, size)], "na": reason,
    }).with_columns(pl.col("at").dt.cast_time_unit("ms"))  # fmt: skip
    is_valid = pl.col("na").is_null()
    return rows.with_columns(
        mass=pl.when(is_valid).then("mass").otherwise(0.0), weight=pl.when(is_valid).then("weight")
    )


def chunked(rows: pl.DataFrame, rng: np.random.Generator) -> list[pl.DataFrame]:
    """The rows in any order, cut anywhere."""
    rows = rows[rng.permutation(rows.height)]
    places = np.unique(rng.integers(1, rows.height, rng.integers(1, 12)))
    return [rows[start:end] for start, end in zip([0, *places], [*places, rows.height], strict=True)]


@settings(max_examples=60)
@given(seed=seeds)
def test_missing_answers_and_drift_do_not_depend_on_chunks_or_the_order_of_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = answers(rng)

    def estimates(chunks: list[pl.DataFrame]) -> list[pl.DataFrame]:
        missing = MissingAnswers(MissingBy((Grouped.from_column("group", "unit"),), ("question",)))
        course = Course({"": pl.col("weight")}, ["question"])
        for chunk in chunks:
            missing.take(chunk, chunk["unit"])
            course.take(chunk.drop("unit"), chunk["unit"])
        return [missing.estimates("s", "m"), course.estimates("s", "m")]

    whole, parts = estimates([rows]), estimates(chunked(rows, rng))
    assert all(one.equals(other) for one, other in zip(whole, parts, strict=True))


@settings(max_examples=60)
@given(seed=seeds)
def test_drift_is_the_slope_of_units_over_the_share_of_answers_that_had_come(seed: int) -> None:
    """One answer of each unit to each question, as the equation has it."""
    rng = np.random.default_rng(seed)
    rows = answers(rng).unique(["unit", "question"], keep="first", maintain_order=True).filter(pl.col("mass") > 0)
    course = Course({"": pl.col("weight")}, ["question"])
    course.take(rows.drop("unit"), rows["unit"])
    found = course.estimates("s", "m").filter(measure="drift").row(0, named=True)
    if found["value"] is None:
        return
    weight = pl.col("mass").cast(pl.Float64)
    rank = (pl.col("at").rank("average") - 0.5) / pl.len()
    centred = rows.select("unit", "question", t=rank, y="weight", w=weight).with_columns(
        pl.col(name) - (pl.col("w") * pl.col(name)).sum().over("question") / pl.col("w").sum().over("question")
        for name in ("t", "y")
    )
    units = centred.group_by("unit").agg(
        ((pl.col("w") * pl.col(name)).sum() / pl.col("w").sum()).alias(name) for name in ("t", "y")
    )
    x, r = units["t"].to_numpy(), units["y"].to_numpy()
    assert found["value"] == pytest.approx(float(np.clip(x @ r / (x @ x), -1, 1)), abs=1e-7)
    assert (found["n"], found["clusters"]) == (rows.height, units.height)


def test_probabilities_that_all_came_at_one_time_say_nothing_of_drift() -> None:
    rows = (
        answers(np.random.default_rng(3))
        .with_columns(at=pl.lit(START).dt.cast_time_unit("ms"))
        .filter(pl.col("mass") > 0)
    )
    course = Course({"": pl.col("weight")}, ["question"])
    course.take(rows.drop("unit"), rows["unit"])
    assert course.estimates("s", "m")["detail"].str.contains(AT_ONCE).all()


@settings(max_examples=60)
@given(seed=seeds, most=st.integers(2, 40))
def test_which_units_are_left_out_of_a_table_of_too_many_does_not_depend_on_chunks(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    rows = pl.DataFrame({"unit": rng.integers(0, 2**63, 200, dtype=np.uint64), "n": rng.random(200), "question": "a"})

    def table(chunks: list[pl.DataFrame]) -> tuple[pl.DataFrame, int]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("facevalue.measures.estimators.MOST_ROWS", most)
            sums = UnitTable(["question"], ["n"])
            for chunk in chunks:
                amounts = in_grains(chunk["n"].to_numpy())[None]
                sums.add(chunk, np.arange(chunk.height), chunk["unit"].to_numpy(), amounts)
            return sums.frame(), sums.one_of

    whole, parts = table([rows]), table(chunked(rows, rng))
    assert whole[0].equals(parts[0])
    assert whole[1] == parts[1] > 1


def pairs(rng: np.random.Generator) -> pl.DataFrame:
    """Answers about pairs of pictures of two strata, some asked of one activity, some missing in part."""
    size = int(rng.integers(1, 80))
    first, second = rng.integers(0, 7, (2, size)).astype(str)
    n = np.where(rng.random(size) < 0.2, 0.0, rng.random(size))
    return pl.DataFrame({
        "who": rng.choice(["old", "young"], size), "activity": rng.choice(["cook", "hike", "row"], size),
        "stratum": rng.choice(["f", "m"], size), "unit_1": first, "unit_2": second, "pair": first != second,
        "n": n, "s": n * rng.random(size), "requests": np.ones(size),
    })  # fmt: skip


@settings(max_examples=60)
@given(seed=seeds)
def test_selection_frequencies_are_means_over_activities_of_the_share_that_chose(seed: int) -> None:
    rows = pairs(np.random.default_rng(seed)).with_columns(unit="unit_1")
    for row in selection_frequencies(rows, ["who"]).iter_rows(named=True):
        of_cell = rows.filter(who=row["who"])
        shares = {}
        for (activity,), part in of_cell.group_by("activity"):
            if part["n"].sum() > 0:
                shares[activity] = float(part["s"].to_numpy().sum() / part["n"].to_numpy().sum())
        low = [
            float(part["s"].to_numpy().sum() / part["requests"].to_numpy().sum())
            for _, part in of_cell.group_by("activity")
        ]
        expected = 100 * float(np.mean([*shares.values()])) if shares else None
        assert row["value"] == (None if expected is None else pytest.approx(expected, abs=1e-9))
        assert row["n"] == pytest.approx(of_cell["n"].sum())
        assert row["clusters"] == of_cell.filter(pl.col("n") > 0).select("stratum", "unit").n_unique()
        assert row["bound_low"] == pytest.approx(100 * float(np.mean(low)), abs=1e-9)


@settings(max_examples=60)
@given(seed=seeds)
def test_shares_of_pairs_are_those_of_all_answers_over_the_units_on_either_side(seed: int) -> None:
    rows = pairs(np.random.default_rng(seed))
    sums, moments = pair_sides(rows, ["who"])
    found: dict[str, dict[str, Any]] = {row["who"]: row for row in pair_cells(sums, moments, ["who"]).to_dicts()}
    for (who,), of_cell in rows.group_by("who"):
        row, answered = found[str(who)], of_cell.filter(pl.col("n") > 0)
        n, s = answered["n"].to_numpy().sum(), answered["s"].to_numpy().sum()
        assert row["value"] == (pytest.approx(100 * s / n, abs=1e-9) if answered.height else None)
        assert row["n"] == pytest.approx(n)
        either = [answered.select("stratum", unit=name) for name in ("unit_1", "unit_2")]
        assert row["clusters"] == pl.concat(either).n_unique()
