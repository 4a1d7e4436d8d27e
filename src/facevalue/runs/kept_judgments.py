"""Files of judgments in a run folder: whole or absent, named by their content."""

import contextlib
import io
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.parquet import read_table
from facevalue.seals import SHARD, check_shard, digest_of
from facevalue.store.files import make_folder, write_whole
from facevalue.store.journal import JOURNAL, Journal, left_over

_ROWS = 500  # judgments of one file: what a power cut may lose
_OF = "judge"


class JudgmentWriter:
    """Stores judgments, some hundred to a file; those on their way are in a journal.

    Leaving the `with` block, by whatever exception, stores the rest.
    """

    def __init__(self, place: Path, schema: pl.Schema) -> None:
        make_folder(place)
        self._place, self._schema = place, schema
        self._rows: list[pl.DataFrame] = []
        self._journal = Journal(place, _OF)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()
        self._journal.close()

    def add(self, *row: object) -> None:
        """Take a judgment, which a kill does not lose from now on."""
        self._rows.append(pl.DataFrame([row], schema=self._schema, orient="row"))
        self._journal.append(self._rows[-1])
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            _store(self._place, pl.concat(self._rows))
            self._journal.clear()
            self._rows.clear()


def recover(place: Path, schema: pl.Schema) -> None:
    """Store what a killed process left in its journal; only for the process that holds the folder's lock."""
    rows = left_over(place, _OF, schema)
    if rows is not None:
        _store(place, rows)
    with contextlib.suppress(OSError):  # the next journal begins anew in any case
        (place / JOURNAL).unlink(missing_ok=True)


def _store(place: Path, rows: pl.DataFrame) -> None:
    data = io.BytesIO()
    rows.write_parquet(data, compression="zstd")
    numbers = [int(match[1]) for path in parts(place) if (match := SHARD.fullmatch(path.name))]
    name = f"part-{max(numbers, default=0) + 1:08d}-{digest_of(data.getvalue())}.parquet"
    write_whole(place / name, data.getvalue())


def read_rows(place: Path, schema: pl.Schema) -> pl.DataFrame | None:
    """Stored rows; None if there are none."""
    frames = []
    for path in parts(place):
        try:
            check_shard(path)
            frames.append(read_table(path, schema.names()).cast(schema))
        except (OSError, DataError, pl.exceptions.PolarsError) as error:
            raise RunError(f"{path} cannot be read: {error}. Without it, what it holds is judged again.") from error
    return pl.concat(frames) if frames else None


def parts(place: Path) -> list[Path]:
    """Files of stored judgments."""
    return sorted(path for path in place.iterdir() if SHARD.fullmatch(path.name)) if place.is_dir() else []
