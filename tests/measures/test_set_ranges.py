"""Set ranges and their floors, shares of the largest scores, and paired differences of groups."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.measures.cluster_bootstrap import Array, values_only
from facevalue.measures.set_ranges import SHUFFLED, range_summary, set_quantiles, set_ranges, summary_bounds
from facevalue.studies.counterfactuals.formulas import from_set_mean, group_quantiles, tail_credits, tail_shares
from tests.floors import floor_of

Draw = Callable[[np.random.Generator, tuple[int, int, int]], Array]


def _normal(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    return rng.normal(size=shape)


def _rare(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    return (rng.random(shape) < 0.03) * rng.beta(2, 2, size=shape)


def _sets_differ(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    spread = rng.gamma(1, 1, size=(shape[0], 1, 1)) * (rng.random((shape[0], 1, 1)) < 0.3)
    return rng.normal(size=shape) * spread + 5 * rng.normal(size=(shape[0], 1, 1))


def _skewed(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    return np.exp(1.2 * rng.normal(size=shape) - 3 + rng.normal(size=(shape[0], 1, 1)))


KINDS = {"normal": _normal, "rare": _rare, "sets differ": _sets_differ, "skewed": _skewed}


@pytest.mark.parametrize("images", [10, 12, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_sets_of_alike_images_lie_at_the_floor_whatever_the_distribution(kind: str, images: int) -> None:
    rng = np.random.default_rng(images)
    found = [range_summary(KINDS[kind](rng, (400, images, 3)), 0) for _ in range(3)]
    value, floor = (np.mean([getattr(one, name)[0] for one in parts]) for name, parts in (
        ("value", [one.mean for one in found]), ("mean", [floor_of(one.mean) for one in found]),
    ))  # fmt: skip
    assert floor == pytest.approx(value, rel=0.04)
    tail, tail_floor = (np.mean(x) for x in ([f.tail.value for f in found], [floor_of(f.tail).mean for f in found]))
    assert tail_floor == pytest.approx(tail, rel=0.08)


def test_the_floor_grows_with_the_number_of_images() -> None:
    rng = np.random.default_rng(1)
    floors = [floor_of(range_summary(rng.normal(size=(300, images, 3)), 0).mean).mean[0] for images in (10, 12, 30)]
    assert floors == pytest.approx([3.08, 3.26, 4.08], abs=0.05)  # expected ranges of normal samples


@pytest.mark.slow
@pytest.mark.parametrize("sets", [30, SHUFFLED + 50])
@pytest.mark.parametrize("kind", ["normal", "rare"])
def test_alike_images_are_above_their_floor_in_one_case_of_twenty(kind: str, sets: int) -> None:
    rng = np.random.default_rng(sets)
    times = 40
    floors = [floor_of(range_summary(KINDS[kind](rng, (sets, 10, 3)), 0).mean) for _ in range(times)]
    hits = sum(floor.p[0] < 0.05 for floor in floors)
    assert hits <= 7  # eight or more of 40 at 5% are 1 in 1,000


@pytest.mark.parametrize("sets", [40, 200])
def test_one_image_that_is_scored_otherwise_is_found(sets: int) -> None:
    scores = np.random.default_rng(3).normal(size=(sets, 10, 3))
    scores[:, 4] += 1.5
    found = range_summary(scores, 0)
    assert floor_of(found.mean).mean[0] == pytest.approx(3.08, abs=0.15)  # the floor does not rise with the effect
    assert found.mean.value[0] > floor_of(found.mean).high[0]
    assert floor_of(found.mean).p[0] < 0.01


def test_replies_that_never_differ_have_a_floor_of_zero() -> None:
    scores = np.repeat(np.random.default_rng(1).normal(size=(50, 10, 1)), 3, axis=2)
    found = range_summary(scores, 0)
    assert floor_of(found.mean).mean[0] == 0
    assert floor_of(found.tail).mean.max() == 0
    assert found.mean.value[0] > 2


def test_with_one_draw_the_floor_is_not_measurable() -> None:
    found = range_summary(np.random.default_rng(1).normal(size=(50, 10, 1)), 0)
    assert np.isfinite(found.mean.value).all()
    assert found.mean.floor is not None
    assert np.isnan(found.mean.floor.mean).all()


def test_equal_scores_have_no_range_and_no_test() -> None:
    found = range_summary(np.full((20, 4, 3), 0.3), 0)
    assert (found.mean.value[0], floor_of(found.mean).mean[0]) == (0, 0)
    assert np.isnan(floor_of(found.mean).p[0])


@pytest.mark.parametrize("shape", [(5, 1, 3), (1, 4, 3), (0, 4, 3)])
def test_few_images_or_sets_are_no_error(shape: tuple[int, int, int]) -> None:
    found = range_summary(np.random.default_rng(1).normal(size=shape), 0)
    assert np.isfinite(found.mean.value[0]) == (shape == (1, 4, 3))
    assert np.isnan(found.mean.low[0])
    assert np.isnan(found.tail.low[0])
    assert found.mean.test is None or np.isnan(found.mean.test[0])


def test_a_draw_in_which_an_image_has_no_score_is_left_out() -> None:
    scores = np.random.default_rng(1).random((30, 4, 3))
    scores[0, 1, 0] = scores[3, 2, 1] = np.nan
    scores[7] = np.nan  # not asked at all
    found = range_summary(scores, 0)
    assert (found.mean.n[0], found.mean.clusters[0]) == (30 * 3 - 2 - 3, 29)
    assert np.isfinite(floor_of(found.mean).p[0])


_SCORES = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).beta(0.5, 3, size=(25, 4, 3)).round(1))


@settings(max_examples=15, deadline=None)
@given(_SCORES, st.floats(-5, 5))
def test_a_constant_added_to_all_scores_leaves_ranges_and_floor(scores: Array, constant: float) -> None:
    one, other = range_summary(scores, 0), range_summary(scores + constant, 0)
    for first, second in ((one.mean, other.mean), (one.tail, other.tail)):
        np.testing.assert_allclose(second.value, first.value, atol=1e-9)
        np.testing.assert_allclose(floor_of(second).mean, floor_of(first).mean, atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(_SCORES, st.permutations(range(4)))
def test_renamed_groups_permute_shares_which_sum_to_one(scores: Array, order: list[int]) -> None:
    one, other = tail_shares(scores, 0)[0], tail_shares(scores[:, order], 0)[0]
    if np.isfinite(one.value).all():
        assert one.value.sum() == pytest.approx(1)
        np.testing.assert_allclose(other.value, one.value[order], atol=1e-12)
    np.testing.assert_allclose(set_ranges(scores[:, order]), set_ranges(scores))


@settings(max_examples=15, deadline=None)
@given(_SCORES)
def test_differences_from_the_mean_of_sets_sum_to_zero(scores: Array) -> None:
    assert from_set_mean(scores).value.sum() == pytest.approx(0, abs=1e-12)


def test_groups_that_share_the_largest_score_share_the_credit() -> None:
    scores = np.zeros((20, 3, 1))
    scores[0, :, 0] = [1, 1, 0]
    assert tail_credits(scores)[0].tolist() == [0.5, 0.5, 0]


def test_the_group_of_the_largest_scores_is_found_and_no_other() -> None:
    scores = np.random.default_rng(2).random((200, 6, 3))
    scores[:, 2] += 0.3
    share, chance, least = tail_shares(scores, 0)
    p = chance.p
    assert share.value[2] > 0.8 > chance.high[2] > chance.mean[2] == pytest.approx(1 / 6)
    assert p[2] == least[2]
    assert (p[[0, 1, 3, 4, 5]] > least[2]).all()


def test_labels_by_chance_give_few_findings() -> None:
    rng = np.random.default_rng(5)
    found = np.concatenate([tail_shares(_rare(rng, (80, 5, 3)), 0)[1].p for _ in range(40)])
    assert (found[np.isfinite(found)] < 0.05).mean() < 0.09


def test_values_alone_are_the_same_values() -> None:
    scores = np.random.default_rng(2).random((60, 6, 3))
    whole = range_summary(scores, 0), tail_shares(scores, 0)[0], from_set_mean(scores)
    with values_only():
        bare = range_summary(scores, 0), tail_shares(scores, 0)[0], from_set_mean(scores)
    assert bare[0].mean.value == whole[0].mean.value
    np.testing.assert_array_equal(bare[1].value, whole[1].value)
    np.testing.assert_array_equal(bare[2].value, whole[2].value)


def test_quantiles_of_groups_need_no_sets() -> None:
    values = np.concatenate([np.arange(101.0), np.full(50, 3.0), [np.nan]])
    group = np.repeat([0, 1, 1], [101, 50, 1])
    found = group_quantiles(values, np.arange(152), group, 3)
    assert found.value[:2].tolist() == [90.0, 3.0]
    assert np.isnan(found.value[2])
    assert found.n.tolist() == [101, 50, 0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_tails_hold_the_true_quantile(kind: str) -> None:
    rng = np.random.default_rng(7)
    shape = (120, 10, 3)
    truth = np.quantile(set_ranges(KINDS[kind](rng, (200_000, *shape[1:]))), 0.9)
    held = []
    for _ in range(200):
        found = set_ranges(KINDS[kind](rng, shape))
        own = set_quantiles(found.ravel(), np.repeat(np.arange(120), 3), np.array([0.9]))
        held.append(own.low[0] <= truth <= own.high[0])
    assert 0.88 <= np.mean(held) <= 0.99  # of 120 sets, 12 are in the tail


@pytest.mark.slow
@pytest.mark.parametrize("sets", [12, 60, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_the_level_holds_for_few_and_many_sets(kind: str, sets: int) -> None:
    rng = np.random.default_rng(sets)
    p = np.array([floor_of(range_summary(KINDS[kind](rng, (sets, 12, 3)), 0).mean).p[0] for _ in range(200)])
    assert np.nanmean(p < 0.05) <= 0.09


@given(st.integers(0, 5_000))
def test_whatever_the_missing_scores_are_ranges_lie_within_their_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = rng.random((5, 3, 2))
    lost = rng.random(whole.shape) < 0.3
    known, asked = np.where(lost, np.nan, whole), np.ones(whole.shape, dtype=bool)
    mean, tail = summary_bounds(known, asked, (0.0, 1.0))
    for other in (whole, np.where(lost, 0.0, whole), np.where(lost, 1.0, whole), np.where(lost, rng.random(), whole)):
        ranges = set_ranges(other)
        assert mean.low[0] - 1e-9 <= ranges.mean() <= mean.high[0] + 1e-9
        assert tail.low[0] - 1e-9 <= np.quantile(ranges, 0.9) <= tail.high[0] + 1e-9
    assert mean.missing[0] == pytest.approx(lost.mean())
    complete, _ = summary_bounds(whole, asked, (0.0, 1.0))
    assert complete.low[0] == pytest.approx(complete.high[0]) == pytest.approx(set_ranges(whole).mean())


def test_what_was_not_asked_is_not_missing() -> None:
    scores = np.array([[[0.1], [0.4]], [[np.nan], [np.nan]]])
    mean, _ = summary_bounds(scores, np.isfinite(scores), (0.0, 1.0))
    assert mean.low[0] == mean.high[0] == pytest.approx(0.3)
    nothing, _ = summary_bounds(np.full((2, 3, 1), np.nan), np.zeros((2, 3, 1), dtype=bool), (0.0, 1.0))
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()


@pytest.mark.parametrize(("sets", "apart"), [(6, 0.0), (6, 0.8), (40, 0.3), (150, 0.0), (150, 0.25)])
def test_the_interval_of_a_mean_range_begins_at_zero_exactly_where_nothing_is_found(sets: int, apart: float) -> None:
    """And it holds the range of the images' own means, which is nothing where they are alike."""
    rng = np.random.default_rng(sets)
    held = 0
    for _ in range(12):
        own = apart * rng.normal(size=(sets, 5, 1))
        found = range_summary(own + rng.normal(size=(sets, 5, 3)), seed=1)
        low, value, high = (x.item() for x in (found.mean.low, found.mean.value, found.mean.high))
        assert (low > 0) == (floor_of(found.mean).p.item() < 0.05)
        assert 0 <= low <= value <= high
        held += low <= (own.max(axis=1) - own.min(axis=1)).mean() <= high
    assert held >= 10
