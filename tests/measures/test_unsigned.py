"""Divergences: intervals that cover at zero and beyond, and what would have gone unnoticed."""

import numpy as np
import pytest

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.noise_floors import detectable_distance, distance_interval, noise_of_floor
from facevalue.measures.uncertainty import Floor
from facevalue.studies.visbias.divergence import ChoiceGroups, Choices, group_divergences, js_divergence
from tests.floors import floor_of

FEW = np.array([0.1, 0.5, 0.3, 0.1])
RARE = np.array([0.02, 0.03, 0.9, 0.05])


def tilted(shares: Array, groups: int, sd: float, seed: int = 1) -> Array:
    """Distributions of groups that differ from the first by so much on the logit scale."""
    logits = np.log(shares) + sd * np.random.default_rng(seed).normal(size=(groups, len(shares)))
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def drawn(shares: Array, items: int, rng: np.random.Generator) -> Choices:
    """Answers about so many images of each group, one each."""
    weights = np.concatenate([rng.multinomial(1, own, size=items) for own in shares])[:, None, :].astype(np.float64)
    return Choices(weights, np.ones(weights.shape[:2]), np.repeat(np.arange(len(shares)), items), len(shares))


@pytest.mark.parametrize(("groups", "items"), [(5, 28), (2, 70)])
@pytest.mark.parametrize("sd", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shares", [FEW, RARE], ids=["usual", "rare"])
def test_intervals_of_divergences_cover_at_140_images(groups: int, items: int, sd: float, shares: Array) -> None:
    """Jackknife intervals of the same audits hold the true divergence in .73 to .95 of cases."""
    rng = np.random.default_rng(items)
    true = tilted(shares, groups, sd)
    truth = 1000 * js_divergence(true, true.mean(axis=0)[None, :])
    held, agrees = [], []
    for audit in range(160):
        found = group_divergences([ChoiceGroups(drawn(true, items, rng))], audit, 400)[0]
        held.append((found.low <= truth + 1e-9) & (truth <= found.high))
        agrees.append((found.low > 0) == (floor_of(found).p < 0.05))
    assert np.all(agrees)
    assert 0.91 < np.mean(held) < 0.99  # .93 to .97, and a standard error and more of 160 audits


def test_what_would_be_found_is_found() -> None:
    rng, found = np.random.default_rng(4), 0
    null = group_divergences([ChoiceGroups(drawn(tilted(FEW, 2, 0.0), 100, rng))], 1)[0]
    floor = floor_of(null)
    reach = detectable_distance(floor.mean[0], floor.high[0], 0.05).item()
    scale = np.linspace(0, 2, 4001)[:, None, None] * np.array([[0.3, -0.2, 0.1, -0.2], [-0.3, 0.2, -0.1, 0.2]])
    true = np.exp(np.log(FEW) + scale)
    true /= true.sum(axis=2, keepdims=True)
    at = np.abs(1000 * js_divergence(true[:, 0], true.mean(axis=1)) - reach).argmin()
    for audit in range(200):
        shifted = group_divergences([ChoiceGroups(drawn(true[at], 100, rng))], audit, 199)[0]
        found += int(floor_of(shifted).p[0] < 0.05)
    assert 0.7 < found / 200 < 0.9


def test_a_floor_of_nothing_says_nothing() -> None:
    none = Floor(np.array([0.0, np.nan]), np.array([0.0, np.nan]), np.array([1.0, np.nan]))
    low, high = distance_interval(np.array([0.0, np.nan]), none)
    assert np.isnan(low).all()
    assert np.isnan(high).all()
    assert np.isnan(detectable_distance(0.0, 0.0, 0.05))


def test_noise_has_the_mean_and_the_percentile_it_was_given() -> None:
    rng = np.random.default_rng(0)
    for df in (1.0, 4.0, 30.0):
        sample = 2.5 * rng.chisquare(df, 200_000)
        law = noise_of_floor(sample.mean(), np.quantile(sample, 0.95))
        assert law.scale.item() == pytest.approx(2.5, rel=0.06)
        assert law.df.item() == pytest.approx(df, rel=0.06)
