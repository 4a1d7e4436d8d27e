"""Tables of answers that authors released, read with a sentence for whatever is wrong with them."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

import polars as pl

from facevalue.errors import DataError, UnknownNameError

T = TypeVar("T")


def fold(name: str) -> str:
    """A name without case and marks, as files spell it in several ways.

    Examples
    --------
    >>> fold("GPT-4V") == fold("gpt_4v")
    True
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())


def of_models(tables: Mapping[str, T], models: Iterable[str], file: str) -> tuple[dict[str, T], list[str]]:
    """Tables of the models that a paper prints, by their names there, and a notice for each of the others.

    Examples
    --------
    >>> of_models({"gpt4v": 1, "x": 2}, ["GPT-4V"], "a.csv")
    ({'GPT-4V': 1}, ['x in a.csv is left out: the paper prints nothing of it.'])
    """
    names = {fold(name): name for name in models}
    of_paper = {names[fold(name)]: table for name, table in tables.items() if fold(name) in names}
    others = [name for name in tables if fold(name) not in names]
    return of_paper, [f"{name} in {file} is left out: the paper prints nothing of it." for name in others]


def read_columns(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of a CSV file, as text."""
    frame = read_csv(path)
    require(path, frame, columns)
    return frame.select(columns)


def read_csv(path: Path) -> pl.DataFrame:
    """All columns of a CSV file, as text."""
    try:
        return pl.read_csv(path, infer_schema=False, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise damaged(path, error) from None


def require(path: Path, frame: pl.DataFrame, columns: Sequence[str]) -> None:
    """Say which columns a file lacks."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        names = f"column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
        near = [column for name in missing for column in get_close_matches(name, frame.columns, n=1)]
        hint = f" Is it {near[0]!r}?" if near else ""
        raise DataError(f"{path.name} lacks the {names}.{hint} Its columns: {', '.join(frame.columns[:40]) or 'none'}.")


def damaged(path: Path, error: Exception) -> DataError:
    """What to raise where a file cannot be read."""
    return DataError(f"{path.name} cannot be read: {(str(error) or type(error).__name__).splitlines()[0]}")


def counts(frame: pl.DataFrame, name: str, path: Path) -> pl.Series:
    """A column of text as whole numbers; null where it is empty."""
    cells = frame[name].replace("", None)
    numbers = cells.cast(pl.Int64, strict=False)
    wrong = cells.filter(cells.is_not_null() & (numbers.is_null() | (numbers < 0)))
    if len(wrong):
        raise DataError(f"{path.name}: {name} is {wrong[0]!r}, not a count.")
    return numbers


def levels(frame: pl.DataFrame, column: str, spellings: Mapping[str, Sequence[str]]) -> pl.Series:
    """A column as levels, each of which has several spellings.

    Examples
    --------
    >>> levels(pl.DataFrame({"gender": [" Woman", "man"]}), "gender", {"f": ["woman"], "m": ["man"]}).to_list()
    ['f', 'm']
    """
    level_of = {spelling: level for level, listed in spellings.items() for spelling in listed}
    cells = frame[column].cast(pl.String).str.to_lowercase().str.strip_chars()
    levels = cells.replace_strict(level_of, default=None, return_dtype=pl.String)
    wrong = cells.filter(levels.is_null())
    if len(wrong):
        raise UnknownNameError(column, str(wrong[0]), spellings)
    return levels
