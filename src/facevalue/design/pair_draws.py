"""Draws of pairs of two things of different groups."""

import numpy as np

from facevalue.design.block import Numbers
from facevalue.design.sampling import Permutation, mix

_CHUNK = 4096


def draw_pairs(group: Numbers, count: int, seed: tuple[int, int], *, any_two: bool = False) -> tuple[Numbers, Numbers]:
    """Draw pairs without replacement.

    Examples
    --------
    >>> first, second = draw_pairs(np.array([0, 0, 1]), 10, (1, 0))
    >>> sorted(sorted(pair) for pair in zip(first.tolist(), second.tolist()))
    [[0, 2], [1, 2]]
    """
    size = len(group)
    pair_count = size * (size - 1) // 2
    if not pair_count:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    starts = np.cumsum([0, *(size - 1 - i for i in range(size - 1))])
    shuffled = Permutation(pair_count, seed)
    draws: list[Numbers] = []
    for begin in range(0, pair_count, _CHUNK):
        ranks = shuffled(np.arange(begin, min(begin + _CHUNK, pair_count)))
        first = np.searchsorted(starts, ranks, side="right") - 1
        second = ranks - starts[first] + first + 1
        fit = np.full(len(ranks), any_two) | (group[first] != group[second])
        draws.append(np.stack((ranks, first, second))[:, fit])
        if sum(draw.shape[1] for draw in draws) >= count:
            break
    ranks, first, second = np.concatenate(draws, axis=1)[:, :count]
    with np.errstate(over="ignore"):
        turned = mix(ranks.astype(np.uint64) + np.uint64(seed[0] + 1) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(63)
    turn = turned.astype(np.bool_)
    return np.where(turn, second, first), np.where(turn, first, second)
