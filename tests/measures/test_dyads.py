"""Pairs that share people: intervals and tests go over people, whatever the number of pairs."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import special, stats

from facevalue.measures.pairs import pair_shares, tail_df
from facevalue.measures.proportions import Shares, wilson_interval

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "share-intervals.csv"
Codes = npt.NDArray[np.int64]


def design(people: int, pairs: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Pairs of people of two equal groups, each pair at most once."""
    half = people // 2
    drawn = rng.permutation(half * half)[:pairs]
    return drawn // half, half + drawn % half


def audits(
    people: int, pairs: int, sd: float, repetitions: int, seed: int, shift: float = 0.0, noise: float = 0.0
) -> Shares:
    """Who is ranked above where people differ, and groups by a shift; each cell is an audit of its own people."""
    rng = np.random.default_rng(seed)
    first, second, hits, cell = [], [], [], []
    for at in range(repetitions):
        one, two = design(people, pairs, rng)
        looks = sd * rng.normal(size=people)
        above = rng.random(pairs) < special.expit(shift + looks[one] - looks[two] + noise * rng.normal(size=pairs))
        first.append(one)
        second.append(two)
        hits.append(above.astype(float))
        cell.append(np.full(pairs, at))
    joined = [np.concatenate(parts) for parts in (first, second, hits, cell)]
    return pair_shares(joined[2], np.ones(joined[2].size), (joined[0], joined[1]), joined[3], repetitions)


@pytest.mark.parametrize(
    ("people", "pairs", "sd", "noise"), [(20, 100, 1.0, 0.0), (60, 300, 1.5, 0.0), (200, 100, 1.0, 0.0), (12, 36, 2, 1)]
)
def test_people_who_stand_in_many_pairs_make_no_findings(people: int, pairs: int, sd: float, noise: float) -> None:
    """As independent, the same pairs are found in up to two thirds of audits."""
    found = audits(people, pairs, sd, 600, people, noise=noise)
    p = found.p_against(0.5)
    assert (p < 0.05).mean() < 0.075  # 2.8 standard errors of 600 repetitions above .05
    assert (p < 0.005).mean() < 0.02
    naive = np.array([stats.binomtest(round(v * pairs), pairs).pvalue for v in found.value])
    if people < pairs:
        assert (naive < 0.05).mean() > 0.15


@pytest.mark.parametrize("pairs", [5, 8, 12, 20, 30])
def test_pairs_of_a_mere_yes_or_no_are_tested_as_exactly_as_signs(pairs: int) -> None:
    count = np.arange(pairs + 1)
    hits = (np.arange(pairs)[:, None] < count).astype(float).T.ravel()
    people = np.tile(np.arange(pairs), pairs + 1)
    cell = np.repeat(count, pairs)
    found = pair_shares(hits, np.ones(hits.size), (people, pairs + people), cell, pairs + 1)
    exact = np.array([stats.binomtest(int(k), pairs).pvalue for k in count])
    chance = stats.binom.pmf(count, pairs, 0.5)
    for level in (0.05, 0.005, 0.0005):
        made = chance[found.p_against(0.5) < level].sum()
        assert made <= 1.5 * level
        assert made >= chance[exact < level / 2].sum()


def test_graded_pairs_are_tested_by_t() -> None:
    rng = np.random.default_rng(2)
    hits = 0.5 + 0.05 * rng.normal(size=12)
    found = pair_shares(hits, np.ones(12), (np.arange(12), 12 + np.arange(12)), np.zeros(12, np.int64), 1)
    assert found.p_against(0.5).item() == pytest.approx(stats.ttest_1samp(hits, 0.5).pvalue, rel=0.25)


def test_intervals_hold_the_share_that_more_people_would_give() -> None:
    truth = 0.5 + np.mean(special.expit(0.8 + np.sqrt(2) * stats.norm.ppf((np.arange(4000) + 0.5) / 4000)) - 0.5)
    found = audits(40, 200, 1.0, 600, 5, shift=0.8)
    held = (found.low <= truth) & (truth <= found.high)
    assert 0.925 < held.mean() < 0.975


def test_p_is_small_exactly_where_the_interval_leaves_the_null_out() -> None:
    found = audits(20, 60, 1.0, 400, 3, shift=0.6)
    outside = (found.low > 0.5) | (found.high < 0.5)
    assert ((found.p_against(0.5) < 0.05) == outside).all()
    assert 0.1 < outside.mean() < 0.95


def test_pairs_that_share_nobody_are_what_they_were() -> None:
    hits = np.array([1.0] * 21 + [0.0] * 49)
    found = pair_shares(hits, np.ones(70), (np.arange(70), 70 + np.arange(70)), np.zeros(70, dtype=np.int64), 1)
    low, high = wilson_interval(
        found.value, np.array([69 * 69 / 70]), tail_df(np.array([69.0]), np.array([69 * 69 / 70]))
    )
    assert found.units is not None
    assert found.units.item() == pytest.approx(70)
    assert (found.clusters.item(), found.n.item()) == (140, 70)
    assert found.se.item() == pytest.approx(np.std(hits) * np.sqrt(70) / 69)
    assert [found.low.item(), found.high.item()] == pytest.approx([low.item(), high.item()])


def test_one_person_in_all_pairs_has_no_interval_and_two_pictures_of_one_are_one() -> None:
    hub = pair_shares(np.ones(9), np.ones(9), (np.zeros(9, np.int64), 1 + np.arange(9)), np.zeros(9, np.int64), 1)
    assert hub.value.item() == 1
    assert hub.p_against(0.5).item() > 0.05
    alone = pair_shares(np.array([1.0, 0, 1]), np.ones(3), (np.zeros(3, np.int64),) * 2, np.zeros(3, np.int64), 1)
    assert np.isnan(alone.low).all()
    assert alone.method.item().startswith("none: ")


def test_cells_without_pairs_are_not_measurable() -> None:
    found = pair_shares(np.ones(2), np.array([1.0, 0.0]), (np.array([0, 1]), np.array([2, 3])), np.array([0, 1]), 3)
    assert np.isnan(found.value[1:]).all()
    assert found.n.tolist() == [1, 0, 0]


def test_strata_that_differ_do_not_widen_the_interval() -> None:
    first, second = np.triu_indices(24, 1)
    within = first // 12 == second // 12
    first, second = first[within], second[within]
    stratum, noise = first // 12, np.random.default_rng(4).normal(size=first.size)
    hits, none = np.where(stratum == 0, 0.2, 0.8) + 0.02 * noise, np.zeros(first.size, np.int64)
    whole, apart = (pair_shares(hits, np.ones(hits.size), (first, second), none, 1, x) for x in (None, stratum))
    assert apart.value.item() == whole.value.item()
    assert apart.se.item() < 0.1 * whole.se.item()


def test_in_the_table_of_simulations_it_holds_more_often_than_the_sum_over_either_side() -> None:
    table = pl.read_csv(RESULTS).filter(pl.col("over") == "pairs")
    assert table.height == 90
    below = {rule: (table[f"held: {rule}"] < 0.93).sum() for rule in ("either side", "dyadic", "dyadic, strata")}
    assert max(below["dyadic"], below["dyadic, strata"]) <= 2 < below["either side"]
