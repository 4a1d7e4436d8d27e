"""Manifests that are Parquet files, read within bounds. A module of its own, as pyarrow takes a while to import."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from facevalue.errors import DataError
from facevalue.stimuli.manifest import MAX_BYTES, MAX_CELL, ROWS_AT_ONCE, check_names

UNPACKED = 8
"""How many times `MAX_BYTES` a Parquet file may unpack to, by its own account."""


def read_parquet(path: Path, passed_over: Callable[[list[str]], list[str]] = lambda _: []) -> pl.DataFrame:
    """Read a file piece by piece; texts stay dictionaries until it is known how long they are.

    `passed_over`: from the names of its columns to those that are not read.

    A dictionary of a few hundred kilobytes can name one text of a megabyte a million times.
    """
    room = UNPACKED * MAX_BYTES
    frames = []
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            check_names(names, path.name)
            skipped = passed_over(names)
            names = [name for name in names if name not in skipped]
            for field in file.schema_arrow:
                if field.name in skipped:
                    continue
                if not _flat(field.type):
                    raise DataError(f"{path.name}: {field.name!r} holds {field.type}; a factor has one value a row.")
            texts = [field.name for field in file.schema_arrow if field.name in names and _is_text(field.type)]
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            if sum(group.total_byte_size for group in groups) > room:
                raise DataError(f"{path.name}: unpacks to more than {room // 2**20:,} MiB.")
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=names):
                for name, column in zip(names, batch.columns, strict=True):
                    listed = column.dictionary if isinstance(column, pa.DictionaryArray) else column
                    if _is_text(listed.type) and (pc.max(pc.binary_length(listed)).as_py() or 0) > 4 * MAX_CELL:
                        raise DataError(f"{path.name}: {name!r} has a cell of more than {MAX_CELL:,} characters.")
                frame = pl.DataFrame(pl.from_arrow(batch)).with_columns(pl.all().cast(pl.String))
                room -= int(frame.estimated_size())
                if room < 0:
                    raise DataError(f"{path.name}: unpacks to more than {UNPACKED * MAX_BYTES // 2**20:,} MiB.")
                frames.append(frame)
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path.name}: is not a Parquet file that can be read: {error}.") from error
    frame = pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    return frame.rename(str.strip)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _flat(kind: pa.DataType) -> bool:
    """Whether a column of this type has one plain value a row; extension types have none that anyone else knows."""
    if isinstance(kind, pa.DictionaryType):
        return _flat(kind.value_type)
    readable = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null, pa.types.is_decimal)
    times = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time)
    return not isinstance(kind, pa.BaseExtensionType) and (_is_text(kind) or any(is_(kind) for is_ in readable + times))
