"""Text on a white band below a picture, which stays as it is to the pixel.

ModSCAN's VisDebiasing (section 7, Figure 10) writes an instruction below the picture instead of into the prompt: on a
band as high as a pair of faces, half as high as a scene. The released code draws it in a fixed size, which leaves the
picture where it is wide; here the letters are as large as the band allows.

Pictures that must stay as they are to the pixel are written without loss. What packs well (drawings, text, white) is
packed; the grain of a photograph, where deflate takes most of the time to save a third, is stored as it is.
"""

import hashlib
import io
import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import PIL.Image
import PIL.ImageOps
import resvg_py

from facevalue.errors import DataError
from facevalue.stimuli.forms import Lettering, source, tidy, width
from facevalue.stimuli.images import FORMATS, MAX_PIXELS, Kept
from facevalue.stimuli.pairs import MIN_SIDE, TEXT, Pixels
from facevalue.stimuli.pixels import NOTHING, open_picture
from facevalue.types import Image, Stimulus

# PNG files written several times as fast as by an image library.


_SUB = 1  # PNG's filter: each byte less that of the pixel to its left
_COLORS = {3: 2, 4: 6}  # PNG's numbers of RGB and RGBA, by channels
_STRIP = 64  # rows that are packed or stored together
_EVERY = 8  # row of a strip that is packed to see whether it is worth it
_WORTH = 0.4  # of the size, at most


def encode_png(pixels: Pixels) -> bytes:
    r"""Write RGB or RGBA of shape (height, width, 3 or 4).

    >>> encode_png(np.zeros((2, 3, 3), np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    height, width, channels = pixels.shape
    flat = np.ascontiguousarray(pixels).reshape(height, width * channels)
    rows = np.empty((height, 1 + width * channels), np.uint8)
    rows[:, 0] = _SUB
    rows[:, 1 : 1 + channels] = flat[:, :channels]
    np.subtract(flat[:, channels:], flat[:, :-channels], out=rows[:, 1 + channels :])
    strips = [rows[start : start + _STRIP] for start in range(0, height, _STRIP)]
    packed = b"".join(_deflate(strip, _level(strip), last=strip is strips[-1]) for strip in strips)
    data = b"\x78\x01" + packed + struct.pack(">I", zlib.adler32(rows.data))
    header = struct.pack(">IIBBBBB", width, height, 8, _COLORS[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _level(strip: npt.NDArray[np.uint8]) -> int:
    some = np.ascontiguousarray(strip[::_EVERY])
    return 1 if len(_deflate(some, 1, last=True)) < _WORTH * some.nbytes else 0


def _deflate(rows: npt.NDArray[np.uint8], level: int, *, last: bool) -> bytes:
    """Part of a deflate stream; only runs of a byte and its frequency are packed, the fastest there is."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)
    return packer.compress(rows.data) + packer.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(name)))


VERSION = "caption-1"
"""Part of every digest. Change it when a band comes out differently."""
WIDE = 1.5
"""From this width, in heights, a picture counts as two side by side: its band is as high as it is. Others' are half."""
LEAST = 29
"""The smallest letters, from the top of an "l" to the bottom of a "p", are this part of the width: over 1/32 of it."""
KEPT_BYTES = 32 * 2**20
"""Most memory for pictures with a caption."""

_ORIENTATION, _SIDEWAYS = 0x0112, 5  # tag of EXIF, and its first value that swaps width and height
_STYLE, _INK = "label", "#000000"
_LINE = 1.15  # from one base line to the next, in sizes
_TOP = 0.93  # of a line above its base line, in sizes: an accent on a capital
_MARGIN = 1 / 40  # at each side, in widths
_PIXELS = 10  # below this size letters cannot be read, however narrow the picture
_STEP = 1.02
_LARGEST = 1 / 10  # of the width: a short caption does not shout


class BandLayout(NamedTuple):
    """Layout of a caption on its band."""

    height: int
    """Of the band, in pixels."""
    size: float
    """Of the letters, in pixels."""
    lines: tuple[str, ...]
    """The text, line by line."""


