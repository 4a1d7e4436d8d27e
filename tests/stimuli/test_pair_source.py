"""Pairs as stimuli, and the pictures of one person each that they are made of. The pictures are plain colours."""

import io
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import PIL.Image
import polars as pl
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli import pairs as module
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.images import Kept
from facevalue.stimuli.pairs import TEXT, FileIndividuals, Individuals, NoPicture, PairSource, decode, left_first
from facevalue.types import Stimulus

COLORS = {"old": (200, 0, 0), "young": (0, 0, 200), "middle-aged": (0, 150, 0)}


class Plain:
    """Pictures of one colour, and a count of how often they were looked at."""

    kind = Kind.ILLUSTRATED

    def __init__(self) -> None:
        self.version = "1"
        self.drawn = 0
        self.checked: list[list[str]] = []

    def digest(self, picture: str) -> str:
        return picture + self.version

    def pixels(self, picture: str) -> npt.NDArray[np.uint8]:
        self.drawn += 1
        return np.full((64, 64, 3), COLORS[picture], np.uint8)

    def check(self, pictures: Sequence[str]) -> None:
        self.checked.append(list(pictures))
        if "nobody" in pictures:
            raise DataError("nobody: missing")


def both(levels: Mapping[str, str | None]) -> tuple[str, str]:
    return str(levels["identity_1"]), str(levels["identity_2"])


LEVELS: dict[str, str | None] = {
    "trial": "9",
    "block": "b",
    "identity_1": "old",
    "identity_2": "young",
    "activity": "cooking",
}


