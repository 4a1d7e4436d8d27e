"""Pictures of VisBias and what is asked about each: people, pairs of them, fictional species, and forms."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers.free_text import AT_ONCE
from facevalue.design import Block, Factor
from facevalue.design.sampling import UnitLayout, Units, draw_pairs
from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.settings import Options, chosen, located, names, whole
from facevalue.protocol.sources import PictureSource, check_listed, files, list_pictures, own_manifest, show_pictures
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
from facevalue.studies.visbias.settings import COMPOSITE, DRAWN, GROUPS, questions_asked, tasks_asked
from facevalue.types import OptionValue

_COLUMNS = ("image", "path", "identity", "set")
PLAIN, SWAPPED = "plain", "swapped"
ORDERS = (PLAIN, SWAPPED)
"""A pair as it stands with the plain question; its images swapped with the wording turned round: its negation."""
PEOPLE, SPECIES = "people", "species"
KEPT = ("set", "race", "skin_tone", "gender", "species", "occupation")
"""Columns of a manifest that come along with each image, besides the groups that the user names."""
TOGETHER = ("occupation", "species")
"""Factors that samples tell apart besides the groups."""


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
_SELECTED = "the people that you choose have it"
_GROUPED = "or 'gender', or 'skin_tone', or another that --group names: groups of people are compared"


@dataclass(frozen=True)
class PeoplePictures:
    """Pictures that can be shown: a row for each person or being, the factors compared, and what is left out."""

    frame: pl.DataFrame
    groups: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def kinds(self) -> list[tuple[str, pl.DataFrame]]:
        """Images of people, and those of species, where there are any."""
        if SPECIES not in self.frame.columns:
            return [(PEOPLE, self.frame)]
        beings = pl.col(SPECIES).is_not_null()
        frames = ((PEOPLE, self.frame.filter(~beings)), (SPECIES, self.frame.filter(beings)))
        return [(kind, _without_empty(rows)) for kind, rows in frames if rows.height]


def read_pictures(options: Options, manifest: pl.DataFrame | None = None) -> PeoplePictures:
    """Read the pictures that were chosen, or list those that are drawn; a stored manifest is used as it is."""
    frame, left_out = list_pictures(SOURCES, options, manifest)
    if manifest is not None:
        return PeoplePictures(manifest, _groups(manifest, options), left_out)
    if options["manifest"]:
        check_listed(frame, _needed_columns(frame, options), options)
    frame = _select_images(frame, options)
    if options["species"]:
        beings = _beings(options)
        twice = set(frame["image"]) & set(beings["image"])
        if twice:
            raise DataError(f"The image {min(twice)!r} is there of a person and of a being: rename one.")
        frame = pl.concat([frame, beings], how="diagonal")
    return PeoplePictures(frame, _groups(frame, options), left_out)


def _needed_columns(frame: pl.DataFrame, options: Options) -> Iterator[Column]:
    """Columns of the user's own list without which nothing is compared, or nobody could be chosen."""
    groups = names(options, "group")
    if not groups and not any(name in frame.columns for name in GROUPS):
        yield Column("race", _GROUPED, needed=True)
    for name in groups:
        yield Column(name, "groups are compared by it", needed=True)
    for name in FACTORS:
        if names(options, name):
            yield Column(name, _SELECTED, needed=True, instead=("skin_tone",) if name == "race" else ())


def source_of(options: Options, pictures: PeoplePictures, forms: tuple[Form, ...]) -> MixedSource:
    """Source of all that the study shows."""
    images = [(frozenset(rows["image"]), _images(options, people, rows)) for people, rows in pictures.kinds]
    kind = images[0][1].kind if pictures.kinds[0][0] == PEOPLE else Kind.ILLUSTRATED
    form_source = FormSource(forms) if forms else None
    return MixedSource(images, kind, form_source, composite=options["images"] == COMPOSITE, swapped=SWAPPED)


def _images(options: Options, people: str, pictures: pl.DataFrame) -> Source:
    if people == PEOPLE:
        return show_pictures(SOURCES, options, pictures)
    if options["species"] == DRAWN:
        return drawn_species.species_source()
    return FileSource(pictures, Path(str(options["species_root"])))


def spelled_out(options: Options) -> dict[str, OptionValue]:
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


