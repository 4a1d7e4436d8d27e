"""Charts of a page: what is drawn of which estimates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from facevalue.protocol.look import Look, Of

NUMBERS = "The numbers behind this chart"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyChart:
    """Texts that all charts have."""

    title: str = ""
    """Of the chart."""
    heading: str = ""
    lead: str = ""
    note: str = ""
    """A heading and a paragraph above it, and a smaller one below."""
    empty: str = ""
    """Text where nothing is known; empty by default."""
    numbers: str = NUMBERS
    """Title of the table with the numbers behind it; none if empty."""
    heads: tuple[str, ...] = ()
    """Titles of that table's columns of labels; the labels' names by default."""
    rows: tuple[Of, ...] | str = ()
    """Its rows, where they are not those of the chart; a form for all of the chart's with other labels."""

    def number_rows(self, of: tuple[Of, ...]) -> tuple[Of, ...]:
        """Rows of the table with the numbers behind a chart of these."""
        if isinstance(self.rows, str):
            return tuple(replace(selection, label=self.rows, note="", most=None) for selection in of)
        return self.rows or of


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

    Examples
    --------
    >>> Dumbbells(of=(Of("bias_score", ("attribute",)),), beside="na_rate", title="Scores").beside
    'na_rate'
    """

    of: tuple[Of, ...]
    """The rows, without an intervention."""
    beside: str = ""
    said: str = ""
    """Measure of the same cells that stands beside each row in both conditions, and what it is called there."""
    first: str = ""
    what: str = "Value"
    """Titles of the columns of labels and of values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat(AnyChart):
    """A table of shifts in colours, with the number in each cell."""

    of: Of
    """The cells."""
    row: str
    column: str
    """Forms of their titles."""
    section: str = ""
    band: str = ""
    """Forms of what stands above several rows, or several columns."""
    whole: Of | None = None
    """Cells of a first column over all others."""
    whole_title: tuple[str, str] = ("All", "All")
    """Its title."""
    corner: str = ""
    """Name of the rows."""
    models: bool = False
    """True if columns are models."""
    tools: bool = False
    """True if rows can be searched and sorted."""
    legend: bool = False
    """True if colours are explained."""
    fold: str = ""
    """Summary under which it is folded away; shown openly if empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A compact table of many cells."""

    of: Of
    """The cells; each of `row` and `column` once."""
    row: str
    column: str
    """Labels of rows and columns."""
    title: str
    corner: str = ""
    """Names of what it shows and of its rows."""
    scale: str = "difference"
    """Meaning of colours: "share" (of 100, against `even`), "difference" (against 0), "right" (against 100), or "score"
    (against `even`)."""
    even: Callable[[Look], float] | None = None
    """From a look to what colours are counted from."""
    whole: Of | None = None
    """Cells of a first column over all others."""
    mean: bool = False
    """True if colours are counted from the mean of all cells."""
    test: str = ""
    test_whole: str = ""
    """Measures of the same cells whose test marks them, and those of the first column; their own by default."""
    order: Of | None = None
    """Rows whose order the rows take; from the highest value down by default."""
    signed: bool = False
    """True if numbers have a sign."""
    turned: bool = True
    turn_from: int | None = None
    """True if titles of columns are turned, or number of columns from which on they are."""
    plain: bool = False
    """True if titles of columns are written as the study has them, in the order of their names."""
    square: bool = False
    """True if columns are the rows once more."""
    models: bool = False
    """True if columns are models."""
    least: int = 1
    """Fewer columns are not shown."""
    large: bool = False
    """True if it is left out of pages with very many cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacked(AnyChart):
    """Bars of shares that add up to a whole, each part with its letter."""

    of: tuple[Of, ...]
    """The parts, with the label that says what a part is of."""
    part: str
    """Label that tells the parts of a bar apart."""
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Wording and colour of the parts in order, where not those of the label."""
    first_beside: str = ""
    """Part that stands beside a bar that nothing else stands beside."""
    legend: bool = True
    initials: bool = False
    plain: bool = False
    """True if there is a legend, letters are initials, and levels are written as the study has them."""
    ordered: tuple[str, tuple[str, ...]] | None = None
    """A label, and its levels whose choices have an order."""
    beside: Of | None = None
    """Estimates that stand beside the bar of the same row."""
    what: str = ""
    first: str = "Group"
    """Titles of the columns of the estimate and of labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(AnyChart):
    """Two measures of the same cells against each other."""

    x: Of
    """Cells, and the measure across."""
    y: str
    """The measure upward."""
    names: tuple[str, str]
    """Titles of the axes."""
    label: str = ""
    """Form of a dot's label."""
    labelled: int = 9
    """Dots that are named, the highest first."""
    kinds: tuple[str, str] | None = None
    """As for `Strips`."""
    added: bool = False
    """True for a difference to the measure across: then their sum is drawn, and where both are equal."""
    beside: Of | None = None
    """Their correlation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cumulative(AnyChart):
    """Cumulative total, largest part first.

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
    """Histogram of estimates by their value."""

    of: Of
    """The estimates."""
    low: float
    high: float
    step: float
    """Range and width of the bars."""
    flag: float
    """From which value on a bar counts as marked, and how the two sides are called."""
    what: str
    """Noun for the estimates, in the plural."""
    least: int = 0
    """Estimates with fewer observations are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(AnyChart):
    """Models against each other: a measure's cells as a scatter plot for each two models, with what sums it up."""

    of: Of
    """The cells."""
    summed: tuple[tuple[str, str, str], ...] = ()
    """Measures of a pair of models: name, measure, and the same without the part of chance; "slope" is drawn."""
    smaller: tuple[str, tuple[Of, ...]] | None = None
    smaller_heads: tuple[str, ...] = ()
    """Title and rows of a table of further estimates of the pair, and titles of its labels."""
    kinds: tuple[str, str] | None = None
    """As for `Strips`."""
    dot: str = ""
    """Form of a dot's label."""
