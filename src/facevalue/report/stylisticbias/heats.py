"""Heat maps in the colours of Table 12."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from facevalue.report.components import Parts
from facevalue.report.estimates import Estimate
from facevalue.report.formatting import DASH, NOT_MEASURABLE, group_key

STRONG, MODERATE = 0.10, 0.04
"""Limits of the colour categories of Table 12."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One cell of a heat map; `sort` is None where there is no number."""

    text: str
    class_: str
    detail: str
    sort: float | None


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One row of a heat map."""

    section: str
    label: str
    cells: list[HeatCell]
    size: float


@dataclass(frozen=True, slots=True)
class Heat:
    """A heat map; `bands` are (title, number of columns) over the columns' titles."""

    bands: list[tuple[str, int]]
    columns: list[tuple[str, str]]
    rows: list[HeatRow]
    first: str


class Heats(Parts):
    """Makes the heat maps of the page; made from what `Parts` is made from."""

    def _cell(self, e: Estimate | None) -> HeatCell:
        if e is None:
            return HeatCell(DASH, "none", "not applicable: no such pictures", None)
        if e.value is None:
            return HeatCell(DASH, "none", NOT_MEASURABLE, None)
        classes = [shade(e.value)]
        if e.q is not None:
            classes.append("unsure" if not self.numbers.tested(e) else "sure" if e.q < 0.001 else "")
        elif e.verdict is not None and not self.numbers.tested(e):
            classes.append("unsure")
        return HeatCell(self.text(e), " ".join(filter(None, classes)), self.detail(e, brief=True), e.value)

    def heat(self, found: Sequence[Estimate], row: str, column: str, heads: tuple[str, ...] = ()) -> Heat | None:
        """A heat map of estimates over two factors."""
        if not found:
            return None

        def head(e: Estimate) -> str | None:
            return e.model if column == "model" else e[column]

        names = list(heads) or list(dict.fromkeys(str(head(e)) for e in found))
        by_cell = {(e[row], head(e)): e for e in found}
        rows = []
        for key in dict.fromkeys(e[row] for e in found):
            cells = [self._cell(by_cell.get((key, name))) for name in names]
            size = max((abs(c.sort) for c in cells if c.sort is not None), default=-1.0)
            rows.append(HeatRow("", self.titles.get(row, key), cells, size))
        columns = [(self._head(column, n), self._head(column, n)) for n in names]
        return Heat([], columns, rows, row.capitalize())

    def _head(self, column: str, name: str) -> str:
        return name if column == "model" else self.titles.get(column, name)

    def _groups(self, found: Iterable[Estimate]) -> list[tuple[str, str]]:
        pairs = dict.fromkeys((e["dimension"] or "", e["group"] or "") for e in found)
        order = list(dict.fromkeys(d for d, _ in pairs))  # by first appearance
        return sorted(pairs, key=lambda pair: (order.index(pair[0]), group_key(*pair)))

    def named(self, rows: Iterable[Estimate]) -> list[tuple[tuple[str, ...], Estimate]]:
        """Estimates with their scenario's poles."""
        return [((self.titles.poles(e["scenario"]),), e) for e in rows]

    def over_models(self, column: str) -> list[Estimate]:
        """SBS over one factor, of every model."""
        return [e for model in self.numbers.models for e in self.numbers.all("sbs", model, column)]


def shade(value: float) -> str:
    """Colour category of Table 12.

    Examples
    --------
    >>> [shade(v) for v in (0.1, 0.04, 0.039, -0.04, -0.1)]
    ['up2', 'up1', 'zero', 'down1', 'down2']
    """
    size = "2" if abs(value) >= STRONG else "1" if abs(value) >= MODERATE else ""
    return "zero" if not size else f"{'up' if value > 0 else 'down'}{size}"


def short(title: str) -> str:
    """A column title that fits a narrow column."""
    return title.removeprefix("Monk ") if title.startswith("Monk ") else title
