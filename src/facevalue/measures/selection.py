"""Selection frequencies from sums per sampled picture: VIGNETTE, section 5, with the intervals it does not give.

What is sampled is the picture, or the person in it where somebody stands in several pictures. One picture stands in
pairs with all others, so that pairs are not independent. A cell is summed up by its *units*: for each picture of those
that the cell is about, `n`, the expected number of valid answers about it, and `s`, how much of them chose it. Sums of
different pairs add up, so that a run of any length is reduced chunk by chunk.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import dyads
from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.proportions import score_p
from facevalue.measures.shares import (
    FEWEST,
    NOTHING,
    TOO_FEW,
    WILSON,
    Codes,
    groups,
    level_codes,
    of_variance,
    unit_shares,
)

SUMS = ("n", "s", "requests")
ENDS = ("s_least", "s_most")
"""Sums that rows may have besides: s had all missing answers gone one way or the other, where part of each is known."""
"""Expected valid answers, how much of them chose, and answers asked for."""
UNIT = ("stratum", "unit")
"""What was sampled, and the part of the sample it is from (gender): units of different strata are other units."""
MOMENTS = ("clusters", "n", "s", "nn", "sn", "ss", "requests")
"""Sums over the pairs of a cell: how many answered, n, s, n², s n, s², and the number of answers asked for."""
CELL = "_cell"
"""Number of the cell that a row belongs to, where cells are summed up."""


def moments(sums: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Reduce pairs to the moments of their cells.

    `sums`: one row per pair and cell: `n`, `s`, `requests` and the columns of `by`.
    Returns the columns of `by` and `MOMENTS`, a row per cell. Sums are taken in the order of the rows: the same rows
    always give the same numbers to the last bit.
    """
    n, s = pl.col("n"), pl.col("s")
    seen = (n > NOTHING).sum().cast(pl.Float64)
    products = {"clusters": seen, "n": n.sum(), "s": s.sum(), "nn": (n * n).sum(), "sn": (s * n).sum()}
    out = sums.group_by(by, maintain_order=True)
    return out.agg(**products, ss=(s * s).sum(), requests=pl.col("requests").sum().cast(pl.Float64))


def add(frame: pl.DataFrame, by: Sequence[str], columns: Sequence[str] = SUMS) -> pl.DataFrame:
    """Add up what belongs to one cell, in the order of the rows."""
    return frame.group_by(by, maintain_order=True).agg(pl.col(columns).sum())


