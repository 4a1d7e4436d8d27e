"""Cohen's kappa: agreement of two people who sort the same things, beyond what chance gives them."""

import numpy as np
import numpy.typing as npt

from facevalue.measures import cluster_bootstrap
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.interval_method import IntervalKind, name_method, name_unmeasured
from facevalue.measures.proportions import ends_of_agreement
from facevalue.measures.uncertainty import Estimates

METHOD = name_method(IntervalKind.BOOTSTRAP, "BCa over units, and no narrower than Wilson's of disagreement")


def cohen_kappa(ratings: Array, seed: int, unit: npt.NDArray[np.int64] | None = None) -> Estimates:
    r"""Cohen's kappa of two raters, with a bootstrap interval.

    Parameters
    ----------
    ratings:
        Shape (2, items): the category that each rater gives, as a number; NaN is missing. Items that not both sorted
        are left out.
    unit:
        Number of the unit that each item is of, where items of one are not independent; each item is one by default.

    Returns
    -------
    One estimate, arrays of shape (1,): `n` items of `clusters` units. NaN with fewer than two units, or where both
    raters put all items into one category: agreement beyond chance cannot be known where there is no variation.

    Raises
    ------
    ValueError
        For another shape.

    Equation
    --------
    kappa = (P - P_e) / (1 - P_e), P the share of items on which both agree, P_e = sum_k p_1k p_2k, with p_jk the share
    of items that rater j puts into category k (Cohen 1960).

    Notes
    -----
    Few items on which nearly all agree give resamples without a disagreement, so that the interval also holds
    1 - w/(1 - P_e) at the ends w of Wilson's interval of the share of disagreement, as that of
    `rater_agreement.alpha`.

    Examples
    --------
    >>> one, other = [1.0, 1, 0, 0, 1, 0], [1.0, 1, 0, 0, 1, 1]
    >>> cohen_kappa(np.array([one, other]), seed=1).value.round(3).tolist()
    [0.667]
    """
    if ratings.ndim != 2 or ratings.shape[0] != 2:
        raise ValueError("ratings need the shape (2, items).")
    complete = np.isfinite(ratings).all(axis=0)
    pairs = ratings[:, complete]
    items = np.arange(ratings.shape[1]) if unit is None else unit
    _, place = np.unique(items[complete], return_inverse=True)
    units, categories = int(place.max(initial=-1)) + 1, np.unique(pairs)
    if units < 2 or categories.size < 2:
        reason = "fewer than two things that both sorted" if units < 2 else "one category alone"
        return Estimates.single(np.nan, np.nan, np.nan, np.nan, pairs.shape[1], units, name_unmeasured(reason))
    sorted_as = (pairs[:, :, None] == categories).astype(np.float64)  # (2, items, categories)
    values = np.column_stack([pairs[0] == pairs[1], sorted_as[0], sorted_as[1]]).astype(np.float64)
    sums = np.zeros((units, values.shape[1]))
    np.add.at(sums, place, values)
    counts = np.bincount(place, minlength=units).astype(np.float64)[:, None] * np.ones(values.shape[1])
    value, low, high, se = cluster_bootstrap.bca(sums, counts, _kappa, seed)
    if not cluster_bootstrap.only_values():
        low, high = ends_of_agreement(value, low, high, 1 / (1.0 - _chance(values.mean(axis=0))), units)
    method = np.array([METHOD], dtype=object)
    return Estimates(value, low, high, np.array([pairs.shape[1]]), np.array([units]), method, se)


def _chance(means: Array) -> Array:
    """P_e of shares (..., agreement, categories of one rater, categories of the other)."""
    categories = (means.shape[-1] - 1) // 2
    return np.asarray((means[..., 1 : 1 + categories] * means[..., 1 + categories :]).sum(axis=-1))


def _kappa(sums: Array, counts: Array) -> Array:
    means = cluster_bootstrap.ratio(sums, counts)
    chance = _chance(means)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(1 - chance > 1e-12, (means[..., 0] - chance) / (1 - chance), np.nan)[..., None]
