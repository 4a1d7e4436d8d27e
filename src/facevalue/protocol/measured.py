"""Measurements in one reply: numbers under exact names, as programs write them."""

import re
from dataclasses import dataclass

import polars as pl

from facevalue.answers import NA, NA_DTYPE
from facevalue.answers.base import statuses
from facevalue.protocol.replies import whole
from facevalue.protocol.written import Fields
from facevalue.types import Status

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"


@dataclass(frozen=True)
class Measurements(Fields):
    r"""Lines such as "skin_lightness: 61.2", each field under its own name, or the same as a JSON object.

    Nothing is guessed, as programs do not misspell: a field that a reply leaves out is missing in that reply, and so is
    a number beyond the field's bounds. All replies are read at once.

    Examples
    --------
    >>> from facevalue.protocol.written import Field
    >>> reply = Measurements({"shift": Field("%", 0, 100), "zoom": Field("%", -50, 50)})
    >>> replies = pl.DataFrame({"text": ["shift: 0.5\nshift_of_face: 9", '{"zoom": -1}']})
    >>> reply.read(replies).select("shift", "zoom").rows()
    [(0.5, None), (None, -1.0)]
    """

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The fields of each reply."""
        text, status = pl.col("text").cast(pl.String), statuses(frame)
        is_read = text.is_not_null() & ~status.is_in([Status.REFUSED.value, Status.ERROR.value])
        values = []
        for name, field in self.fields.items():
            pattern = rf'(?m)(?:^|[{{,])\s*"?{re.escape(name)}"?\s*:\s*({_NUMBER})\s*(?:$|[,}}])'
            number = pl.when(is_read).then(text.str.extract(pattern, 1)).cast(pl.Float64)
            values.append(pl.when(number.is_between(field.low, field.high)).then(number).alias(name))
        scores = frame.select(values)
        reason = (
            pl.when(status == Status.REFUSED.value).then(pl.lit(NA.REFUSED.value))
            .when(~is_read).then(pl.lit(NA.ERROR.value))
            .when(text.str.strip_chars() == "").then(pl.lit(NA.EMPTY.value))
            .otherwise(pl.lit(NA.NEITHER.value))
        )  # fmt: skip
        is_empty = pl.all_horizontal(scores[name].is_null() for name in self.fields)
        na = frame.select(pl.when(is_empty).then(reason).cast(NA_DTYPE).alias("na"))["na"]
        return whole({name: scores[name].to_numpy() for name in self.fields}, na)
