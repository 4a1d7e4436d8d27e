"""Ratings by people of what a run's answers imply, or of the pictures that it made, kept beside the answers."""

from pathlib import Path

import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.parquet import parquet_bytes, read_metadata, read_table
from facevalue.seals import digest_of
from facevalue.store.files import make_folder, write_whole
from facevalue.store.lock import RunLock

FOLDER = Path("annotations", "ratings")
"""Where ratings lie in a run folder."""
_FILE = "ratings.parquet"
_SEAL = "facevalue.sha256"
_SCHEMA = pl.Schema({"rater": pl.String(), "item": pl.String(), "rating": pl.Int64(), "duration": pl.Float64()})


def keep(folder: Path, ratings: pl.DataFrame) -> int:
    """Keep ratings in a run folder, in place of those that were there."""
    with RunLock(folder):
        path = folder / FOLDER / _FILE
        before = _count(path)
        make_folder(path.parent)
        sorted_ratings = _whole(ratings)
        write_whole(path, parquet_bytes(sorted_ratings, {_SEAL: _digest(sorted_ratings)}))
        return before


def read_kept(folder: Path) -> pl.DataFrame | None:
    """Read the ratings of a run folder, as `keep` takes them; None if there are none."""
    path = folder / FOLDER / _FILE
    if not path.is_file():
        return None
    again = "Give the raters' files to `facevalue questionnaire RUN --ratings FILE` again."
    try:
        rows = _whole(read_table(path))  # kept without durations before there were any
        if read_metadata(path).get(_SEAL, _digest(rows)) != _digest(rows):
            raise DataError("its content is not what was written")
    except (OSError, DataError, pl.exceptions.PolarsError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise RunError(f"{path} cannot be read: {reason}. {again}") from error
    sound = rows["rating"].is_between(1, 5).all() and not rows.select("rater", "item").is_duplicated().any()
    if not sound or sum(rows.drop("duration").null_count().row(0)):
        raise RunError(f"{path} holds no ratings from 1 to 5, one by each rater of an item. {again}")
    return rows


def _digest(ratings: pl.DataFrame) -> str:
    """Digest of all ratings, whatever their file looks like."""
    return digest_of(ratings.write_json().encode())


def _whole(ratings: pl.DataFrame) -> pl.DataFrame:
    """The columns that are kept; durations are unknown where there are none."""
    if "duration" not in ratings.columns:
        ratings = ratings.with_columns(duration=pl.lit(None, pl.Float64))
    return ratings.select(_SCHEMA.names()).cast(_SCHEMA)


def _count(path: Path) -> int:
    """How many ratings a file holds; none if it is absent or damaged, as it is about to be replaced."""
    try:
        return read_table(path).height
    except (OSError, pl.exceptions.PolarsError):
        return 0
