"""Definitions of measures, and which of them are wanted."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

POOLED = "(all models)"
"""Name of several models together."""
NO_INTERVENTION, FIRST_RUN = "no intervention", "the first run"
"""Reference of a difference, as the label `versus` gives it: the same requests as they are, or another run."""
UNANSWERED, WITHOUT_NOISE = "no valid answer", "corrected for noise"
"""Scores of several measures: 1 where an answer is missing; the same without the part that chance adds."""
SHARES = ("share", "probability")
"""Units of values that are shares of a whole, from 0 to 1."""
APART = "share apart"
"""Unit in which people read how far such values lie apart: points of a hundred."""


_SAMPLED = {
    "identity": "people", "image": "pictures", "counterfactual set": "sets", "person or scene": "people or scenes",
    "unit sampled": "units", "unit asked together": "units",
}  # fmt: skip
"""What people call the units that were sampled, in the plural."""


def sampled_units(cluster: str) -> str:
    """Name of the sampled units, in the plural, as people call them; `cluster`: that of a measure.

    Examples
    --------
    >>> sampled_units("identity"), sampled_units("image"), sampled_units("unit sampled"), sampled_units("")
    ('people', 'pictures', 'units', 'units')
    """
    return _SAMPLED.get(cluster, f"{cluster or 'unit'}s")


def count_units(count: float, cluster: str) -> str:
    """A number of sampled units with their name: "1 person", "1,200 pictures"."""
    return count_nouns(f"{count:,.0f}", sampled_units(cluster))


def count_nouns(amount: str, nouns: str) -> str:
    """A number and what it counts.

    Examples
    --------
    >>> count_nouns("1", "questions in each test"), count_nouns("1", "people"), count_nouns("2.5", "questions")
    ('1 question in each test', '1 person', '2.5 questions')
    """
    singular = re.sub(r"^people\b", "person", re.sub(r"^(\w+)s\b", r"\1", nouns))
    return f"{amount} {singular if amount == '1' else nouns}"


def unit_name(unit: str, *, apart: bool) -> str:
    """The unit in which people read values of a unit: shares in percent, what lies between two of them in points.

    Examples
    --------
    >>> unit_name("probability", apart=True) == APART, unit_name("share", apart=False), unit_name("words", apart=True)
    (True, 'share', 'words')
    >>> unit_name("%", apart=True)
    'pp'
    """
    return {**dict.fromkeys(SHARES, APART), "%": "pp"}.get(unit, unit) if apart else unit


@dataclass(frozen=True, slots=True)
class Measure:
    """Definition of a measure, or of one of its scores: what its estimates mean and where it comes from.

    Examples
    --------
    >>> Measure("mean", "Warmth, mean", "sum / n", "points", "image", "", score="warmth").key
    'mean.warmth'
    """

    name: str
    """As in the `measure` column of the estimates."""
    title: str
    """For people."""
    equation: str
    """Plain text, in the paper's symbols."""
    unit: str
    """Unit of `value` ("probability", "share", "1")."""
    cluster: str
    """The unit that was sampled, and over which intervals are taken ("identity")."""
    source: str
    """Paper and section; "FaceValue" for what no paper has."""
    paired: bool = False
    """True if it compares stimuli of the same cluster."""
    signed: bool = True
    """True if it has a direction. Unsigned measures are positive without any effect, and stand beside a noise floor."""
    comparison: bool = False
    """True if it says that things differ, so that there is a verdict to give; a rate by itself is none."""
    limits: tuple[float, float] = (-math.inf, math.inf)
    """Smallest and largest possible value; an interval says nothing about impossible ones."""
    squared: bool = False
    """True for a squared distance, as divergences are: then its noise floor says how it varies (`unsigned`)."""
    norm: bool = False
    """True if noise adds to its square, as to that of a spread between groups: its difference between two runs is taken
    without that (`paired_changes.ChangeSet`)."""
    selection: bool = False
    """True for the share at which people are chosen, or judged favourably: what impact ratios are taken of."""
    unbounded: str = ""
    """Reason why missing answers leave it without bounds; empty where it can have some."""
    score: str = ""
    """Of which score, as in the `score` column of the estimates; empty where one definition is of all others."""
    other_scores: tuple[str, ...] = ()
    """Scores that have definitions of their own under the same name (`told_apart`)."""

    @property
    def key(self) -> str:
        """Name, and score where it is of one: "mean.warmth". Options and margins name measures so."""
        return key_of(self.name, self.score)

    @property
    def rows(self) -> "pl.Expr":
        """Rows of a table of estimates that are of it."""
        others = dict.fromkeys([key_of(self.name, score) for score in self.other_scores], False)
        return value_by_measure({self.key: True, **others}, default=False)

    @property
    def is_distance(self) -> bool:
        """True if it measures a distance between values (a difference, a size of shifts, a spread), not a level.

        Examples
        --------
        >>> Measure("rate", "Rate", "n / N", "share", "image", "", limits=(0, 1)).is_distance
        False
        >>> Measure("gap", "Gap", "p - q", "share", "image", "", limits=(-1, 1)).is_distance
        True
        """
        sizes = self.unit == "probability" and not self.signed  # of shifts; unsigned shares are shares
        return self.comparison or sizes or -math.inf < self.limits[0] < 0