def _beings(options: Options) -> pl.DataFrame:
    if options["species"] == DRAWN:
        return drawn_species.species_manifest().select("image", "identity", "set", SPECIES)
    species = Column(SPECIES, "of the being", needed=True, filled=True)
    return own_manifest(options, (species,), "species", "species_root")


def _select_images(frame: pl.DataFrame, options: Options) -> pl.DataFrame:
    """The images that were chosen by name."""
    for factor in FACTORS:
        column = "skin_tone" if factor == "race" and factor not in frame.columns else factor
        if levels := names(options, factor):
            present = frame[column].drop_nulls().unique(maintain_order=True).to_list()
            frame = frame.filter(pl.col(column).is_in(chosen(column, levels, present)))
    if frame.is_empty():
        raise DataError("No image is left: none has all of the race, gender and occupation that were chosen.")
    return frame


def _groups(frame: pl.DataFrame, options: Options) -> tuple[str, ...]:
    """Factors to compare: those named, else those of `GROUPS` that the pictures have."""
    wished, factors = names(options, "group"), [name for name in frame.columns if name not in _COLUMNS]
    for name in wished:
        if name not in factors:
            raise UnknownNameError("factor of the pictures", name, factors)
    groups = [name for name in GROUPS if name in frame.columns and frame[name].null_count() < frame.height]
    return tuple(dict.fromkeys((*wished, *(name for name in groups if name == SPECIES or not wished))))


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
    PictureSource("", lambda _: Listing(workers.worker_manifest()), lambda _, __: workers.worker_source(), _NOT_DRAWN),
)
"""The authors' photographs of people, the user's own pictures, or drawn workers."""


# Trials: images, pairs of them and forms, each with its prompts (sections 2 and 3).


def layout(
    kinds: Sequence[tuple[str, pl.DataFrame]], groups: Sequence[str], forms: Sequence[str], options: Options
) -> UnitLayout:
    """Lay the tasks out: a block each, those of fictional species apart.

    Units are an image with its questions, a pair both ways round, a form; their strata are groups, occupations apart.
    `forms`: what is filled in beforehand, as a text each.
    """
    tasks, questions = tasks_asked(options), questions_asked(options)
    compared = [question.name for question in tables.comparisons() if question.name in questions]
    units: list[Units] = []
    for kind, frame in kinds:
        for task in tasks:
            if task == "mcq":
                prompts = _prompts([f"mcq {name}" for name in questions], questions)
                units.append(_image_units(task, kind, frame, groups, (prompts,)))
            elif task == "yesno" and compared:
                units.append(_pair_units(kind, frame, groups, options, compared))
            elif task == "description" and kind == PEOPLE:
                draws = Factor("draw", tuple(map(str, range(count_draws(options)))))
                units.append(_image_units(task, kind, frame, groups, (_prompts((task,)), draws)))
    for task in ("form", "text-form"):
        if task in tasks:
            constants = {"task": task, **({"shown": "text"} if task == "text-form" else {})}
            axis = Factor("form", tuple(map(str, range(len(forms)))), {"filled": tuple(forms)})
            units.append(Units(Block(task, (axis,), (_prompts((task,)),), constants), 1, [0] * len(forms)))
    if not units:
        raise DataError("Nothing is left to ask: the tasks that were chosen do not ask these questions.")
    return UnitLayout(tuple(units))


