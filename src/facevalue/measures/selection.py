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

from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.proportions import WILSON, effective_size, score_p, wilson

Codes = npt.NDArray[np.int64]

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
FEWEST = 3
"""Units from which there is an interval."""
_NOTHING = 1e-9  # mass that is no answer


def moments(sums: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Reduce pairs to the moments of their cells.

    `sums`: one row per pair and cell: `n`, `s`, `requests` and the columns of `by`.
    Returns the columns of `by` and `MOMENTS`, a row per cell. Sums are taken in the order of the rows: the same rows
    always give the same numbers to the last bit.
    """
    n, s = pl.col("n"), pl.col("s")
    seen = (n > _NOTHING).sum().cast(pl.Float64)
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
    S = 1/A Σ_a 100 s_a / n_a over the activities with an answer (section 5). A unit u adds c_u = 1/A Σ_a s_ua / n_a,
    with weight w_u = 1/A Σ_a n_ua / n_a. se² = Σ_h G_h/(G_h - 1) Σ_u (c_u - R_h w_u)², R_h = Σ c_u / Σ w_u: between
    units within layers h (Cochran, Sampling Techniques, 1977, sections 5.3 and 6.4). Layers are strata and
    activities where each has two units or more and no unit is in two of them; else strata; else there is one. Degrees
    of freedom: V² / Σ_h V_h²/(g_h - 1), with V_h = Σ_u w_u² and g_h = V_h² / Σ_u w_u⁴ (Satterthwaite, for units that
    weigh unlike).

    With `whole`, c_u = s_u / n and w_u = n_u / n, and se² is multiplied by n Σ_a (1/n_a) / A² (Kish) for activities
    that are not asked equally often. With `partners`, se_i² grows by Σ_j max(se_j² - P_j, 0) (n_ij / n_i)², P_j the
    variance over pairs as if they were independent: a picture that stands beside several of i's own adds to all of them
    (Aronow, Samii and Assenova 2015, "Cluster-robust variance estimation for dyadic data"). Intervals:
    `proportions.wilson`.

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
    activity = "activity" if "activity" in frame.columns else pl.lit(None, pl.String)
    rows = _coded(frame.with_columns(pl.Series(CELL, cell, pl.UInt32), activity=activity))
    out = pl.concat([labels, _values(rows).drop(CELL)], how="horizontal")
    units = rows.filter(pl.col("unit").is_not_null())
    variance = between(_contributions(units)).with_columns(kish=pl.lit(value=False))
    worse = None if only_values() else _worse_end(units, variance)
    if whole is not None and whole.height:
        totals = _coded(whole.join(labels, on=by, nulls_equal=True, maintain_order="left"))
        totals = add(totals, [CELL, *UNIT]).filter(pl.col("n") > _NOTHING)
        total = pl.col("n").sum().over(CELL)
        activity = pl.lit(None, pl.UInt32).alias("activity")
        totals = totals.with_columns(activity, w=pl.col("n") / total, c=pl.col("s") / total, spans=pl.lit(1))
        variance = pl.concat([variance, between(totals, layered=False).with_columns(kish=pl.lit(value=True))])
    out = out.join(variance, on=CELL, how="left", maintain_order="left")
    uneven = pl.when("kish").then("uneven").otherwise(1.0)
    out = out.with_columns(variance=pl.col("variance") * uneven)
    if partners is not None and partners.height:
        out = out.with_columns(_beside(out, partners, by))
    if worse is None:
        out = out.with_columns(bound_se=pl.lit(None, pl.Float64))
    else:
        out = out.join(worse, on=CELL, how="left", maintain_order="left")
        out = out.with_columns(bound_se=100 * (pl.col("variance").fill_null(0.0) + pl.col("_more")).sqrt())
    few = pl.col("clusters").fill_null(0) < FEWEST
    out = out.with_columns(
        clusters=pl.col("clusters").fill_null(0).cast(pl.Int64),
        se=pl.when(~few).then(100 * pl.col("variance").sqrt()),
        df=pl.col("df").fill_null(1.0).clip(lower_bound=1.0),
    )
    return _with_interval(out).select(*by, *_COLUMNS)


_COLUMNS = ("value", "low", "high", "se", "n", "clusters", "df", "size", "s", "bound_low", "bound_high", "bound_se")


def numbered(frame: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, Codes]:
    """Labels of all cells with their number (`CELL`), in the order in which they come, and the cell of each row.

    Examples
    --------
    >>> labels, cell = numbered(pl.DataFrame({"group": ["f", "m", "f"]}), ["group"])
    >>> labels["group"].to_list(), cell.tolist()
    (['f', 'm'], [0, 1, 0])
    """
    rows = frame.select(*by, _row=pl.int_range(pl.len(), dtype=pl.UInt32))
    groups = rows.group_by(by, maintain_order=True).agg("_row")
    cell = np.empty(frame.height, dtype=np.int64)
    row = groups["_row"].explode(empty_as_null=False).to_numpy()
    cell[row] = np.repeat(np.arange(groups.height), groups["_row"].list.len().to_numpy())
    return groups.drop("_row").with_row_index(CELL), cell


def _coded(rows: pl.DataFrame) -> pl.DataFrame:
    """The numbers of the rows, with their cell; strata, units and activities as numbers, which are compared faster."""
    names = [name for name in (*UNIT, "activity") if name in rows.columns]
    codes = pl.col(names).cast(pl.String).cast(pl.Categorical).to_physical()
    return rows.select(CELL, codes, *(name for name in (*SUMS, *ENDS) if name in rows.columns))


def _worse_end(units: pl.DataFrame, variance: pl.DataFrame) -> pl.DataFrame:
    """What the worse end of the bounds varies more than the value does (`_more`), of cells with missing answers."""
    low, high = _filled(units)
    short = units.join(units.filter(high - low > _NOTHING).select(CELL).unique(), on=CELL, how="semi")
    ends = between(
        _contributions(short.with_columns(n="requests", s=low, s_most=high), ("s", "s_most")), ("c", "c_most")
    )
    out = ends.select(CELL, "variance").join(variance.select(CELL, _alone="variance"), on=CELL, how="left")
    more = pl.col("variance") - pl.col("_alone").fill_null(0.0)
    return out.select(CELL, _more=more.clip(lower_bound=0.0))


def _filled(frame: pl.DataFrame) -> tuple[pl.Expr, pl.Expr]:
    """How much chose had all missing answers gone one way or the other."""
    if set(ENDS) <= set(frame.columns):
        return pl.col(ENDS[0]), pl.col(ENDS[1])
    return pl.col("s"), pl.col("s") + (pl.col("requests") - pl.col("n")).clip(lower_bound=0.0)


def _mixed(frame: pl.DataFrame, by: list[str]) -> bool:
    questions = frame.select(*by, "question").unique()
    return questions.height > questions.select(by).unique().height


def _values(rows: pl.DataFrame) -> pl.DataFrame:
    """Values, counts and bounds of cells; `uneven` is Kish's factor."""
    columns = [name for name in (*SUMS, *ENDS) if name in rows.columns]
    strata = add(rows, [CELL, "activity"], columns)
    low, high = _filled(strata)
    n, s, seen = pl.col("n"), pl.col("s"), pl.col("n") > _NOTHING
    has_request = pl.col("requests") > 0
    values = strata.group_by(CELL, maintain_order=True).agg(
        value=(s / n).filter(seen).mean(),
        n=n.sum(),
        s=s.sum(),
        uneven=n.sum() * (1 / n).filter(seen).sum() / seen.sum() ** 2,
        bound_low=100 * (low / pl.col("requests")).filter(has_request).mean(),
        bound_high=100 * (high / pl.col("requests")).filter(has_request).mean(),
    )
    return values.sort(CELL)


def _contributions(units: pl.DataFrame, chosen: Sequence[str] = ("s",)) -> pl.DataFrame:
    """What each unit adds to its cell: `c`, `c_most` of a second sum, its weight `w`, and the activities it `spans`."""
    within = [CELL, "activity"]
    rows = add(units, [*within, *UNIT], ("n", *chosen)).filter(pl.col("n") > _NOTHING)
    rows = rows.with_columns(_n=pl.col("n").sum().over(within), _of=pl.col("activity").n_unique().over(CELL))
    share = 1 / (pl.col("_n") * pl.col("_of"))
    added = {name: (pl.col(of) * share).sum() for name, of in zip(("w", "c", "c_most"), ("n", *chosen), strict=False)}
    return rows.group_by([CELL, *UNIT], maintain_order=True).agg(
        spans=pl.len(), activity=pl.col("activity").first(), **added
    )


def between(units: pl.DataFrame, sums: Sequence[str] = ("c",), *, layered: bool = True) -> pl.DataFrame:
    """Variance between units within layers, of the sum of what they add; see `cells`. Of several sums, the largest.

    `units`: a row per unit: `CELL`, `UNIT`, `activity`, `sums`, `w`, `spans`. `layered`: whether activities may be
    layers.
    Returns `CELL`, `variance` (null where no layer has two units), `df`, `clusters`.
    """
    numbers, cell = np.unique(units[CELL].to_numpy(), return_inverse=True)
    stratum, activity = (units[name].cast(pl.Int64).fill_null(-1).to_numpy() + 1 for name in ("stratum", "activity"))
    size, w = numbers.size, to_array(units["w"])
    coarse, alone = (_any_alone(_joint(cell, *codes), cell, size) for codes in ([stratum], [stratum, activity]))
    if layered:
        alone |= np.bincount(cell, units["spans"].to_numpy() > 1, size) > 0
        activity = np.where(alone[cell], 0, activity)
    layer = _joint(cell, np.where(coarse[cell], 0, stratum), *([activity] if layered else []))
    owner = np.zeros(int(layer.max(initial=-1)) + 1, dtype=np.int64)
    owner[layer] = cell
    g, w1, w2, w4 = (np.bincount(layer, x, owner.size) for x in (None, w, w**2, (w * w) ** 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = []
        for c in (to_array(units[name]) for name in sums):
            rate = (np.bincount(layer, c, owner.size) / w1)[layer]
            error = c - rate * w
            error[np.abs(error) <= 1e-7 * (np.abs(c) + np.abs(rate) * w)] = 0.0  # rounding
            variances.append(np.bincount(owner, np.bincount(layer, error**2, owner.size) * g / (g - 1), size))
        df = np.bincount(owner, w2, size) ** 2 / np.bincount(owner, w2**2 / (w2**2 / w4 - 1), size)
    several = np.bincount(owner, g < 2, size) == 0
    columns = {"variance": np.max(variances, axis=0), "df": df}
    return pl.DataFrame(
        [
            pl.Series(CELL, numbers),
            *(pl.Series(name, np.where(several, x, np.nan)).fill_nan(None) for name, x in columns.items()),
            pl.Series("clusters", np.bincount(owner, g, size).astype(np.int64)),
        ]
    )


def _joint(first: Codes, *more: Codes) -> Codes:
    """Numbers from 0 for what several codes say together."""
    for code in more:
        first = np.unique(first * (code.max(initial=0) + 1) + code, return_inverse=True)[1]
    return first


def _any_alone(group: Codes, cell: Codes, cells: int) -> npt.NDArray[np.bool_]:
    """Whether a cell has a group of one unit."""
    return np.bincount(cell, np.bincount(group)[group] < 2, cells) > 0


def excess(variances: pl.DataFrame, partners: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Variance of shares that comes from pictures standing in several pairs, beyond that of independent pairs.

    `variances`: `by` (with `identity`) and `variance`. `partners`: as in `cells`.
    Returns `by`, `excess` (0 or more) and `total`, the answers in all pairs of the cell.
    """
    sums = add(partners, by, MOMENTS).filter(pl.col("n") > _NOTHING)
    rate = pl.col("s") / pl.col("n")
    squares = pl.col("ss") - 2 * rate * pl.col("sn") + rate**2 * pl.col("nn")
    joined = sums.with_columns(_pairs=squares / pl.col("n") ** 2).join(variances, on=list(by), nulls_equal=True)
    more = (pl.col("variance") - pl.col("_pairs")).fill_null(0.0).clip(lower_bound=0.0)
    return joined.select(*by, more.alias("excess"), pl.col("n").alias("total"))


def _beside(cells: pl.DataFrame, partners: pl.DataFrame, by: list[str]) -> pl.Series:
    """Variance with that of the other pictures, which stand beside several of an identity's own."""
    rows = add(partners, [*by, "other_identity"], MOMENTS).filter(pl.col("n") > _NOTHING)
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
    """What `either_side` needs: sums by unit, on whichever side of a pair it is, and moments of pairs.

    `pairs`: a row per pair: `by`, `SUMS`, `unit_1`, `unit_2`, and `pair`, whether these are two.
    """
    sides = pairs.with_columns(unit="unit_1"), pairs.filter("pair").with_columns(unit="unit_2")
    return pl.concat([add(side, (*by, *unit)) for side in sides]), moments(pairs, [*by, "pair"])


def either_side(units: pl.DataFrame, pairs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Shares of answers that are about both pictures of a pair alike, with their interval over pictures.

    `units`: sums by `by` and `UNIT`, a pair's answers in the row of either picture; of one where both are the same
    unit. `pairs`: moments of pairs by `by` and `pair`: whether it is of two units.
    Returns `by`, `value`, `low`, `high`, `se` in percent, `n`, `clusters` (units), `df`, `size`.

    Equation
    --------
    Share R = Σ s / Σ n over pairs; se² = [G/(G-1) Σ_u (s_u - R n_u)² - Σ_p (s_p - R n_p)²] / n², the second sum over
    pairs of two units, which were counted with both; at least that of independent pairs (Aronow, Samii and Assenova
    2015, "Cluster-robust variance estimation for dyadic data").
    """
    by = list(by)
    sums = add(units, [*by, *UNIT]).filter(pl.col("n") > _NOTHING)
    total = add(pairs, by, MOMENTS).select(*by, "n", "s")
    two = add(pairs.filter("pair"), by, MOMENTS).select(*by, "nn", "sn", "ss")
    rate = pl.col("s") / pl.col("n")
    total = total.join(two, on=by, how="left", nulls_equal=True, maintain_order="left")
    squares = pl.col("ss") - 2 * rate * pl.col("sn") + rate**2 * pl.col("nn")
    total = total.with_columns(_rate=rate, _pairs=squares.fill_null(0.0).clip(lower_bound=0.0))
    of_side = sums.join(total.select(*by, "_rate"), on=by, nulls_equal=True)
    of_side = of_side.group_by(by, maintain_order=True).agg(
        _units=((pl.col("s") - pl.col("_rate") * pl.col("n")) ** 2).sum(), clusters=pl.len().cast(pl.Int64)
    )
    out = total.join(of_side, on=by, how="left", nulls_equal=True, maintain_order="left")
    g = pl.col("clusters").fill_null(0)
    variance = (pl.col("_units") * g / (g - 1) - pl.col("_pairs")).clip(lower_bound=pl.col("_pairs"))
    out = out.with_columns(
        value=pl.when(pl.col("n") > _NOTHING).then(pl.col("_rate")),
        clusters=g,
        df=(g - 1.0).clip(lower_bound=1.0),
        se=pl.when(g >= FEWEST).then(100 * (variance / pl.col("n") ** 2).sqrt()),
    )
    return _with_interval(out).select(*by, "value", "low", "high", "se", "n", "clusters", "df", "size")


def _with_interval(frame: pl.DataFrame) -> pl.DataFrame:
    share, se, clusters, df = (to_array(frame[name]) for name in ("value", "se", "clusters", "df"))
    size = effective_size(share, se / 100, clusters)
    low, high = wilson(share, size, df)
    numbers = {"value": share * 100, "low": low * 100, "high": high * 100, "size": size}
    return frame.with_columns(*(pl.Series(name, value).fill_nan(None) for name, value in numbers.items()))


def to_array(series: pl.Series) -> Array:
    """Numbers with NaN for null."""
    return (series if series.dtype == pl.Float64 else series.cast(pl.Float64)).to_numpy()


def p_even(cells: pl.DataFrame) -> Array:
    """P of each share against one half, by the arithmetic of its interval."""
    share, size, df = (to_array(cells[name]) for name in ("value", "size", "df"))
    return score_p(share / 100, size, df)


def method(frame: pl.DataFrame, name: str = WILSON) -> npt.NDArray[np.object_]:
    """How each row's interval was made, or that there is none, and why."""
    enough = to_array(frame["clusters"]) >= FEWEST
    return np.array([TOO_FEW, name], dtype=object)[enough.astype(np.int64)]


TOO_FEW = "no interval: fewer than three pictures (or people) of what it is about, too few to tell them from it"
