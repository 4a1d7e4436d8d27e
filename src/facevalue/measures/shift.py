"""Counterfactual shifts: how far one changed attribute moves the judgment of the same face.

Written for any counterfactual set; the equations are those of StylisticBias, section 4.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures import cluster_bootstrap
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.slicing import Labels, Slicing
from facevalue.measures.terms import changed
from facevalue.measures.uncertainty import Estimates, Floor

Codes = npt.NDArray[np.int64]
CLOSE = 1e-6
"""Scores that differ by less are equal."""


@dataclass(frozen=True)
class Cells:
    """Sums and counts of a quantity by cluster and cell; see `cluster_bootstrap`."""

    sums: Array
    counts: Array
    """Shape (clusters, cells)."""
    labels: Labels
    """Factor columns of the cells."""
    shown: npt.NDArray[np.int64]
    """How many items belong to each cell, measured or not: a cell without any is not applicable, which is another thing
    than not measurable."""


def cells(values: Array, cluster: Codes, rows: Slicing, columns: Slicing, clusters: int) -> Cells:
    """Gather a quantity by cluster and by the crossing of a row slicing with a column slicing.

    `values`: shape (stimuli, scenarios); NaN is missing.
    """
    total = len(rows) * len(columns)
    nowhere = clusters * total  # values of no cell
    cell = (cluster * total + rows.codes * len(columns))[:, None] + columns.codes
    cell[rows.codes < 0] = nowhere
    cell[:, columns.codes < 0] = nowhere
    seen = ~np.isnan(values)
    sums, counts = (
        np.bincount(cell.ravel(), weights.ravel(), nowhere + 1)[:-1]
        .reshape(clusters, total)
        .astype(np.float64, copy=False)
        for weights in (np.where(seen, values, 0.0), seen)
    )
    sizes = np.outer(_sizes(rows), _sizes(columns)).ravel()
    return Cells(sums, counts, rows.crossed(columns), sizes)


def _sizes(cut: Slicing) -> npt.NDArray[np.int64]:
    """How many items each cell of a partition holds."""
    return np.bincount(cut.codes[cut.codes >= 0], minlength=len(cut))


def joined(cells: Sequence[Cells]) -> Cells:
    """Cells of several slicings side by side."""
    names = list(dict.fromkeys(name for c in cells for name in c.labels))
    return Cells(
        np.concatenate([c.sums for c in cells], axis=1),
        np.concatenate([c.counts for c in cells], axis=1),
        {name: [value for c in cells for value in c.labels[name]] for name in names},
        np.concatenate([c.shown for c in cells]),
    )


def floor(signed: Estimates) -> Floor:
    """What |estimate| is with no effect: as far as the interval reaches to its longer side, and mean se sqrt(2/pi).

    The interval's width says what chance does where the effect has been taken off, so that the band is the same for a
    cue with an effect and for one without.
    """
    high = np.fmax(signed.high - signed.value, signed.value - signed.low)
    se = np.full(high.shape, np.nan) if signed.se is None else signed.se
    p = np.full(high.shape, np.nan) if signed.p is None else signed.p
    return Floor(se * np.sqrt(2 / np.pi), high, p)


def magnitude(signed: Estimates) -> Estimates:
    """|estimate| with the interval that the signed one implies: from 0 where that holds both signs."""
    inside = (signed.low <= 0) & (signed.high >= 0)
    low = np.where(inside, 0.0, np.minimum(np.abs(signed.low), np.abs(signed.high)))
    high = np.maximum(np.abs(signed.low), np.abs(signed.high))
    low = np.where(np.isfinite(signed.low), low, np.nan)
    method = np.array([f"{m}, of the absolute value" for m in signed.method], dtype=object)
    terms = changed(signed.terms, unsigned=True)
    return Estimates(np.abs(signed.value), low, high, signed.n, signed.clusters, method, signed.se, terms=terms)


def corrected(size: Estimates, se: Array) -> Estimates:
    """|estimate| without the part that chance adds on average, never below zero.

    `se`: standard error over clusters. Not that of `size`, which may hold what the interval's test adds to it.

    Equation
    --------
    E[x²] = mu² + se² for an unbiased x, so mu² is estimated by x² - se² (FaceValue; not in any paper).
    """
    value = np.sqrt(np.maximum(size.value**2 - se**2, 0.0))
    return Estimates(value, size.low, size.high, size.n, size.clusters, size.method, size.se)


def absolute(sums: Array, counts: Array) -> Array:
    """|SBS| of each cell, for noise floors."""
    return np.abs(cluster_bootstrap.ratio(sums, counts))


def steps_to_share(sums: Array, counts: Array) -> Array:
    """How many cells, largest |mean| first, reach 80% of the total |mean| (StylisticBias, Figure 2).

    Returns values of shape (..., 1).
    """
    size = np.nan_to_num(absolute(sums, counts))  # a cell without observations adds nothing to the total
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
        spread = scipy.special.stdtrit(np.maximum(n - 1, 1), 0.5 + cluster_bootstrap.LEVEL / 2) * se
    return d - spread, d + spread


def pair_share(pictures: Array, threshold: float | None) -> Array:
    """How often two pictures of one face, whichever they are, lie as far apart as a shift is counted.

    What chance does in a share of zero, or large, shifts: with no effect any two of a face's pictures could be base and
    variation. Pictures differ by more than the noise of their answers, so that dealing answers is not enough.

    `pictures`: scores, shape (faces, pictures, scenarios); NaN for what is missing, or is shown to differ from its
    base. `threshold`: share of pairs with |difference| >= threshold; None for those without a difference.
    Returns values of shape (faces, scenarios); NaN for fewer than two pictures.

    Examples
    --------
    >>> pair_share(np.array([[[0.5], [0.5], [0.75]]]), 0.25).round(3).tolist()
    [[0.667]]
    """
    out = np.full((len(pictures), pictures.shape[2]), np.nan)
    for scenario in range(pictures.shape[2]):
        scores = pictures[..., scenario]
        with np.errstate(invalid="ignore"):
            apart = np.abs(scores[:, :, None] - scores[:, None, :])
            hit = apart < CLOSE if threshold is None else apart >= threshold - CLOSE
        seen = np.isfinite(scores).sum(axis=1)
        hits = hit.sum(axis=(1, 2)) - (seen if threshold is None else 0)  # a picture beside itself
        pairs = seen * (seen - 1)
        out[:, scenario] = np.where(pairs > 0, hits / np.maximum(pairs, 1), np.nan)
    return out