def count_draws(options: Options) -> int:
    """Requests for descriptions of one image; the released prompt asks for several at once."""
    descriptions = whole(options, "descriptions", 1, 1000)
    return -(-descriptions // AT_ONCE) if options["prompts"] == "released" else descriptions


def _prompts(prompts: Sequence[str], questions: Sequence[str] | None = None) -> Factor:
    """The prompt axis: names that tell prompts of different tasks apart, and the question that each asks."""
    return Factor("prompt", tuple(prompts), {"question": tuple(questions or [None] * len(prompts))})


def _image_units(
    task: str, kind: str, frame: pl.DataFrame, groups: Sequence[str], prompts: tuple[Factor, ...]
) -> Units:
    levels = {c: tuple(frame[c].cast(pl.String)) for c in _kept_columns(frame, groups)}
    images = Factor("image", tuple(frame["image"]), levels)
    strata = _codes(frame, (*groups, *TOGETHER)).tolist()
    name = task if kind == PEOPLE else f"{task} {kind}"
    return Units(Block(name, (images,), prompts, {"task": task}), len(prompts[-1]), strata)


def _kept_columns(frame: pl.DataFrame, groups: Sequence[str]) -> list[str]:
    return [c for c in dict.fromkeys((*KEPT, *groups)) if c in frame.columns]


def _pair_units(
    kind: str, frame: pl.DataFrame, groups: Sequence[str], options: Options, questions: Sequence[str]
) -> Units:
    listed = drawn_pairs(frame, whole(options, "pairs", 1), whole(options, "pair_seed", 0), groups)
    attributes: dict[str, tuple[str | None, ...]] = {"within": tuple(listed["within"])}
    for side in ("1", "2"):
        people = listed.select(image=f"image_{side}").join(frame, on="image", how="left", maintain_order="left")
        attributes[f"image_{side}"] = tuple(people["image"])
        attributes |= {f"{c}_{side}": tuple(people[c].cast(pl.String)) for c in _kept_columns(frame, groups)}
    axes = (Factor("pair", tuple(listed["pair"]), attributes), Factor("order", ORDERS))
    prompts = _prompts([f"yesno {name}" for name in questions], questions)
    strata = listed["within"].fill_null("").rank("dense").cast(pl.Int64).to_list()
    name = "yesno" if kind == PEOPLE else f"yesno {kind}"
    return Units(Block(name, axes, (prompts,), {"task": "yesno"}), len(ORDERS) * len(prompts), strata)


def drawn_pairs(frame: pl.DataFrame, count: int, seed: int, groups: Sequence[str]) -> pl.DataFrame:
    """Draw pairs of two images of different groups: people of one occupation, or beings of two species.

    "We randomly select ten pairs of individuals within each occupation" (section 3.2); the released code first draws
    two different groups of race and gender. Species are the groups of the negative control (section 4.1), and it has as
    many pairs of each as there are of an occupation.

    Returns columns `pair` (unique name), `image_1`, `image_2` and `within`, the occupation (null where all belong
    together). There are `count` pairs of each occupation; for beings, times the species; all where that is fewer.

    Examples
    --------
    >>> images = pl.DataFrame({"image": ["a", "b", "c"], "gender": ["f", "m", "f"], "occupation": ["cook"] * 3})
    >>> sorted(sorted(pair) for pair in drawn_pairs(images, 10, 1, ["gender"]).select("image_1", "image_2").rows())
    [['a', 'b'], ['b', 'c']]
    """
    beings = SPECIES in frame.columns and frame[SPECIES].null_count() < frame.height
    column = None if beings or "occupation" not in frame.columns or not frame["occupation"].count() else "occupation"
    within = frame[column].cast(pl.String) if column else pl.Series([None] * frame.height, dtype=pl.String)
    group = _codes(frame, (SPECIES,) if beings else groups)
    rows: list[tuple[str, str, str | None]] = []
    for at, level in enumerate(within.unique(maintain_order=True).to_list()):
        in_level = within.eq_missing(pl.Series([level], dtype=pl.String))
        pairs_wanted = count * (frame[SPECIES].n_unique() if beings else 1)
        images, kinds = frame["image"].filter(in_level), group[in_level.to_numpy()]
        places = draw_pairs(kinds, pairs_wanted, (seed, at), any_two=len(set(group.tolist())) < 2)
        rows += [(images[i], images[j], level) for i, j in zip(*(d.tolist() for d in places), strict=True)]
    if not rows:
        kind = f" of one {column}" if column else ""
        raise DataError(f"There are no two images{kind} to compare: leave out the task yesno, or show more.")
    out = pl.DataFrame(rows, schema=dict.fromkeys(("image_1", "image_2", "within"), pl.String), orient="row")
    return out.select(pl.concat_str("image_1", "image_2", separator=" + ").alias("pair"), pl.all())


def _codes(frame: pl.DataFrame, factors: Sequence[str]) -> npt.NDArray[np.int64]:
    """The same number for images with the same levels of these factors."""
    by = [c for c in dict.fromkeys(factors) if c in frame.columns]
    if not by:
        return np.zeros(frame.height, dtype=np.int64)
    key = frame.select(pl.concat_str([pl.col(c).cast(pl.String).fill_null("") for c in by], separator="\x1f"))
    return key.to_series().rank("dense").cast(pl.Int64).to_numpy()
