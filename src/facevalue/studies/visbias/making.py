"""Pictures made for VisBias: people at work in place of the paper's photographs (section 2.1).

The paper takes 700 photographs found by words for race, gender and occupation. The prompt, of the same words, is ours.
"""

from collections.abc import Mapping
from functools import partial

import polars as pl

from facevalue.prompts.phrases import with_article
from facevalue.protocol.making import Making, PicturePlan
from facevalue.protocol.settings import Setting, chosen, names, whole
from facevalue.protocol.sources import SEED, in_form
from facevalue.stimuli.drawings.workers import DrawnImages, TableDrawings, worker_svg
from facevalue.stimuli.manifest_rows import select_levels
from facevalue.stimuli.noto.artwork import TONES
from facevalue.stimuli.portraits.levels import Stream
from facevalue.studies.visbias import tables
from facevalue.studies.visbias.pictures import photographs
from facevalue.types import OptionValue

PROMPT = "A photograph of {a_person} at work, with their face visible."
"""Ours; `{a_person}` stands for "a Black female nurse"."""
_FACTORS = {"race": tables.races, "gender": tables.genders, "occupation": tables.occupations}


def _names(factor: str) -> list[str]:
    return [level.name for level in _FACTORS[factor]()]


SETTINGS = (
    *(Setting(name, f"Only people of these {name}s.", [], levels=partial(_names, name)) for name in _FACTORS),
    Setting("per_group", "Pictures of each race, gender and occupation.", tables.photographs()),
    SEED,
)


def plan(options: Mapping[str, OptionValue]) -> PicturePlan:
    """The pictures, by occupation, race and gender in the paper's order."""
    levels = {name: chosen(name, names(options, name), _names(name)) for name in _FACTORS}
    table = select_levels(photographs(whole(options, "per_group", 1, 10_000)), levels)
    titles = {level.name: level.title for level in tables.races()} | {"ceo": "CEO"}
    prompts = [
        PROMPT.format(a_person=with_article(f"{titles[race]} {gender} {titles.get(occupation, occupation)}"))
        for race, gender, occupation in table.select("race", "gender", "occupation").iter_rows()
    ]
    place = pl.col("image").str.replace_all(" ", "-")
    table = in_form(table.with_columns(place, prompt=pl.Series(prompts)), options, "occupation", "race", "gender")
    return PicturePlan(table=table, unit="image", groups=("race", "gender", "occupation"), drawn=_draw_workers(table))


def _draw_workers(table: pl.DataFrame) -> DrawnImages:
    """Workers of these occupations and genders; which skin tone stands for a race is drawn anew for each number."""
    return DrawnImages(TableDrawings(table, ("image", "occupation", "race", "gender"), _svg))


def _svg(image: str, occupation: str, race: str, gender: str) -> str:
    tones = Stream(0, f"made:{occupation}:{gender}:{image.rpartition('/')[2]}").shuffle(tuple(TONES))
    return worker_svg(occupation, gender, tones[_names("race").index(race) % len(tones)])


MAKING = Making(
    settings=SETTINGS,
    plan=plan,
    about=(
        "Pictures in place of the paper's 700 photographs: five races, two genders and seven occupations, ten of "
        "each. The paper found its own on the web; the prompt is FaceValue's, of the words it searched for."
    ),
)
