"""Blocks of a page: charts, tables, texts, and blocks of blocks.

Strings among the blocks of a section are paragraphs. Each block is shown only where it has something to show; `empty`
is said where it has nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from facevalue.protocol.charts import (
    Agreement,
    AnyChart,
    Cumulative,
    Distribution,
    Dumbbells,
    Grid,
    Heat,
    Scatter,
    Stacked,
    Strips,
)
from facevalue.protocol.contents import Made
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate

__all__ = [
    "Agreement",
    "AnyChart",
    "Block",
    "Column",
    "Cumulative",
    "Distribution",
    "Dumbbells",
    "Each",
    "Fold",
    "Grid",
    "Heat",
    "Many",
    "Numbers",
    "Overview",
    "Own",
    "PerModel",
    "Pictures",
    "Prose",
    "Say",
    "Scatter",
    "Side",
    "Stacked",
    "StoredAnswers",
    "Strips",
    "Table",
    "Widest",
    "WordLists",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """A table of estimates with everything known of them.

    Attributes
    ----------
    of:
        The rows.
    title:
        What it shows.
    heads:
        Titles of the labels; several are separated in a row's form by "|".
    most:
        Rows shown.
    every_model:
        Whether rows of every model are shown.

    Examples
    --------
    >>> Numbers(of=(Of("shift", ("variation",)),), title="All shifts", heads=("Cue",)).heads
    ('Cue',)
    """

    of: tuple[Of, ...]
    title: str
    heads: tuple[str, ...] = ()
    most: int | None = None
    every_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WordLists:
    """Words that mark groups, a list per group.

    Attributes
    ----------
    of:
        The words; `word` is their label.
    title:
        Form of a list's title, and after "|" what stands beside it.
    word:
        Label of the word.
    rank, rank_title:
        Measure of the same cells that words are ranked by, and the title of its column.
    published, published_title:
        The published ranking, and what it is called.
    most:
        Words of each group.
    empty:
        What is said if there is none.
    """

    of: Of
    rank: str
    published: Of
    title: str
    word: str = "word"
    most: int = 20
    rank_title: str = "z"
    published_title: str = "As published"
    empty: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    title:
        For people.
    what:
        What of a row's estimate: "value" (with interval), "interval", "floor", "verdict", "n", "label"; or a function.
    measure:
        Another measure of the same cell; the row's own by default.
    quiet:
        Whether it is less important.

    Examples
    --------
    >>> Column("95% interval", "interval").what
    'interval'
    >>> Column.from_form("Verdict|verdict|shift|quiet") == Column("Verdict", "verdict", "shift", quiet=True)
    True
    """

    title: str
    what: "str | Callable[[Look, Estimate], str]" = "value"
    measure: str = ""
    quiet: bool = False

    @classmethod
    def from_form(cls, form: str) -> "Column":
        """A column from its title and, each after a "|", what it shows, of which measure, and "quiet"."""
        title, *words = form.split("|")
        content = next((word for word in words if word in _SHOWN), "value")
        measure = next((word for word in words if word not in (*_SHOWN, "quiet")), "")
        return cls(title, content, measure, "quiet" in words)


