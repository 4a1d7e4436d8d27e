"""Kinds of answers in the model's own words: an amount, the fields of a JSON object, free text."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np
import polars as pl

from facevalue.annotations import lexicon
from facevalue.annotations.counts import token_lengths
from facevalue.answers import NA, NA_DTYPE, free_text, json_fields, numbers, ratings, salaries
from facevalue.answers.base import UNREAD, each_once, unread
from facevalue.errors import DataError
from facevalue.prompts.phrases import slots
from facevalue.protocol.outside_scores import DECLINED, TEXT, Outside
from facevalue.protocol.replies import Reply, whole_answers
from facevalue.statistics.statistic import Score
from facevalue.types import Option, Status

ORDERINGS = ("1",)
STATED = "stated"
"""Factor of questions by which simulated models know what numbers and fields to state."""
KEYWORDS = "keywords"
"""Factor of questions by which simulated models know which words to name, where a prompt asks for keywords."""
CHARACTERS, WORDS, LENGTH, SENTIMENT = "characters", "words", "length", "sentiment"
TAKEN = (CHARACTERS, WORDS, LENGTH, SENTIMENT)
_WORD = r"[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*"
REASON, NOTE = "reason", "note"
"""Columns of answers that say why a reply does not count, and what a number was taken from."""
PER = 1000.0


class WrittenReply:
    """Replies without options."""

    orderings = ORDERINGS
    outside: Outside = Outside()
    """Scores that a judge or a scorer gives."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of its answers, besides scores, that statistics may need."""
        return self.outside.columns

    @property
    def instructions(self) -> Mapping[str, str]:
        """Instructions to simulated models on how to answer."""
        return {}

    def options(self, ordering: str) -> tuple[Option, ...]:
        """None: the reply is in words of its own."""
        return ()


