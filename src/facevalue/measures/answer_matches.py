"""Matches of answers: about a picture and its base, and between runs.

Flips: how often the answer about a changed picture is another one than that about its base.

A model that draws its replies changes its answer about one and the same picture, too. So flips stand beside those of a
picture asked twice. What lies beyond is due to the other picture, and not by itself to what was changed in it: any
other picture would flip some answers. So it is described, and not tested.

Similarity of lists: how much of what is named about a picture and its base is the same.

A model that draws its replies names other things about one and the same picture, too. So the similarity stands beside
that of two replies to one picture. What is lost against it is due to the other picture, and not by itself to what was
changed in it. So it is described, and not tested, as flips are.

Identical answers: how often two runs say the same to one trial, beside chance and beside what a run repeats itself.

Runs that answer alike may still differ in single answers, as a model that draws its replies contradicts itself. So the
share of identical answers stands between two others: that of answers which have nothing to do with the picture, and
that of a run that is asked again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.definitions import Measure
from facevalue.measures.paired_changes import ChangeSet, Deletion
from facevalue.measures.uncertainty import Estimates

Codes = npt.NDArray[np.int64]


class Flips(NamedTuple):
    """Flips of each changed picture and question, shape (pictures, questions); NaN where not measured.

    `rate`: of the answer from base to change. `floor`: of the answers to either asked twice, which takes two valid
    replies to it. `beyond`: the one less the other. `chosen`, `valid`, `asked`: sums of flips, valid pairs of answers,
    and pairs asked for.
    """

    rate: Array
    floor: Array
    beyond: Array
    chosen: Array
    valid: Array
    asked: Array


def answer_flips(weights: Array, mass: Array, asked: npt.NDArray[np.bool_], base: Codes, varied: Codes) -> Flips:
    """Compare answers about changed pictures with those about their bases.

    Parameters
    ----------
    weights:
        How much of each answer counts, 0 to 1, shape (stimuli, questions, orderings, repeats); NaN without one.
    mass, asked:
        Same shape: probability of a valid answer, and whether one was asked for.
    base, varied:
        Rows of the bases (-1 for none) and of the changed pictures.

    Equation
    --------
    rate = p (1 - p') + p' (1 - p), of p and p' the shares of the answers about base and change; floor the mean of
    2 p (1 - p) n / (n - 1) and the same of p', n valid replies (n / (n - 1) = 1 for exact probabilities); by order of
    the options, then averaged. Both are unbiased, and beyond is (p - p')² on average: 0 where the change does nothing.

    Examples
    --------
    >>> answers = np.array([[[[1.0, 0.0, 1.0, 0.0]]], [[[1.0, 1.0, 1.0, 1.0]]]])
    >>> out = answer_flips(answers, np.ones_like(answers), answers >= 0, np.array([0]), np.array([1]))
    >>> [round(x.item(), 3) for x in out[:3]]
    [0.5, 0.333, 0.167]
    """
    seen = np.isfinite(weights) & (mass > 0)
    weight = np.where(seen, mass, 0.0)
    n = weight.sum(axis=-1)
    exact = bool((seen & (weights > 0) & (weights < 1)).any())
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(seen, weights * weight, 0.0).sum(axis=-1) / n
        again = 1.0 if exact else np.where(n > 1, n / (n - 1), np.nan)
        twice = 2 * p * (1 - p) * again
        share = n / asked.sum(axis=-1)  # NaN where nothing was asked
    before, after = (p[rows] for rows in (base, varied))
    rate = before * (1 - after) + after * (1 - before)
    rate[base < 0] = np.nan
    floor = (twice[base] + twice[varied]) / 2
    valid = np.where(np.isfinite(rate), share[base] * share[varied], 0.0)
    pairs = (np.isfinite(share[base]) & np.isfinite(share[varied]) & (base >= 0)[:, None, None]).sum(axis=-1)
    return Flips(
        _mean(rate), _mean(np.where(np.isfinite(rate), floor, np.nan)), _mean(rate - floor),
        (np.nan_to_num(rate) * valid).sum(axis=-1), valid.sum(axis=-1), pairs.astype(np.float64),
    )  # fmt: skip


def _mean(values: Array) -> Array:
    """Mean over the orders of the options."""
    seen = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(seen, values, 0.0).sum(axis=-1) / np.where(seen.any(axis=-1), seen.sum(axis=-1), np.nan)


_AT_ONCE = 200_000


class Similarities(NamedTuple):
    """Similarity of each changed picture and question, shape (pictures, questions); NaN where not measured.

    `rate`: of the lists about base and change. `floor`: of two lists about either. `beyond`: what the one lacks of the
    other. `chosen`, `valid`, `pairs`: sums of similarities, valid pairs of answers, and pairs asked for.
    """

    rate: Array
    floor: Array
    beyond: Array
    chosen: Array
    valid: Array
    pairs: Array


def list_similarities(
    lists: Codes, sets: Sequence[frozenset[str]], was_asked: npt.NDArray[np.bool_], base: Codes, varied: Codes
) -> Similarities:
    """Compare lists about changed pictures with those about their bases.

    Parameters
    ----------
    lists:
        Which of the sets each answer names, shape (stimuli, questions, replies); -1 where there is none.
    sets:
        What each list names.
    was_asked:
        Whether an answer was asked for, of the shape of `lists`.
    base, varied:
        Rows of the bases (-1 for none) and of the changed pictures.

    Equation
    --------
    J(a, b) = |a ∩ b| / |a ∪ b|, 1 for two empty lists; rate is its mean over all pairs of a reply about the base and
    one about the change, floor that over pairs of two replies about the base and of two about the change, each picture
    counting alike, and beyond = floor - rate: 0 on average where the change does nothing.

    Examples
    --------
    >>> sets = [frozenset({"nurse", "cook"}), frozenset({"nurse"})]
    >>> codes = np.array([[[0, 0]], [[1, 1]]])
    >>> out = list_similarities(codes, sets, codes >= 0, np.array([0]), np.array([1]))
    >>> [x.item() for x in out[:3]]
    [0.5, 1.0, 0.5]
    """
    jaccard = _Jaccard(sets)
    replies = lists.shape[-1]
    of_base, of_change = lists[base], lists[varied]
    of_base = np.where((base >= 0)[:, None, None], of_base, -1)
    rate = jaccard.mean(of_base, of_change, [(first, second) for first in range(replies) for second in range(replies)])
    twice = list(combinations(range(replies), 2))
    floor = (jaccard.mean(of_base, of_base, twice) + jaccard.mean(of_change, of_change, twice)) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (lists >= 0).sum(axis=-1) / was_asked.sum(axis=-1)  # NaN where nothing was asked
    valid = np.where(np.isfinite(rate), share[base] * share[varied], 0.0)
    pairs = np.isfinite(share[base]) & np.isfinite(share[varied]) & (base >= 0)[:, None]
    floor = np.where(np.isfinite(rate), floor, np.nan)
    return Similarities(rate, floor, floor - rate, np.nan_to_num(rate) * valid, valid, pairs.astype(np.float64))


class _Jaccard:
    """Similarity of sets by their codes; each pair of sets is compared once in a call."""

    def __init__(self, sets: Sequence[frozenset[str]]) -> None:
        places = {word: at for at, word in enumerate(sorted({word for names in sets for word in names}))}
        rows = np.repeat(np.arange(len(sets)), [len(names) for names in sets])
        columns = [places[word] for names in sets for word in names]
        shape = (len(sets), max(len(places), 1))
        self._has = scipy.sparse.csr_matrix((np.ones(len(columns)), (rows, columns)), shape=shape)
        self._sizes = np.array([len(names) for names in sets], dtype=np.float64)

    def mean(self, first: Codes, second: Codes, pairs: Sequence[tuple[int, int]]) -> Array:
        """Mean over these pairs of replies, the last axis; NaN where none is of two lists."""
        totals, counts = np.zeros(first.shape[:-1]), np.zeros(first.shape[:-1])
        for left, right in pairs:
            codes, rival_codes = first[..., left], second[..., right]
            valid = (codes >= 0) & (rival_codes >= 0)
            totals[valid] += self._similarities(codes[valid], rival_codes[valid])
            counts += valid
        with np.errstate(invalid="ignore", divide="ignore"):
            return totals / np.where(counts > 0, counts, np.nan)

    def _similarities(self, first: Codes, second: Codes) -> Array:
        keys, places = np.unique(first * self._sizes.size + second, return_inverse=True)
        out = np.empty(keys.size)
        for start in range(0, keys.size, _AT_ONCE):
            rows, rivals = np.divmod(keys[start : start + _AT_ONCE], self._sizes.size)
            of_both: scipy.sparse.csr_matrix = self._has[rows, :].multiply(self._has[rivals, :])
            shared = np.asarray(of_both.sum(axis=1)).ravel()
            union = self._sizes[rows] + self._sizes[rivals] - shared
            out[start : start + _AT_ONCE] = np.where(union > 0, shared / np.where(union > 0, union, 1), 1.0)
        return out[places]


IDENTICAL, BETWEEN, BEYOND = "identical", "between", "beyond"
IDENTICAL_SUMS = ("n", "same", "within_first", "n_first", "within_second", "n_second", "between", "within", "n_between")
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
    """Count each run's answers to each trial: `key` of the trial, `reading`, `count_first`, `count_second`.

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
    """Take shares of identical answers from sums (`IDENTICAL_SUMS`) over all trials, and without each group of units.

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
        estimates[name] = _clip_intervals(changes.estimates(np.array([row]), measure)[0], limits)
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


def _clip_intervals(estimate: Estimates, limits: tuple[float, float]) -> Estimates:
    low, high = np.maximum(estimate.low, limits[0]), np.minimum(estimate.high, limits[1])
    return Estimates(estimate.value, low, high, estimate.n, estimate.clusters, estimate.method, estimate.se)
