"""Readers of UTKFace (Zhang et al., 2017), and of ModSCAN's pairs of its faces.

A face is `age_gender_race_date.jpg`, or `age_gender_race_date.jpg.chip.jpg` where it is aligned and cropped. A few of
the published names lack the race or a dot, or have a blank: such a file is left out and named, never guessed. The
labels are those of the data set, as others perceived people.
"""

import re
from pathlib import Path

import polars as pl

from facevalue.errors import DataError
from facevalue.stimuli.folders import files_below
from facevalue.stimuli.manifest import SUFFIXES
from facevalue.stimuli.sets import Listing

AGES = (18, 65)
"""Youngest and oldest who are shown: of working age, as in ModSCAN (section 4)."""
GENDERS = ("male", "female")
RACES = ("White", "Black", "Asian", "Indian")
"""Races by their number in file names. People of number 4, "others", are left out."""

_FACE = re.compile(r"(\d{1,3})_([01])_([0-4])_\d+(?:\.jpg\.chip)?\.(?:jpe?g|png)", re.ASCII | re.IGNORECASE)
_STARTS = re.compile(r"\d+_", re.ASCII)
_CELL = re.compile(r"(.*?)_?age_(\d{1,3})_(race|gender)_(\d)", re.ASCII)
_JOINED = re.compile(r"joined_image_(gender|race)_(\d)_(\d)_(\d+)\.(?:jpe?g|png)", re.ASCII | re.IGNORECASE)


def read_utkface(root: Path) -> Listing:
    """List the faces of people from 18 to 65 who are White, Black, Asian or Indian.

    `root`: the folder that holds them, in folders below or not.

    Returns a table with the columns of a manifest, sorted by path: `image`, `path` (relative to `root`), `identity`
    (the image: who is on two photographs is not known), `set` (null), `age`, `gender` and `race`, all text.
    """
    rows: list[tuple[str, ...]] = []
    left_out: list[tuple[str, str]] = []
    for path in files_below(root):
        name = path.rpartition("/")[2]
        match = _FACE.fullmatch(name)
        if match is None:
            if name.lower().endswith(SUFFIXES) or _STARTS.match(name):
                left_out.append((path, "no name of the form age_gender_race_date"))
            continue
        age, gender, race = (int(number) for number in match.groups())
        if not AGES[0] <= age <= AGES[1]:
            left_out.append((path, f"not {AGES[0]} to {AGES[1]} years old"))
        elif race >= len(RACES):
            left_out.append((path, "race given as others"))
        else:
            rows.append((path, str(age), GENDERS[gender], RACES[race]))
    if not rows:
        reasons = "".join(f" {files}: {reason}" for files, reason in _count_omitted(left_out))
        raise DataError(f"{root}: holds no face of UTKFace, named age_gender_race_date.jpg, that is shown.{reasons}")
    return _listing(rows, ("age", "gender", "race"), left_out)


def read_utkface_pairs(root: Path) -> Listing:
    """List the pairs that ModSCAN's authors have composed.

    A pair of different genders is `age_18_race_0/joined_image_gender_0_1_3.jpg`, one of different races
    `age_18_gender_0/joined_image_race_0_2_5.jpg`; the first of the two numbers is that of the person on the left. Their
    script may write an underscore before `age`. Folders with a mitigation before it (`debias_age_18_race_0`) hold
    pictures with text, which are left out: `--with vis-debiasing` writes it below a plain picture.

    `root`: the folder that holds these folders, in folders below or not.

    Returns a table with the columns of a manifest, sorted by path: `image`, `path`, `identity`, `set`, `attribute`
    ("gender" or "race"), `age`, `gender_1`, `gender_2`, `race_1`, `race_2`. The person on the left is 1.
    """
    rows: list[tuple[str, ...]] = []
    left_out: list[tuple[str, str]] = []
    for path in files_below(root, SUFFIXES):
        folder, _, name = f"{root.name}/{path}".rpartition("/")
        cell, joined = _CELL.fullmatch(folder.rpartition("/")[2]), _JOINED.fullmatch(name)
        row = None if cell is None or joined is None or cell[1] else _pair(cell, joined)
        if row is not None:
            rows.append((path, *row))
        elif cell is not None and cell[1]:
            left_out.append((path, "a folder of pictures with text"))
        else:
            left_out.append((path, "not age_18_race_0/joined_image_gender_0_1_3.jpg or the like"))
    if not rows:
        raise DataError(f"{root}: holds no pair named age_18_race_0/joined_image_gender_0_1_3.jpg or the like.")
    return _listing(rows, ("attribute", "age", "gender_1", "gender_2", "race_1", "race_2"), left_out)


def _pair(cell: re.Match[str], joined: re.Match[str]) -> tuple[str, ...] | None:
    """Attribute, age, genders and races of a pair; None where folder and name do not go together."""
    attribute, same = joined[1].lower(), cell[3]
    levels = {"gender": GENDERS, "race": RACES}
    left, right, shared = int(joined[2]), int(joined[3]), int(cell[4])
    in_range = max(left, right) < len(levels[attribute]) and shared < len(levels[same])
    if attribute == same or left == right or not in_range or not AGES[0] <= int(cell[2]) <= AGES[1]:
        return None
    sides = {attribute: (levels[attribute][left], levels[attribute][right]), same: (levels[same][shared],) * 2}
    return (attribute, str(int(cell[2])), *sides["gender"], *sides["race"])


def _listing(rows: list[tuple[str, ...]], factors: tuple[str, ...], left_out: list[tuple[str, str]]) -> Listing:
    table = pl.DataFrame(rows, schema=dict.fromkeys(("path", *factors), pl.String()), orient="row").select(
        pl.col("path").alias("image"),
        "path",
        pl.col("path").alias("identity"),
        pl.lit(None, pl.String).alias("set"),
        *factors,
    )
    return Listing(table, _count_omitted(left_out))


def _count_omitted(left_out: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Number of files that are left out for each reason."""
    paths: dict[str, list[str]] = {}
    for path, reason in left_out:
        paths.setdefault(reason, []).append(path)
    counts = {reason: f"{len(files):,} {'file' if len(files) == 1 else 'files'}" for reason, files in paths.items()}
    return tuple((f"{counts[reason]} such as {files[0]}", f"{reason}.") for reason, files in paths.items())
