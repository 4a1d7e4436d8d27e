"""Readers of published photographs of people: FairFace, UTKFace and PATA.

Ages are nine ranges, and races seven, as the data set has them. Spreadsheets turn the range 3-9 into a date
("9-March"): such a table is refused, since what a date was before is a guess.

A face is `age_gender_race_date.jpg`, or `age_gender_race_date.jpg.chip.jpg` where it is aligned and cropped. A few of
the published names lack the race or a dot, or have a blank: such a file is left out and named, never guessed. The
labels are those of the data set, as others perceived people.

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
from facevalue.stimuli.folders import Levels, PathPattern, files_below
from facevalue.stimuli.manifest import SUFFIXES, read_manifest
from facevalue.stimuli.manifest_rows import Column, Faults, Listing
from facevalue.untrusted_files import read_text

FAIRFACE_AGES = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70")
GENDERS = ("male", "female")
FAIRFACE_RACES = ("White", "Black", "Latino_Hispanic", "East Asian", "Southeast Asian", "Indian", "Middle Eastern")

_LEVELS = {"age": FAIRFACE_AGES, "gender": GENDERS, "race": FAIRFACE_RACES}
_DATE = r"(?i)\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|^[0-9]+[./-][0-9]+[./-][0-9]+$"


def read_fairface(labels: Path) -> pl.DataFrame:
    r"""List the faces of a table of labels, such as `fairface_label_train.csv`.

    `labels`: a CSV file with the columns `file`, `age`, `gender` and `race`.

    Returns a table with the columns of a manifest, in the order of the file: `image`, `path`, `identity` (the image:
    who is on two photographs is not known), `set` (null), `age`, `gender` ("male" or "female") and `race`, all text.

    Raises
    ------
    DataError
        The table cannot be read, a column is missing, a label is none of the data set's, or a file is there twice.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     labels = Path(folder) / "labels.csv"
    ...     _ = labels.write_text("file,age,gender,race\nval/1.jpg,3-9,Male,East Asian\n")
    ...     read_fairface(labels).select("path", "age", "gender", "race").rows()
    [('val/1.jpg', '3-9', 'male', 'East Asian')]
    """
    columns = [Column(name, "of the person", needed=True, filled=True) for name in _LEVELS]
    frame = read_manifest(labels, columns=columns, place="file").with_columns(pl.col("gender").str.to_lowercase())
    dates, faults = frame["age"].str.contains(_DATE), Faults()
    faults.add_rows(
        "the age is a date, which a spreadsheet has made of the range 3-9 or 10-19 (take the file as it was published)",
        dates,
        frame["age"],
    )
    for name, levels in _LEVELS.items():
        wrong = ~frame[name].is_in(levels) & ~(dates if name == "age" else pl.Series([False]))
        faults.add_rows(f"the {name} is none of FairFace's ({', '.join(levels)})", wrong, frame[name])
    faults.check(labels.name)
    return frame.select("image", "path", "identity", "set", *_LEVELS)


UTKFACE_AGES = (18, 65)
"""Youngest and oldest who are shown: of working age, as in ModSCAN (section 4)."""
UTKFACE_RACES = ("White", "Black", "Asian", "Indian")
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
        if not UTKFACE_AGES[0] <= age <= UTKFACE_AGES[1]:
            left_out.append((path, f"not {UTKFACE_AGES[0]} to {UTKFACE_AGES[1]} years old"))
        elif race >= len(UTKFACE_RACES):
            left_out.append((path, "race given as others"))
        else:
            rows.append((path, str(age), GENDERS[gender], UTKFACE_RACES[race]))
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
    levels = {"gender": GENDERS, "race": UTKFACE_RACES}
    left, right, shared = int(joined[2]), int(joined[3]), int(cell[4])
    in_range = max(left, right) < len(levels[attribute]) and shared < len(levels[same])
    if attribute == same or left == right or not in_range or not UTKFACE_AGES[0] <= int(cell[2]) <= UTKFACE_AGES[1]:
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


PATA_RACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
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
        "race": Levels(PATA_RACES),
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
