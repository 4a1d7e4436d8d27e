"""Ratings and agreement: Krippendorff's own worked example, and what must hold for any ratings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from facevalue.errors import UnknownNameError
from facevalue.measures.rater_agreement import METRICS, krippendorff_alpha, mean_ratings

NA = float("nan")
# Krippendorff (2011), section C: four observers, twelve units, seven values missing.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NA, NA, NA],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NA, 3],
        [NA, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NA],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NA],
    ]
)
ratings = arrays(
    np.float64, st.tuples(st.integers(2, 4), st.integers(2, 12)), elements=st.sampled_from([1, 2, 3, 4, 5, NA])
)


@pytest.mark.parametrize(
    ("metric", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_the_published_example(metric: str, value: float) -> None:
    found = krippendorff_alpha(PUBLISHED, seed=1, metric=metric)
    assert found.value.item() == pytest.approx(value, abs=5e-4)
    assert (found.n.item(), found.clusters.item()) == (40, 11)  # the twelfth unit has one rating
    assert found.low.item() < found.value.item() < found.high.item() <= 1


def test_full_agreement_is_one_and_no_variation_is_not_measurable() -> None:
    same = np.tile(np.arange(1.0, 6), (3, 1))
    for metric in METRICS:
        assert krippendorff_alpha(same, seed=1, metric=metric).value.item() == pytest.approx(1)
    for nothing in (np.full((3, 5), 2.0), np.full((3, 5), NA), np.array([[1.0, NA], [NA, 2.0]])):
        assert np.isnan(krippendorff_alpha(nothing, seed=1).value).all()
    one_item = krippendorff_alpha(np.array([[1.0, np.nan], [2.0, 1.0]]), 0)
    assert one_item.method[0] == "none: not measurable: one item alone has two ratings"


@pytest.mark.parametrize("metric", METRICS)
def test_agreement_on_few_items_is_not_certain(metric: str) -> None:
    found = krippendorff_alpha(np.tile([1.0, 2, 1, 2, 2, 1, 1, 2], (2, 1)), seed=1, metric=metric)
    assert found.low.item() < 0.6
    assert found.value.item() == found.high.item() == 1


@pytest.mark.parametrize(("right", "size"), [(0.95, 8), (0.98, 20), (0.99, 50)])
def test_intervals_hold_the_agreement_of_raters_who_seldom_differ(right: float, size: int) -> None:
    """Of 100 audits 95% leaves at least 89 (binomial, 99%); resamples of items alone hold it in 34 to 84."""
    rng = np.random.default_rng(1)
    truth, held = 1 - 4 * right * (1 - right), []
    for _ in range(100):
        category = rng.random(size) < 0.5
        found = krippendorff_alpha(
            (category ^ (rng.random((2, size)) > right)).astype(np.float64), seed=1, metric="nominal"
        )
        held.append(bool(found.low[0] <= truth <= found.high[0]) or bool(np.isnan(found.value[0])))
        assert np.isnan(found.value[0]) or -1 <= found.low[0] <= found.value[0] <= found.high[0] <= 1
    assert sum(held) >= 89


def test_raters_who_know_nothing_of_each_other_agree_as_by_chance() -> None:
    found = krippendorff_alpha(np.random.default_rng(1).integers(1, 6, (3, 2000)).astype(np.float64), seed=1)
    assert found.value.item() == pytest.approx(0, abs=0.04)  # standard error about 0.013
    assert found.low.item() < 0 < found.high.item()


@given(ratings, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_depends_neither_on_the_order_of_raters_nor_of_items(
    table: np.ndarray[tuple[int, int], np.dtype[np.float64]], metric: str
) -> None:
    value = krippendorff_alpha(table, seed=1, metric=metric).value
    assert krippendorff_alpha(table[::-1], seed=1, metric=metric).value == pytest.approx(value, nan_ok=True)
    assert krippendorff_alpha(table[:, ::-1], seed=1, metric=metric).value == pytest.approx(value, nan_ok=True)
    assert np.isnan(value).all() or value.item() <= 1 + 1e-12


@given(ratings, st.floats(0.1, 3), st.floats(-5, 5))
def test_alpha_of_intervals_has_no_unit_and_of_ranks_no_scale(
    table: np.ndarray[tuple[int, int], np.dtype[np.float64]], scale: float, shift: float
) -> None:
    for metric, changed in (("interval", table * scale + shift), ("ordinal", np.exp(table))):
        value = krippendorff_alpha(table, seed=1, metric=metric).value
        assert krippendorff_alpha(changed, seed=1, metric=metric).value == pytest.approx(value, nan_ok=True, abs=1e-6)


def test_means_flag_from_three_upwards_and_only_with_enough_raters() -> None:
    found = mean_ratings(np.array([[3.0, 3, 5, NA], [4, 3, NA, NA], [2, 2, 5, NA]]), seed=1)
    assert found.means.value.tolist()[:3] == pytest.approx([3.0, 8 / 3, 5.0])
    assert found.biased.tolist()[:2] == [1.0, 0.0]
    assert np.isnan(found.biased[2:]).all()
    assert np.isnan(found.means.value[3])
    assert found.means.low[0] >= 1
    assert found.means.high[0] <= 5


def test_bad_ratings_are_refused() -> None:
    with pytest.raises(ValueError, match="five points"):
        mean_ratings(np.array([[6.0]]), seed=1)
    with pytest.raises(ValueError, match="shape"):
        mean_ratings(np.array([3.0]), seed=1)
    with pytest.raises(ValueError, match="shape"):
        krippendorff_alpha(np.array([3.0]), seed=1)
    with pytest.raises(ValueError, match="not negative"):
        krippendorff_alpha(np.array([[-1.0], [1.0]]), seed=1, metric="ratio")
    with pytest.raises(UnknownNameError, match="ordinal"):
        krippendorff_alpha(PUBLISHED, seed=1, metric="ordinl")
