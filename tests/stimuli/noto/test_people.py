"""People of the Noto artwork: how many, in which skin tones, and that a tone changes the skin alone."""

import re
from itertools import combinations

import numpy as np
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.noto.artwork import (
    FEATURES,
    FIGURES,
    OCCUPATIONS,
    PRESENTATIONS,
    SKIN,
    TONES,
    artwork,
    artwork_name,
    person_svg,
)
from facevalue.stimuli.portraits.shapes import png
from tests.drawn import pixels, skin_mask_svg

ALL = [(who, how) for who in OCCUPATIONS for how in PRESENTATIONS]
ALL += [(who, how) for who, names in FIGURES.items() for how, name in zip(PRESENTATIONS, names, strict=True) if name]


def test_there_are_twenty_occupations_in_three_presentations_and_five_tones() -> None:
    assert len(OCCUPATIONS) >= 20
    assert (len(PRESENTATIONS), len(TONES)) == (3, 5)
    drawn = {person_svg(who, how, tone) for who in OCCUPATIONS for how in PRESENTATIONS for tone in TONES}
    assert len(drawn) == (len(OCCUPATIONS) * 3 - 2) * 5  # the three astronauts are one picture


@pytest.mark.parametrize(("who", "how"), ALL)
def test_a_skin_tone_changes_the_skin_alone(who: str, how: str) -> None:
    skin = pixels(skin_mask_svg(who, how), 96).any(axis=2)
    share = skin.mean()
    assert 0.02 < share < 0.5
    pictures = [pixels(person_svg(who, how, tone), 96) for tone in TONES]
    for one, other in combinations(pictures, 2):
        changed = (one != other).any(axis=2)
        assert not (changed & ~skin).any()
        assert changed.sum() > 0.5 * skin.sum()


@pytest.mark.parametrize(("who", "how"), ALL)
def test_tones_differ_in_their_skin_colours_and_nothing_else(who: str, how: str) -> None:
    """Also where shapes overlap: every attribute of every element but the skin colours is the same."""
    texts = [re.split(r'"(#[0-9a-f]{3,6})"', person_svg(who, how, tone)) for tone in TONES]
    allowed = {tone: {colours[i] for colours in SKIN.values()} for i, tone in enumerate(TONES)}
    for tone, text in zip(TONES, texts, strict=True):
        assert len(text) == len(texts[0])
        differing = {mine for mine, first in zip(text, texts[0], strict=True) if mine != first}
        assert differing <= allowed[tone]


def test_hair_and_features_are_dark_enough_for_every_skin() -> None:
    def light(colour: str) -> float:
        return float(np.dot([int(colour[i : i + 2], 16) for i in (1, 3, 5)], [0.299, 0.587, 0.114]))

    for face in SKIN["#e0bb95"]:
        assert all(light(face) - light(colour) > 12 for colour in FEATURES.values())


@pytest.mark.parametrize(("name", "text"), artwork().items())
def test_the_artwork_refers_to_nothing_outside(name: str, text: str) -> None:
    assert "<script" not in text
    assert "http" not in text
    assert "<image" not in text
    assert re.search(r'href="(?!#)', text) is None
    assert re.search(r"url\((?!#)", text) is None
    assert re.search(r"\son\w+=", text) is None


def test_the_artwork_is_small() -> None:
    assert sum(map(len, artwork().values())) < 1_500_000


def test_pictures_are_the_same_bytes_every_time() -> None:
    assert png(person_svg("cook", "woman", "dark"), 64) == png(person_svg("cook", "woman", "dark"), 64)


@pytest.mark.parametrize("wrong", [("wizard", "man", "dark"), ("cook", "lady", "dark"), ("cook", "man", "pale")])
def test_an_unknown_name_is_refused(wrong: tuple[str, str, str]) -> None:
    with pytest.raises(UnknownNameError):
        person_svg(*wrong)


def test_a_figure_that_the_artwork_lacks_is_refused() -> None:
    with pytest.raises(DataError, match="no man with a headscarf"):
        artwork_name("headscarf", "man")
