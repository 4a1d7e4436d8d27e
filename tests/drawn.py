"""Pictures as arrays, and where a person's skin is in them."""

import io
import re

import numpy as np
import numpy.typing as npt
from PIL import Image

from facevalue.stimuli.noto.artwork import SKIN, artwork_name, body, document
from facevalue.stimuli.portraits.shapes import png

PAINT = re.compile(r'(fill|stroke|stop-color)="(?!none|url)([^"]*)"')


def pixels(svg_text: str, size: int = 512) -> npt.NDArray[np.uint8]:
    """The picture as an array of shape (size, size, 3), red green blue."""
    with Image.open(io.BytesIO(png(svg_text, size))) as image:
        return np.asarray(image.convert("RGB"), dtype=np.uint8)


def skin_mask_svg(occupation: str, presentation: str) -> str:
    """A picture on black that is white wherever a change of tone may change the person."""
    person = body(artwork_name(occupation, presentation))
    inner = PAINT.sub(lambda found: f'{found[1]}="{"#ffffff" if found[2] in SKIN else "#000000"}"', person)
    return document(f'<rect width="128" height="128" fill="#000000"/>{inner}')
