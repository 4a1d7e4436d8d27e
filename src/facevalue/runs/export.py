"""Export of a run as one wide table: factors, replies, answers."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from facevalue.csv_text import write_csv
from facevalue.errors import SettingError
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.store import read_responses
from facevalue.store.files import unwritable

# Tables that are written chunk by chunk, as Parquet, CSV or JSON Lines.


def check_format(path: Path) -> None:
    """Refuse a file whose ending names no format."""
    if path.suffix not in _WRITERS:
        raise SettingError(f"{path.name} is not .parquet, .csv or .jsonl: the file's ending chooses the format.")


def write_streamed(chunks: Iterable[pl.DataFrame], path: Path) -> int:
    """Write chunks of one table, whole or not at all; return the number of rows."""
    check_format(path)
    aside = path.with_name(f".{path.name}.part")
    try:
        aside.touch()  # names the fault in the same words for all formats
        rows = _WRITERS[path.suffix](chunks, aside)
        aside.replace(path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with contextlib.suppress(OSError):  # on a disk that can't be written, nothing is left behind either
            aside.unlink(missing_ok=True)
    return rows


def _parquet(chunks: Iterable[pl.DataFrame], path: Path) -> int:
    writer: pq.ParquetWriter | None = None
    rows = 0
    try:
        for chunk in chunks:
            table = chunk.to_arrow()
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
            rows += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows


def _csv(chunks: Iterable[pl.DataFrame], path: Path) -> int:
    rows, header = 0, True
    with path.open("w", encoding="utf-8", newline="") as file:
        for chunk in chunks:
            write_csv(chunk, file, header=header)
            rows, header = rows + chunk.height, False
    return rows


def _jsonl(chunks: Iterable[pl.DataFrame], path: Path) -> int:
    rows = 0
    with path.open("wb") as file:
        for chunk in chunks:
            chunk.write_ndjson(file)
            rows += chunk.height
    return rows


_WRITERS = {".parquet": _parquet, ".csv": _csv, ".jsonl": _jsonl}

_KEPT = ("prompt_tokens", "completion_tokens", "latency_ms", "error")


def export(run: StoredRun, path: Path) -> int:
    """Write the replies that count, one per trial and seed, each with its factors, verbatim text and parsed answer.

    Where a reply was asked again, the first valid one counts; `reply` says under which repeat it is stored.
    """
    return write_streamed(wide_chunks(run), path)


def wide_chunks(run: StoredRun) -> Iterator[pl.DataFrame]:
    """The rows of the export, chunk by chunk."""
    for chunk in answers(run, columns=_KEPT):
        responses = read_responses(run.folder, int(chunk["trial"][0]), int(chunk["trial"][-1]))
        prompts = pl.Series("prompt", [q.prompt for q in run.study.ask(chunk)])
        counted = responses.select("trial", pl.col("repeat").alias("reply"), "text", "probs")
        # `text` is the reply, also where it is no answer; a study's own name of a prompt stands beside its wording.
        factors = chunk.drop("text", strict=False).rename({"prompt": "prompt_name"}, strict=False)
        yield factors.with_columns(prompts, pl.lit(run.model).alias("model")).join(
            counted, on=["trial", "reply"], how="left", maintain_order="left"
        )
