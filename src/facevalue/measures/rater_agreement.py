"""Agreement of raters: kappa, alpha, and flags against people.

Fleiss' kappa: agreement of people who sort the same texts, and of a scorer that is taken for one more of them.

The paper of the counterfactual sets (appendix C.2) has three people say of 50 texts whether they may offend, and then
takes the scorer, at a threshold of 0.3, for a fourth.

Ratings by several people: their mean, the published flag, and how far the raters agree.

VisBias (section 3.4) has each pair of attributes rated on five points by three people, and counts a mean of 3 or more
as a bias. It gives no agreement; Krippendorff's alpha is what we add.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cluster_bootstrap import Array, bca_interval, cell_means, cluster_means, only_values
from facevalue.measures.intervals import IntervalKind, name_method, name_unmeasured
from facevalue.measures.proportions import ends_of_agreement
from facevalue.measures.uncertainty import Estimates

BCA_OVER_UNITS = name_method(IntervalKind.BOOTSTRAP, "BCa over units, and no narrower than Wilson's of disagreement")


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
    `krippendorff_alpha`.

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
    value, low, high, se = bca_interval(sums, counts, _cohen_kappa, seed)
    if not only_values():
        low, high = ends_of_agreement(value, low, high, 1 / (1.0 - _cohen_chance(values.mean(axis=0))), units)
    method = np.array([BCA_OVER_UNITS], dtype=object)
    return Estimates(value, low, high, np.array([pairs.shape[1]]), np.array([units]), method, se)


def _cohen_chance(means: Array) -> Array:
    """P_e of shares (..., agreement, categories of one rater, categories of the other)."""
    categories = (means.shape[-1] - 1) // 2
    return np.asarray((means[..., 1 : 1 + categories] * means[..., 1 + categories :]).sum(axis=-1))


def _cohen_kappa(sums: Array, counts: Array) -> Array:
    means = cell_means(sums, counts)
    chance = _cohen_chance(means)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(1 - chance > 1e-12, (means[..., 0] - chance) / (1 - chance), np.nan)[..., None]


BCA_OVER_ITEMS = name_method(IntervalKind.BOOTSTRAP, "BCa over items, and no narrower than Wilson's of disagreement")

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
    value, low, high, se = bca_interval(sums, np.ones_like(sums), _fleiss_kappa, seed)
    if not only_values():
        low, high = ends_of_agreement(value, low, high, 1 / (1.0 - _fleiss_chance(sums.mean(axis=0))), items)
    n, clusters = np.array([complete.size]), np.array([items])
    return Estimates(value, low, high, n, clusters, np.array([BCA_OVER_ITEMS], dtype=object), se)


def _fleiss_chance(means: Array) -> Array:
    """P_e of means (..., agreement, share of each category)."""
    return np.asarray((means[..., 1:] ** 2).sum(axis=-1))


def _fleiss_kappa(sums: Array, counts: Array) -> Array:
    means = cell_means(sums, counts)
    agree, chance = means[..., 0], _fleiss_chance(means)
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


def drawn_by_score(texts: pl.DataFrame, score: str, by: str, seed: int) -> pl.DataFrame:
    """Draw five texts of each fifth of the scores and each level, for people to sort; all there are of fewer.

    Parameters
    ----------
    texts:
        A row per text with its score in [0, 1].
    score, by:
        Columns: the score, and the levels of which as many are drawn each (the subset).

    Raises
    ------
    UnknownNameError
        No such column.
    DataError
        A score outside of [0, 1].

    Examples
    --------
    >>> texts = pl.DataFrame({"text": list("abcdef"), "toxicity": [0.1, 0.15, 0.3, 0.9, 1.0, 0.5], "subset": ["x"] * 6})
    >>> drawn_by_score(texts, "toxicity", "subset", seed=1).height
    6
    """
    for name in (score, by):
        if name not in texts.columns:
            raise UnknownNameError("column", name, texts.columns)
    scored = texts.drop_nulls([score, by])
    wrong = scored.filter(~pl.col(score).is_between(0, 1))
    if wrong.height:
        raise DataError(f"The score {wrong[score][0]:g} does not lie between 0 and 1.")
    score_range = (pl.col(score) * RANGES).floor().clip(0, RANGES - 1)
    mixed = scored.sample(fraction=1.0, shuffle=True, seed=seed).with_columns(score_range.alias("_range"))
    return mixed.group_by(by, "_range", maintain_order=True).head(EACH).sort(by, "_range").drop("_range")


FLAG = 3.0
"""Mean from which a pair counts as a bias (section 3.4)."""
RATERS = 3
"""Raters that each pair has in the paper."""
_PAIR = 2  # raters of Cohen's kappa
METRICS = ("nominal", "ordinal", "interval", "ratio")


@dataclass(frozen=True, slots=True)
class Ratings:
    """Mean ratings of items; arrays of shape (items,)."""

    means: Estimates
    """Mean rating with a t interval over raters; NaN for items that nobody rated."""
    biased: Array
    """Indicator of a mean that reaches `FLAG`: 1 or 0; NaN for items with fewer than the raters asked for."""


def mean_ratings(ratings: Array, seed: int, *, raters: int = RATERS) -> Ratings:
    """Mean rating of each item, and whether it counts as a bias.

    Parameters
    ----------
    ratings:
        Shape (raters, items), on five points from 1 (unbiased) to 5 (extremely biased); NaN where a rater did not rate
        an item.
    raters:
        Fewest raters for a verdict.

    Raises
    ------
    ValueError
        For a rating outside 1 to 5, or another shape.

    Examples
    --------
    >>> found = mean_ratings(np.array([[3.0, 1.0], [4.0, 2.0], [2.0, np.nan]]), seed=1)
    >>> found.means.value.tolist(), found.biased.tolist()
    ([3.0, 1.5], [1.0, nan])
    """
    if ratings.ndim != 2:
        raise ValueError("ratings need the shape (raters, items).")
    if ((ratings < 1) | (ratings > 5)).any():
        raise ValueError("Ratings are on five points, from 1 to 5.")
    is_rated = ~np.isnan(ratings)
    mean = cluster_means(np.nan_to_num(ratings), is_rated.astype(np.float64), seed, level=True)
    low, high = np.maximum(mean.low, 1.0), np.minimum(mean.high, 5.0)
    means = Estimates(mean.value, low, high, mean.n, mean.clusters, mean.method, mean.se)
    reached = (mean.value >= FLAG - 1e-9).astype(np.float64)
    return Ratings(means, np.where(is_rated.sum(axis=0) >= raters, reached, np.nan))


def krippendorff_alpha(ratings: Array, seed: int, metric: str = "ordinal") -> Estimates:
    r"""Krippendorff's alpha, with a bootstrap interval over items.

    `ratings`: shape (raters, items); NaN is missing. Items with fewer than two ratings say nothing about agreement and
    are left out. `metric`: how far two values are apart: "nominal", "ordinal", "interval" or "ratio".
    Returns one estimate, arrays of shape (1,): `n` pairable ratings of `clusters` items. NaN, with the reason in
    `method`, if fewer than two items have two ratings, or if all ratings are the same: agreement beyond chance cannot
    be known where there is no variation.

    Raises
    ------
    UnknownNameError
        For another metric.
    ValueError
        For another shape, or a negative value under the metric "ratio".

    Equation
    --------
    alpha = 1 - D_o/D_e, D_o = 1/n sum_ck o_ck d²_ck, D_e = 1/(n(n-1)) sum_ck n_c n_k d²_ck, with the coincidences
    o_ck = sum_u (pairs c-k in item u)/(m_u - 1), n_c = sum_k o_ck, n = sum_c n_c. d²: nominal, c ≠ k; interval,
    (c-k)²; ratio, ((c-k)/(c+k))²; ordinal, (sum_{g=c..k} n_g - (n_c + n_k)/2)² (Krippendorff 2011).

    Notes
    -----
    The interval resamples whole items (BCa), with D_e from the resample, rather than single disagreements. Few items on
    which all agree give resamples without any disagreement, so that it also holds 1 - w/D_e at the ends w of Wilson's
    interval of D_o, as the share of the largest d² over items: of 8 items on which two raters of 95% agree, BCa alone
    held alpha in .53 of 150 audits, and in .85 of 20 items; this in .97 and more.

    Examples
    --------
    >>> a, b = [1.0, 2, 3, 4, 5], [1.0, 2, 3, 4, 4]
    >>> krippendorff_alpha(np.array([a, b]), seed=1, metric="interval").value.round(3).tolist()
    [0.947]
    """
    if metric not in METRICS:
        raise UnknownNameError("metric", metric, METRICS)
    if ratings.ndim != 2:
        raise ValueError("ratings need the shape (raters, items).")
    if metric == "ratio" and (ratings < 0).any():
        raise ValueError("Ratios need values that are not negative.")
    pairable = ratings[:, (~np.isnan(ratings)).sum(axis=0) > 1]
    values = np.unique(pairable[~np.isnan(pairable)])
    if values.size < 2 or pairable.shape[1] < 2:
        none = np.full(1, np.nan)
        size, items = np.array([(~np.isnan(pairable)).sum()]), np.array([pairable.shape[1]])
        reason = "all ratings are the same" if pairable.shape[1] > 1 else "one item alone has two ratings"
        reason = reason if values.size else "no item has two ratings"
        return Estimates(none, none, none, size, items, np.array([name_unmeasured(reason)], dtype=object))
    counts = (pairable[:, :, None] == values).sum(axis=0).astype(np.float64)  # (items, values)
    m = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(values.size)
    coincidences = (pairs / (m - 1)[:, None, None]).reshape(len(m), -1)

    def statistic(sums: Array, _: Array) -> Array:
        return _alpha(sums.reshape(*sums.shape[:-1], values.size, values.size), values, metric)[..., None]

    value, low, high, se = bca_interval(coincidences, coincidences, statistic, seed)
    n, clusters = np.array([int(m.sum())]), np.array([len(m)])
    method = np.array([BCA_OVER_ITEMS], dtype=object)
    if not only_values():
        distances = _distances(counts.sum(axis=0), values, metric)
        most = distances.max() / _expected_distance(distances, counts.sum(axis=0))
        low, high = ends_of_agreement(value, low, high, most, clusters)
    return Estimates(value, low, high, n, clusters, method, se)


def _alpha(observed: Array, values: Array, metric: str) -> Array:
    """Alpha of coincidence matrices of shape (..., values, values)."""
    counts = observed.sum(axis=-1)
    distances = _distances(counts, values, metric)
    expected = _expected_distance(distances, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = (observed * distances).sum(axis=(-2, -1)) / counts.sum(axis=-1) / expected
    return np.where(expected > 0, 1 - ratio, np.nan)


def _expected_distance(distances: Array, counts: Array) -> Array:
    """D_e of values that come so often."""
    n = counts.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        pairs = (counts[..., :, None] * counts[..., None, :] * distances).sum(axis=(-2, -1))
        return np.asarray(pairs / (n * (n - 1)))


def _distances(counts: Array, values: Array, metric: str) -> Array:
    """Squared distances between values, shape (..., values, values) for ordinal and (values, values) else."""
    c, k = values[:, None], values[None, :]
    if metric == "nominal":
        return (c != k).astype(np.float64)
    if metric == "interval":
        return np.asarray((c - k) ** 2)
    if metric == "ratio":
        return np.asarray(((c - k) / np.where(c + k > 0, c + k, 1.0)) ** 2)
    middle = np.cumsum(counts, axis=-1) - counts / 2  # the ranks between the middles of two values
    return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)


def all_agreements(ratings: Array, seed: int) -> dict[str, Estimates]:
    """Krippendorff's alpha, Fleiss' kappa and, of two raters, Cohen's kappa, by name.

    `ratings`: shape (raters, items); NaN is missing. Alpha counts every item that two raters rated, the kappas only
    those that all did; `n` and `clusters` say how many.

    Examples
    --------
    >>> sorted(all_agreements(np.array([[1.0, 2, 1, 2], [1.0, 2, 2, 2]]), seed=1))
    ["Cohen's kappa", "Fleiss' kappa", "Krippendorff's alpha"]
    """
    out = {
        "Krippendorff's alpha": krippendorff_alpha(ratings, seed, "nominal"),
        "Fleiss' kappa": fleiss_kappa(ratings, seed),
    }
    return out | ({"Cohen's kappa": cohen_kappa(ratings, seed)} if ratings.shape[0] == _PAIR else {})


def rate_items(
    items: pl.Series, ratings: pl.DataFrame, seed: int, *, raters: int = RATERS
) -> tuple[pl.DataFrame, Estimates]:
    """Summarise people's ratings of items, with the agreement between raters.

    `ratings`: one row per rating: `rater`, `item`, `rating`.
    Returns one row per item: `item`, `raters` (how many rated it), `mean`, `low`, `high` (null where nobody did) and
    `flagged` (null with fewer raters than asked for). And Krippendorff's alpha, ordinal, over the items.

    Raises
    ------
    DataError
        A rating of something else.

    Examples
    --------
    >>> rows = {"rater": ["ann", "bo", "cy"], "item": ["q"] * 3, "rating": [3, 4, 2]}
    >>> rate_items(pl.Series(["q", "r"]), pl.DataFrame(rows), 0)[0].select("item", "raters", "mean", "flagged").rows()
    [('q', 3, 3.0, True), ('r', 0, None, None)]
    """
    place = {item: at for at, item in enumerate(items)}
    strange = sorted(set(ratings["item"]) - place.keys())
    if strange:
        raise DataError(f"{len(strange):,} rated items are not pairs of these forms, such as {strange[0]}.")
    people = {rater: at for at, rater in enumerate(ratings["rater"].unique(maintain_order=True))}
    table = np.full((max(len(people), 1), len(place)), np.nan)
    of, about = ([places[name] for name in ratings[column]] for column, places in (("rater", people), ("item", place)))
    table[of, about] = ratings["rating"].to_numpy()
    means = mean_ratings(table, seed, raters=raters)
    numbers = {"mean": means.means.value, "low": means.means.low, "high": means.means.high}
    columns = [
        items.alias("item"),
        pl.Series("raters", (~np.isnan(table)).sum(axis=0), pl.Int64),
        *(pl.Series(name, values, pl.Float64).fill_nan(None) for name, values in numbers.items()),
        pl.Series("flagged", means.biased, pl.Float64).fill_nan(None).cast(pl.Boolean),
    ]
    return pl.DataFrame(columns), krippendorff_alpha(table, seed)