class Caption:
    """Writer of one text below pictures.

    Raises
    ------
    DataError
        A letter of it cannot be drawn.
    """

    def __init__(self, text: str) -> None:
        self._paragraphs = tuple(tidy(line, _STYLE) for line in text.splitlines())
        parts_of_digest = "\n".join((VERSION, *self._paragraphs, source()))
        self._digest = hashlib.blake2b(parts_of_digest.encode(), digest_size=16).hexdigest()
        self._kept: Kept[str, bytes] = Kept(KEPT_BYTES)

    def layout(self, wide: int, high: int) -> BandLayout:
        """Return how it stands below a picture of this width and height."""
        return _layout(self._paragraphs, wide, high)

    def share_left(self, data: bytes) -> float:
        """Return which share of the height a picture has with the caption below it; errors as for `write_below`.

        Only the picture's header is read. Raises a `DataError` if it is no picture.
        """
        try:
            with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image:
                turned = image.getexif().get(_ORIENTATION, 1) >= _SIDEWAYS
                wide, high = image.size[::-1] if turned else image.size
        except Exception as error:  # Pillow raises many kinds for damaged files
            raise DataError("A picture is damaged: nobody knows how high it is.") from error
        return high / (high + self.layout(wide, high).height)

    def below(self, plain: Stimulus) -> Stimulus:
        """Return the same stimulus with the caption below each of its pictures, which are opened when looked at."""
        if plain.digest in (TEXT, NOTHING):
            raise DataError("A caption stands below a picture, and none is shown: ask only about what has a picture.")
        digest = hashlib.blake2b(f"{self._digest}\n{plain.digest}".encode(), digest_size=16).hexdigest()
        share = partial(self._share, plain)
        return replace(plain, digest=digest, load=partial(self._load, plain, digest), picture_share=share)

    def _share(self, plain: Stimulus) -> float:
        return self.share_left(plain.load()[0].data)

    def _load(self, plain: Stimulus, digest: str) -> tuple[Image, ...]:
        images = []
        for number, image in enumerate(plain.load()):
            name = f"{digest} {number}"
            data = self._kept.get(name)
            if data is None:
                data = encode_png(self.write_below(image.data))
                self._kept.put(name, data, len(data))
            images.append(Image(data, "image/png"))
        return tuple(images)

    def write_below(self, data: bytes) -> Pixels:
        """Return an encoded picture with the caption below it: RGB or, where it has alpha, RGBA.

        Raises
        ------
        DataError
            It is no picture, too narrow to be written below, or too large with its band.
        """
        picture = np.asarray(open_picture(data, "a picture that a caption is written below"))
        high, wide, channels = picture.shape
        band = _band(self._paragraphs, wide, high)
        out = np.full((high + len(band), wide, channels), 255, np.uint8)
        out[:high] = picture
        out[high:, :, :3] = band[:, :, None]
        return out


@lru_cache(maxsize=256)
def _layout(paragraphs: tuple[str, ...], wide: int, high: int) -> BandLayout:
    if wide < MIN_SIDE:
        raise DataError(f"A picture of {wide} x {high} pixels is too narrow for a caption.")
    room, margin = wide * (1 - 2 * _MARGIN), wide * _MARGIN
    full_height = high if wide >= WIDE * high else math.ceil(high / 2)
    size = smallest = max(wide / LEAST, _PIXELS)
    lines = tuple(_wrap_lines(paragraphs, smallest, room))
    larger = smallest * _STEP
    while larger <= max(smallest, wide * _LARGEST):
        tried = tuple(_wrap_lines(paragraphs, larger, room))
        if _height(tried, larger, margin) <= full_height:
            size, lines = larger, tried
        larger *= _STEP
    height = max(full_height, math.ceil(_height(lines, size, margin)))
    if wide * (high + height) > MAX_PIXELS:
        raise DataError(f"A picture of {wide:,} x {high:,} pixels is too large for a caption.")
    return BandLayout(height, size, lines)


def _height(lines: tuple[str, ...], size: float, margin: float) -> float:
    return len(lines) * _LINE * size + margin / 2


def _wrap_lines(paragraphs: tuple[str, ...], size: float, room: float) -> Iterator[str]:
    """Lines that are no wider than there is room; a word that alone is wider is broken between letters."""
    for paragraph in paragraphs:
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if width(longer, _STYLE, size) <= room:
                line = longer
                continue
            if line:
                yield line
            line = ""
            for letter in word:
                if line and width(line + letter, _STYLE, size) > room:
                    yield line
                    line = ""
                line += letter
        yield line


@lru_cache(maxsize=64)
def _band(paragraphs: tuple[str, ...], wide: int, high: int) -> Pixels:
    """The band below pictures of one size, as grey of shape (height, width)."""
    height, size, lines = _layout(paragraphs, wide, high)
    pen = Lettering()
    top = (height - len(lines) * _LINE * size) / 2 + _TOP * size
    written = [
        pen.write(line, wide * _MARGIN, top + at * _LINE * size, _STYLE, size, _INK) for at, line in enumerate(lines)
    ]
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {height}">{pen.outlines()}'
        f'<rect width="{wide}" height="{height}" fill="#ffffff"/>{"".join(written)}</svg>'
    )
    png = resvg_py.svg_to_bytes(svg_string=svg, width=wide, height=height, skip_system_fonts=True)
    with PIL.Image.open(io.BytesIO(png)) as image:
        band = np.array(image.convert("L"))
    band.flags.writeable = False
    return band
