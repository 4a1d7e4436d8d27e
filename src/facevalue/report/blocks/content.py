"""Contents of a page: ready texts, drawings and pictures with the estimates that they show."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from facevalue.errors import DataError
from facevalue.protocol.lookup import Estimate
from facevalue.stimuli.pixels import picture_on_white

NO_ICON = Markup("")


@dataclass(frozen=True, slots=True)
class TextContent:
    """A paragraph ("lead", "small", "empty", "plain", "warning") or a heading ("h3", "h4")."""

    text: str
    how: str = "lead"
    note: str = ""
    kind: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class Facts:
    """A list of sentences."""

    items: tuple[str, ...]
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True, slots=True)
class StripRow:
    """One row of an interval plot."""

    label: str
    note: str
    svg: Markup
    value: str
    interval: str
    detail: str
    sort: float
    moved: bool
    verdict: str
    icon: Markup
    of: Estimate


@dataclass(frozen=True, slots=True)
class StripsContent:
    """An interval plot: its axis and its rows; `margin` in words if lines are drawn for one."""

    axis: Markup
    rows: list[StripRow]
    what: str
    judged: bool = False
    margin: str = ""
    title: str = ""
    first: str = ""
    keys: tuple[tuple[str, Markup], ...] = ()
    kind: ClassVar[str] = "strips"


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table of numbers: labels, then everything known of an estimate."""

    labels: tuple[str, ...]
    value: str
    interval: str
    page: str
    n: str
    clusters: str
    p: str
    q: str
    floor: str
    method: str
    verdict: str
    mde: str
    bounds: str
    why: str
    of: Estimate


@dataclass(frozen=True, slots=True)
class Lines:
    """A table of numbers; `judged` if any has a verdict, `bounded` if any has worst-case bounds; `unit` sampled.

    `what`: title of the values, with their unit where all have the same.
    """

    heads: tuple[str, ...]
    rows: list[Line]
    judged: bool = False
    bounded: bool = False
    unit: str = "units"
    title: str = ""
    what: str = "Value"
    kind: ClassVar[str] = "lines"


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One cell of a heat map; `sort` is None where there is no number."""

    text: str
    class_: str
    detail: str
    sort: float | None
    of: Estimate | None = None


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One row of a heat map."""

    section: str
    label: str
    cells: list[HeatCell]
    size: float


@dataclass(frozen=True, slots=True)
class HeatContent:
    """A heat map; `bands` are (title, number of columns) over the columns' titles."""

    bands: list[tuple[str, int]]
    columns: list[tuple[str, str]]
    rows: list[HeatRow]
    first: str
    title: str = ""
    tools: bool = False
    legend: bool = False
    caveats: str = ""
    """What else could explain some of what was found, whose cells are dotted; empty for nothing."""
    kind: ClassVar[str] = "heat"


@dataclass(frozen=True, slots=True)
class GridContent:
    """A compact table of cells, ready for the page."""

    title: str
    """Title of the table."""
    html: Markup
    """HTML of the table."""
    cells: int
    found: int
    """Number of cells, and of those in which a difference was found."""
    scale: str
    """Meaning of the colours."""
    values: Sequence[tuple[str, str, dict[str, object]]] = ()
    """Row, column and estimate of each cell."""
    caveats: str = ""
    """What else could explain some of what was found, whose cells are dotted; empty for nothing."""
    kind: ClassVar[str] = "grid"


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend of letters."""

    letter: str
    text: str
    class_: str


@dataclass(frozen=True, slots=True)
class BarRow:
    """A bar of shares, with the estimate that stands beside it."""

    label: str
    svg: Markup | None
    value: str
    interval: str
    floor: str
    verdict: str
    icon: Markup
    detail: str
    parts: tuple[tuple[str, Estimate], ...] = ()
    of: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars of shares with their legend."""

    title: str
    keys: tuple[Key, ...]
    rows: list[BarRow]
    what: str
    first: str
    judged: bool
    kind: ClassVar[str] = "bars"


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, with a title and words beside it."""

    title: str
    words: str
    svg: Markup
    rows: tuple[Estimate, ...] = ()
    narrow: bool = False
    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table."""

    text: str
    small: str = ""
    """Text of the cell, and a smaller one beside it."""
    below: tuple[str, ...] = ()
    """Smaller texts below the text."""
    sort: float | None = None
    """Number by which the cell is sorted, if not by its text."""
    strong: bool = False
    """Whether the text is set in bold."""
    icon: Markup = NO_ICON
    """Icon before the text."""
    title: str = ""
    """Tooltip of the cell."""
    class_: str = ""
    """Colour of a pill around the text."""
    quiet: bool = False
    marked: tuple[tuple[str, bool], ...] = ()
    of: Estimate | None = None
    """Estimate that the cell shows."""


