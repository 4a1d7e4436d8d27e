"""Scenes without people: all of Table 3, alike for a seed, and nothing in them that tells who it is."""

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.noto import scenes
from facevalue.stimuli.noto.artwork import artwork
from facevalue.stimuli.noto.persona_scenes import ARTWORK, PERSONAS, persona_svg
from facevalue.stimuli.noto.scenes import DRAWINGS, SIZE
from tests.drawn import pixels
from tools.noto_artwork import needed

TABLE_3 = (
    "Art Lover", "Bookworm", "Foodie", "Geek", "Loves Outdoors", "Music Lover", "Slob", "Neat", "Freegan", "Active",
    "Luxury Car", "Dilapidated Car", "Luxury Villa", "Shabby Hut",
)  # fmt: skip
PEOPLE = re.compile(
    r"\b(person|people|man|men|woman|women|boy|girl|child|baby|face|hand|hands|eye|eyes|mouth|flag|church|mosque|cross)\b"
)
SEEDS = st.integers(0, 2**40)
DRAWN = settings(max_examples=40, deadline=None)


def test_the_14_personas_of_table_3_are_there_in_its_order() -> None:
    assert tuple(PERSONAS) == tuple(name.lower() for name in TABLE_3)
    assert all(persona.shows.endswith(".") for persona in PERSONAS.values())


@pytest.mark.parametrize("name", PERSONAS)
def test_a_seed_gives_the_same_bytes_and_other_seeds_other_pictures(name: str) -> None:
    texts = [persona_svg(name, seed) for seed in range(12)]
    assert texts == [persona_svg(name, seed) for seed in range(12)]
    shown = [pixels(text, 48).astype(int) for text in texts]
    for one, other in combinations(shown, 2):
        changed = np.abs(one - other).max(axis=2) > 24
        assert changed.mean() > 0.03, "two seeds of a persona can hardly be told apart"


def test_an_unknown_name_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match=r"book worm.*bookworm"):
        persona_svg("book worm", 0)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(DataError, match="-1"):
        persona_svg("geek", -1)


def test_nothing_is_named_like_people_or_a_sign_of_theirs() -> None:
    assert not [name for name in ARTWORK if PEOPLE.search(name.replace("-", " "))]


def test_what_the_scenes_take_of_the_artwork_is_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """No piece is shown that the list, and so the test above, leaves out; and none is shipped for nothing."""
    taken = set()

    def body(name: str) -> str:
        taken.add(name)
        return "<g/>"

    monkeypatch.setattr(scenes, "body", body)
    for name in PERSONAS:
        for seed in range(60):
            persona_svg(name, seed)
    assert taken == ARTWORK - set(DRAWINGS)


def test_the_artwork_of_the_personas_is_shipped() -> None:
    assert ARTWORK - set(DRAWINGS) <= set(needed()[1]) <= set(artwork())


@pytest.mark.parametrize("name", PERSONAS)
def test_every_persona_rasterises_in_many_colours(name: str) -> None:
    for seed in range(3):
        shown = pixels(persona_svg(name, seed), 112)
        assert shown.shape == (112, 112, 3)
        assert len(np.unique(shown.reshape(-1, 3), axis=0)) > 100


@DRAWN
@given(st.sampled_from(tuple(PERSONAS)), SEEDS)
def test_ids_are_unique_and_every_reference_is_inside(name: str, seed: int) -> None:
    text = persona_svg(name, seed)
    names = re.findall(r'\bid="([^"]*)"', text)
    assert len(names) == len(set(names))
    assert set(re.findall(r'(?:url\(|href=")#([^")]*)', text)) <= set(names)
    assert "<script" not in text
    assert "<text" not in text
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"]


@DRAWN
@given(st.sampled_from(tuple(PERSONAS)), SEEDS)
def test_every_thing_is_mostly_in_the_picture(name: str, seed: int) -> None:
    """Of each thing's square at least two thirds are inside; a mirrored scene has the same shares."""
    root = ElementTree.fromstring(persona_svg(name, seed))  # our own text, checked above
    squares = [thing for thing in root.iter("{http://www.w3.org/2000/svg}svg") if thing is not root]
    assert squares
    for thing in squares:
        x, y, size = (float(thing.attrib[key]) for key in ("x", "y", "width"))
        across = min(x + size, SIZE) - max(x, 0.0)
        down = min(y + size, SIZE) - max(y, 0.0)
        assert min(across, down) > 0
        assert across * down >= 2 / 3 * size**2


@pytest.mark.parametrize(
    ("one", "other"), [("luxury car", "dilapidated car"), ("luxury villa", "shabby hut"), ("neat", "slob")]
)
def test_opposites_are_told_apart_by_a_plain_rule_on_small_pictures(one: str, other: str) -> None:
    """The nearest mean picture of 40 seeds, at 16 x 16 pixels, tells 20 others; chance would tell half."""

    def small(name: str, seeds: range) -> np.ndarray:
        return np.stack([pixels(persona_svg(name, seed), 16).astype(float) for seed in seeds])

    means = [small(name, range(40)).mean(axis=0) for name in (one, other)]
    right = 0
    for k, name in enumerate((one, other)):
        off = [((small(name, range(40, 60)) - mean) ** 2).sum(axis=(1, 2, 3)) for mean in means]
        right += int((off[k] < off[1 - k]).sum())
    assert right >= 36
