"""Variation strength: how far judgments of different people lie apart, by demographic dimension.

Equations of StylisticBias, sections 4.4 and 5.1, and the tests of Table 11.
"""

import numpy as np
import numpy.typing as npt
from scipy import stats

from facevalue.measures import inference
from facevalue.measures.inference import Array, Floor

Codes = npt.NDArray[np.int64]
_BLOCK = 2**21  # elements of one matrix of dealt labels: bounds the work space at 16 MB


def variation_strength(groups: int, scenarios: int, *, mean: bool) -> inference.Statistic:
    """VS as a statistic of cell totals.

    Equation
    --------
    VS_{m,d} = 1/|S| Σ_i std_g(phi_{i,g,m}), the standard deviation (ddof 1) across the groups of dimension d of the
    groups' mean preference scores (section 4.4). Groups that were not observed are left out; fewer than two give NaN.

    Parameters
    ----------
    groups, scenarios:
        Cells are groups x scenarios, groups outermost.
    mean:
        Average over scenarios (the paper's VS), or one value per scenario.
    """

    def statistic(sums: Array, counts: Array) -> Array:
        phi = inference.ratio(sums, counts).reshape(*sums.shape[:-1], groups, scenarios)
        seen = np.isfinite(phi)
        k = seen.sum(axis=-2)
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = np.where(seen, phi, 0).sum(axis=-2) / k
            squares = np.where(seen, (phi - centre[..., None, :]) ** 2, 0).sum(axis=-2)
            spread = np.where(k > 1, np.sqrt(squares / (k - 1)), np.nan)
        if not mean:
            return spread
        measured = np.isfinite(spread)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (np.where(measured, spread, 0).sum(axis=-1) / measured.sum(axis=-1))[..., None]

    return statistic


def label_permutation_floor(
    face_phi: Array, group: Codes, groups: int, statistic: inference.Statistic, seed: int, resamples: int = 1000
) -> Floor:
    """Noise floor: the statistic after dealing the group labels out anew among the faces.

    Parameters
    ----------
    face_phi:
        Shape (faces, scenarios), NaN where not measured.
    group:
        Group of each face; -1 for none.
    groups:
        How many.
    statistic:
        Of the totals of groups x scenarios cells; may give several estimates.
    seed, resamples:
        Of the permutations.
    """
    rng = np.random.default_rng(seed)
    member = np.flatnonzero(group >= 0)
    values = np.nan_to_num(face_phi[member])
    seen = np.isfinite(face_phi[member]).astype(np.float64)
    own = group[member]

    def totals(labels: Codes) -> tuple[Array, Array]:
        """Group totals for each row of labels, shape (rows, groups x scenarios)."""
        one_hot = (labels[:, None, :] == np.arange(groups)[:, None]).astype(np.float64)
        return tuple((one_hot.reshape(-1, own.size) @ x).reshape(len(labels), -1) for x in (values, seen))

    value = statistic(*totals(own[None]))[0]
    if inference.only_values():
        return inference.no_floor(value.size)
    dealt = np.array([rng.permutation(own) for _ in range(resamples)])
    step = max(1, _BLOCK // max(1, groups * own.size))
    null = np.concatenate([statistic(*totals(dealt[at : at + step])) for at in range(0, resamples, step)])
    return inference.floor_from(null, value)


def group_tests(face_phi: Array, group: Codes, groups: int) -> Array:
    """Two-sided p-value per scenario: Mann-Whitney U for two groups, Kruskal-Wallis for more (Table 11).

    NaN where fewer than two groups have faces or all values are equal: nothing can be ranked.
    """
    out = np.full(face_phi.shape[1], np.nan)
    for scenario in range(face_phi.shape[1]):
        column = face_phi[:, scenario]
        samples = [column[(group == g) & np.isfinite(column)] for g in range(groups)]
        samples = [sample for sample in samples if sample.size]
        if len(samples) < 2 or np.ptp(np.concatenate(samples)) == 0:
            continue
        if groups == 2:
            out[scenario] = stats.mannwhitneyu(samples[0], samples[1], alternative="two-sided").pvalue
        else:
            out[scenario] = stats.kruskal(*samples).pvalue
    return out


def with_squares(face_phi: Array, group: Codes, groups: int) -> tuple[Array, Array]:
    """Cells for `corrected_strength`: each face's scores, then their squares, by group and scenario.

    Returns
    -------
    sums, counts of shape (faces, 2 x groups x scenarios).
    """
    member = (group[:, None] == np.arange(groups)).astype(np.float64)
    seen = np.isfinite(face_phi).astype(np.float64)
    values = np.nan_to_num(face_phi)
    counts = (member[:, :, None] * seen[:, None, :]).reshape(len(group), -1)
    parts = [(member[:, :, None] * x[:, None, :]).reshape(len(group), -1) for x in (values, values**2)]
    return np.concatenate(parts, axis=1), np.concatenate([counts, counts], axis=1)


def corrected_strength(groups: int, scenarios: int) -> inference.Statistic:
    """VS without the spread that the sampling of faces adds by itself.

    Equation
    --------
    mean over scenarios of sqrt(max(0, s²_g(phi_ig) - mean_g s²_ig / n_ig)), with s²_ig the variance between the n_ig
    faces of group g: the expected square of a spread of means is the true one plus the mean squared error (ours).
    """

    def statistic(sums: Array, counts: Array) -> Array:
        shape = (*sums.shape[:-1], 2, groups, scenarios)
        total, n = sums.reshape(shape), counts.reshape(shape)[..., 0, :, :]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total[..., 0, :, :] / n
            variance = (total[..., 1, :, :] - n * mean**2) / (n - 1)
            error = np.where(n > 1, np.maximum(variance, 0) / n, np.nan)
            seen = np.isfinite(error)
            k = seen.sum(axis=-2)
            centre = np.where(seen, mean, 0).sum(axis=-2) / k
            spread = np.where(seen, (mean - centre[..., None, :]) ** 2, 0).sum(axis=-2) / (k - 1)
            excess = spread - np.where(seen, error, 0).sum(axis=-2) / k
            each = np.where(k > 1, np.sqrt(np.maximum(excess, 0)), np.nan)
            measured = np.isfinite(each)
            return (np.where(measured, each, 0).sum(axis=-1) / measured.sum(axis=-1))[..., None]

    return statistic
