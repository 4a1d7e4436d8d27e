"""Rank correlations of effects: what models without any effect show, who share pictures, and what effects show."""

import numpy as np
import pytest

from facevalue.measures.run_comparison import RankAgreement, rank_agreement
from facevalue.report.comparison_page import rank_sentence

CELLS, UNITS, GROUPS, DRAWS = 34, 24, 20, 1000


def audit(rng: np.random.Generator, shared: float, effect: float, together: float) -> RankAgreement:
    """Two models asked about the same people: `shared` part of the noise, effects that are correlated so far."""

    def noise() -> np.ndarray:
        return rng.normal(size=(UNITS, 2)) @ (0.3 * rng.normal(size=(2, CELLS))) + rng.normal(size=(UNITS, CELLS))

    pictures, effects = noise(), rng.normal(size=(2, CELLS))
    effects[1] = together * effects[0] + np.sqrt(1 - together**2) * effects[1]
    answers = [
        effect * of + np.sqrt(shared) * pictures + np.sqrt(1 - shared) * noise() for of in effects
    ]  # units x cells
    values = [of.mean(axis=0) for of in answers]
    group = rng.permutation(UNITS) % GROUPS
    moves = [
        np.stack([of[group != g].mean(axis=0) - value for g in range(GROUPS)]) * np.sqrt((GROUPS - 1) / GROUPS)
        for of, value in zip(answers, values, strict=True)
    ]
    weights = rng.standard_normal((DRAWS, GROUPS))
    return rank_agreement("shift", values[0], values[1], (weights @ moves[0], weights @ moves[1]), 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_models_without_effects_that_share_pictures_correlate_in_at_most_one_of_twenty_audits(shared: float) -> None:
    rng = np.random.default_rng(11)
    found = [audit(rng, shared, 0.0, 0.0) for _ in range(150)]
    assert sum(one.low > 0 or one.high < 0 for one in found) <= 13  # P(more | 5%) = 2%
    if shared:
        assert np.mean([one.rho for one in found]) > 0.4  # what a null that knows no pictures would take for agreement
        assert np.mean([one.chance for one in found]) == pytest.approx(np.mean([one.rho for one in found]), abs=0.1)


@pytest.mark.slow
def test_effects_that_agree_are_found_to_and_the_interval_holds_the_truth() -> None:
    rng = np.random.default_rng(12)
    truth = 6 / np.pi * np.arcsin(0.9 / 2)
    found = [audit(rng, 0.5, 0.6, 0.9) for _ in range(40)]
    assert sum(one.low > 0 for one in found) >= 30
    assert sum(one.low <= truth <= one.high for one in found) >= 35


def test_effects_of_one_model_alone_agree_with_nothing() -> None:
    rng = np.random.default_rng(13)
    values, errors = rng.normal(size=CELLS), rng.normal(size=(2, DRAWS, CELLS))
    found = rank_agreement("shift", 5 * values, errors[1, 0], (errors[0], errors[1]), 0.95)
    assert found.low < 0 < found.high


def test_few_cells_are_not_measurable() -> None:
    few = rank_agreement("shift", np.arange(4.0), np.arange(4.0), (np.ones((5, 4)), np.ones((5, 4))), 0.95)
    assert np.isnan(few.low)
    assert "fewer than 5 cells" in few.method


def test_measures_whose_order_cannot_be_told_are_said_to_have_effects() -> None:
    rng = np.random.default_rng(1)
    ranks = [audit(rng, 0.5, effect, 1.0) for effect in (0.0, 3.0)]
    assert rank_sentence(ranks[:1]) == "Whether effects in shift are in the same order remains open."
    assert rank_sentence(ranks[1:]) == "Effects in shift are in much the same order in both runs."
