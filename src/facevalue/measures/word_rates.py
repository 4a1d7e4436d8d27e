"""Rates of words by group, intervals of log-odds ratios, and bounds.

Rates of words, lengths and sentiment by group, over the units that the texts are about.

All are ratios of two columns summed over texts: hits to tokens (a rate per 1,000 words), characters to texts (a mean
length), a score to texts. The unit is the image or person: several descriptions of one picture tell about one picture.

Bounds of words: what texts that are missing could have made of scores and log-odds ratios.

Nobody knows whether a missing text had a word. Else it counts as a text like those that are there: as long as they are
on average, and if it had the word, with as many mentions as those that have it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.annotations.counts import WordCounts
from facevalue.errors import DataError
from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means, cluster_means
from facevalue.measures.estimates import Level
from facevalue.measures.estimators import CellEstimates, Codes, Sums, cells_of
from facevalue.measures.group_means import compare_groups
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.marked_words import word_log_odds
from facevalue.measures.missing_data_bounds import Replies, shift_bounds
from facevalue.measures.pairs import to_array
from facevalue.measures.uncertainty import Bounds, Estimates

PER_THOUSAND = 1000.0
FLAT_TEXTS = name_method(IntervalKind.NONE, "the clusters do not differ, so that their spread is unknown")
"""Method where no unit differs from another, as where a word never occurs: that is not known for certain."""
WORD_LIST, GROUP_LABEL, RIVAL_LABEL = "word_list", "group", "other_group"
"""Labels: which of several columns was added up, whose texts they are, and whom a group is compared with."""


def text_sums(frame: pl.DataFrame, columns: Mapping[Level, str], per: str = "") -> Sums:
    """Add up columns of texts by list, group and unit.

    Parameters
    ----------
    frame:
        Texts, a row each, with `group` and `unit`; rows where either is null are left out.
    columns:
        What is added up, by its level of the label `word_list`: hits of word lists, characters, a score.
    per:
        Column that it is a rate of, such as the number of words; by default the texts, which gives means.

    Returns
    -------
    Sums with `s` and `n`, how many `texts` they are of, and how many are `missing`: a text where either is missing
    counts in neither.
    """
    weight = pl.col(per).cast(pl.Float64) if per else pl.lit(1.0)
    keys = [pl.col(GROUP_LABEL).cast(pl.String), pl.col("unit").cast(pl.String)]
    placed = frame.drop_nulls([GROUP_LABEL, "unit"])
    tables = []
    for level, name in columns.items():
        value = pl.col(name).cast(pl.Float64).fill_nan(None)
        counted = value.is_not_null() & weight.is_not_null()
        tables.append(placed.select(
            pl.lit(level, pl.String).alias(WORD_LIST), *keys, s=pl.when(counted).then(value).otherwise(0.0),
            n=pl.when(counted).then(weight).otherwise(0.0), texts=counted.cast(pl.Float64),
            missing=(~counted).cast(pl.Float64),
        ))  # fmt: skip
    return Sums.of(
        pl.concat(tables).group_by(WORD_LIST, GROUP_LABEL, "unit", maintain_order=True).sum(), (WORD_LIST, GROUP_LABEL)
    )


def word_rate(sums: Sums, by: Sequence[str] = (WORD_LIST, GROUP_LABEL), seed: int = 0) -> CellEstimates:
    """Rate s / n of each cell, with its interval over units.

    The interval is as `cluster_bootstrap.cluster_means`, of one group's own level; none where no unit differs from
    another.

    Examples
    --------
    >>> rows = {"unit": ["x", "x", "y", "y"], "group": ["black"] * 4, "hits": [1, 0, 2, 1], "tokens": [50] * 4}
    >>> labels, rates = word_rate(text_sums(pl.DataFrame(rows), {"hats": "hits"}, "tokens"))
    >>> labels, rates.times(PER_THOUSAND).value.tolist(), rates.n.tolist()
    ({'word_list': ['hats'], 'group': ['black']}, [20.0], [4])
    """
    labels, cell, count = cells_of(sums, by)
    rates = []
    for at in range(count):
        s, n, texts = (sums.numbers[name][cell == at, None] for name in ("s", "n", "texts"))
        rates.append(_of_texts(_without_flat(cluster_means(s, n, seed, level=True), s, n), texts))
    return labels, Estimates.concatenate(rates)


def rate_differences(
    sums: Sums, by: Sequence[str] = (WORD_LIST,), poles: tuple[float, float] | None = None, longest: float = 1.0,
    seed: int = 0,
) -> CellEstimates:  # fmt: skip
    """Rate of every group less that of each earlier one.

    Parameters
    ----------
    poles, longest:
        Smallest and largest rate of a single text, and the most that a text has of `n`, so that there are bounds for
        texts whose value is missing (`missing_data_bounds.shift_bounds`). None without poles.

    Raises
    ------
    DataError
        A unit that belongs to two groups: then it is no two samples that are compared.
    """
    labels, cell, count = cells_of(sums, by)
    levels, codes = sums.labels[GROUP_LABEL]
    out: dict[str, list[Level]] = {name: [] for name in (*by, GROUP_LABEL, RIVAL_LABEL)}
    differences = []
    for at in range(count):
        rows, unit = np.flatnonzero(cell == at), sums.units["unit"][cell == at]
        if np.unique(unit).size < unit.size:
            raise DataError("A unit belongs to more than one group: their groups are not two samples.")
        for base, number in combinations(sorted(set(codes[rows].tolist())), 2):
            side = np.where(codes[rows] == number, 1, np.where(codes[rows] == base, 0, -1))
            differences.append(_compare_rates(sums, rows, side, poles, longest, seed))
            for name, level in (
                *((n, labels[n][at]) for n in by),
                (GROUP_LABEL, levels[number]),
                (RIVAL_LABEL, levels[base]),
            ):
                out[name].append(level)
    return out, Estimates.concatenate(differences)


def _compare_rates(
    sums: Sums, rows: Codes, side: Codes, poles: tuple[float, float] | None, longest: float, seed: int
) -> Estimates:
    s, n, texts, missing = (sums.numbers[name][rows, None] for name in ("s", "n", "texts", "missing"))
    estimates = _of_texts(compare_groups(s, n, side, seed), texts[side >= 0])
    bounds = None
    if poles is not None:
        base, variant = (Replies(s, n, n + longest * missing).select_clusters(side == number) for number in (0, 1))
        bounds = shift_bounds(base, variant, poles, paired=False)
    return replace(estimates, bounds=bounds, p=estimates.p)


def _of_texts(estimates: Estimates, texts: Array) -> Estimates:
    return replace(estimates, n=np.rint(texts.sum(axis=0)).astype(np.int64))


def _without_flat(estimates: Estimates, sums: Array, counts: Array) -> Estimates:
    """No interval and no standard error where all units are alike but for rounding."""
    assert estimates.se is not None
    rounding = 1e-12 * cell_means(np.sqrt((sums**2).sum(axis=0)), counts.sum(axis=0))
    flat = (estimates.clusters > 1) & (estimates.se <= rounding)
    low, high, se = (np.where(flat, np.nan, array) for array in (estimates.low, estimates.high, estimates.se))
    return replace(estimates, low=low, high=high, se=se, method=np.where(flat, FLAT_TEXTS, estimates.method))


ODDS_DELTA = name_method(IntervalKind.DELTA, "over images, zero by shuffled labels")
_ABOVE_ZERO = 1e-6


def odds_estimates(marked: pl.DataFrame, counts: WordCounts, groups: Sequence[str | None]) -> Estimates:
    """Log-odds ratios with intervals.

    `marked`: rows of `marked_words.strict_words`.
    """
    se, units = _errors(counts, groups, marked)
    value = to_array(marked["log_odds"])
    low, high = _interval(value, float(scipy.special.ndtri(0.5 + LEVEL / 2)) * se, to_array(marked["p"]))
    tokens = (marked["tokens"] + marked["tokens_against"]).to_numpy()
    return Estimates(value, low, high, tokens, units, np.full(value.size, ODDS_DELTA, dtype=object), se)


def _interval(value: Array, reach: Array, p: Array) -> tuple[Array, Array]:
    """Interval of so much on either side, which leaves zero out exactly where the test does.

    Labels dealt out anew keep their level for rare words, where the delta method is too certain.
    """
    is_found = p < 1 - LEVEL
    inner = np.where(is_found, np.minimum(reach, (1 - _ABOVE_ZERO) * np.abs(value)), np.fmax(reach, np.abs(value)))
    up = value >= 0
    return value - np.where(up, inner, reach), value + np.where(up, reach, inner)


def _errors(
    counts: WordCounts, groups: Sequence[str | None], marked: pl.DataFrame
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Standard error of each log-odds ratio over units, the prior taken as fixed; and how many units there were.

    Equation
    --------
    se² = sum over both groups of G/(G-1) sum_i (y_i - p n_i)² / ((n + a_0) p (1 - p))², p = (y + a)/(n + a_0): each
    logit is linear in its units' counts to first order.
    """
    label = np.array(groups, dtype=object)
    places = dict(zip(counts.words, range(len(counts.words)), strict=True))
    at = np.array([places[word] for word in marked["word"]], dtype=np.int64)
    prior = np.asarray(counts.tokens.sum(axis=0), dtype=np.float64).ravel()
    variance, images = np.zeros(at.size), np.zeros(at.size, dtype=np.int64)
    for side in ("group", "against"):
        names = marked[side].to_numpy()
        for group in np.unique(names):
            rows = np.flatnonzero(names == group)
            units = np.flatnonzero(label == group)
            y = scipy.sparse.csc_array(counts.tokens[units].astype(np.float64))[:, at[rows]]
            n = counts.sizes[units].astype(np.float64)
            total = n.sum() + prior.sum()
            p = (np.asarray(y.sum(axis=0)).ravel() + prior[at[rows]]) / total
            share = np.asarray(y.sum(axis=0)).ravel() / max(n.sum(), 1.0)  # so that residuals sum to zero
            squares = np.asarray(y.multiply(y).sum(axis=0)).ravel()
            squares += share**2 * (n**2).sum() - 2 * share * np.asarray(y.T @ n).ravel()
            with np.errstate(invalid="ignore", divide="ignore"):
                factor = units.size / (units.size - 1) if units.size > 1 else np.nan
                variance[rows] += factor * np.maximum(squares, 0) / (total * p * (1 - p)) ** 2
            images[rows] += units.size
    return np.sqrt(variance), images


