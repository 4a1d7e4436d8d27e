"""Words of groups: scores, lower bounds, and tests by labels dealt out anew within sets."""

import itertools

import numpy as np
import pytest
import scipy
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.multitest import adjust_p
from facevalue.studies.counterfactuals.word_association import (
    Presence,
    _inclusion_probability,
    association_scores,
    label_tests,
    least_scores,
    selected_limits,
)

_COUNTS = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).poisson(3, (4, 6)).astype(float))


def _sets(has: np.ndarray, lengths: Array | None = None) -> Presence:
    """From which images of which sets have which words, shape (sets, groups, words)."""
    sets, groups, words = has.shape
    bits = np.uint64(1) << np.arange(groups, dtype=np.uint64)
    mask = (has * bits[None, :, None]).sum(axis=1).astype(np.uint64)
    at, word = np.nonzero(mask)
    lengths = np.full((sets, groups), 80.0) if lengths is None else lengths
    return Presence(word, at, mask[at, word], words, lengths, in_sets=True)


@given(_COUNTS)
def test_scores_are_the_difference_of_two_pointwise_mutual_informations(counts: Array) -> None:
    sizes = counts.sum(axis=1) + 5
    total, whole = counts.sum(axis=0), sizes.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        of_group = np.log2(counts * whole / (total * sizes[:, None]))
        of_others = np.log2((total - counts) * whole / (total * (whole - sizes)[:, None]))
        np.testing.assert_allclose(association_scores(counts, sizes)[counts > 0], (of_group - of_others)[counts > 0])


@given(_COUNTS, st.integers(2, 5))
def test_doubled_texts_leave_scores(counts: Array, times: int) -> None:
    sizes = counts.sum(axis=1) + 5
    np.testing.assert_allclose(association_scores(times * counts, times * sizes), association_scores(counts, sizes))


def test_words_that_no_other_group_has_have_a_lower_bound_as_from_one_occurrence() -> None:
    counts, sizes = np.array([[12.0], [0.0]]), np.array([100.0, 300.0])
    assert np.isinf(association_scores(counts, sizes)[0, 0])
    once = association_scores(np.array([[12.0], [1.0]]), sizes)[0, 0]
    assert least_scores(counts, sizes)[0, 0] == pytest.approx(once)


def _exact(seen: int, odds: list[float]) -> float:
    chances = np.array([1.0])
    for p in odds:
        chances = np.convolve(chances, [1 - p, p])
    return float(chances[seen:].sum())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_tests_agree_with_exact_probabilities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = int(rng.choice([2, 4, 10, 30]))
    has = rng.random((int(rng.integers(3, 60)), groups, 1)) < rng.choice([0.02, 0.2, 0.6])
    has[:, 0] |= rng.random((has.shape[0], 1)) < 0.3
    p = label_tests(_sets(has))[:, 0]
    odds = [float(k) / groups for k in has[:, :, 0].sum(axis=1) if k]
    for group in range(groups):
        exact = _exact(int(has[:, group, 0].sum()), odds)
        if exact < 0.1:
            assert p[group] == pytest.approx(exact, rel=0.05)
        else:
            assert p[group] > 0.05


def test_without_sets_the_test_is_fishers() -> None:
    mask = np.array([1] * 8 + [2] * 2, np.uint64)
    lengths = np.zeros((40, 2))
    lengths[:8, 0] = lengths[8:10, 1] = lengths[10:22, 0] = lengths[22:, 1] = 50.0
    found = Presence(np.zeros(10, np.int64), np.arange(10), mask, 1, lengths, in_sets=False)
    tables = ([[8, 12], [2, 18]], [[2, 18], [8, 12]])
    expected = [scipy.stats.fisher_exact(np.array(table), "greater").pvalue for table in tables]
    assert label_tests(found)[:, 0] == pytest.approx(expected)


def test_words_that_all_images_have_or_none_are_no_evidence() -> None:
    has = np.zeros((20, 3, 2), dtype=bool)
    has[:, :, 0] = True
    assert (label_tests(_sets(has)) == 1).all()


