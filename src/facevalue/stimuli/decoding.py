"""Decoded pictures: the one place where encoded pictures become pixels, the same for all that look at them."""

import io
from typing import TYPE_CHECKING

import numpy as np

from facevalue.errors import DataError
from facevalue.stimuli.images import FORMATS, read_header

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

_DEPTH = 24
"""Byte of a PNG file that holds its bits per channel."""


def open_picture(data: bytes, name: str) -> "Picture":
    """Return a picture as RGB, or as RGBA where it has alpha, with 8 bits a channel.

    It is upright as its EXIF says; of an animation it is the first frame.

    Raises
    ------
    DataError
        It is no picture, too large or damaged; `name` is what it is called in messages.
    """
    import PIL.Image  # noqa: PLC0415 - a study that is read opens no picture
    import PIL.ImageOps  # noqa: PLC0415

    read_header(data, name)
    try:
        with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image:
            return eight_bits(PIL.ImageOps.exif_transpose(image))
    except Exception as error:  # Pillow raises many kinds for damaged files
        raise DataError(f"{name}: the image is damaged ({type(error).__name__}).") from error


def picture_on_white(data: bytes, name: str) -> "Picture":
    """Return a picture as a model sees it: as RGB, transparency on white; errors as for `open_picture`."""
    return on_white(open_picture(data, name))


def on_white(image: "Picture") -> "Picture":
    """Return an RGB or RGBA picture as RGB, transparency on white."""
    import PIL.Image  # noqa: PLC0415

    if image.mode == "RGB":
        return image
    if image.getchannel("A").getextrema() == (255, 255):
        return image.convert("RGB")
    return PIL.Image.alpha_composite(PIL.Image.new("RGBA", image.size, "white"), image).convert("RGB")


def eight_bits(image: "Picture") -> "Picture":
    """Return a picture as RGB, or as RGBA where it has alpha, with 8 bits a channel."""
    if image.mode.startswith("I"):  # 16-bit grey, which Pillow would cut off at 255
        import PIL.Image  # noqa: PLC0415

        values, clear = np.asarray(image).clip(0, 2**16 - 1), image.info.get("transparency")
        grey = PIL.Image.fromarray((values >> 8).astype(np.uint8))
        if not isinstance(clear, int):
            return grey.convert("RGB")
        image = grey.convert("RGBA")
        image.putalpha(PIL.Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8)))
        return image
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def has_sixteen_bits(data: bytes) -> bool:
    """Return whether a file is a PNG with 16 bits a channel."""
    return data.startswith(b"\x89PNG\r\n\x1a\n") and data[_DEPTH : _DEPTH + 1] == b"\x10"
