"""Ratings by people of a run's replies, of what they imply, or of its pictures, kept beside the answers."""

from pathlib import Path

import polars as pl

from facevalue.annotations.review_answers import SCHEMA
from facevalue.errors import DataError, RunError
from facevalue.parquet import parquet_bytes, read_metadata, read_table
from facevalue.seals import digest_of
from facevalue.store.files import make_folder, write_whole
from facevalue.store.lease import RunLock

FOLDER = Path("annotations", "ratings")
"""Where ratings lie in a run folder."""
RATINGS, REPLIES, FINDINGS = "ratings", "replies", "findings"
"""Of which kind ratings are: of a study's own statements and of pictures; of how replies are read; of findings."""
_SEAL = "facevalue.sha256"
_MOST = 200  # number of an answer


def keep(folder: Path, ratings: pl.DataFrame, kind: str = RATINGS) -> int:
    """Keep ratings in a run folder, in place of those by the same raters of the same packet; returns how many of these.

    A rater's name begins with the packet's (`annotations.review_answers`), so that packets stand beside each other.
    """
    with RunLock(folder):
        path, before = _path(folder, kind), _before(folder, kind)
        same = before["rater"].is_in(ratings["rater"].unique().to_list())
        make_folder(path.parent)
        rows = _complete_columns(pl.concat([before.filter(~same), _complete_columns(ratings)]))
        write_whole(path, parquet_bytes(rows, {_SEAL: _digest(rows)}))
        return int(same.sum())


def read_kept(folder: Path, kind: str = RATINGS) -> pl.DataFrame | None:
    """Read the ratings of a run folder, as `keep` takes them; None if there are none."""
    path = _path(folder, kind)
    if not path.is_file():
        return None
    again = "Give the raters' files to `facevalue review RUN --collect FILE` again."
    try:
        rows = _complete_columns(read_table(path))  # kept without durations before there were any
        if read_metadata(path).get(_SEAL, _digest(rows)) != _digest(rows):
            raise DataError("its content is not what was written")
    except (OSError, DataError, pl.exceptions.PolarsError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise RunError(f"{path} cannot be read: {reason}. {again}") from error
    sound = rows["rating"].is_between(1, _MOST).all() and not rows.select("rater", "item").is_duplicated().any()
    if not sound or sum(rows.drop("duration").null_count().row(0)):
        raise RunError(f"{path} holds no ratings from 1 on, one by each rater of an item. {again}")
    return rows


def kept_at(folder: Path, kind: str = RATINGS) -> int | None:
    """Time when ratings were last kept, in nanoseconds; None where there are none."""
    path = _path(folder, kind)
    return path.stat().st_mtime_ns if path.is_file() else None


def _path(folder: Path, kind: str) -> Path:
    return folder / FOLDER / f"{kind}.parquet"


def _digest(ratings: pl.DataFrame) -> str:
    """Digest of all ratings, whatever their file looks like."""
    return digest_of(ratings.write_json().encode())


def _complete_columns(ratings: pl.DataFrame) -> pl.DataFrame:
    """The columns that are kept; durations are unknown where there are none."""
    if "duration" not in ratings.columns:
        ratings = ratings.with_columns(duration=pl.lit(None, pl.Float64))
    return ratings.select(SCHEMA.names()).cast(SCHEMA)


def _before(folder: Path, kind: str) -> pl.DataFrame:
    """Ratings that are there; none where they are damaged: sealed anew they would pass for what raters gave."""
    try:
        rows = read_kept(folder, kind)
    except RunError:
        rows = None
    return pl.DataFrame(schema=SCHEMA) if rows is None else rows
