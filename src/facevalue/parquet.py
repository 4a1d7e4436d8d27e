"""Parquet files, read by name: a path is never a pattern, even with brackets or stars in it."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal

import polars as pl


def read_table(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a file."""
    with _panics_caught():
        return pl.read_parquet(path, columns=None if columns is None else list(columns), glob=False)


def read_table_of(data: bytes) -> pl.DataFrame:
    """Read the bytes of a file."""
    with _panics_caught():
        return pl.read_parquet(io.BytesIO(data))


def parquet_bytes(
    frame: pl.DataFrame, metadata: Mapping[str, str] | None = None, *, together: int | None = None
) -> bytes:
    """A table as the bytes of a file, with what is told of it beside its columns; `together`: rows of a group.

    Examples
    --------
    >>> read_table_of(parquet_bytes(pl.DataFrame({"age": ["old"]}))).row(0)
    ('old',)
    """
    data = io.BytesIO()
    about = None if metadata is None else dict(metadata)
    frame.write_parquet(data, compression="zstd", metadata=about, row_group_size=together)
    return data.getvalue()


def scan_tables(paths: Sequence[Path], schema: pl.Schema | None = None, optional: Sequence[str] = ()) -> pl.LazyFrame:
    """Read files of one schema as they are needed, in this order."""
    if schema is None:
        return pl.scan_parquet(list(paths), glob=False)
    required = tuple(name for name in schema if name not in optional)
    for path in paths if len(required) < len(schema) else ():  # or any column that is not there would be null
        facts = path.stat()
        check_columns(path, required, facts.st_ino, facts.st_size, facts.st_mtime_ns)
    missing: Literal["insert", "raise"] = "insert" if len(required) < len(schema) else "raise"
    return pl.scan_parquet(list(paths), glob=False, schema=schema, missing_columns=missing, extra_columns="ignore")


@lru_cache(maxsize=65_536)
def check_columns(path: Path, required: tuple[str, ...], *marks: int) -> None:  # noqa: ARG001 - by which the cache knows the file
    """Raise where a file lacks a column; looked up once for as long as the file stays as it is."""
    with path.open("rb") as file:
        pl.DataFrame(schema=pl.read_parquet_schema(file)).select(required)


def footer_size(end: bytes) -> int:
    """Bytes at the end of a file that say what it holds, from the last ones of it.

    Examples
    --------
    >>> footer_size(parquet_bytes(pl.DataFrame({"age": ["old"]}))) > 8
    True
    >>> footer_size(b"no such file")
    0
    """
    return int.from_bytes(end[-8:-4], "little") + 8 if end[-4:] == b"PAR1" else 0


def read_metadata(path: Path) -> dict[str, str]:
    """Read what was written into a file beside its columns."""
    with path.open("rb") as file, _panics_caught():  # given a path, this would be a pattern
        return pl.read_parquet_metadata(file)


@contextmanager
def _panics_caught() -> Iterator[None]:
    """Damage can take the library's parser by surprise; that is an error of the file like any other."""
    try:
        yield
    except pl.exceptions.PanicException as error:
        raise pl.exceptions.ComputeError((str(error).splitlines() or ["damaged"])[0]) from None
