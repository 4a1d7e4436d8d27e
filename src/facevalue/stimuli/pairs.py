"""Pairs of pictures as one, side by side: composed of pictures of one person each, when they are looked at.

The paper places two pictures next to each other in one image and blurs the boundary lightly, "to simulate a unified
visual scene with two distinct contexts" (VIGNETTE, section 3 and appendix, "Paired Images"). Here nothing overlaps:
each picture keeps all of its columns, and only a narrow band at the seam is smoothed. (The authors' code lets the
pictures overlap by 50 columns and fades one into the other.) All arithmetic is on whole numbers, so that the same two
pictures give the same array on every machine.

"Horizontally splicing them together in pairs" (ModSCAN, section 4) is all that the paper says. The released code places
pictures at the top, resizes nothing and leaves 10 pixels between them for a line 2 wide. (Its ground is white below the
pictures only, so that all 10 columns come out black; here the ground is white, with the line in the middle.)
"""

import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import mix, mix_one
from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind, Source, factors_of
from facevalue.stimuli.images import FileSource, Kept, content_hash, image_files, read_header
from facevalue.stimuli.pixels import open_picture, picture_on_white
from facevalue.types import Image, Stimulus

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


COMPOSER = "pair-1"
"""Version of what `compose` and `encode` do; part of every pair's digest. Change it when their output changes."""

HEIGHT = 512
"""Height of a pair in pixels."""
SEAM = 6
"""Columns on each side of the seam that are smoothed."""
MAX_SEAM = 64
MAX_ASPECT = 4.0
"""Most times a picture may be wider than high, or higher than wide: the person would be tiny beside the other."""
MIN_SIDE, MAX_SIDE = 16, 4_096
"""Bounds of the sides of a picture that is made, in pixels."""
QUALITY = 90
"""JPEG quality of pairs."""

_LEFT = np.uint64(0x9B1A5C3D70F2E846)  # a word of its own, so that sides do not follow other draws from the same seed

Pixels = npt.NDArray[np.uint8]


class Composition(NamedTuple):
    """A way to make one picture of two."""

    name: str
    """With its version: part of every pair's digest."""
    compose: Callable[[Pixels, Pixels], Pixels]
    """From the left and the right picture to RGB of shape (height, width, 3)."""


def side_by_side(size: tuple[int, int] | None = None) -> Composition:
    """Compose at one height, the seam lightly blurred, and squeeze to a size if there is one."""
    if size is None:
        return Composition(COMPOSER, compose)
    return Composition(f"{COMPOSER} {size[0]} x {size[1]}", partial(compose, size=checked_size(size)))


def compose(
    left: Pixels, right: Pixels, height: int = HEIGHT, seam: int = SEAM, *, size: tuple[int, int] | None = None
) -> Pixels:
    """Place two pictures side by side: RGB of shape (height, width of left + width of right, 3), or squeezed to a size.

    A picture is (height, width), grey, or (height, width, channels) with 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGB,
    alpha); alpha is put on white. One of another height is scaled (bicubic), its shape kept. So many columns on each
    side of the seam are smoothed, with weights that fall linearly over as many neighbours; 0 is a hard edge. (672, 336)
    is the size, width and height, that the authors' code shows.

    >>> black, white = np.zeros((64, 32, 3), np.uint8), np.full((128, 64, 3), 255, np.uint8)
    >>> pair = compose(black, white, height=64, seam=1)
    >>> pair.shape, pair[0, 29:35, 0].tolist()
    ((64, 64, 3), [0, 0, 64, 191, 255, 255])
    """
    _check_side("height", height)
    if not 0 <= seam <= MAX_SEAM:
        raise DataError(f"The seam can be 0 to {MAX_SEAM} pixels wide, not {seam}.")
    halves = [scale_to_height(rgb(left), height), scale_to_height(rgb(right), height)]
    middle = halves[0].shape[1]
    pair = np.empty((height, middle + halves[1].shape[1], 3), np.uint8)
    pair[:, :middle] = halves[0]
    pair[:, middle:] = halves[1]
    _smooth(pair, middle, min(seam, middle, halves[1].shape[1]))
    return pair if size is None else _resize(pair, checked_size(size))


