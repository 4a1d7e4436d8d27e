"""Drawn workers: who is drawn, that a tone changes the skin alone, and the source that shows them."""

import io
from itertools import combinations

import numpy as np
import PIL.Image
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind
from facevalue.stimuli.drawings.workers import (
    GENDERS,
    OCCUPATIONS,
    worker_manifest,
    worker_source,
    worker_svg,
)
from facevalue.stimuli.noto.artwork import TONES
from facevalue.studies.visbias import tables
from tests.drawn import pixels, skin_mask_svg

A = "cook/female/dark"


def opened(data: bytes) -> np.ndarray:
    with PIL.Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_every_occupation_of_the_paper_is_drawn() -> None:
    assert list(OCCUPATIONS) == [level.name for level in tables.occupations()]
    assert set(GENDERS) == {level.name for level in tables.genders()}


def test_the_manifest_crosses_occupations_genders_and_tones_and_claims_no_race() -> None:
    frame = worker_manifest()
    assert frame.height == frame["image"].n_unique() == 70
    assert "race" not in frame.columns
    assert frame.group_by("occupation", "gender", "skin_tone").len()["len"].to_list() == [1] * 70
    assert frame["set"].n_unique() == 14


@pytest.mark.slow
def test_all_pictures_differ() -> None:
    source = worker_source()
    shown = [source.stimulus(0, {"image": image}) for image in worker_manifest()["image"]]
    assert len({one.digest for one in shown}) == len({one.load()[0].data for one in shown}) == 70
    assert opened(shown[0].load()[0].data).shape == (512, 512, 3)


@pytest.mark.parametrize("occupation", OCCUPATIONS)
@pytest.mark.parametrize("gender", GENDERS)
def test_a_tone_changes_the_skin_alone(occupation: str, gender: str) -> None:
    pictures = [pixels(worker_svg(occupation, gender, tone), 96) for tone in TONES]
    changed = np.any([(one != other).any(axis=2) for one, other in combinations(pictures, 2)], axis=0)
    skin = pixels(skin_mask_svg(OCCUPATIONS[occupation], GENDERS[gender]), 96).any(axis=2)
    assert 0.02 < changed.mean() < 0.5
    if occupation not in ("basketball player", "lawyer"):  # smaller heads
        assert not (changed & ~skin).any()


def test_occupations_can_be_told_apart() -> None:
    for gender in GENDERS:
        shown = [pixels(worker_svg(occupation, gender, "medium"), 96).astype(int) for occupation in OCCUPATIONS]
        for one, other in combinations(shown, 2):
            assert (np.abs(one - other).max(axis=2) > 40).mean() > 0.03


@pytest.mark.parametrize("occupation", ["nurse", "ceo", "lawyer"])
def test_what_an_occupation_wears_is_the_same_for_all(occupation: str) -> None:
    pictures = [pixels(worker_svg(occupation, gender, "dark"), 96) for gender in GENDERS]
    assert (pictures[0][80:] == pictures[1][80:]).all(axis=2).mean() > 0.95


def test_the_basketball_is_the_same_for_all() -> None:
    ball = [opened_svg(gender, tone)[420:480, 400:450] for gender in GENDERS for tone in TONES]
    assert all((one == ball[0]).all() for one in ball)
    assert (ball[0][..., 0] - ball[0][..., 2] > 100).mean() > 0.5  # orange


def opened_svg(gender: str, tone: str) -> np.ndarray:
    return pixels(worker_svg("basketball player", gender, tone), 512).astype(int)


def test_what_is_not_drawn_is_refused() -> None:
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
    monkeypatch.setattr("facevalue.stimuli.drawings.workers.png", None)
    assert source.stimulus(4, {"image": A}).digest == worker_source().stimulus(9, {"image": A}).digest
    with pytest.raises(UnknownNameError, match="drawn image"):
        source.stimulus(0, {"image": "cook/female"})
    with pytest.raises(UnknownNameError, match="drawn image"):
        source.check({"image": [A, "x"]})
    with pytest.raises(DataError, match="No images"):
        source.check({"occupation": ["cook"]})
