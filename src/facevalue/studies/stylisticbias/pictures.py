"""Pictures of StylisticBias: drawn faces, the authors' folders or the user's own, narrowed to the grid."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import polars as pl

from facevalue.errors import DataError
from facevalue.protocol import settings
from facevalue.protocol.settings import Options, Setting, face_counts
from facevalue.protocol.sources import PictureSource, files, list_pictures, own_manifest, show_pictures, source_of
from facevalue.protocol.stimuli import Stimuli, check_bases
from facevalue.protocol.study import LeftOut
from facevalue.statistics.sets import Sets
from facevalue.stimuli.base import Source
from facevalue.stimuli.drawings.portraits import (
    CONTROL,
    FULL_BODY,
    PortraitSource,
    default_cache,
    draw_identities,
    portrait_manifest,
)
from facevalue.stimuli.manifest_rows import Column, Faults, Listing, select_levels
from facevalue.studies.stylisticbias import folders
from facevalue.studies.stylisticbias.measures import UNIT
from facevalue.studies.stylisticbias.tables import grid, whitelist
from facevalue.types import OptionValue

COLUMNS = (
    Column("identity", "whose picture it is", needed=True, filled=True, role="unit"),
    Column(
        "attribute",
        "what was changed, such as eyewear; empty for the base picture",
        needed=True,
        levels=lambda: folders.ATTRIBUTES,
        level_of=lambda row: folders.attribute_of(row.get("variation", "")),
    ),
    Column(
        "variation",
        "to what, such as sunglasses; empty for the base picture",
        needed=True,
        role="cue",
        levels=lambda: folders.VARIATIONS,
    ),
    *(Column(name, f"{name} as perceived", levels=partial(folders.spellings, name)) for name in folders.PEOPLE),
)
"""Columns of a manifest."""
_OF_QUESTIONS = ("scenario", "category", "ordering")
"""Factors of the questions, that no column of pictures can be."""
_WHY = {
    "plausibility": "Dropped by the paper's plausibility pass",
    "curation": "Dropped by the paper's curation pass",
    "none": "Not in the paper's grid of these faces",
}


def pictures(options: Mapping[str, OptionValue]) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """The manifest that the settings ask for, and what of the pictures at hand its grid leaves out."""
    frame, left_out = list_pictures(SOURCES, options)
    source = source_of(SOURCES, options).setting
    if not source:
        return frame, left_out
    prompt_factors = [name for name in _OF_QUESTIONS if name in frame.columns]
    frame = frame.drop(prompt_factors)
    frame = _check_manifest(frame, Path(str(options[source])).name if source == "manifest" else str(options[source]))
    is_control = pl.col("attribute").is_null() | (pl.col("attribute") == CONTROL[0])
    chosen = {name: settings.names(options, f"{name}s") for name in ("attribute", "variation")}
    frame = select_levels(frame, chosen, always=is_control)
    frame, left_out = _keep_judged(frame) if options["grid"] == "kept" else (frame, ())
    reason = "The questions have a factor of this name."
    unused = (LeftOut(f"the column {name!r} of the list", reason) for name in prompt_factors)
    return _add_controls(frame, options["fashion_base"] == "full-body"), (*left_out, *unused)


class FacePictures(Stimuli):
    """Base faces and each again with one attribute changed: drawn, the authors', or the user's own."""

    unit = UNIT
    settings: tuple[Setting, ...] = ()  # those of the study say where they are from

    def table(self, options: Options) -> pl.DataFrame:
        """A row per picture: bases first, then second bases and variations."""
        return pictures(options)[0]

    def left_out(self, options: Options) -> tuple[LeftOut, ...]:
        """Pictures at hand that the grid leaves out; of drawn ones, which need not be listed again, none."""
        return pictures(options)[1] if source_of(SOURCES, options).setting else ()

    def sets(self, table: pl.DataFrame) -> Sets:
        """Faces are units; each variation is compared with its base, fashion styles with a full-body one."""
        cue = ("attribute", "variation")
        attributes = table["attribute"].drop_nulls().unique().sort() if "attribute" in table.columns else ()
        full_body = tuple(name for name in attributes if folders.known_attribute(name) in FULL_BODY)
        return Sets(table, UNIT, cue, None, CONTROL, full_body)

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Shows files as they are, and draws what has none."""
        return show_pictures(SOURCES, options, table)


