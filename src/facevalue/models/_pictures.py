"""Encoded images as pictures for models that run in this process."""

import PIL.Image

from facevalue.errors import DataError
from facevalue.stimuli.images import MAX_BYTES
from facevalue.stimuli.opened import picture_on_white
from facevalue.types import Image


def picture(image: Image, name: str) -> PIL.Image.Image:
    """Decode an image: upright as its EXIF says, the first picture of several in a file, transparency on white.

    `image`: as it is stored. `name`: what it is called in messages.
    """
    if len(image.data) > MAX_BYTES:
        raise DataError(f"{name}: {len(image.data) / 1e6:.0f} MB; an image has at most {MAX_BYTES / 1e6:.0f}.")
    return picture_on_white(image.data, name)
