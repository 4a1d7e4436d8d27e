"""Export of a run as one wide table: factors, replies, answers."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from facevalue.runs.stored import StoredRun, answers
from facevalue.runs.streamed_table import write_streamed
from facevalue.store import read_responses

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
