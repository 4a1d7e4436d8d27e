"""Selection frequencies from moments of picture pairs: VIGNETTE, section 5, with the intervals it does not give.

A pair is summed up by two numbers within a cell: `n`, the expected number of its valid answers, and `s`, how much of
them chose. A cell is summed up by the moments of its pairs. Moments of different pairs add up, so that a run of any
length is reduced chunk by chunk, and every table is made of the same few sums.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.inference import Array
from facevalue.measures.proportions import WILSON, effective_size, wilson

MOMENTS = ("clusters", "n", "s", "nn", "sn", "ss", "asked")
"""Sums over the pairs of a cell: how many answered, n, s, n², s n, s², and the number of answers asked for."""
STRATUM = "activity"
SINGLE = 0.25
"""Share of activities with one pair up to which those with more may speak for them."""
_NOTHING = 1e-9  # mass that is no answer
_ROUNDING = 1e-12  # relative: smaller sums of squares are differences of equal numbers


def moments(sums: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Reduce pairs to the moments of their cells.

    Parameters
    ----------
    sums:
        One row per pair and cell: `n`, `s`, `asked` and the columns of `by`.
    by:
        What names a cell.

    Returns
    -------
    The columns of `by` and `MOMENTS`, a row per cell. Sums are taken in the order of the rows: the same rows always
    give the same numbers to the last bit.
    """
    n, s = pl.col("n"), pl.col("s")
    seen = (n > _NOTHING).sum().cast(pl.Float64)
    products = {"clusters": seen, "n": n.sum(), "s": s.sum(), "nn": (n * n).sum(), "sn": (s * n).sum()}
    out = sums.group_by(by, maintain_order=True)
    return out.agg(**products, ss=(s * s).sum(), asked=pl.col("asked").sum().cast(pl.Float64))


