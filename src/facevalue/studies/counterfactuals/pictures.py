"""Pictures of the study: counterfactual sets, photographs of no set, the user's own pictures, or drawn sets."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import polars as pl

from facevalue.errors import DataError
from facevalue.protocol import settings
from facevalue.protocol.settings import Options
from facevalue.protocol.sources import (
    PictureSource,
    files,
    list_pictures,
    own_manifest,
    root_of,
    show_pictures,
)
from facevalue.protocol.study import LeftOut
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.counterfactual_datasets import (
    ATTRIBUTES,
    SOCIAL_SUBSETS,
    read_cultural_counterfactuals,
    read_social_counterfactuals,
)
from facevalue.stimuli.drawings.workers import drawn_sets, portrait_sets, worker_sets
from facevalue.stimuli.face_datasets import missing_photographs, read_pata
from facevalue.stimuli.manifest_rows import Column, Listing, check_sets
from facevalue.studies.counterfactuals.settings import FOLDERS, GIVEN, LISTS
from facevalue.types import OptionValue

UNNAMED = "pictures"
"""The subset of pictures of which nothing says it."""
COLUMNS = (
    Column("set", "pictures that differ in who is shown alone have the same", role="unit"),
    Column("group", "who is shown, such as Black male; made of the next three where there is none"),
    Column("physical", "such as obese or old", role="group", levels=lambda: dict.fromkeys(ATTRIBUTES["physical"], ())),
    Column("race", "as perceived", role="group", levels=lambda: dict.fromkeys(ATTRIBUTES["race"], ())),
    Column("gender", "as perceived", role="group", levels=lambda: {"male": ("man",), "female": ("woman",)}),
    Column("occupation", "what the person is; ratings are asked where it is known"),
    Column("subset", "a part that is measured by itself"),
)
"""Columns of a manifest of the user's own pictures."""


_PATA_RACES = {"Caucasian": "White", "East Asian": "Asian", "Hispanic": "Latino"}
_FORM = ("image", "path", "subset", "set", "group", "occupation")
_TAKEN = ("task", "shown", "draw", "words", "value", "reason", "note", "mass")


@dataclass(frozen=True)
class SetPictures:
    """Pictures that are shown.

    Attributes
    ----------
    frame:
        A row per image, by subset, then set, then group; all text: `image`, `path`, `subset`, `set` (null: of none),
        `group`, `occupation` (null: not known), and attributes.
    left_out:
        What is not shown, and partial sets.
    partial:
        By subset, its sets that don't have each group once: they stay out of measures of sets.
    """

    frame: pl.DataFrame
    left_out: tuple[LeftOut, ...]
    partial: Mapping[str, tuple[str, ...]]


def groups(subset: str) -> tuple[str, ...]:
    """Groups of a published subset, as the paper prints them; none of any other.

    Examples
    --------
    >>> groups("physical-race")[:2], len(groups("race-gender"))
    (('skinny White', 'skinny Black'), 12)
    """
    return (
        tuple(map(" ".join, product(*(ATTRIBUTES[name] for name in SOCIAL_SUBSETS[subset]))))
        if subset in SOCIAL_SUBSETS
        else ()
    )


located = partial(settings.located, folders=FOLDERS, files=LISTS, others=(*GIVEN, "root", "words"))
"""The options with folders and files spelled out, so that the study can be built again from anywhere."""


