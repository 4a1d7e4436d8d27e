"""Differences of spreads between two runs on the same units: level, coverage, power, whatever noise adds to them."""

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from facevalue.measures.definitions import Measure, change_of
from facevalue.measures.paired_changes import JACKKNIFE_GROUPS, ChangeSet, Deletion, deal_units

pytestmark = pytest.mark.all_groups

Array = npt.NDArray[np.float64]
AUDITS = 1500
SPREAD = Measure("spread", "Spread", "", "share", "person", "", signed=False, norm=True, limits=(0.0, 1.0))


def answers(
    rng: np.random.Generator, units: int, groups: int, effect: float, noise: tuple[float, float], sizes: float = 0.1
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Scores of shape (runs, audits, questions, units), and the group of each unit; both runs share their units."""
    group = np.arange(units) % groups
    means = effect * (group - group.mean()) / (np.arange(groups).std(ddof=1))
    unit = rng.normal(0, sizes, (AUDITS, 3, units))
    return np.stack([means + unit + rng.normal(0, sd, unit.shape) for sd in noise]), group


def spread(scores: Array, group: npt.NDArray[np.int64]) -> Array:
    """Standard deviation of the groups' means, mean over questions."""
    means = np.stack([scores[..., group == g].mean(axis=-1) for g in np.unique(group)])
    return np.asarray(means.std(axis=0, ddof=1).mean(axis=-1))


def changes(scores: Array, group: npt.NDArray[np.int64]) -> ChangeSet:
    """All audits as cells of one comparison."""
    units = group.size

    def table(values: Array, n: int) -> pl.DataFrame:
        return pl.DataFrame({
            "measure": "spread", "score": "", "audit": [str(k) for k in range(values.size)], "value": values, "n": n,
            "clusters": n, "bound_low": None, "bound_high": None, "(bare)": False, "(floored)": True,
        }, schema_overrides={"bound_low": pl.Float64, "bound_high": pl.Float64})  # fmt: skip

    dealt = deal_units(units, JACKKNIFE_GROUPS, 1)
    whole = spread(scores, group)
    without = []
    for left in range(min(JACKKNIFE_GROUPS, units)):
        rest = dealt != left
        values = spread(scores[..., rest], group[rest])
        without.append(Deletion("units 3", *(table(values[run], int(rest.sum())) for run in (0, 1))))
    return ChangeSet(table(whole[0], units), table(whole[1], units), without, norms=[SPREAD])


def judged(scores: Array, group: npt.NDArray[np.int64]) -> tuple[Array, Array, Array, Array]:
    change = changes(scores, group)
    estimates, p = change.estimates(np.arange(AUDITS), change_of(SPREAD))
    return p, estimates.value, estimates.low, estimates.high


@pytest.mark.parametrize("effect", [0.0, 0.03, 0.3])
@pytest.mark.parametrize(("units", "groups"), [(8, 2), (24, 4), (60, 10), (200, 3)])
def test_equal_models_differ_in_at_most_one_of_twenty(units: int, groups: int, effect: float) -> None:
    scores, group = answers(np.random.default_rng(units), units, groups, effect, (0.2, 0.2))
    p, *_ = judged(scores, group)
    assert (p < 0.05).mean() < 0.065  # 1,500 audits: .05 within two and a half standard errors


@pytest.mark.parametrize("effect", [0.0, 0.1, 0.3])
@pytest.mark.parametrize(("units", "groups"), [(24, 4), (60, 10), (200, 3)])
def test_a_noisier_run_is_not_found_to_have_a_larger_spread(units: int, groups: int, effect: float) -> None:
    scores, group = answers(np.random.default_rng(units + 1), units, groups, effect, (0.1, 0.4))
    p, value, *_ = judged(scores, group)
    assert (p < 0.05).mean() < 0.075
    naive = np.diff(spread(scores, group), axis=0)[0].mean()
    assert abs(value.mean()) < 0.35 * naive or naive < 0.01


def test_intervals_hold_the_difference_and_find_it() -> None:
    scores, group = answers(np.random.default_rng(3), 60, 4, 0.2, (0.2, 0.2))
    scores[1] += 0.1 * (group - group.mean()) / np.arange(4).std(ddof=1)
    p, value, low, high = judged(scores, group)
    assert value.mean() == pytest.approx(0.1, abs=0.01)
    assert ((low <= 0.1) & (high >= 0.1)).mean() > 0.93
    assert (p < 0.05).mean() > 0.6


def test_spreads_of_equal_noise_differ_as_they_are() -> None:
    scores, group = answers(np.random.default_rng(4), 60, 4, 0.3, (0.01, 0.01), sizes=0.0)
    _, value, *_ = judged(scores, group)
    assert value == pytest.approx(np.diff(spread(scores, group), axis=0)[0], abs=1e-3)
