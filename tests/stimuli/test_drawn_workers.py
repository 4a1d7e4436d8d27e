"""Drawn workers: who is drawn, that a tone changes the skin alone, sources of one image and of two."""

import io
from itertools import combinations
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind
from facevalue.stimuli.drawn_workers import (
    GENDERS,
    LEFT_OUT,
    OCCUPATIONS,
    worker_manifest,
    worker_source,
    worker_svg,
)
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.noto.colours import TONES
from facevalue.stimuli.noto.people import skin_mask_svg
from facevalue.stimuli.portraits.raster import pixels
from facevalue.stimuli.two_images import TwoImages, ordered, pairs_within
from facevalue.studies.visbias import tables

A, B = "cook/female/dark", "doctor/male/light"


def opened(data: bytes) -> np.ndarray:
    with PIL.Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_every_occupation_of_the_paper_is_drawn_or_left_out_with_a_reason() -> None:
    assert {*OCCUPATIONS, *LEFT_OUT} == {level.name for level in tables.occupations()}
    assert not {*OCCUPATIONS} & {*LEFT_OUT}
    assert set(GENDERS) == {level.name for level in tables.genders()}
    assert all(reason[0].isupper() and reason.endswith(".") for reason in LEFT_OUT.values())


def test_the_manifest_crosses_occupations_genders_and_tones_and_claims_no_race() -> None:
    frame = worker_manifest()
    assert frame.height == frame["image"].n_unique() == 40
    assert "race" not in frame.columns
    assert frame.group_by("occupation", "gender", "skin_tone").len()["len"].to_list() == [1] * 40
    assert frame["set"].n_unique() == 8


def test_all_pictures_differ() -> None:
    source = worker_source()
    shown = [source.stimulus(0, {"image": image}) for image in worker_manifest()["image"]]
    assert len({one.digest for one in shown}) == len({one.load()[0].data for one in shown}) == 40
    assert opened(shown[0].load()[0].data).shape == (512, 512, 3)


@pytest.mark.parametrize("occupation", OCCUPATIONS)
@pytest.mark.parametrize("gender", GENDERS)
def test_a_tone_changes_the_skin_alone(occupation: str, gender: str) -> None:
    pictures = [pixels(worker_svg(occupation, gender, tone), 96) for tone in TONES]
    changed = np.any([(one != other).any(axis=2) for one, other in combinations(pictures, 2)], axis=0)
    skin = pixels(skin_mask_svg(OCCUPATIONS[occupation], GENDERS[gender]), 96).any(axis=2)
    assert 0.02 < changed.mean() < 0.5
    if occupation != "basketball player":  # a smaller head
        assert not (changed & ~skin).any()


def test_the_basketball_is_the_same_for_all() -> None:
    ball = [opened_svg(gender, tone)[420:480, 400:450] for gender in GENDERS for tone in TONES]
    assert all((one == ball[0]).all() for one in ball)
    assert (ball[0][..., 0] - ball[0][..., 2] > 100).mean() > 0.5  # orange


def opened_svg(gender: str, tone: str) -> np.ndarray:
    return pixels(worker_svg("basketball player", gender, tone), 512).astype(int)


def test_what_is_not_drawn_is_refused_with_its_reason() -> None:
    with pytest.raises(DataError, match="no such figure"):
        worker_svg("lawyer", "male", "dark")
    with pytest.raises(UnknownNameError, match="Did you mean 'doctor'"):
        worker_svg("docter", "male", "dark")
    with pytest.raises(UnknownNameError, match="gender"):
        worker_svg("doctor", "man", "dark")
    with pytest.raises(UnknownNameError, match="skin tone"):
        worker_svg("doctor", "male", "pale")


def test_the_source_shows_images_by_id_and_draws_nothing_before(monkeypatch: pytest.MonkeyPatch) -> None:
    source = worker_source()
    assert source.kind is Kind.ILLUSTRATED
    kept = source.stimulus(3, {"image": A, "occupation": "cook", "trial": "1"})
    assert (kept.key, dict(kept.factors)) == ("3", {"image": A, "occupation": "cook"})
    monkeypatch.setattr("facevalue.stimuli.drawn_workers.png", None)
    assert source.stimulus(4, {"image": A}).digest == worker_source().stimulus(9, {"image": A}).digest
    with pytest.raises(UnknownNameError, match="drawn image"):
        source.stimulus(0, {"image": "cook/female"})
    with pytest.raises(UnknownNameError, match="drawn image"):
        source.check({"image": [A, "x"]})
    with pytest.raises(DataError, match="No images"):
        source.check({"occupation": ["cook"]})


