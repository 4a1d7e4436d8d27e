"""Estimates of one model as blocks see them: selected by declaration, and written in words."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import and_

import polars as pl

from facevalue.measures.definitions import Measure, definition_of, sampled_units
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import CROSSED, Estimate, EstimateIndex, MeasureRoles, rows_to_estimates
from facevalue.protocol.page import Findings, Page
from facevalue.report import formatting
from facevalue.report.sections.headline import detectable

# Forms: texts about an estimate with the wording of its labels filled in.


_FIELD = re.compile(r"\{([\w ]+)(?::(\w+))?(?:\|([^{}]*))?\}")
_GAP = re.compile("(^|: ), ")
"""What is left before the first of a list where parts before it are left out."""
_PART = re.compile(r"\[([^\[\]]*)\]")

Fill = Callable[[str, str], str | None]
"""A function of a field's name and manner that returns its text; None if the label is missing."""


def fill_form(form: str, fill: Fill) -> str:
    """Fill a form in with texts of labels.

    `form`: `{label}` is replaced; `{label:lower}` in a manner; `{label|Everyone}` says what stands for a missing one; a
    part in `[...]` is left out if a label in it is missing. `fill`: where texts come from.

    Examples
    --------
    >>> known = {"group": "Elderly", "dimension": None}
    >>> fill_form("{group:lower}[ ({dimension})] {other|all}", lambda name, how: known.get(name))
    'Elderly all'
    """

    def part_text(text: str) -> str | None:
        missing = False

        def field_text(match: re.Match[str]) -> str:
            nonlocal missing
            value = fill(match[1], match[2] or "")
            if value is None and match[3] is not None:
                return match[3]
            missing |= value is None
            return value or ""

        out = _FIELD.sub(field_text, text)
        return None if missing else out

    pieces = _PART.split(form)
    out = []
    for place, piece in enumerate(pieces):
        filled_piece = part_text(piece)
        if place % 2:
            out.append(filled_piece or "")
        else:
            out.append(
                filled_piece
                if filled_piece is not None
                else _FIELD.sub(lambda m: fill(m[1], m[2] or "") or m[3] or "–", piece)
            )
    return _GAP.sub(r"\1", "".join(out).strip())


Levels = Mapping[str, str | None]
TITLED, MOST = 40_000, 120_000
"""Cells of a page up to which each says everything when pointed at, and from which on large grids are left out."""