def _keep_judged(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """Without the variations that the paper doesn't judge of this gender; cues that are in no table stay.

    Where a face's gender is not known, a variation stays if it is kept for either.
    """
    genders = {}
    if "gender" in frame.columns:
        stated = frame.select("identity", "gender").drop_nulls().unique("identity", keep="first")
        genders = {identity: folders.known_gender(text) for identity, text in stated.iter_rows()}
    fates = {(v.attribute, v.name): v.fate for v in grid()}
    keep, lost = [], dict[tuple[str, str], list[str]]()
    for identity, attribute, variation in frame.select("identity", "attribute", "variation").iter_rows():
        fate = _fate(fates, attribute, variation, genders.get(identity))
        keep.append(fate == "kept")
        if fate != "kept":
            lost.setdefault((attribute, fate), []).append(variation)
    left_out = tuple(
        LeftOut(
            f"{attribute}: {', '.join(sorted(set(names)))}: {len(names):,} image{'s' if len(names) > 1 else ''}",
            f"{_WHY[fate]} (Table 10). --grid all judges {'them' if len(names) > 1 else 'it'}.",
        )
        for (attribute, fate), names in lost.items()
    )
    rest = frame.filter(pl.Series(keep, dtype=pl.Boolean))
    if not (rest["attribute"] != CONTROL[0]).any():
        raise DataError("No variation is left to judge. The paper's reduction drops some: --grid all has all 55.")
    return rest, left_out


def _fate(
    fates: Mapping[tuple[str, str], Mapping[str, str]], attribute: str | None, variation: str | None, gender: str | None
) -> str:
    cue = None if attribute is None or variation is None else folders.known_variation(attribute, variation)
    if cue is None:
        return "kept"
    of = fates[cue]
    if gender is not None:
        return of.get(gender, "none")
    return "kept" if "kept" in of.values() else next(iter(of.values()))


def _portraits(options: Options) -> Listing:
    attributes = settings.chosen("attribute", settings.names(options, "attributes"), list(folders.ATTRIBUTES))
    chosen = settings.chosen("variation", settings.names(options, "variations"), list(folders.VARIATIONS))
    counts = face_counts(str(options["faces"]))
    changes: dict[str, list[tuple[str, str]]] = {}
    for gender in counts:
        listed = whitelist(gender) if options["grid"] == "kept" else tuple(v for v in grid() if gender in v.fate)
        changes[gender] = [
            (v.attribute, v.name)
            for v in listed
            if (not attributes or v.attribute in attributes) and (not chosen or v.name in chosen)
        ]
    if not any(changes.values()):
        hint = "" if options["grid"] == "all" else " The paper's reduction drops some: --grid all has all 55."
        raise DataError(f"No variation is left to judge for faces of {' and '.join(counts)} gender.{hint}")
    identities = draw_identities(counts, settings.whole(options, "faces_seed", 0))
    return Listing(portrait_manifest(identities, changes, control=options["fashion_base"] == "full-body"))


def _add_controls(frame: pl.DataFrame, control_shown: bool) -> pl.DataFrame:
    """With a full-body picture in plain clothes of everyone who is shown in a fashion style, or without any."""
    control = (pl.col("attribute") == CONTROL[0]).fill_null(value=False)
    names = [name for name in frame["attribute"].drop_nulls().unique() if folders.known_attribute(name) in FULL_BODY]
    dressed = frame.filter(pl.col("attribute").is_in(names))["identity"].unique()
    controls = frame.filter(control)
    if not control_shown or not controls.height:
        return frame.filter(~control)
    if controls["variation"].n_unique() > 1 or controls["variation"][0] != CONTROL[1]:
        raise DataError(f"The attribute {CONTROL[0]!r} has one variation, {CONTROL[1]!r}: a person in plain clothes.")
    twice = controls["identity"].is_duplicated()
    if twice.any():
        raise DataError(f"The identity {controls['identity'].filter(twice)[0]!r} has more than one full-body picture.")
    lost = dressed.filter(~dressed.is_in(controls["identity"].implode()))
    if lost.len():
        raise DataError(
            f"{lost.len()} identities are shown in a fashion style, but not full-body in plain clothes, such as "
            f"{lost.sort()[0]!r}: give all of them such a picture, or choose --fashion-base portrait."
        )
    return frame.filter(~control | pl.col("identity").is_in(dressed.implode()))


def _check_manifest(frame: pl.DataFrame, place: str) -> pl.DataFrame:
    """A manifest that this study can use: one base image for each identity that has variations."""
    faults = Faults()
    half = frame["attribute"].is_null() != frame["variation"].is_null()
    faults.add_rows("names an attribute or a variation, but not both", half, frame["image"])
    check_bases(frame, "identity", pl.col("attribute").is_null() & pl.col("variation").is_null(), place, faults)
    if not (frame["attribute"] != CONTROL[0]).any():
        raise DataError(f"{place}: no variation but the full-body base, so no shift to measure.")
    return frame


def _folders(options: Options) -> Listing:
    frame = folders.read_stylisticbias_folders(Path(str(options["folders"])))
    return Listing(frame.rename({"value": "variation"}, strict=False))


SOURCES = (
    PictureSource("manifest", lambda options: Listing(own_manifest(options, COLUMNS)), files()),
    PictureSource("folders", _folders, files()),
    PictureSource("", _portraits, lambda frame, _: PortraitSource(frame, default_cache())),
)
"""The user's own pictures, the authors' folders, or drawn faces."""
