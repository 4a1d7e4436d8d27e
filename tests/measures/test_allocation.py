"""A budget is dealt out so that no other split detects more."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.power import DetectionCurve, allocate_budget, shares_of_budget


def curve_of(costs: list[int], effects: list[float]) -> DetectionCurve:
    return DetectionCurve(np.cumsum(np.array(costs, dtype=np.float64)), np.array(effects))


@st.composite
def curves(draw: st.DrawFn) -> DetectionCurve:
    steps = draw(st.lists(st.integers(1, 40), min_size=1, max_size=6))
    effects = sorted(draw(st.lists(st.floats(0.01, 1), min_size=len(steps), max_size=len(steps))), reverse=True)
    silent = draw(st.integers(0, len(steps)))
    return curve_of(steps, [np.nan] * silent + effects[silent:])


def worst_of(split: tuple[int, ...], all_curves: list[DetectionCurve]) -> list[float]:
    return sorted((float(curve.effects[at]) for curve, at in zip(all_curves, split, strict=True)), reverse=True)


@given(st.lists(curves(), min_size=1, max_size=4), st.integers(1, 200))
def test_no_other_split_detects_more(all_curves: list[DetectionCurve], budget: int) -> None:
    numbers = allocate_budget(all_curves, budget).sizes
    sizes = [(curve, at) for curve, at in zip(all_curves, numbers, strict=True) if at is not None]
    assert sum(curve.costs[at] for curve, at in sizes) <= budget
    assert all(np.isfinite(curve.effects[at]) for curve, at in sizes)
    reached = [curve for curve, _ in sizes]
    if not reached:
        assert not any(curve.first_verdict <= budget for curve in all_curves)
        return
    splits = [
        split
        for split in product(*(range(curve.costs.size) for curve in reached))
        if sum(curve.costs[at] for curve, at in zip(reached, split, strict=True)) <= budget
        and all(np.isfinite(curve.effects[at]) for curve, at in zip(reached, split, strict=True))
    ]
    best = min(worst_of(split, reached)[0] for split in splits)
    assert max(curve.effects[at] for curve, at in sizes) == pytest.approx(best)


def test_a_study_that_can_detect_no_less_leaves_the_rest_to_the_others() -> None:
    stuck = curve_of([10, 1000], [0.6, 0.6])
    endless = DetectionCurve(np.array([10.0, 100.0, 1_000.0]), np.array([0.5, 0.2, 0.06]))
    assert allocate_budget([stuck, endless], 1_100).sizes == (0, 2)


def test_a_budget_too_small_for_all_reaches_those_that_are_cheapest_to_bring_to_a_verdict() -> None:
    cheap, dear = curve_of([10, 50], [0.5, 0.3]), curve_of([100], [0.2])
    never = curve_of([5, 5], [np.nan, np.nan])
    assert allocate_budget([cheap, dear, never], 70).sizes == (1, None, None)
    assert allocate_budget([cheap, dear, never], 9) == allocate_budget([cheap, dear, never], 1)
    assert allocate_budget([cheap, dear, never], 9).fewest == 10
    assert allocate_budget([never], 100).fewest == np.inf


def test_equal_shares_pass_on_what_small_studies_leave() -> None:
    assert shares_of_budget({"a": 10, "b": 1000, "c": 2000}, 210) == {"a": 10, "b": 100, "c": 100}
    assert shares_of_budget({"a": 10, "b": 20}, 100) == {"a": 10, "b": 20}
    assert shares_of_budget({}, 100) == {}
