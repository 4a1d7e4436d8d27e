"""What FaceValue draws in place of the pictures that an own study has made: its portraits, as far as levels say who."""

from collections.abc import Callable
from functools import partial

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.generators.base import NULL_EDIT
from facevalue.protocol.making import IMAGE, SOURCE
from facevalue.protocol.settings import folded
from facevalue.stimuli.portraits import AGES, ATTRIBUTES, BUILDS, GENDERS, SKIN_TONES, Identity
from facevalue.stimuli.portraits.streams import Stream

_SPELLED = {
    "gender": {**{name: name for name in GENDERS}, "woman": "female", "girl": "female", "man": "male", "boy": "male"},
    "age": {**{folded(name): name for name in AGES}, "old": "elderly"},
    "build": {**{name: name for name in BUILDS}, "fat": "obese", "slim": "thin"},
    "skin_tone": {folded(name): name for name in SKIN_TONES},
}
"""Levels of a portrait, by what they may be called in any column."""
_USUAL = {"gender": GENDERS, "age": AGES, "build": BUILDS, "skin_tone": SKIN_TONES}
_CHANGES = {value: (name, value) for name, attribute in ATTRIBUTES.items() for value in attribute.values}


def drawings(table: pl.DataFrame, cue: str) -> dict[str, Callable[[], str]]:
    """Portraits for the pictures of a plan, by image: what no column says of a person is drawn by seed.

    `cue`: the column of edits, empty if there is none; an edit is drawn where it is called as a value of an attribute
    of portraits ("sunglasses").
    """
    columns = [name for name in table.columns if name not in (IMAGE, SOURCE)]
    out: dict[str, Callable[[], str]] = {}
    for row in table.select(IMAGE, SOURCE, *columns).iter_rows(named=True):
        base = row[SOURCE] or row[IMAGE]
        edit = row[cue] if cue and row[SOURCE] is not None else None
        levels = tuple(str(row[name]) for name in columns if name != cue and row[name] is not None)
        out[row[IMAGE]] = partial(_svg, base, levels, edit)
    return out


def _svg(base: str, levels: tuple[str, ...], edit: str | None) -> str:
    from facevalue.stimuli.portraits import svg  # noqa: PLC0415 - a study that is read draws nothing

    stream = Stream(0, f"made:{base}")
    seed, facts = stream.index(2**53), {name: stream.choice(listed) for name, listed in _USUAL.items()}
    for name, spelled in _SPELLED.items():
        facts[name] = next((spelled[folded(level)] for level in levels if folded(level) in spelled), facts[name])
    person = Identity(base, seed, facts["gender"], facts["age"], facts["skin_tone"], facts["build"])
    if edit is None or edit == NULL_EDIT:
        return svg(person)
    if edit not in _CHANGES:
        raise UnknownNameError("edit that FaceValue draws", edit, _CHANGES)
    return svg(person, _CHANGES[edit])
