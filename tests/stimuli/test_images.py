"""Image files as stimuli. The pictures are coloured squares."""

import io
import os
import warnings
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli import images as module
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.images import FileSource, media_type


def square(kind: str = "PNG", color: str = "red", size: tuple[int, int] = (8, 8)) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.new("RGB", size, color).save(buffer, kind)
    return buffer.getvalue()


def source(root: Path, **files: bytes | None) -> FileSource:
    for name, data in files.items():
        if data is not None:
            (root / f"{name}.png").write_bytes(data)
    return FileSource(pl.DataFrame({"image": list(files), "path": [f"{name}.png" for name in files]}), root)


def test_shows_the_bytes_as_they_are(tmp_path: Path) -> None:
    data = square("JPEG")
    shown: Source = source(tmp_path, x=data)
    stimulus = shown.stimulus(7, {"image": "x", "race": "B"})
    assert stimulus.key == "7"
    assert stimulus.factors == {"image": "x", "race": "B"}
    (image,) = stimulus.load()
    assert image.data == data
    assert image.media_type == "image/jpeg"
    assert shown.kind is Kind.UNSTATED
    shown.check({"image": ["x", "x"]})


@pytest.mark.parametrize(("kind", "expected"), [("PNG", "png"), ("JPEG", "jpeg"), ("WEBP", "webp"), ("GIF", "gif")])
def test_media_type_is_told_from_content(kind: str, expected: str) -> None:
    assert media_type(square(kind), "x.png") == f"image/{expected}"


@pytest.mark.parametrize("data", [b"", b"no image", square("BMP"), square()[:20], b"<svg/>", square("TIFF")])
def test_what_is_no_image(data: bytes) -> None:
    with pytest.raises(DataError, match=r"x.png: (not a PNG, JPEG, WebP or GIF|breaks off)"):
        media_type(data, "x.png")


def test_too_many_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    data = square(size=(20, 20))
    monkeypatch.setattr(module, "MAX_PIXELS", 399)
    with pytest.raises(DataError, match=r"20 x 20"):
        media_type(data, "x.png")


@pytest.mark.parametrize("side", [10_000, 20_000])
def test_a_decompression_bomb_is_not_unpacked(side: int) -> None:
    header = bytearray(square())
    header[16:24] = side.to_bytes(4, "big") * 2
    data = bytes(header)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DataError):
            media_type(data, "x.png")


def test_digest_follows_content(tmp_path: Path) -> None:
    shown = source(tmp_path, x=square(), y=square(), z=square(color="blue"))
    x, y, z = (shown.stimulus(0, {"image": name}).digest for name in "xyz")
    assert x == y != z
    (tmp_path / "x.png").write_bytes(square(color="green"))
    os.utime(tmp_path / "x.png", ns=(1, 1))
    assert shown.stimulus(0, {"image": "x"}).digest != x


def test_a_file_replaced_after_it_was_hashed_is_not_shown(tmp_path: Path) -> None:
    stimulus = source(tmp_path, x=square()).stimulus(0, {"image": "x"})
    (tmp_path / "x.png").write_bytes(square(color="blue"))
    with pytest.raises(DataError, match=r"was changed"):
        stimulus.load()


def test_check_names_five_offenders_and_counts_them(tmp_path: Path) -> None:
    files = {f"m{i}": None for i in range(6)} | {"bad": b"no", "good": square()}
    with pytest.raises(DataError) as caught:
        source(tmp_path, **files).check({"image": [*files, "unknown"]})
    message = str(caught.value)
    assert message.startswith("8 images cannot be shown: m0.png: missing")
    assert message.endswith("m4.png: missing or not readable; and 3 more.")
    with pytest.raises(DataError, match=r"bad.png: not a PNG.*; unknown: not in the manifest"):
        source(tmp_path, bad=b"no").check({"image": ["bad", "unknown"]})
    with pytest.raises(DataError, match=r"no column 'image'"):
        source(tmp_path, good=square()).check({})


def test_missing_and_unknown(tmp_path: Path) -> None:
    shown = source(tmp_path, x=None)
    with pytest.raises(DataError, match=r"x.png: missing"):
        shown.stimulus(0, {"image": "x"})
    with pytest.raises(UnknownNameError, match=r"'y'"):
        shown.stimulus(0, {"image": "y"})
    (tmp_path / "x.png").mkdir()
    with pytest.raises(DataError, match=r"is not a file"):
        shown.stimulus(0, {"image": "x"})


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    with pytest.raises(DataError, match=r"an image file has at most"):
        source(tmp_path, x=square()).stimulus(0, {"image": "x"})


def test_nothing_outside_the_root_is_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.png").write_bytes(square())
    (root / "link.png").symlink_to(tmp_path / "secret.png")
    (root / "inside.png").write_bytes(square())
    (root / "good.png").symlink_to(root / "inside.png")
    paths = ["../secret.png", str(tmp_path / "secret.png"), "link.png", "good.png"]
    shown = FileSource(pl.DataFrame({"image": ["1", "2", "3", "4"], "path": paths}), root, Kind.SYNTHETIC)
    for image in "123":
        with pytest.raises(DataError, match=r"leads out of the folder"):
            shown.stimulus(0, {"image": image})
    shown.check({"image": ["4"]})
    assert shown.kind is Kind.SYNTHETIC


def test_what_a_source_needs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"lacks the column 'path'"):
        FileSource(pl.DataFrame({"image": ["x"]}), tmp_path)
    with pytest.raises(DataError, match=r"no folder|not a folder"):
        FileSource(pl.DataFrame({"image": ["x"], "path": ["x.png"]}), tmp_path / "none").check({"image": ["x"]})


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.99])
def test_a_truncated_image_is_found_whatever_its_format(kind: str, share: float) -> None:
    out = io.BytesIO()
    colours = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    PIL.Image.fromarray(colours).save(out, kind)
    media_type(out.getvalue(), "x")
    with pytest.raises(DataError, match=r"x: (breaks off|not a PNG)"):
        media_type(out.getvalue()[: int(len(out.getvalue()) * share)], "x")


def test_a_whole_image_with_something_behind_it_is_shown() -> None:
    assert media_type(square("JPEG") + b"\xff\xda behind", "x") == "image/jpeg"
