"""Averages of shifts that share a base: which picture is the base is dealt out anew."""

import numpy as np
import pytest
from scipy import special, stats

from facevalue.measures.cluster_bootstrap import Array, wilcoxon_p
from facevalue.measures.shift import REDEALT_BASE, average_shifts
from facevalue.measures.uncertainty import Estimates


def scores(rng: np.random.Generator, faces: int, pictures: int, scenarios: int, rate: float, sd: float = 0.4) -> Array:
    """Scores from 12 replies about faces whose pictures differ by chance alone; base first."""
    logits = special.logit(rate) + rng.standard_normal((faces, 1, scenarios))
    logits = logits + sd * rng.standard_normal((faces, pictures, scenarios))
    return rng.binomial(12, special.expit(logits)) / 12


def judged(pictures: Array, columns: np.ndarray | None = None) -> Estimates:
    """Average over all variations, by scenario or as `columns` say."""
    faces, size, scenarios = pictures.shape
    columns = np.arange(scenarios) if columns is None else columns
    delta = pictures[:, 1:] - pictures[:, :1]
    belongs = (columns[:, None] == np.arange(columns.max() + 1)).astype(float)
    sums, counts = np.nansum(delta, axis=1) @ belongs, np.isfinite(delta).sum(axis=1) @ belongs
    variation = np.tile(np.arange(-1, size - 1), (faces, 1))
    return average_shifts(sums, counts, pictures, variation, columns, 1.0)


def level(found: Estimates) -> float:
    assert found.p is not None
    return float(np.mean(found.p < 0.05))


@pytest.mark.parametrize("sd", [0.4, 2.0])
@pytest.mark.parametrize("faces", [8, 20, 60])
def test_exchangeable_pictures_with_rare_answers_are_not_found_to_differ(faces: int, sd: float) -> None:
    pictures = scores(np.random.default_rng(faces), faces, 33, 200, 0.05 if sd < 1 else 0.01, sd)
    assert level(judged(pictures)) < 0.08  # .05 and two standard errors of 200 cells


def test_a_test_of_symmetry_finds_them_to_differ_the_more_surely_the_more_faces_there_are() -> None:
    """What these averages used to be tested with, and why no longer."""
    rng = np.random.default_rng(1)
    found = []
    for faces in (20, 60):
        pictures = scores(rng, faces, 33, 100, 0.01, 2.0)
        shifts = (pictures[:, 1:] - pictures[:, :1]).sum(axis=1)
        found.append(np.mean(wilcoxon_p(shifts, np.full(shifts.shape, 32.0)) < 0.05))
    assert 0.3 < found[0] < found[1]


def test_the_interval_is_what_dealing_at_random_gives() -> None:
    """One face in a hundred thousand deals, without the effects taken off, and the saddlepoint's."""
    rng = np.random.default_rng(5)
    pictures = scores(rng, 30, 20, 6, 0.1)
    found = judged(pictures)
    rest = pictures - pictures.mean(axis=0) + pictures[:, 0].mean(axis=0)
    rest = (rest - rest.mean(axis=1, keepdims=True)) * np.sqrt(30 / 29)
    drawn = sum(-rest[f][rng.integers(0, 20, 100_000)] * 20 for f in range(30)) / (30 * 19)
    low, high = found.value - np.quantile(drawn, [0.975, 0.025], axis=0)
    alone = found.method == REDEALT_BASE
    assert alone.any()
    assert found.low[alone] == pytest.approx(low[alone], abs=0.002)
    assert found.high[alone] == pytest.approx(high[alone], abs=0.002)


def test_interval_and_test_agree() -> None:
    rng = np.random.default_rng(6)
    pictures = scores(rng, 9, 6, 800, 0.2)
    pictures[:, 1:] = np.clip(pictures[:, 1:] + rng.choice([0.0, 0.1, 0.2], size=800), 0, 1)
    found = judged(pictures)
    assert found.p is not None
    outside = (found.low > 0) | (found.high < 0)
    assert 0.05 < outside.mean() < 0.95
    assert np.array_equal(found.p < 0.05, outside)


