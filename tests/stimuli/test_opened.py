"""Decoded pictures: the same pixels for whoever looks at them, whatever the form of the file."""

import io
from typing import Any

import numpy as np
import PIL.Image
import pytest

from facevalue.errors import DataError
from facevalue.models._pictures import picture
from facevalue.report.blocks.content import smaller
from facevalue.stimuli.captions import Caption
from facevalue.stimuli.pairs import decode
from facevalue.stimuli.pixels import picture_on_white
from facevalue.types import Image

SIZE = (64, 48)
RAMP = np.tile(np.linspace(0, 255, SIZE[0]).astype(np.uint8), (SIZE[1], 1))
GREY = PIL.Image.fromarray(RAMP)


def encoded(image: PIL.Image.Image, kind: str = "PNG", **more: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **more)
    return out.getvalue()


def sixteen_bit_rgb() -> bytes:
    """A PNG with 16 bits of each of three channels, which Pillow does not write."""
    import struct
    import zlib

    rows = b"".join(b"\0" + np.repeat(row.astype(">u2") * 257, 3).astype(">u2").tobytes() for row in RAMP)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", *SIZE, 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def turned() -> bytes:
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    return encoded(GREY.convert("RGB").transpose(PIL.Image.Transpose.ROTATE_90), exif=exif)


def in_palette() -> bytes:
    palette = GREY.convert("P", palette=PIL.Image.Palette.ADAPTIVE, colors=256)
    return encoded(palette, transparency=bytes([255] * 256))


FORMS = {
    "8-bit grey": encoded(GREY),
    "16-bit grey": encoded(PIL.Image.fromarray(RAMP.astype(np.uint16) * 257)),
    "16-bit RGB": sixteen_bit_rgb(),
    "grey with alpha": encoded(GREY.convert("LA")),
    "RGBA": encoded(GREY.convert("RGBA")),
    "CMYK": encoded(GREY.convert("RGB").convert("CMYK"), "JPEG", quality=95),
    "palette with transparency": in_palette(),
    "turned by EXIF": turned(),
    "animation": encoded(GREY, "GIF", save_all=True, append_images=[PIL.Image.new("L", SIZE, 9)]),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_who_look_see_the_same_grey(form: str) -> None:
    data = FORMS[form]
    wanted = np.repeat(RAMP[:, :, None], 3, axis=2).astype(int)
    close = 4 if form == "CMYK" else 2
    seen = {
        "a local model": np.asarray(picture(Image(data, "image/png"), "x")),
        "a pair": decode(data, "x", None),
        "a caption": Caption("A person.").write_below(data)[: SIZE[1], :, :3],
    }
    for who, pixels in seen.items():
        assert pixels.shape == wanted.shape, who
        assert np.abs(pixels.astype(int) - wanted).max() <= close, who
    thumbnail = smaller(data)
    assert thumbnail is not None
    page = np.asarray(PIL.Image.open(io.BytesIO(thumbnail)).convert("L")).astype(int)
    assert np.abs(page - RAMP).mean() < 6


def test_what_is_transparent_is_white() -> None:
    half = np.where(np.arange(SIZE[0]) < 32, 0, 255).astype(np.uint8)
    image = GREY.convert("RGBA")
    image.putalpha(PIL.Image.fromarray(np.tile(half, (SIZE[1], 1))))
    assert (np.asarray(picture_on_white(encoded(image), "x"))[:, :32] == 255).all()
    deep = PIL.Image.fromarray(np.where(np.arange(SIZE[0]) < 32, 5, 40_000).astype(np.uint16)[None, :].repeat(48, 0))
    pixels = np.asarray(picture_on_white(encoded(deep, transparency=5), "x"))
    assert (pixels[0, 0, 0], pixels[0, 63, 0]) == (255, 40_000 >> 8)


def test_what_is_damaged_is_one_sentence() -> None:
    with pytest.raises(DataError, match="breaks off"):
        picture_on_white(FORMS["8-bit grey"][:-30], "x")
