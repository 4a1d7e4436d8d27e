"""Reading pictures, and showing them: drawn, the authors', PATA's, or the user's own."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.settings import names, whole
from facevalue.protocol.study import LeftOut
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.drawn import default_cache
from facevalue.stimuli.drawn_people import PEOPLE, DrawnPeople
from facevalue.stimuli.images import FileSource, content_hash
from facevalue.stimuli.individuals import FileIndividuals
from facevalue.stimuli.manifest import read_manifest
from facevalue.stimuli.pair_lists import identity_pairs
from facevalue.stimuli.pair_source import TEXT, NoPicture, PairSource
from facevalue.stimuli.pairs import encode
from facevalue.stimuli.pata import read_pata, read_pata_list
from facevalue.stimuli.vignette_files import CONTRASTS, Names, read_individuals, read_pairs
from facevalue.studies.vignette.pictures import drawn, everyone, nothing_drawn, picture_name
from facevalue.studies.vignette.settings import RELEASED, Selection, selection
from facevalue.studies.vignette.tables import GENDERS, activities, dimensions, identities, wording
from facevalue.types import Image, OptionValue, Stimulus

RELEASED_SIZE = (672, 336)
"""What the released code squeezes pairs to, in pixels."""
_OWN = ("manifest", "folder", "pata")
PATA_ACTIVITIES = ("cooking", "programming")
"""What PATA is asked about unless activities are named, as in the paper (A.6)."""
UNSTATED = "unstated"
"""Gender of pictures whose manifest doesn't say."""


@dataclass(frozen=True)
class Pictures:
    """What can be shown.

    Attributes
    ----------
    frame:
        The manifest: one row per picture.
    chosen:
        What of it is asked about.
    pairs:
        Its pairs where they are a list; None where everyone is paired with everyone.
    left_out:
        What of the paper is not there, and why.
    unshown:
        Why there is nothing at all; the frame then lists what the paper has.
    """

    frame: pl.DataFrame
    chosen: Selection
    pairs: pl.DataFrame | None = None
    left_out: tuple[LeftOut, ...] = ()
    unshown: str = ""


