"""Bounds of divergences: nothing that the missing answers could have been lies beyond them."""

import numpy as np
import pytest

from facevalue.studies.visbias.divergence import Choices, divergence_bounds, divergence_from_mean


def gathered(counts: np.ndarray, missing: np.ndarray) -> Choices:
    """One item for each group at one question."""
    return Choices(counts[:, None], (counts.sum(axis=1) + missing)[:, None], np.arange(len(counts)), len(counts))


@pytest.mark.parametrize("seed", range(6))
def test_no_way_to_fill_in_the_missing_answers_leads_outside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, choices = int(rng.integers(2, 6)), int(rng.integers(2, 7))
    counts = rng.multinomial(25, rng.dirichlet(np.ones(choices)), size=groups) + 0.0
    missing = rng.integers(0, 12, size=groups) + 0.0
    bounds = divergence_bounds(gathered(counts, missing))
    filled = np.stack([rng.dirichlet(np.full(choices, 0.2), size=2000) for _ in range(groups)], axis=1)
    filled *= counts.sum(axis=0) > 0
    with np.errstate(invalid="ignore"):
        filled = np.nan_to_num(filled / filled.sum(axis=2, keepdims=True), nan=1 / choices)
    values = divergence_from_mean(counts + missing[:, None] * filled)
    assert (bounds.low - 0.01 <= values.min(axis=0)).all()
    assert (values.max(axis=0) <= bounds.high + 0.01).all()
    assert (bounds.low <= bounds.value).all()


def test_a_group_that_refused_most_could_have_said_what_the_others_said() -> None:
    counts = np.array([[4.0, 0.0, 0.0], [10.0, 10.0, 8.0], [9.0, 11.0, 8.0]])
    low = divergence_bounds(gathered(counts, np.array([24.0, 0.0, 0.0]))).low
    assert low[0] == pytest.approx(0.0, abs=0.05)
    whole = divergence_bounds(gathered(counts, np.zeros(3)))
    assert whole.low.tolist() == whole.high.tolist() == divergence_from_mean(counts).tolist()


def test_a_group_without_any_answer_has_no_value_and_nobody_asked_no_bounds() -> None:
    counts = np.array([[0.0, 0.0], [5.0, 5.0], [8.0, 2.0]])
    found = divergence_bounds(gathered(counts, np.array([0.0, 0.0, 3.0])))
    assert np.isnan(found.value[0])
    assert np.isfinite(found.low[1:]).all()
