"""Prompts for an image generator: those of the paper for pictures of one person (section 3)."""

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.prompts.articles import with_article
from facevalue.studies.vignette.tables import GENDERS, SocialIdentity, activities, dimensions, identities, wording

ENGAGED = "{an_identity} engaged in {activity}, with their face visible."
"""Section 3: the prompt for a person doing something; `{an_identity}` stands for "An old man"."""

PORTRAIT = "{an_identity}, with their face visible."
"""Section 3: the prompt for a portrait without an activity."""


def _opening(identity: SocialIdentity, gender: str) -> str:
    phrase = with_article(wording(identity, gender))
    return phrase[0].upper() + phrase[1:]


def generation_prompts(portraits: bool = False, gender: str | None = None) -> pl.DataFrame:
    """The prompt for every picture of one person (section 3).

    Returns one row per picture, by gender, dimension, identity and activity in the order of the tables: `gender`,
    `dimension`, `identity`, `activity` (null for portraits), `prompt`; all strings.
    """
    if gender is not None and gender not in GENDERS:
        raise UnknownNameError("gender", gender, GENDERS)
    people = pl.DataFrame(
        [
            (g, dimension.name, identity.name, _opening(identity, g))
            for g in (GENDERS if gender is None else (gender,))
            for dimension in dimensions()
            for identity in identities(dimension.name, g)
        ],
        schema=["gender", "dimension", "identity", "opening"],
        orient="row",
    )
    if portraits:
        names = pl.Series("activity", [None], dtype=pl.String)
        prompt = pl.format(PORTRAIT.replace("{an_identity}", "{}"), "opening")
    else:
        names = pl.Series("activity", [activity.name for activity in activities()])
        prompt = pl.format(ENGAGED.replace("{an_identity}", "{}").replace("{activity}", "{}"), "opening", "activity")
    pictures = people.join(names.to_frame(), how="cross", maintain_order="left_right")
    return pictures.select("gender", "dimension", "identity", "activity", prompt.alias("prompt"))
