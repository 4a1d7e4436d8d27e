"""Replies of several entries: ratings of several things, and lists of names."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from facevalue.answers import NA, NA_DTYPE, lists, rated_scales
from facevalue.answers.base import statuses
from facevalue.answers.json_fields import folded_key
from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.open_answers import STATED, Fields, WrittenReply, read_fields
from facevalue.protocol.outside_scores import ENTRIES, Outside
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
    def instructions(self) -> Mapping[str, str]:
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


LENGTH, OUTSIDE, LIST = "length", "outside", "list"
"""Scores of a list: how many entries it has, how many of them are no option, and the list itself (of texts)."""
LISTED = "listed"
"""Factor of questions by which simulated models know what to list: options, least and most of them."""
MOST_LISTED = 60
"""Options that lists may name; each is a score of its own."""
MOST_LENGTH = 20
"""Greatest length of a list where the study says none."""


@dataclass(frozen=True)
class NamedList(WrittenReply):
    """Several things that a reply names: each option that lists may name is a score, which counts 1 in lists that do.

    Attributes
    ----------
    vocabulary:
        Wording of each, by the name of its score. Other entries are counted as outside. None: entries are any words.
    least, most:
        Entries that a list has; one of another length is no answer. An empty list is one where the reply says "none".
    outside:
        Categories into which a judge sorts the entries, and numbers that scorers give them, each by itself: of each the
        share of a list's entries, or the mean.

    Examples
    --------
    >>> jobs = NamedList({"nurse": "nurse", "engineer": "engineer"}, most=3)
    >>> [score.name for score in jobs.scores]
    ['nurse', 'engineer', 'length', 'outside', 'list']
    """

    vocabulary: Mapping[str, str] = field(default_factory=dict)
    least: int = 0
    most: int = MOST_LENGTH
    outside: Outside = field(default_factory=Outside)

    def __post_init__(self) -> None:
        if len(self.vocabulary) > MOST_LISTED:
            raise DataError(
                f"Lists name up to {MOST_LISTED} options, each a score of its own, not {len(self.vocabulary)}."
            )
        if not 0 <= self.least <= self.most <= lists.MOST_ENTRIES or not self.most:
            raise DataError(
                f"A list has from 0 or more to at most {lists.MOST_ENTRIES} entries, not {self.least} to {self.most}."
            )
        option_of: dict[str, str] = {}
        for name, wording in self.vocabulary.items():
            if name in (LENGTH, OUTSIDE, LIST):
                raise DataError(f"No option can be called {name!r}, which is a score of every list. Rename it.")
            for text in {lists.entry(name.replace("_", " ")), lists.entry(wording)}:
                if not text or option_of.setdefault(text, name) != name:
                    reason = f"is that of {option_of[text]!r}, too" if text else "is no word"
                    raise DataError(f"The wording {wording!r} of the option {name!r} {reason}.")

    @property
    def scores(self) -> tuple[Score, ...]:
        """Scores of a list: naming of each option, number of entries and of those outside, and the list itself."""
        shares = (
            Score(
                name, f'Share of lists that name "{wording}"', "probability", 0.0, 1.0, quantity=f"naming “{wording}”",
                moved=(f"“{wording}” named {{size}} more often", f"“{wording}” named {{size}} less often"),
            )
            for name, wording in self.vocabulary.items()
        )  # fmt: skip
        length = Score(LENGTH, "Entries of the list", "entries", float(self.least), float(self.most))
        outside = Score(OUTSIDE, "Entries that are no option", "entries", 0.0, float(self.most))
        compared = Score(LIST, "The lists", "share", compared=True)
        return (*shares, length, *([outside] if self.vocabulary else []), *self.outside.scores, compared)

    @property
    def instructions(self) -> Mapping[str, str]:
        """The options and the least and most of them, by which simulated models answer."""
        return {LISTED: json.dumps([list(self.vocabulary.values()), self.least, self.most])}

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Read the options that each list names; each distinct reply is read once."""
        from facevalue.measures.estimators import code_levels  # noqa: PLC0415 - it imports SciPy, which plans do without

        parsed = lists.parse_column(frame, "text")
        table, codes = code_levels(parsed["entries"])
        option_of = self._option_of
        entries = [_entries(text, option_of) for text in table]
        fits = np.array([self.least <= len(names) <= self.most for names in entries], dtype=np.bool_)
        valid = (codes >= 0) & np.append(fits, False)[codes]

        def column(values: list[float]) -> np.ndarray:
            return np.where(valid, np.append(np.array(values, dtype=np.float64), np.nan)[codes], np.nan)

        scores = {option: column([float(option in names) for names in entries]) for option in self.vocabulary}
        scores[LENGTH] = column([float(len(names)) for names in entries])
        if self.vocabulary:
            scores[OUTSIDE] = column([float(sum(name not in self.vocabulary for name in names)) for names in entries])
        texts = pl.Series(LIST, [*(lists.SEPARATOR.join(names) for names in entries), None], pl.String)
        na = pl.select(
            pl.when(parsed["na"].is_null() & ~pl.Series(valid))
            .then(pl.lit(NA.NEITHER.value, NA_DTYPE))
            .otherwise(parsed["na"])
        ).to_series()
        texts = texts.gather(np.where(valid, codes, len(entries)))
        if not self.outside:
            return whole_answers(scores, na).with_columns(texts)
        entries_of = texts.str.split(lists.SEPARATOR).alias(ENTRIES)
        scores |= {name: values.to_numpy() for name, values in self.outside.score_texts(entries_of, frame).items()}
        return whole_answers(scores, na).with_columns(texts, entries_of)

    @property
    def _option_of(self) -> dict[str, str]:
        texts = (
            (name, text) for name, wording in self.vocabulary.items() for text in (name.replace("_", " "), wording)
        )
        return {lists.entry(text): name for name, text in texts}


def _entries(text: str, option_of: Mapping[str, str]) -> list[str]:
    """Names of the options among the entries, two of "nurse/cook", and all others as they are; each once."""
    names: list[str] = []
    for entry in text.split(lists.SEPARATOR) if text else []:
        pieces = [piece.strip() for piece in entry.split("/")]
        if entry in option_of or any(piece not in option_of for piece in pieces):
            pieces = [entry]
        names += [option_of.get(piece, piece) for piece in pieces]
    return list(dict.fromkeys(names))
