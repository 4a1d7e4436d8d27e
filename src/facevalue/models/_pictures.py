"""Encoded images as pictures for models that run in this process."""

import io

import PIL.Image
import PIL.ImageOps

from facevalue.errors import DataError
from facevalue.stimuli.images import FORMATS, MAX_BYTES, read_header
from facevalue.types import Image


def picture(image: Image, name: str) -> PIL.Image.Image:
    """Decode an image: upright as its EXIF says, the first picture of several in a file, transparency on white.

    `image`: as it is stored. `name`: what it is called in messages.
    """
    if len(image.data) > MAX_BYTES:
        raise DataError(f"{name}: {len(image.data) / 1e6:.0f} MB; an image has at most {MAX_BYTES / 1e6:.0f}.")
    read_header(image.data, name)
    try:
        with PIL.Image.open(io.BytesIO(image.data), formats=FORMATS) as opened:
            upright = PIL.ImageOps.exif_transpose(opened)
            opaque = upright.mode == "RGBA" and upright.getchannel("A").getextrema() == (255, 255)
            if opaque or not upright.has_transparency_data:
                return upright.convert("RGB")
            paper = PIL.Image.new("RGBA", upright.size, "white")
            return PIL.Image.alpha_composite(paper, upright.convert("RGBA")).convert("RGB")
    except Exception as error:  # Pillow raises many kinds for damaged files
        raise DataError(f"{name}: damaged ({type(error).__name__}).") from error
