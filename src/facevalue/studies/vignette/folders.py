"""Folders in which VIGNETTE's authors keep their pictures.

A picture of one person is `individual_images/{gender}/{axis}/{descriptor}_{activity}.png`, a portrait
`{descriptor}.png`; a pair is `{contrast}/{gender}/{axis}/{descriptor}_{activity}--{descriptor}_{activity}.png`, such as
`little-boy_babysitting--male-adolescent_babysitting.png`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import polars as pl

from facevalue.errors import DataError
from facevalue.stimuli.patterns import Levels, Spellings, read_folder
from facevalue.studies.vignette import tables

CONTRASTS: Mapping[str, Sequence[str]] = {
    "identity": ("identity_contrast", "same_activity"),
    "activity": ("activity_contrast", "same_descriptor"),
    "identity-activity": ("activity_identity_contrast", "different_activity"),
}
"""Folders of pairs, by the contrast that each holds. Pairs without activities are of the contrast "portrait"."""
INDIVIDUALS = "individual_images"
_PLACE = "{gender}/{dimension}/"
_PERSON = ("{identity}", "{identity}_{activity}")
_PAIR = ("{identity_1}--{identity_2}", "{identity_1}_{activity_1}--{identity_2}_{activity_2}")
_SHOWN = 5


def read_individuals(root: Path) -> pl.DataFrame:
    """List the pictures of one person each.

    `root`: the folder that holds `individual_images`, or `male` and `female` themselves.

    Returns one row per picture, by gender and path: `image` (the path without its suffix), `path` (relative to `root`),
    `gender`, `dimension`, `identity`, `activity` (null for portraits).
    """
    top = f"{INDIVIDUALS}/" if (root / INDIVIDUALS).is_dir() else ""
    patterns = [f"{top}{_PLACE}{person}" for person in _PERSON]
    return _read(root, patterns, [f"{top}{gender}" for gender in tables.GENDERS], ("identity", "activity"))


def read_pairs(root: Path) -> pl.DataFrame:
    """List pictures of two people each, composed by the authors.

    `root`: the folder that holds folders of contrasts, such as `identity_contrast`.

    Returns one row per picture, by contrast, gender and path: `image`, `path`, `gender`, `dimension`, `contrast` (of
    `CONTRASTS`, or "portrait"), `identity_1`, `identity_2`, `activity_1`, `activity_2` (null for portraits). The person
    on the left is 1.
    """
    folders = [f"{name}/{gender}" for names in CONTRASTS.values() for name in names for gender in tables.GENDERS]
    columns = ("contrast", "identity_1", "identity_2", "activity_1", "activity_2")
    frame = _read(root, [f"{{contrast}}/{_PLACE}{pair}" for pair in _PAIR], folders, columns)
    differ = [
        pl.when(pl.col(f"{name}_1").ne_missing(pl.col(f"{name}_2"))).then(pl.lit(name))
        for name in ("identity", "activity")
    ]
    wrong = frame.filter(pl.concat_str(differ, separator="-", ignore_nulls=True) != pl.col("contrast"))["path"]
    if len(wrong):
        more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        raise DataError(f"{root}: not of the contrast of their folders: {', '.join(wrong[:_SHOWN])}{more}.")
    portrait = pl.col("activity_1").is_null()
    return frame.with_columns(contrast=pl.when(portrait).then(pl.lit("portrait")).otherwise("contrast"))


def _read(root: Path, patterns: Sequence[str], folders: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    activities = Levels({activity.name: () for activity in tables.activities()})
    identities = Levels(lambda within: _identities(within.get("gender", ""), within.get("dimension", "")))
    levels = {
        "contrast": Levels(CONTRASTS),
        "gender": Levels(dict.fromkeys(tables.GENDERS, ())),
        "dimension": Levels({d.name: (d.axis,) for d in tables.dimensions()}),
        **dict.fromkeys(("identity", "identity_1", "identity_2"), identities),
        **dict.fromkeys(("activity", "activity_1", "activity_2"), activities),
    }
    frame = read_folder(root, patterns, levels, folders)
    image = pl.col("path").str.replace(r"\.[^.]*$", "").alias("image")
    return frame.select(image, "path", "gender", "dimension", *columns)


@cache
def _identities(gender: str, dimension: str) -> Spellings:
    """Identities of a gender and dimension, with what they are called in names of files."""
    return {i.name: (tables.wording(i, gender), *i.aliases) for i in tables.identities(dimension, gender)}
