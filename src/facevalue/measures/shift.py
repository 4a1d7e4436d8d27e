"""Counterfactual shifts, and their averages over a shared base.

Counterfactual shifts: how far one changed attribute moves the judgment of the same face.

Written for any counterfactual set; the equations are those of StylisticBias, section 4.4.

Averages of shifts that share a base: intervals and tests by dealing out anew which picture is the base.

A face's base is subtracted from each of its k variations, so that an average over them holds the noise of that one
picture k times. Where answers are rare it is lopsided: the base of most faces lies a little below the average of the
others, that of a few far above. Tests of symmetry (Wilcoxon, sign flips) then find a difference in pictures that are
exchangeable, the more surely the more faces there are, and t needs many faces. But the other pictures of the face show
what the base's noise is like: with no effect, each of them could as well have been the base.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cells import SliceLabels, Slicing
from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means, cluster_means
from facevalue.measures.intervals import ONE_CLUSTER_ONLY, IntervalKind, name_method
from facevalue.measures.uncertainty import Estimates, Floor, change_terms

Codes = npt.NDArray[np.int64]
CLOSE_SHIFTS = 1e-6
"""Scores that differ by less are equal."""


@dataclass(frozen=True)
class ShiftCells:
    """Sums and counts of a quantity by cluster and cell; see `cluster_bootstrap`."""

    sums: Array
    counts: Array
    """Shape (clusters, cells)."""
    labels: SliceLabels
    """Factor columns of the cells."""
    shown: npt.NDArray[np.int64]
    """Number of items of each cell, measured or not: a cell without any is not applicable, which is another thing
    than not measurable."""


def shift_cells(values: Array, cluster: Codes, rows: Slicing, columns: Slicing, clusters: int) -> ShiftCells:
    """Gather a quantity by cluster and by the crossing of a row slicing with a column slicing.

    `values`: shape (stimuli, scenarios); NaN is missing.
    """
    seen = ~np.isnan(values)
    sums, counts = cell_sums((np.where(seen, values, 0.0), seen), cluster, rows, columns, clusters)
    sizes = np.outer(_sizes(rows), _sizes(columns)).ravel()
    return ShiftCells(sums, counts, rows.crossed(columns), sizes)


def cell_sums(
    quantities: Sequence[npt.NDArray[Any]], cluster: Codes, rows: Slicing, columns: Slicing, clusters: int
) -> list[Array]:
    """Sums of several quantities by cluster and cell, as `shift_cells` has them; none may be missing."""
    total = len(rows) * len(columns)
    nowhere = clusters * total  # values of no cell
    cell = (cluster * total + rows.codes * len(columns))[:, None] + columns.codes
    cell[rows.codes < 0] = nowhere
    cell[:, columns.codes < 0] = nowhere
    sums = (np.bincount(cell.ravel(), values.ravel(), nowhere + 1)[:-1] for values in quantities)
    return [of_cells.reshape(clusters, total).astype(np.float64, copy=False) for of_cells in sums]


def _sizes(cut: Slicing) -> npt.NDArray[np.int64]:
    """Number of items in each cell of a partition."""
    return np.bincount(cut.codes[cut.codes >= 0], minlength=len(cut))


def join_cells(cells: Sequence[ShiftCells]) -> ShiftCells:
    """Cells of several slicings side by side."""
    names = list(dict.fromkeys(name for c in cells for name in c.labels))
    return ShiftCells(
        np.concatenate([c.sums for c in cells], axis=1),
        np.concatenate([c.counts for c in cells], axis=1),
        {name: [value for c in cells for value in c.labels[name]] for name in names},
        np.concatenate([c.shown for c in cells]),
    )


def shift_floor(signed: Estimates) -> Floor:
    """Floor of |estimate| with no effect: the longer arm of the interval, and the mean se sqrt(2/pi).

    The interval's width says what chance does where the effect has been taken off, so that the band is the same for a
    cue with an effect and for one without.
    """
    high = np.fmax(signed.high - signed.value, signed.value - signed.low)
    se = np.full(high.shape, np.nan) if signed.se is None else signed.se
    p = np.full(high.shape, np.nan) if signed.p is None else signed.p
    return Floor(se * np.sqrt(2 / np.pi), high, p)


def shift_magnitude(signed: Estimates) -> Estimates:
    """|estimate| with the interval that the signed one implies: from 0 where that holds both signs."""
    inside = (signed.low <= 0) & (signed.high >= 0)
    low = np.where(inside, 0.0, np.minimum(np.abs(signed.low), np.abs(signed.high)))
    high = np.maximum(np.abs(signed.low), np.abs(signed.high))
    low = np.where(np.isfinite(signed.low), low, np.nan)
    method = np.array([f"{m}, of the absolute value" for m in signed.method], dtype=object)
    terms = change_terms(signed.terms, unsigned=True)
    return Estimates(np.abs(signed.value), low, high, signed.n, signed.clusters, method, signed.se, terms=terms)


def corrected_magnitude(size: Estimates, se: Array) -> Estimates:
    """|estimate| without the part that chance adds on average, never below zero.

    `se`: standard error over clusters. Not that of `size`, which may hold what the interval's test adds to it.

    Equation
    --------
    E[x²] = mu² + se² for an unbiased x, so mu² is estimated by x² - se² (FaceValue; not in any paper).
    """
    value = np.sqrt(np.maximum(size.value**2 - se**2, 0.0))
    return Estimates(value, size.low, size.high, size.n, size.clusters, size.method, size.se)


def absolute_shifts(sums: Array, counts: Array) -> Array:
    """|SBS| of each cell, for noise floors."""
    return np.abs(cell_means(sums, counts))


def steps_to_share(sums: Array, counts: Array) -> Array:
    """Number of cells, largest |mean| first, that reach 80% of the total |mean| (StylisticBias, Figure 2).

    Returns values of shape (..., 1).
    """
    size = np.nan_to_num(absolute_shifts(sums, counts))  # a cell without observations adds nothing to the total
    ordered = -np.sort(-size, axis=-1)
    running = np.cumsum(ordered, axis=-1)
    total = running[..., -1:]
    steps = (running < 0.8 * total - 1e-12).sum(axis=-1, keepdims=True) + 1.0
    return np.where(total > 0, steps, np.nan)


def cohens_d(face_means: Array) -> Array:
    """Mean / SD (ddof 1) of the clusters' mean shifts (StylisticBias, Table 7).

    `face_means`: shape (clusters, cells), NaN where a cluster has none.
    """
    seen = np.isfinite(face_means)
    n = seen.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(seen, face_means, 0).sum(axis=0) / n
        spread = np.sqrt(np.where(seen, (face_means - mean) ** 2, 0).sum(axis=0) / (n - 1))
        return np.where((n > 1) & (spread > 0), mean / spread, np.nan)


def cohens_d_interval(d: Array, n: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """Large-sample interval of a one-sample standardised mean.

    Equation
    --------
    se = sqrt(1/n + d²/(2(n-1))) (Hedges and Olkin 1985; one-sample form).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.sqrt(1.0 / n + d**2 / (2.0 * (n - 1)))
        spread = scipy.special.stdtrit(np.maximum(n - 1, 1), 0.5 + LEVEL / 2) * se
    return d - spread, d + spread


