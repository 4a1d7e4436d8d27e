"""Rates of words, lengths and sentiment by group, over the units that the texts are about.

All are ratios of two columns summed over texts: hits to tokens (a rate per 1,000 words), characters to texts (a mean
length), a score to texts. The unit is the image or person: several descriptions of one picture tell about one picture.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

from facevalue.errors import DataError
from facevalue.measures import cluster_bootstrap, comparison
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimates import Level
from facevalue.measures.estimators import Cells, Codes, Sums, cells_of
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.missing_data_bounds import Replies, shift_bounds
from facevalue.measures.uncertainty import Estimates

PER_THOUSAND = 1000.0
FLAT = name_method(IntervalKind.NONE, "the clusters do not differ, so that their spread is unknown")
"""Where no unit differs from another, as where a word never occurs: that is not known for certain."""
LIST, GROUP, RIVAL = "word_list", "group", "other_group"
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
    keys = [pl.col(GROUP).cast(pl.String), pl.col("unit").cast(pl.String)]
    placed = frame.drop_nulls([GROUP, "unit"])
    tables = []
    for level, name in columns.items():
        value = pl.col(name).cast(pl.Float64).fill_nan(None)
        counted = value.is_not_null() & weight.is_not_null()
        tables.append(placed.select(
            pl.lit(level, pl.String).alias(LIST), *keys, s=pl.when(counted).then(value).otherwise(0.0),
            n=pl.when(counted).then(weight).otherwise(0.0), texts=counted.cast(pl.Float64),
            missing=(~counted).cast(pl.Float64),
        ))  # fmt: skip
    return Sums.of(pl.concat(tables).group_by(LIST, GROUP, "unit", maintain_order=True).sum(), (LIST, GROUP))


def rate(sums: Sums, by: Sequence[str] = (LIST, GROUP), seed: int = 0) -> Cells:
    """Rate s / n of each cell, with its interval over units.

    The interval is as `cluster_bootstrap.means`, of one group's own level; none where no unit differs from another.

    Examples
    --------
    >>> rows = {"unit": ["x", "x", "y", "y"], "group": ["black"] * 4, "hits": [1, 0, 2, 1], "tokens": [50] * 4}
    >>> labels, rates = rate(text_sums(pl.DataFrame(rows), {"hats": "hits"}, "tokens"))
    >>> labels, rates.times(PER_THOUSAND).value.tolist(), rates.n.tolist()
    ({'word_list': ['hats'], 'group': ['black']}, [20.0], [4])
    """
    labels, cell, count = cells_of(sums, by)
    rates = []
    for at in range(count):
        s, n, texts = (sums.numbers[name][cell == at, None] for name in ("s", "n", "texts"))
        rates.append(_of_texts(_without_flat(cluster_bootstrap.means(s, n, seed, level=True), s, n), texts))
    return labels, Estimates.concatenate(rates)


def difference(
    sums: Sums, by: Sequence[str] = (LIST,), poles: tuple[float, float] | None = None, longest: float = 1.0,
    seed: int = 0,
) -> Cells:  # fmt: skip
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
    levels, codes = sums.labels[GROUP]
    out: dict[str, list[Level]] = {name: [] for name in (*by, GROUP, RIVAL)}
    differences = []
    for at in range(count):
        rows, unit = np.flatnonzero(cell == at), sums.units["unit"][cell == at]
        if np.unique(unit).size < unit.size:
            raise DataError("A unit belongs to more than one group: their groups are not two samples.")
        for base, number in combinations(sorted(set(codes[rows].tolist())), 2):
            side = np.where(codes[rows] == number, 1, np.where(codes[rows] == base, 0, -1))
            differences.append(_between(sums, rows, side, poles, longest, seed))
            for name, level in (*((n, labels[n][at]) for n in by), (GROUP, levels[number]), (RIVAL, levels[base])):
                out[name].append(level)
    return out, Estimates.concatenate(differences)


def _between(
    sums: Sums, rows: Codes, side: Codes, poles: tuple[float, float] | None, longest: float, seed: int
) -> Estimates:
    s, n, texts, missing = (sums.numbers[name][rows, None] for name in ("s", "n", "texts", "missing"))
    estimates = _of_texts(comparison.compare(s, n, side, seed), texts[side >= 0])
    bounds = None
    if poles is not None:
        base, variant = (Replies(s, n, n + longest * missing).of(side == number) for number in (0, 1))
        bounds = shift_bounds(base, variant, poles, paired=False)
    return replace(estimates, bounds=bounds, p=estimates.p)


def _of_texts(estimates: Estimates, texts: Array) -> Estimates:
    return replace(estimates, n=np.rint(texts.sum(axis=0)).astype(np.int64))


def _without_flat(estimates: Estimates, sums: Array, counts: Array) -> Estimates:
    """No interval and no standard error where all units are alike but for rounding."""
    assert estimates.se is not None
    rounding = 1e-12 * cluster_bootstrap.ratio(np.sqrt((sums**2).sum(axis=0)), counts.sum(axis=0))
    flat = (estimates.clusters > 1) & (estimates.se <= rounding)
    low, high, se = (np.where(flat, np.nan, array) for array in (estimates.low, estimates.high, estimates.se))
    return replace(estimates, low=low, high=high, se=se, method=np.where(flat, FLAT, estimates.method))
