"""The promises of the portrait renderer: one change at a time, visible, deterministic, self-contained."""

import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.portraits import (
    AGES,
    ATTRIBUTES,
    BUILDS,
    GENDERS,
    SKIN_TONES,
    Identity,
    key,
    mask_svg,
    png,
    svg,
)
from facevalue.stimuli.portraits.anatomy import HAIR_VALUES, NATURAL, base_hair, body, hair_colour, head, rgb
from facevalue.stimuli.portraits.hair import base as base_cut
from tests.drawn import pixels

# Every skin tone, and with them both genders, all ages and all builds.
PEOPLE = [
    Identity(f"p{i}", 40 + i, GENDERS[(i + i // 2) % 2], AGES[i % 3], tone, BUILDS[(i // 2) % 3])
    for i, tone in enumerate(SKIN_TONES)
]
# The least number of pixels, of 224 x 224, that a value changes by 24 or more in some channel.
MINIMA = {
    "skin_irregularities": 40,
    "hair_color": 800,
    "hair_length": 400,
    "hair_style": 300,
    "facial_hair": 200,
    "eyewear": 250,
    "makeup": 40,
    "lip_makeup": 50,
    "piercings": 20,
    "tattoos": 150,
    "accessories": 2000,
    "fashion_style": 1500,
}


def people(gender: str = "female", **levels: object) -> Identity:
    values = {"id": "x", "seed": 5, "gender": gender, "age": "young", "skin_tone": "monk-05", "build": "normal"}
    return Identity(**(values | levels))  # type: ignore[arg-type]


def changes(person: Identity) -> list[tuple[str, str]]:
    return [(a.name, v) for a in ATTRIBUTES.values() if person.gender in a.genders for v in a.values]


def test_the_grid_is_the_papers() -> None:
    assert len(ATTRIBUTES) == 12
    assert sum(len(a.values) for a in ATTRIBUTES.values()) == 55
    assert ATTRIBUTES["facial_hair"].genders == ("male",)
    assert ATTRIBUTES["makeup"].genders == ATTRIBUTES["lip_makeup"].genders == ("female",)
    assert [a.name for a in ATTRIBUTES.values() if a.framing == "full-body"] == ["fashion_style"]


def test_the_people_tested_cover_every_level() -> None:
    for field, levels in (("gender", GENDERS), ("age", AGES), ("skin_tone", SKIN_TONES), ("build", BUILDS)):
        assert {getattr(p, field) for p in PEOPLE} == set(levels)


def check_changes(person: Identity, size: int) -> None:
    for attribute in ATTRIBUTES.values():
        if person.gender not in attribute.genders:
            continue
        base = pixels(svg(person, framing=attribute.framing), size).astype(int)
        mask = pixels(mask_svg(person, attribute.name), size).max(axis=2) > 0
        for value in attribute.values:
            step = np.abs(pixels(svg(person, (attribute.name, value)), size) - base).max(axis=2)
            outside = int(((step > 0) & ~mask).sum())
            assert outside == 0, f"{person} {attribute.name}={value}: {outside} pixels outside the mask"
            seen = int((step >= 24).sum())
            assert seen >= MINIMA[attribute.name], f"{person} {attribute.name}={value}: only {seen} pixels"


@pytest.mark.parametrize("person", PEOPLE, ids=lambda p: p.skin_tone)
def test_a_change_is_seen_and_stays_in_its_mask(person: Identity) -> None:
    check_changes(person, 224)


@pytest.mark.slow
@pytest.mark.parametrize("person", [PEOPLE[2], PEOPLE[7]], ids=lambda p: p.gender)
def test_a_change_stays_in_its_mask_at_full_size(person: Identity) -> None:
    check_changes(person, 512)


def test_masks_are_tight() -> None:
    person = PEOPLE[0]
    limits = {"accessories": 0.40, "hair_length": 0.40, "hair_style": 0.40, "fashion_style": 0.25}
    for name, attribute in ATTRIBUTES.items():
        if person.gender in attribute.genders:
            share = (pixels(mask_svg(person, name), 224).max(axis=2) > 0).mean()
            assert 0.002 < share < limits.get(name, 0.09), (name, share)


@pytest.mark.parametrize("name", ["hair_length", "hair_style", "fashion_style", "skin_irregularities", "accessories"])
def test_values_of_one_attribute_differ_from_each_other(name: str) -> None:
    attribute = ATTRIBUTES[name]
    seen = [pixels(svg(people("male"), (name, v)), 96).astype(int) for v in attribute.values]
    for i, j in product(range(len(seen)), repeat=2):
        if i < j:
            assert (np.abs(seen[i] - seen[j]).max(axis=2) >= 24).sum() >= 8, (attribute.values[i], attribute.values[j])


def test_the_base_hair_has_none_of_the_colours() -> None:
    for age, colour in product(AGES, range(40)):
        base = rgb(base_hair(people(age=age, seed=colour)))
        for name, value in HAIR_VALUES.items():
            assert max(abs(a - b) for a, b in zip(base, rgb(value), strict=True)) >= 24, (age, name)
    assert len(NATURAL) > 3


seeds = st.integers(0, 2**53)


@given(seeds, st.sampled_from(GENDERS), st.sampled_from(AGES), st.sampled_from(SKIN_TONES), st.sampled_from(BUILDS))
@settings(max_examples=25, deadline=None)
def test_same_arguments_same_bytes(seed: int, gender: str, age: str, tone: str, build: str) -> None:
    one, two = (Identity(i, seed, gender, age, tone, build) for i in ("one", "two"))
    change = changes(one)[seed % len(changes(one))]
    assert svg(one, change) == svg(two, change)
    assert key(one, change) == key(two, change)
    assert key(one, change) != key(one)


def test_two_processes_agree() -> None:
    person = people(seed=123456789)
    code = (
        "from facevalue.stimuli.portraits import *;"
        "p = Identity('x', 123456789, 'female', 'young', 'monk-05', 'normal');"
        "import sys; sys.stdout.write(svg(p, ('hair_style', 'messy')) + key(p, None, 'full-body', 64))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == svg(person, ("hair_style", "messy")) + key(person, None, "full-body", 64)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_levels_move_only_what_is_theirs(seed: int) -> None:
    person = people(seed=seed)
    for tone in SKIN_TONES[::3]:
        other = people(seed=seed, skin_tone=tone)
        assert head(other) == head(person)
        assert body(other) == body(person)
        assert base_hair(other) == base_hair(person)
    narrow, wide = people(seed=seed, build="thin"), people(seed=seed, build="obese")
    assert head(narrow).jaw < head(person).jaw < head(wide).jaw
    assert body(narrow).waist < body(person).waist < body(wide).waist
    assert head(narrow).nose_w == head(wide).nose_w
    assert head(narrow).eye_x == head(wide).eye_x
    old = people(seed=seed, age="elderly")
    assert (head(old).jaw, head(old).nose_w, body(old)) == (head(person).jaw, head(person).nose_w, body(person))


def test_a_skin_tone_leaves_hair_and_clothes_alone() -> None:
    light, dark = people(skin_tone="monk-02"), people(skin_tone="monk-09")
    colour = hair_colour(light, None)
    assert base_cut(light, colour) == base_cut(dark, colour)
    a, b = (pixels(svg(p), 224).astype(int) for p in (light, dark))
    shirt = pixels(mask_svg(light, "fashion_style", "portrait"), 224).max(axis=2) > 0
    hair = pixels(mask_svg(light, "hair_color"), 224).max(axis=2) > 0
    changed = np.abs(a - b).max(axis=2) > 0
    assert (changed & ~shirt & ~hair).sum() > 3000
    assert not changed[200:].any()


def test_identities_look_different() -> None:
    faces = {svg(people(seed=seed)) for seed in range(200)}
    assert len(faces) == 200
    small = [pixels(svg(people(seed=seed)), 64).astype(int) for seed in range(12)]
    gaps = [np.abs(a - b).max(axis=2) for i, a in enumerate(small) for b in small[:i]]
    assert min((g >= 24).mean() for g in gaps) > 0.02


def test_documents_are_plain() -> None:
    for person in (people("male"), people("female")):
        for change in [None, *changes(person)]:
            text = svg(person, change)
            lowered = text.lower()
            for word in (
                "<script",
                "<text",
                "href",
                "<image",
                "<style",
                "<foreignobject",
                "<use",
                "@import",
                "nan",
                "inf ",
            ):
                assert word not in lowered, (change, word)
            assert text.count("http") == 1  # the namespace
            assert all(part.startswith("#") for part in text.split("url(")[1:])


def test_the_background_is_white_and_the_head_is_in_the_frame() -> None:
    for person in PEOPLE[::3]:
        for framing in ("portrait", "full-body"):
            image = pixels(svg(person, framing=framing), 128)
            assert (image[0] == 255).all()
            assert (image[:40, 0] == 255).all()
            assert (image[:, 64] != 255).any()


def test_a_fashion_can_be_shown_in_the_portrait_framing() -> None:
    person = people("male")
    base, suit = svg(person), svg(person, ("fashion_style", "professional"), "portrait")
    step = np.abs(pixels(base, 224).astype(int) - pixels(suit, 224)).max(axis=2)
    mask = pixels(mask_svg(person, "fashion_style", "portrait"), 224).max(axis=2) > 0
    assert (step >= 24).sum() > 1000
    assert not (step[~mask] > 0).any()


def test_names_that_do_not_exist() -> None:
    person = people()
    with pytest.raises(UnknownNameError, match="Did you mean 'eyewear'"):
        svg(person, ("eyeware", "sunglasses"))
    with pytest.raises(UnknownNameError, match="Did you mean 'sunglasses'"):
        svg(person, ("eyewear", "sunglases"))
    with pytest.raises(UnknownNameError, match="framing"):
        svg(person, framing="landscape")
    with pytest.raises(UnknownNameError, match="skin tone"):
        people(skin_tone="monk-11")
    with pytest.raises(UnknownNameError, match="gender"):
        people("femal")
    with pytest.raises(UnknownNameError, match="build"):
        people(build="tall")
    with pytest.raises(UnknownNameError, match="attribute"):
        mask_svg(person, "hats")


def test_attributes_that_do_not_apply() -> None:
    with pytest.raises(DataError, match="male identities only"):
        svg(people("female"), ("facial_hair", "stubble"))
    with pytest.raises(DataError, match="female identities only"):
        key(people("male"), ("makeup", "heavy"))
    with pytest.raises(DataError, match="female identities only"):
        mask_svg(people("male"), "lip_makeup")


def test_pictures_have_the_size_asked_for() -> None:
    text = svg(people())
    assert pixels(text, 100).shape == (100, 100, 3)
    assert png(text, 64).startswith(b"\x89PNG")
    with pytest.raises(DataError, match="at least 1"):
        png(text, 0)
    with pytest.raises(DataError, match="cannot be drawn"):
        png("<p>no", 64)