def encode(pair: Pixels) -> bytes:
    """Return RGB of shape (height, width, 3) as JPEG: quality 90, colour at half resolution, no metadata."""
    import PIL.Image  # noqa: PLC0415 - a study that is read opens no picture

    buffer = io.BytesIO()
    PIL.Image.fromarray(pair).save(buffer, "JPEG", quality=QUALITY, subsampling="4:2:0")
    return buffer.getvalue()


def left_first(numbers: npt.ArrayLike, seed: int) -> npt.NDArray[np.bool_]:
    """Return whether option 1 is the left half, for stimuli by number.

    A hash of the number and the seed decides, so that half of the stimuli have it on the left, neighbours know nothing
    of each other, and any part of a design can be answered on its own.
    """
    words = np.asarray(numbers).astype(np.uint64)
    with np.errstate(over="ignore"):
        key = mix(np.array([seed & (2**64 - 1)], np.uint64) ^ _LEFT)
        return (mix(mix(words) ^ key) >> np.uint64(63)).astype(bool)


def first_is_left(number: int, seed: int) -> bool:
    """Return `left_first` of one stimulus.

    >>> [first_is_left(number, 3) for number in range(4)] == left_first(range(4), 3).tolist()
    True
    """
    return bool(mix_one(mix_one(number) ^ _side_key(seed)) >> 63)


@lru_cache(maxsize=64)
def _side_key(seed: int) -> int:
    return mix_one((seed & (2**64 - 1)) ^ int(_LEFT))