class View:
    """Estimates and wording as a block sees them: see `facevalue.protocol.look.Look`."""

    def __init__(
        self, numbers: EstimateIndex, titles: formatting.Titles, measures: Sequence[Measure], model: str = "",
        bound: Levels | None = None, sizes: Mapping[str, int] | None = None, conditions: bool = True,
    ) -> None:  # fmt: skip
        self.numbers = numbers
        self.titles = titles
        self.measures: Mapping[str, Measure] = {m.key: m for m in measures}
        clusters = {m.cluster for m in measures}
        self.unit_name = sampled_units(clusters.pop() if len(clusters) == 1 else "")
        self.model = model or numbers.primary
        self.conditions = conditions
        self.models: Sequence[str] = numbers.models if conditions else numbers.plain or numbers.models
        self.sizes: Mapping[str, int] = sizes or {}
        self._bound = dict(bound or {})
        self._measures = tuple(measures)
        self._names = {measure.name for measure in measures}

    def narrow(self, model: str = "", bound: Levels | None = None) -> "View":
        """The same for another model, or with more labels fixed."""
        return View(
            self.numbers, self.titles, self._measures, model or self.model, {**self._bound, **(bound or {})},
            self.sizes, self.conditions,
        )  # fmt: skip

    def of_model(self, model: str) -> "View":
        """Return the view of another model."""
        return self.narrow(model)

    def frame(self, of: Of, model: str = "") -> pl.DataFrame:
        """The rows of a selection, in the order of the table; every label that it does not name is missing."""
        optional = {name.removesuffix("?") for name in of.by if name.endswith("?")}
        labels = {name.removesuffix("?") for name in of.by}
        required = {*(labels - optional), *(name for name, level in of.where.items() if _set(level))}
        bound = {name: level for name, level in self._bound.items() if name in labels}
        levels = {name: level for name, level in (bound | dict(of.where)).items() if name in self.numbers.labels}
        having = {name for name, level in levels.items() if _set(level)} | (labels - optional - levels.keys())
        lacking = {name for name in self.numbers.labels if name not in labels and name not in levels}
        lacking |= {name for name, level in levels.items() if level is None}
        model_name: str | None = model or self.model
        if of.intervention:
            model_name = self.numbers.under(str(model_name), of.intervention)
        frames = [self.numbers.part(measure, model_name or "", having, lacking) for measure in of.measures]
        frame = pl.concat(frames) if len(frames) > 1 else frames[0]
        if not required <= {*self.numbers.labels}:
            return frame.clear()
        # not by expressions: pages select a few rows thousands of times, and each query takes a millisecond
        chosen = [_is_at_level(frame[name], level) for name, level in levels.items() if level is not None]
        if not of.crossed:
            crossing = (frame[name].str.contains(CROSSED, literal=True) for name in self.numbers.crossing)
            chosen += [crosses.not_().fill_null(value=True) for crosses in crossing]
        without = {name: level for name, level in of.without.items() if name in self.numbers.labels}
        chosen += [(frame[name] != level).fill_null(value=True) for name, level in without.items()]
        return frame[reduce(and_, chosen).arg_true()] if chosen and frame.height else frame

    def rows(self, of: Of, model: str = "") -> list[Estimate]:
        """The estimates of a selection, in its order."""
        rows = self.order_estimates(list(rows_to_estimates(self.frame(of, model))), of)
        return rows if of.most is None else rows[: of.most]

    def order_estimates(self, rows: list[Estimate], of: Of) -> list[Estimate]:
        """Estimates in the order of a selection; those without a value last."""
        keys: dict[str, Callable[[Estimate], object]] = {
            "value": lambda e: (e.value is None, -_round_value(e.value)),
            "size": lambda e: (e.value is None, -abs(_round_value(e.value))),
            "clearest": lambda e: (e.value is None, -_round_value(standardised_size(e))),
            "found": lambda e: (not self.found(e), e.value is None, -_round_value(standardised_size(e))),
            "surest": lambda e: (not self.found(e), e.p is None, _round_value(e.p), -_round_value(e.value)),
            "largest": lambda e: (not self.found(e), -_round_value(e.value)),
            "labels": lambda e: self.row_label(of, e),
        }
        key = keys.get(of.order)
        return rows if key is None else sorted(rows, key=key)  # type: ignore[arg-type]

    @property
    def interventions(self) -> tuple[str, ...]:
        """Names of what was done to the requests of this model."""
        conditions = (self.numbers.condition(model) for model in self.numbers.models)
        names = (
            condition.intervention
            for condition in conditions
            if condition.model == self.model and condition.intervention
        )
        return tuple(dict.fromkeys(names))

    def find(self, measure: str, **levels: str | None) -> Estimate | None:
        """The estimate at these levels, over everything else; None if there is none."""
        fixed = {name: level for name, level in levels.items() if level is not None}
        return self.numbers.find(measure, self.model, **fixed)

    def beside(self, measure: str, estimate: Estimate) -> Estimate | None:
        """Return another measure of the same cell."""
        return self.numbers.companion(measure, estimate)

    def found(self, estimate: Estimate) -> bool:
        """Say whether an estimate found a difference."""
        return self.numbers.is_found(estimate)

    def definition(self, e: Estimate) -> Measure | None:
        """Definition of an estimate's measure, or of the change in it; None where nobody knows."""
        return definition_of(self.measures, e.measure, e["score"], e["versus"])

    def is_signed(self, e: Estimate) -> bool:
        """Return whether an estimate's value carries a sign."""
        definition = self.definition(e)
        return formatting.is_signed(definition) if definition else e.measure in self.numbers.reading.sizes

    def detail(self, e: Estimate, *, brief: bool = False) -> str:
        """Details of an estimate, for its tooltip."""
        floor, corrected = self.numbers.size(e), self.numbers.corrected_estimate(e)
        signed = self.is_signed(e)
        return formatting.detail(
            e, signed=signed, unit_name=self.unit_name, floor=floor, corrected=corrected, brief=brief
        )

    def value(self, estimate: Estimate | None, *, bare: bool = False) -> str:
        """A value in words, or a dash; `bare` without its unit's word."""
        if estimate is None:
            return formatting.DASH
        return formatting.number(estimate.value, estimate.written_unit, signed=self.is_signed(estimate), bare=bare)

    def interval(self, estimate: Estimate | None) -> str:
        """An interval, or why there is none."""
        if estimate is None:
            return formatting.NOT_MEASURABLE
        text = formatting.interval(estimate, signed=self.is_signed(estimate))
        return text or formatting.why_no_interval(estimate)

    def floor(self, e: Estimate | None) -> str:
        """Say what chance alone shows, its mean and its end; a dash if that is not known."""
        if e is None or e.floor_high is None:
            return formatting.DASH
        mean = formatting.number(e.floor, e.written_unit, bare=True)
        return f"{mean}, 95% below {formatting.number(e.floor_high, e.written_unit)}"

    def measure_title(self, e: Estimate) -> str:
        """Title of an estimate's measure, or of differences in it."""
        definition = self.definition(e)
        return definition.title if definition else e.measure

    def title(self, column: str, level: str | None, estimate: Estimate | None = None) -> str:
        """The wording of a level."""
        if level is None:
            return formatting.DASH
        if column == "variation" and estimate is not None:
            return self.titles.variation(estimate["attribute"], level)
        return self.titles.get(column, level)

    def raw(self, column: str, level: str | None) -> str:
        """A level as the study writes it; empty for none."""
        return "" if level is None else self.titles.given_wording(column, level) or level

    def said(self, form: str, estimate: Estimate, more: Mapping[str, str] | None = None) -> str:
        """A form filled in with an estimate's labels and numbers.

        The name of a measure stands for its value in the same cell. Manners: `lower`; `raw` as the study writes it;
        `poles` of a scenario; `kind` of a scenario's category; `short` for narrow columns; another label, whose wording
        is taken; of measures `interval`, and `round` for whole percents.
        """

        def fill(name: str, manner: str) -> str | None:
            if more and name in more:
                return more[name]
            if name in _NUMBERS:
                return _NUMBERS[name](self, estimate)
            if name in self._names:
                partner = self.beside(name, estimate)
                return None if partner is None or partner.value is None else _measure_text(self, partner, manner)
            level = estimate[name]
            if level is None:
                return None
            return self._manner(name, level, manner, estimate)

        return fill_form(form, fill)

    def _manner(self, name: str, level: str, manner: str, estimate: Estimate | None = None) -> str | None:
        if manner == "raw":
            return self.raw(name, level)
        if manner == "poles":
            return self.titles.poles(level)
        if manner == "kind":
            kind = self.titles.category_of(level)
            return self.titles.get("category", kind) if kind else None
        text = self.title(name, level, estimate)
        if manner == "lower":
            return text.lower()
        if manner and manner != "short":
            return self.titles.get(manner, level)
        return text.removeprefix("Monk ") if manner == "short" else text

    def said_of_row(self, form: str, row: Mapping[str, object]) -> str:
        """A form filled in with the levels of an answer's trial, in the same manners."""

        def fill(name: str, manner: str) -> str | None:
            level = str("" if row.get(name) is None else row[name])
            return self._manner(name, level, manner) if level else None

        return fill_form(form, fill)

    def row_label(self, of: Of, e: Estimate) -> str:
        """Label a row: by its form, or by all its labels but a score that is chosen."""
        if of.label:
            return self.said(of.label, e)
        unsaid = {"versus", *({"score"} & of.where.keys())}
        levels = [self.title(name, level, e) for name, level in e.labels.items() if level and name not in unsaid]
        return ", ".join(levels) or "everything"

    def label_note(self, of: Of, e: Estimate) -> tuple[str, str]:
        """A row's text, and the smaller text beside it."""
        return self.row_label(of, e).replace("|", ", "), self.said(of.note, e) if of.note else ""

    def judgeable_estimates(self, rows: Iterable[Estimate]) -> list[Estimate]:
        """Estimates among these that can be judged."""
        return [e for e in rows if e.value is not None and e.verdict != Verdict.NOT_MEASURABLE]

    def detectable(self, rows: list[Estimate]) -> float | None:
        """The effect that the typical estimate would have found with 80% power."""
        return detectable(rows)

    @property
    def cells(self) -> int:
        """Cells of the page's large tables."""
        return sum(self.sizes.get(model, 0) for model in self.shown_models)

    @property
    def shown_models(self) -> tuple[str, ...]:
        """Models whose large tables are shown: all that the page has room for."""
        models = tuple(self.models)
        first = self.model if self.model in models else models[0] if models else ""
        return models if sum(self.sizes.get(model, 0) for model in models) <= TITLED else (first,)

    @property
    def left_out(self) -> str:
        """Sentence on what was left out for the size of the page; empty if nothing."""
        out = []
        if self.cells > MOST:
            out.append("The largest tables are left out for size.")
        if self.cells > TITLED:
            out.append("Only marked cells say more when pointed at, for size.")
        if len(self.shown_models) < len(self.models):
            out.append(f"Tables are those of {self.shown_models[0]}; the others' are in the reports of their own runs.")
        return " ".join([*out, "The table of estimates has everything."]) if out else ""


