"""Pairs as ModSCAN's authors compose them, alone and as stimuli. The pictures are plain colours."""

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
import PIL.Image
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind
from facevalue.stimuli.drawings.portraits import PortraitSource, draw_identities, portrait_manifest
from facevalue.stimuli.pairs import (
    GAP,
    JOINED,
    LINE,
    FileIndividuals,
    PairSource,
    SourceIndividuals,
    join_with_line,
    left_first,
)

RED, BLUE = (200, 0, 0), (0, 0, 200)


def plain(width: int, height: int, color: tuple[int, int, int]) -> npt.NDArray[np.uint8]:
    return np.full((height, width, 3), color, np.uint8)


sides = st.integers(1, 40)


@given(left=st.tuples(sides, sides), right=st.tuples(sides, sides))
def test_both_pictures_stay_as_they_are_at_the_top_and_10_pixels_apart(
    left: tuple[int, int], right: tuple[int, int]
) -> None:
    if any(max(size) > 4 * min(size) for size in (left, right)):
        return
    one, other = plain(*left, RED), plain(*right, BLUE)
    pair = join_with_line(one, other)
    assert pair.shape == (max(left[1], right[1]), left[0] + GAP + right[0], 3)
    assert (pair[: left[1], : left[0]] == one).all()
    assert (pair[: right[1], left[0] + GAP :] == other).all()
    assert (pair[left[1] :, : left[0]] == 255).all()
    assert (pair[right[1] :, left[0] + GAP :] == 255).all()


def test_a_black_line_2_wide_stands_in_the_middle_of_a_white_gap_over_the_whole_height() -> None:
    pair = join_with_line(plain(20, 30, RED), plain(20, 10, BLUE))
    gap = pair[:, 20 : 20 + GAP, :]
    assert (GAP, LINE) == (10, 2)
    assert (gap[:, 4:6] == 0).all()
    assert (np.delete(gap, [4, 5], axis=1) == 255).all()


@pytest.fixture
def faces(tmp_path: Path) -> pl.DataFrame:
    for name, size, color in (("small", (60, 40), RED), ("large", (700, 900), BLUE), ("huge", (4100, 2000), BLUE)):
        PIL.Image.new("RGB", size, color).save(tmp_path / f"{name}.png")
    return pl.DataFrame({"image": ["small", "large", "huge"], "path": ["small.png", "large.png", "huge.png"]})


def test_a_source_shows_files_without_resizing_them(faces: pl.DataFrame, tmp_path: Path) -> None:
    people = FileIndividuals(faces, tmp_path, height=None)
    source = PairSource(people, lambda row: (str(row["a"]), str(row["b"])), sides=1, composition=JOINED)
    levels: dict[str, str | None] = {"a": "small", "b": "large"}
    assert {bool(left_first([number], 1)[0]) for number in range(8)} == {True, False}
    for number in range(8):
        (image,) = source.stimulus(number, levels).load()
        shown = PIL.Image.open(io.BytesIO(image.data))
        assert shown.size == (60 + GAP + 700, 900)
        small_left = shown.getpixel((30, 20))[0] > 150  # type: ignore[index]
        assert small_left == left_first([number], 1)[0]


def test_the_composition_is_part_of_the_digest(faces: pl.DataFrame, tmp_path: Path) -> None:
    people = FileIndividuals(faces, tmp_path, height=None)
    joined, beside = (
        PairSource(people, lambda row: ("small", "large"), sides=1, composition=how).stimulus(0, {}).digest
        for how in (JOINED, None)
    )
    assert joined != beside


def test_a_picture_that_would_be_enormous_is_found_before_the_run(faces: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"huge\.png is 4,100 x 2,000 pixels; one that is not resized has at most 4,096"
    ):
        FileIndividuals(faces, tmp_path, height=None).check(["small", "huge"])
    FileIndividuals(faces, tmp_path).check(["small", "huge"])


def test_drawn_portraits_are_paired_as_files_are() -> None:
    table = portrait_manifest(draw_identities({"male": 1, "female": 1}, seed=1), {})
    people = SourceIndividuals(PortraitSource(table), table)
    one, other = table["image"]
    assert people.kind is Kind.ILLUSTRATED
    assert people.digest(one) != people.digest(other)
    assert people.pixels(one).shape == (512, 512, 3)
    assert people.pixels(one) is people.pixels(one)
    people.check([one, other, one])
    (image,) = PairSource(people, lambda row: (one, other), sides=1, composition=JOINED).stimulus(0, {}).load()
    assert PIL.Image.open(io.BytesIO(image.data)).size == (1034, 512)
    with pytest.raises(UnknownNameError, match="nobody"):
        people.check([one, "nobody"])