def add(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Add up the moments of cells that hold different pairs, each in the order of its rows."""
    return frame.group_by(by, maintain_order=True).agg(pl.col(MOMENTS).sum())


def mirrored() -> list[pl.Expr]:
    """The moments of the option that was not chosen: s becomes n - s."""
    n, s = pl.col("n"), pl.col("s")
    nn, sn, ss = pl.col("nn"), pl.col("sn"), pl.col("ss")
    return [(n - s).alias("s"), (nn - sn).alias("sn"), (nn - 2 * sn + ss).alias("ss")]


def cells(frame: pl.DataFrame, by: Sequence[str], whole: pl.DataFrame | None = None) -> pl.DataFrame:
    """Selection frequency of each cell with its interval.

    Parameters
    ----------
    frame:
        Moments: the columns of `by`, `activity` (null where there is none) and `MOMENTS`. Rows that a cell puts
        together must hold different pairs: never several questions about the same.
    by:
        What names a cell. Unless `activity` is among it, activities are strata and weigh the same.
    whole:
        Moments of the same cells over all activities together, with the columns of `by` but no strata. Needed where a
        pair answers for several activities, which then are no separate samples.

    Returns
    -------
    The columns of `by`; `value`, `low`, `high` and `se` in percent; `n` (expected valid answers), `clusters` (pairs),
    `df` (degrees of freedom of `se`), `size` (effective number of answers), `chance` (in percentage points: the
    standard deviation of the value if every pair's choice were turned round by the toss of a coin), `s` (how much of
    n chose), `bound_low` and `bound_high` (in percent: had all missing answers gone one way). Null is not
    measurable: a cell without valid answers has value null and n 0; one with a single pair has no interval.

    Equation
    --------
    S = 1/A Σ_a 100 s_a / n_a over the activities with an answer (section 5).
    se² = 1/A² Σ_a v_a with v_a = G_a/(G_a - 1) Σ_g (s_g - R_a n_g)² / n_a², R_a = s_a/n_a: stratified, over pairs
    within activities (Cochran, Sampling Techniques, 1977, sections 5.3 and 6.4). An activity with one pair takes the
    pooled variance within the others. Where more than a quarter of the activities have one pair only (and the others
    do not leave twice the degrees of freedom that there are between activities), se² is the variance between the
    activities' R_a, over A: not too small, since it holds the differences between activities besides (Cochran, section
    5A.12). Where pairs answer for several activities, se² is that over all pairs without strata, times
    n Σ_a (1/n_a) / A² (Kish) for activities that are not asked equally often. Intervals: `proportions.wilson`.

    Raises
    ------
    ValueError
        A cell would put several questions together.

    Examples
    --------
    >>> pairs = pl.DataFrame({"activity": ["cooking"] * 2 + ["sleeping"] * 2, "n": [1.0] * 4, "s": [1.0, 0, 1, 1],
    ...                       "asked": [1] * 4, "identity": ["old"] * 4})
    >>> out = cells(moments(pairs, ["identity", "activity"]), ["identity"])
    >>> out.select("identity", "value", pl.col("se").round(1), "n", "clusters", "df").row(0)
    ('old', 75.0, 25.0, 4.0, 4, 2.0)
    """
    by = list(by)
    if "question" in frame.columns and "question" not in by and _mixed(frame, by):
        raise ValueError("A cell would put several questions about one pair together; name `question` in `by`.")
    strata = add(frame, list(dict.fromkeys([*by, STRATUM])))
    out = _stratified(strata, by)
    if whole is not None:
        total = add(whole, by).select(*by, *(pl.col(name).alias(f"whole_{name}") for name in MOMENTS))
        out = out.join(total, on=by, how="left", nulls_equal=True, maintain_order="left")
    out = out.with_columns(_variance(shared=whole is not None))
    return _with_interval(out).select(*by, *_COLUMNS)


_COLUMNS = ("value", "low", "high", "se", "n", "clusters", "df", "size", "chance", "s", "bound_low", "bound_high")


def _mixed(frame: pl.DataFrame, by: list[str]) -> bool:
    questions = frame.select(*by, "question").unique()
    return questions.height > (questions.select(by).unique().height if by else 1)


def _stratified(strata: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Sums over strata from which values and all variances follow."""
    clusters, n, s, nn = (pl.col(name) for name in ("clusters", "n", "s", "nn"))
    seen = n > _NOTHING
    rate = s / n
    squares = _squares(pl.col("ss"), pl.col("sn"), nn, rate)
    flips = (pl.col("ss") - pl.col("sn") + nn / 4).clip(lower_bound=0)
    frame = strata.with_columns(rate=rate, squares=squares, flips=flips, seen=seen, many=seen & (clusters > 1))
    many, single = pl.col("many"), pl.col("seen") & ~pl.col("many")
    kept = pl.col("seen")
    asked = pl.col("asked") > 0
    return frame.group_by(by, maintain_order=True).agg(
        strata=kept.sum().cast(pl.Float64),
        value=pl.col("rate").filter(kept).mean(),
        n=n.sum(),
        s=s.sum(),
        listed=clusters.filter(kept).sum(),
        free=(clusters - 1).filter(kept).sum(),
        own=(clusters / (clusters - 1) * pl.col("squares") / n**2).filter(many).sum(),
        pooled=pl.col("squares").filter(many).sum() / (clusters - 1).filter(many).sum(),
        size=nn.filter(many).sum() / clusters.filter(many).sum(),
        singles=single.sum().cast(pl.Float64),
        alone=(nn / n**2).filter(single).sum(),
        between=pl.col("rate").filter(kept).var(),
        flips=(pl.col("flips") / n**2).filter(kept).sum(),
        uneven=(1 / n).filter(kept).sum(),
        bound_low=100 * (s / pl.col("asked")).filter(asked).mean(),
        bound_high=100 * ((s + (pl.col("asked") - n).clip(lower_bound=0)) / pl.col("asked")).filter(asked).mean(),
    )