def base_pair_share(pictures: Array, threshold: float | None) -> Array:
    """Share of pairs of pictures of one face, whichever they are, that lie as far apart as a shift is counted.

    What chance does in a share of zero, or large, shifts: with no effect any two of a face's pictures could be base and
    variation. Pictures differ by more than the noise of their answers, so that dealing answers is not enough.

    `pictures`: scores, shape (faces, pictures, scenarios); NaN for what is missing, or is shown to differ from its
    base. `threshold`: share of pairs with |difference| >= threshold; None for those without a difference.
    Returns values of shape (faces, scenarios); NaN for fewer than two pictures.

    Examples
    --------
    >>> base_pair_share(np.array([[[0.5], [0.5], [0.75]]]), 0.25).round(3).tolist()
    [[0.667]]
    """
    out = np.full((len(pictures), pictures.shape[2]), np.nan)
    for scenario in range(pictures.shape[2]):
        scores = pictures[..., scenario]
        with np.errstate(invalid="ignore"):
            apart = np.abs(scores[:, :, None] - scores[:, None, :])
            hit = apart < CLOSE_SHIFTS if threshold is None else apart >= threshold - CLOSE_SHIFTS
        seen = np.isfinite(scores).sum(axis=1)
        hits = hit.sum(axis=(1, 2)) - (seen if threshold is None else 0)  # a picture beside itself
        pairs = seen * (seen - 1)
        out[:, scenario] = np.where(pairs > 0, hits / np.maximum(pairs, 1), np.nan)
    return out


