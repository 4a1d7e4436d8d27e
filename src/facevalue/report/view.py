"""From numbers to what the template shows: rows, strips and heat maps, with every text ready-made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from facevalue.measures.base import Measure
from facevalue.report import charts
from facevalue.report.headline import cues
from facevalue.report.numbers import ALPHA, POOLED, Estimate, Numbers
from facevalue.report.words import (
    DASH,
    NOT_MEASURABLE,
    Titles,
    count,
    detail,
    group_key,
    interval,
    is_signed,
    number,
    points,
    share_of_chance,
    why_no_interval,
)

STRONG, MODERATE = 0.10, 0.04
"""Limits of the colour categories of Table 12."""


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


@dataclass(frozen=True, slots=True)
class Strips:
    """An interval plot: its axis and its rows."""

    axis: Markup
    rows: list[StripRow]
    what: str


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


@dataclass(frozen=True, slots=True)
class Lines:
    """A table of numbers."""

    heads: tuple[str, ...]
    rows: list[Line]


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


class View:
    """Builds the parts of the page that show estimates.

    Parameters
    ----------
    numbers:
        The estimates.
    titles:
        Wording of levels.
    measures:
        Definitions by name.
    """

    def __init__(self, numbers: Numbers, titles: Titles, measures: Sequence[Measure]) -> None:
        self.numbers = numbers
        self.titles = titles
        self.measures: Mapping[str, Measure] = {m.name: m for m in measures}
        clusters = {m.cluster for m in measures}
        self.unit_name = "faces" if clusters <= {"identity"} else "clusters"

    def signed(self, measure: str) -> bool:
        """Whether values of a measure carry a sign."""
        known = self.measures.get(measure)
        return is_signed(known) if known else measure in ("sbs", "sbs_over_groups", "cohens_d")

    def detail(self, e: Estimate, *, brief: bool = False) -> str:
        """A tooltip."""
        floor = self.numbers.size(e) if e.measure == "sbs" else None
        return detail(e, signed=self.signed(e.measure), unit_name=self.unit_name, floor=floor, brief=brief)

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
        for labels, e in pairs:
            noise = self.numbers.size(e) if e.measure == "sbs" else e
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
                )
            )
        return Lines(heads, rows)

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
        over = charts.scale(min([*ends, 0.0] if zero else ends), max([*ends, 0.0] if zero else ends))
        unit = known[0].unit
        ticks = [_tick(t, unit, signed=self.signed(known[0].measure)) for t in over.ticks]
        out = []
        for e in rows:
            shape, class_ = look(e) if look else (0, _side(e, self.signed(e.measure)))
            title = self.detail(e)
            text, note = label(e)
            svg = charts.strip(
                over, e.value, e.low, e.high, band=self._band(e), shape=shape, class_=class_, title=f"{text}: {title}"
            )
            moved = e.measure == "sbs" and self.numbers.moved(e)
            sort = e.value if e.value is not None else float("-inf")
            out.append(StripRow(text, note, svg, self.text(e), self.interval(e), title, sort, moved))
        return Strips(charts.axis(over, ticks), out, what)

    def _band(self, e: Estimate) -> tuple[float, float] | None:
        if e.measure == "sbs":
            high = self.numbers.floor(e)
            return None if high is None else (-high, high)
        return None if e.floor_high is None else (0.0, e.floor_high)

    # What the sections show ------------------------------------------------------------------------------------------

    def cue_strips(self, model: str) -> Strips | None:
        """Every variation, strongest shift up to strongest shift down."""
        rows = sorted(cues(self.numbers, model), key=lambda e: (e.value is None, -(e.value or 0.0)))
        return self.strips(rows, self._cue, what="Shift")

    def cue_lines(self, model: str) -> Lines:
        """The numbers behind the cues."""
        rows = cues(self.numbers, model)
        return self.lines(("Cue", "Attribute"), ((self._cue(e), e) for e in rows))

    def _cue(self, e: Estimate) -> tuple[str, str]:
        return self.titles.variation(e.attribute, e.variation), self.titles.get("attribute", e.attribute)

    def grid(self, model: str) -> Heat | None:
        """Table 12: variation by group."""
        found = self.numbers.all("sbs", model, "attribute", "variation", "dimension", "group")
        if not found:
            return None
        overall = {(e.attribute, e.variation): e for e in self.numbers.all("sbs", model, "attribute", "variation")}
        columns = self._groups(found)
        bands = [("All", 1)]
        bands += [(self.titles.get("dimension", d), sum(c[0] == d for c in columns)) for d in dict(columns)]
        heads = [("All faces", "All")] + [
            (self.titles.get("group", g), _short(self.titles.get("group", g))) for _, g in columns
        ]
        by_cell = {(e.attribute, e.variation, e.dimension, e.group): e for e in found}
        keys = list(overall) or list(dict.fromkeys((e.attribute, e.variation) for e in found))
        rows = []
        for attribute, variation in keys:
            whole = overall.get((attribute, variation))
            cells = [self._cell(whole), *(self._cell(by_cell.get((attribute, variation, d, g))) for d, g in columns)]
            section = self.titles.get("attribute", attribute)
            size = abs(whole.value) if whole is not None and whole.value is not None else -1.0
            rows.append(HeatRow(section, self.titles.variation(attribute, variation), cells, size))
        return Heat(bands, heads, rows, "Cue")

    def grid_lines(self, model: str) -> Lines:
        """The numbers behind Table 12."""
        found = self.numbers.all("sbs", model, "attribute", "variation", "dimension", "group")
        labels = (
            ((self._cue(e)[0], self.titles.get("dimension", e.dimension), self.titles.get("group", e.group)), e)
            for e in found
        )
        return self.lines(("Cue", "Dimension", "Group"), labels)

    def _groups(self, found: Iterable[Estimate]) -> list[tuple[str, str]]:
        pairs = dict.fromkeys((e.dimension or "", e.group or "") for e in found)
        order = list(dict.fromkeys(d for d, _ in pairs))  # by first appearance
        return sorted(pairs, key=lambda pair: (order.index(pair[0]), group_key(*pair)))

    def _cell(self, e: Estimate | None) -> HeatCell:
        if e is None:
            return HeatCell(DASH, "none", "not applicable: no such pictures", None)
        if e.value is None:
            return HeatCell(DASH, "none", NOT_MEASURABLE, None)
        classes = [shade(e.value)]
        if e.q is not None:
            classes.append("sure" if e.q < 0.001 else "unsure" if e.q >= 0.05 else "")
        return HeatCell(self.text(e), " ".join(filter(None, classes)), self.detail(e, brief=True), e.value)

    def heat(self, found: Sequence[Estimate], row: str, column: str, heads: tuple[str, ...] = ()) -> Heat | None:
        """A heat map of estimates over two factors."""
        if not found:
            return None
        names = list(heads) or list(dict.fromkeys(str(getattr(e, column)) for e in found))
        by_cell = {(getattr(e, row), getattr(e, column)): e for e in found}
        rows = []
        for key in dict.fromkeys(getattr(e, row) for e in found):
            cells = [self._cell(by_cell.get((key, name))) for name in names]
            size = max((abs(c.sort) for c in cells if c.sort is not None), default=-1.0)
            rows.append(HeatRow("", self.titles.get(row, key), cells, size))
        columns = [(self._head(column, n), self._head(column, n)) for n in names]
        return Heat([], columns, rows, row.capitalize())

    def _head(self, column: str, name: str) -> str:
        return name if column == "model" else self.titles.get(column, name)

    def reversals(self, model: str) -> list[tuple[str, str, str]]:
        """Cues that shift one group significantly up and another significantly down: (cue, dimension, depth).

        The depth's interval alone is no evidence: with ten groups the outermost shifts differ in sign by chance.
        """
        signs: dict[tuple[str | None, str | None, str | None], set[bool]] = {}
        for e in self.numbers.all("sbs", model, "attribute", "variation", "dimension", "group"):
            if e.value is not None and e.q is not None and e.q < ALPHA:
                signs.setdefault((e.attribute, e.variation, e.dimension), set()).add(e.value > 0)
        rows = [
            e
            for e in self.numbers.all("reversal_depth", model, "attribute", "variation", "dimension")
            if e.value is not None and len(signs.get((e.attribute, e.variation, e.dimension), ())) == 2
        ]
        rows.sort(key=lambda e: -(e.value or 0.0))
        return [
            (
                self.titles.cue(e.attribute, e.variation),
                self.titles.get("dimension", e.dimension),
                f"{self.text(e)} {self.interval(e)}",
            )
            for e in rows[:12]
        ]

    def categories(self) -> list[str]:
        """Scenario categories, in the study's order."""
        found = (
            e.category
            for m in (self.numbers.primary, *self.numbers.models)
            for e in self.numbers.all("sbs", m, "category")
        )
        return [name for name in dict.fromkeys(found) if name is not None]

    def scenario_look(self, e: Estimate) -> tuple[int, str]:
        """Shape and colour by category."""
        category, names = self.titles.category_of(e.scenario), self.categories()
        place = names.index(category) if category in names else 0
        return place, f"c{place % 4}"

    def scenario_strips(self, model: str) -> Strips | None:
        """SBS by scenario (Figure 3)."""
        rows = sorted(self.numbers.all("sbs", model, "scenario"), key=lambda e: (e.value is None, -(e.value or 0.0)))
        return self.strips(rows, self._scenario, look=self.scenario_look, what="Shift")

    def _scenario(self, e: Estimate) -> tuple[str, str]:
        category = self.titles.category_of(e.scenario)
        return self.titles.poles(e.scenario), self.titles.get("category", category) if category else ""

    def scenario_scatter(self, model: str) -> Markup | None:
        """Direction against size (Figure 4): a cue up and a cue down cancel in one, but not in the other."""
        cells: dict[str, list[Estimate]] = {}
        for e in self.numbers.all("abs_sbs", model, "attribute", "variation", "scenario"):
            if e.value is not None and e.scenario is not None:
                cells.setdefault(e.scenario, []).append(e)
        points = []
        overall = {e.scenario: e for e in self.numbers.all("sbs", model, "scenario")}
        sizes = {name: sum(e.value or 0.0 for e in part) / len(part) for name, part in cells.items()}
        loudest = set(sorted(sizes, key=lambda name: -sizes[name])[:9])
        for name, part in cells.items():
            direction = overall.get(name)
            if direction is None or direction.value is None:
                continue
            floors = [e.floor for e in part if e.floor is not None]
            floor = f", {number(sum(floors) / len(floors), 'probability')} without any effect" if floors else ""
            title = f"{self.titles.poles(name)}: SBS {self.text(direction)}, mean |SBS| {sizes[name]:.3f}{floor}"
            label = self.titles.get("scenario", name) if name in loudest else ""
            points.append(charts.Point(direction.value, sizes[name], title, label, self.scenario_look(direction)[0]))
        if len(points) < 3:
            return None
        xs, ys = [p.x for p in points], [p.y for p in points]
        x, y = charts.scale(min([*xs, 0.0]), max([*xs, 0.0]), 6), charts.scale(0.0, max(ys), 5)
        return charts.scatter(points, x, y, ("SBS (direction)", "mean |SBS| over cues (size)"))

    def legend(self) -> list[tuple[str, Markup]]:
        """Shape and colour of each scenario category."""
        out = []
        for place, name in enumerate(self.categories()):
            icon = Markup('<svg class="key" width="14" height="14" aria-hidden="true">{}</svg>').format(
                charts.mark(50, 7, place, f"dot c{place % 4}")
            )
            out.append((self.titles.get("category", name), icon))
        return out

    def dimensions(self) -> list[str]:
        """Dimensions in the order of the estimates."""
        found = (
            e.dimension
            for m in (self.numbers.primary, *self.numbers.models)
            for e in self.numbers.all("vs", m, "dimension")
        )
        return [d for d in dict.fromkeys(found) if d is not None]

    def vs_strips(self, model: str) -> Strips | None:
        """Variation strength by dimension, with the share of scenarios that differ significantly."""
        share = {e.dimension: e for e in self.numbers.all("significant_share", model, "dimension")}

        def label(e: Estimate) -> tuple[str, str]:
            s = share.get(e.dimension)
            if s is None or s.value is None or s.n is None:
                note = f"significance {NOT_MEASURABLE}"
            else:
                note = f"significant in {round(s.value * s.n)} of {s.n} scenarios"
            return self.titles.get("dimension", e.dimension), note

        return self.strips(self.numbers.all("vs", model, "dimension"), label, what="VS", look=_above_floor)

    def vs_lines(self, model: str) -> Lines:
        """Spread between groups, scenario by scenario (Table 11)."""
        found = self.numbers.all("vs_scenario", model, "dimension", "scenario")
        rows = (((self.titles.get("dimension", e.dimension), self.titles.poles(e.scenario)), e) for e in found)
        return self.lines(("Dimension", "Scenario"), rows)

    def phi_lines(self, model: str) -> Lines:
        """Preference scores of base faces by group and scenario."""
        found = self.numbers.all("phi", model, "scenario", "dimension", "group")
        rows = (
            (
                (
                    self.titles.get("dimension", e.dimension),
                    self.titles.get("group", e.group),
                    self.titles.poles(e.scenario),
                ),
                e,
            )
            for e in sorted(
                found, key=lambda e: (e.dimension or "", e.scenario or "", group_key(e.dimension or "", e.group or ""))
            )
        )
        return self.lines(("Dimension", "Group", "Scenario"), rows)

    def concentration(self, model: str) -> Markup | None:
        """Cumulative |SBS| (Figure 2)."""
        rows = [e for e in self.numbers.all("abs_sbs", model, "attribute", "variation") if e.value is not None]
        rows.sort(key=lambda e: -(e.value or 0.0))
        total = sum(e.value or 0.0 for e in rows)
        if len(rows) < 2 or total <= 0:
            return None
        shares = [running / total for running in accumulate(e.value or 0.0 for e in rows)]
        titles = [
            f"{i + 1}. {self._cue(e)[0]}: |SBS| {self.text(e)}; {s:.0%} so far"
            for i, (e, s) in enumerate(zip(rows, shares, strict=True))
        ]
        steps = self.numbers.one("variations_to_80", model)
        reached = (None, None, None) if steps is None else (steps.value, steps.low, steps.high)
        return charts.cumulative(shares, titles, reached)

    def concentration_words(self, model: str) -> str:
        """The count of Figure 2 in a sentence."""
        e = self.numbers.one("variations_to_80", model)
        if e is None or e.value is None:
            return "How concentrated the shifts are is not measurable."
        total = len(cues(self.numbers, model))
        text = f"{self.text(e)} {self.interval(e)} of {total} cues make up 80% of the total |SBS|."
        if e.floor is not None:
            chance = number(round(e.floor, 1), e.unit)
            text += f" Without any effect it would be about {chance}: fewer than that is concentration."
        return text

    def model_rows(self) -> list[tuple[str, list[tuple[str, str, str]]]]:
        """Table 7: per model (value, interval, floor) of each measure."""
        out = []
        names = [*self.numbers.models, *([POOLED] if self.numbers.pooled else [])]
        for model in names:
            cells = []
            for measure in ("sbs", "cohens_d", "zero_share", "large_share"):
                e = self.numbers.one(measure, model)
                floor = ""
                noise = self.numbers.size(e) if e is not None and measure == "sbs" else e
                if noise is not None and noise.floor is not None:
                    floor = f"by chance {number(noise.floor, noise.unit)}, up to {number(noise.floor_high, noise.unit)}"
                    if measure == "sbs":
                        floor = f"noise floor ±{number(noise.floor_high, noise.unit)}"
                missing = "not defined for the mean over models" if model == POOLED else NOT_MEASURABLE
                cells.append((self.text(e), self.interval(e) if e is not None else missing, floor))
            out.append((model, cells))
        return out

    def model_scatters(self) -> list[tuple[str, str, Markup]]:
        """Figure 8, for each pair of models: title, words, plot."""
        out = []
        models = self.numbers.models
        for i, one in enumerate(models):
            for other in models[i + 1 :]:
                mine = {e.scenario: e for e in self.numbers.all("sbs", one, "scenario") if e.value is not None}
                theirs = {e.scenario: e for e in self.numbers.all("sbs", other, "scenario") if e.value is not None}
                points = [
                    charts.Point(
                        a.value or 0.0, b.value or 0.0, f"{self.titles.poles(s)}: {self.text(a)} and {self.text(b)}",
                        self.titles.get("scenario", s), self.scenario_look(a)[0],
                    )
                    for s, a in mine.items() if (b := theirs.get(s)) is not None
                ]  # fmt: skip
                if len(points) < 3:
                    continue
                ends = [v for p in points for v in (p.x, p.y)]
                both = charts.scale(min(ends), max(ends), 6)
                slope = self.numbers.one("model_slope", other, other_model=one)
                r = self.numbers.one("model_correlation", one, other_model=other)
                words = f"r = {self.text(r)} {self.interval(r)}; slope {self.text(slope)} {self.interval(slope)}"
                loud = sorted(points, key=lambda p: -abs(p.x) - abs(p.y))[:7]
                kept = [p if p in loud else charts.Point(p.x, p.y, p.title, "", p.group) for p in points]
                line = None if slope is None else slope.value
                out.append((f"{other} against {one}", words, charts.scatter(kept, both, both, (one, other), line=line)))
        return out

    def variance_strips(self) -> Strips | None:
        """Disagreement between models by scenario (Figure 7)."""
        rows = sorted(
            self.numbers.all("model_variance", POOLED, "scenario"), key=lambda e: (e.value is None, -(e.value or 0.0))
        )
        return self.strips(rows, self._scenario, what="Variance", look=_above_floor)

    def named(self, rows: Iterable[Estimate]) -> list[tuple[tuple[str, ...], Estimate]]:
        """Estimates with their scenario's poles."""
        return [((self.titles.poles(e.scenario),), e) for e in rows]

    def single(self, model: str, measure: str) -> list[tuple[tuple[str, ...], Estimate]]:
        """The estimate over everything, with its measure's title."""
        e = self.numbers.one(measure, model)
        known = self.measures.get(measure)
        return [] if e is None else [((known.title if known else measure,), e)]

    def over_models(self, column: str) -> list[Estimate]:
        """SBS over one factor, of every model."""
        return [e for model in self.numbers.models for e in self.numbers.all("sbs", model, column)]

    def worst_case(self, model: str) -> str | None:
        """How far missing answers could mislead, in points; None if none is missing, or all are."""
        rate = self.numbers.one("na_rate", model)
        return None if rate is None or not rate.value or rate.value >= 1 else points(min(2 * rate.value, 1.0))

    def missing_lines(self, model: str) -> Lines:
        """The numbers behind N/A and refusals."""
        pairs = []
        for measure in ("na_rate", "refusal_rate"):
            known = self.measures.get(measure)
            title = known.title if known else measure
            for e in self.numbers.all(measure, model, "dimension", "group"):
                whose = f"{self.titles.get('dimension', e.dimension)}: {self.titles.get('group', e.group)}"
                pairs.append(((title, whose), e))
            pairs += [
                ((title, self.titles.get("attribute", e.attribute)), e)
                for e in self.numbers.all(measure, model, "attribute")
            ]
        return self.lines(("Measure", "Whose picture"), pairs)

    def missing_strips(self, measure: str, model: str) -> Strips | None:
        """N/A or refusals by group and by attribute."""
        overall = self.numbers.one(measure, model)
        found = self.numbers.all(measure, model, "dimension", "group")
        order = self._groups(found)
        groups = sorted(found, key=lambda e: order.index((e.dimension or "", e.group or "")))
        by_attribute = self.numbers.all(measure, model, "attribute")
        rows = [*([overall] if overall is not None else []), *groups, *by_attribute]

        def label(e: Estimate) -> tuple[str, str]:
            if e.group is not None:
                return self.titles.get("group", e.group), self.titles.get("dimension", e.dimension)
            if e.attribute is not None:
                return self.titles.get("attribute", e.attribute), "Attribute changed"
            return "All replies", ""

        return self.strips(rows, label, what="Rate", look=lambda _: (0, "plain"))


def shade(value: float) -> str:
    """Colour category of Table 12.

    Examples
    --------
    >>> [shade(v) for v in (0.1, 0.04, 0.039, -0.04, -0.1)]
    ['up2', 'up1', 'zero', 'down1', 'down2']
    """
    size = "2" if abs(value) >= STRONG else "1" if abs(value) >= MODERATE else ""
    return "zero" if not size else f"{'up' if value > 0 else 'down'}{size}"


def _side(e: Estimate, signed: bool) -> str:
    if not signed or e.value is None:
        return "plain"
    return "up" if e.value > 0 else "down"


def _above_floor(e: Estimate) -> tuple[int, str]:
    return 0, "plain" if e.value is not None and e.value > (e.floor_high or 0.0) else "within"


def _tick(value: float, unit: str, *, signed: bool) -> str:
    if unit == "share":
        return f"{100 * value:g}%"
    if unit == "probability^2":
        return f"{1e4 * value:g}"
    text = f"{value:g}".replace("-", "−")
    return f"+{text}" if signed and value > 0 else text


def _short(title: str) -> str:
    """A column title that fits a narrow column."""
    return title.removeprefix("Monk ") if title.startswith("Monk ") else title