def read_pictures(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> Pictures:
    """Read the pictures that were chosen, or list those that can be drawn.

    Parameters
    ----------
    options:
        The settings, with `root` spelled out.
    manifest:
        A stored manifest, used as it is.

    Raises
    ------
    DataError
        Several kinds of pictures were chosen, or they can't be read or paired.
    UnknownNameError
        A name that there isn't.
    """
    given = [name for name in _OWN if options[name]]
    if len(given) > 1:
        raise DataError(f"Give one of --{given[0]} and --{given[1]}, not both.")
    if not given:
        return _ours(options, manifest)
    frame = manifest
    if frame is None:
        frame = {"manifest": _manifest, "folder": _folder, "pata": _pata}[given[0]](options)
    left_out = _not_there(options, frame) if options["pata"] and manifest is None else ()
    composed = "identity_1" in frame.columns or "activity_1" in frame.columns
    chosen = selection(options, _levels(frame, "identity"), _levels(frame, "activity"))
    for dimension in chosen.dimensions:
        if dimension not in frame["dimension"]:
            raise UnknownNameError("dimension", dimension, frame["dimension"].unique().to_list())
    frame = _selected(frame, chosen)
    if composed:
        return Pictures(frame, chosen, frame.with_columns(pl.col("image").alias("pair")))
    if frame.select("gender", "dimension", "identity", "activity").is_duplicated().any():
        pairs = _paired(frame, whole(options, "pairs", 1), whole(options, "shuffle_seed", 0))
        return Pictures(frame, chosen, pairs, left_out)
    return Pictures(frame, chosen, None, left_out)


def source(pictures: Pictures, options: Mapping[str, OptionValue], shuffle: int) -> Source:
    """Where the stimuli come from."""
    size = RELEASED_SIZE if options["prompts"] == RELEASED else None
    if not any(options[name] for name in _OWN):
        if options["pictures"] == "none" or pictures.chosen.shown == ("text",) or pictures.unshown:
            return NoPicture()
        return PairSource(DrawnPeople(default_cache()), _named, shuffle, size)
    root, kind = Path(str(options["root"])), Kind(str(options["kind"]))
    if options["pata"] and kind is Kind.UNSTATED:
        kind = Kind.PHOTOGRAPHS
    if is_composed(pictures):
        return _Composed(pictures.frame, root, kind, size)
    images = FileIndividuals(pictures.frame, root, kind)
    if pictures.pairs is not None:
        return PairSource(images, lambda levels: (levels["image_1"] or "", levels["image_2"] or ""), shuffle, size)
    columns = ("gender", "dimension", "identity", "activity", "image")
    by_name = {picture_name(*row[:4]): row[4] for row in pictures.frame.select(columns).iter_rows()}

    def files(levels: Mapping[str, str | None]) -> tuple[str, str]:
        one, other = _named(levels)
        return by_name[one], by_name[other]

    return PairSource(images, files, shuffle, size)


class _Composed(FileSource):
    """Pairs in one file each, squeezed to a size if there is one; nothing is shown where no picture is wanted."""

    def __init__(self, manifest: pl.DataFrame, root: Path, kind: Kind, size: tuple[int, int] | None) -> None:
        super().__init__(manifest, root, kind)
        self._size = size

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        if levels.get("shown") == TEXT:
            return NoPicture().stimulus(number, levels)
        found = super().stimulus(number, levels)
        if self._size is None:
            return found
        digest = content_hash(f"{found.digest} {self._size[0]} x {self._size[1]}".encode())
        return replace(found, digest=digest, load=partial(_squeezed, found, self._size))


def _squeezed(stimulus: Stimulus, size: tuple[int, int]) -> tuple[Image, ...]:
    """The picture of a stimulus in another size, as the authors' code resizes it (bilinear)."""
    (whole_picture,) = stimulus.load()
    with PIL.Image.open(io.BytesIO(whole_picture.data)) as picture:
        small = picture.convert("RGB").resize(size, PIL.Image.Resampling.BILINEAR)
    return (Image(encode(np.asarray(small)), "image/jpeg"),)


def is_composed(pictures: Pictures) -> bool:
    """Whether each picture shows two people already."""
    return pictures.pairs is not None and "pair" in pictures.pairs.columns and "image_1" not in pictures.pairs.columns


def located(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """The options with the pictures' folder spelled out, so that the study can be built again from anywhere."""
    if options["root"] or not any(options[name] for name in _OWN):
        return dict(options)
    if options["folder"]:
        return {**options, "root": str(Path(str(options["folder"])).resolve())}
    file = Path(str(options["manifest"] or options["pata"]))
    return {**options, "root": str(file.parent.resolve())}


def _ours(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None) -> Pictures:
    chosen = selection(options)
    count = _people(options)
    if options["pictures"] == "none" or chosen.shown == ("text",):
        return Pictures(everyone(chosen) if manifest is None else manifest, chosen)
    frame, left_out = drawn(chosen, DrawnPeople(), count)
    if not frame.height:
        return Pictures(everyone(chosen), chosen, None, left_out, nothing_drawn(chosen, left_out))
    return Pictures(frame if manifest is None else manifest, chosen, None, left_out)


def _people(options: Mapping[str, OptionValue]) -> int:
    count = whole(options, "people", 1)
    if count > len(PEOPLE):
        raise DataError(f"At most {len(PEOPLE)} people are drawn as each identity, not {count}.")
    return count


def _named(levels: Mapping[str, str | None]) -> tuple[str, str]:
    """Names of the pictures of identity 1 (or activity 1) and 2."""
    gender, dimension = levels["gender"] or "", levels["dimension"] or ""
    one, other = (
        picture_name(
            gender, dimension, levels.get(f"identity_{i}") or levels.get("identity") or "",
            levels.get(f"activity_{i}") or levels.get("activity"), levels.get("person"),
        )
        for i in (1, 2)
    )  # fmt: skip
    return one, other


def _manifest(options: Mapping[str, OptionValue]) -> pl.DataFrame:
    root = Path(str(options["root"])) if options["root"] else None
    frame = read_manifest(Path(str(options["manifest"])), root=root)
    needed = ("identity",) if "identity_1" not in frame.columns else ("identity_1", "identity_2")
    for name in needed:
        if frame[name].null_count():
            raise DataError(f"The image {frame.filter(pl.col(name).is_null())['image'][0]!r} has no {name}.")
    if "activity" not in frame.columns and "activity_1" not in frame.columns:
        frame = frame.with_columns(pl.lit(None, pl.String).alias("activity"))
    if "gender" not in frame.columns:
        frame = frame.with_columns(pl.lit(UNSTATED).alias("gender"))
    if "dimension" not in frame.columns:
        frame = frame.with_columns(pl.lit("identity").alias("dimension"))
    if frame["gender"].null_count() or frame["dimension"].null_count():
        raise DataError("Every picture needs a gender and a dimension, or the manifest no such column.")
    if needed[0] == "identity_1" and "contrast" not in frame.columns:
        raise DataError("A manifest of composed pairs needs the column contrast: identity, activity, ... or portrait.")
    return frame


def _names() -> Names:
    table = {
        (gender, dimension.name): {
            spelling: one.name
            for one in identities(dimension.name, gender)
            for spelling in (wording(one, gender), *one.aliases)
        }
        for gender in GENDERS
        for dimension in dimensions()
    }
    return Names(
        {dimension.axis: dimension.name for dimension in dimensions()}, table, {a.name: a.name for a in activities()}
    )


def _folder(options: Mapping[str, OptionValue]) -> pl.DataFrame:
    root = Path(str(options["folder"]))
    if any((root / contrast).is_dir() for contrast in CONTRASTS):
        return read_pairs(root, _names())
    return read_individuals(root, _names())


def _pata(options: Mapping[str, OptionValue]) -> pl.DataFrame:
    frame = read_pata(Path(str(options["pata"])), Path(str(options["root"])), _scenes(options))
    return frame.with_columns(pl.lit("race").alias("dimension"))


def _scenes(options: Mapping[str, OptionValue]) -> list[str]:
    """The scenes that were named; else those of the paper, as far as the list has them."""
    there = set(read_pata_list(Path(str(options["pata"])))["activity"])
    return names(options, "activity") or [name for name in PATA_ACTIVITIES if name in there]


def _not_there(options: Mapping[str, OptionValue], frame: pl.DataFrame) -> tuple[LeftOut, ...]:
    """Photographs of PATA's list that are not in the folder: many of its links have died."""
    listed = read_pata_list(Path(str(options["pata"])), _scenes(options))
    missing = listed.filter(~pl.col("image").is_in(frame["image"].to_list()))
    if not missing.height:
        return ()
    some = ", ".join(missing["image"].head(5)) + (" ..." if missing.height > 5 else "")
    return (LeftOut(f"{missing.height:,} of {listed.height:,} photographs: {some}", "No such file in the folder."),)


def _paired(frame: pl.DataFrame, per_cell: int, seed: int) -> pl.DataFrame:
    """Pairs of pictures of two identities with one activity, or of two portraits, where each has several."""
    listed = identity_pairs(frame, seed, per_cell)
    contrast = pl.when(pl.col("activity").is_null()).then(pl.lit("portrait")).otherwise(pl.lit("identity"))
    return listed.with_columns(
        pl.concat_str("image_1", "image_2", separator=" + ").alias("pair"),
        contrast.alias("contrast"),
        pl.col("gender_1").alias("gender"),
    ).drop("gender_1", "gender_2")


def _levels(frame: pl.DataFrame, column: str) -> list[str]:
    found: dict[str, None] = {}
    for name in (column, f"{column}_1", f"{column}_2"):
        if name in frame.columns:
            found.update(dict.fromkeys(frame[name].drop_nulls().unique(maintain_order=True)))
    return list(found)


def _selected(frame: pl.DataFrame, chosen: Selection) -> pl.DataFrame:
    """The pictures that were chosen by name; of composed pairs those of which both halves were."""
    for column, wanted in (
        ("gender", chosen.genders), ("dimension", chosen.dimensions), ("identity", chosen.identities),
        ("activity", chosen.activities), ("contrast", chosen.contrasts),
    ):  # fmt: skip
        for name in (column, f"{column}_1", f"{column}_2"):
            if wanted and name in frame.columns:
                frame = frame.filter(pl.col(name).is_null() | pl.col(name).is_in(wanted))
    if not frame.height:
        raise DataError("None of the pictures is of the genders, dimensions, identities and activities chosen.")
    return frame
