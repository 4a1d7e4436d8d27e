"""Pairs of levels that are left out of a design."""

import numpy as np
import pytest

from facevalue.design import Factor, Pairs
from facevalue.errors import DataError


def test_pairs_left_out_are_no_pairs_whichever_way_round_they_are_named() -> None:
    letters = Factor("letter", ("a", "b", "c", "d"))
    pairs = Pairs(letters, without=(("c", "a"), ("d", "nobody")))
    first, second = pairs.codes(np.arange(len(pairs)))
    names = [letters.levels[i] + letters.levels[j] for i, j in zip(first, second, strict=True)]
    assert names == ["ab", "ad", "bc", "bd", "cd"]
    assert pairs.index([np.array([0, 2, 0]), np.array([1, 0, 3])]).tolist() == [0, -1, 1]
    ordered = Pairs(letters, ordered=True, without=(("a", "b"),))
    assert len(ordered) == 10
    assert ordered.index(ordered.codes(np.arange(10))).tolist() == list(range(10))


def test_leaving_out_every_pair_is_an_error_and_selecting_only_such_pairs_leaves_nothing() -> None:
    two = Factor("letter", ("a", "b", "c"))
    assert Pairs(two, without=(("a", "b"),)).only("letter", ["a", "b"]) is None
    with pytest.raises(DataError, match="left out"):
        Pairs(Factor("letter", ("a", "b")), without=(("a", "b"),))
