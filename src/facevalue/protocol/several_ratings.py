"""Several ratings in one reply, each a score of its own, and means of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from facevalue.answers import NA, rated_scales
from facevalue.answers._field_lines import folded
from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.written import STATED, WrittenReply, read_fields
from facevalue.statistics.statistic import Score

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
                if not folded(key):
                    raise DataError(f"The scale {key!r} has no letter or digit, by which lines of a reply are told.")
                if scale_of.setdefault(folded(key), name) != name:
                    raise DataError(f"The scales {scale_of[folded(key)]!r} and {name!r} are both called {key!r}.")
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
