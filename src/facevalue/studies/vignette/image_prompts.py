"""Prompts for an image generator: those of the paper for pictures of one person (section 3)."""

import polars as pl

from facevalue.prompts.articles import with_article
from facevalue.protocol.settings import defaults
from facevalue.studies.vignette.pictures import everyone, words
from facevalue.studies.vignette.settings import SETTINGS, selection

ENGAGED = "{an_identity} engaged in {activity}, with their face visible."
"""Section 3: the prompt for a person doing something; `{an_identity}` stands for "An old man"."""

PORTRAIT = "{an_identity}, with their face visible."
"""Section 3: the prompt for a portrait without an activity."""


def generation_prompts(portraits: bool = False, gender: str | None = None) -> pl.DataFrame:
    """The prompt for every picture of one person (section 3).

    Returns one row per picture, by gender, dimension, identity and activity in the order of the tables: `gender`,
    `dimension`, `identity`, `activity` (null for portraits), `prompt`; all strings.
    """
    pictures = everyone(selection(defaults(SETTINGS) | {"gender": [] if gender is None else [gender]}))
    pictures = pictures.filter(pl.col("activity").is_null() == portraits)
    worded = pictures.join(words(pictures), on=["gender", "dimension", "identity"], maintain_order="left")
    prompts = [
        (PORTRAIT if activity is None else ENGAGED).format(
            an_identity=person[0].upper() + person[1:], activity=activity
        )
        for word, activity in worded.select("word", "activity").iter_rows()
        for person in [with_article(word)]
    ]
    return pictures.select("gender", "dimension", "identity", "activity", pl.Series("prompt", prompts))