def _squares(ss: pl.Expr, sn: pl.Expr, nn: pl.Expr, rate: pl.Expr) -> pl.Expr:
    """Σ (s - R n)² from moments; what is left over by rounding is none."""
    squares = ss - 2 * rate * sn + rate**2 * nn
    return pl.when(squares > _ROUNDING * (ss + rate**2 * nn)).then(squares).otherwise(0.0)


def _variance(*, shared: bool) -> list[pl.Expr]:
    """Variance, degrees of freedom, pairs, and variance under flips, whichever holds."""
    strata, free = pl.col("strata"), pl.col("free")
    alone = pl.when(pl.col("alone") > 0).then(pl.col("alone") * pl.col("pooled") / pl.col("size")).otherwise(0)
    own = pl.col("own") + alone
    enough = (pl.col("singles") <= SINGLE * strata) | (free >= 2 * (strata - 1))
    stratified = (free > 0) & enough
    variance = pl.when(stratified).then(own / strata**2).otherwise(pl.col("between") / strata)
    df = pl.when(stratified).then(free).otherwise(strata - 1)
    clusters, flips = pl.col("listed"), pl.col("flips") / strata**2
    if shared:
        n, s, nn, sn, ss, groups = (pl.col(f"whole_{x}") for x in ("n", "s", "nn", "sn", "ss", "clusters"))
        uneven = pl.col("uneven") * n / strata**2
        squares = _squares(ss, sn, nn, s / n)
        together = groups < clusters
        over = pl.when(groups > 1).then(groups / (groups - 1) * squares / n**2 * uneven)
        variance = pl.when(together).then(over).otherwise(variance)
        df = pl.when(together).then(groups - 1).otherwise(df)
        turned = (ss - sn + nn / 4).clip(lower_bound=0) / n**2 * uneven
        flips = pl.when(together).then(turned).otherwise(flips)
        clusters = pl.when(together).then(groups).otherwise(clusters)
    return [
        (100 * variance.sqrt()).alias("se"),
        df.clip(lower_bound=1).alias("df"),
        clusters.fill_null(0).cast(pl.Int64).alias("clusters"),
        (100 * flips.sqrt()).alias("chance"),
    ]


def _with_interval(frame: pl.DataFrame) -> pl.DataFrame:
    share, se, clusters, df = (to_array(frame[name]) for name in ("value", "se", "clusters", "df"))
    size = effective_size(share, se / 100, clusters)
    low, high = wilson(share, size, df)
    numbers = {"value": share * 100, "low": low * 100, "high": high * 100, "size": size}
    return frame.with_columns(*(pl.Series(name, value).fill_nan(None) for name, value in numbers.items()))


def ratio(moments: Mapping[str, Array]) -> tuple[Array, Array]:
    """Share that chose in each cell, all pairs together, and its standard error over pairs.

    Parameters
    ----------
    moments:
        `MOMENTS`, arrays of one length.

    Returns
    -------
    share in [0, 1] (NaN without an answer) and its standard error (NaN of a single pair).
    """
    n, s, groups = moments["n"], moments["s"], moments["clusters"]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(n > _NOTHING, s / n, np.nan)
        squares = moments["ss"] - 2 * share * moments["sn"] + share**2 * moments["nn"]
        squares = np.where(squares > _ROUNDING * (moments["ss"] + share**2 * moments["nn"]), squares, 0.0)
        se = np.where(groups > 1, np.sqrt(groups / (groups - 1) * squares) / n, np.nan)
    return np.clip(share, 0.0, 1.0), se


def to_array(series: pl.Series) -> Array:
    """Numbers with NaN for null."""
    return (series if series.dtype == pl.Float64 else series.cast(pl.Float64)).to_numpy()


def method(frame: pl.DataFrame, name: str = WILSON) -> npt.NDArray[np.object_]:
    """How each row's interval was made, or that there is none."""
    return np.where(to_array(frame["clusters"]) > 1, name, "no interval: fewer than two clusters").astype(object)
