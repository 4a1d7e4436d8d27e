"""Pictures that came are checked before anybody believes them: from their bytes, within bounds."""

import io
from dataclasses import dataclass

import PIL.Image

from facevalue.errors import DataError
from facevalue.stimuli.images import FORMATS, MAX_BYTES, read_header
from facevalue.stimuli.pixels import picture_on_white
from facevalue.types import Image

_DARK = 2
"""Brightest value of a channel, of 255, in a picture that counts as black: JPEG does not keep a 0."""
_BLACK_BYTES = 0.05
"""Bytes a pixel above which no picture is black alone: one of noise in black has twice as many."""


@dataclass(frozen=True, slots=True)
class CheckedPicture:
    """A picture that is one.

    Attributes
    ----------
    image:
        Its bytes as they came, with the kind that these tell.
    width, height:
        In pixels.
    black:
        Whether all of it is black: what generators give in place of a picture that a filter stopped.
    stated:
        The kind that it was said to be, where that is another one; else empty.
    """

    image: Image
    width: int
    height: int
    black: bool = False
    stated: str = ""


def checked_picture(image: object, name: str = "The picture") -> CheckedPicture:
    """Look at a picture that a generator gave: its header before anything is decoded, then whether it is whole.

    `name`: what it is called in messages.

    Raises
    ------
    DataError
        It is no picture or several, breaks off, has too many bytes (`stimuli.images.MAX_BYTES`) or pixels
        (`MAX_PIXELS`).

    Examples
    --------
    >>> checked_picture(Image(b"<html>", "image/png"))
    Traceback (most recent call last):
    facevalue.errors.DataError: The picture: not a PNG, JPEG, WebP or GIF image that can be read.
    """
    if not isinstance(image, Image) or not isinstance(image.data, bytes):
        raise DataError(f"{name}: it is of type {type(image).__name__}, not an Image with bytes.")
    if len(image.data) > MAX_BYTES:
        raise DataError(f"{name}: {len(image.data) / 1e6:.0f} MB; an image has at most {MAX_BYTES / 1e6:.0f}.")
    header = read_header(image.data, name)
    if header.media_type != "image/jpeg" and _moves(image.data):
        raise DataError(f"{name}: several pictures, one after the other, of which nobody knows which a model is shown.")
    stated = image.media_type if isinstance(image.media_type, str) and image.media_type != header.media_type else ""
    size = header.width * header.height
    black = len(image.data) <= _BLACK_BYTES * size + 4_096 and _is_black(image.data, name)
    return CheckedPicture(
        Image(image.data, header.media_type), header.width, header.height, black, stated.partition(";")[0][:100]
    )


def _moves(data: bytes) -> bool:
    """Return whether a file is an animation; further frames are not decoded."""
    with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as picture:
        return bool(getattr(picture, "is_animated", False))


def _is_black(data: bytes, name: str) -> bool:
    extremes = picture_on_white(data, name).getextrema()
    return all(isinstance(band, tuple) and band[1] <= _DARK for band in extremes)