@dataclass(frozen=True)
class Amount(WrittenReply):
    """A number.

    Attributes
    ----------
    unit:
        For people ("USD").
    low, high:
        Least and greatest that count; others are no answer.
    explained:
        Whether it stands beside a rating or a salary why there is none, or what it was taken from.

    Examples
    --------
    >>> Amount("USD", low=0).scores[0].unit
    'USD'
    """

    unit: str = "1"
    low: float = -inf
    high: float = inf
    explained: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise DataError(f"The least amount, {self.low:g}, is not below the greatest, {self.high:g}.")

    @property
    def scores(self) -> tuple[Score, ...]:
        """The amount."""
        return (Score("amount", "Amount", self.unit, self.low, self.high),)

    @property
    def instructions(self) -> Mapping[str, str]:
        """The range that simulated models answer in."""
        return {STATED: json.dumps({"": _range(self.low, self.high)})}

    @property
    def columns(self) -> tuple[str, ...]:
        """Reason and note, where these are wanted."""
        return (REASON, NOTE) if self.explained else ()

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The amount that each reply states; each distinct reply is read once."""
        amounts = self._parse_answers(frame)
        answers = whole_answers({"amount": amounts["value"].to_numpy()}, amounts["na"])
        return answers.with_columns(amounts.select(self.columns))

    def _parse_answers(self, frame: pl.DataFrame) -> pl.DataFrame:
        return numbers.parse_column(frame, "text", self.low, self.high)


@dataclass(frozen=True)
class TenPoints(Amount):
    """A rating from 1 to 10 in words of one's own ("8 out of 10"): a range counts as its middle.

    Examples
    --------
    >>> TenPoints().read(pl.DataFrame({"text": ["8/10", "between 7 and 8", "4/5"]}))["amount"].to_list()
    [8.0, 7.5, None]
    """

    unit: str = "points"
    low: float = ratings.LOW
    high: float = ratings.HIGH

    def _parse_answers(self, frame: pl.DataFrame) -> pl.DataFrame:
        return ratings.parse_column(frame, "text")


@dataclass(frozen=True)
class Salary(Amount):
    """A yearly salary in dollars: an hourly wage counts 2,000 times, other periods and currencies are no answer.

    Examples
    --------
    >>> Salary().read(pl.DataFrame({"text": ["$20 an hour", "3,000 euros a month"]}))["amount"].to_list()
    [40000.0, None]
    """

    unit: str = "$"
    low: float = salaries.LOW
    high: float = salaries.HIGH

    @property
    def instructions(self) -> Mapping[str, str]:
        """The range that simulated models answer in."""
        return {STATED: json.dumps({"": salaries.USUAL})}

    def _parse_answers(self, frame: pl.DataFrame) -> pl.DataFrame:
        return salaries.parse_column(frame, "text")


def read_fields(
    frame: pl.DataFrame, names: Sequence[str], values: Callable[[str, bool], tuple[list[float | None], NA | None]]
) -> pl.DataFrame:
    """Scores of replies that state several, each missing on its own; a reply without any is no answer.

    `values`: from a reply, and whether it was cut, to its scores and why there is none. Each distinct reply is read
    once.
    """
    keyed = frame.select(pl.col("text").cast(pl.String), pl.col("status").cast(pl.String))

    def read(text: str | None, status: str | None) -> tuple[object, ...]:
        if text is None or status in UNREAD:
            return *([None] * len(names)), unread(status).value
        row, reason = values(text, status == Status.TRUNCATED)
        return *row, (reason or NA.NEITHER).value if all(value is None for value in row) else None

    scores = each_once(keyed, read, {**dict.fromkeys(names, pl.Float64()), "na": NA_DTYPE})
    return whole_answers({name: scores[name].to_numpy() for name in names}, scores["na"])


def _range(low: float, high: float) -> list[float]:
    """A range to answer in, also where an end is open."""
    start = low if isfinite(low) else min(0.0, high - 100.0)
    return [start, high if isfinite(high) else start + 100.0]


@dataclass(frozen=True)
class Field:
    """A field of a JSON object: a number, or one of several values with a score each.

    Attributes
    ----------
    low, high, unit:
        Of the number, or of the scores.
    values:
        Score by value; empty for a number.
    title:
        What it is called for people; "Field NAME" if empty.
    moved:
        What is said of a higher and of a lower value, with `{size}` for by how much: "skin {size} lighter". By default
        the name is "higher" or "lower".

    Examples
    --------
    >>> Field(low=0, high=10).values
    {}
    """

    unit: str = "1"
    low: float = -inf
    high: float = inf
    values: Mapping[str, float] = field(default_factory=dict)
    title: str = ""
    moved: tuple[str, str] = ("", "")

    def __post_init__(self) -> None:
        if any(self.moved) and not all(slots(form) == ["size"] for form in self.moved):
            raise DataError("What is said of a higher and of a lower value has {size} in it once, for by how much.")


@dataclass(frozen=True)
class Fields(WrittenReply):
    """A JSON object whose fields are scored one by one.

    Attributes
    ----------
    fields:
        By name.

    Examples
    --------
    >>> fields = Fields({"age": Field("years", 0, 120), "trust": Field(values={"low": 0, "high": 1})})
    >>> [score.name for score in fields.scores]
    ['age', 'trust']
    """

    fields: Mapping[str, Field]

    def __post_init__(self) -> None:
        if not self.fields:
            raise DataError("A JSON object without fields says nothing.")

    @property
    def scores(self) -> tuple[Score, ...]:
        """A score per field."""
        return tuple(
            Score(
                name,
                f.title or f"Field {name}",
                f.unit,
                f.low,
                f.high,
                moved=f.moved,
                quantity=f.title[:1].lower() + f.title[1:],
            )
            for name, f in self.fields.items()
        )

    @property
    def instructions(self) -> Mapping[str, str]:
        """The values and ranges that simulated models answer in."""
        ranges = {name: list(field.values) or _range(field.low, field.high) for name, field in self.fields.items()}
        return {STATED: json.dumps(ranges)}

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The fields of each reply; each distinct reply is read once."""
        return read_fields(frame, list(self.fields), self._values)

    def _values(self, text: str, truncated: bool) -> tuple[list[float | None], NA | None]:
        parsed = json_fields.parse(text, dict.fromkeys(self.fields, ()), truncated=truncated)
        return [self._value(name, parsed.fields.get(name)) for name in self.fields], parsed.reason

    def _value(self, name: str, reply: json_fields.ReplyField | None) -> float | None:
        field = self.fields[name]
        if reply is None or len(reply.values) != 1:
            return None
        text = reply.values[0].strip().casefold()
        if field.values:
            return {value.casefold(): score for value, score in field.values.items()}.get(text)
        return numbers.parse(text, field.low, field.high)[0]