REDEALT_BASE = name_method(IntervalKind.PERMUTATION, "which picture is the base dealt out anew")
_BOTH = ", and t over cluster means: the wider of both"
_STEPS, _EDGE = 40, 12
_NEAR, _FAR = 0.05, 200.0  # nearer to zero r* is 0/0, and p is near 1 anyway
_LEFT = 0.1
"""Variance of the tilted sum, of its own, down to which the saddlepoint is used: beyond there is next to nothing."""


def average_shifts(
    sums: Array, counts: Array, pictures: Array, variation: Codes, columns: Codes, largest: float | None = None
) -> Estimates:
    """Mean shift of each cell with an interval over clusters and a p-value that agrees with it.

    Parameters
    ----------
    sums, counts:
        Shifts by cluster and cell, shape (clusters, cells).
    pictures:
        Scores, shape (bases, pictures, scenarios): each base first, then its variations; NaN where there is none.
    variation:
        Which variation each picture is, shape (bases, pictures); whatever it is for bases and where there is none.
    columns:
        Cell of each scenario; -1 for none.

    Equation
    --------
    Let r be the scores without the mean shift of their variation (so that real effects don't count as noise), as
    deviations from the mean of a face's m pictures. With picture j as the base the error of the average is
    - sum_f m r_fj / n: its distribution, j drawn evenly in each face, is approximated at its saddlepoint by
    r* = w + log(v/w)/w, w² = 2(t K'(t) - K(t)), v = t sqrt(K''(t)) (Lugannani and Rice 1980; Robinson 1982,
    "Saddlepoint approximations for permutation tests"), and r* compared with t of as many degrees of freedom as
    residuals are free.

    Notes
    -----
    Dealing holds for these faces; it doesn't know how far an effect differs from face to face. So where the cluster
    means vary more than it explains, t over cluster means is taken as well, and the wider of both holds. Dealing alone
    holds 95% in .95 of samples without effect from 5 faces on, also where answers are rare (5%).
    """
    plain = cluster_means(sums, counts, 0, largest=largest)
    if plain.p is None or plain.se is None:  # values only
        return plain
    noise, possible, df = _noise(pictures, variation, columns, sums.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        return wider_estimates(plain, noise / counts.sum(axis=0), possible, df, REDEALT_BASE)


def wider_estimates(
    estimates: Estimates, noise: Array, possible: npt.NDArray[np.bool_], df: Array, method: str
) -> Estimates:
    """The wider of t over clusters and of dealing out anew.

    Parameters
    ----------
    found:
        Estimates by t, with p.
    noise, possible:
        What each estimate errs by with each choice in each cluster, and which choices there are: shape (clusters,
        choices, estimates).
    df:
        In how many directions that is free, by estimate.
    method:
        What is dealt out.
    """
    assert estimates.p is not None
    assert estimates.se is not None
    low, high, p, se = _permute_noise(noise, possible, estimates.value, df)
    equal = np.isnan(estimates.se) & (estimates.clusters > 1)
    usable = np.isfinite(low) & np.isfinite(high) & (estimates.clusters > 1)
    alone = usable & ~equal & (se >= estimates.se)
    usable_pairs = usable & ~alone
    low = np.where(alone, low, np.where(usable_pairs, np.fmin(estimates.low, low), estimates.low))
    high = np.where(alone, high, np.where(usable_pairs, np.fmax(estimates.high, high), estimates.high))
    p = np.where(alone, p, np.where(usable_pairs, np.fmax(p, estimates.p), estimates.p))
    methods = estimates.method.copy()
    methods[usable_pairs] = f"{method}{_BOTH}"
    methods[alone] = method
    methods[estimates.clusters < 2] = ONE_CLUSTER_ONLY
    spread = np.where(usable & ~equal, np.fmax(se, estimates.se), estimates.se)
    return Estimates(estimates.value, low, high, estimates.n, estimates.clusters, methods, spread, p)


def _noise(pictures: Array, variation: Codes, columns: Codes, cells: int) -> tuple[Array, npt.NDArray[np.bool_], Array]:
    """Error of the sum of a cell's shifts with each picture as the base, which pictures can be it, and the df."""
    seen = np.isfinite(pictures) & np.isfinite(pictures[:, :1])
    scores = np.where(seen, pictures, 0.0)
    varied = seen.copy()
    varied[:, 0] = False
    scenarios = pictures.shape[2]
    size = int(variation.max(initial=0)) + 1
    totals, counts = np.zeros((size, scenarios)), np.zeros((size, scenarios))
    code = np.where(variation >= 0, variation, 0)
    np.add.at(totals, code, np.where(varied, scores - scores[:, :1], 0.0))
    np.add.at(counts, code, varied.astype(np.float64))
    effect = np.where(counts > 1, totals / np.maximum(counts, 1), 0.0)
    free = counts.sum(axis=0) - (counts > 1).sum(axis=0)
    rest = np.where(varied, scores - effect[code], scores)
    many = seen.sum(axis=1, keepdims=True)
    centre = rest.sum(axis=1, keepdims=True) / np.maximum(many, 1)
    total_error = np.sqrt(counts.sum(axis=0) / np.maximum(free, 1))
    single = -many * np.where(seen, rest - centre, 0.0) * total_error
    belongs = (columns[:, None] == np.arange(cells)).astype(np.float64)
    in_cell = belongs * (free > 0)[:, None]
    df = np.where(belongs > 0, free[:, None], 0).max(axis=0)
    return single @ in_cell, (seen.astype(np.float64) @ in_cell) > 0, df


def _permute_noise(
    noise: Array, possible: npt.NDArray[np.bool_], value: Array, df: Array
) -> tuple[Array, Array, Array, Array]:
    """Interval, p-value and standard error by dealing; NaN where there is nothing to deal."""
    many = possible.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (np.where(possible, noise**2, 0).sum(axis=1) / np.maximum(many, 1)).sum(axis=0)
        se = np.where((variance > 0) & (df > 0), np.sqrt(variance), np.nan)
    low, high, p = np.full((3, value.size), np.nan)
    cells = np.flatnonzero(np.isfinite(se) & np.isfinite(value))
    used = (many > 1).any(axis=1)
    if cells.size:
        impossible = ~possible[used][..., cells]
        scaled = np.where(impossible, 0.0, noise[used][..., cells] / se[cells])
        below, above, p[cells] = _saddlepoint(scaled, impossible, value[cells] / se[cells], np.maximum(df[cells], 1))
        low[cells], high[cells] = value[cells] - below * se[cells], value[cells] + above * se[cells]
    return low, high, p, se


def _saddlepoint(
    scaled: Array, impossible: npt.NDArray[np.bool_], distance: Array, df: Array
) -> tuple[Array, Array, Array]:
    """Lower and upper half-widths of an interval, and p of a value at `distance`; all in standard errors.

    `scaled`, `impossible`: errors by each choice in each cluster, and which choices there are not; shape (clusters,
    choices, cells).

    Notes
    -----
    Few faces with few pictures have a largest sum. What lies near it, or beyond, has no saddlepoint: there r* goes on
    in a straight line, with its own slope or that of a normal distribution, whichever is less.
    """
    cgf = _cumulants(scaled, impossible)
    target = np.asarray(-scipy.special.stdtrit(df, (1 - LEVEL) / 2), dtype=np.float64)
    sign, size = np.where(distance < 0, -1.0, 1.0), np.maximum(np.abs(distance), _NEAR)

    def tail(t: Array) -> tuple[Array, Array, Array, Array]:
        """K'(t), r*(t) and the slope of the latter, and K''(t)."""
        k, first, second = cgf(t)
        w = np.sign(t) * np.sqrt(np.maximum(2 * (t * first - k), 1e-24))
        return first, w + np.log(t * np.sqrt(second) / w) / w, t * second / w, second

    def edge(side: Array) -> tuple[Array, Array, Array]:
        """Outermost point where the saddlepoint is used: the sum and r* there, and the slope of r* over the sum beyond.

        Where interval and value lie before the point that is tried first, that point stands for it.
        """
        middle = np.full(side.shape, np.sqrt(_NEAR * _FAR))
        first, r, slope, second = tail(side * middle)
        spread, is_short = second >= _LEFT, (side * r < target) | ((side == sign) & (side * first < size))
        low, high = np.where(spread, middle, _NEAR), np.where(spread, _FAR, middle)
        rest = np.flatnonzero(is_short | ~spread)
        if rest.size:
            of_rest = _cumulants(scaled[..., rest], impossible[..., rest])
            for _ in range(_EDGE - 1):
                middle = np.sqrt(low[rest] * high[rest])
                spread = of_rest(side[rest] * middle)[2] >= _LEFT
                low[rest], high[rest] = np.where(spread, middle, low[rest]), np.where(spread, high[rest], middle)
            first, r, slope, second = tail(side * low)
        return side * first, side * r, np.minimum(slope / second, 1.0)

    up = np.ones(distance.shape)
    reach, edges = [], [edge(up), edge(-up)]
    for side, (last, highest, slope) in zip((up, -up), edges, strict=True):
        within = side * tail(_solve(lambda t: tail(t)[1:3], np.minimum(target, highest), side))[0]
        reach.append(np.where(target > highest, last + (target - highest) / slope, within))
    last, highest, slope = (np.where(sign > 0, *pair) for pair in zip(*edges, strict=True))
    r = sign * tail(_solve(lambda t: cgf(t)[1:], np.minimum(size, last), sign))[1]
    r = np.maximum(np.where(size > last, highest + (size - last) * slope, r), 0.0)
    p = np.minimum(2 * scipy.special.stdtr(df, -r), 1.0)
    # Sums that take few values have an r* that is not quite monotone: the wider of interval and test holds.
    near = np.where(sign > 0, *reach)
    near = np.where((p >= 1 - LEVEL) & (near < size), size * (1 + 1e-9), near)
    p = np.where(near >= size, np.maximum(p, 1 - LEVEL), p)
    return np.where(sign > 0, near, reach[0]), np.where(sign > 0, reach[1], near), p


def _cumulants(scaled: Array, impossible: npt.NDArray[np.bool_]) -> Callable[[Array], tuple[Array, Array, Array]]:
    """K, K' and K'' of the sum over faces at t, one t per cell; parameters as in `_saddlepoint`."""
    errors, never = np.ascontiguousarray(np.moveaxis(scaled, 1, 0)), np.moveaxis(impossible, 1, 0)
    squares, nothing = errors**2, never.all(axis=0)
    least, most = (
        np.where(nothing, 0.0, end(np.where(never, x, errors), axis=0))
        for end, x in ((np.min, np.inf), (np.max, -np.inf))
    )
    log_many, left_out = np.log(np.maximum((~never).sum(axis=0), 1)), np.where(never, -np.inf, 0.0)
    is_open = not never.any()

    def cgf(t: Array) -> tuple[Array, Array, Array]:
        weight = t * errors
        top = np.where(t > 0, t * most, t * least)
        weight -= top
        if not is_open:
            weight += left_out
        np.exp(weight, out=weight)
        total = np.maximum(weight.sum(axis=0), 1e-300)
        first, second = (np.einsum("jfc,jfc->fc", weight, x) / total for x in (errors, squares))
        log_mean = np.where(nothing, 0.0, np.log(total) + top - log_many)
        return log_mean.sum(axis=0), first.sum(axis=0), np.maximum((second - first**2).sum(axis=0), 1e-12)

    return cgf


def _solve(function: Callable[[Array], tuple[Array, Array]], target: Array, side: Array) -> Array:
    """Solve function(t) = side * target for a rising function, given with its slope: Newton's steps, else bisection."""
    low, high, t = np.zeros(side.shape), np.full(side.shape, _FAR), np.minimum(target, _FAR / 2)
    for _ in range(_STEPS):
        value, slope = function(side * t)
        value = side * value
        above = value > target
        low, high = np.where(above, low, t), np.where(above, t, high)
        step = t - (value - target) / slope
        moved = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        converged = np.max(np.abs(moved - t) / t, initial=0.0) < 1e-8
        t = moved
        if converged:
            break
    return side * t
