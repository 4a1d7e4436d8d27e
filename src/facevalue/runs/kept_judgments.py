"""Judgments in a run folder: a judge is asked, and what it says kept in files, whole or absent, named by content."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

from facevalue.checked_replies import ReplyCheck
from facevalue.errors import DataError, RunError
from facevalue.models.base import Expecting, Model
from facevalue.parquet import parquet_bytes, read_table
from facevalue.seals import SHARD, check_shard, digest_of
from facevalue.store.files import make_folder, write_whole
from facevalue.store.journal import JOURNAL, Journal, left_over
from facevalue.types import Request, Response, Sampling, Status

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


def check_judge(before: str | None, model: Model, place: Path) -> None:
    """Refuse a second judge of a run."""
    if before is not None and before != model.name:
        raise DataError(f"{before} has judged this run; a run has one judge. Name it, or remove {place} first.")


def ask_judge(
    place: Path, schema: pl.Schema, model: Model, requests: Iterator[Request], sampling: Sampling,
    row: Callable[[Response], Iterable[object]],
) -> tuple[int, str | None]:  # fmt: skip
    """Ask a judge, and store a row of what it says to each request, after its name.

    Whatever ends this, what came is stored. Failed requests are not, so that the next call asks them again; returned
    are how many there are, and why one of them failed.
    """
    failed, reason = 0, None
    if isinstance(model, Expecting):
        model.expect(sampling)
    with JudgmentWriter(place, schema) as writer:
        for response in ReplyCheck(model).respond(requests):
            if response.status is Status.ERROR:
                failed, reason = failed + 1, response.error
                continue
            writer.add(model.name, *row(response))
    return failed, reason


def recover(place: Path, schema: pl.Schema) -> None:
    """Store what a killed process left in its journal; only for the process that holds the folder's lock."""
    rows = left_over(place, _OF, schema)
    if rows is not None:
        _store(place, rows)
    with contextlib.suppress(OSError):  # the next journal begins anew in any case
        (place / JOURNAL).unlink(missing_ok=True)


def _store(place: Path, rows: pl.DataFrame) -> None:
    data = parquet_bytes(rows)
    numbers = [int(match[1]) for path in parts(place) if (match := SHARD.fullmatch(path.name))]
    name = f"part-{max(numbers, default=0) + 1:08d}-{digest_of(data)}.parquet"
    write_whole(place / name, data)


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
