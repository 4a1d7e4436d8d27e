"""Activities as scenes: every one renders, and the face stays free."""

import re

import numpy as np
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.noto import scenes
from facevalue.stimuli.noto.artwork import artwork, document, nest_document, person_svg
from facevalue.stimuli.noto.backdrops import BACKDROPS, FOREGROUNDS
from facevalue.stimuli.noto.scenes import ACTIVITIES, DRAWINGS, NOT_DRAWN, SIZE, scene_svg
from facevalue.stimuli.portraits import Identity, svg
from tests.drawn import pixels
from tools.noto_artwork import needed

PILOT = person_svg("pilot", "woman", "medium")
ANNE = Identity("f", 3, "female", "young", "monk-05", "normal")


def test_the_75_activities_are_drawn_or_left_out_with_a_reason() -> None:
    assert len(ACTIVITIES) >= 30
    assert not set(ACTIVITIES) & set(NOT_DRAWN)
    assert len(ACTIVITIES) + len(NOT_DRAWN) == 75
    assert all(reason.endswith(".") for reason in NOT_DRAWN.values())


@pytest.mark.parametrize("activity", ACTIVITIES)
def test_every_scene_renders_with_the_face_free(activity: str) -> None:
    """The face is where it would be with nothing in front of it."""
    shown = pixels(scene_svg(activity, PILOT), 128)
    x, y, size = ACTIVITIES[activity].seat
    alone = pixels(document(nest_document(PILOT, x, y, size, "p-"), SIZE), 128)
    k = 128 / SIZE
    rows = slice(round((y + 0.38 * size) * k), round((y + 0.72 * size) * k))
    columns = slice(round((x + 0.4 * size) * k), round((x + 0.6 * size) * k))
    assert np.array_equal(shown[rows, columns], alone[rows, columns])
    assert len(np.unique(shown.reshape(-1, 3), axis=0)) > 50


def test_scenes_differ_from_each_other() -> None:
    texts = {scene_svg(activity, PILOT) for activity in ACTIVITIES}
    assert len(texts) == len(ACTIVITIES)


@pytest.mark.parametrize("activity", ACTIVITIES)
def test_ids_are_unique_and_every_reference_is_inside(activity: str) -> None:
    text = scene_svg(activity, svg(ANNE))
    names = re.findall(r'\bid="([^"]*)"', text)
    assert len(names) == len(set(names))
    assert set(re.findall(r'(?:url\(|href=")#([^")]*)', text)) <= set(names)
    assert "<script" not in text
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"]


def test_a_portrait_stands_in_the_scene_without_its_white_background() -> None:
    shown = pixels(scene_svg("cooking", svg(ANNE)), SIZE)
    empty = pixels(scene_svg("cooking", document("<g/>")), SIZE)
    assert np.array_equal(shown[70, 120], empty[70, 120])
    assert not np.array_equal(shown[200, 256], empty[200, 256])


def test_only_artwork_that_is_shown_is_shipped() -> None:
    people, objects = needed()
    assert set(artwork()) == {*people, *objects}
    used = [prop.name for s in ACTIVITIES.values() for prop in (*s.front, *s.behind, *s.low)]
    assert set(DRAWINGS) <= set(used)
    assert {s.backdrop for s in ACTIVITIES.values()} == set(BACKDROPS)
    assert {s.foreground for s in ACTIVITIES.values()} == set(FOREGROUNDS)


def test_an_activity_that_is_not_drawn_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="cooking"):
        scene_svg("coking", PILOT)


@pytest.mark.parametrize("text", ["", "a person", "<svg></svg>"])
def test_a_person_that_is_no_drawing_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="SVG"):
        scenes.scene_svg("cooking", text)
