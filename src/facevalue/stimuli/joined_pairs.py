"""Pairs as ModSCAN's authors compose them: two pictures as they are, with a black line between them.

"Horizontally splicing them together in pairs" (ModSCAN, section 4) is all that the paper says. The released code places
pictures at the top, resizes nothing and leaves 10 pixels between them for a line 2 wide. (Its ground is white below the
pictures only, so that all 10 columns come out black; here the ground is white, with the line in the middle.)
"""

import numpy as np

from facevalue.stimuli.pairs import Composition, Pixels, rgb

GAP, LINE = 10, 2
"""Columns between the pictures, and columns of the line in the middle of them."""


def join(left: Pixels, right: Pixels) -> Pixels:
    """Place two pictures side by side on white: RGB of shape (height of the higher, both widths and `GAP`, 3).

    Pictures are as for `pairs.compose`. Neither is resized; the lower one has white below it.

    >>> black = np.zeros((2, 3, 3), np.uint8)
    >>> join(black, black[:1])[1, :, 0].tolist()
    [0, 0, 0, 255, 255, 255, 255, 0, 0, 255, 255, 255, 255, 255, 255, 255]
    """
    left, right = rgb(left), rgb(right)
    height, start = max(len(left), len(right)), left.shape[1] + GAP
    pair = np.full((height, start + right.shape[1], 3), 255, np.uint8)
    pair[: len(left), : left.shape[1]] = left
    pair[: len(right), start:] = right
    line = left.shape[1] + (GAP - LINE) // 2
    pair[:, line : line + LINE] = 0
    return pair


JOINED = Composition("joined-1", join)
"""For `PairSource`. Change the name when what is composed changes."""
