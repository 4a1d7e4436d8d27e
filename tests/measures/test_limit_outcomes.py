"""Outcomes of limits: the rule, and how often gates err, by simulation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.verdicts import DecidedCells, LimitOutcome, MeasuredCells, decide_limits

NONE = np.nan


def measured(
    value: Array, se: Array, units: int = 60, *, noise: float = 0.0, squared: bool = False, bounds: float = NONE
) -> MeasuredCells:
    """Cells whose intervals are t's; bounds so far to either side."""
    reach = stats.t.ppf(0.975, units - 1) * se
    full = np.ones(value.shape)
    return MeasuredCells(
        value, value - reach, value + reach, se, units * full, (units - 1) * full, -full, full, noise * full,
        np.full(value.shape, squared), value - bounds, value + bounds,
    )  # fmt: skip


def decided(value: float, se: float, limit: float = 0.2, cells: int = 1, **more: float) -> DecidedCells:
    """One cell of a gate of so many."""
    one = measured(np.array([value]), np.array([se]), **more)  # type: ignore[arg-type]
    return decide_limits(one, np.array([-limit]), np.array([limit]), 0.05 / cells)


def test_intervals_decide_and_not_values() -> None:
    assert decided(0.1, 0.01).outcome[0] == LimitOutcome.WITHIN
    assert decided(0.1, 0.1).outcome[0] == LimitOutcome.UNDECIDED
    assert decided(0.3, 0.1).outcome[0] == LimitOutcome.UNDECIDED
    assert decided(0.3, 0.01).outcome[0] == LimitOutcome.BEYOND
    assert decided(-0.3, 0.01).outcome[0] == LimitOutcome.BEYOND
    assert decided(NONE, NONE).outcome[0] == LimitOutcome.NOT_MEASURABLE
    assert decided(0.1, NONE).outcome[0] == LimitOutcome.NOT_MEASURABLE


def test_many_cells_widen_what_is_beyond_and_not_what_is_within() -> None:
    assert decided(0.225, 0.01).outcome[0] == LimitOutcome.BEYOND
    assert decided(0.225, 0.01, cells=200).outcome[0] == LimitOutcome.UNDECIDED
    assert decided(0.175, 0.01, cells=200).outcome[0] == LimitOutcome.WITHIN


def test_what_noise_adds_is_not_held_against_a_model() -> None:
    assert decided(0.25, 0.01).outcome[0] == LimitOutcome.BEYOND
    assert decided(0.25, 0.01, noise=0.06).outcome[0] == LimitOutcome.UNDECIDED
    assert decided(0.5, 0.01, noise=0.06).outcome[0] == LimitOutcome.BEYOND
    # ‖x + e‖² can be (√.2 + √.06)² = .48 where ‖x‖² is .2
    assert decided(0.45, 0.01, noise=0.06, squared=True).outcome[0] == LimitOutcome.UNDECIDED


def test_missing_answers_never_help() -> None:
    open_to_missing = decided(0.1, 0.01, bounds=0.15)
    assert (open_to_missing.outcome[0], bool(open_to_missing.by_missing[0])) == (LimitOutcome.UNDECIDED, True)
    assert np.isnan(open_to_missing.units[0])  # more units would not help
    assert decided(0.1, 0.01, bounds=0.05).outcome[0] == LimitOutcome.WITHIN


@given(st.floats(-0.19, 0.19), st.floats(0.005, 0.3))
def test_the_units_that_would_tell_tell(value: float, se: float) -> None:
    """With so many units the same value would be decided in .8 of samples."""
    before = decided(value, se)
    if before.outcome[0] != LimitOutcome.UNDECIDED:
        return
    units = before.units[0]
    assert units > 60
    error, far = se * np.sqrt(60 / units), 0.2 - abs(value)
    power = stats.nct.sf(stats.t.ppf(0.975, units - 1), units - 1, far / error)
    assert power > 0.79


def gates(true: float, cells: int, audits: int, seed: int, units: int = 40) -> list[set[LimitOutcome]]:
    """Outcomes of simulated gates, whose cells share what units have in common; all are truly `true`, limit .2."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(audits):
        faces = true + 0.2 * rng.standard_normal((units, 1)) + 0.3 * rng.standard_normal((units, cells))
        means, errors = faces.mean(axis=0), faces.std(axis=0, ddof=1) / np.sqrt(units)
        limit = np.full(cells, 0.2)
        out.append(set(decide_limits(measured(means, errors, units), -limit, limit, 0.05 / cells).outcome))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 34, 200])
def test_gates_of_any_size_fail_models_at_their_limits_in_one_of_twenty(cells: int) -> None:
    """The worst model that a gate must not fail is at its limit everywhere. Of 1,000 gates, .05 has an SE of .007."""
    failed = np.mean([LimitOutcome.BEYOND in outcome for outcome in gates(0.2, cells, 1000, seed=cells)])
    assert failed <= 0.05 + 2 * 0.007


@pytest.mark.slow
def test_gates_fail_and_pass_where_they_should() -> None:
    beyond = np.mean([LimitOutcome.BEYOND in outcome for outcome in gates(0.45, 200, 200, seed=1)])
    assert beyond > 0.95
    passed = np.mean([outcome == {LimitOutcome.WITHIN} for outcome in gates(0.0, 200, 200, seed=2, units=120)])
    assert passed > 0.95
    wrongly = np.mean([outcome == {LimitOutcome.WITHIN} for outcome in gates(0.21, 200, 200, seed=3)])
    assert wrongly == 0
    one = np.mean([outcome == {LimitOutcome.WITHIN} for outcome in gates(0.201, 1, 2000, seed=4)])
    assert one <= 0.05


def test_units_that_would_tell_follow_the_side_that_faces_the_limit() -> None:
    """A range whose interval is long above its value needs more units than its standard error says."""
    cells = replace(measured(np.array([0.16]), np.array([0.01])), high=np.array([0.3]))
    assert decide_limits(cells, np.array([-np.inf]), np.array([0.2]), 0.05).units[0] > 240
