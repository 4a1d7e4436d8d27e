"""Kinds of answers: what a question asks for, and what is scored of the replies."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import inf
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA_DTYPE, from_probs, parse_column, yes_no
from facevalue.answers.exact import LEAST_MASS
from facevalue.errors import DataError, UnknownNameError
from facevalue.prompts import ORDERINGS
from facevalue.types import Option

Shown = tuple[str, Sequence[tuple[Option, ...]]]
"""Name of a column of codes, and the options that were shown for each code."""
FIRST, LETTER = "(first)", "(letter)"
"""Columns of answers: how much of the answer is the option shown first, and the one labelled (a)."""
ONE, BOTH, ALL, ROTATIONS = "one", "both", "all", "rotations"
ORDERS = (ONE, BOTH, ALL, ROTATIONS)
MOST_OPTIONS = 20
_MOST_PERMUTED = 4
_LETTERS = "abcdefghijklmnopqrst"


@dataclass(frozen=True)
class Score:
    """A number that each valid answer has."""

    name: str  # column of the answers, and part of the measures' names where there are several
    title: str
    unit: str
    # Smallest and largest possible value; infinite where there is none
    low: float = -inf
    high: float = inf
    suffix: str = ""  # of the names of its measures, where a study has several scores

    @property
    def span(self) -> float | None:
        """Largest possible difference; None where there is no such."""
        return self.high - self.low if np.isfinite(self.high - self.low) else None


class Reply(Protocol):
    """A kind of answer."""

    @property
    def scores(self) -> tuple[Score, ...]:
        """What is scored."""
        ...

    @property
    def orderings(self) -> tuple[str, ...]:
        """Orders in which options are shown: levels of `ordering`."""
        ...

    def options(self, ordering: str) -> tuple[Option, ...]:
        """The options in this order; none for replies in words of one's own."""
        ...

    @property
    def told(self) -> Mapping[str, str]:
        """What simulated models are told of how to answer."""
        ...

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """From text, probs, status and ordering to the scores, `mass` and `na`; the same rows."""
        ...


