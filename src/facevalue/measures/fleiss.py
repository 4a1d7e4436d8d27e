"""Fleiss' kappa: agreement of people who sort the same texts, and of a scorer that is taken for one more of them.

The paper of the counterfactual sets (appendix C.2) has three people say of 50 texts whether they may offend, and then
takes the scorer, at a threshold of 0.3, for a fourth.
"""

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures import cluster_bootstrap
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.interval_method import IntervalKind, name_method, name_unmeasured
from facevalue.measures.proportions import ends_of_agreement
from facevalue.measures.uncertainty import Estimates

METHOD = name_method(IntervalKind.BOOTSTRAP, "BCa over items, and no narrower than Wilson's of disagreement")

THRESHOLD = 0.3
"""Score from which a text counts as toxic (C.2)."""
RANGES, EACH = 5, 5
"""Ranges of scores of which texts are drawn, and texts of each and of each level (C.2: 2 subsets x 5 x 5)."""


def fleiss_kappa(ratings: Array, seed: int) -> Estimates:
    r"""Fleiss' kappa, with a bootstrap interval over items, no narrower than Wilson's of disagreement.

    Parameters
    ----------
    ratings:
        Shape (raters, items): the category that each rater gives, as a number; NaN is missing. Items that not all
        raters sorted are left out.

    Returns
    -------
    One estimate, arrays of shape (1,): `n` ratings of `clusters` items. NaN with fewer than two raters or items, or
    where all ratings are the same: agreement beyond chance cannot be known where there is no variation.

    Raises
    ------
    ValueError
        For another shape.

    Equation
    --------
    kappa = (P - P_e) / (1 - P_e), P = 1/N sum_i (sum_j n_ij² - m) / (m (m - 1)), P_e = sum_j (1/(N m) sum_i n_ij)²,
    with n_ij of m raters giving item i category j (Fleiss 1971).

    Examples
    --------
    >>> one, other = [1.0, 1, 0, 0, 1, 0], [1.0, 1, 0, 0, 1, 1]
    >>> fleiss_kappa(np.array([one, one, other]), seed=1).value.round(3).tolist()
    [0.775]
    """
    if ratings.ndim != 2:
        raise ValueError("ratings need the shape (raters, items).")
    complete = ratings[:, np.isfinite(ratings).all(axis=0)]
    raters, items = complete.shape
    categories = np.unique(complete)
    if raters < 2 or items < 2 or categories.size < 2:
        reason = (
            "fewer than two raters" if raters < 2 else "fewer than two items" if items < 2 else "one category alone"
        )
        none = np.nan
        return Estimates.single(none, none, none, none, complete.size, items, name_unmeasured(reason))
    counts = (complete[:, :, None] == categories).sum(axis=0).astype(np.float64)
    agree = ((counts**2).sum(axis=1) - raters) / (raters * (raters - 1))
    sums = np.column_stack([agree, counts / raters])
    value, low, high, se = cluster_bootstrap.bca(sums, np.ones_like(sums), _kappa, seed)
    if not cluster_bootstrap.only_values():
        low, high = ends_of_agreement(value, low, high, 1 / (1.0 - _chance(sums.mean(axis=0))), items)
    n, clusters = np.array([complete.size]), np.array([items])
    return Estimates(value, low, high, n, clusters, np.array([METHOD], dtype=object), se)


def _chance(means: Array) -> Array:
    """P_e of means (..., agreement, share of each category)."""
    return np.asarray((means[..., 1:] ** 2).sum(axis=-1))


def _kappa(sums: Array, counts: Array) -> Array:
    means = cluster_bootstrap.ratio(sums, counts)
    agree, chance = means[..., 0], _chance(means)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(1 - chance > 1e-12, (agree - chance) / (1 - chance), np.nan)[..., None]


def as_rater(scores: Array, threshold: float = THRESHOLD) -> Array:
    """A scorer as one more rater: 1 where a score reaches the threshold, else 0; NaN where there is none.

    Examples
    --------
    >>> people, scores = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), np.array([0.9, 0.1, 0.3])
    >>> np.vstack([people, as_rater(scores)])[-1].tolist()
    [1.0, 0.0, 1.0]
    """
    return np.where(np.isfinite(scores), (scores >= threshold).astype(np.float64), np.nan)


def drawn_by_score(
    texts: pl.DataFrame, score: str, by: str, seed: int, *, ranges: int = RANGES, each: int = EACH
) -> pl.DataFrame:
    """Draw as many texts of each range of scores and level, for people to sort.

    Parameters
    ----------
    texts:
        A row per text with its score in [0, 1].
    score, by:
        Columns: the score, and the levels of which as many are drawn each (the subset).
    ranges, each:
        Ranges of one width, and texts of each in each level; all there are where there are fewer.

    Raises
    ------
    UnknownNameError
        No such column.
    DataError
        A score outside of [0, 1].

    Examples
    --------
    >>> texts = pl.DataFrame({"text": list("abcdef"), "toxicity": [0.1, 0.15, 0.3, 0.9, 1.0, 0.5], "subset": ["x"] * 6})
    >>> drawn_by_score(texts, "toxicity", "subset", seed=1, each=1).height
    4
    """
    for name in (score, by):
        if name not in texts.columns:
            raise UnknownNameError("column", name, texts.columns)
    scored = texts.drop_nulls([score, by])
    wrong = scored.filter(~pl.col(score).is_between(0, 1))
    if wrong.height:
        raise DataError(f"The score {wrong[score][0]:g} does not lie between 0 and 1.")
    score_range = (pl.col(score) * ranges).floor().clip(0, ranges - 1)
    mixed = scored.sample(fraction=1.0, shuffle=True, seed=seed).with_columns(score_range.alias("_range"))
    return mixed.group_by(by, "_range", maintain_order=True).head(each).sort(by, "_range").drop("_range")
