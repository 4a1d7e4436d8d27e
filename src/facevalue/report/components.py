"""Parts of a page: interval plots and tables, with every text ready-made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from facevalue.measures.base import Measure
from facevalue.measures.verdicts import Verdict
from facevalue.report import charts
from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import (
    DASH,
    NOT_MEASURABLE,
    Titles,
    any_missed,
    count,
    detail,
    interval,
    is_signed,
    number,
    share_of_chance,
    when_declared,
    why_no_interval,
    worst_case,
)
from facevalue.report.verdict import LOOKS, SHORT, verdict_of

_FAR = 1.5
"""A margin farther out than this many times the rest of a plot is not drawn."""


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


@dataclass(frozen=True, slots=True)
class Strips:
    """An interval plot: its axis and its rows; `margin` in words if lines are drawn for one."""

    axis: Markup
    rows: list[StripRow]
    what: str
    judged: bool = False
    margin: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table of numbers: labels, then everything known of an estimate."""

    labels: tuple[str, ...]
    value: str
    interval: str
    n: str
    clusters: str
    p: str
    q: str
    floor: str
    method: str
    verdict: str = DASH
    mde: str = DASH
    bounds: str = DASH
    why: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """A table of numbers; `judged` if any has a verdict, `bounded` if any has worst-case bounds; `unit` sampled."""

    heads: tuple[str, ...]
    rows: list[Line]
    judged: bool = False
    bounded: bool = False
    unit: str = "faces"