@dataclass(frozen=True)
class Options:
    """One of several options, each with a score: a choice, yes or no, a rating."""

    texts: Mapping[str, str]  # wording by name, in the order in which they are declared
    values: Mapping[str, float]
    score: Score
    order: str = ONE
    letters: bool = False  # whether options are labelled (a), (b) ...
    # How replies are read: as one of the options ("choice"), as yes or no ("yes-no"), or as a number ("rating")
    parser: str = "choice"
    told: Mapping[str, str] = field(default_factory=dict)
    where: str = field(default="", compare=False, repr=False)  # place of the options in a file, for people

    def __post_init__(self) -> None:
        if not 2 <= len(self.texts) <= MOST_OPTIONS:
            raise DataError(f"A question needs 2 to {MOST_OPTIONS} options, not {len(self.texts)}.")
        if self.order not in ORDERS:
            raise UnknownNameError("order of options", self.order, ORDERS)
        if self.order == BOTH and len(self.texts) != 2:
            raise DataError(f"There are {len(self.texts)} options, and both orders are those of two: write rotations.")
        if self.order == ALL and len(self.texts) > _MOST_PERMUTED:
            raise DataError(f"All orders of {len(self.texts)} options are too many: write rotations.")
        for name in self.values:
            if name not in self.texts:
                raise UnknownNameError("option", name, self.texts)
        if set(self.values) != set(self.texts) or len(set(self.values.values())) < 2:
            raise DataError("Each option has a score, and they are not all the same.")

    @property
    def scores(self) -> tuple[Score, ...]:
        """The expected score of the answer."""
        return (self.score,)

    @cached_property
    def _orders(self) -> dict[str, tuple[Option, ...]]:
        names = list(self.texts)
        if self.letters and self.order == ALL and len(names) == 2:
            pair = (self.texts[names[0]], self.texts[names[1]])
            levels = (_level(names[0]), _level(names[1]))
            return {one.name: one.options(pair, levels) for one in ORDERINGS}
        orders: list[tuple[str, ...]] = [tuple(names)]
        if self.order == BOTH:
            orders.append(tuple(reversed(names)))
        elif self.order == ALL:
            orders = list(permutations(names))
        elif self.order == ROTATIONS:
            orders = [tuple(names[at:] + names[:at]) for at in range(len(names))]
        return {
            str(number): tuple(
                Option(f"({_LETTERS[at]})" if self.letters else "", self.texts[name], _level(name))
                for at, name in enumerate(order)
            )
            for number, order in enumerate(orders, start=1)
        }

    @property
    def orderings(self) -> tuple[str, ...]:
        """Orders in which options are shown."""
        return tuple(self._orders)

    @property
    def balanced(self) -> bool:
        """Whether each option is shown first as often as any other."""
        firsts = [options[0].level for options in self._orders.values()]
        return {firsts.count(level) for level in firsts} == {len(firsts) // len(self.texts)}

    @property
    def lettered(self) -> bool:
        """Whether letters change places apart from the options' order, so that the two can be told apart."""
        return self.letters and self.order == ALL and len(self.texts) == 2

    def groups(self, letter: bool = False) -> dict[str, int]:
        """Which option stands first, or is labelled (a), in each ordering, as a number."""
        numbers = {_level(name): at for at, name in enumerate(self.texts)}
        place = {name: self._place(name, letter) for name in self._orders}
        return {name: numbers[options[place[name]].level] for name, options in self._orders.items()}

    def _place(self, ordering: str, letter: bool) -> int:
        return [option.label for option in self._orders[ordering]].index("(a)") if letter else 0

    def options(self, ordering: str) -> tuple[Option, ...]:
        """The options in this order."""
        return self._orders[ordering]

    def read(self, frame: pl.DataFrame, shown: Shown | None = None) -> pl.DataFrame:
        """Expected score of each answer, its mass, and how much of it is the option shown first or labelled (a).

        `shown`: what was shown where options have slots.
        """
        orderings = frame["ordering"].cast(pl.Enum(list(self._orders))).to_physical().to_numpy().astype(np.int64)
        score_of = {_level(name): float(value) for name, value in self.values.items()}
        table = np.array([[score_of[option.level] for option in options] for options in self._orders.values()])
        letter = np.array([self._place(name, self.letters) for name in self._orders])
        parsed = self._parsed(frame, shown)
        choice = parsed["choice"].fill_null(-1).to_numpy().astype(np.int64)
        at = np.maximum(choice, 0)
        seen = choice >= 0
        score = np.where(seen, table[orderings, at], np.nan)
        first, lettered = (np.where(seen, at == place, np.nan) for place in (0, letter[orderings]))
        mass, na = seen.astype(np.float64), parsed["na"]
        has_probs = frame["probs"].is_not_null()
        if has_probs.any():
            exact = from_probs(frame, "probs", minimum=LEAST_MASS)
            rows = np.flatnonzero(exact["weights"].is_not_null().to_numpy())
            exact_rows = has_probs.to_numpy()
            for column in (score, first, lettered, mass):
                column[exact_rows] = np.nan
            mass[exact_rows] = 0.0
            if rows.size:
                weights = exact["weights"].gather(rows).explode().to_numpy().reshape(rows.size, -1)
                score[rows] = (weights * table[orderings[rows]]).sum(axis=1)
                first[rows] = weights[:, 0]
                lettered[rows] = weights[np.arange(rows.size), letter[orderings[rows]]]
                mass[rows] = np.where(exact["na"].is_null(), exact["mass"], 0.0)[rows]
            na = pl.select(pl.when(has_probs).then(exact["na"]).otherwise(na)).to_series()
        columns = {self.score.name: score, "mass": mass, FIRST: first, LETTER: lettered}
        out = pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))
        return out.with_columns(na.cast(NA_DTYPE).alias("na"))

    def _parsed(self, frame: pl.DataFrame, shown: Shown | None) -> pl.DataFrame:
        if self.parser == "yes-no":
            parsed = yes_no.parse_column(frame, "text")
            names = list(self.texts)
            places = {
                ordering: [[o.level for o in options].index(_level(name)) for name in names]
                for ordering, options in self._orders.items()
            }
            table = np.array(list(places.values()))
            orderings = frame["ordering"].cast(pl.Enum(list(places))).to_physical().to_numpy()
            shown = table[orderings, np.maximum(parsed["choice"].fill_null(-1).to_numpy(), 0)]
            choice = pl.when(parsed["choice"].is_not_null()).then(pl.Series(shown)).cast(pl.Int8)
            return parsed.with_columns(choice.alias("choice"))
        if self.parser == "rating":
            frame = frame.with_columns(pl.col("text").str.replace_all(self._scale, "$1"))
        column, options = shown or ("ordering", self._orders)
        return parse_column(frame, "text", column, options)

    @cached_property
    def _scale(self) -> str:
        """Finds "4/5" and "4 out of 5", of which the first number is the answer."""
        top = re.escape(list(self.texts)[-1])
        return rf"\b(\d+)\s?(?:/|out of)\s?{top}\b"


