"""Padding of pictures that a processor would crop, so that they are shown whole.

CLIP's processor, which LLaVA-1.5 is published with, scales a picture to its shorter side and cuts out the middle. Of a
pair of people twice as wide as high it shows the inner halves of both and no more. LLaVA-1.5 was trained on pictures
padded to a square in the processor's mean colour (Liu et al. 2024, "Improved Baselines with Visual Instruction Tuning";
`image_aspect_ratio` "pad" in the published code), and here it is shown them so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from facevalue.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

Size = tuple[int, int]

NOTE = (
    "This model's processor cuts off the sides of pictures that aren't square: they are padded to a square in its mean "
    "colour first, so that all of a picture is shown."
)
"""What the user should know where `cuts` holds."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Position of a picture in the processor's input, which has the size `outer`."""

    outer: Size
    left: int = 0
    top: int = 0


def cuts(images: Any) -> bool:
    """Return whether an image processor would cut off the sides of a picture that is long enough.

    One that cuts a picture into tiles (LLaVA-NeXT) has the same settings and cuts nothing off; nor does one that pads.
    """
    return _crops(images) and "shortest_edge" in images.size and not _pads(images)


def scaled_size(images: Any, size: Size) -> Size:
    """Return the width and height that an image processor scales a picture to."""
    if not images.do_resize:
        return size
    short = images.size.get("shortest_edge")
    if not short:
        return int(images.size["width"]), int(images.size["height"])
    width, height = size
    long = int(short * max(size) / min(size))
    return (short, long) if width <= height else (long, short)


def frame(images: Any, size: Size) -> Frame:
    """Say how a picture is framed: in a square if the processor would cut something off or pads by itself.

    A `DataError` says that a part would be cut off even so, as the processor doesn't scale.

    >>> from types import SimpleNamespace
    >>> clip = SimpleNamespace(do_resize=True, size={"shortest_edge": 336}, do_center_crop=True,
    ...     crop_size={"height": 336, "width": 336})
    >>> frame(clip, (1024, 512))
    Frame(outer=(1024, 1024), left=0, top=256)
    """
    if not (_pads(images) or (_crops(images) and _is_cropped(images, size))):
        return Frame(size)
    if not (images.do_resize or _pads(images)):
        crop = images.crop_size
        raise DataError(
            f"The model's processor would show only the middle {crop['width']} x {crop['height']} pixels of a picture "
            f"of {size[0]} x {size[1]}: make it no larger than that."
        )
    side = max(size)
    return Frame((side, side), (side - size[0]) // 2, (side - size[1]) // 2)


def frame_pictures(images: Any, pictures: "Sequence[Image]") -> "list[Image]":
    """Return pictures as they are given to the image processor."""
    return [_pad_picture(images, picture) for picture in pictures]


def _pad_picture(images: Any, picture: "Image") -> "Image":
    placed = frame(images, picture.size)
    if placed == Frame(picture.size):
        return picture
    from PIL import Image  # noqa: PLC0415

    colour = tuple(int(255 * channel) for channel in images.image_mean or (0.0, 0.0, 0.0))
    paper = Image.new("RGB", placed.outer, colour)
    paper.paste(picture.convert("RGB"), (placed.left, placed.top))
    return paper


def _crops(images: Any) -> bool:
    """Return whether the middle is cut out of the whole picture."""
    crops = getattr(images, "do_center_crop", None) and getattr(images, "crop_size", None)
    return bool(crops) and not getattr(images, "image_grid_pinpoints", None)


def _is_cropped(images: Any, size: Size) -> bool:
    """Return whether a picture exceeds its crop, and by more than a square one of its longer side would."""

    def over(of: Size) -> int:
        wide, high = scaled_size(images, of)
        return max(0, wide - int(images.crop_size["width"]), high - int(images.crop_size["height"]))

    return over(size) > (over((max(size),) * 2) if images.do_resize else 0)


def _pads(images: Any) -> bool:
    """Return whether the processor pads to a square (that of LLaVA-1.5 does; others pad tiles, or rows of a batch)."""
    return bool(getattr(images, "do_pad", None)) and type(images).__name__.startswith("LlavaImageProcessor")
