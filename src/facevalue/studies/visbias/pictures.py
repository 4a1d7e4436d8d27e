"""Pictures of VisBias: the authors' photographs, the user's own, or drawn workers; fictional species; and forms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.settings import chosen as matching
from facevalue.protocol.settings import located
from facevalue.protocol.sources import PictureSource, files, list_pictures, own_manifest, show_pictures
from facevalue.protocol.study import LeftOut
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.drawings import species as drawn_species
from facevalue.stimuli.drawings import workers
from facevalue.stimuli.folders import Levels, read_folder
from facevalue.stimuli.forms import Form, FormSource
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.manifest_rows import Column, Listing
from facevalue.stimuli.mixed_stimuli import MixedSource
from facevalue.studies.visbias import tables
from facevalue.studies.visbias.design import PEOPLE, SPECIES, SWAPPED
from facevalue.studies.visbias.settings import DRAWN, GROUPS, Selection
from facevalue.types import OptionValue

_COLUMNS = ("image", "path", "identity", "set")


def _spellings_of(factor: str) -> Mapping[str, Sequence[str]]:
    return {level.name: level.folders for level in FACTORS[factor]()}


PATTERN = "{occupation}/{race}_{gender}/{n}"
"""Paths of the authors' photographs (section 2.1)."""
FACTORS = {"occupation": tables.occupations, "race": tables.races, "gender": tables.genders}
COLUMNS = (
    Column("identity", "whose picture it is; each picture counts as a person of its own without the column"),
    Column("occupation", "what the person does", levels=partial(_spellings_of, "occupation")),
    Column("race", "as perceived; groups are compared", levels=partial(_spellings_of, "race")),
    Column("gender", "as perceived; groups are compared", levels=partial(_spellings_of, "gender")),
    Column("skin_tone", "of the person; groups are compared"),
)
"""Columns of a manifest."""


@dataclass(frozen=True)
class PeoplePictures:
    """Pictures that can be shown: a row for each person or being, the factors compared, and what is left out."""

    frame: pl.DataFrame
    groups: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def parts(self) -> list[tuple[str, pl.DataFrame]]:
        """Images of people, and those of species, where there are any."""
        if SPECIES not in self.frame.columns:
            return [(PEOPLE, self.frame)]
        beings = pl.col(SPECIES).is_not_null()
        frames = ((PEOPLE, self.frame.filter(~beings)), (SPECIES, self.frame.filter(beings)))
        return [(kind, _without_empty(rows)) for kind, rows in frames if rows.height]


def read_pictures(
    options: Mapping[str, OptionValue], chosen: Selection, manifest: pl.DataFrame | None = None
) -> PeoplePictures:
    """Read the pictures that were chosen, or list those that are drawn; a stored manifest is used as it is."""
    frame, left_out = list_pictures(SOURCES, options, manifest)
    if manifest is not None:
        return PeoplePictures(manifest, _groups(manifest, chosen), left_out)
    frame = _select_images(frame, chosen)
    if options["species"]:
        beings = _beings(options)
        twice = set(frame["image"]) & set(beings["image"])
        if twice:
            raise DataError(f"The image {min(twice)!r} is there of a person and of a being: rename one.")
        frame = pl.concat([frame, beings], how="diagonal")
    return PeoplePictures(frame, _groups(frame, chosen), left_out)


def source(
    options: Mapping[str, OptionValue], pictures: PeoplePictures, forms: tuple[Form, ...], chosen: Selection
) -> MixedSource:
    """Source of all that the study shows."""
    images = [(frozenset(rows["image"]), _images(options, people, rows)) for people, rows in pictures.parts]
    kind = images[0][1].kind if pictures.parts[0][0] == PEOPLE else Kind.ILLUSTRATED
    form_source = FormSource(forms) if forms else None
    return MixedSource(images, kind, form_source, composite=chosen.composite, swapped=SWAPPED)


def _images(options: Mapping[str, OptionValue], people: str, pictures: pl.DataFrame) -> Source:
    if people == PEOPLE:
        return show_pictures(SOURCES, options, pictures)
    if options["species"] == DRAWN:
        return drawn_species.species_source()
    return FileSource(pictures, Path(str(options["species_root"])))


