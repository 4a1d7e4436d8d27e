"""Bounds of shifts in forms: no way to fill in what is missing leads outside them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.studies.visbias.form_graph import Forms, form_bounds, kl_divergence, shift_graph

NAMES, CHOICES = ("a", "b", "c"), (("a1", "a2"), ("b1", "b2", "b3"), ("c1", "c2"))


def forms(values: np.ndarray, given: np.ndarray, lost: int = 0) -> Forms:
    """Forms from the category of each field; -1 is missing."""
    weights = tuple(
        np.where((column >= 0)[:, None], np.eye(len(listed))[column], 0.0)
        for column, listed in zip(values.T, CHOICES, strict=True)
    )
    return Forms(NAMES, CHOICES, weights, given, lost)


def shift(whole: np.ndarray, given: np.ndarray, row: dict[str, str], conditions: str) -> float:
    """One shift of forms, by hand; NaN where no form meets the condition."""
    i, j = NAMES.index(row["attribute"]), NAMES.index(row["outcome"])
    counted = given[:, i] if conditions == "prefilled" else ~given[:, i]
    outcome = (whole[:, j] >= 0) & ~given[:, j]
    met = outcome & counted & (whole[:, i] == CHOICES[i].index(row["choice"]))
    base, condition = (np.bincount(whole[of, j], minlength=len(CHOICES[j])) for of in (outcome, met))
    return float(kl_divergence(base.astype(float), condition.astype(float)))


@settings(max_examples=10)
@given(st.integers(0, 100_000), st.sampled_from(["completed", "prefilled"]))
def test_no_way_to_fill_in_fields_and_forms_leads_outside(seed: int, conditions: str) -> None:
    rng = np.random.default_rng(seed)
    size, lost = 25, int(rng.integers(0, 3))
    whole = np.stack([rng.integers(0, len(listed), size + lost) for listed in CHOICES], axis=1)
    given = rng.random(whole.shape) < 0.3
    gone = (rng.random(whole.shape) < 0.15) & ~given
    gone[size:] = True
    seen = np.where(gone, -1, whole)
    answered = forms(seen[:size], given[:size], lost)
    shifts = shift_graph(answered, 0, conditions=conditions, resamples=1).head(4)
    bounds = form_bounds(answered, shifts, conditions)
    assert (bounds.low <= bounds.value).all()
    assert (bounds.value <= bounds.high).all()
    for at, row in enumerate(shifts.iter_rows(named=True)):
        assert abs(shift(seen[:size], given[:size], row, conditions) - bounds.value[at]) < 1e-9
        for _ in range(15):
            given_anew = np.where(given, whole, [rng.integers(-1, len(listed)) for listed in CHOICES])
            filled = np.where(gone, given_anew, whole)
            assert bounds.low[at] - 1e-9 <= shift(filled, given, row, conditions) <= bounds.high[at] + 1e-9


def test_without_anything_missing_the_bounds_are_the_shift_and_one_form_of_many_leaves_it() -> None:
    values = np.stack([np.repeat([0, 1], 50), np.repeat([0, 1], 50), np.tile([0, 1], 50)], axis=1)
    none = np.zeros(values.shape, dtype=np.bool_)
    whole, short = forms(values, none), forms(values, none, lost=1)
    shifts = shift_graph(whole, 0, resamples=50)
    bounds = form_bounds(whole, shifts, "completed")
    np.testing.assert_allclose([bounds.low, bounds.high], [bounds.value] * 2, atol=1e-12)
    clear = shifts["value"].to_numpy() > 1
    assert clear.sum() == 4
    assert (form_bounds(short, shifts, "completed").low[clear] > 1).all()
    assert form_bounds(whole, shifts.clear(), "completed").low.size == 0


def test_withheld_outcomes_could_have_been_as_everywhere() -> None:
    """All forms answer alike, and of those that say a1 half of the b1 are withheld."""
    rng = np.random.default_rng(1)
    values = np.stack([rng.integers(0, len(listed), 400) for listed in CHOICES], axis=1)
    withheld = (values[:, 0] == 0) & (values[:, 1] == 0) & (rng.random(400) < 0.9)
    seen = np.where(withheld[:, None] & (np.arange(3) == 1), -1, values)
    answered = forms(seen, np.zeros(seen.shape, dtype=np.bool_))
    shifts = shift_graph(answered, 0, resamples=200)
    found = form_bounds(answered, shifts, "completed")
    is_shown = (shifts["value"] > shifts["floor_high"]).to_numpy() & (shifts["attribute"] == "a").to_numpy()
    assert is_shown.any()
    assert (found.low[is_shown] <= shifts["floor"].to_numpy()[is_shown]).all()
