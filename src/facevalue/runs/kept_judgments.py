"""Files of judgments in a run folder: whole or absent, named by their content."""

import io
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.parquet import read_table
from facevalue.seals import SHARD, check_shard, digest_of
from facevalue.store.files import make_folder, write_whole

_ROWS = 500  # judgments of one file: what a power cut may lose


class Writer:
    """Stores judgments, some hundred to a file."""

    def __init__(self, place: Path, schema: pl.Schema) -> None:
        self._place, self._schema = place, schema
        self._rows: list[tuple[object, ...]] = []
        numbers = [int(found[1]) for path in parts(place) if (found := SHARD.fullmatch(path.name))]
        self._next = max(numbers, default=0) + 1

    def add(self, *row: object) -> None:
        """Take a judgment."""
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            self.flush()

    def flush(self) -> None:
        """Store what was taken."""
        if not self._rows:
            return
        make_folder(self._place)
        data = io.BytesIO()
        pl.DataFrame(self._rows, schema=self._schema, orient="row").write_parquet(data, compression="zstd")
        name = f"part-{self._next:08d}-{digest_of(data.getvalue())}.parquet"
        write_whole(self._place / name, data.getvalue())
        self._next += 1
        self._rows.clear()


def read_rows(place: Path, schema: pl.Schema) -> pl.DataFrame | None:
    """What is stored; None if nothing is."""
    frames = []
    for path in parts(place):
        try:
            check_shard(path)
            frames.append(read_table(path, schema.names()).cast(schema))
        except (OSError, DataError, pl.exceptions.PolarsError) as error:
            raise RunError(f"{path} cannot be read: {error}. Without it, what it holds is judged again.") from error
    return pl.concat(frames) if frames else None


def parts(place: Path) -> list[Path]:
    """The files."""
    return sorted(path for path in place.iterdir() if SHARD.fullmatch(path.name)) if place.is_dir() else []