def cells(
    frame: pl.DataFrame,
    by: Sequence[str],
    whole: pl.DataFrame | None = None,
    partners: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Selection frequency of each cell with its interval over units.

    Parameters
    ----------
    frame:
        Rows of sums: the columns of `by`, `activity` (if any, and null where there is none), `UNIT` and `SUMS`, and
        `ENDS` where less than all of a missing answer is unknown. What a cell puts together must be different answers:
        never several questions about the same pair without `question` in `by`.
    by:
        What names a cell, one column or more. Unless `activity` is among it, activities weigh the same.
    whole:
        Sums by unit over all activities together, with the columns of `by`, `UNIT` and `SUMS`: for cells whose rows
        in `frame` have no unit, as where a pair answers for two activities.
    partners:
        Of cells that are an identity's (`identity` in `by`): moments by `other_identity` of pairs whose other pictures
        stand in several of the identity's own units. They are sampled, too.

    Returns
    -------
    The columns of `by`; `value`, `low`, `high` and `se` in percent; `n` (expected valid answers), `clusters` (units),
    `df` (degrees of freedom of `se`), `size` (effective number of answers), `s` (how much of n chose), `bound_low` and
    `bound_high` (in percent: had all missing answers gone one way), `bound_se` (of the end that varies more). Null
    is not measurable: a cell without valid answers has value null and n 0; one of fewer than three units has no
    interval.

    Equation
    --------
    `shares.unit_shares`, averaged over the activities with an answer (section 5). With `whole`, a unit adds s_u / n
    with the weight n_u / n, and se² is multiplied by n Σ_a (1/n_a) / A² (Kish) for activities that are not asked
    equally often. With `partners`, se_i² grows by Σ_j max(se_j² - P_j, 0) (n_ij / n_i)², P_j the variance over pairs as
    if they were independent: a picture that stands beside several of i's own adds to all of them (Aronow, Samii and
    Assenova 2015, "Cluster-robust variance estimation for dyadic data").

    Raises
    ------
    ValueError
        A cell would put several questions together.

    Examples
    --------
    >>> pictures = pl.DataFrame({"activity": ["cooking", "hiking", "rowing"], "n": [6.0] * 3, "s": [2.0, 3, 4],
    ...                          "requests": [6] * 3, "identity": ["old"] * 3, "stratum": ["male"] * 3})
    >>> out = cells(pictures.with_columns(unit="activity"), ["identity"])
    >>> out.select("identity", "value", pl.col("se").round(1), "n", "clusters", "df").row(0)
    ('old', 50.0, 9.6, 18.0, 3, 2.0)
    """
    by = list(by)
    if "question" in frame.columns and "question" not in by and _mixed(frame, by):
        raise ValueError("A cell would put several questions about one pair together; name `question` in `by`.")
    labels, cell = numbered(frame, by)
    count, stratum, unit, activity = labels.height, *(_codes(frame, name) for name in (*UNIT, "activity"))
    n, s, requests = (to_array(frame[name]) for name in SUMS)
    ends = (to_array(frame[ENDS[0]]), to_array(frame[ENDS[1]])) if set(ENDS) <= set(frame.columns) else None
    missing_of = None if only_values() else requests
    shares = unit_shares(cell, count, unit, n, s, stratum=stratum, inner=activity, requests=missing_of, ends=ends)
    variance, df, units = shares.variance, shares.df, shares.clusters
    if whole is not None and whole.height:
        rows = whole.join(labels, on=by, nulls_equal=True, maintain_order="left")
        of_whole = unit_shares(
            rows[CELL].cast(pl.Int64).to_numpy(), count, _codes(rows, "unit"), to_array(rows["n"]), to_array(rows["s"]),
            stratum=_codes(rows, "stratum"),
        )  # fmt: skip
        is_whole = units == 0
        variance = np.where(is_whole, of_whole.variance * _unevenness(cell, count, activity, n), variance)
        df, units = (np.where(is_whole, x, y) for x, y in ((of_whole.df, df), (of_whole.clusters, units)))
    out = labels.drop(CELL).with_columns(pl.Series("variance", variance).fill_nan(None))
    if partners is not None and partners.height:
        variance = to_array(_beside(out, partners, by))
    numbers = {name: np.bincount(cell, x, count).astype(np.float64) for name, x in (("n", n), ("s", s))}
    final = of_variance(shares.value, variance, df, numbers["n"], units)
    percent = {"value": final.value, "low": final.low, "high": final.high, "se": final.se}
    if (bounds := shares.bounds) is not None:
        wider = np.nan_to_num(variance) - np.nan_to_num(shares.variance)
        percent |= {"bound_low": bounds.low, "bound_high": bounds.high, "bound_se": np.sqrt(bounds.se**2 + wider)}
    numbers |= {"df": df, "size": final.size} | {name: 100 * x for name, x in percent.items()}
    nothing = np.full(count, np.nan)
    columns = (pl.Series(name, numbers.get(name, nothing)).fill_nan(None) for name in _COLUMNS if name != "clusters")
    return out.with_columns(*columns, pl.Series("clusters", units, pl.Int64)).select(*by, *_COLUMNS)


_COLUMNS = ("value", "low", "high", "se", "n", "clusters", "df", "size", "s", "bound_low", "bound_high", "bound_se")


def numbered(frame: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, Codes]:
    """Labels of all cells with their number (`CELL`), in the order in which they come, and the cell of each row.

    Examples
    --------
    >>> labels, cell = numbered(pl.DataFrame({"group": ["f", "m", "f"]}), ["group"])
    >>> labels["group"].to_list(), cell.tolist()
    (['f', 'm'], [0, 1, 0])
    """
    group, first = groups(*(level_codes(frame[name]) for name in by))
    order = np.argsort(first)
    return frame[first[order]].select(by).with_row_index(CELL), np.argsort(order)[group]


def _codes(frame: pl.DataFrame, name: str) -> Codes:
    """Levels of a column as numbers, -1 for null; of one that is not there, -1."""
    return level_codes(frame[name]) if name in frame.columns else np.full(frame.height, -1)


def _unevenness(cell: Codes, cells: int, activity: Codes, n: Array) -> Array:
    """Kish's factor of activities that are not asked equally often."""
    rows = pl.DataFrame({CELL: cell, "activity": activity, "n": n}).group_by(CELL, "activity").agg(pl.col("n").sum())
    rows = rows.filter(pl.col("n") > NOTHING).sort(CELL, "n")
    owner, of_activity = rows[CELL].to_numpy(), to_array(rows["n"])
    total, inverse, levels = (np.bincount(owner, x, cells) for x in (of_activity, 1 / of_activity, None))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total * inverse / levels**2)


def _mixed(frame: pl.DataFrame, by: list[str]) -> bool:
    questions = frame.select(*by, "question").unique()
    return questions.height > questions.select(by).unique().height


