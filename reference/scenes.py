"""Pictures of VIGNETTE's kind to train on: people that study does not show, as portraits and doing something.

The five people of the study are held out. Workers of the Noto artwork have no faces of their own: they differ in gender
and skin tone alone, so that theirs are the same pictures as the study's.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from facevalue.stimuli.drawings.people import GENDERS, LOOKS, PEOPLE, SIGNS, drawable, picture_svg
from facevalue.stimuli.noto.artwork import document as scene_document
from facevalue.stimuli.noto.artwork import nest_document, person_svg
from facevalue.stimuli.noto.persona_scenes import persona_svg
from facevalue.stimuli.noto.scenes import ACTIVITIES, scene_svg
from facevalue.stimuli.portraits import SKIN_TONES, Identity, png
from facevalue.stimuli.portraits.composition import VIEWS, layers
from facevalue.stimuli.portraits.shapes import document
from reference.portraits import DRAWN, SIDE, Pixels, reduced
from reference.truth import PERSONAS, JudgedPerson

VIEW = {"ability": (-290.0, 30.0, 580.0, 580.0), "age": (-190.0, 56.0, 380.0, 380.0)}
"""Views of the dimensions that the study draws from nearer or farther."""
NOTO_TONES = {
    "light": "monk-02",
    "medium-light": "monk-03",
    "medium": "monk-05",
    "medium-dark": "monk-06",
    "dark": "monk-08",
}
SEED = 990_000
PORTRAITS, SCENES = 12, 31
"""Pictures of each identity as a portrait, and doing something: half of all activities."""
PERSONA_PICTURES = 60
"""Pictures of each scene without people."""


class Shown(NamedTuple):
    """One picture: the identity, who is drawn as it, and what they do; `number` is one of the study's people, or -1."""

    gender: str
    dimension: str
    identity: str
    activity: str
    number: int
    seed: int
    tone: str


def person(shown: Shown) -> JudgedPerson:
    """Whom the picture shows."""
    look = LOOKS[shown.dimension][shown.identity]
    gender = look.gender or shown.gender
    if look.occupation:
        return JudgedPerson(gender, "", shown.tone, "", occupation=look.occupation)
    return JudgedPerson(gender, look.age, look.skin_tone or shown.tone, look.build, look.change, look.sign)


def svg(shown: Shown) -> str:
    """Draw the picture."""
    if shown.number >= 0:
        return picture_svg(f"{shown.gender}|{shown.dimension}|{shown.identity}|{shown.activity}|{shown.number + 1}")
    look = LOOKS[shown.dimension][shown.identity]
    if look.occupation:
        tone = next(name for name, monk in NOTO_TONES.items() if monk == shown.tone)
        drawn = person_svg(look.occupation, "man" if shown.gender == "male" else "woman", tone)
    else:
        who = Identity(
            "drawn", shown.seed, look.gender or shown.gender, look.age, look.skin_tone or shown.tone, look.build
        )
        behind, before = SIGNS[look.sign](who) if look.sign else ((), ())
        nodes = [node for layer in layers(who, look.change).values() for node in layer]
        view = VIEW.get(shown.dimension, VIEWS["portrait"])
        drawn = document([*behind, *nodes, *before], view, "#ffffff")
    if shown.activity:
        return scene_svg(shown.activity, drawn)
    white = '<rect x="0" y="0" width="512" height="512" fill="#ffffff"/>'
    return scene_document(white + nest_document(drawn, 0, 0, 512, "p-"), 512)


def pictures(held_out: bool) -> Iterator[Shown]:
    """Pictures to train on, or those of the study: all portraits, and some of the scenes of its first two people."""
    for gender in GENDERS:
        for dimension in LOOKS:
            for number, identity in enumerate(drawable(gender, dimension)):
                key = [SEED, GENDERS.index(gender), list(LOOKS).index(dimension), number]
                rng = np.random.default_rng(key)
                if held_out:
                    for place, (seed, tone, _) in enumerate(PEOPLE):
                        yield Shown(gender, dimension, identity, "", place, seed, tone)
                    for activity in rng.choice(list(ACTIVITIES), 6, replace=False):
                        place = int(rng.integers(2))
                        seed, tone, _ = PEOPLE[place]
                        yield Shown(gender, dimension, identity, str(activity), place, seed, tone)
                    continue
                noto = bool(LOOKS[dimension][identity].occupation)
                tones = list(NOTO_TONES.values()) if noto else list(SKIN_TONES)
                done = rng.choice(list(ACTIVITIES), SCENES, replace=False)
                for activity in (*[""] * PORTRAITS, *(str(name) for name in done)):
                    seed, tone = int(rng.integers(1_000, 2**40)), str(rng.choice(tones))
                    yield Shown(gender, dimension, identity, activity, -1, seed, tone)


def write(folder: Path, name: str, shown: Sequence[Shown], size: int) -> None:
    """Draw pictures into NAME.npy and NAME.parquet, unless they are there."""
    target = folder / f"{name}.npy"
    if target.exists():
        return
    pixels = np.empty((len(shown), SIDE, SIDE, 3), np.uint8)
    for row, one in enumerate(shown):
        pixels[row] = reduced(png(svg(one), size))
    pl.DataFrame([one._asdict() for one in shown]).write_parquet(folder / f"{name}.parquet")
    part = target.with_suffix(".part")
    with part.open("wb") as file:
        np.save(file, pixels)
    part.replace(target)


def read(folder: Path, name: str) -> tuple[Pixels, list[Shown]]:
    """Read written pictures."""
    rows = pl.read_parquet(folder / f"{name}.parquet").iter_rows(named=True)
    return np.load(folder / f"{name}.npy"), [Shown(**row) for row in rows]


def write_personas(folder: Path, name: str, seeds: range, size: int) -> None:
    """Draw every scene without people with each of some seeds, unless they are there."""
    target = folder / f"{name}.npy"
    if target.exists():
        return
    pixels = [reduced(png(persona_svg(persona, seed), size)) for persona in PERSONAS for seed in seeds]
    part = target.with_suffix(".part")
    with part.open("wb") as file:
        np.save(file, np.stack(pixels))
    part.replace(target)


def read_personas(folder: Path, name: str) -> tuple[Pixels, list[str]]:
    """Read them, and which scene each is."""
    pixels = np.load(folder / f"{name}.npy")
    return pixels, [persona for persona in PERSONAS for _ in range(len(pixels) // len(PERSONAS))]


def draw(folder: Path) -> None:
    """Draw all pictures that are not there yet, to train on and held out."""
    shown = list(pictures(held_out=False))
    write(folder, "people", [one for one in shown if not one.activity], DRAWN)
    write(folder, "scenes", [one for one in shown if one.activity], DRAWN)
    write(folder, "people-held-out", list(pictures(held_out=True)), 512)
    write_personas(folder, "personas", range(SEED, SEED + PERSONA_PICTURES), DRAWN)
    write_personas(folder, "personas-held-out", range(10), 512)