def page_view(
    page: Page,
    estimates: pl.DataFrame,
    measures: Sequence[Measure],
    titles: Mapping[str, Mapping[str, str]] | None = None,
    models: Iterable[str] = (),
) -> View:
    """Estimates as a page sees them.

    `page`: its declaration. `estimates`, `measures`: the table, and definitions of what is in it. `titles`: wording of
    levels beside the page's own. `models`: who was asked, in the order in which to show them.
    """
    numbers = EstimateIndex(estimates, models, reading(page), measures)
    return View(numbers, formatting.Titles(page.titles, titles or {}), measures, conditions=page.conditions)


def reading(page: Page) -> MeasureRoles:
    """Say which of a page's measures go together; models that have a value of its lead come first."""
    leads = {name for lead in page.lead if isinstance(lead, Findings) for of in lead.of for name in of.measures}
    return MeasureRoles(next(iter(leads)) if len(leads) == 1 else "", page.sizes, page.corrected)


def _round_value(value: float | None) -> float:
    """Order by what is measured, not by the last digit, which may differ from one reading of a run to the next."""
    return round(value or 0.0, 12)


def standardised_size(e: Estimate) -> float:
    """Return an estimate in noise floors, or in standard errors from none; 0 if neither is known.

    Examples
    --------
    >>> standardised_size(Estimate("gap", "m", value=-3.0, se=1.5)), standardised_size(Estimate("gap", "m", value=3.0))
    (2.0, 0.0)
    """
    scale = e.floor_high or e.se or (e.high - e.low if e.high is not None and e.low is not None else 0.0)
    return abs(e.value) / scale if e.value is not None and scale else 0.0