def read_pictures(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> SetPictures:
    """Read the pictures that were chosen, or list those that are drawn; a stored manifest is used as it is.

    Raises
    ------
    DataError
        The pictures can't be read, or nothing is left of them.
    """
    stored, (manifest, lost) = manifest, list_pictures(SOURCES, options, manifest)
    if stored is None:
        manifest = _in_order(manifest)
    lacking = [name for name in _FORM if name not in manifest.columns]
    if lacking:
        raise DataError(f"The manifest of the run lacks the column {lacking[0]!r}.")
    partial: dict[str, tuple[str, ...]] = {}
    for (subset,), images in manifest.group_by("subset", maintain_order=True):
        checked = check_sets(images, groups(str(subset)) if options["social"] else ())
        if checked.partial:
            partial[str(subset)] = checked.partial
            sets_checked = f"{len(checked.partial):,} of {checked.sets:,} sets of {subset}, from measures of sets"
            lost = (*lost, LeftOut(sets_checked, f"Not each group once: {checked.faults}."))
    return SetPictures(manifest, lost, partial)


def source(options: Mapping[str, OptionValue], frame: pl.DataFrame) -> Source:
    """Source that shows the pictures."""
    return show_pictures(SOURCES, options, frame)


def _draw_listing(options: Options) -> Listing:
    count, seed = settings.whole(options, "sets", 1), settings.whole(options, "set_seed", 0)
    tone = pl.concat_str(pl.col("skin_tone") + "-skinned", "gender", separator=" ")
    workers = worker_sets(count, seed).with_columns(subset=pl.lit("skin-tone-gender"), group=tone)
    look = pl.concat_str("physical", "gender", separator=" ")
    portraits = portrait_sets(count, seed).with_columns(subset=pl.lit("physical-gender"), group=look)
    return Listing(pl.concat([workers, portraits]).with_columns(path=pl.lit(None, pl.String)), ())


def _pata(options: Options) -> Listing:
    path = Path(str(options["pata"]))
    pictures = read_pata(path, root_of(options)).rename({"identity": "race"}).drop("activity", "url")
    frame = pictures.with_columns(
        pl.col("race").replace(_PATA_RACES),
        subset=pl.lit("pata"),
        set=pl.lit(None, pl.String),
        occupation=pl.lit(None, pl.String),
    ).with_columns(group=pl.concat_str("race", "gender", separator=" "))
    missing = missing_photographs(path, (), pictures)
    return Listing(frame, ((missing, "Not in the folder."),) if missing else ())


def _read_listing(options: Options) -> Listing:
    path, frame = Path(str(options["manifest"])), own_manifest(options, COLUMNS)
    taken = [name for name in _TAKEN if name in frame.columns]
    if taken:
        raise DataError(f"{path.name}: no column can be called {taken[0]!r}, which the study uses: rename it.")
    if (frame["identity"] == frame["image"]).all():
        frame = frame.drop("identity")
    levels_by_name = {name.lower(): name for levels in ATTRIBUTES.values() for name in levels}
    columns = [name for name in ATTRIBUTES if name in frame.columns]
    frame = frame.with_columns(
        pl.col(columns).map_elements(lambda level: levels_by_name.get(level.lower(), level), pl.String),
        *(
            pl.lit(None, pl.String).alias(name)
            for name in ("group", "occupation", "subset")
            if name not in frame.columns
        ),
    ).with_columns(pl.col("subset").fill_null(UNNAMED))
    composed = (
        pl.concat_str(columns, separator=" ", ignore_nulls=True).replace("", None)
        if columns
        else pl.lit(None, pl.String)
    )
    frame = frame.with_columns(group=pl.coalesce("group", composed).str.strip_chars())
    # One spelling of each group, or a capital letter makes every set lack one.
    frame = frame.with_columns(pl.col("group").first().over(pl.col("group").str.to_lowercase()))
    grouped = frame.drop_nulls("group")
    if not grouped.height:
        raise DataError(f"{path.name}: no picture has a group, nor a race, gender or physical attribute to make it of.")
    some = frame.height - grouped.height
    ungrouped = ((f"{some:,} of {frame.height:,} pictures", "Without a group."),) if some else ()
    no_sets = (("measures of sets", "No picture has a set: fill in the column 'set'."),)
    return Listing(grouped, (*ungrouped, *(no_sets if grouped["set"].null_count() == grouped.height else ())))


SOURCES = (
    PictureSource(
        "social", lambda options: read_social_counterfactuals(root_of(options)), files(Kind.SYNTHETIC, sure=True)
    ),
    PictureSource(
        "cultural", lambda options: read_cultural_counterfactuals(root_of(options)), files(Kind.SYNTHETIC, sure=True)
    ),
    PictureSource("pata", _pata, files(Kind.PHOTOGRAPHS, sure=True)),
    PictureSource("manifest", _read_listing, files()),
    PictureSource("", _draw_listing, lambda frame, _: drawn_sets(frame)),
)
"""Generated sets of two data sets, photographs of no set, the user's own pictures, or drawn sets."""


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows by subset, set and group; sets in the order in which they come, their images as neighbours."""
    attributes = [name for name in ("race", "gender", "physical") if name in frame.columns]
    others = [name for name in frame.columns if name not in (*_FORM, *attributes)]
    ordered = [(subset, group, at) for subset in SOCIAL_SUBSETS for at, group in enumerate(groups(subset))]
    ranks = pl.DataFrame(ordered, {"subset": pl.String, "group": pl.String, "rank": pl.Int64}, orient="row")
    row = pl.int_range(pl.len())
    keys = frame.select("subset", "group", set=pl.coalesce("set", "image"), row=row)
    places = keys.join(ranks, on=["subset", "group"], how="left", maintain_order="left").select(
        pl.col("row").min().over("subset").alias("subset"),
        pl.col("row").min().over("subset", "set").alias("set"),
        pl.coalesce("rank", pl.col("row").min().over("subset", "group")).alias("group"),
        "row",
    )
    return frame.select(*_FORM, *attributes, *others)[places.sort(pl.all())["row"]]
