"""Differences of ratios over units: level with few, uneven and shared units, and what their values alone are."""

import numpy as np
import pytest

from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.group_means import ratio_differences
from facevalue.measures.uncertainty import Estimates

AUDITS = 2000


def audits(first: int, second: int, *, shared: bool, uneven: bool, effect: float = 0.0) -> Estimates:
    """Scores of -1 and 1 of up to 20 answers of each unit, of which some are left out."""
    rng = np.random.default_rng(first + 100 * second)
    units = first if shared else first + second
    on_first = np.arange(units) < first
    unit = rng.normal(0, 0.15, (units, AUDITS))
    sides = []
    for on, share in ((on_first, 0.5), (on_first if shared else ~on_first, 0.5 + effect)):
        counted = np.clip(rng.beta(2, 2, unit.shape), 0.05, 1) if uneven else np.full(unit.shape, 0.5)
        n = rng.binomial(np.where(on[:, None], 20, 0), counted)
        s = rng.binomial(n, np.clip(share + unit + rng.normal(0, 0.05, unit.shape), 0, 1))
        sides.append((np.asarray(2.0 * s - n, np.float64), n.astype(np.float64)))
    return ratio_differences(sides[0], sides[1], 2.0)


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [(5, 5, False), (4, 20, False), (3, 40, False), (10, 60, False), (40, 40, False), (6, 6, True), (40, 40, True)],
)
def test_groups_without_a_difference_differ_in_at_most_one_of_twenty_audits(
    first: int, second: int, shared: bool, uneven: bool
) -> None:
    estimates = audits(first, second, shared=shared, uneven=uneven)
    is_found = np.less(estimates.p, 0.05)  # type: ignore[arg-type]
    assert is_found.mean() < 0.063
    assert (is_found == ((estimates.low > 0) | (estimates.high < 0))).all()


def test_a_difference_is_held_and_found() -> None:
    estimates = audits(20, 20, shared=False, uneven=True, effect=0.2)
    assert ((estimates.low <= 0.4) & (estimates.high >= 0.4)).mean() > 0.93
    assert np.less(estimates.p, 0.05).mean() > 0.7  # type: ignore[arg-type]


def test_one_unit_on_a_side_has_no_interval_and_alike_units_are_no_certainty() -> None:
    side = np.array([[1.0], [0], [0], [0]])
    one = ratio_differences((side, side), (1 - side, 1 - side), 1.0)
    assert np.isnan(one.low).all()
    ones = np.array([[1.0], [1], [1], [0], [0], [0]])
    alike = ratio_differences((ones, ones), (0 * ones, 1 - ones), 1.0)
    assert alike.value.item() == -1.0
    assert alike.high.item() > -1.0


def test_values_alone_are_the_same() -> None:
    full = audits(5, 5, shared=False, uneven=True)
    with values_only():
        quick = audits(5, 5, shared=False, uneven=True)
    assert (full.value == quick.value).all()
    assert (full.n == quick.n).all()
    assert (full.clusters == quick.clusters).all()
