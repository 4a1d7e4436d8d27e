"""Seeded permutations: bijections that look random and cost what is drawn, not what there is."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from facevalue.design import Permutation, mix


@given(st.integers(1, 3000) | st.integers(4000, 9000), st.integers(0, 2**32))
def test_every_number_comes_exactly_once(size: int, seed: int) -> None:
    assert np.array_equal(np.sort(Permutation(size, seed)(np.arange(size))), np.arange(size))


@given(st.integers(1, 2**61), st.integers(0, 2**32), st.data())
def test_a_number_does_not_depend_on_what_else_is_asked(size: int, seed: int, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=20, unique=True))
    permutation = Permutation(size, seed)
    together = permutation(positions)
    assert [int(permutation([p])[0]) for p in positions] == together.tolist()
    assert np.unique(together).size == len(positions)
    assert ((together >= 0) & (together < size)).all()


@pytest.mark.parametrize("seed", range(3))
def test_ten_billion_without_repeats_in_memory_of_the_sample(seed: int) -> None:
    positions = np.arange(100_000)
    permutation = Permutation(10**10, seed)
    tracemalloc.start()
    drawn = permutation(positions)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.unique(drawn).size == 100_000
    assert drawn.min() >= 0
    assert drawn.max() < 10**10
    assert peak < 100 * positions.size  # bytes: a dozen words a number


@pytest.mark.parametrize(("size", "seed"), [(10**10, 11), (1_572_600, 12), (2**40, 13), (1_000_003, 14)])
def test_draws_are_spread_evenly(size: int, seed: int) -> None:
    drawn = Permutation(size, seed)(np.arange(200_000))
    edges = [size * i // 100 for i in range(101)]
    counts = np.histogram(drawn, edges)[0]
    assert stats.chisquare(counts, 200_000 * np.diff(edges) / size).pvalue > 1e-3
    # neighbours in position are no neighbours in number: the sign of the next step is a fair coin
    low = np.bincount((drawn % 97).astype(int), minlength=97)
    assert stats.chisquare(low).pvalue > 1e-3
    lag = np.corrcoef(drawn[:-1], drawn[1:])[0, 1]
    assert abs(lag) < 5 / np.sqrt(200_000)


def test_seeds_reach_all_orders_of_five_alike() -> None:
    orders = Counter(tuple(Permutation(5, seed)(np.arange(5)).tolist()) for seed in range(3600))
    assert len(orders) == 120
    assert stats.chisquare(list(orders.values())).pvalue > 1e-3


def test_pairs_of_neighbours_are_even_just_above_the_smallest_ranges() -> None:
    size = 4097  # the fewest bits on which the network is used
    low = np.concatenate([Permutation(size, seed)(np.arange(size)) for seed in range(30)])
    table = np.histogram2d(low[:-1], low[1:], bins=12)[0]
    assert stats.chi2_contingency(table).pvalue > 1e-3
    first = np.array([Permutation(size, seed)([0])[0] for seed in range(2000)])
    assert stats.kstest(first / size, "uniform").pvalue > 1e-3


def test_sizes_and_positions_are_checked() -> None:
    with pytest.raises(ValueError, match="size must be in"):
        Permutation(0, 1)
    with pytest.raises(ValueError, match="position outside"):
        Permutation(5, 1)([5])


def test_a_seed_may_be_several_numbers() -> None:
    one, two = (Permutation(10**6, (3, part))(np.arange(50)) for part in (1, 2))
    assert not np.array_equal(one, two)


def test_mix_is_the_published_splitmix64() -> None:
    # First outputs of splitmix64 from state 0 (Steele, Lea and Flood, 2014), as its reference code prints them.
    with np.errstate(over="ignore"):
        states = np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        assert [hex(int(x)) for x in mix(states)] == [
            "0xe220a8397b1dcdaf",
            "0x6e789e6aa1b965f4",
            "0x6c45d188009454f",
        ]
