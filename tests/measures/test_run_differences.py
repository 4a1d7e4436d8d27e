"""What the differences of all cells amount to: levels that hold where cells share units, and what noise gives."""

from collections.abc import Iterator

import numpy as np
import pytest

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.paired_changes import ChangeSet, Deletion, deal_units
from facevalue.measures.run_comparison import BALANCED_CELLS, LARGEST, MEAN, RMS, SIZE, Summary, difference_summaries
from tests.measures.test_paired_changes import SHARE, table

pytestmark = pytest.mark.all_groups


def summarised(first: Array, second: Array) -> dict[str, Summary]:
    """Statistics of the differences of all cells, columns, over units, rows."""
    group = deal_units(len(first), 20, seed=3)

    def without() -> Iterator[Deletion]:
        for g in range(int(group.max()) + 1):
            yield Deletion("units 3", table(first, group != g), table(second, group != g))

    changes = ChangeSet(table(first), table(second), without())
    return {one.name: one for one in difference_summaries(changes, np.arange(first.shape[1]), SHARE)}


def shifts(rng: np.random.Generator, units: int, cells: int = 12) -> Array:
    """Shifts of one base per unit: its noise is in all cells of the unit."""
    base = rng.normal(0.0, 4.0, (units, 1))
    return 50 + rng.normal(0.0, 2.0, (units, cells)) - base


@pytest.mark.parametrize("units", [6, pytest.param(25, marks=pytest.mark.slow)])
def test_cells_that_share_a_base_find_nothing_between_equal_models(units: int) -> None:
    rng = np.random.default_rng(units)
    audits = [summarised(shifts(rng, units), shifts(rng, units)) for _ in range(50)]
    for name in (MEAN, SIZE, RMS, LARGEST):
        assert np.mean([one[name].p < 0.05 for one in audits]) <= 0.05 + 3 * 0.031, name
    held = [one[MEAN].estimate.low[0] <= 0 <= one[MEAN].estimate.high[0] for one in audits]
    assert np.mean(held) >= 0.95 - 3 * 0.031
    assert np.mean([one[LARGEST].estimate.low[0] > 0 for one in audits]) <= 0.05 + 3 * 0.031


def test_a_real_difference_is_found_and_lies_within_its_interval() -> None:
    rng = np.random.default_rng(4)
    real = np.tile([3.0, -3.0], 6)
    found = summarised(shifts(rng, 40), shifts(rng, 40) + real)
    assert found[RMS].p < 0.01
    assert found[RMS].estimate.low[0] < 3.0 < found[RMS].estimate.high[0]
    assert found[LARGEST].estimate.high[0] >= 3.0
    assert found[MEAN].p > 0.01


def test_cells_that_add_up_to_one_total_differ_by_nothing_on_average() -> None:
    rng = np.random.default_rng(5)
    first, second = (rng.uniform(0, 100, (20, 1)) for _ in range(2))
    first, second = (np.hstack([one, 100 - one]) for one in (first, second))
    mean = summarised(first, second)[MEAN]
    assert mean.estimate.value[0] == 0.0
    assert mean.estimate.method[0].endswith(BALANCED_CELLS)
    assert np.isnan(mean.p)


def test_equal_answers_differ_by_nothing_and_say_what_was_not_seen() -> None:
    same = np.full((20, 3), 100.0)
    found = summarised(same, same)
    assert list(found) == [MEAN]
    assert found[MEAN].estimate.low[0] < 0 < found[MEAN].estimate.high[0]
