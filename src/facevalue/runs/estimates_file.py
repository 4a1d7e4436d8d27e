"""Estimates file of a run folder."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from facevalue.csv_text import csv_bytes
from facevalue.errors import DataError, RunError
from facevalue.measures.estimates import FIXED_COLUMNS, complete_columns, estimate_schema, label_columns
from facevalue.parquet import parquet_bytes, read_metadata, read_table
from facevalue.protocol.study import Study
from facevalue.store.files import check_ending, write_whole

VERSION = 4
"""Of the table."""
_KEY = "facevalue.estimates"
_ALWAYS = ("study", "measure", "model", "value")


def parquet(estimates: pl.DataFrame, metadata: Mapping[str, str] | None = None) -> bytes:
    """The file's bytes, with what is told of them beside the version."""
    return parquet_bytes(estimates, {_KEY: str(VERSION), **(metadata or {})})


def write_estimates(estimates: pl.DataFrame, path: Path) -> None:
    """Write a .parquet or .csv file that is whole or absent."""
    check_ending(path, ".csv", ".parquet")
    if path.suffix == ".parquet":
        write_whole(path, parquet(estimates))
        return
    write_whole(path, csv_bytes(estimates))


def read_estimates(path: Path, study: Study) -> pl.DataFrame:
    """Read estimates that were kept in a file."""
    again = "Take the estimates again with `facevalue measure`."
    try:
        version = read_metadata(path).get(_KEY, "")
        table = read_table(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise RunError(f"{path} cannot be read: {reason}. {again}") from error
    if version != str(VERSION):
        raise RunError(f"{path} holds estimates of version {version!r}; this FaceValue reads {VERSION}. {again}")
    try:
        _check(table, study)
        return complete_columns(table)
    except (DataError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise RunError(f"{path} holds no estimates of {study.name}: {reason} {again}") from error


def _check(table: pl.DataFrame, study: Study) -> None:
    """Refuse what is no table of estimates of this study; missing numbers are null."""
    lacking = [name for name in _ALWAYS if name not in table.columns]
    if lacking:
        raise DataError(f"it has no column {lacking[0]!r}.")
    expected = {
        **estimate_schema(name for name in label_columns(table) if name not in estimate_schema()),
        **FIXED_COLUMNS,
    }
    for name, dtype in table.schema.items():
        if dtype not in (expected[name], pl.Null):
            raise DataError(f"its column {name!r} is {dtype}, not {expected[name]}.")
    if table["measure"].null_count() or table["model"].null_count():
        raise DataError("some name no measure or no model.")
    others = table.filter(pl.col("study").ne_missing(study.name))
    if others.height:
        raise DataError(f"some are of {others['study'][0]!r}.")
