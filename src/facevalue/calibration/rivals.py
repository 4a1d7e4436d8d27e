"""Simple tests of the same answers, beside which the power of a study's own tests stands."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special, stats

from facevalue.measures.definitions import rows_of
from facevalue.measures.multitest import adjust_p
from facevalue.protocol.calibration import Rival
from facevalue.statistics.breakdown import DIMENSION, GROUP, OTHER_GROUP
from facevalue.statistics.rivals import SIDE, UNIT, VALUE, group_sides

Array = npt.NDArray[np.float64]
_LEVELS = pl.selectors.by_dtype(pl.Enum, pl.Categorical)


def p_values(rival: Rival, answers: pl.DataFrame) -> pl.DataFrame:
    """P of each estimate that a rival tests: its labels, and `p_rival`.

    t over means of units: against zero, or Welch's between the units of two sides; Fisher's exact test of these (twice
    the smaller tail) where values are flags. Where an estimate is about several numbers at once, its components, the
    smallest p times how many they are.
    """
    rows = rival.rows(answers.with_columns(_LEVELS.cast(pl.String))).drop_nulls([VALUE, UNIT])
    components = [name for name in rival.components if name in (*rows.columns, *(GROUP for _ in rival.groups))]
    rest = {UNIT, VALUE, SIDE, *rival.groups}
    by = rival.by if rival.by is not None else [name for name in rows.columns if name not in {*rest, *components}]
    if rival.groups:
        cells = dict.fromkeys([*by, *(name for name in components if name != GROUP)])
        rows = group_sides(rows.select(*cells, *rival.groups, UNIT, VALUE), rival.groups, rival.versus)
        labels = [name for name in (DIMENSION, GROUP, OTHER_GROUP) if name in rows.columns]
        by = [*by, *(name for name in labels if name not in components)]
    by, sides = ["measure", *by], [SIDE] if SIDE in rows.columns else []
    rows = rows.with_columns(measure=pl.lit(rival.measure.partition(".")[0]))
    units = rows.group_by([*by, *components, UNIT, *sides]).agg(pl.col(VALUE).mean())
    if rival.apart:
        same = [name for name in (*by, *components, UNIT) if name != rival.apart]
        units = units.with_columns(pl.col(VALUE) - pl.col(VALUE).mean().over(same))
    tests = _exact(units, [*by, *components]) if rival.flags else _by_t(units, [*by, *components], sides)
    smallest = tests.group_by(by).agg(p_rival=(pl.col("p").min() * pl.len()).clip(upper_bound=1.0))
    return smallest.with_columns(pl.col(by).cast(pl.String))


def _exact(units: pl.DataFrame, cells: Sequence[str]) -> pl.DataFrame:
    """Fisher's exact test of flags on two sides; nothing of flags that no unit has."""
    flag = pl.col(VALUE)
    counts = units.group_by(cells).agg(
        hits=flag.filter(SIDE).sum(), side=pl.col(SIDE).sum(), all_hits=flag.sum(), every=pl.len()
    )
    counts = counts.filter(pl.col("all_hits") > 0)
    hits, side, all_hits, totals = (counts[name].to_numpy() for name in ("hits", "side", "all_hits", "every"))
    law = stats.hypergeom(totals, np.rint(all_hits), side)
    tails = np.fmin(law.sf(np.rint(hits) - 1), law.cdf(np.rint(hits)))
    return counts.select(cells).with_columns(p=pl.Series(np.minimum(2 * tails, 1.0)))


def _by_t(units: pl.DataFrame, cells: Sequence[str], sides: Sequence[str]) -> pl.DataFrame:
    moments = units.group_by([*cells, *sides]).agg(
        mean=pl.col(VALUE).mean(), error=pl.col(VALUE).var() / pl.len(), n=pl.len().cast(pl.Float64)
    )
    if sides:
        first, second = (moments.filter(pl.col(SIDE) == which).drop(SIDE) for which in (True, False))
        joined = first.join(second, on=cells, nulls_equal=True)
        error = pl.col("error") + pl.col("error_right")
        terms = pl.col("error") ** 2 / (pl.col("n") - 1) + pl.col("error_right") ** 2 / (pl.col("n_right") - 1)
        moments = joined.with_columns(mean=pl.col("mean") - pl.col("mean_right"), error=error, freedom=error**2 / terms)
    else:
        moments = moments.with_columns(freedom=pl.col("n") - 1)
    p = _t(*(moments[name].fill_null(np.nan).to_numpy() for name in ("mean", "error", "freedom")))
    return moments.select(cells).with_columns(p=pl.Series(p).fill_nan(None))


@np.errstate(invalid="ignore", divide="ignore")
def _t(mean: Array, error: Array, freedom: Array) -> Array:
    """Two-sided p; NaN where units don't vary."""
    statistic = np.abs(mean) / np.sqrt(error)
    return np.where((error > 0) & (freedom > 0), 2 * special.stdtr(np.maximum(freedom, 1e-9), -statistic), np.nan)


def beside(judged: pl.DataFrame, rivals: Sequence[Rival], answers: pl.DataFrame) -> pl.DataFrame:
    """Estimates with `q_rival`, the rival's p by Holm within the family; null where there is no rival."""
    tested = []
    left = judged.with_row_index("row")
    for rival in rivals:
        estimates = left.filter(rows_of([rival.measure]), pl.col("p").is_not_null(), *rival.only)
        if estimates.is_empty():
            continue
        p = p_values(rival, answers)
        on = [name for name in p.columns if name != "p_rival"]
        tested.append(estimates.join(p, on=on, how="left").select("row", "family", "p_rival"))
    if not tested:
        return judged.with_columns(q_rival=pl.lit(None, pl.Float64))
    tests = pl.concat(tested)
    holm = [
        family.select("row").with_columns(q_rival=pl.Series(adjust_p(family["p_rival"].to_numpy(), "holm")))
        for family in tests.drop_nulls("p_rival").partition_by("family")
    ]
    if not holm:
        return judged.with_columns(q_rival=pl.lit(None, pl.Float64))
    return left.join(pl.concat(holm), on="row", how="left", maintain_order="left").drop("row")
