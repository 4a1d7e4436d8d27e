"""Pictures from strangers: files that claim, hide or unfold more than they are, checked without decoding them."""

import io
import struct
import time
import tracemalloc
import zlib
from collections.abc import Callable

import PIL.Image
import pytest

from facevalue.errors import DataError
from facevalue.generators.picture_checks import checked_picture
from facevalue.types import Image


def noise(size: tuple[int, int] = (64, 48)) -> PIL.Image.Image:
    return PIL.Image.effect_noise(size, 50).convert("RGB")


def saved(kind: str, image: PIL.Image.Image | None = None, **options: object) -> bytes:
    file = io.BytesIO()
    (image or noise()).save(file, kind, **options)
    return file.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG with further chunks before its pixels."""
    data = saved("PNG")
    return data[:33] + b"".join(chunk(kind, content) for kind, content in chunks) + data[33:]


def blank(count: int) -> bytes:
    """So many zeros, packed."""
    return zlib.compress(bytes(count), 9)


def several(kind: str) -> bytes:
    """A file of three pictures that follow each other in time."""
    return saved(kind, noise(), save_all=True, append_images=[noise(), noise()])


def claiming(width: int, height: int) -> bytes:
    """A JPEG that claims another size."""
    data = bytearray(saved("JPEG"))
    place = data.find(b"\xff\xc0") + 5
    data[place : place + 4] = struct.pack(">HH", height, width)
    return bytes(data)


NO_PICTURE = "not a PNG, JPEG, WebP or GIF image that can be read"
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", NO_PICTURE),
    "SVG": (lambda: b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>", NO_PICTURE),
    "PDF": (lambda: b"%PDF-1.7\n", NO_PICTURE),
    "EPS": (lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", NO_PICTURE),
    "TIFF": (lambda: saved("TIFF"), NO_PICTURE),
    "BMP": (lambda: saved("BMP"), NO_PICTURE),
    "ICO": (lambda: saved("ICO"), NO_PICTURE),
    "half a PNG": (lambda: saved("PNG")[:2000], "breaks off"),
    "half a JPEG": (lambda: saved("JPEG")[:700], "breaks off"),
    "half a WebP": (lambda: saved("WEBP")[:300], NO_PICTURE),
    "a gigabyte of text": (lambda: png((b"zTXt", b"k\0\0" + blank(10**9))), NO_PICTURE),
    "text in a hundred chunks": (
        lambda: png(*[(b"zTXt", b"k%d\0\0" % n + blank(10**6)) for n in range(100)]),
        NO_PICTURE,
    ),
    "XMP of 100 MB": (lambda: png((b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + blank(10**8))), NO_PICTURE),
    "a colour profile of 100 MB": (lambda: png((b"iCCP", b"icc\0\0" + blank(10**8))), NO_PICTURE),
    "a JPEG of 4 billion pixels": (lambda: claiming(65_535, 65_535), "more than 50 million pixels"),
    "a JPEG of 64 million pixels": (lambda: claiming(8_000, 8_000), "at most 50 million pixels"),
    "a moving GIF": (lambda: several("GIF"), "several pictures"),
    "a moving WebP": (lambda: several("WEBP"), "several pictures"),
    "a moving PNG": (lambda: several("PNG"), "several pictures"),
    "too many bytes": (lambda: saved("PNG") + bytes(25 * 10**6), "MB; an image has at most 25"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_picture_or_more_than_one_is_refused_within_bounds(name: str) -> None:
    make, problem = REFUSED[name]
    data = make()
    started = time.monotonic()
    tracemalloc.start()
    with pytest.raises(DataError) as caught:
        checked_picture(Image(data, "image/png"), "f1/cap")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem in str(caught.value)
    assert str(caught.value).startswith("f1/cap: ")
    assert peak < 100 * 2**20
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "data",
    [
        saved("PNG") + b"PK\x03\x04 a zip",
        saved("JPEG") + b"<script>alert(1)</script>",
        saved("GIF"),
        png((b"tEXt", b"parameters\0" + b"a" * 10**6), (b"caBX", b"C2PA" * 10**5)),
        png((b"eXIf", b"MM\0*\0\0\0\x08" + b"\xff" * 10**6)),
    ],
    ids=["a PNG and a ZIP", "a JPEG and HTML", "a GIF that stands still", "text and C2PA", "broken EXIF"],
)
def test_what_is_besides_a_picture_is_kept_with_it_as_it_came(data: bytes) -> None:
    assert checked_picture(Image(data, "image/png")).image.data == data