def _set(level: str | tuple[str | None, ...] | None) -> bool:
    """Return whether a label must be set to be at this level."""
    return level is not None and not (isinstance(level, tuple) and None in level)


def _is_at_level(column: pl.Series, level: str | tuple[str | None, ...]) -> pl.Series:
    if isinstance(level, tuple):
        return column.is_in([name for name in level if name is not None]).fill_null(value=None in level)
    return column == level


def _measure_text(view: View, e: Estimate, manner: str) -> str:
    if manner == "interval":
        return formatting.interval(e, signed=view.is_signed(e)) or "(no interval)"
    return f"{e.value:.0f}%" if manner == "round" and e.unit == "%" else view.value(e)


def _with_interval(view: View, e: Estimate) -> str:
    return f"{view.value(e)} {formatting.interval(e, signed=view.is_signed(e))}".strip()


def _floor(_view: View, e: Estimate) -> str | None:
    return None if e.floor_high is None else formatting.number(e.floor_high, e.written_unit)


_NUMBERS: dict[str, Callable[[View, Estimate], str | None]] = {
    "value": _with_interval,
    "interval": lambda view, e: formatting.interval(e, signed=view.is_signed(e)) or "(no interval)",
    "number": lambda view, e: view.value(e),
    "q": lambda _, e: None if e.verdict_q is None else formatting.share_of_chance(e.verdict_q),
    "floor": _floor,
    "bounds": lambda view, e: formatting.worst_case(e, signed=view.is_signed(e)),
    "measure": lambda view, e: view.measure_title(e),
    "model": lambda _, e: e.model,
}