def halves(stimulus: Stimulus) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], tuple[int, int]]:
    (image,) = stimulus.load()
    assert image.media_type == "image/jpeg"
    pixels = np.asarray(PIL.Image.open(io.BytesIO(image.data)))
    height, width, _ = pixels.shape
    return pixels[height // 2, width // 4], pixels[height // 2, 3 * width // 4], (width, height)


@pytest.mark.parametrize("number", range(8))
def test_option_1_is_on_the_side_that_its_number_says(number: int) -> None:
    left, right, size = halves(PairSource(Plain(), both, sides=3).stimulus(number, LEVELS))
    reds = left[0] > 100, right[0] > 100
    first = bool(left_first([number], 3)[0])
    assert reds == (first, not first)
    assert size == (1024, 512)


def test_a_stimulus_has_its_number_and_its_factors() -> None:
    source: Source = PairSource(Plain(), both, sides=3)
    stimulus = source.stimulus(17, LEVELS)
    assert stimulus.key == "17"
    assert stimulus.factors == {"identity_1": "old", "identity_2": "young", "activity": "cooking"}
    assert source.kind is Kind.ILLUSTRATED


def test_nothing_is_drawn_before_it_is_looked_at_and_then_once() -> None:
    plain = Plain()
    source = PairSource(plain, both, sides=3)
    stimulus = source.stimulus(1, LEVELS)
    assert plain.drawn == 0
    first = stimulus.load()
    assert source.stimulus(1, LEVELS).load() == first
    assert plain.drawn == 2


def test_the_digest_is_that_of_what_is_shown() -> None:
    plain = Plain()
    source = PairSource(plain, both, sides=3)
    sides = left_first(np.arange(50), 3)
    digests = [source.stimulus(number, LEVELS).digest for number in range(50)]
    assert {(d, bool(s)) for d, s in zip(digests, sides, strict=True)} == {
        (digests[int(np.argmax(sides))], True),
        (digests[int(np.argmin(sides))], False),
    }
    assert len(set(digests)) == 2
    assert PairSource(plain, both, sides=3, size=(672, 336)).stimulus(0, LEVELS).digest not in digests
    plain.version = "2"
    assert source.stimulus(0, LEVELS).digest not in digests


def test_a_size_is_what_is_shown() -> None:
    assert halves(PairSource(Plain(), both, 3, size=(672, 336)).stimulus(0, LEVELS))[2] == (672, 336)
    with pytest.raises(DataError, match="pixels, not 0"):
        PairSource(Plain(), both, 3, size=(672, 0))


def test_a_picture_that_changed_meanwhile_is_not_shown() -> None:
    plain = Plain()
    stimulus = PairSource(plain, both, sides=3).stimulus(1, LEVELS)
    plain.version = "2"
    with pytest.raises(DataError, match="was changed while the run"):
        stimulus.load()


def test_each_picture_is_checked_once() -> None:
    plain = Plain()
    source = PairSource(plain, both, sides=3)
    source.check({"identity_1": ["old", "old", "old"], "identity_2": ["young", "young", "middle-aged"]})
    source.check({"identity_1": ["old"], "identity_2": ["young"]})
    assert plain.checked == [["old", "young", "middle-aged"]]
    for _ in range(2):  # what was refused is looked at again
        with pytest.raises(DataError, match="nobody"):
            source.check({"identity_1": ["old"], "identity_2": ["nobody"]})


def test_shown_as_text_there_is_no_picture() -> None:
    plain = Plain()
    source = PairSource(plain, both, sides=3)
    levels = {"identity_1": "nobody", "identity_2": "young", "shown": "text"}
    source.check({name: [value] for name, value in levels.items()})
    stimulus = source.stimulus(2, levels)
    assert stimulus.load() == ()
    assert stimulus.digest == TEXT
    assert plain.checked == []
    assert source.stimulus(2, LEVELS | {"shown": "picture"}).load() != ()


def test_no_picture_shows_nothing() -> None:
    source: Source = NoPicture()
    stimulus = source.stimulus(4, LEVELS)
    source.check({"identity_1": ["old"]})
    assert (stimulus.key, stimulus.digest, stimulus.load()) == ("4", TEXT, ())
    assert "trial" not in stimulus.factors


def saved(image: PIL.Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def files(root: Path, **pictures: bytes | None) -> FileIndividuals:
    for name, data in pictures.items():
        if data is not None:
            (root / f"{name}.png").write_bytes(data)
    return FileIndividuals(pl.DataFrame({"image": list(pictures), "path": [f"{name}.png" for name in pictures]}), root)


def test_files_are_known_by_content_and_shown_in_pairs(tmp_path: Path) -> None:
    pictures = {name: saved(PIL.Image.new("RGB", (30, 40), color)) for name, color in COLORS.items()}
    people: Individuals = files(tmp_path, **pictures, same=pictures["old"])
    assert people.digest("old") == people.digest("same") != people.digest("young")
    people.check(["old", "young"])
    left, right, size = halves(PairSource(people, both, sides=3).stimulus(0, LEVELS))
    assert size == (768, 512)
    assert people.kind is Kind.UNSTATED
    assert sorted([int(left[0]) > 100, int(right[0]) > 100]) == [False, True]


def test_missing_and_unreadable_pictures_are_named(tmp_path: Path) -> None:
    good = saved(PIL.Image.new("RGB", (30, 40)))
    wide = saved(PIL.Image.new("RGB", (500, 40)))
    people = files(tmp_path, good=good, bad=b"no image", wide=wide, gone=None)
    with pytest.raises(DataError, match=r"4 images cannot be shown: bad.png: not a PNG.*500 x 40.*gone.*nobody"):
        people.check(["good", "bad", "wide", "gone", "nobody"])
    with pytest.raises(UnknownNameError, match="Did you mean 'good'"):
        people.pixels("goood")
    with pytest.raises(DataError, match=r"gone.png: missing"):
        people.digest("gone")


def test_no_picture_outside_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "x.png").write_bytes(saved(PIL.Image.new("RGB", (30, 40))))
    people = FileIndividuals(pl.DataFrame({"image": ["x"], "path": ["../x.png"]}), root)
    with pytest.raises(DataError, match="leads out of the folder"):
        people.pixels("x")


def test_a_replaced_file_is_shown_anew_and_noticed(tmp_path: Path) -> None:
    red, blue = (saved(PIL.Image.new("RGB", (30, 40), color)) for color in ("red", "blue"))
    people = files(tmp_path, old=red, young=red)
    stimulus = PairSource(people, both, sides=3).stimulus(0, LEVELS)
    (tmp_path / "old.png").write_bytes(blue)
    assert people.pixels("old")[0, 0].tolist() == [0, 0, 255]
    with pytest.raises(DataError, match="old: was changed"):
        stimulus.load()


def test_pictures_come_upright_small_on_white_and_cannot_be_written_to(tmp_path: Path) -> None:
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    turned = saved(PIL.Image.new("RGB", (40, 30)), exif=exif)
    assert decode(turned, "x").shape == (40, 30, 3)
    assert decode(saved(PIL.Image.new("RGB", (1_000, 2_000))), "x").shape == (512, 256, 3)
    clear = PIL.Image.new("RGBA", (1_000, 1_000), (9, 9, 9, 0))
    assert (decode(saved(clear), "x") == 255).all()
    deep = PIL.Image.fromarray(np.full((20, 20), 30_000, np.uint16))
    assert (decode(saved(deep), "x") == 30_000 >> 8).all()
    palette = PIL.Image.new("RGB", (20, 20), "red").convert("P")
    assert (decode(saved(palette, "GIF"), "x")[0, 0] == [255, 0, 0]).all()
    pixels = files(tmp_path, x=turned).pixels("x")
    with pytest.raises(ValueError, match="read-only"):
        pixels[0] = 1


def test_a_file_that_breaks_off_is_named() -> None:
    data = saved(PIL.Image.fromarray(np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)), "JPEG")
    with pytest.raises(DataError, match=r"x.jpg: breaks off"):
        decode(data[: len(data) // 2], "x.jpg")


def test_decoded_pictures_are_kept_within_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    original = decode

    def counted(data: bytes, name: str, height: int | None) -> npt.NDArray[np.uint8]:
        decoded.append(name)
        return original(data, name, height)

    monkeypatch.setattr(module, "decode", counted)
    monkeypatch.setattr(module, "KEPT_BYTES_OF_INDIVIDUALS", 2 * 30 * 40 * 3)
    people = files(tmp_path, **{n: saved(PIL.Image.new("RGB", (30, 40), c)) for n, c in COLORS.items()})
    for name in ("old", "young", "old", "middle-aged", "old", "young"):
        people.pixels(name)
    assert decoded == ["old.png", "young.png", "middle-aged.png", "young.png"]


def test_what_is_kept_stays_within_its_bound_with_many_threads() -> None:
    kept = Kept[int, bytes](limit=1_000)

    def work(start: int) -> None:
        for key in range(start, start + 500):
            kept.put(key % 97, bytes(key % 97), key % 97)
            value = kept.get(key % 89)
            assert value is None or len(value) == key % 89

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(0, 80, 10)))
    assert 0 < kept.size <= 1_000
    assert kept.size == sum(len(value) for key in range(97) if (value := kept.get(key)) is not None)
    kept.put(200, bytes(2_000), 2_000)
    assert kept.get(200) is None