def _level(name: str) -> str:
    return f"option {name}"


def yes_or_no(favourable: str = "yes", order: str = ONE, yes: str = "Yes", no: str = "No") -> Options:
    """Yes or no; the score is the share of the favourable one.

    Examples
    --------
    >>> yes_or_no(favourable="no").scores[0].title
    'Share of the answer "no"'
    """
    if favourable not in ("yes", "no"):
        raise UnknownNameError("favourable answer", favourable, ("yes", "no"))
    values = {name: float(name == favourable) for name in ("yes", "no")}
    return Options({"yes": yes, "no": no}, values, _share(favourable), order, parser="yes-no")


def choice(
    texts: Mapping[str, str], favourable: str | Mapping[str, float], order: str = ONE, *, letters: bool = True
) -> Options:
    """One of several options; the score is the share of the favourable one, or what each counts.

    Raises
    ------
    UnknownNameError
        What is favourable is no option.

    Examples
    --------
    >>> choice({"hire": "hire", "reject": "reject"}, favourable="hire").scores[0].unit
    'probability'
    """
    if isinstance(favourable, str):
        if favourable not in texts:
            raise UnknownNameError("favourable option", favourable, texts)
        values = {name: float(name == favourable) for name in texts}
        return Options(texts, values, _share(favourable), order, letters)
    low, high = min(favourable.values(), default=0.0), max(favourable.values(), default=0.0)
    score = Score("score", "Expected score of the answer", "points", low, high)
    return Options(texts, favourable, score, order, letters)


def rating(low: int, high: int) -> Options:
    """A whole number from `low` to `high`; exact probabilities give the expected rating.

    Examples
    --------
    >>> rating(1, 5).scores[0].high
    5
    """
    if not 0 <= low < high or high - low >= MOST_OPTIONS:
        raise DataError(f"A rating has 2 to {MOST_OPTIONS} steps from 0 or more, not {low} to {high}.")
    steps = {str(step): str(step) for step in range(low, high + 1)}
    score = Score("rating", "Rating", "points", low, high)
    return Options(steps, {name: float(name) for name in steps}, score, parser="rating")


def _share(favourable: str) -> Score:
    return Score("share", f'Share of the answer "{favourable}"', "probability", 0.0, 1.0)


def whole(scores: Mapping[str, npt.NDArray[np.float64]], na: pl.Series) -> pl.DataFrame:
    """Answers that count as one each, where there is one."""
    out = pl.DataFrame(dict(scores)).with_columns(pl.all().cast(pl.Float64).fill_nan(None))
    return out.with_columns(mass=na.is_null().cast(pl.Float64), na=na.cast(NA_DTYPE))
