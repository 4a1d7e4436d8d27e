"""Pictures as an inspector works on them, decoded once, and outputs of models that are kept by picture."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import PIL.Image
from scipy import ndimage

from facevalue.models._pictures import picture
from facevalue.stimuli.images import Kept, content_hash
from facevalue.stimuli.pixels import Floats, lab
from facevalue.types import Image

# What a picture alone tells of its quality: whether it is sharp, and whether there is anything in it.


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


SIDE = 256
"""Longer side of the view that colours, shifts and structure are taken from, in pixels."""
PLACES = 32
"""Places along each side, by whose mean colours a change is told."""
_SMALL = 32
_DETAIL = 512  # side of the part in the middle that sharpness is taken from


class Box(NamedTuple):
    """A box around a face, in shares of the picture's width and height."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """Width of the box, as a share of the picture's."""
        return self.right - self.left

    @property
    def middle(self) -> tuple[float, float]:
        """Middle of the box."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


@dataclass(frozen=True, eq=False)
class PictureView:
    """A picture, and a view of it at `SIDE`.

    Attributes
    ----------
    picture:
        Upright and on white, at its full size.
    media_type:
        Of its file.
    digest:
        Of its file's content.
    face:
        Box around its largest face, where faces are looked for.
    """

    picture: PIL.Image.Image
    media_type: str
    digest: str = ""
    face: Box | None = None

    @classmethod
    def decode_image(cls, image: Image, name: str) -> "PictureView":
        """Decode a file; a `DataError` if that cannot be done."""
        return cls(picture(image, name), image.media_type, content_hash(image.data))

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Width and height of the view."""
        width, height = self.picture.size
        factor = SIDE / max(width, height)
        return max(round(width * factor), PLACES), max(round(height * factor), PLACES)

    def resize_picture(self, shape: tuple[int, int]) -> npt.NDArray[np.uint8]:
        """The picture at a width and a height: (height, width, 3) in sRGB."""
        if self.picture.size == shape:
            return np.asarray(self.picture)
        return np.asarray(self.picture.resize(shape, PIL.Image.Resampling.BILINEAR, reducing_gap=2.0))

    @cached_property
    def lab(self) -> Floats:
        """The view in CIELAB."""
        return lab(self.resize_picture(self.shape))

    @cached_property
    def small(self) -> npt.NDArray[np.uint8]:
        """A view of 32 by 32 shades of grey."""
        small = self.picture.resize((_SMALL, _SMALL), PIL.Image.Resampling.BOX, reducing_gap=2.0)
        return np.asarray(small.convert("L"))

    @cached_property
    def sharpness(self) -> float | None:
        """Sharpness of the middle at the picture's own size."""
        width, height = self.picture.size
        left, top = max(width - _DETAIL, 0) // 2, max(height - _DETAIL, 0) // 2
        crop = self.picture.crop((left, top, min(left + _DETAIL, width), min(top + _DETAIL, height)))
        return sharpness(np.asarray(crop.convert("L"), dtype=np.float32))


def place_means(values: Floats) -> Floats:
    """Means of (height, width, ...) over `PLACES` by `PLACES` places.

    Examples
    --------
    >>> place_means(np.ones((40, 64), dtype=np.float32)).shape
    (32, 32)
    """
    height, width = values.shape[:2]
    rows, columns = (np.arange(PLACES) * side // PLACES for side in (height, width))
    sums = np.add.reduceat(np.add.reduceat(values, rows, axis=0), columns, axis=1)
    counts = np.outer(np.diff(rows, append=height), np.diff(columns, append=width))
    means: Floats = (sums / counts.reshape(counts.shape + (1,) * (values.ndim - 2))).astype(np.float32)
    return means


def of_places(marks: npt.NDArray[np.bool_], shape: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Marks of places as marks of the pixels of a view, whose width and height are `shape`."""
    width, height = shape
    rows, columns = np.arange(height) * PLACES // height, np.arange(width) * PLACES // width
    return marks[np.ix_(rows, columns)]


V = TypeVar("V")
_MOST = 4096  # pictures


class PerPicture(Generic[V]):
    """Outputs of a model for pictures, each computed once as long as it is remembered."""

    def __init__(self, ask: Callable[[PictureView], V]) -> None:
        self._ask = ask
        self._outputs: Kept[str, tuple[V]] = Kept(_MOST)

    def __call__(self, view: PictureView) -> V:
        """Return the model's output for a picture."""
        output = self._outputs.get(view.digest)
        if output is None:
            output = (self._ask(view),)
            self._outputs.put(view.digest, output, 1)
        return output[0]
