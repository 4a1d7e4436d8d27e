"""Worst-case bounds for missing answers."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.missing_data_bounds import Replies, fill_missing, phi_bounds, shift_bounds, spread_bounds
from facevalue.measures.uncertainty import Bounds

Array = npt.NDArray[np.float64]
EPS = 1e-9


def some(seed: int, missing: float, clusters: int = 6, cells: int = 4) -> tuple[Replies, Array]:
    """Replies of which a share is missing, and the sums had none been."""
    rng = np.random.default_rng(seed)
    asked = rng.integers(0, 12, size=(clusters, cells))
    valid = asked - rng.binomial(asked, missing)
    weights = rng.uniform(0, 1, size=(clusters, cells, 12))
    order = np.arange(12)
    sums = np.where(order < valid[..., None], weights, 0).sum(axis=-1)
    complete = np.where(order < asked[..., None], weights, 0).sum(axis=-1)
    return Replies(sums, valid.astype(np.float64), asked.astype(np.float64)), complete


def inside(low: Array, value: Array, high: Array) -> bool:
    known = np.isfinite(value)
    return bool(((low <= value + EPS) & (value <= high + EPS))[known].all())


@given(seed=st.integers(0, 10_000), missing=st.floats(0, 1), paired=st.booleans())
def test_bounds_hold_the_observed_shift(seed: int, missing: float, paired: bool) -> None:
    base, variant = some(seed, missing)[0], some(seed + 1, missing)[0]
    out = shift_bounds(base, variant, paired=paired)
    assert inside(out.low, out.value, out.high)
    assert inside(np.full(4, -1.0), out.low, out.high)
    assert inside(out.low, out.high, np.full(4, 1.0))


@given(seed=st.integers(0, 10_000), missing=st.floats(0, 1))
def test_bounds_hold_the_shift_within_clusters_of_complete_answers(seed: int, missing: float) -> None:
    (base, whole_base), (variant, whole_variant) = some(seed, missing), some(seed + 1, missing)
    out = shift_bounds(base, variant)
    both = (base.asked > 0) & (variant.asked > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = np.where(both, whole_variant / variant.asked - whole_base / base.asked, 0)
        weight = np.where(both, variant.asked, 0)
        truth = (weight * shift).sum(axis=0) / weight.sum(axis=0)
    assert inside(out.low, truth, out.high)


@given(seed=st.integers(0, 10_000), paired=st.booleans())
def test_without_missing_answers_nothing_is_open(seed: int, paired: bool) -> None:
    out = shift_bounds(some(seed, 0.0)[0], some(seed + 1, 0.0)[0], paired=paired)
    np.testing.assert_allclose(out.low, out.value, atol=1e-12)
    np.testing.assert_allclose(out.high, out.value, atol=1e-12)
    assert (out.missing[np.isfinite(out.missing)] == 0).all()


@given(seed=st.integers(0, 10_000), missing=st.floats(0, 1), more=st.floats(0, 1), paired=st.booleans())
def test_the_more_is_missing_the_wider_the_bounds(seed: int, missing: float, more: float, paired: bool) -> None:
    base, variant = some(seed, missing)[0], some(seed + 1, missing)[0]
    fewer = Replies(variant.sums * (1 - more), variant.valid * (1 - more), variant.asked)
    out, wider = (
        shift_bounds(base, variant, paired=paired),
        shift_bounds(base, fewer, paired=paired),
    )
    known = np.isfinite(out.low)
    assert (wider.low[known] <= out.low[known] + EPS).all()
    assert (wider.high[known] >= out.high[known] - EPS).all()


@given(seed=st.integers(0, 10_000), missing=st.floats(0, 1))
def test_bounds_are_attained_by_the_filled_sums(seed: int, missing: float) -> None:
    base, variant = some(seed, missing)[0], some(seed + 1, missing)[0]
    low = shift_bounds(
        Replies(fill_missing(base, 1.0), base.asked, base.asked),
        Replies(fill_missing(variant, 0.0), variant.asked, variant.asked),
    )
    np.testing.assert_allclose(low.value, shift_bounds(base, variant).low, atol=1e-12)


def test_refusing_one_side_alone_leaves_the_sign_open_until_the_effect_is_large() -> None:
    asked = np.full((10, 2), 10.0)
    base = Replies(np.full((10, 2), 2.0), asked, asked)
    variant = Replies(np.array([[4.0, 2.0]] * 10), np.array([[7.0, 2.0]] * 10), asked)
    out = shift_bounds(base, variant)
    assert out.low.tolist() == pytest.approx([0.2, 0.0])
    assert out.high.tolist() == pytest.approx([0.5, 0.8])


def test_all_missing_bounds_are_as_wide_as_can_be() -> None:
    replies = Replies(np.zeros((3, 1)), np.zeros((3, 1)), np.full((3, 1), 5.0))
    out = shift_bounds(replies, replies)
    assert np.isnan(out.value.item())
    assert (out.low.item(), out.high.item(), out.missing.item()) == (-1, 1, 1)


def test_nothing_asked_is_not_measurable() -> None:
    nothing = Replies(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1)))
    out = shift_bounds(nothing, nothing)
    assert np.isnan([out.value, out.low, out.high, out.missing]).all()


def test_nan_in_one_cluster_is_nan_in_its_cell_alone() -> None:
    good, _ = some(1, 0.2)
    sums = good.sums.copy()
    sums[0, 0] = np.nan
    out = shift_bounds(good, Replies(sums, good.valid, good.asked))
    assert np.isnan([out.value[0], out.low[0], out.high[0]]).all()
    assert np.isfinite(out.low[1:]).all()


def test_ratings_have_their_own_poles() -> None:
    replies = Replies(np.array([[12.0]]), np.array([[3.0]]), np.array([[4.0]]))
    whole = Replies(np.array([[8.0]]), np.array([[4.0]]), np.array([[4.0]]))
    out = shift_bounds(whole, replies, poles=(1, 7))
    assert (out.value.item(), out.low.item(), out.high.item()) == (2.0, 13 / 4 - 2, 19 / 4 - 2)
    for poles in ((0.0, 1.0), (5.0, 7.0)):
        with pytest.raises(ValueError, match="poles"):
            shift_bounds(whole, replies, poles=poles)


def test_impossible_counts_are_errors() -> None:
    with pytest.raises(ValueError, match="valid mass"):
        Replies(np.ones((1, 1)), np.full((1, 1), 3.0), np.ones((1, 1)))
    with pytest.raises(ValueError, match="one shape"):
        Replies(np.ones((1, 1)), np.ones((1, 2)), np.ones((1, 1)))
    with pytest.raises(ValueError, match="one shape"):
        shift_bounds(some(0, 0.1)[0], some(0, 0.1, cells=3)[0])


def test_probabilities_in_single_precision_may_sum_to_a_little_more_than_one() -> None:
    mass = np.array([[float(np.float32(16 / 17)) + float(np.float32(1 / 17))]])
    assert mass > 1
    bounds = phi_bounds(Replies(mass / 2, mass, np.ones((1, 1))))
    assert bounds.low.item() == bounds.high.item() == pytest.approx(0.5)


@given(
    middles=st.lists(st.tuples(st.sampled_from([0.3, 0.5, 0.7]), st.sampled_from([0.0, 0.3])), min_size=2, max_size=6)
)
def test_bounds_of_a_spread_are_attained_where_middles_are_equal(middles: list[tuple[float, float]]) -> None:
    low, high = np.array([m - w for m, w in middles]), np.array([m + w for m, w in middles])
    none = np.full(1, np.nan)
    ends = spread_bounds([Bounds(none, low[[k]], high[[k]], none, none) for k in range(low.size)])
    corners = [np.std(corner, ddof=1) for corner in product(*zip(low, high, strict=True))]
    assert ends.high[0] == pytest.approx(max(corners))
    assert ends.low[0] <= min(corners) + 1e-9


def test_where_all_answers_are_missing_groups_could_lie_as_far_apart_as_can_be() -> None:
    none = np.full(1, np.nan)
    ends = spread_bounds([Bounds(none, np.zeros(1), np.ones(1), np.ones(1), none)] * 2)
    assert (ends.low[0], ends.high[0]) == (0.0, pytest.approx(np.sqrt(0.5)))
