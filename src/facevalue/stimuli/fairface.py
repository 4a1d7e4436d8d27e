"""Reader of FairFace (Karkkainen and Joo, 2021): a table of labels, and the folder that its paths are relative to.

Ages are nine ranges, and races seven, as the data set has them. Spreadsheets turn the range 3-9 into a date
("9-March"): such a table is refused, since what a date was before is a guess.
"""

from pathlib import Path

import polars as pl

from facevalue.stimuli.columns import Column
from facevalue.stimuli.faults import Faults
from facevalue.stimuli.manifest import read_manifest

AGES = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70")
GENDERS = ("male", "female")
RACES = ("White", "Black", "Latino_Hispanic", "East Asian", "Southeast Asian", "Indian", "Middle Eastern")

_LEVELS = {"age": AGES, "gender": GENDERS, "race": RACES}
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
    faults.where(
        "the age is a date, which a spreadsheet has made of the range 3-9 or 10-19 (take the file as it was published)",
        dates,
        frame["age"],
    )
    for name, levels in _LEVELS.items():
        wrong = ~frame[name].is_in(levels) & ~(dates if name == "age" else pl.Series([False]))
        faults.where(f"the {name} is none of FairFace's ({', '.join(levels)})", wrong, frame[name])
    faults.check(labels.name)
    return frame.select("image", "path", "identity", "set", *_LEVELS)