_SHOWN = ("value", "chance", "tally", "interval", "floor", "verdict", "n", "label")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of estimates, some of their numbers beside each other.

    Attributes
    ----------
    of:
        The rows.
    columns:
        What is shown of each; a text stands for `Column.from_form` of it.
    title:
        For those who can't see it.
    label:
        Titles of the columns of labels; several are separated in a row's form by "|".
    each_model:
        Whether there are rows for every model.

    Examples
    --------
    >>> shown = Table(of=(Of("mean", ("role",)),), columns=("Mean", Column("n", "n")), title="Means by role")
    >>> [column.title for column in shown.shown]
    ['Mean', 'n']
    """

    of: tuple[Of, ...]
    columns: tuple[Column | str, ...]
    title: str
    label: tuple[str, ...] = ("",)
    each_model: bool = False
    lead: str = ""
    note: str = ""
    empty: str = ""
    heading: str = ""
    warn: Callable[[Look, list[Estimate]], str] | None = None

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns."""
        return tuple(Column.from_form(column) if isinstance(column, str) else column for column in self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Per cell of a breakdown: how many differences were found among its rows, which are outermost, and their spread.

    Attributes
    ----------
    of:
        What is counted.
    over:
        Labels of the breakdown; the first groups the lines.
    label, heads:
        Form of a line, its columns separated by "|", and their titles.
    ends, row:
        Titles of the outermost rows upward and downward, and the form of such a row.
    spread:
        How far the rows of a cell are apart.
    title, lead, empty:
        As for charts.
    """

    of: tuple[Of, ...]
    over: tuple[str, ...]
    label: str
    heads: tuple[str, ...]
    row: str
    spread: Of
    ends: tuple[str, str] = ("Highest", "Lowest")
    title: str = ""
    lead: str = ""
    empty: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """A text with numbers: a paragraph, or a list if the function returns several; nothing for an empty one.

    Attributes
    ----------
    text:
        From the estimates to it.
    small:
        Whether it is a note below something.

    Examples
    --------
    >>> Prose(lambda look: f"{len(look.models)} models were asked.").small
    False
    """

    text: Callable[[Look], str | Sequence[str]]
    small: bool = False


@dataclass(frozen=True, slots=True)
class Say:
    """A fixed text in a manner of its own: a heading ("h3", "h4"), a note ("small"), a paragraph ("lead")."""

    text: str
    how: str = "lead"


@dataclass(frozen=True, slots=True)
class Pictures:
    """Stimuli of a few units that were shown, as chosen by the page's `Gallery`.

    Examples
    --------
    >>> Pictures("What was shown").heading
    'What was shown'
    """

    heading: str = ""
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Widest:
    """Sets whose scores lie farthest apart, as chosen by the page's `WidestSets`."""


@dataclass(frozen=True, slots=True)
class StoredAnswers:
    """Stored answers behind the findings, as chosen by the page's examples.

    Examples
    --------
    >>> StoredAnswers(lead="Stored answers.", empty="No answer is valid.").empty
    'No answer is valid.'
    """

    heading: str = ""
    lead: str = ""
    empty: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Each:
    """The same blocks for every cell of a breakdown that the estimates have.

    Attributes
    ----------
    of:
        Estimates whose cells these are; those of the first of its blocks by default.
    over:
        Labels of the breakdown; within, they are fixed in every selection that names them in `by`.
    blocks:
        What is shown of each.
    title, note, lead:
        A cell's title (none: its blocks stand as they are), the smaller text beside it and a paragraph, as forms or
        functions.
    fold:
        "" for headings; "closed", "open", "first" for all but the first closed, "crossed" for closed ones where the
        first label crosses two.
    level:
        Of the headings.
    boxed:
        Whether each cell has a frame.
    order:
        "given", "found" for those with the most findings first, or "crossed" for crossings last.
    heading, intro:
        Heading and paragraph above all of them.
    nonzero:
        Whether cells in which every value is zero are left out.
    empty:
        What is said if there is none.

    Examples
    --------
    >>> cues = Of("shift", ("role", "variation"))
    >>> Each(over=("role",), blocks=(Numbers(of=(cues,), title="Shifts"),), title="{role}").cells == (cues,)
    True
    """

    over: tuple[str, ...]
    blocks: tuple["Block", ...]
    of: tuple[Of, ...] = ()
    nonzero: bool = False
    title: str = ""
    note: "str | Callable[[Look], str]" = ""
    lead: "str | Callable[[Look], str]" = ""
    fold: str = ""
    level: int = 3
    boxed: bool = False
    order: str = "given"
    heading: str = ""
    intro: "str | Callable[[Look], str]" = ""
    empty: str = ""

    @property
    def cells(self) -> tuple[Of, ...]:
        """Estimates whose cells these are."""
        of = next(filter(None, map(_estimates, self.blocks)), ())
        return self.of or tuple(replace(selection, most=None) for selection in of)


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that open when asked for; nothing if they have nothing to show but texts.

    Attributes
    ----------
    title, note:
        Its title, and smaller beside it.
    blocks:
        What it holds.
    open:
        Whether it is open from the start.
    class_:
        How it looks.

    Examples
    --------
    >>> Fold("More numbers", ("A paragraph.",)).open
    False
    """

    title: str
    blocks: tuple["Block", ...]
    note: str = ""
    open: bool = False
    class_: str = "numbers"


@dataclass(frozen=True, slots=True)
class Side:
    """Blocks beside each other."""

    blocks: tuple["Block", ...]


@dataclass(frozen=True, slots=True)
class Many:
    """Blocks shown only where several models were asked, and others where one was."""

    blocks: tuple["Block", ...]
    one: tuple["Block", ...] = ()


@dataclass(frozen=True, slots=True)
class PerModel:
    """Blocks folded away for every model; `{model}` in the title is its name."""

    title: str
    blocks: tuple["Block", ...]


@dataclass(frozen=True, slots=True)
class Own:
    """A study's own block."""

    build: Callable[[Look], Sequence[Made]]
    """From the estimates to ready contents (`facevalue.protocol.contents`)."""
    of: tuple[Of, ...] = ()
    """Selections that it needs, so that they are checked."""


Block = (
    str | Strips | Dumbbells | Numbers | Heat | Grid | Stacked | Scatter | Cumulative | Distribution | WordLists | Table
    | Overview | Agreement | Prose | Say | Pictures | Widest | StoredAnswers | Each | Fold | Side | Many | PerModel
    | Own
)  # fmt: skip
"""Anything that a section may hold."""


def _estimates(block: Block) -> tuple[Of, ...]:
    """Estimates that a block shows; those of its first block, if it holds blocks."""
    if isinstance(block, Each):
        return block.cells
    of: Of | tuple[Of, ...] = getattr(block, "of", ())
    inner = getattr(block, "blocks", ())
    return (of,) if isinstance(of, Of) else of or next(filter(None, map(_estimates, inner)), ())
