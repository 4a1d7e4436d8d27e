"""Pictures of one person each, from which pairs are made."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.decoding import open_picture
from facevalue.stimuli.images import Kept, image_files, read_header
from facevalue.stimuli.pairs import HEIGHT, MAX_SIDE, Pixels, check_shape, rgb, scaled_size

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

KEPT_BYTES = 256 * 2**20
"""Most memory for decoded pictures."""


class Individuals(Protocol):
    """Pictures of one person each, by name."""

    @property
    def kind(self) -> Kind:
        """Kind of the source's pictures."""
        ...

    def digest(self, picture: str) -> str:
        """Return a hash of the content of a picture, known without decoding or drawing it where that is possible."""
        ...

    def pixels(self, picture: str) -> Pixels:
        """Return a picture as RGB of shape (height, width, 3), not to be written to."""
        ...

    def check(self, pictures: Sequence[str]) -> None:
        """Look at pictures before they are shown; a `DataError` names those that are missing or unreadable."""
        ...


class _Decoded:
    """Pictures that are decoded where they are first looked at, and kept in memory as far as there is room."""

    def __init__(self, height: int | None) -> None:
        self._height = height
        self._kept: Kept[str, Pixels] = Kept(KEPT_BYTES)

    def _decode(self, digest: str, name: str, data: Callable[[], bytes]) -> Pixels:
        pixels = self._kept.get(digest)
        if pixels is None:
            pixels = decode(data(), name, self._height)
            pixels.flags.writeable = False
            self._kept.put(digest, pixels, pixels.nbytes)
        return pixels


class FileIndividuals(_Decoded):
    """Pictures of one person each in the files of a manifest with the columns `image` (unique id) and `path`.

    Unlike single images, which are shown as they are, these are decoded: turned as their EXIF orientation says, put on
    white where they have alpha, and scaled to `height` if they are higher (None: never). No path, and no link on it,
    may lead out of the root.
    """

    def __init__(
        self, manifest: pl.DataFrame, root: Path, kind: Kind = Kind.UNSTATED, height: int | None = HEIGHT
    ) -> None:
        super().__init__(height)
        self._files = image_files(manifest, root)
        self.kind = kind

    def digest(self, picture: str) -> str:
        """Return the hash of a file's bytes; that it is no image is not found."""
        return self._files.digest(self._files.name(picture))

    def pixels(self, picture: str) -> Pixels:
        """Return a picture as RGB of shape (height, width, 3)."""
        name = self._files.name(picture)
        digest = self._files.digest(name)
        return self._decode(digest, name, lambda: self._files.read_unchanged(name, digest))

    def check(self, pictures: Sequence[str]) -> None:
        """Look at pictures: they exist, their headers can be read, and their sizes are in bounds."""
        self._files.check(list(dict.fromkeys(pictures)), partial(_check, height=self._height))


class SourceIndividuals(_Decoded):
    """Pictures of one person each from any source, such as drawn portraits.

    `table` has a row per picture, with its unique name under `image` and the levels that the source needs. Pictures are
    decoded as `FileIndividuals` decodes files.
    """

    def __init__(self, source: Source, table: pl.DataFrame, height: int | None = HEIGHT) -> None:
        super().__init__(height)
        self._source = source
        self._rows = {str(row["image"]): row for row in table.iter_rows(named=True)}
        self.kind = source.kind

    def digest(self, picture: str) -> str:
        """Return the digest that the source gives the picture."""
        return self._source.stimulus(0, self._row(picture)).digest

    def pixels(self, picture: str) -> Pixels:
        """Return a picture as RGB of shape (height, width, 3)."""
        stimulus = self._source.stimulus(0, self._row(picture))
        return self._decode(stimulus.digest, picture, lambda: stimulus.load()[0].data)

    def check(self, pictures: Sequence[str]) -> None:
        """Let the source look at the pictures; an `UnknownNameError` for one that is not in the table."""
        rows = [self._row(picture) for picture in dict.fromkeys(pictures)]
        self._source.check({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})

    def _row(self, picture: str) -> Mapping[str, str | None]:
        if picture not in self._rows:
            raise UnknownNameError("image", picture, self._rows)
        return self._rows[picture]


def decode(data: bytes, name: str, height: int | None = HEIGHT) -> Pixels:
    """Decode a picture for a pair: RGB of shape (height, width, 3), upright, on white, no higher than `height`."""
    _check(data, name, height)
    return rgb(np.array(_small(open_picture(data, name), height)))


def _check(data: bytes, name: str, height: int | None) -> None:
    _, wide, high = read_header(data, name)
    check_shape(wide, high, name)
    if height is None and max(wide, high) > MAX_SIDE:
        msg = f"{name} is {wide:,} x {high:,} pixels; one that is not resized has at most {MAX_SIDE:,} a side."
        raise DataError(msg)


def _small(image: "Picture", height: int | None) -> "Picture":
    """Return a picture that is no higher than `height`."""
    if height is None or image.height <= height:
        return image
    import PIL.Image  # noqa: PLC0415

    # Scaled before alpha is put on white, as a picture of 50 million pixels is better not copied more than needed.
    return image.resize(scaled_size(image.width, image.height, height), PIL.Image.Resampling.BICUBIC)
