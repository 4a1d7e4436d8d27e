"""Cohen's kappa: against another implementation, by its definition, and how often its interval holds."""

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.rater_agreement import cohen_kappa


def two_raters(items: int, share: float, agree: float, seed: int) -> Array:
    """Two raters of things of which a share is fine: each sees it as it is with this probability."""
    rng = np.random.default_rng(seed)
    fine = rng.random(items) < share
    return np.where(rng.random((2, items)) < agree, fine, ~fine).astype(np.float64)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_that_of_statsmodels(seed: int) -> None:
    ratings = np.random.default_rng(seed).integers(0, 3, (2, 60)).astype(np.float64)
    table = np.zeros((3, 3))
    np.add.at(table, (ratings[0].astype(int), ratings[1].astype(int)), 1)
    assert cohen_kappa(ratings, 1).value[0] == pytest.approx(cohens_kappa(table).kappa, abs=1e-12)


@pytest.mark.parametrize(("pairs", "told_apart", "disagree", "printed"), [(75, 53, 1, 0.97), (161, 133, 3, 0.94)])
def test_kappas_that_vignette_prints(pairs: int, told_apart: int, disagree: int, printed: float) -> None:
    """Table 10, gender and disability: pairs, those told apart, and disagreements by the printed percents."""
    first = np.repeat([1.0, 0.0], [told_apart, pairs - told_apart])
    second = first.copy()
    at = [-1, 0, -2][:disagree]  # in either direction
    second[at] = 1 - second[at]
    assert cohen_kappa(np.array([first, second]), 1).value[0] == pytest.approx(printed, abs=0.006)


def test_items_that_one_alone_rated_are_left_out() -> None:
    ratings = np.array([[1.0, 0, 1, np.nan], [1.0, 0, 0, 1]])
    found = cohen_kappa(ratings, 1)
    assert (found.n.tolist(), found.clusters.tolist()) == ([3], [3])


@pytest.mark.parametrize("ratings", [np.ones((2, 9)), np.array([[1.0], [0.0]]), np.full((2, 3), np.nan)])
def test_it_is_not_known_without_variation(ratings: Array) -> None:
    found = cohen_kappa(ratings, 1)
    assert np.isnan(found.value[0])
    assert found.method[0].startswith("none: not measurable: ")


def test_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        cohen_kappa(np.ones((3, 5)), 1)


def test_items_of_one_unit_are_one() -> None:
    ratings = two_raters(20, 0.5, 0.9, 1)
    alone = cohen_kappa(ratings, 1)
    again = cohen_kappa(np.repeat(ratings, 5, axis=1), 1, np.repeat(np.arange(20), 5))
    assert again.value[0] == pytest.approx(alone.value[0])
    assert again.high[0] - again.low[0] == pytest.approx(alone.high[0] - alone.low[0], rel=0.2)
    assert again.clusters[0] == 20


@pytest.mark.slow
@pytest.mark.parametrize(("items", "share", "agree"), [(30, 0.5, 0.9), (60, 0.9, 0.97)])
def test_intervals_hold_the_agreement(items: int, share: float, agree: float) -> None:
    """Of 100 samples, at least 90 hold the kappa of a sample of a million; .05 is two standard errors."""
    truth = cohen_kappa(two_raters(1_000_000, share, agree, 0)[:, :200_000], 1).value[0]
    held = 0
    for seed in range(100):
        found = cohen_kappa(two_raters(items, share, agree, seed + 1), seed)
        held += bool(np.isnan(found.value[0])) or bool(found.low[0] <= truth <= found.high[0])
    assert held >= 90
