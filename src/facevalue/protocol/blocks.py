"""Blocks of a page: what is shown of which estimates.

Strings among the blocks of a section are paragraphs. Each block is shown only where it has something to show; `empty`
is said where it has nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from facevalue.protocol.contents import Made
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate

NUMBERS = "The numbers behind this chart"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyChart:
    """What charts have in common.

    Attributes
    ----------
    title:
        Of the chart.
    heading, lead, note:
        A heading and a paragraph above it, and a smaller one below.
    empty:
        What is said if nothing is known; nothing by default.
    numbers:
        Title of the table with the numbers behind it; none if empty.
    heads:
        Titles of that table's columns of labels; the labels' names by default.
    rows:
        Its rows, where they are not those of the chart.
    """

    title: str = ""
    heading: str = ""
    lead: str = ""
    note: str = ""
    empty: str = ""
    numbers: str = NUMBERS
    heads: tuple[str, ...] = ()
    rows: tuple[Of, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Strips(AnyChart):
    """Intervals, one row per estimate.

    Attributes
    ----------
    of:
        The rows.
    first, what:
        Titles of the columns of labels and of values.
    zero:
        Whether the axis must hold zero.
    kinds:
        Label whose kind sets shape and colour, and the table of titles that says which kind a level has.
    key:
        Whether it is said what dots, bars and shades mean.
    """

    of: tuple[Of, ...]
    first: str = ""
    what: str = "Value"
    zero: bool = True
    kinds: tuple[str, str] | None = None
    key: bool = False


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
    """

    of: tuple[Of, ...]
    title: str
    heads: tuple[str, ...] = ()
    most: int | None = None
    every_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat(AnyChart):
    """A table of shifts in colours, with the number in each cell.

    Attributes
    ----------
    of:
        The cells.
    row, column:
        Forms of their titles.
    section, band:
        Forms of what stands above several rows, or several columns.
    whole:
        Cells of a first column over all others.
    whole_title:
        Its title.
    corner:
        What rows are.
    models:
        Whether columns are models.
    tools:
        Whether rows can be searched and sorted.
    legend:
        Whether colours are explained.
    fold:
        Summary under which it is folded away; shown openly if empty.
    """

    of: Of
    row: str
    column: str
    section: str = ""
    band: str = ""
    whole: Of | None = None
    whole_title: tuple[str, str] = ("All", "All")
    corner: str = ""
    models: bool = False
    tools: bool = False
    legend: bool = False
    fold: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A compact table of many cells.

    Attributes
    ----------
    of:
        The cells; each of `row` and `column` once.
    row, column:
        Labels of rows and columns.
    title, corner:
        What it shows, and what its rows are.
    scale:
        What colours say: "share" (of 100, against `even`), "difference" (against 0), "right" (against 100), or "score"
        (against `even`).
    even:
        From a look to what colours are counted from.
    whole:
        Cells of a first column over all others.
    mean:
        Whether colours are counted from the mean of all cells.
    test, test_whole:
        Measures of the same cells whose test marks them, and those of the first column; their own by default.
    order:
        Rows whose order the rows take; from the highest value down by default.
    signed:
        Whether numbers have a sign.
    turned, turn_from:
        Whether titles of columns are turned, or from how many columns on.
    plain:
        Whether titles of columns are written as the study has them, in the order of their names.
    square:
        Whether columns are the rows once more.
    models:
        Whether columns are models.
    least:
        Fewer columns are not shown.
    large:
        Whether it is left out of pages with very many cells.
    """

    of: Of
    row: str
    column: str
    title: str
    corner: str = ""
    scale: str = "difference"
    even: Callable[[Look], float] | None = None
    whole: Of | None = None
    mean: bool = False
    test: str = ""
    test_whole: str = ""
    order: Of | None = None
    signed: bool = False
    turned: bool = True
    turn_from: int | None = None
    plain: bool = False
    square: bool = False
    models: bool = False
    least: int = 1
    large: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacked(AnyChart):
    """Bars of shares that add up to a whole, each part with its letter.

    Attributes
    ----------
    of:
        The parts, with the label that says what a part is of.
    part:
        Label that tells the parts of a bar apart; "measure" where each is a measure of its own.
    parts:
        Wording and colour of the parts in order, where not those of the label.
    ordered:
        A label, and its levels whose choices have an order.
    beside:
        Estimates that stand beside the bar of the same row.
    first_beside:
        Which of its parts stands beside a bar that nothing else stands beside.
    legend, initials, plain:
        Whether there is a legend, letters are initials, and levels are written as the study has them.
    what, first:
        Titles of the columns of the estimate and of labels.
    """

    of: tuple[Of, ...]
    part: str
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    first_beside: str = ""
    legend: bool = True
    initials: bool = False
    plain: bool = False
    ordered: tuple[str, tuple[str, ...]] | None = None
    beside: Of | None = None
    what: str = ""
    first: str = "Group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(AnyChart):
    """Two measures of the same cells against each other.

    Attributes
    ----------
    x:
        Cells, and the measure across.
    y:
        The measure upward.
    added:
        Whether it is a difference to the measure across: then their sum is drawn, and where both are equal.
    beside:
        Their correlation.
    names:
        Titles of the axes.
    label:
        Form of a dot's label.
    labelled:
        Dots that are named, the highest first.
    kinds:
        As for `Strips`.
    """

    x: Of
    y: str
    names: tuple[str, str]
    label: str = ""
    labelled: int = 9
    kinds: tuple[str, str] | None = None
    added: bool = False
    beside: Of | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cumulative(AnyChart):
    """How a total adds up, largest part first.

    Attributes
    ----------
    of, pooled:
        The parts, and those of the mean over models.
    count:
        Measure of how many reach 80%.
    noun, total:
        What the parts are, in the plural, and what they add up to.
    """

    of: Of
    count: str
    noun: str
    total: str
    pooled: Of | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution(AnyChart):
    """How many estimates have which value.

    Attributes
    ----------
    of:
        The estimates.
    low, high, step:
        Range and width of the bars.
    flag:
        From which value on a bar counts as marked, and how the two sides are called.
    least:
        Estimates with fewer observations are left out.
    what:
        What the estimates are, in the plural.
    """

    of: Of
    low: float
    high: float
    step: float
    flag: float
    what: str
    least: int = 0


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
    """

    title: str
    what: "str | Callable[[Look, Estimate], str]" = "value"
    measure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of estimates, some of their numbers beside each other.

    Attributes
    ----------
    of:
        The rows.
    columns:
        What is shown of each.
    title:
        For those who can't see it.
    label:
        Titles of the columns of labels; several are separated in a row's form by "|".
    each_model:
        Whether there are rows for every model.
    """

    of: tuple[Of, ...]
    columns: tuple[Column, ...]
    title: str
    label: tuple[str, ...] = ("",)
    each_model: bool = False
    lead: str = ""
    note: str = ""
    empty: str = ""
    heading: str = ""
    warn: Callable[[Look, list[Estimate]], str] | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(AnyChart):
    """Models against each other: a measure's cells as a scatter plot for each two models, with what sums it up.

    Attributes
    ----------
    of:
        The cells.
    dot:
        Form of a dot's label.
    summed:
        Measures of a pair of models: name, measure, and the same without the part of chance; "slope" is drawn.
    smaller, smaller_heads:
        Title and rows of a table of further estimates of the pair, and titles of its labels.
    kinds:
        As for `Strips`.
    """

    of: Of
    summed: tuple[tuple[str, str, str], ...] = ()
    smaller: tuple[str, tuple[Of, ...]] | None = None
    smaller_heads: tuple[str, ...] = ()
    kinds: tuple[str, str] | None = None
    dot: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """A text with numbers: a paragraph, or a list if the function returns several; nothing for an empty one.

    Attributes
    ----------
    text:
        From the estimates to it.
    small:
        Whether it is a note below something.
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
    """What was shown: stimuli of a few units, as chosen by the page's `Gallery`."""

    heading: str = ""
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """Stored answers behind the findings, as chosen by the page's examples."""

    heading: str = ""
    lead: str = ""
    empty: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Each:
    """The same blocks for every cell of a breakdown that the estimates have.

    Attributes
    ----------
    of:
        Estimates whose cells these are.
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
    """

    of: tuple[Of, ...]
    over: tuple[str, ...]
    blocks: tuple["Block", ...]
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
    """A study's own block.

    Attributes
    ----------
    build:
        From the estimates to ready contents (`facevalue.protocol.contents`).
    of:
        Selections that it needs, so that they are checked.
    """

    build: Callable[[Look], Sequence[Made]]
    of: tuple[Of, ...] = ()


Block = (
    str | Strips | Numbers | Heat | Grid | Stacked | Scatter | Cumulative | Distribution | WordLists | Table | Overview
    | Agreement | Prose | Say | Pictures | Answers | Each | Fold | Side | Many | PerModel | Own
)  # fmt: skip
"""Anything that a section may hold."""