def odds_bounds(
    marked: pl.DataFrame, counts: WordCounts, groups: Sequence[str | None], missing: Codes, masked: Collection[str] = ()
) -> Bounds:
    """Bounds of log-odds ratios between groups.

    Parameters
    ----------
    marked:
        Rows of `marked_words.strict_words`.
    counts, groups, masked:
        As there.
    missing:
        How many texts of each unit are missing, shape (units,).

    Equation
    --------
    `marked_words.word_log_odds` with m L more words in each group, and as many in the prior as in all groups. low: all
    missing texts of the other group have the word, k mentions each, and none of the group itself; high: the other way
    round. Those of further groups, which are in the prior alone, have it where that goes farther.
    """
    label, units = np.array(groups, dtype=object), counts.texts
    free = ~counts.words.is_in(list(masked)).to_numpy()
    prior = np.asarray(counts.tokens.sum(axis=0), dtype=np.float64).ravel()
    documents = np.asarray(counts.documents.sum(axis=0), dtype=np.float64).ravel()
    sizes = np.asarray(counts.tokens @ free.astype(np.float64))
    length = sizes.sum() / max(units.sum(), 1)
    place = {word: at for at, word in enumerate(counts.words)}
    at = np.array([place[word] for word in marked["word"]], dtype=np.int64)
    sums = {name: (sizes[label == name].sum(), missing[label == name].sum()) for name in set(groups)}
    (size, lost), (size_against, lost_against) = (
        np.array([sums[name] for name in marked[side]], dtype=np.float64).reshape(-1, 2).T
        for side in ("group", "against")
    )
    mentions, further = prior[at] / documents[at], missing.sum() - lost - lost_against
    y, y_against = (marked[name].to_numpy().astype(np.float64) for name in ("tokens", "tokens_against"))
    total_size = sizes.sum() + missing.sum() * length

    def shifted_odds(count: Array, rival: Array, rest: Array) -> Array:
        added = (count * lost * mentions, rival * lost_against * mentions)
        added_prior = prior[at] + sum(added) + rest * further * mentions
        total = size + lost * length + total_size, size_against + lost_against * length + total_size
        return word_log_odds(y + added[0], y_against + added[1], added_prior, total).delta

    no, yes = np.zeros(at.size), np.ones(at.size)
    value = marked["log_odds"].to_numpy()
    low = np.fmin(np.fmin(shifted_odds(no, yes, no), shifted_odds(no, yes, yes)), value)
    high = np.fmax(np.fmax(shifted_odds(yes, no, no), shifted_odds(yes, no, yes)), value)
    unknown = np.full(at.size, np.nan)
    return Bounds(value, low, high, unknown, unknown)
