"""Reader of PATA (Protected Attribute Tag Association; Seth et al., 2023): a list of labels and links to photographs.

A line is `{scene}_{race}_{gender}_{age}|URL`; scenes may have underscores of their own ("gun_range"). PATA publishes
links, not pictures. FaceValue follows none of them: the user has got the pictures, and this reader finds them in a
folder. The labels are what PATA's authors perceived, not what the people say of themselves.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.folders import files_below
from facevalue.stimuli.manifest import SUFFIXES
from facevalue.stimuli.patterns import Levels, PathPattern
from facevalue.untrusted_files import read_text

RACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"Black": (), "Caucasian": (), "East Asian": (), "Hispanic": (), "Indian": ()}
)
"""PATA's five groups as VIGNETTE prints them (Tables 15 to 19); labels write them as one word."""

ACTIVITIES: Mapping[str, str] = MappingProxyType({"kitchen": "cooking", "computer": "programming"})
"""Scenes whose activity has another name in VIGNETTE. The paper takes pictures "related to either cooking or
programming" and does not say which scenes these are; of PATA's 24, these two are the nearest."""

MAX_LIST_BYTES = 64 * 2**20
"""Largest list."""
MAX_FILES = 200_000
"""Most pictures in the folder."""

_LABEL = PathPattern(
    "{scene}_{race}_{gender}_{age}",
    {
        "race": Levels(RACES),
        "gender": Levels({"male": (), "female": ()}),
        "age": Levels({"young": (), "old": ()}),
    },
)
_SHOWN = 5
_SPACES = re.compile(r"[-_\s]+")
_COLUMNS = ("image", "tag", "identity", "gender", "age", "scene", "activity", "url")


def read_pata_list(path: Path, scenes: Sequence[str] = ()) -> pl.DataFrame:
    """Read the list of labels and links as published, of these scenes (by name or activity) or of all.

    One row per line, in order: `line` (from 1), `image` (the label and the number of the line, counted from 0), `tag`
    (the label as written), `identity` (such as "East Asian"), `gender`, `age` ("young" or "old"), `scene`, `activity`
    (see `ACTIVITIES`; else the scene), `url`. A `DataError` names the first five lines of another form.
    """
    rows: list[tuple[str | int, ...]] = []
    wrong: list[str] = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        tag, bar, url = line.strip().partition("|")
        fields = _parts(tag)
        if isinstance(fields, tuple) and bar and url.strip():
            race, gender, age, scene = fields
            columns = (f"{tag}_{number - 1}", tag, race, gender, age, scene, ACTIVITIES.get(scene, scene))
            rows.append((number, *columns, url.strip()))
        else:
            problem = fields if isinstance(fields, str) else "no link after a '|'"
            wrong.append(f"line {number}: {problem}")
    if wrong:
        more = f"; and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        raise DataError(f"{path.name}: {'; '.join(wrong[:_SHOWN])}{more}. A line is scene_race_gender_age|URL.")
    if not rows:
        raise DataError(f"{path.name}: holds no lines scene_race_gender_age|URL.")
    schema: dict[str, pl.DataType] = {"line": pl.Int64(), **dict.fromkeys(_COLUMNS, pl.String())}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if not scenes:
        return frame
    names = dict.fromkeys([*frame["scene"].unique(maintain_order=True), *frame["activity"].unique(maintain_order=True)])
    chosen = [_fold_spaces(scene) for scene in scenes]
    for scene in chosen:
        if scene not in names:
            raise UnknownNameError("scene", scene, names)
    return frame.filter(pl.col("scene").is_in(chosen) | pl.col("activity").is_in(chosen))


def read_pata(
    path: Path, root: Path, scenes: Sequence[str] = (), files: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """List PATA's photographs that are in a folder, or in folders below.

    Many of the links have died, so that lines without a picture are passed over (`missing_photographs`). A picture is
    called by the label and the number of its line counted from 0 (`kitchen_indian_male_young_17.jpg`), by that number
    alone (`17.jpg`), or by a label that is there once; or `files` say where that of each link is, relative to the root.
    The link of a row says where the picture came from; it is never followed.
    """
    listed = read_pata_list(path, scenes)
    paths = _by_name(listed, path, root) if files is None else [files.get(url) for url in listed["url"]]
    pictured = listed.with_columns(pl.Series("path", paths, pl.String)).drop_nulls("path")
    if not pictured.height:
        raise DataError(
            f"{root}: none of the {listed.height:,} pictures of {path.name} is there. They are called "
            f"{listed['image'][0]}.jpg or {listed['line'][0] - 1}.jpg, with the number of the line counted from 0."
        )
    return pictured.select("image", "path", "identity", "gender", "age", "activity", "scene", "url")


def missing_photographs(path: Path, scenes: Sequence[str], pictured: pl.DataFrame) -> str:
    """Photographs that the list has and a folder has not, for people; empty if none. Many of PATA's links have died."""
    listed = read_pata_list(path, scenes)
    missing = listed.filter(~pl.col("image").is_in(pictured["image"].to_list()))
    if not missing.height:
        return ""
    some = ", ".join(missing["image"].head(_SHOWN)) + (" ..." if missing.height > _SHOWN else "")
    return f"{missing.height:,} of {listed.height:,} photographs: {some}"


def _text(path: Path) -> str:
    return read_text(path, MAX_LIST_BYTES, "a list of pictures")


def _parts(tag: str) -> tuple[str, str, str, str] | str:
    """Return race, gender, age and scene of a label; a string says what is wrong with it."""
    readings = _LABEL.readings(tag.strip())
    if len(readings) != 1:
        return _LABEL.misfit(tag.strip()[:80]).text
    fields = dict(readings[0])
    return fields["race"], fields["gender"], fields["age"], _fold_spaces(fields["scene"])


def _fold_spaces(name: str) -> str:
    return _SPACES.sub(" ", name).strip().lower()


def _by_name(listed: pl.DataFrame, path: Path, root: Path) -> list[str | None]:
    pictures = _pictures(root)
    # A label alone is enough only if no other line of the whole list has it, whatever scenes were chosen.
    often = Counter(read_pata_list(path)["tag"])
    matches: list[str | None] = []
    for line, image, tag in listed.select("line", "image", "tag").iter_rows():
        names = [image.lower(), str(line - 1), *([tag.lower()] if often[tag] == 1 else [])]
        paths = next((pictures[name] for name in names if name in pictures), [])
        if len(paths) > 1:
            clash = f"{paths[0]} and {paths[1]} could both be the picture of line {line} of {path.name}"
            raise DataError(f"{root}: {clash}. Keep one.")
        matches.append(paths[0] if paths else None)
    return matches


def _pictures(root: Path) -> dict[str, list[str]]:
    """Paths of the pictures below a folder, by stem in lower case."""
    pictures: dict[str, list[str]] = {}
    for path in files_below(root, SUFFIXES, MAX_FILES, "pictures"):
        pictures.setdefault(PurePosixPath(path).stem.lower(), []).append(path)
    return pictures
