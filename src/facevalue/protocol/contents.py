"""Contents that a study's own blocks make: tables, marks and lines as plain data, drawn by the report."""

from dataclasses import dataclass

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
class ShareBar:
    """Shares that add up to a whole, as one bar: what they are of, and each part with its estimate."""

    title: str
    label: str
    parts: tuple[tuple[str, Estimate], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of estimates with everything known of them: titles of labels, and labels with an estimate."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], Estimate], ...]


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


Made = Paragraph | Ledger | ShareBar | Table | Links | Marks | Folded
"""Anything that a study's own block may make."""
