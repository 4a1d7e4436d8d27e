"""Charts of a page: what is drawn of which estimates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from facevalue.protocol.look import Look, Of

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

    Examples
    --------
    >>> Strips(of=(Of("shift", ("variation",)),), first="Cue", title="Shifts by cue").first
    'Cue'
    """

    of: tuple[Of, ...]
    first: str = ""
    what: str = "Value"
    zero: bool = True
    kinds: tuple[str, str] | None = None
    key: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumbbells(AnyChart):
    """Estimates without and with each intervention, a line between the two; nothing where none was made.

    Attributes
    ----------
    of:
        The rows, without an intervention.
    beside, said:
        Measure of the same cells that stands beside each row in both conditions, and what it is called there.
    first, what:
        Titles of the columns of labels and of values.

    Examples
    --------
    >>> Dumbbells(of=(Of("bias_score", ("attribute",)),), beside="na_rate", title="Scores").beside
    'na_rate'
    """

    of: tuple[Of, ...]
    beside: str = ""
    said: str = ""
    first: str = ""
    what: str = "Value"


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
