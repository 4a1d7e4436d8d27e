"""Shares of identical answers: what a run repeats itself, what chance gives, and what lies beyond."""

import numpy as np
import polars as pl
import pytest

from facevalue.measures.answer_matches import IDENTICAL_SUMS, chance_agreement, identical_answers, repeat_agreement
from facevalue.measures.paired_changes import JACKKNIFE_GROUPS
from facevalue.protocol.kept_answers import COLUMNS, Groups
from facevalue.runs.comparisons.answer_flips import _add, _agreement_of_draws

UNITS, TRIALS, SEEDS = 24, 8, 2


def rows_of(rng: np.random.Generator, first: np.ndarray, second: np.ndarray) -> pl.DataFrame:
    """Replies drawn with these chances of the one of two answers, shape (units, trials)."""
    draws = (rng.random((2, UNITS, TRIALS, SEEDS)) < np.stack([first, second])[..., None]).astype(np.int64)
    unit = np.repeat(np.arange(UNITS), TRIALS * SEEDS)
    return pl.DataFrame(
        {"key": np.repeat(np.arange(UNITS * TRIALS), SEEDS), "reading": draws[0].ravel(), "reading_2": draws[1].ravel(),
         **dict.fromkeys(COLUMNS, unit)}
    ).with_columns(same=pl.col("reading") == pl.col("reading_2"))  # fmt: skip


def beyond(rows: pl.DataFrame) -> tuple[float, float, float]:
    groups = Groups([np.stack([np.arange(UNITS)] * 2, axis=1)], JACKKNIFE_GROUPS, 1, np.arange(UNITS))
    sums = [dict.fromkeys(IDENTICAL_SUMS, 0.0) for _ in range(1 + len(groups.layers))]
    _add(sums, rows, _agreement_of_draws(rows, exact=False), groups)
    taken = identical_answers(sums, [layer for layer, _ in groups.layers], UNITS, "person").beyond
    return float(taken.value[0]), float(taken.low[0]), float(taken.high[0])


def test_a_run_and_itself_asked_again_are_as_alike_as_a_run_is_to_itself() -> None:
    rng = np.random.default_rng(3)
    wrong, values = 0, []
    for _ in range(200):
        chances = rng.beta(1, 1, (UNITS, TRIALS))
        value, low, high = beyond(rows_of(rng, chances, chances))
        wrong += low > 0 or high < 0
        values.append(value)
    assert wrong <= 17  # P(more | 5%) = 1%
    assert np.mean(values) == pytest.approx(0.0, abs=0.006)  # four standard errors


def test_runs_that_differ_on_each_trial_are_less_alike() -> None:
    rng = np.random.default_rng(4)
    wins = 0
    for _ in range(20):
        first, second = rng.beta(0.5, 0.5, (2, UNITS, TRIALS))
        value, low, _ = beyond(rows_of(rng, first, second))
        wins += low > 0
        assert value == pytest.approx(float(((first - second) ** 2).mean()), abs=0.15)
    assert wins >= 18


def test_one_seed_says_nothing_of_what_a_run_repeats() -> None:
    assert repeat_agreement(pl.DataFrame({"key": [1], "reading": [0], "reading_2": [1]})).is_empty()


def test_chance_is_what_answers_to_other_pictures_would_give() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 3, (2, 2000))
    frame = pl.DataFrame({"question": [1] * 2000, "first": first, "second": second})
    firsts, seconds = (
        frame.group_by("question", reading=pl.col(name)).len("count").cast({"count": pl.Int64})
        for name in ("first", "second")
    )
    same = pl.DataFrame({"question": [1], "n": [2000], "same": [int((first == second).sum())]})
    assert chance_agreement(firsts, seconds, same) == pytest.approx(1 / 3, abs=0.01)
