"""Reader for the folders of photographs of VisBias (section 2.1): `{occupation}/{race}_{gender}/{n}.jpg`.

The authors' data spell one occupation in two ways, so names are compared without case, spaces, hyphens and underscores.
Which names there are comes from the study; a folder that is none of them is an error, never a guess.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.folders import natural
from facevalue.stimuli.manifest import SUFFIXES

MAX_FILES = 200_000
"""Most images in a folder."""
FACTORS = ("occupation", "race", "gender")

Spellings = Mapping[str, Sequence[str]]
"""Levels of a factor, each with the names that folders may have for it. The level itself always is one."""

_APART = re.compile(r"[\s_\-]+")


def read_visbias_folders(folder: Path, occupations: Spellings, races: Spellings, genders: Spellings) -> pl.DataFrame:
    """Read folders of photographs as a manifest.

    `folder`: the folder that holds the folders of occupations. `occupations`, `races`, `genders`: the levels, each with
    its spellings.

    Returns text columns, one row per image, in the order of the levels and then by number: `image` (its path), `path`
    (relative to `folder`), `identity` (the image: who is on two photographs is not known), `set` (null), `occupation`,
    `race`, `gender`. `groups` says how many images each group has.

    Hidden files and folders, and files that are no images by their names, are passed over.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: is not a folder.")
    level_of = {_folded(name): level for level, names in occupations.items() for name in (level, *names)}
    groups = {
        _folded(a + b): (race, gender)
        for (race, of_race), (gender, of_gender) in product(races.items(), genders.items())
        for a, b in product((race, *of_race), (gender, *of_gender))
    }
    examples = [f"{names[0] if names else race}_{gender}" for race, names in races.items() for gender in genders]
    rows: dict[tuple[str, str, str, str], str] = {}
    for work in _folders(folder, folder):
        if _folded(work.name) not in level_of:
            raise UnknownNameError("occupation's folder", work.name, occupations)
        for people in _folders(work, folder):
            if _folded(people.name) not in groups:
                raise UnknownNameError(f"group's folder in {work.name}", people.name, examples)
            group = (level_of[_folded(work.name)], *groups[_folded(people.name)])
            for image in _images(people):
                path = image.relative_to(folder).as_posix()
                key = (*group, image.stem)
                if key in rows:
                    raise DataError(f"{' '.join(group)}: two images are called {image.stem}: {rows[key]} and {path}.")
                rows[key] = path
                if len(rows) > MAX_FILES:
                    raise DataError(f"{folder}: more than {MAX_FILES:,} images.")
    if not rows:
        raise DataError(f"{folder}: no images in folders called occupation/race_gender, such as nurse/asian_female.")
    places = [{level: at for at, level in enumerate(levels)} for levels in (occupations, races, genders)]

    def place(row: tuple[str, str, str, str]) -> tuple[object, ...]:
        return *(at[level] for at, level in zip(places, row, strict=False)), natural(row[3])

    data = [(rows[row], rows[row], rows[row], None, *row[:3]) for row in sorted(rows, key=place)]
    columns = ("image", "path", "identity", "set", *FACTORS)
    return pl.DataFrame(data, schema=dict.fromkeys(columns, pl.String), orient="row")


def groups(
    frame: pl.DataFrame, levels: Mapping[str, Sequence[str]] | None = None, factors: Sequence[str] = FACTORS
) -> pl.DataFrame:
    """Count the images of each group, those without any among them.

    `frame`: a manifest. `levels`: the levels of factors, also those of which there may be no image; those in the frame
    by default. `factors`: what makes a group. Images without a level of one of them are in no group.

    Returns one row per combination of levels: the factors and `images`.

    Examples
    --------
    >>> frame = pl.DataFrame({"race": ["a", "b"], "gender": ["female", "male"]})
    >>> groups(frame, factors=("race", "gender"))["images"].to_list()
    [1, 0, 0, 1]
    """
    for name in factors:
        if name not in frame.columns:
            raise UnknownNameError("factor of the manifest", name, frame.columns)
    levels_of = []
    for name in factors:
        present = frame[name].drop_nulls().unique(maintain_order=True).to_list()
        declared = list((levels or {}).get(name, ()))
        levels_of.append([*declared, *(level for level in present if level not in declared)])
    crossed = pl.DataFrame(list(product(*levels_of)), schema=dict.fromkeys(factors, pl.String), orient="row")
    counts = frame.select(pl.col(name).cast(pl.String) for name in factors).group_by(factors).len("images")
    joined = crossed.join(counts, on=list(factors), how="left", maintain_order="left")
    return joined.with_columns(pl.col("images").fill_null(0).cast(pl.Int64))


def _folded(name: str) -> str:
    return _APART.sub("", name).casefold()


def _entries(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 the names alone
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror}.") from error
    return (folder / name for name in names if not name.startswith("."))


def _folders(folder: Path, root: Path) -> Iterator[Path]:
    for path in _entries(folder):
        if path.is_dir():
            yield path
        elif path.suffix.lower() in SUFFIXES:
            place = path.relative_to(root).as_posix()
            raise DataError(f"{place}: an image outside of the folders called occupation/race_gender.")


def _images(folder: Path) -> Iterator[Path]:
    return (path for path in _entries(folder) if path.suffix.lower() in SUFFIXES and path.is_file())
