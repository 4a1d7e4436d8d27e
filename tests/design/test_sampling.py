"""Samples without replacement: exact in size, proportional by stratum, the same for the same seed."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from facevalue.design import Block, Design, Factor, Pairs, sample
from facevalue.errors import DataError, UnknownNameError
from tests.design.strategies import designs, whole


def strata_of(design: Design) -> list[str]:
    """Columns that may be strata in every block: not those of pairs."""
    paired = {c.name for b in design.blocks for a in b.axes if isinstance(a, Pairs) for c in a.columns()}
    return ["block", *(name for name in whole(design).columns[2:] if name not in paired)]


@given(designs(), st.integers(0, 2**32), st.data())
def test_simple_samples_are_exact_distinct_sorted_and_repeatable(
    design: Design, seed: int, data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, design.size))
    drawn = sample(design, size, seed)
    assert drawn.size == size
    assert (np.diff(drawn) > 0).all()
    assert 0 <= drawn[0] <= drawn[-1] < design.size
    np.testing.assert_array_equal(drawn, sample(design, size, seed))
    assert set(drawn) <= set(sample(design, design.size, seed))
    if size < design.size:
        assert set(drawn) < set(sample(design, size + 1, seed))


@given(designs(), st.integers(0, 2**32), st.data())
def test_strata_get_their_share_to_within_one(design: Design, seed: int, data: st.DataObject) -> None:
    strata = data.draw(st.lists(st.sampled_from(strata_of(design)), min_size=1, max_size=2, unique=True))
    size = data.draw(st.integers(1, design.size))
    drawn = sample(design, size, seed, strata)
    assert drawn.size == size
    assert (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(drawn, sample(design, size, seed, strata))
    keys = list(dict.fromkeys(["block", *strata]))
    there = Counter(whole(design).select(keys).rows())
    found = Counter(design.trials(drawn).select(keys).rows())
    for key, count in there.items():
        assert found[key] <= count
        assert abs(found[key] - size * count / design.size) < 1


def test_within_a_stratum_every_trial_is_as_likely() -> None:
    face = Factor("face", tuple(map(str, range(12))), {"age": ("young",) * 8 + ("old",) * 4})
    design = Design((Block("all", (face,), (Factor("q", ("a", "b", "c")),)),))
    counts = np.zeros(design.size)
    for seed in range(2000):
        counts[sample(design, 9, seed, ["age"])] += 1
    assert stats.chisquare(counts).pvalue > 1e-3


def test_neighbouring_seeds_share_no_stratum() -> None:
    halves = Factor("x", tuple(map(str, range(2000))), {"half": ("low",) * 1000 + ("high",) * 1000})
    design = Design((Block("all", (halves,)),))
    high = {int(n) - 1000 for n in sample(design, 200, 1, ["half"]) if n >= 1000}
    low = {int(n) for n in sample(design, 200, 2, ["half"]) if n < 1000}
    assert len(high & low) < 40  # ten are expected by chance of a hundred


def test_a_sample_of_billions_costs_the_sample() -> None:
    x = Factor("x", tuple(map(str, range(100_000))))
    y = Factor("y", tuple(map(str, range(100_000))), {"z": ("one", "two") * 50_000})
    design = Design((Block("all", (x,), (y,)),))
    assert design.size == 10**10
    tracemalloc.start()
    drawn = sample(design, 50_000, 1, ["z"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.unique(drawn).size == 50_000
    assert design.trials(drawn)["z"].value_counts()["count"].to_list() == [25_000, 25_000]
    assert peak < 60e6


def test_impossible_samples_say_so() -> None:
    three = Factor("i", ("a", "b", "c"))  # as many pairs as levels
    design = Design((Block("all", (Pairs(three),), (Factor("term", ("kind", "rich")),)),))
    with pytest.raises(DataError, match="A sample of 7 cannot be drawn: the design has 6 trials"):
        sample(design, 7, 1)
    with pytest.raises(DataError, match="cannot be drawn"):
        sample(design, 0, 1)
    with pytest.raises(DataError, match="'i_1' belongs to a pair"):
        sample(design, 2, 1, ["i_1"])
    with pytest.raises(UnknownNameError, match="Did you mean 'term'"):
        sample(design, 2, 1, ["trem"])
