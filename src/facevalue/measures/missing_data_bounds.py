"""Worst-case bounds: what the missing answers could have changed.

Refusals and unparsed replies are outcomes, not gaps to be filled in. These bounds make no assumption about them: they
say what a preference score or a shift would have been had all missing answers gone to one pole or to the other. If a
shift keeps its sign between its bounds, no story about the missing answers can explain it away.

The bounds say nothing about sampling error; for an interval of either end, give `filled` sums and the asked counts to
`cluster_bootstrap.means`.
"""

from dataclasses import dataclass

import numpy as np

from facevalue.measures.cluster_bootstrap import Array, ratio

_SLACK = 1e-9
_ABOVE = 0.01  # probabilities are stored in single precision, and may sum to as much more than 1


@dataclass(frozen=True, slots=True)
class Replies:
    """What was asked and what came back, by cluster and cell.

    Attributes
    ----------
    sums:
        Total weight of the pole in the valid answers (expected selections, each in [0, 1]).
    valid:
        Mass of valid answers: their number, or the summed probability of the valid options.
    asked:
        How many answers were asked for.

    All of shape (clusters, cells). NaN makes the cell NaN.

    Raises
    ------
    ValueError
        If shapes differ, or not 0 <= valid <= asked but for rounding.
    """

    sums: Array
    valid: Array
    asked: Array

    def __post_init__(self) -> None:
        if not self.sums.shape == self.valid.shape == self.asked.shape or self.sums.ndim != 2:
            raise ValueError("sums, valid and asked must have one shape, (clusters, cells).")
        if (self.valid < -_SLACK).any() or (self.valid > self.asked * (1 + _ABOVE) + _SLACK).any():
            raise ValueError("The valid mass must lie between zero and the number of answers asked for.")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Observed values between their worst-case bounds; arrays of shape (cells,)."""

    value: Array
    """From the valid answers alone; NaN where there was none."""
    low: Array
    high: Array
    """With all missing answers at one pole or the other; NaN where nothing was asked."""
    missing: Array
    """Share of the asked answers that are missing; for a shift, the mean of both sides."""


def filled(replies: Replies, pole: float) -> Array:
    """Sums had all missing answers gone to one pole, shape (clusters, cells); divide by `asked`.

    `pole`: value of each missing answer, for a preference 0 or 1.

    Examples
    --------
    >>> replies = Replies(np.array([[3.0]]), np.array([[4.0]]), np.array([[10.0]]))
    >>> filled(replies, 0.0).item(), filled(replies, 1.0).item()
    (3.0, 9.0)
    """
    return replies.sums + pole * np.maximum(replies.asked - replies.valid, 0.0)


def phi_bounds(replies: Replies, poles: tuple[float, float] = (0.0, 1.0)) -> Bounds:
    """Bounds of the mean of each cell.

    `poles`: smallest and largest value of an answer.

    Equation
    --------
    low = (S + a M)/A, high = (S + b M)/A, M = A - V; S sum of weights, V valid mass, A asked, a and b the poles
    (Manski 1989, "Anatomy of the selection problem"). The observed S/V lies between.

    Examples
    --------
    >>> bounds = phi_bounds(Replies(np.array([[3.0]]), np.array([[4.0]]), np.array([[10.0]])))
    >>> bounds.value.item(), bounds.low.item(), bounds.high.item(), bounds.missing.item()
    (0.75, 0.3, 0.9, 0.6)
    """
    _check(replies, poles)
    return _bounds(replies, np.ones_like(replies.asked), poles)


def shift_bounds(
    base: Replies, variant: Replies, poles: tuple[float, float] = (0.0, 1.0), *, paired: bool = True
) -> Bounds:
    """Bounds of the shift from base to variant: missing variant answers up and base answers down, and vice versa.

    Parameters
    ----------
    base, variant:
        One column per comparison, clusters in the same rows. Repeat a base's columns for each of its variants.
    paired:
        Compare within clusters: those asked on one side only are left out, and a cluster's base weighs as much as its
        variant. Else all answers of either side count alike.

    Equation
    --------
    low = low(phi_v) - high(phi_b), high = high(phi_v) - low(phi_b), with phi_v = Σ_g S_vg / Σ_g A_vg and, if paired,
    phi_b = Σ_g r_g S_bg / Σ_g r_g A_bg, r_g = A_vg / A_bg. Sharp (attained) for each comparison on its own.

    Notes
    -----
    `value` compares all valid answers of either side and always lies between the bounds. A paired shift that drops
    clusters with a side missing can lie outside, where answers went missing in some clusters more than in others.

    Examples
    --------
    >>> base = Replies(np.array([[2.0], [3.0]]), np.array([[10.0], [10.0]]), np.array([[10.0], [10.0]]))
    >>> variant = Replies(np.array([[7.0], [8.0]]), np.array([[9.0], [10.0]]), np.array([[10.0], [10.0]]))
    >>> bounds = shift_bounds(base, variant)
    >>> round(bounds.low.item(), 3), round(bounds.high.item(), 3)
    (0.5, 0.55)
    """
    if base.sums.shape != variant.sums.shape:
        raise ValueError("base and variant must have one shape: the same clusters and one column per comparison.")
    _check(base, poles)
    _check(variant, poles)
    weigh_base = weigh_variant = np.ones_like(base.asked)
    if paired:
        both = (base.asked > 0) & (variant.asked > 0) | np.isnan(base.asked) | np.isnan(variant.asked)
        weigh_variant = both.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            weigh_base = np.where(both, variant.asked / base.asked, 0.0)
    b = _bounds(base, weigh_base, poles)
    v = _bounds(variant, weigh_variant, poles)
    return Bounds(v.value - b.value, v.low - b.high, v.high - b.low, (v.missing + b.missing) / 2)


def _check(replies: Replies, poles: tuple[float, float]) -> None:
    low, high = poles
    slack = _SLACK * (1 + replies.valid)
    if not low < high or (replies.sums < low * replies.valid - slack).any():
        raise ValueError("Sums lie below what the valid answers can give; see `poles`.")
    if (replies.sums > high * replies.valid + slack).any():
        raise ValueError("Sums lie above what the valid answers can give; see `poles`.")


def _bounds(replies: Replies, weight: Array, poles: tuple[float, float]) -> Bounds:
    asked = (weight * replies.asked).sum(axis=0)
    valid = (weight * replies.valid).sum(axis=0)
    observed = ratio((weight * replies.sums).sum(axis=0), valid)
    low, high = (ratio((weight * filled(replies, pole)).sum(axis=0), asked) for pole in poles)
    return Bounds(observed, low, high, ratio(asked - np.minimum(valid, asked), asked))
