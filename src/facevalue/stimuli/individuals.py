"""Pictures of one person each, from which pairs are made."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import PIL.Image
import PIL.ImageOps
import polars as pl

from facevalue.errors import DataError
from facevalue.stimuli.base import Kind
from facevalue.stimuli.images import FORMATS, ImageFiles, read_header
from facevalue.stimuli.kept import Kept
from facevalue.stimuli.pairs import HEIGHT, Pixels, check_shape, rgb, scaled_size

KEPT_BYTES = 256 * 2**20
"""Most memory for decoded pictures."""


class Individuals(Protocol):
    """Pictures of one person each, by name."""

    @property
    def kind(self) -> Kind:
        """What kind of pictures these are."""
        ...

    def digest(self, picture: str) -> str:
        """Return a hash of the content of a picture, known without decoding or drawing it where that is possible."""
        ...

    def pixels(self, picture: str) -> Pixels:
        """Return a picture as RGB of shape (height, width, 3), about 512 pixels high, not to be written to."""
        ...

    def check(self, pictures: Sequence[str]) -> None:
        """Look at pictures before they are shown; a `DataError` names those that are missing or unreadable."""
        ...


class FileIndividuals:
    """Pictures of one person each in the files of a manifest with the columns `image` (unique id) and `path`.

    Unlike single images, which are shown as they are, these are decoded: turned as their EXIF orientation says, put on
    white where they have alpha, and scaled to 512 pixels' height if they are higher. No path, and no link on it, may
    lead out of the root.
    """

    def __init__(self, manifest: pl.DataFrame, root: Path, kind: Kind = Kind.UNSTATED) -> None:
        self._files = ImageFiles(manifest, root)
        self._kind = kind
        self._kept: Kept[str, Pixels] = Kept(KEPT_BYTES)

    @property
    def kind(self) -> Kind:
        """What kind of pictures these are."""
        return self._kind

    def digest(self, picture: str) -> str:
        """Return the hash of a file's bytes; that it is no image is not found."""
        return self._files.digest(self._files.name(picture))

    def pixels(self, picture: str) -> Pixels:
        """Return a picture as RGB of shape (height, width, 3), at most 512 pixels high."""
        name = self._files.name(picture)
        digest = self._files.digest(name)
        pixels = self._kept.get(digest)
        if pixels is None:
            pixels = decode(self._files.unchanged(name, digest), name)
            pixels.flags.writeable = False
            self._kept.put(digest, pixels, pixels.nbytes)
        return pixels

    def check(self, pictures: Sequence[str]) -> None:
        """Look at pictures: they exist, their headers can be read, and their sizes are in bounds."""
        self._files.check(list(dict.fromkeys(pictures)), _check)


def decode(data: bytes, name: str) -> Pixels:
    """Decode a picture for a pair: RGB of shape (height, width, 3), upright, on white, at most 512 pixels high."""
    _check(data, name)
    try:
        with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image:
            pixels = np.array(_small(PIL.ImageOps.exif_transpose(image)))
    except Exception as error:  # Pillow raises many kinds for damaged files
        msg = f"{name}: the image is damaged."
        raise DataError(msg) from error
    return rgb(pixels)


def _check(data: bytes, name: str) -> None:
    _, width, height = read_header(data, name)
    check_shape(width, height, name)


def _small(image: PIL.Image.Image) -> PIL.Image.Image:
    """Return a picture with 8 bits a channel and at most 512 pixels high."""
    if image.mode.startswith("I"):  # 16-bit grey, which Pillow would cut off at 255
        image = PIL.Image.fromarray((np.asarray(image).clip(0, 2**16 - 1) >> 8).astype(np.uint8))
    image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    if image.height <= HEIGHT:
        return image
    # Scaled before alpha is put on white, as a picture of 50 million pixels is better not copied more than needed.
    return image.resize(scaled_size(image.width, image.height, HEIGHT), PIL.Image.Resampling.BICUBIC)