def test_a_planted_word_tops_its_group_and_no_other() -> None:
    rng = np.random.default_rng(1)
    has = rng.random((60, 6, 50)) < 0.1
    has[:, 2, 7] |= rng.random(60) < 0.5
    p = label_tests(_sets(has))
    q = adjust_p(p.ravel(), "bh").reshape(p.shape)
    assert np.argwhere(q < 0.01).tolist() == [[2, 7]]
    assert p[2].argmin() == 7


def test_words_that_come_with_sets_are_not_found() -> None:
    """A word that half the sets' images have all together is of the scene, not of a group."""
    rng = np.random.default_rng(2)
    hits, tests = 0, 0
    for _ in range(20):
        scene = rng.random((50, 1, 40)) < 0.3
        has = scene & (rng.random((50, 6, 40)) < 0.8)
        p = label_tests(_sets(has))
        hits, tests = hits + int((p < 0.05).sum()), tests + p.size
    assert hits / tests < 0.06


def test_few_findings_are_false_where_nothing_differs() -> None:
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(60):
        rates = rng.gamma(0.5, 0.1, 100)
        p = label_tests(_sets(rng.random((40, 5, 100)) < rates))
        found += bool((adjust_p(p.ravel(), "bh") < 0.05).any())
    assert found <= 8  # 60 at 5% at most: nine or more are 1 in 500


@pytest.mark.parametrize("scene", [False, True])
def test_longer_texts_have_more_words_of_all_kinds_and_none_is_found(scene: bool) -> None:
    """Equal rates, one group's texts three times as long, as in the paper's Figure 4; words may belong to scenes."""
    rng = np.random.default_rng(4)
    found = unadjusted = 0
    for _ in range(25):
        lengths = np.rint(60 * rng.gamma(20, 1 / 20, (40, 6)))
        lengths[:, 0] *= 3
        rates = rng.gamma(0.5, 1 / 300, (1, 1, 120)) * (rng.gamma(0.3, 1 / 0.3, (40, 1, 120)) if scene else 1.0)
        has = rng.random((40, 6, 120)) < -np.expm1(-rates * lengths[:, :, None])
        found += bool((adjust_p(label_tests(_sets(has, lengths)).ravel(), "bh") < 0.05).any())
        unadjusted += bool((adjust_p(label_tests(_sets(has)).ravel(), "bh") < 0.05).any())
    assert found <= 4
    assert unadjusted >= 20, "without lengths words are found in nearly all"


def test_a_word_of_a_group_with_shorter_texts_is_found() -> None:
    rng = np.random.default_rng(5)
    lengths = np.tile([30.0, 90, 90, 90, 90, 90], (60, 1))
    rates = np.full((1, 6, 40), 0.001)
    rates[:, 0, 3] = 0.012
    p = label_tests(_sets(rng.random((60, 6, 40)) < -np.expm1(-rates * lengths[:, :, None]), lengths))
    assert p[0].argmin() == 3
    assert p[0, 3] < 1e-4


def test_chances_given_lengths_agree_with_enumeration() -> None:
    lengths = np.array([[10.0, 20.0, 40.0, 80.0]])
    for size in (1, 2, 3):
        found = _inclusion_probability(lengths, np.array([size]))[0]
        rate = scipy.optimize.brentq(lambda r, k=size: -np.expm1(-r * lengths).sum() - k, 1e-6, 10)
        odds = np.expm1(rate * lengths[0])
        chosen = list(itertools.combinations(range(4), size))
        weight = np.array([odds[list(some)].prod() for some in chosen])
        expected = [weight[[at in some for some in chosen]].sum() / weight.sum() for at in range(4)]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_intervals_of_chosen_scores_hold_as_often_as_they_say() -> None:
    rng = np.random.default_rng(6)
    held = plain = listed = 0
    for _ in range(200):
        true = rng.normal(0, 0.3, 2000)
        score = true + rng.normal(0, 0.5, 2000)
        chosen = score >= 1
        low, high = selected_limits(score[chosen], np.full(chosen.sum(), 0.5), np.full(chosen.sum(), 1e6), 2000)
        held += int(((low <= true[chosen]) & (true[chosen] <= high)).sum())
        plain += int((np.abs(score - true)[chosen] < 1.96 * 0.5).sum())
        listed += int(chosen.sum())
    assert held / listed > 0.94
    assert plain / listed < 0.85