def rgb(picture: Pixels) -> Pixels:
    """Return a picture as (height, width, 3): grey becomes RGB, alpha is put on white."""
    if (
        picture.dtype != np.uint8
        or picture.ndim not in (2, 3)
        or (picture.ndim == 3 and not 1 <= picture.shape[2] <= 4)
    ):
        msg = f"A picture is an array of bytes with 1 to 4 channels, not {picture.dtype} of shape {picture.shape}."
        raise DataError(msg)
    check_shape(picture.shape[1], picture.shape[0], "A picture")
    if picture.ndim == 2:
        picture = picture[:, :, None]
    channels = picture.shape[2]
    if channels in (2, 4):
        color, alpha = picture[:, :, :-1].astype(np.uint16), picture[:, :, -1:].astype(np.uint16)
        picture = ((color * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)
    return picture if picture.shape[2] == 3 else np.repeat(picture, 3, axis=2)


def scale_to_height(picture: Pixels, height: int) -> Pixels:
    """Return RGB at another height, its shape kept; the same array if it has that height."""
    if picture.shape[0] == height:
        return picture
    # Bicubic: its weights are polynomials, which come out alike everywhere; Lanczos' are sines, which need not.
    return _resize(picture, scaled_size(picture.shape[1], picture.shape[0], height))


def scaled_size(width: int, height: int, target: int) -> tuple[int, int]:
    """Return the width and height of a picture that is scaled to the wanted height."""
    return max(1, (2 * width * target + height) // (2 * height)), target


def check_shape(width: int, height: int, name: str) -> None:
    """Raise a `DataError` that begins with `name` if a picture is empty, or too wide or too tall for a pair."""
    if not width or not height:
        raise DataError(f"{name} has no pixels.")
    if max(width / height, height / width) > MAX_ASPECT:
        msg = f"{name} is {width} x {height} pixels; one of a pair is at most {MAX_ASPECT:.0f} times as long as broad."
        raise DataError(msg)


def checked_size(size: tuple[int, int]) -> tuple[int, int]:
    """Return a width and height that a pair may be squeezed to, if they are in bounds."""
    _check_side("width", size[0])
    _check_side("height", size[1])
    return size


def _check_side(name: str, value: int) -> None:
    if not MIN_SIDE <= value <= MAX_SIDE:
        raise DataError(f"The {name} of a pair can be {MIN_SIDE} to {MAX_SIDE:,} pixels, not {value:,}.")


def _resize(picture: Pixels, size: tuple[int, int]) -> Pixels:
    import PIL.Image  # noqa: PLC0415 - a study that is read opens no picture

    return np.asarray(PIL.Image.fromarray(picture).resize(size, PIL.Image.Resampling.BICUBIC))


def _smooth(pair: Pixels, middle: int, radius: int) -> None:
    if radius == 0:
        return
    inside = np.arange(middle - radius, middle + radius)
    around = np.arange(middle - 2 * radius, middle + 2 * radius)
    weights = np.maximum(radius + 1 - np.abs(around[:, None] - inside[None, :]), 0).astype(np.float32)
    band = pair[:, np.clip(around, 0, pair.shape[1] - 1)].transpose(0, 2, 1).astype(np.float32)
    # One matrix product. All its sums are whole numbers below 2^24, so that float32 holds them exactly in any order.
    total = (band.reshape(-1, around.size) @ weights).astype(np.uint32)
    weight = (radius + 1) ** 2
    smooth = ((total + weight // 2) // weight).astype(np.uint8)
    pair[:, middle - radius : middle + radius] = smooth.reshape(len(pair), 3, -1).transpose(0, 2, 1)


# Pairs as ModSCAN's authors compose them: two pictures as they are, with a black line between them.


GAP, LINE = 10, 2
"""Columns between the pictures, and columns of the line in the middle of them."""


def join_with_line(left: Pixels, right: Pixels) -> Pixels:
    """Place two pictures side by side on white: RGB of shape (height of the higher, both widths and `GAP`, 3).

    Pictures are as for `pairs.compose`. Neither is resized; the lower one has white below it.

    >>> black = np.zeros((2, 3, 3), np.uint8)
    >>> join_with_line(black, black[:1])[1, :, 0].tolist()
    [0, 0, 0, 255, 255, 255, 255, 0, 0, 255, 255, 255, 255, 255, 255, 255]
    """
    left, right = rgb(left), rgb(right)
    height, start = max(len(left), len(right)), left.shape[1] + GAP
    pair = np.full((height, start + right.shape[1], 3), 255, np.uint8)
    pair[: len(left), : left.shape[1]] = left
    pair[: len(right), start:] = right
    line = left.shape[1] + (GAP - LINE) // 2
    pair[:, line : line + LINE] = 0
    return pair


JOINED = Composition("joined-1", join_with_line)
"""For `PairSource`. Change the name when what is composed changes."""


KEPT_BYTES_OF_INDIVIDUALS = 256 * 2**20
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
        self._kept: Kept[str, Pixels] = Kept(KEPT_BYTES_OF_INDIVIDUALS)

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


KEPT_BYTES_OF_PAIRS = 32 * 2**20
"""Most memory for composed pairs."""
TEXT = "text"
"""Level of the factor `shown` that means that there is no picture; the digest of a stimulus without one."""

Pictures = Callable[[Mapping[str, str | None]], tuple[str, str]]
"""Names the picture of option 1 and that of option 2 from a stimulus' levels."""


class PairSource:
    """Shows two people in one picture: `side_by_side`, squeezed to a size if there is one, or in another composition.

    `pictures` names that of option 1, then that of option 2, from a stimulus' levels; `sides` is the seed of the side
    that option 1 is on (`left_first`); None: always the left. Where a stimulus has the level "text" of a factor
    `shown`, no picture is shown and none is looked for.
    """

    def __init__(
        self,
        individuals: Individuals,
        pictures: Pictures,
        sides: int | None,
        size: tuple[int, int] | None = None,
        composition: Composition | None = None,
    ) -> None:
        self._individuals = individuals
        self._pictures = pictures
        self._sides = sides
        self._composition = composition or side_by_side(size)
        self._kept: Kept[str, bytes] = Kept(KEPT_BYTES_OF_PAIRS)
        self._checked: set[str] = set()

    @property
    def kind(self) -> Kind:
        """Kind of pictures that the pairs are made of."""
        return self._individuals.kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the pair with these levels, its sides by its number; nothing is decoded before it is looked at."""
        if levels.get("shown") == TEXT:
            return _without_picture(number, levels)
        left, right = self._pictures(levels)
        if self._sides is not None and not first_is_left(int(number), self._sides):
            left, right = right, left
        digests = self._individuals.digest(left), self._individuals.digest(right)
        # Left before right: the side of option 1 is part of the digest.
        digest_lines = f"{self._composition.name}\n{digests[0]}\n{digests[1]}".encode()
        digest = hashlib.blake2b(digest_lines, digest_size=16).hexdigest()
        return Stimulus(str(number), digest, factors_of(levels), partial(self._load, (left, right), digests, digest), 1)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that is shown, once however many pairs it is in; or at those named by `image`."""
        if "image" in levels:
            self._individuals.check([str(image) for image in levels["image"]])
            return
        names = list(levels)
        pictures: dict[str, None] = {}
        for values in zip(*levels.values(), strict=True):
            row = dict(zip(names, values, strict=True))
            if row.get("shown") != TEXT:
                pictures.update(dict.fromkeys(self._pictures(row)))
        new = [picture for picture in pictures if picture not in self._checked]
        if new:
            self._individuals.check(new)
            self._checked.update(new)

    def _load(self, pictures: tuple[str, str], digests: tuple[str, str], digest: str) -> tuple[Image, ...]:
        data = self._kept.get(digest)
        if data is None:
            left, right = (self._individuals.pixels(picture) for picture in pictures)
            for picture, expected in zip(pictures, digests, strict=True):
                if self._individuals.digest(picture) != expected:
                    raise DataError(f"{picture}: was changed while the run was going on. Start the command again.")
            data = encode(self._composition.compose(left, right))
            self._kept.put(digest, data, len(data))
        return (Image(data, "image/jpeg"),)


class NoPicture:
    """Stimuli without a picture, for questions that name the people in words."""

    kind = Kind.UNSTATED

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return a stimulus that shows nothing; all have one digest."""
        return _without_picture(number, levels)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Do nothing: no picture can be missing."""


class ComposedPairs(FileSource):
    """Pairs in one file each, squeezed to a size if there is one; nothing is shown where no picture is wanted."""

    def __init__(self, manifest: pl.DataFrame, root: Path, kind: Kind, size: tuple[int, int] | None) -> None:
        super().__init__(manifest, root, kind)
        self._size = size

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the stimulus that shows the image `levels["image"]`."""
        if levels.get("shown") == TEXT:
            return _without_picture(number, levels)
        stimulus = super().stimulus(number, levels)
        if self._size is None:
            return stimulus
        digest = content_hash(f"{stimulus.digest} {self._size[0]} x {self._size[1]}".encode())
        return replace(stimulus, digest=digest, load=partial(_resize_picture, stimulus, self._size))


def _resize_picture(stimulus: Stimulus, size: tuple[int, int]) -> tuple[Image, ...]:
    """The picture of a stimulus in another size, as VIGNETTE's code resizes it (bilinear)."""
    import PIL.Image  # noqa: PLC0415 - a study that is read opens no picture

    (image,) = stimulus.load()
    small = picture_on_white(image.data, "a pair of pictures").resize(size, PIL.Image.Resampling.BILINEAR)
    return (Image(encode(np.asarray(small)), "image/jpeg"),)


def _without_picture(number: int, levels: Mapping[str, str | None]) -> Stimulus:
    return Stimulus(str(number), TEXT, factors_of(levels), tuple)
