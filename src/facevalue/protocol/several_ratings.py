"""Several ratings in one reply, each a score of its own, and means of them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from facevalue.answers import NA, NA_DTYPE, rated_scales
from facevalue.answers.base import statuses
from facevalue.answers.json_fields import folded_key
from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.open_answers import STATED, Fields, WrittenReply, read_fields
from facevalue.protocol.replies import whole_answers
from facevalue.statistics.statistic import Score
from facevalue.types import Status

# Measurements in one reply: numbers under exact names, as programs write them.


_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"


@dataclass(frozen=True)
class Measurements(Fields):
    r"""Lines such as "skin_lightness: 61.2", each field under its own name, or the same as a JSON object.

    Nothing is guessed, as programs do not misspell: a field that a reply leaves out is missing in that reply, and so is
    a number beyond the field's bounds. All replies are read at once.

    Examples
    --------
    >>> from facevalue.protocol.open_answers import Field
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
        for name, limits in self.fields.items():
            pattern = rf'(?m)(?:^|[{{,])\s*"?{re.escape(name)}"?\s*:\s*({_NUMBER})\s*(?:$|[,}}])'
            number = pl.when(is_read).then(text.str.extract(pattern, 1)).cast(pl.Float64)
            values.append(pl.when(number.is_between(limits.low, limits.high)).then(number).alias(name))
        scores = frame.select(values)
        reason = (
            pl.when(status == Status.REFUSED.value).then(pl.lit(NA.REFUSED.value))
            .when(~is_read).then(pl.lit(NA.ERROR.value))
            .when(text.str.strip_chars() == "").then(pl.lit(NA.EMPTY.value))
            .otherwise(pl.lit(NA.NEITHER.value))
        )  # fmt: skip
        is_empty = pl.all_horizontal(scores[name].is_null() for name in self.fields)
        na = frame.select(pl.when(is_empty).then(reason).cast(NA_DTYPE).alias("na"))["na"]
        return whole_answers({name: scores[name].to_numpy() for name in self.fields}, na)


MOST_SCALES = 50
"""Scales that one reply rates."""


@dataclass(frozen=True)
class RatedScales(WrittenReply):
    """A rating on each of several scales: lines such as "Competence: 5", or a JSON object.

    A scale that a reply leaves out is missing in that reply, and the others count.

    Attributes
    ----------
    scales:
        What replies call each scale, by the name of its score.
    low, high:
        Least and greatest rating; others are none.
    means:
        Scores that are the mean of several scales, by name: of replies that rate them all.

    Examples
    --------
    >>> ratings = RatedScales({"skill": "Skills", "warmth": "Warmth"}, 1, 7, {"overall": ("skill", "warmth")})
    >>> [score.name for score in ratings.scores]
    ['skill', 'warmth', 'overall']
    """

    scales: Mapping[str, str]
    low: float = 1.0
    high: float = 5.0
    means: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < len(self.scales) <= MOST_SCALES:
            raise DataError(f"A reply rates 1 to {MOST_SCALES} scales, not {len(self.scales)}.")
        if not 0 <= self.low < self.high:
            raise DataError(f"Ratings go from 0 or more to something greater, not from {self.low:g} to {self.high:g}.")
        scale_of: dict[str, str] = {}
        for name, wording in self.scales.items():
            for key in (name, wording):
                if not folded_key(key):
                    raise DataError(f"The scale {key!r} has no letter or digit, by which lines of a reply are told.")
                if scale_of.setdefault(folded_key(key), name) != name:
                    raise DataError(f"The scales {scale_of[folded_key(key)]!r} and {name!r} are both called {key!r}.")
        for name, of in self.means.items():
            if name in self.scales:
                raise DataError(f"A mean and a scale are both called {name!r}. Rename one of them.")
            if len(of) < 2:
                raise DataError(f"The mean {name!r} is of two scales or more.")
            for scale in of:
                if scale not in self.scales:
                    raise UnknownNameError(f"scale of the mean {name!r}", scale, self.scales)

    @property
    def scores(self) -> tuple[Score, ...]:
        """A score for each scale, then for each mean."""
        rated = (self._score(name, f'Rating "{wording}"') for name, wording in self.scales.items())
        return (*rated, *(self._score(name, f'Mean rating "{name}"') for name in self.means))

    def _score(self, name: str, title: str) -> Score:
        words = name.replace("_", " ")
        moved = (f"{words} rated {{size}} higher", f"{words} rated {{size}} lower")
        return Score(name, title, "points", self.low, self.high, moved=moved, quantity=f"ratings of {words}")

    @property
    def told(self) -> Mapping[str, str]:
        """The scales and their ends, by which simulated models answer."""
        return {STATED: json.dumps({name: [self.low, self.high] for name in self.scales})}

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rating of each scale; each distinct reply is read once."""
        names = {name: (wording,) for name, wording in self.scales.items()}

        def ratings(text: str, truncated: bool) -> tuple[list[float | None], NA | None]:
            parsed, reason = rated_scales.parse(text, names, self.low, self.high, truncated=truncated)
            return [parsed[name] for name in self.scales], reason

        rated = read_fields(frame, list(self.scales), ratings)
        # A sum with a null in it is null: a mean is of all its scales
        means = [
            (pl.sum_horizontal([pl.col(name) for name in of], ignore_nulls=False) / len(of)).alias(mean)
            for mean, of in self.means.items()
        ]
        return rated.with_columns(means)
