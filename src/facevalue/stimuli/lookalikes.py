"""Pictures that look the same though their files differ: found by a hash of differences, then seen in a small view."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

LARGEST = 3
"""Most that two views may differ in any place, of 255 shades of grey: what another compression or size does."""
_CANDIDATES = 8
_FLAT = 4
"""Shades between the darkest and the lightest place of a view that shows nothing."""


def difference_hash(views: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Return which places of each view, 8 by 8, are lighter than those on their left, as 64 bits.

    Examples
    --------
    >>> shade = np.tile(np.arange(32, dtype=np.uint8) * 8, (1, 32, 1))
    >>> difference_hash(shade)[0] == np.uint64(2**64 - 1)
    np.True_
    """
    count, side = len(views), views.shape[1]
    edges = np.linspace(0, side, 10).astype(int)
    rows = views.reshape(count, 8, side // 8, side).mean(axis=2)
    columns = np.stack([rows[:, :, a:b].mean(axis=2) for a, b in pairwise(edges)], axis=2)
    bits = (np.diff(columns, axis=2) > 0).reshape(count, 64)
    packed = np.packbits(bits, axis=1)
    return packed.view(">u8").astype(np.uint64).reshape(count)


def lookalikes(views: npt.NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Find pairs of pictures, (earlier, later), that look the same.

    Their hashes differ in one bit at most, and their views by at most `LARGEST` shades in any place; a picture without
    anything in it is like no other. Each is compared with a few at most of those with nearly its hash, so that time and
    memory grow as their number does.
    """
    if len(views) < 2:
        return []
    flat = views.reshape(len(views), -1)
    hashes = difference_hash(views)
    able = np.flatnonzero(flat.max(axis=1).astype(int) - flat.min(axis=1) > _FLAT)
    order = able[np.argsort(hashes[able], kind="stable")]
    ordered = hashes[order]
    places = np.empty(len(views), dtype=np.int64)
    places[order] = np.arange(order.size)
    pairs: set[tuple[int, int]] = set()
    for flip in (0, *(1 << bit for bit in range(64))):
        targets = hashes[able] ^ np.uint64(flip)
        first = np.searchsorted(ordered, targets, side="left") if flip else places[able] + 1
        past = np.searchsorted(ordered, targets, side="right")
        for step in range(_CANDIDATES):
            at = np.flatnonzero(first + step < past)
            if not at.size:
                break
            left, right = able[at], order[first[at] + step]
            same = _is_same(flat, left, right)
            left, right = left[same], right[same]
            pairs.update(zip(np.minimum(left, right).tolist(), np.maximum(left, right).tolist(), strict=True))
    return sorted(pairs)


def _is_same(
    flat: npt.NDArray[np.uint8], first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], batch: int = 4096
) -> npt.NDArray[np.bool_]:
    out = np.zeros(first.size, dtype=np.bool_)
    for start in range(0, first.size, batch):
        left, right = (flat[of[start : start + batch]].astype(np.int16) for of in (first, second))
        out[start : start + batch] = np.abs(left - right).max(axis=1, initial=0) <= LARGEST
    return out