def key_of(name: str, score: str | None) -> str:
    """Key of a measure by its name, of a score or of all: "mean.warmth", "mean"."""
    return f"{name}.{score}" if score else name


def split_key(key: str) -> tuple[str, str]:
    """Name of a measure and its score, empty for none: the inverse of `key_of`.

    Examples
    --------
    >>> split_key("mean.warmth"), split_key("mean")
    (('mean', 'warmth'), ('mean', ''))
    """
    name, _, score = key.partition(".")
    return name, score


def definition_of(
    measures: Mapping[str, Measure], name: str, score: str | None = None, versus: str | None = None
) -> Measure | None:
    """Definition of a measure of a score, or of the change in it, from definitions by key; None where there is none.

    Examples
    --------
    >>> mean = Measure("mean", "Mean", "sum / n", "points", "image", "")
    >>> definition_of({"mean": mean}, "mean", "warmth") is mean, definition_of({"mean.warmth": mean}, "mean")
    (True, None)
    """
    measure = measures.get(key_of(name, score)) or measures.get(name)
    return change_of(measure) if measure and versus else measure


def told_apart(measures: Iterable[Measure]) -> tuple[Measure, ...]:
    """The same definitions, each of all scores without those of its name that have one of their own.

    Examples
    --------
    >>> mean = Measure("mean", "Mean", "sum / n", "points", "image", "")
    >>> told_apart([mean, replace(mean, score="warmth")])[0].other_scores
    ('warmth',)
    """
    definitions = list(measures)
    scores = {of.name: tuple(m.score for m in definitions if m.name == of.name and m.score) for of in definitions}
    return tuple(m if m.score else replace(m, other_scores=scores[m.name]) for m in definitions)


def title_of_scores(measures: Sequence[Measure]) -> str:
    """Title of a measure of one or of several scores: what their titles have in common, else its name.

    Examples
    --------
    >>> first, second = (Measure("mean", f"Mean: {x}", "sum / n", "points", "image", "", score=x) for x in "ab")
    >>> title_of_scores([first]), title_of_scores([first, second])
    ('Mean: a', 'Mean')
    """
    if len(measures) == 1:
        return measures[0].title
    begins = {measure.title.partition(": ")[0] for measure in measures}
    return begins.pop() if len(begins) == 1 else measures[0].name


def rows_of(keys: Collection[str]) -> "pl.Expr":
    """Rows of a table of estimates that are of measures, by key; see `value_by_measure`.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"measure": ["mean", "mean", "gap"], "score": ["warmth", "words", None]})
    >>> table.filter(rows_of(["mean.words", "gap"]))["score"].to_list()
    ['words', None]
    """
    return value_by_measure(dict.fromkeys(keys, True), default=False)


def rows_of_any(measures: Iterable[Measure]) -> "pl.Expr":
    """Rows of a table of estimates that are of any of these definitions."""
    import polars as pl  # noqa: PLC0415 - commands that estimate nothing start without it

    return pl.any_horizontal(pl.lit(value=False), *(measure.rows for measure in measures))


