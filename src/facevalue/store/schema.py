"""Schema of stored responses: columns, their types and meaning."""

from typing import NamedTuple

import polars as pl

from facevalue.types import Status

FORMAT = 1
"""Version of the shards. Raised whenever a column changes its meaning or type; written into every shard."""

STATUS = pl.Enum([status.value for status in Status])
"""Statuses in the order of `Status`; the physical codes of the column are positions in it."""


class Stored(NamedTuple):
    """A response as it is stored; the order of the fields is the order of the columns on disk.

    Factors, answers and measures are not here: they follow from `trial` and the study, so that a new parser or measure
    never costs a model call.
    """

    trial: int
    """u64. Number of the trial in the study's design."""
    repeat: int
    """u8. Which repeat of the trial: position of its seed, plus the number of seeds each time it is asked again."""
    status: Status
    """enum. What became of the request: ok, refused, truncated or error. A row with an error never hides another."""
    text: str | None
    """str or null. The reply, verbatim."""
    probs: tuple[float, ...] | None
    """list of f32 or null. Probability of each option, in the order in which the prompt showed them."""
    prompt_tokens: int | None
    """u32 or null. As the model counted them; null if it didn't say."""
    completion_tokens: int | None
    """u32 or null. As the model counted them; null if it didn't say."""
    latency_ms: float
    """f32. Milliseconds from sending to the whole reply, retries not counted."""
    error: str | None
    """str or null. Why there is no answer."""
    request: int
    """u64. Hash of everything the model was shown and told: prompt, system message, options, images, sampling, seed.

    A run is only resumed if its trials would be asked in the same way, so that a replaced image or prompt never
    inherits old answers.
    """
    picture_share: float | None
    """f32 or null. Share of the height that the picture took above a text, where the study reads places on it."""


RESPONSES = pl.Schema(
    {
        "trial": pl.UInt64(),
        "repeat": pl.UInt8(),
        "status": STATUS,
        "text": pl.String(),
        "probs": pl.List(pl.Float32()),
        "prompt_tokens": pl.UInt32(),
        "completion_tokens": pl.UInt32(),
        "latency_ms": pl.Float32(),
        "error": pl.String(),
        "request": pl.UInt64(),
        "picture_share": pl.Float32(),
    }
)
"""Schema of `RUN/responses/part-*.parquet`; see `Stored` for what each column means."""

PICTURE_SHARE = "picture_share"
"""Column of responses that says which share of the height the picture took, for studies that read places on it."""

TIMED = pl.Schema({**RESPONSES, "at": pl.Datetime("ms", "UTC")})
"""The same with the optional last column `at`: when the answer came; null where recorded
answers are replayed. It says when, not what: readers leave it out unless they are asked for it, so that
runs that ended with the same answers have the same table."""

assert tuple(RESPONSES) == Stored._fields