def excess(variances: pl.DataFrame, partners: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Variance of shares that comes from pictures standing in several pairs, beyond that of independent pairs.

    `variances`: `by` (with `identity`) and `variance`. `partners`: as in `cells`.
    Returns `by`, `excess` (0 or more) and `total`, the answers in all pairs of the cell.
    """
    sums = add(partners, by, MOMENTS).filter(pl.col("n") > NOTHING)
    rate = pl.col("s") / pl.col("n")
    squares = pl.col("ss") - 2 * rate * pl.col("sn") + rate**2 * pl.col("nn")
    joined = sums.with_columns(_pairs=squares / pl.col("n") ** 2).join(variances, on=list(by), nulls_equal=True)
    more = (pl.col("variance") - pl.col("_pairs")).fill_null(0.0).clip(lower_bound=0.0)
    return joined.select(*by, more.alias("excess"), pl.col("n").alias("total"))


def _beside(cells: pl.DataFrame, partners: pl.DataFrame, by: list[str]) -> pl.Series:
    """Variance with that of the other pictures, which stand beside several of an identity's own."""
    rows = add(partners, [*by, "other_identity"], MOMENTS).filter(pl.col("n") > NOTHING)
    own_excess = excess(cells.select(*by, "variance"), partners, by)
    rest = [name for name in by if name != "identity"]
    partner_excess = own_excess.select(*rest, pl.col("identity").alias("other_identity"), "excess")
    rows = rows.join(partner_excess, on=[*rest, "other_identity"], nulls_equal=True)
    rows = rows.join(own_excess.select(*by, "total"), on=by, nulls_equal=True)
    added = rows.group_by(by, maintain_order=True).agg(
        _more=(pl.col("excess") * (pl.col("n") / pl.col("total")) ** 2).sum()
    )
    joined = cells.join(added, on=by, how="left", nulls_equal=True, maintain_order="left")
    return (joined["variance"] + joined["_more"].fill_null(0.0)).alias("variance")


def balanced(rows: pl.DataFrame) -> pl.DataFrame:
    """Choices between two, an answer that names both or none counting half for each: s + t = n, s - t as it was.

    `rows`: with `n`, `s` (of it, what chose the one) and `t` (what chose the other).
    """
    n, s, t = pl.col("n"), pl.col("s"), pl.col("t")
    return rows.with_columns(s=(n + s - t) / 2, t=(n - s + t) / 2)


def sides(pairs: pl.DataFrame, by: Sequence[str], unit: Sequence[str] = UNIT) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What `pair_cells` needs: sums by unit, on whichever side of a pair it is, and moments of pairs.

    `pairs`: a row per pair: `by`, `SUMS`, `unit_1`, `unit_2`, and `pair`, whether these are two.
    """
    sides = pairs.with_columns(unit="unit_1"), pairs.filter("pair").with_columns(unit="unit_2")
    strata = [name for name in unit if name != "unit"]
    return pl.concat([add(side, (*by, *unit)) for side in sides]), moments(pairs, [*by, *strata, "pair"])


def pair_cells(units: pl.DataFrame, pairs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Shares of answers that are about both pictures of a pair alike, with their interval over pictures.

    `units`: sums by `by` and `UNIT`, a pair's answers in the row of either picture; of one where both are the same
    unit. `pairs`: moments of pairs by `by`, `stratum` and `pair`: whether it is of two units.
    Returns `by`, `value`, `low`, `high`, `se` in percent, `n`, `clusters` (units), `df`, `size`: see `dyads.of_sums`.
    """
    by = list(by)
    sums, of_pairs = add(units, [*by, *UNIT], ("n", "s")), add(pairs, [*by, "stratum", "pair"], MOMENTS)
    labels, at = numbered(of_pairs, by)
    owner = sums.join(labels, on=by, nulls_equal=True, maintain_order="left")[CELL].cast(pl.Int64).to_numpy()
    of_both = pl.concat([frame.select(pl.col("stratum").cast(pl.String)) for frame in (sums, of_pairs)])
    strata = of_both["stratum"].rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    shares = dyads.of_sums(
        (owner, strata[: sums.height], _codes(sums, "unit")), np.array([to_array(sums[name]) for name in ("n", "s")]),
        (at, strata[sums.height :], of_pairs["pair"].cast(pl.Int64).to_numpy()),
        np.array([to_array(of_pairs[name]) for name in ("n", "s", "nn", "sn", "ss")]), labels.height,
    )  # fmt: skip
    numbers = {name: 100 * getattr(shares, name) for name in ("value", "low", "high", "se")}
    numbers |= {"n": np.bincount(at, to_array(of_pairs["n"]), labels.height), "df": shares.df, "size": shares.size}
    columns = (pl.Series(name, x, pl.Float64).fill_nan(None) for name, x in numbers.items())
    out = labels.with_columns(*columns, pl.Series("clusters", shares.clusters))
    return out.select(*by, "value", "low", "high", "se", "n", "clusters", "df", "size")


def to_array(series: pl.Series) -> Array:
    """Numbers with NaN for null."""
    return (series if series.dtype == pl.Float64 else series.cast(pl.Float64)).to_numpy()


def as_shares(percentages: pl.DataFrame) -> pl.DataFrame:
    """The same as shares from 0 to 1."""
    return percentages.with_columns(pl.col("^(value|low|high|se|bound_.*)$") / 100)


def p_even(cells: pl.DataFrame) -> Array:
    """P of each share against one half, by the arithmetic of its interval."""
    share, size, df = (to_array(cells[name]) for name in ("value", "size", "df"))
    return score_p(share / 100, size, df)


def method(frame: pl.DataFrame, name: str = WILSON) -> npt.NDArray[np.object_]:
    """How each row's interval was made, or that there is none, and why."""
    enough = to_array(frame["clusters"]) >= FEWEST
    return np.array([TOO_FEW, name], dtype=object)[enough.astype(np.int64)]