def value_by_measure(values: Mapping[str, T], default: T | None = None) -> "pl.Expr":
    """Value of each row of a table of estimates, from values by key of its measure.

    A name alone is of the rows without a score; where a measure has none of these, of all scores.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"measure": ["mean", "mean", "gap"], "score": ["warmth", "words", None]})
    >>> table.select(unit=value_by_measure({"mean.words": "words", "gap": "points"}))["unit"].to_list()
    [None, 'words', 'points']
    """
    import polars as pl  # noqa: PLC0415 - commands that estimate nothing start without it

    some = next(iter(values.values()), default)
    dtype = {bool: pl.Boolean, str: pl.String}.get(type(some), pl.Float64)
    key, is_whole = pl.concat_str("measure", "score", separator="."), pl.col("score").is_null()
    name = pl.when(is_whole | ~is_whole.any().over("measure")).then("measure")
    matches = (column.replace_strict(dict(values), default=None, return_dtype=dtype) for column in (key, name))
    return pl.coalesce(*matches, pl.lit(default, dtype))


@cache
def change_of(measure: Measure) -> Measure:
    """Definition of the rows of a measure that are differences, as their label `versus` says.

    Examples
    --------
    >>> change_of(Measure("share", "Share chosen", "n / N", "%", "image", "", limits=(0, 100))).limits
    (-100, 100)
    """
    low, high = measure.limits
    return replace(
        measure, title=f"{measure.title}: change",
        equation=f"{measure.name} - {measure.name} of what `versus` says, on the same units",
        unit="pp" if measure.unit == "%" else measure.unit,
        source="FaceValue; interval by the delete-a-group jackknife (Kott 2001)", paired=True, signed=True,
        comparison=True, limits=(low - high, high - low), squared=False, norm=False, selection=False, unbounded="",
    )  # fmt: skip


_LIMITS = {"share": (0.0, 1.0), "%": (0.0, 100.0), "pp": (-100.0, 100.0)}


class Definitions:
    """Defines measures of what a study samples, and keeps them in their order.

    Examples
    --------
    >>> define = Definitions("image")
    >>> define("gap", "Gap", "p - q", "probability", "FaceValue", comparison=True).limits, len(define.measures)
    ((-1.0, 1.0), 1)
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self.measures: tuple[Measure, ...] = ()

    def __call__(self, name: str, title: str, equation: str, unit: str, source: str, **facts: Any) -> Measure:
        """Define a measure; `facts` are other fields of it. Its limits follow from the unit, unless they are stated."""
        lowest = -1.0 if facts.get("signed", True) else 0.0
        usual = (lowest, 1.0) if unit == "probability" else _LIMITS.get(unit, (-math.inf, math.inf))
        facts = {"cluster": self._cluster, "limits": usual, **facts}
        measure = Measure(name, title, equation, unit, source=source, **facts)
        self.measures += (measure,)
        return measure


P = ParamSpec("P")
First = TypeVar("First")
_WANTED: ContextVar[frozenset[str] | None] = ContextVar("wanted", default=None)


@contextmanager
def measures_wanted(keys: Iterable[str] | None) -> Iterator[None]:
    """Have analyses leave out what none of these measures, by key, needs; None wants all.

    Estimates of these are the very same as without it. Those of others, and of other scores, may be there or not.
    """
    token = _WANTED.set(None if keys is None else frozenset(split_key(key)[0] for key in keys))
    try:
        yield
    finally:
        _WANTED.reset(token)


def is_wanted(names: Iterable[str]) -> bool:
    """Return whether any of these measures, by name, is wanted."""
    chosen = _WANTED.get()
    return chosen is None or not chosen.isdisjoint(names)


def takes(
    *measures: Measure,
) -> Callable[[Callable[Concatenate[First, P], None]], Callable[Concatenate[First, P], None]]:
    """Mark a step of an analysis by the measures that need it: it does nothing where none of them is wanted.

    Examples
    --------
    >>> share, gap = (Measure(name, "", "", "share", "image", "") for name in ("share", "gap"))
    >>> @takes(share)
    ... def add_share(table):
    ...     table.append("share")
    >>> table = []
    >>> with measures_wanted(["gap"]):
    ...     add_share(table)
    >>> add_share(table)
    >>> table
    ['share']
    """
    names = frozenset(measure.name for measure in measures)

    def mark(step: Callable[Concatenate[First, P], None]) -> Callable[Concatenate[First, P], None]:
        @wraps(step)
        def take_wanted(first: First, /, *args: P.args, **kwargs: P.kwargs) -> None:
            if is_wanted(names):
                step(first, *args, **kwargs)

        return take_wanted

    return mark
