"""Ratings by several people: their mean, the published flag, and how far the raters agree.

VisBias (section 3.4) has each pair of attributes rated on five points by three people, and counts a mean of 3 or more
as a bias. It gives no agreement; Krippendorff's alpha is what we add.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures import cluster_bootstrap
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.cohen import cohen_kappa
from facevalue.measures.fleiss import fleiss_kappa
from facevalue.measures.interval_method import IntervalKind, name_method, name_unmeasured
from facevalue.measures.proportions import ends_of_agreement
from facevalue.measures.uncertainty import Estimates

ALPHA = Measure(
    name="krippendorff_alpha",
    title="Agreement of the raters",
    equation="1 - D_o / D_e",
    unit="1",
    cluster="item",
    source="Krippendorff 2011, Computing Krippendorff's Alpha-Reliability",
    limits=(-1.0, 1.0),
)
FLAG = 3.0
"""Mean from which a pair counts as a bias (section 3.4)."""
RATERS = 3
"""Raters that each pair has in the paper."""
_PAIR = 2  # raters of Cohen's kappa
METHOD = name_method(IntervalKind.BOOTSTRAP, "BCa over items, and no narrower than Wilson's of disagreement")
METRICS = ("nominal", "ordinal", "interval", "ratio")


@dataclass(frozen=True, slots=True)
class Ratings:
    """Mean ratings of items; arrays of shape (items,)."""

    means: Estimates
    """Mean rating with a t interval over raters; NaN for items that nobody rated."""
    biased: Array
    """Whether the mean reaches `FLAG`: 1 or 0; NaN for items with fewer than the raters asked for."""


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
    mean = cluster_bootstrap.means(np.nan_to_num(ratings), is_rated.astype(np.float64), seed, level=True)
    low, high = np.maximum(mean.low, 1.0), np.minimum(mean.high, 5.0)
    means = Estimates(mean.value, low, high, mean.n, mean.clusters, mean.method, mean.se)
    reached = (mean.value >= FLAG - 1e-9).astype(np.float64)
    return Ratings(means, np.where(is_rated.sum(axis=0) >= raters, reached, np.nan))


def alpha(ratings: Array, seed: int, metric: str = "ordinal") -> Estimates:
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
    >>> alpha(np.array([a, b]), seed=1, metric="interval").value.round(3).tolist()
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

    value, low, high, se = cluster_bootstrap.bca(coincidences, coincidences, statistic, seed)
    n, clusters = np.array([int(m.sum())]), np.array([len(m)])
    method = np.array([METHOD], dtype=object)
    if not cluster_bootstrap.only_values():
        distances = _distances(counts.sum(axis=0), values, metric)
        most = distances.max() / _expected(distances, counts.sum(axis=0))
        low, high = ends_of_agreement(value, low, high, most, clusters)
    return Estimates(value, low, high, n, clusters, method, se)


def _alpha(observed: Array, values: Array, metric: str) -> Array:
    """Alpha of coincidence matrices of shape (..., values, values)."""
    counts = observed.sum(axis=-1)
    distances = _distances(counts, values, metric)
    expected = _expected(distances, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = (observed * distances).sum(axis=(-2, -1)) / counts.sum(axis=-1) / expected
    return np.where(expected > 0, 1 - ratio, np.nan)


def _expected(distances: Array, counts: Array) -> Array:
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
    out = {"Krippendorff's alpha": alpha(ratings, seed, "nominal"), "Fleiss' kappa": fleiss_kappa(ratings, seed)}
    return out | ({"Cohen's kappa": cohen_kappa(ratings, seed)} if ratings.shape[0] == _PAIR else {})


def of_items(
    items: pl.Series, ratings: pl.DataFrame, seed: int, *, raters: int = RATERS
) -> tuple[pl.DataFrame, Estimates]:
    """What people say of items, and how far they agree.

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
    >>> of_items(pl.Series(["q", "r"]), pl.DataFrame(rows), 0)[0].select("item", "raters", "mean", "flagged").rows()
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
    return pl.DataFrame(columns), alpha(table, seed)
