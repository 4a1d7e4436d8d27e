"""Streams of answers, cut where one stimulus ends."""

from collections.abc import Iterable, Iterator, Sequence

import polars as pl


def whole_stimuli(chunks: Iterable[pl.DataFrame], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Cut a stream of answers between stimuli, so that all answers about one stimulus are in one chunk.

    `chunks`: answers in trial order, in which all answers about a stimulus are neighbours. `columns`: what tells
    stimuli apart, as far as the answers have it.

    Yields the same rows in the same order, with `cluster`: the number of the stimulus within its chunk.
    """
    held: pl.DataFrame | None = None
    for chunk in chunks:
        frame = chunk if held is None else pl.concat([held, chunk])
        if not frame.height:
            continue
        marks = pl.struct(name for name in columns if name in frame.columns)
        frame = frame.with_columns(marks.rle_id().alias("cluster"))
        last = frame["cluster"][-1]
        held = frame.filter(pl.col("cluster") == last).drop("cluster")
        if last > 0:
            yield frame[: -held.height]
    if held is not None:
        yield held.with_columns(pl.lit(0, pl.UInt32).alias("cluster"))
