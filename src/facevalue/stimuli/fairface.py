"""Reader of FairFace (Karkkainen and Joo, 2021): a table of labels, and the folder that its paths are relative to.

Ages are nine ranges, and races seven, as the data set has them. Spreadsheets turn the range 3-9 into a date
("9-March"): such a table is refused, since what a date was before is a guess.
"""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.given import read_text
from facevalue.stimuli.manifest import SUFFIXES

AGES = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70")
GENDERS = ("male", "female")
RACES = ("White", "Black", "Latino_Hispanic", "East Asian", "Southeast Asian", "Indian", "Middle Eastern")
COLUMNS = ("file", "age", "gender", "race")
"""Columns that are read; others are passed over."""
MAX_BYTES = 64 * 2**20
"""Largest table."""

_SHOWN = 5
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DATE = re.compile(rf"(?i:\b(?:{_MONTHS}))|^\d+[./-]\d+[./-]\d+$", re.ASCII)


def read_fairface(labels: Path) -> pl.DataFrame:
    r"""List the faces of a table of labels, such as `fairface_label_train.csv`.

    `labels`: a CSV file with the columns `file`, `age`, `gender` and `race`.

    Returns a table with the columns of a manifest, in the order of the file: `image`, `path`, `identity` (the image:
    who is on two photographs is not known), `set` (null), `age`, `gender` ("male" or "female") and `race`, all text.

    Raises
    ------
    UnknownNameError
        A column is missing.
    DataError
        The table cannot be read, a label is none of the data set's, or a file is there twice.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     labels = Path(folder) / "labels.csv"
    ...     _ = labels.write_text("file,age,gender,race\nval/1.jpg,3-9,Male,East Asian\n")
    ...     read_fairface(labels).select("path", "age", "gender", "race").rows()
    [('val/1.jpg', '3-9', 'male', 'East Asian')]
    """
    reader = csv.DictReader(io.StringIO(read_text(labels, MAX_BYTES, "labels of FairFace"), newline=""), strict=True)
    try:
        columns = list(reader.fieldnames or ())
        for column in COLUMNS:
            if column not in columns:
                raise UnknownNameError(f"column of {labels.name}", column, columns)
        rows = [tuple((row[column] or "").strip() for column in COLUMNS) for row in reader]
    except csv.Error as error:
        raise DataError(f"{labels.name}: line {reader.line_num}: {error}.") from error
    frame = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String()), orient="row").with_columns(
        pl.col("gender").str.to_lowercase()
    )
    if frame.is_empty():
        raise DataError(f"{labels.name}: holds no faces.")
    dates = frame["age"].map_elements(lambda age: bool(_DATE.search(age)), pl.Boolean)
    if dates.any():
        first = frame["age"].filter(dates)[0]
        raise DataError(
            f"{labels.name}: the age is a date in {_rows(dates)} ({first!r}). A spreadsheet has turned the range 3-9 "
            "(or 10-19) into one: take the file as it was published."
        )
    for column, levels in (("age", AGES), ("gender", GENDERS), ("race", RACES)):
        _check(frame[column], levels, labels.name)
    wrong = pl.Series([Path(file).suffix.lower() not in SUFFIXES for file in frame["file"]])
    if wrong.any():
        raise DataError(f"{labels.name}: {frame['file'].filter(wrong)[0]!r} in {_rows(wrong)} is no name of a picture.")
    if (twice := frame["file"].is_duplicated()).any():
        raise DataError(
            f"{labels.name}: {frame['file'].filter(twice)[0]!r} is there more than once, in {_rows(twice)}."
        )
    image = pl.col("file")
    places = (image.alias("image"), image.alias("path"), image.alias("identity"), pl.lit(None, pl.String).alias("set"))
    return frame.select(*places, "age", "gender", "race")


def _check(column: pl.Series, levels: Sequence[str], name: str) -> None:
    wrong = ~column.is_in(levels)
    if wrong.any():
        error = UnknownNameError(column.name, column.filter(wrong)[0], levels)
        raise DataError(f"{name}: the {column.name} is none of FairFace's in {_rows(wrong)}. {error}")


def _rows(mask: pl.Series) -> str:
    """Rows for people, counted from 1 below the header."""
    rows = mask.arg_true()
    numbers = ", ".join(str(int(row) + 1) for row in rows[:_SHOWN])
    more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    return f"row {numbers}" if len(rows) == 1 else f"rows {numbers}{more}"
