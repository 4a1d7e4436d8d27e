"""Contents of a page as plain data: what a study's own blocks make, and the questions and answers that it shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph ("lead", "small", "empty") or a heading ("h3", "h4")."""

    text: str
    how: str = "lead"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell of a table."""

    text: str
    small: str = ""
    """Text, and smaller text beside it."""
    sort: float | None = None
    """Sort key, if not its text."""
    strong: bool = False
    """True if it is set in bold."""
    shade: float | None = None
    """Points above or below none, which colour it; None for no colour."""
    judged: Estimate | None = None
    """Estimate whose verdict is shown with its sign instead of the text."""
    quiet: bool = False
    """True if it is less important."""
    of: Estimate | None = None
    """Its estimate."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """A table: titles of its columns, those of numbers, and its rows; the first entry of each is its title."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    numbers: tuple[int, ...] = ()
    quiet: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A line from one node to another; each node is two words, with a tooltip."""

    left: tuple[str, str]
    right: tuple[str, str]
    size: float
    tooltip: str


@dataclass(frozen=True, slots=True)
class Links:
    """Lines between nodes on the left and on the right, the largest first."""

    title: str
    note: str
    what: str
    lines: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A round mark: which letter, how large in [0, 1], whether found, whether ringed, and a tooltip."""

    letter: str
    text: str
    size: float
    found: bool
    ringed: bool
    tooltip: str


@dataclass(frozen=True, slots=True)
class Marks:
    """A small table of marks: its legend of letters, its columns, and a mark for each; None for none."""

    title: str
    keys: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Mark | None, ...]], ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """Contents that open when asked for."""

    title: str
    contents: "tuple[Made, ...]"
    note: str = ""
    open: bool = False


Made = Paragraph | Ledger | Links | Marks | Folded
"""Anything that a study's own block may make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A stored answer to show.

    Attributes
    ----------
    finding:
        The number that it stands behind.
    title:
        One line for people, as a form over the row of the answer: `{column}` in the wording of its level.
    rows, needs:
        Which answers will do, and the columns that this takes.
    columns:
        Further columns of the row for its forms.
    only:
        Column and level that a row must have if there is such a column.
    prefer:
        The one with the largest value of this is shown; the first by default.
    once:
        Columns of which no two examples share all; those grouped together may be in any order.
    sides:
        Forms of who is on the left, or first, and who on the right, where columns that end in `_1` and `_2` tell people
        apart.
    turned:
        Column and level of the rows in which the second of them is on the left.
    choice:
        Form of what was chosen.
    longest:
        Longest side of its picture in pixels.
    instead_of:
        Of several with the same word here, only the first that is found is shown.

    Examples
    --------
    >>> hired = pl.col("weight") == 1
    >>> Wanted(finding="Invited more often with a cap", title="With a cap", rows=hired).longest
    640
    """

    finding: str
    title: str
    rows: pl.Expr
    needs: tuple[str, ...] = ()
    columns: Mapping[str, pl.Expr] = field(default_factory=dict)
    only: tuple[tuple[str, str], ...] = ()
    prefer: pl.Expr | None = None
    once: tuple[str | tuple[str, ...], ...] = ()
    sides: tuple[str, str] = ("", "")
    turned: tuple[str, object] = ("", None)
    choice: str = ""
    longest: int = 640
    instead_of: str = ""


def at_levels_of(estimate: Estimate, *columns: str) -> pl.Expr:
    """Answers at an estimate's levels of these columns, whichever it has."""
    levels = {name: estimate[name] for name in columns if estimate[name] is not None}
    return pl.all_horizontal(pl.lit(value=True), *(pl.col(name).cast(pl.String) == levels[name] for name in levels))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Examples of one unit's stimulus without and with what was changed, behind the strongest findings."""

    of: Of
    """Estimates of the change."""
    within: str
    """Label in whose strongest level each is shown."""
    score: str
    """Column of the answers with the share of one option."""
    option: str
    """Level of that option."""
    bases: Callable[[pl.DataFrame, Mapping[str, str]], list[str]]
    """From the table of stimuli and the levels of a change to the stimuli that it is compared with."""
    same: tuple[str, ...] = ("ordering",)
    """Columns of the prompt that must be the same for both."""
    unit: str = "identity"
    """Column that says which stimuli belong together."""
    title: str = ""
    """Form of an example's title."""
    most: int = 4
    """Number of them at most."""
    base: str = "Unchanged"
    controls: Mapping[str, str] = field(default_factory=dict)
    """Names of these; by level, where they are a control."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery:
    """Stimuli that were shown: of the first units, one of each level."""

    by: str
    """Column with a unit for each level of which there is a row of pictures."""
    each: str
    """Column of which every level is shown once."""
    caption: str
    """Form of a caption."""
    unit: str = "identity"
    units: int = 2
    """Number of units."""
    base: str = "Unchanged"
    """Caption of a stimulus without a level."""
    controls: Mapping[str, str] = field(default_factory=dict)
    last: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WidestSets:
    """Sets of stimuli whose replies' scores lie farthest apart: each whole, with every reply."""

    score: str
    """Beginning of the name of the column of the scores; the first such column counts."""
    title: str
    """Form of a set's title."""
    text: str = "text"
    """Column of the replies."""
    unit: str = "set"
    member: str = "group"
    """Columns that say which stimuli belong together, and who is on each."""
    same: tuple[str, ...] = ("prompt",)
    """Columns that the replies of a set must share."""
    most: int = 3
    """Number at most, no unit twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """Sentences of replies in which marked words stand."""

    of: Of
    """The words, clearest first."""
    text: str
    """Column of the answers with the text."""
    word: str = "word"
    """Its label; `dimension` names the column of the trial that has to be at the level of `group`."""
    each: int = 12
    most: int = 160
    """Number of each group, and of all, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedQuestions:
    """Selection of the questions that are quoted."""

    block: str = ""
    """Constant of which every level is quoted; without one, the first block."""
    by: tuple[str, ...] = ()
    """Columns of which every combination is quoted once; the first two questions by default."""
    title: str = "{block}"
    note: str = ""
    """Forms over the trial's columns; `{block}` is the level of the constant."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Text in place of a level, as "column=level"."""
    few: tuple[tuple[str, str, int], ...] = ()
    """Column, level and how many questions of it at most."""
    span: int = 1
    """Number of stimuli that are looked at."""
    most: int = 40
    """Number of questions at most."""
