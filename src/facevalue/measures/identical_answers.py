"""Identical answers: how often two runs say the same to one trial, beside chance and beside what a run repeats itself.

Runs that answer alike may still differ in single answers, as a model that draws its replies contradicts itself. So the
share of identical answers stands between two others: that of answers which have nothing to do with the picture, and
that of a run that is asked again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from facevalue.measures.base import Measure
from facevalue.measures.paired_changes import ChangeSet, Deletion
from facevalue.measures.uncertainty import Estimates

IDENTICAL, BETWEEN, BEYOND = "identical", "between", "beyond"
SUMS = ("n", "same", "within_first", "n_first", "within_second", "n_second", "between", "within", "n_between")
"""Sums over trials: of pairs of answers and identical ones; of chances that draws agree, with their numbers."""


def pair_agreement(first: str, second: str) -> pl.Expr:
    """Chance that draws from two columns of probabilities, lists of one length, are identical: Σ p q.

    Examples
    --------
    >>> frame = pl.DataFrame({"p": [[0.5, 0.5]], "q": [[0.9, 0.1]]})
    >>> frame.select(pair_agreement("p", "q")).item()
    0.5
    """
    return (pl.col(first) * pl.col(second)).list.sum()


def reading_counts(answers: pl.DataFrame) -> pl.DataFrame:
    """How often either run gave each answer to a trial: `key` of the trial, `reading`, `count_first`, `count_second`.

    `answers`: as for `repeat_agreement`.

    Examples
    --------
    >>> rows = pl.DataFrame({"key": [1, 1], "reading": [5, 5], "reading_2": [5, 6]})
    >>> reading_counts(rows).sort("reading").rows()
    [(1, 5, 2.0, 1.0), (1, 6, 0.0, 1.0)]
    """
    firsts = answers.group_by("key", "reading").len("count_first")
    seconds = answers.group_by("key", reading="reading_2").len("count_second")
    joined = firsts.join(seconds, on=["key", "reading"], how="full", coalesce=True).fill_null(0)
    return joined.cast({"count_first": pl.Float64, "count_second": pl.Float64})


def repeat_agreement(answers: pl.DataFrame) -> pl.DataFrame:
    """Chance that two replies to one trial are identical, within either run and between the two.

    Parameters
    ----------
    answers:
        A row per reply that both runs gave a valid answer in: `key` of the trial, `reading` and `reading_2`, what the
        runs answered under one seed.

    Returns
    -------
    Per `key`: `within_first` and `within_second`, shares of identical answers among pairs of different seeds of a run,
    and `between`, the same where one answer is of the first run and one of the second; null with one seed alone.

    Equation
    --------
    Of n seeds with c_r and d_r answers r: within = Σ_r c_r (c_r - 1) / (n (n - 1)); between = (Σ_r c_r d_r - identical
    ones under one seed) / (n (n - 1)). All are unbiased, and alike on average for a run and itself.

    Examples
    --------
    >>> rows = pl.DataFrame({"key": [1, 1, 1], "reading": [5, 5, 6], "reading_2": [5, 6, 6]})
    >>> repeat_agreement(rows).select(pl.col(pl.Float64).round(2)).row(0)
    (0.33, 0.33, 0.33)
    """
    same = pl.col("reading") == pl.col("reading_2")
    of_key = answers.group_by("key").agg(pl.len().alias("n"), same.sum().alias("same"))
    c, d = pl.col("count_first"), pl.col("count_second")
    products = reading_counts(answers).group_by("key").agg(
        within_first=(c * (c - 1)).sum(), within_second=(d * (d - 1)).sum(), between=(c * d).sum()
    )  # fmt: skip
    size = (pl.col("n") * (pl.col("n") - 1)).cast(pl.Float64)
    return (
        of_key.join(products, on="key")
        .with_columns(pl.col("between") - pl.col("same"))
        .filter(pl.col("n") > 1)
        .select("key", *(pl.col(name) / size for name in ("within_first", "within_second", "between")))
    )


def chance_agreement(first: pl.DataFrame, second: pl.DataFrame, same: pl.DataFrame) -> float:
    """Share of identical answers if they had nothing to do with the picture: each run's own shares by question.

    Parameters
    ----------
    first, second:
        How often each run gave each answer: `question`, `reading`, `count`.
    same:
        Per `question`: `n`, trials that both answered, and `same`, identical answers among them.

    Equation
    --------
    Over questions, weighted by their trials n: (Σ_r c_r d_r - identical answers to one trial) / (n (n - 1)), answers of
    the runs to two different trials of one question. NaN where each question has one trial.

    Examples
    --------
    >>> counts = pl.DataFrame({"question": [1, 1], "reading": [0, 1], "count": [2, 2]})
    >>> chance_agreement(counts, counts, pl.DataFrame({"question": [1], "n": [4], "same": [4]})).__round__(3)
    0.333
    """
    joined = first.join(second, on=["question", "reading"], suffix="_2")
    products = joined.group_by("question").agg((pl.col("count").cast(pl.Float64) * pl.col("count_2")).sum().alias("cd"))
    rows = same.join(products, on="question", how="left").filter(pl.col("n") > 1).cast({"n": pl.Float64})
    chance = (pl.col("cd").fill_null(0.0) - pl.col("same")) / (pl.col("n") * (pl.col("n") - 1))
    weighted = rows.select((chance * pl.col("n")).sum() / pl.col("n").sum()).item() if rows.height else None
    return float("nan") if weighted is None else float(weighted)


@dataclass(frozen=True, slots=True)
class IdenticalAnswers:
    """Shares of identical answers with their intervals, arrays of shape (1,)."""

    identical: Estimates
    """Of one trial and seed; of exact probabilities the likeliest answers."""
    between: Estimates
    """Of draws, one of each run; NaN where neither probabilities nor several seeds say."""
    within_first: Estimates
    within_second: Estimates
    """Of two draws of one run."""
    beyond: Estimates
    """By how much less often draws of the two runs are identical than two of one run, on average of both."""


def identical_answers(
    sums: Sequence[Mapping[str, float]], layers: Sequence[str], units: int, unit: str
) -> IdenticalAnswers:
    """Take shares of identical answers from sums (`SUMS`) over all trials, and without each group of what was sampled.

    Parameters
    ----------
    sums:
        Of everything, and then without each group.
    layers:
        What each group is of (`paired_changes.Deletion`).
    units, unit:
        How many were sampled, and what.

    Equation
    --------
    Ratios of sums, with the delete-a-group jackknife of `paired_changes.ChangeSet`.
    """
    shares = [_shares(totals) for totals in sums]
    tables = [_table(of_part, totals["n"], units) for of_part, totals in zip(shares, sums, strict=True)]
    zero = tables[0].with_columns(pl.col("value") * 0.0, n=pl.lit(0.0))
    without = [Deletion(layer, zero, table) for layer, table in zip(layers, tables[1:], strict=True)]
    changes = ChangeSet(zero, tables[0], without)
    estimates = {}
    for row, name in enumerate(shares[0]):
        limits = (-1.0, 1.0) if name == BEYOND else (0.0, 1.0)
        measure = Measure(name, name, "", "share", unit, "FaceValue", limits=limits)
        estimates[name] = _within(changes.estimates(np.array([row]), measure)[0], limits)
    return IdenticalAnswers(
        *(estimates[name] for name in (IDENTICAL, BETWEEN, "within_first", "within_second", BEYOND))
    )


def _shares(sums: Mapping[str, float]) -> dict[str, float]:
    def ratio(part: str, total: str) -> float:
        return sums[part] / sums[total] if sums[total] else float("nan")

    return {
        IDENTICAL: ratio("same", "n"),
        BETWEEN: ratio("between", "n_between"),
        "within_first": ratio("within_first", "n_first"),
        "within_second": ratio("within_second", "n_second"),
        BEYOND: ratio("within", "n_between") - ratio("between", "n_between"),
    }


def _table(shares: Mapping[str, float], n: float, units: int) -> pl.DataFrame:
    return pl.DataFrame({"measure": list(shares), "value": list(shares.values())}).with_columns(
        score=pl.lit(None, pl.String), n=pl.lit(n), clusters=pl.lit(float(units)), bound_low=pl.lit(None, pl.Float64),
        bound_high=pl.lit(None, pl.Float64), **{"(bare)": pl.lit(value=False), "(floored)": pl.lit(value=False)},
    )  # fmt: skip


def _within(estimate: Estimates, limits: tuple[float, float]) -> Estimates:
    low, high = np.maximum(estimate.low, limits[0]), np.minimum(estimate.high, limits[1])
    return Estimates(estimate.value, low, high, estimate.n, estimate.clusters, estimate.method, estimate.se)
