"""Parquet files read by name: no path is ever taken for a pattern, whatever brackets and stars it holds."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl


def read_table(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a file.

    Raises
    ------
    polars.exceptions.PolarsError, OSError
        It can't be read.
    """
    return pl.read_parquet(path, columns=None if columns is None else list(columns), glob=False)


def scan_tables(paths: Sequence[Path]) -> pl.LazyFrame:
    """Read files of one schema as they are needed, in this order."""
    return pl.scan_parquet(list(paths), glob=False)


def read_metadata(path: Path) -> dict[str, str]:
    """Read what was written into a file beside its columns."""
    with path.open("rb") as file:  # given a path, this would be a pattern
        return pl.read_parquet_metadata(file)
