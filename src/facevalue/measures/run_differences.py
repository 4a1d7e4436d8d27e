"""What the differences of all cells of two runs amount to: on average, in size, beyond noise, and how many."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from facevalue.measures.base import Measure, change_of
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.interval_method import IntervalKind, name_method, split_method
from facevalue.measures.pair_moments import share_beyond, spread_interval
from facevalue.measures.paired_changes import ChangeSet, interval
from facevalue.measures.run_comparison import STATISTICS
from facevalue.measures.selection import to_array
from facevalue.measures.uncertainty import Estimates, Floor

DRAWS = 4000
SEED = 20261
MEAN, SIZE, RMS, LARGEST = STATISTICS
BALANCED = "zero by construction: in either run the cells add up to one total"
NOISE = name_method(IntervalKind.INVERSION, "noise of the cells, drawn together")
_ZERO: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Summary:
    """One statistic of all cells, of shape (1,)."""

    name: str
    estimate: Estimates
    p: float
    floor: Floor | None = None


def mean_of(measure: Measure) -> Measure:
    """The mean difference over all cells, as a measure."""
    return _named(change_of(measure), f"mean difference in {measure.name}", "mean over all cells", signed=True)


def size_of(measure: Measure) -> Measure:
    """The root mean square of the differences of all cells, as a measure; above zero by noise alone."""
    name = f"size of differences in {measure.name}"
    return _named(change_of(measure), name, "root mean square over all cells", signed=False)


def _named(m: Measure, name: str, summary: str, *, signed: bool) -> Measure:
    low, high = m.limits
    return Measure(
        name, f"{m.title}, {summary}", f"{summary} of: {m.equation}", m.unit, m.cluster, m.source,
        paired=signed, signed=signed, comparison=True, limits=(low if signed else 0.0, high),
        score=m.score,
    )  # fmt: skip


def summaries(changes: ChangeSet, rows: npt.NDArray[np.int64], measure: Measure) -> list[Summary]:
    """Take all statistics of some cells.

    `rows`: cells of `changes` whose difference is measurable.

    Equation
    --------
    With d_c the difference of cell c of C: the mean difference Σ d_c / C, by the jackknife of `paired_changes` over
    what was sampled, so that cells that share units are not taken for independent ones. The mean size Σ |d_c| / C, the
    root mean square sqrt(Σ d_c² / C) and the largest |d_c| stand beside what they would be had nothing differed:
    `ChangeSet.drawn` draws them together, with their errors and correlations. The interval of the root mean square is
    of what lies beyond that noise (`pair_moments.spread_interval`). Limits of the largest: max_c (|d_c| ± k se_c), k
    the 95% quantile of max_c |d_c| / se_c over the draws (simultaneous intervals): no cell differs by more than the
    upper one.

    Examples
    --------
    >>> MEAN, SIZE, RMS, LARGEST
    ('mean_signed_delta', 'mean_absolute_error', 'rmse', 'max_absolute_delta')
    """
    frame = changes.frame[rows]
    n = int(np.nansum([to_array(frame[name]) for name in ("n", "n (other)")]))
    clusters = int(np.nanmax(to_array(frame["clusters"]), initial=0))
    d, se = changes.value[rows], changes.each.se[rows]
    out = [_mean(changes, rows, measure, n, clusters)]
    noisy = rows[np.isfinite(se) & (se > 0)]
    if not noisy.size:
        return out
    null, scale = changes.drawn(noisy, DRAWS, SEED), changes.each.se[noisy]
    measured = changes.value[noisy]
    df = float(np.median(changes.each.df[noisy]))
    none, limit = float("nan"), size_of(measure).limits[1]

    def row(name: str, value: float, low: float, high: float, null_values: Array, against: float) -> Summary:
        p = float(share_beyond(null_values, against))
        low, high = min(low, limit), min(high, limit)
        floor = Floor(*(np.array([x]) for x in (null_values.mean(), np.quantile(null_values, 0.95), p)))
        return Summary(name, Estimates.single(value, low, high, none, n, clusters, NOISE), p, floor)

    sizes, squares = np.abs(null).mean(axis=1), np.sqrt((null**2).mean(axis=1))
    out.append(row(SIZE, float(np.abs(d).mean()), none, none, sizes, float(np.abs(measured).mean())))
    rms = float(np.sqrt((measured**2).mean()))
    beyond = float(share_beyond(squares, rms))
    ends = spread_interval(rms, squares, noisy.size + 1, df, beyond)
    out.append(row(RMS, float(np.sqrt((d**2).mean())), *ends, squares, rms))
    reach = float(np.quantile((np.abs(null) / scale).max(axis=1), 0.95)) * scale
    bottom, top = np.max(np.abs(measured) - reach), np.max(np.abs(measured) + reach)
    largest = np.abs(null).max(axis=1)
    out.append(
        row(LARGEST, float(np.abs(d).max()), max(float(bottom), 0.0), float(top), largest, np.abs(measured).max())
    )
    return out


def _mean(changes: ChangeSet, rows: npt.NDArray[np.int64], measure: Measure, n: int, clusters: int) -> Summary:
    change = changes.mean(rows)
    typical = np.nanmean(np.append(changes.each.se[rows], 0.0))
    if abs(change.value[0]) <= _ZERO and change.se[0] <= _ZERO * typical and typical > 0:
        none = float("nan")
        return Summary(
            MEAN, Estimates.single(0.0, none, none, none, n, clusters, name_method(IntervalKind.NONE, BALANCED)), none
        )
    estimate, p = interval(change, np.array([n]), np.array([clusters]), mean_of(measure))
    return Summary(MEAN, estimate, float(p[0]))


def as_row(summary: Summary) -> Mapping[str, Any]:
    """A summary as a row of a table."""
    floor = summary.floor
    numbers = {name: getattr(summary.estimate, name)[0] for name in ("value", "low", "high", "n", "clusters")}
    columns = {
        "floor": None if floor is None else floor.mean[0],
        "floor_high": None if floor is None else floor.high[0],
    }
    kind, detail = split_method(str(summary.estimate.method[0]))
    methods = {"method": kind.value, "detail": detail}
    return {"statistic": summary.name, **numbers, "p": summary.p, **columns, **methods}
