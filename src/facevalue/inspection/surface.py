"""What a picture alone tells of its quality: whether it is sharp, and whether there is anything in it."""

import numpy as np
from scipy import ndimage

from facevalue.stimuli.cielab import Floats

_WINDOW = 9
_SAME = 2.0
"""Difference of colour that nobody sees (CIE 1976)."""


def sharpness(luma: Floats) -> float | None:
    """Share of differences between neighbours that a blur takes away, the smaller of both directions; None if flat.

    One less the blur of Crete, Dolmiere, Ladret and Nicolas (2007), "The blur effect", section 2.
    """
    shares = []
    for axis in (0, 1):
        blurred = ndimage.uniform_filter1d(luma, _WINDOW, axis=axis)
        slopes, smooth = (np.abs(np.diff(values, axis=axis)) for values in (luma, blurred))
        total = float(slopes.sum())
        if total < 1:
            return None
        shares.append(float(np.maximum(slopes - smooth, 0).sum()) / total)
    return min(shares)


def blankness(colours: Floats) -> float:
    """Share of places whose mean colour is the commonest one.

    `colours`: L*, a* and b* of each place.
    """
    flat = colours.reshape(-1, 3)
    _, numbers, counts = np.unique(np.round(flat / 4), axis=0, return_inverse=True, return_counts=True)
    common = flat[numbers.ravel() == int(np.argmax(counts))].mean(axis=0)
    return float((np.linalg.norm(flat - common, axis=1) <= _SAME).mean())