def spelled_out(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """The options with all paths spelled out."""
    out = located(options, ("folder",), ("manifest",), ("stereotype_words",))
    if not out["species_root"] and out["species"] not in ("", DRAWN):
        out["species_root"] = str(Path(str(out["species"])).parent.resolve())
    return out


def photographs(each: int = tables.photographs()) -> pl.DataFrame:
    """Images as the paper has them: of five races, two genders and seven occupations, so many each (section 2.1).

    Examples
    --------
    >>> photographs().height
    700
    """
    rows = [
        (f"{job.name}/{race.name}_{gender.name}/{number}", race.name, gender.name, job.name)
        for job, race, gender in product(tables.occupations(), tables.races(), tables.genders())
        for number in range(1, each + 1)
    ]
    columns = ("image", "race", "gender", "occupation")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def read_photographs(root: Path) -> pl.DataFrame:
    """List the authors' photographs, by occupation, race and gender in the paper's order and then by number.

    Who is on two photographs is not known: each is an identity of its own.
    """
    frame = read_folder(root, [PATTERN], {name: Levels(_spellings_of(name)) for name in FACTORS})
    return frame.sort(*(pl.col(name).cast(pl.Enum(list(_spellings_of(name)))) for name in FACTORS), maintain_order=True)


def _beings(options: Mapping[str, OptionValue]) -> pl.DataFrame:
    if options["species"] == DRAWN:
        return drawn_species.species_manifest().select("image", "identity", "set", SPECIES)
    species = Column(SPECIES, "of the being", needed=True, filled=True)
    return own_manifest(options, (species,), "species", "species_root")


def _select_images(frame: pl.DataFrame, chosen: Selection) -> pl.DataFrame:
    """The images that were chosen by name."""
    race = "race" if "race" in frame.columns else "skin_tone"
    for column, names in ((race, chosen.races), ("gender", chosen.genders), ("occupation", chosen.occupations)):
        if not names:
            continue
        if column not in frame.columns:
            raise UnknownNameError("factor of the pictures", column, _factors(frame))
        levels = frame[column].drop_nulls().unique(maintain_order=True).to_list()
        frame = frame.filter(pl.col(column).is_in(matching(column, names, levels)))
    if frame.is_empty():
        raise DataError("No image is left: none has all of the race, gender and occupation that were chosen.")
    return frame


def _groups(frame: pl.DataFrame, chosen: Selection) -> tuple[str, ...]:
    """Factors to compare: those named, else those of `GROUPS` that the pictures have."""
    for name in chosen.groups:
        if name not in _factors(frame):
            raise UnknownNameError("factor of the pictures", name, _factors(frame))
    groups = [name for name in GROUPS if name in frame.columns and frame[name].null_count() < frame.height]
    species = [SPECIES] if SPECIES in groups else []
    return tuple(dict.fromkeys((*chosen.groups, *species))) if chosen.groups else tuple(groups)


def _factors(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if name not in _COLUMNS]


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    """Drop the columns that hold nothing, such as the race of beings."""
    return frame.select(c for c in frame.columns if c in _COLUMNS or frame[c].null_count() < frame.height)


_NOT_DRAWN = (
    ("race", "Drawings have a skin tone, which is no race."),
    ("ten pictures of each group", "Each occupation is drawn once for each gender and skin tone."),
)
"""Omissions of the drawings from the paper."""
SOURCES = (
    PictureSource(
        "folder", lambda options: Listing(read_photographs(Path(str(options["folder"])))), files(Kind.PHOTOGRAPHS)
    ),
    PictureSource("manifest", lambda options: Listing(own_manifest(options, COLUMNS)), files()),
    PictureSource(
        "",
        lambda _: Listing(workers.worker_manifest()),
        lambda _, __: workers.worker_source(),
        _NOT_DRAWN,
    ),
)
"""The authors' photographs of people, the user's own pictures, or drawn workers."""
