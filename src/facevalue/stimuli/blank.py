"""Requests without their picture, or with a blank one in its place."""

import hashlib
import io
from functools import lru_cache, partial

import PIL.Image

from facevalue.errors import DataError
from facevalue.stimuli.images import read_header
from facevalue.types import Image, Stimulus

SIZE = 512
"""Width and height of a blank picture in place of one whose size cannot be told."""
MOST_SIDE = 4096
"""Largest side of a blank picture."""
NOTHING = "no picture"
"""Digest of a stimulus whose picture was taken away."""


WITHOUT = Stimulus("no picture", NOTHING, {}, tuple, 0)
"""A stimulus that shows nothing. It has no factors either: there is nothing to recognise them by."""


def blank_stimulus(plain: Stimulus) -> Stimulus:
    """The same stimulus with a white picture of the same size in place of each of its pictures.

    The plain picture is looked at only for its size, and only when the blank one is. The stimulus has no factors: there
    is nothing to recognise them by. One that shows nothing still shows nothing.
    """
    digest = hashlib.blake2b(f"blank\n{plain.digest}".encode(), digest_size=16).hexdigest()
    return Stimulus(f"blank {plain.key}", digest, {}, partial(_whites, plain))


def _whites(plain: Stimulus) -> tuple[Image, ...]:
    return tuple(Image(white(*_size(image)), "image/png") for image in plain.load())


def _size(image: Image) -> tuple[int, int]:
    try:
        header = read_header(image.data, "a picture")
    except DataError:
        return SIZE, SIZE
    return header.width, header.height


@lru_cache(maxsize=64)
def white(width: int, height: int) -> bytes:
    """A white PNG, its sides cut to `MOST_SIDE`."""
    buffer = io.BytesIO()
    size = min(width, MOST_SIDE), min(height, MOST_SIDE)
    PIL.Image.new("L", size, 255).convert("RGB").save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
