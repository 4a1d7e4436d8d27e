"""Rates of words, lengths and sentiment by group, over the images that the texts are about.

All are ratios of two columns summed over texts: hits to tokens (a rate per 1,000 words), characters to texts (a mean
length), a score to texts. The cluster is the image: several descriptions of one picture tell about one picture.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures import cluster_bootstrap, comparison
from facevalue.measures.cluster_bootstrap import Array, Estimates
from facevalue.measures.missing_data_bounds import Bounds, Replies, shift_bounds

PER_THOUSAND = 1000.0
FLAT = "no interval: the clusters do not differ, so that their spread is unknown"
"""Where no cluster differs from another, as where a word never occurs: that is not known for certain."""


def by_group(
    frame: pl.DataFrame,
    values: Sequence[str],
    group: str,
    cluster: str,
    *,
    per: str | None = None,
    scale: float = 1.0,
    seed: int = 0,
    resamples: int = cluster_bootstrap.RESAMPLES,
) -> pl.DataFrame:
    """Rate or mean of each value in each group, with intervals over clusters.

    Parameters
    ----------
    values:
        Columns to sum: hits of word lists, characters, a sentiment score.
    group, cluster:
        Columns of the group and of the unit that was sampled (the image); rows where either is null are left out.
    per:
        Column to divide by: "tokens" for rates of words. By default the number of texts, which gives means.
    scale:
        What the result is multiplied by: `PER_THOUSAND` for rates per 1,000 words.

    Returns
    -------
    DataFrame
        Long: `measure` (the value's column), `group`, `value`, `low`, `high`, `se`, `n` (texts), `texts_with` (texts
        whose value is above zero), `clusters`, `method`. A value that cannot be measured is null.

    Raises
    ------
    UnknownNameError
        No such column.
    DataError
        A column to sum that holds no numbers.

    Equation
    --------
    scale · sum of the value over the group's texts / sum of `per` over the same texts; a text where either is missing
    counts in neither. Interval as `cluster_bootstrap.means`, of one group's own level; none where no cluster differs
    from another.

    Examples
    --------
    >>> texts = pl.DataFrame({"group": ["a"] * 4, "image": [1, 1, 2, 2], "hits": [1, 0, 3, 0], "tokens": [50] * 4})
    >>> by_group(texts, ["hits"], "group", "image", per="tokens", scale=1000).select("value", "n", "texts_with").rows()
    [(20.0, 4, 2)]
    """
    cells = _Cells(frame, values, group, cluster, per)
    rows = []
    for at, measure in enumerate(values):
        for number, name in enumerate(cells.groups):
            is_owned = cells.owner == number
            sums, counts = cells.sums[is_owned, at, None] * scale, cells.counts[is_owned, at, None]
            rates = _without_flat(cluster_bootstrap.means(sums, counts, seed, resamples, level=True), sums, counts)
            row = {"measure": measure, "group": name, "texts_with": int(cells.with_any[number, at])}
            rows.append(row | _row(rates, int(cells.texts[is_owned, at].sum())))
    order = ("measure", "group", "value", "low", "high", "se", "n", "texts_with", "clusters", "method")
    return _framed(rows, order)


def differences(
    frame: pl.DataFrame,
    values: Sequence[str],
    group: str,
    cluster: str,
    *,
    reference: str | None = None,
    per: str | None = None,
    scale: float = 1.0,
    seed: int = 0,
    resamples: int = cluster_bootstrap.RESAMPLES,
    poles: tuple[float, float] | None = None,
    longest: float = 1.0,
) -> pl.DataFrame:
    """Differences of `by_group` between groups.

    Parameters
    ----------
    reference:
        The group that the others are compared with ("white"); every group with every later one by default.
    poles, longest:
        Smallest and largest result of a single text, before it is scaled, and the most that a text has of `per`, so
        that there are bounds for texts whose value is missing (`missing_data_bounds.shift_bounds`). None without poles.

    Returns
    -------
    DataFrame
        Long: `measure`, `group`, `against`, `value` (the group's less the other's), `low`, `high`, `se`, `p`
        (two-sided, not adjusted: a family of tests is declared where it is judged, see `multiple_testing`),
        `bound_low`, `bound_high`, `bound_se`, `n`, `clusters`, `method`.

    Raises
    ------
    UnknownNameError
        No such column or group.
    DataError
        As `by_group`, or a cluster that belongs to two groups: then it is no two samples that are compared.
    """
    cells = _Cells(frame, values, group, cluster, per)
    if reference is None:
        pairs = [(b, a) for a, b in combinations(range(len(cells.groups)), 2)]
    elif reference in cells.groups:
        base = cells.groups.index(reference)
        pairs = [(number, base) for number in range(len(cells.groups)) if number != base]
    else:
        raise UnknownNameError("group", reference, cells.groups)
    if cells.shared is not None:
        raise DataError(
            f"{cluster} {cells.shared!r} belongs to more than one {group}; their groups are not two samples."
        )
    rows = []
    for at, measure in enumerate(values):
        for number, base in pairs:
            side = np.where(cells.owner == number, 1, np.where(cells.owner == base, 0, -1))
            sums, counts = cells.sums[:, at, None] * scale, cells.counts[:, at, None]
            differences_found = comparison.compare(sums, counts, side, seed, resamples)
            assert differences_found.p_zero is not None
            row: dict[str, object] = {"measure": measure, "group": cells.groups[number], "against": cells.groups[base]}
            row |= _row(differences_found, int(cells.texts[side >= 0, at].sum())) | {
                "p": float(differences_found.p_zero[0])
            }
            if poles is not None:
                row |= _ends(cells.bounds(at, (base, number), poles, longest).scaled(scale))
            rows.append(row)
    bounds = ("bound_low", "bound_high", "bound_se")
    order = ("measure", "group", "against", "value", "low", "high", "se", "p", *bounds, "n", "clusters", "method")
    return _framed(rows, order)


class _Cells:
    """Sums by (group, cluster), one row each, and value."""

    def __init__(self, frame: pl.DataFrame, values: Sequence[str], group: str, cluster: str, per: str | None) -> None:
        for name in (*values, group, cluster, *([per] if per else [])):
            if name not in frame.columns:
                raise UnknownNameError("column", name, frame.columns)
        for name in (*values, *([per] if per else [])):
            if not frame[name].dtype.is_numeric():
                raise DataError(f"Column {name!r} should hold numbers, and holds {frame[name].dtype}.")
        weight = pl.col(per).cast(pl.Float64) if per else pl.lit(1.0)
        columns = []
        for at, name in enumerate(values):
            value = pl.col(name).cast(pl.Float64).fill_nan(None)
            is_counted = value.is_not_null() & weight.is_not_null()
            columns += [
                pl.when(is_counted).then(value).sum().alias(f"sum {at}"),
                pl.when(is_counted).then(weight).sum().alias(f"count {at}"),
                is_counted.sum().alias(f"texts {at}"),
                (~is_counted).sum().alias(f"missing {at}"),
                (is_counted & (value > 0)).sum().alias(f"with {at}"),
            ]
        keys = [pl.col(group).cast(pl.String).alias("group"), pl.col(cluster).cast(pl.String).alias("cluster")]
        grouped = frame.filter(pl.col(group).is_not_null() & pl.col(cluster).is_not_null())
        table = grouped.group_by(keys, maintain_order=True).agg(columns)
        self.groups: list[str] = table["group"].unique(maintain_order=True).to_list()
        self.owner = np.array([self.groups.index(name) for name in table["group"]], dtype=np.int64)
        self.sums, self.counts, self.texts, with_any, self.missing = (
            np.column_stack([table[f"{kind} {at}"].to_numpy().astype(np.float64) for at in range(len(values))])
            for kind in ("sum", "count", "texts", "with", "missing")
        )
        self.with_any = np.array([with_any[self.owner == number].sum(axis=0) for number in range(len(self.groups))])
        shared = table.filter(pl.len().over("cluster") > 1)["cluster"]
        self.shared: str | None = shared[0] if len(shared) else None

    def bounds(self, at: int, groups: tuple[int, int], poles: tuple[float, float], longest: float) -> Bounds:
        """Bounds of the second of two groups less the first, in one value."""
        sums, valid = self.sums[:, at, None], self.counts[:, at, None]
        replies = Replies(sums, valid, valid + longest * self.missing[:, at, None])
        base, variant = (replies.of(self.owner == number) for number in groups)
        return shift_bounds(base, variant, poles, paired=False)


def _without_flat(estimates: Estimates, sums: Array, counts: Array) -> Estimates:
    """No interval and no standard error where all clusters are alike but for rounding."""
    assert estimates.se is not None
    rounding = 1e-12 * cluster_bootstrap.ratio(np.sqrt((sums**2).sum(axis=0)), counts.sum(axis=0))
    flat = (estimates.clusters > 1) & (estimates.se <= rounding)
    low, high, se = (np.where(flat, np.nan, array) for array in (estimates.low, estimates.high, estimates.se))
    return replace(estimates, low=low, high=high, se=se, method=np.where(flat, FLAT, estimates.method))


def _row(estimates: Estimates, texts: int) -> dict[str, object]:
    assert estimates.se is not None
    numbers: dict[str, Array] = {
        "value": estimates.value,
        "low": estimates.low,
        "high": estimates.high,
        "se": estimates.se,
    }
    row = {name: float(array[0]) for name, array in numbers.items()}
    return {**row, "n": texts, "clusters": int(estimates.clusters[0]), "method": str(estimates.method[0])}


def _ends(bounds: Bounds) -> dict[str, float]:
    return {"bound_low": float(bounds.low[0]), "bound_high": float(bounds.high[0]), "bound_se": float(bounds.se[0])}


def _framed(rows: list[dict[str, object]], order: Sequence[str]) -> pl.DataFrame:
    text, integers = ("measure", "group", "against", "method"), ("n", "texts_with", "clusters")
    schema = {name: pl.String if name in text else pl.Int64 if name in integers else pl.Float64 for name in order}
    return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))
