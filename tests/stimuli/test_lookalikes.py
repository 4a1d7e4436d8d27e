"""Pictures that look the same: found among thousands, whatever their format and size; edits are told from copies."""

import io
from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageDraw
import polars as pl

from facevalue.stimuli.images import ImageFiles
from facevalue.stimuli.pixels import SIDE, facts_of, lookalikes
from facevalue.stimuli.portraits import ATTRIBUTES, Identity, png, svg


def scene(seed: int, size: tuple[int, int] = (200, 200)) -> PIL.Image.Image:
    rng = np.random.default_rng(seed)
    image = PIL.Image.new("RGB", (200, 200), tuple(int(c) for c in rng.integers(0, 256, 3)))
    draw = PIL.ImageDraw.Draw(image)
    for _ in range(12):
        x, y, w = (int(n) for n in rng.integers(0, 160, 3))
        draw.ellipse((x, y, x + w // 2 + 9, y + w // 2 + 9), fill=tuple(int(c) for c in rng.integers(0, 256, 3)))
    return image.resize(size)


def seen(folder: Path, **pictures: bytes) -> list[tuple[int, int]]:
    for name, data in pictures.items():
        (folder / name).write_bytes(data)
    names = list(pictures)
    files = ImageFiles(pl.DataFrame({"image": names, "path": names}), folder)
    return lookalikes(facts_of(files, names).views)


def encoded(image: PIL.Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def test_copies_of_another_format_quality_size_and_turn_are_found(tmp_path: Path) -> None:
    image = scene(1, (400, 400))
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    turned = encoded(image.transpose(PIL.Image.Transpose.ROTATE_90), "JPEG", quality=95, exif=exif)
    pairs = seen(
        tmp_path,
        png=encoded(image, "PNG"),
        jpeg=encoded(image, "JPEG", quality=85),
        small=encoded(image.resize((320, 320), PIL.Image.Resampling.LANCZOS), "WEBP", quality=90),
        turned=turned,
        other=encoded(scene(2), "PNG"),
    )
    assert {pair for pair in pairs if 4 in pair} == set()
    assert {at for pair in pairs for at in pair} == {0, 1, 2, 3}


def test_no_edit_of_a_drawn_face_is_taken_for_a_copy_of_its_base(tmp_path: Path) -> None:
    face = Identity("a", 7, "female", "young", "monk-05", "normal")
    changes = [(name, a.values[0]) for name, a in ATTRIBUTES.items() if face.gender in a.genders]
    drawn = {f"{name}-{value}": png(svg(face, (name, value), "portrait"), 256) for name, value in changes}
    base = png(svg(face), 256)
    drawn = {name: data for name, data in drawn.items() if data != base}  # full-body clothes do not show here
    pairs = seen(tmp_path, base=base, **drawn, again=base)
    assert [pair for pair in pairs if pair[0] == 0] == [(0, len(drawn) + 1)]


def test_pictures_of_nothing_are_like_no_other(tmp_path: Path) -> None:
    blank = {f"p{n}": encoded(PIL.Image.new("RGB", (64, 64), (n, n, n)), "PNG") for n in range(5)}
    assert seen(tmp_path, **blank) == []


def test_a_few_copies_among_ten_thousand_are_found_in_bounded_time() -> None:
    rng = np.random.default_rng(3)
    views = rng.integers(0, 256, (10_000, SIDE, SIDE)).astype(np.uint8)
    views[9_999] = np.clip(views[5].astype(int) + 3, 0, 255)
    views[8_000] = views[77]
    views[4_000:4_500] = views[4_000]  # many copies of one: a few of each are looked at
    pairs = lookalikes(views)
    assert {(5, 9_999), (77, 8_000)} <= set(pairs)
    assert len({at for pair in pairs for at in pair if 4_000 <= at < 4_500}) == 500
    assert len(pairs) < 10_000