_LONGER, _LENGTHS = ("described {size} longer", "described {size} shorter"), "lengths of texts"


@dataclass(frozen=True)
class Text(WrittenReply):
    """A text: how long it is, its sentiment, and how often words of a list occur in it.

    Attributes
    ----------
    taken:
        Which of `TAKEN`.
    words:
        Lists of words, by name: occurrences per 1,000 words of the text.
    outside:
        Scores that come from outside: categories by a judge, numbers by scorers.
    keywords:
        Lists of which simulated models name a word each where they are asked for keywords.

    Examples
    --------
    >>> [score.name for score in Text(taken=("words",), words={"warmth": ("kind", "friendly")}).scores]
    ['words', 'warmth']
    """

    taken: tuple[str, ...] = (CHARACTERS, WORDS)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outside: Outside = field(default_factory=Outside)
    keywords: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if not self.scores:
            raise DataError("Nothing is taken of the text: say what, as in take = ['words'].")
        names = [score.name for score in self.scores]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise DataError(f"Two scores of a text are called {twice!r}. Rename one of them.")

    @property
    def instructions(self) -> Mapping[str, str]:
        """The keywords that simulated models choose from."""
        return {KEYWORDS: json.dumps(self.keywords)} if self.keywords else {}

    @property
    def scores(self) -> tuple[Score, ...]:
        """A score for each thing that is taken of a text."""
        counts = {
            CHARACTERS: Score(CHARACTERS, "Length of the text", "characters", 0.0, moved=_LONGER, quantity=_LENGTHS),
            WORDS: Score(WORDS, "Words of the text", "words", 0.0, moved=_LONGER, quantity=_LENGTHS),
            LENGTH: Score(
                LENGTH, "Length of the text without punctuation", "words", 0.0, moved=_LONGER, quantity=_LENGTHS
            ),
            SENTIMENT: Score(SENTIMENT, "Sentiment of the text (VADER, compound)", "1", -1.0, 1.0),
        }
        rates = (
            Score(
                name, f'Words of the list "{name}"', "per 1,000 words", 0.0, PER, quantity=f"words of “{name}”",
                moved=(
                    f"described with more words of “{name}” by {{size}}",
                    f"described with fewer words of “{name}” by {{size}}",
                ),
            )
            for name in self.words
        )  # fmt: skip
        return (*(counts[name] for name in self.taken), *rates, *self.outside.scores)

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Measure what is taken of each text."""
        parsed = free_text.parse_column(frame, "text")
        lengths = token_lengths(parsed, "text")
        out: dict[str, np.ndarray] = {}
        if CHARACTERS in self.taken:
            out[CHARACTERS] = lengths["characters"].cast(pl.Float64).to_numpy()
        if WORDS in self.taken:
            out[WORDS] = lengths["tokens"].cast(pl.Float64).to_numpy()
        if LENGTH in self.taken:
            out[LENGTH] = parsed["text"].str.count_matches(_WORD).cast(pl.Float64).to_numpy()
        if SENTIMENT in self.taken:
            from facevalue.annotations import sentiment  # noqa: PLC0415 - its lexicon is large

            out[SENTIMENT] = sentiment.score(parsed, "text")["compound"].cast(pl.Float64).to_numpy()
        if self.words:
            hits = lexicon.count(parsed, "text", lexicon.Lexicon("words of the study", "", "", self.words))
            for name in self.words:
                out[name] = (hits[name] * PER / lengths["tokens"]).cast(pl.Float64).to_numpy()
        out |= {name: column.to_numpy() for name, column in self.outside.score_texts(parsed["text"], frame).items()}
        answers = whole_answers(out, parsed["na"])
        if not self.outside:
            return answers
        answers = answers.with_columns(parsed["text"].alias(TEXT))
        if not self.outside.all_scores:
            return answers
        return answers.with_columns(
            parsed[DECLINED], **self.outside.score_all(parsed["text"], parsed[DECLINED])
        )  # fmt: skip


def outside_of(reply: Reply) -> Outside:
    """Scores of a reply that come from outside."""
    return reply.outside if isinstance(reply, WrittenReply) else Outside()
