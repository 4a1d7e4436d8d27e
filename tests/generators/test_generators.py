"""Generators by name, pictures that are looked at, FaceValue's drawings, pictures that exist."""

import io
import struct
import zlib
from pathlib import Path

import PIL.Image
import pytest

from facevalue.errors import DataError, FaceValueError, ModelError
from facevalue.generators.base import GeneratorOptions, PictureRequest
from facevalue.generators.picture_checks import checked_picture
from facevalue.generators.registry import checked_generator, load
from facevalue.types import Image, Status
from tests.generators.pictures import Maker, Squares, png


def encoded(kind: str, size: tuple[int, int] = (40, 30), colour: tuple[int, int, int] = (200, 10, 90)) -> bytes:
    """A picture of one colour."""
    data = io.BytesIO()
    PIL.Image.new("RGB", size, colour).save(data, kind)
    return data.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG file of a few bytes that says it has so many pixels."""

    def piece(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", head) + piece(b"IDAT", zlib.compress(b"0" * 99)) + piece(b"IEND", b"")


@pytest.mark.parametrize(("kind", "media_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp")])
def test_a_picture_is_told_from_its_bytes(kind: str, media_type: str) -> None:
    data = encoded(kind)
    checked = checked_picture(Image(data, "image/png"))
    assert (checked.image.media_type, checked.width, checked.height, checked.black) == (media_type, 40, 30, False)
    assert checked.image.data == data
    assert checked.stated == ("" if kind == "PNG" else "image/png")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_black_picture_is_told(kind: str) -> None:
    assert checked_picture(Image(encoded(kind, (512, 512), (0, 0, 0)), "")).black
    assert not checked_picture(Image(encoded(kind, (512, 512), (9, 9, 9)), "")).black


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not a PNG"),
        (b"<html>503</html>", "not a PNG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>", "not a PNG"),
        (encoded("JPEG")[:-2], "breaks off"),
        (encoded("JPEG", (300, 300))[:900], "breaks off|not a PNG"),
        (encoded("PNG")[:-9], "breaks off|not a PNG"),
        (encoded("WEBP")[:-20], "breaks off|not a PNG"),
        (bomb(32_000, 32_000), "more than 50 million|at most 50 million"),
        (bomb(8_000, 8_000), "8000 x 8000; an image has at most 50 million"),
        (bytes(25 * 10**6 + 1), "25 MB; an image has at most 25"),
    ],
)
def test_what_is_no_whole_picture_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(DataError, match=says):
        checked_picture(Image(data, "image/png"))


def test_drawings_are_made_by_what_they_show() -> None:
    generator = load("drawn", drawings=Squares())
    requests = [PictureRequest(at, "whatever", 1, factors={"image": name}) for at, name in enumerate(("f1", "f2"))]
    pictures = list(generator.generate(requests))
    assert [picture.image for picture in pictures] == [png("f1"), png("f2")]
    failed = next(iter(generator.generate([PictureRequest(0, "whatever", 1)])))
    assert failed.status is Status.ERROR


def test_pictures_that_exist_are_found_by_their_ids(tmp_path: Path) -> None:
    (tmp_path / "own" / "f1").mkdir(parents=True)
    (tmp_path / "own" / "f1" / "cap.jpg").write_bytes(encoded("JPEG"))
    (tmp_path / "own" / "f1.png").write_bytes(encoded("PNG"))
    (tmp_path / "else.png").write_bytes(encoded("PNG"))
    (tmp_path / "own" / "link.png").symlink_to(tmp_path / "else.png")
    generator = load(f"replay/{tmp_path / 'own'}")
    names = ("f1", "f1/cap", "f2", "../else", "link", str(tmp_path / "else"))
    requests = [PictureRequest(at, "", 1, factors={"image": name}) for at, name in enumerate(names)]
    pictures = list(generator.generate(requests))
    assert [picture.status for picture in pictures] == [Status.OK] * 2 + [Status.ERROR] * 4
    assert pictures[1].image == Image(encoded("JPEG"), "image/jpeg")
    assert "has no picture f2" in str(pictures[2].error)
    before = generator.settings()
    (tmp_path / "own" / "f2.png").write_bytes(encoded("PNG"))
    assert generator.settings() != before


@pytest.mark.parametrize(
    ("spec", "options", "says"),
    [
        ("drwan", GeneratorOptions(), "Unknown generator 'drwan'. Did you mean 'drawn'"),
        ("replay", GeneratorOptions(), "names no generator: write replay/PATH"),
        ("diffusers/", GeneratorOptions(), "names no generator: write diffusers/FOLDER_OR_ID"),
        ("replay/nowhere", GeneratorOptions(), "There is no folder nowhere"),
        ("drawn", GeneratorOptions(size=(9, 9)), "takes no settings and no size"),
        ("drawn", GeneratorOptions(settings={"steps": 2}), "takes no settings and no size"),
        ("sim/null", GeneratorOptions(settings={"steps": 2}), "takes no settings and no size"),
        ("drawn", GeneratorOptions(), "no drawings of what this study has made. Name another generator"),
    ],
)
def test_generators_that_there_are_not(spec: str, options: GeneratorOptions, says: str) -> None:
    with pytest.raises(FaceValueError, match=says):
        load(spec, options)


def test_what_lacks_a_member_is_no_generator() -> None:
    assert checked_generator(maker := Maker()) is maker
    with pytest.raises(ModelError, match="object has no name and no capabilities and no settings"):
        checked_generator(object())
    with pytest.raises(ModelError, match="is a class: pass an instance"):
        checked_generator(Maker)
    with pytest.raises(ModelError, match="The name of a generator is a text"):
        checked_generator(Maker(name="\x1b[31m"))