def test_effects_that_differ_from_face_to_face_get_the_wider_interval() -> None:
    rng = np.random.default_rng(7)
    covered = []
    for _ in range(40):
        pictures = scores(rng, 10, 9, 25, 0.5)
        pictures[:, 1:] += rng.normal(0.1, 0.3, size=(10, 1, 25))
        found = judged(pictures)
        covered.append((found.low <= 0.1) & (found.high >= 0.1))
    assert 0.93 < np.mean(covered) < 0.975


def test_real_effects_of_the_variations_do_not_widen_the_interval() -> None:
    rng = np.random.default_rng(8)
    pictures = scores(rng, 40, 20, 10, 0.4)
    moved = pictures.copy()
    effect = rng.normal(0, 0.5, size=(19, 10))
    moved[:, 1:] += effect
    plain, found = judged(pictures), judged(moved)
    assert found.value == pytest.approx(plain.value + effect.mean(axis=0))
    assert found.high - found.low == pytest.approx(plain.high - plain.low, rel=1e-6)


def test_cells_of_several_scenarios_and_missing_answers_are_judged_over_what_is_there() -> None:
    rng = np.random.default_rng(9)
    pictures = scores(rng, 25, 8, 300, 0.3)
    pictures[rng.random(pictures.shape) < 0.2] = np.nan
    found = judged(pictures, np.arange(300) // 3)
    assert np.isfinite(found.low).all()
    assert 0.01 < level(found) < 0.1


@pytest.mark.parametrize(("rate", "variations"), [(0.05, 4), (0.2, 4), (0.5, 4), (0.05, 32), (0.2, 2)])
def test_a_clear_effect_on_six_faces_is_found_no_less_often_than_by_t(rate: float, variations: int) -> None:
    """Six faces with a few pictures each have a largest error by dealing, which a clear effect lies beyond."""
    pictures = scores(np.random.default_rng(11), 6, variations + 1, 200, rate)
    pictures[:, 1:] = np.minimum(pictures[:, 1:] + 0.3, 1.0)
    found = judged(pictures)
    shifts = pictures[:, 1:].mean(axis=1) - pictures[:, 0]
    strict = 0.04 / 34  # the first of 34 cues by Holm, at the level of the lead
    by_t = np.mean(stats.ttest_1samp(shifts, 0).pvalue < strict)
    assert found.p is not None
    assert np.mean(found.p < strict) > by_t - 0.02
    assert np.array_equal(found.p < 0.05, (found.low > 0) | (found.high < 0))


@pytest.mark.parametrize("faces", [2, 3, 6])
@pytest.mark.parametrize("effect", [0.0, 0.1, 0.5])
def test_interval_and_test_agree_where_sums_take_few_values(faces: int, effect: float) -> None:
    """A reply a picture: every score is 0 or 1."""
    rng = np.random.default_rng(faces)
    pictures = (rng.random((faces, 4, 600)) < 0.1 + effect * (np.arange(4) > 0)[None, :, None]).astype(float)
    found = judged(pictures)
    assert found.p is not None
    tested = np.isfinite(found.p)
    outside = (found.low > 0) | (found.high < 0)
    assert np.array_equal(found.p[tested] < 0.05, outside[tested])


def test_one_face_has_no_interval() -> None:
    found = judged(scores(np.random.default_rng(1), 1, 9, 4, 0.5))
    assert np.isfinite(found.value).all()
    assert np.isnan(found.low).all()


def test_one_variation_with_many_faces_is_close_to_t() -> None:
    """With two pictures, dealing changes the signs of centred shifts."""
    pictures = scores(np.random.default_rng(2), 200, 2, 1, 0.5)
    found = judged(pictures)
    expected = stats.ttest_1samp((pictures[:, 1] - pictures[:, 0])[:, 0], 0)
    assert found.p is not None
    assert found.p.item() == pytest.approx(expected.pvalue, abs=0.01)