@dataclass(frozen=True, slots=True)
class TableHead:
    """A column's title; `number` for columns of numbers, `sort` if rows can be sorted by it."""

    text: str
    number: bool = False
    sort: bool = True
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class TableContent:
    """A table of any cells; the first of a row is its title."""

    title: str
    heads: tuple[TableHead, ...]
    rows: list[tuple[TableCell, ...]]
    tall: bool = False
    strong: tuple[int, ...] = ()
    kind: ClassVar[str] = "table"


@dataclass(frozen=True, slots=True)
class Panel:
    """A small table under a legend of letters; each cell is a mark and a text."""

    title: str
    keys: tuple[Key, ...]
    heads: tuple[str, ...]
    rows: list[tuple[str, list[tuple[Markup | None, str]]]]


@dataclass(frozen=True, slots=True)
class Panels:
    """Panels beside each other."""

    panels: list[Panel]
    kind: ClassVar[str] = "panels"


@dataclass(frozen=True, slots=True)
class CaptionedPicture:
    """A picture as a data URI, and what was said of it; `why` there is none."""

    caption: str
    uri: str | None
    why: str = ""
    reply: str = ""


@dataclass(frozen=True, slots=True)
class PictureRow:
    """Pictures of one unit."""

    title: str
    pictures: tuple[CaptionedPicture, ...]
    kind: ClassVar[str] = "pictures"


@dataclass(frozen=True, slots=True)
class AnswerCard:
    """A stored answer, or two of which one is without what was changed."""

    title: str
    finding: str
    model: str
    """Title, the number that the answer stands behind, and the model that answered."""
    sides: tuple[tuple[CaptionedPicture, tuple[tuple[str, str], ...], str, str], ...]
    """Picture, lines below it, reply and choice of each."""
    prompt: str
    options: tuple[str, ...] = ()
    """Options of the question."""
    left: str = ""
    right: str = ""


@dataclass(frozen=True, slots=True)
class AnswersContent:
    """Stored answers beside each other."""

    items: list[AnswerCard]
    wide: bool
    kind: ClassVar[str] = "answers"


@dataclass(frozen=True, slots=True)
class PartContent:
    """Contents under a title: folded, or under a heading of a level.

    Attributes
    ----------
    title, note:
        Its title, and smaller beside it.
    contents:
        What is in it.
    fold:
        "open" or "closed", or empty for none.
    level:
        Of the heading.
    class_:
        Of the fold.
    id:
        Anchor.
    """

    title: str
    contents: "list[Content]"
    note: str = ""
    fold: str = "closed"
    level: int = 3
    class_: str = "numbers"
    id: str = ""
    kind: ClassVar[str] = "part"


@dataclass(frozen=True, slots=True)
class SideContent:
    """Contents beside each other."""

    contents: "list[Content]"
    kind: ClassVar[str] = "side"


Content = (
    TextContent
    | Facts
    | StripsContent
    | Lines
    | HeatContent
    | GridContent
    | Bars
    | Figure
    | TableContent
    | Panels
    | PictureRow
    | AnswersContent
    | PartContent
    | SideContent
)


@dataclass(frozen=True, slots=True)
class SectionContent:
    """A section with its contents, ready for the template."""

    id: str
    title: str
    heading: str
    contents: list[Content]


LONGEST = 288
"""Longest side of an embedded picture in pixels."""
MOST_BYTES = 60_000
"""Largest embedded picture; what does not fit is made smaller."""
_TRIES = ((1.0, 82), (1.0, 60), (0.7, 60), (0.5, 50), (0.3, 40))
"""Sizes, as shares of what is wanted, and qualities, until the picture fits."""


def smaller(data: bytes | None, longest: int = LONGEST) -> bytes | None:
    """Return a picture as a small WebP; None for what is no picture, or stays too large."""
    if not data:
        return None
    try:
        small = picture_on_white(data, "a picture")
        for share, quality in _TRIES:
            small.thumbnail((round(longest * share), round(longest * share)))
            out = io.BytesIO()
            small.save(out, "WEBP", quality=quality)
            if out.tell() <= MOST_BYTES:
                return out.getvalue()
    except (DataError, OSError, ValueError):
        return None
    return None


def data_uri(data: bytes | None, longest: int = LONGEST) -> str | None:
    """Return a picture as a small WebP data URI; None for what is no picture."""
    small = smaller(data, longest)
    return None if small is None else "data:image/webp;base64," + base64.b64encode(small).decode("ascii")