class Parts:
    """Makes the parts that all sections share.

    Parameters
    ----------
    numbers:
        The estimates.
    titles:
        Wording of levels.
    measures:
        Definitions by name.
    """

    def __init__(self, numbers: EstimateIndex, titles: Titles, measures: Sequence[Measure]) -> None:
        self.numbers = numbers
        self.titles = titles
        self.measures: Mapping[str, Measure] = {m.name: m for m in measures}
        clusters = {m.cluster for m in measures}
        self.unit_name = (
            "faces" if clusters <= {"identity"} else f"{clusters.pop()}s" if len(clusters) == 1 else "units"
        )

    def signed(self, measure: str) -> bool:
        """Whether values of a measure carry a sign."""
        known = self.measures.get(measure)
        return is_signed(known) if known else measure in self.numbers.reading.sizes

    def detail(self, e: Estimate, *, brief: bool = False) -> str:
        """A tooltip."""
        floor = self.numbers.size(e)
        corrected = self.numbers.corrected(e)
        signed = self.signed(e.measure)
        return detail(e, signed=signed, unit_name=self.unit_name, floor=floor, corrected=corrected, brief=brief)

    def text(self, e: Estimate | None) -> str:
        """A value, or a dash."""
        return DASH if e is None else number(e.value, e.unit, signed=self.signed(e.measure))

    def interval(self, e: Estimate | None) -> str:
        """An interval, or why there is none."""
        if e is None:
            return NOT_MEASURABLE
        return interval(e, signed=self.signed(e.measure)) or why_no_interval(e)

    def lines(self, heads: tuple[str, ...], pairs: Iterable[tuple[tuple[str, ...], Estimate]]) -> Lines:
        """A table of numbers from labels and estimates."""
        rows = []
        judged = bounded = False
        for labels, e in pairs:
            judged |= e.verdict is not None
            bounded |= e.has_bounds
            noise = self.numbers.size(e)
            floor = DASH
            if noise is not None and noise.floor_high is not None:
                floor = f"{number(noise.floor, noise.unit)} (95%: {number(noise.floor_high, noise.unit)})"
            rows.append(
                Line(
                    labels,
                    self.text(e),
                    self.interval(e),
                    count(e.n),
                    count(e.clusters),
                    share_of_chance(e.p),
                    share_of_chance(e.q),
                    floor,
                    e.method or DASH,
                    e.verdict or DASH,
                    "never" if any_missed(e) else number(e.mde, e.unit),
                    worst_case(e, signed=self.signed(e.measure)),
                    e.why or "",
                )
            )
        return Lines(heads, rows, judged, bounded, self.unit_name)

    def strips(
        self,
        rows: Sequence[Estimate],
        label: Callable[[Estimate], tuple[str, str]],
        *,
        look: Callable[[Estimate], tuple[int, str]] | None = None,
        what: str = "",
        zero: bool = True,
    ) -> Strips | None:
        """An interval plot of these estimates; None if no row has a value.

        Parameters
        ----------
        rows:
            What to plot, in order.
        label:
            Text and smaller text of a row.
        look:
            Shape and class of a row's dot.
        what:
            Title of the column of values.
        zero:
            Whether the axis must contain zero.
        """
        known = [e for e in rows if e.value is not None]
        if not known:
            return None
        noise = [self._band(e) for e in known]
        ends = [v for e in known for v in (e.value, e.low, e.high) if v is not None]
        ends += [v for band in noise if band for v in band]
        signed = self.signed(known[0].measure)
        margin = next((e.margin for e in known if e.margin is not None), None)
        margins = () if margin is None else (-margin, margin) if signed else (margin,)
        if margin is not None and margin <= _FAR * max(map(abs, ends)):  # else the lines would push the rest together
            ends += margins
        over = charts.scale(min([*ends, 0.0] if zero else ends), max([*ends, 0.0] if zero else ends))
        unit = known[0].unit
        ticks = [_tick(t, unit, signed=signed) for t in over.ticks]
        out = []
        for e in rows:
            verdict = verdict_of(e.verdict)
            shape, class_ = look(e) if look else (0, side(e, self.signed(e.measure)))
            if verdict is not None:
                sign = LOOKS[verdict]
                shape, class_ = shape if look else sign[0], f"{class_} {sign[1]}"
            title = self.detail(e)
            text, note = label(e)
            svg = charts.strip(
                over, e.value, e.low, e.high, band=self._band(e), margins=margins, shape=shape, class_=class_,
                title=f"{text}: {title}",
            )  # fmt: skip
            sort = e.value if e.value is not None else float("-inf")
            word, icon = ("", Markup("")) if verdict is None else (SHORT[verdict], verdict_icon(verdict))
            moved = e.measure == self.numbers.reading.lead and self.numbers.moved(e)
            out.append(StripRow(text, note, svg, self.text(e), self.interval(e), title, sort, moved, word, icon))
        judged = any(row.verdict for row in out)
        drawn = margin is not None and over.low <= margin <= over.high
        return Strips(charts.axis(over, ticks), out, what, judged, self._margin_words(known) if drawn else "")

    def _margin_words(self, known: Sequence[Estimate]) -> str:
        e = next(e for e in known if e.margin is not None)
        sign = "±" if self.signed(e.measure) else ""
        return f"{sign}{e.margin:g}, {when_declared(e.declared)}"

    def _band(self, e: Estimate) -> tuple[float, float] | None:
        high = self.numbers.floor(e)
        if high is None:
            return None
        return (-high, high) if self.signed(e.measure) else (0.0, high)

    def single(self, model: str, measure: str) -> list[tuple[tuple[str, ...], Estimate]]:
        """The estimate over everything, with its measure's title."""
        e = self.numbers.one(measure, model)
        return [] if e is None else [((self.title(measure),), e)]

    def title(self, measure: str) -> str:
        """A measure's title."""
        known = self.measures.get(measure)
        return known.title if known else measure


def side(e: Estimate, signed: bool) -> str:
    """Which way a signed estimate points."""
    if not signed or e.value is None:
        return "plain"
    return "up" if e.value > 0 else "down"


def verdict_icon(verdict: Verdict) -> Markup:
    """A verdict's sign, for beside its word."""
    shape, class_ = LOOKS[verdict]
    return Markup('<svg class="key" width="12" height="12" aria-hidden="true">{}</svg>').format(
        charts.mark(50, 6, shape, f"dot {class_}")
    )


def above_floor(e: Estimate) -> tuple[int, str]:
    """How an unsigned estimate looks: by its verdict if it has one, else within its noise floor, or above."""
    if e.verdict is not None:
        return 0, "plain"
    return 0, "plain" if e.value is not None and e.value > (e.floor_high or 0.0) else "within"


def _tick(value: float, unit: str, *, signed: bool) -> str:
    if unit == "share":
        return f"{100 * value:g}%"
    if unit == "probability^2":
        return f"{1e4 * value:g}"
    text = f"{value:g}".replace("-", "−")
    return f"+{text}" if signed and value > 0 else text