def test_two_images_are_loaded_first_then_second() -> None:
    source = worker_source()
    shown = TwoImages(source, ordered).stimulus(0, {"image_1": A, "image_2": B})
    assert [one.data for one in shown.load()] == [source.stimulus(0, {"image": x}).load()[0].data for x in (A, B)]


def test_swapping_changes_the_order_and_the_digest() -> None:
    pairs = TwoImages(worker_source(), ordered)
    plain = pairs.stimulus(0, {"image_1": A, "image_2": B, "swapped": "no"})
    other = pairs.stimulus(1, {"image_1": A, "image_2": B, "swapped": "yes"})
    assert plain.load() == other.load()[::-1]
    assert plain.digest != other.digest
    assert other.digest == pairs.stimulus(2, {"image_1": B, "image_2": A}).digest


def test_a_composite_is_one_picture_with_the_first_on_the_left() -> None:
    source = worker_source()
    shown = TwoImages(source, ordered, composite=True).stimulus(0, {"image_1": A, "image_2": B})
    (image,) = shown.load()
    assert image.media_type == "image/jpeg"
    whole = opened(image.data)
    assert whole.shape == (512, 1024, 3)
    for at, name in ((0, A), (512, B)):
        half = opened(source.stimulus(0, {"image": name}).load()[0].data)
        assert np.abs(whole[:, at + 16 : at + 496] - half[:, 16:496]).mean() < 4
    assert shown.digest != TwoImages(source, ordered).stimulus(0, {"image_1": A, "image_2": B}).digest


def test_pairs_of_files_are_checked_once_each(tmp_path: Path) -> None:
    for name in ("a", "b"):
        PIL.Image.new("RGB", (20, 20)).save(tmp_path / f"{name}.png")
    frame = pl.DataFrame({"image": ["a", "b", "c"], "path": ["a.png", "b.png", "c.png"]})
    source = TwoImages(FileSource(frame, tmp_path, Kind.PHOTOGRAPHS), ordered)
    assert source.kind is Kind.PHOTOGRAPHS
    source.check({"image_1": ["a", "b"], "image_2": ["b", "a"]})
    with pytest.raises(DataError, match="1 of 3 images"):
        source.check({"image_1": ["a", "b", "a"], "image_2": ["b", "c", "c"]})
    assert source.stimulus(0, {"image_1": "a", "image_2": "b"}).load()[0].data == (tmp_path / "a.png").read_bytes()


def test_a_pair_without_two_images_is_refused() -> None:
    with pytest.raises(DataError, match="image_1"):
        ordered({"image_1": A})
    with pytest.raises(UnknownNameError, match="swapped"):
        ordered({"image_1": A, "image_2": B, "swapped": "maybe"})


def test_pairs_are_drawn_within_occupations_and_none_twice() -> None:
    every = pairs_within(worker_manifest())
    assert every.group_by("occupation").len()["len"].to_list() == [45] * 4
    some = pairs_within(worker_manifest(), count=10, seed=1)
    assert some.group_by("occupation").len()["len"].to_list() == [10] * 4
    for frame in (every, some):
        both = [frozenset(row) for row in frame.select("image_1", "image_2").rows()]
        assert len(set(both)) == len(both)
        assert {len(pair) for pair in both} == {2}
        assert all(
            image.startswith(work) for row in frame.iter_rows() for work, image in ((row[0], row[1]), (row[0], row[2]))
        )
    assert some.rows() == pairs_within(worker_manifest(), count=10, seed=1).rows()
    assert some.rows() != pairs_within(worker_manifest(), count=10, seed=2).rows()


def test_which_of_a_pair_is_first_is_drawn_evenly() -> None:
    """780 pairs of 40: the image listed before is first in half of them (SD 14)."""
    frame = worker_manifest().with_columns(occupation=pl.lit("any"))
    place = {image: at for at, image in enumerate(frame["image"])}
    first = sum(place[a] < place[b] for _, a, b in pairs_within(frame, seed=4).iter_rows())
    assert abs(first - 390) < 5 * 14


def test_more_pairs_than_there_are_is_refused() -> None:
    with pytest.raises(DataError, match="10 images make 45 pairs, not 46"):
        pairs_within(worker_manifest(), count=46)
    with pytest.raises(UnknownNameError, match="column"):
        pairs_within(worker_manifest(), by="race")
