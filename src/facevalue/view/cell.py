"""An estimate's own page: its definition, its arithmetic in steps, and what each unit that was sampled adds to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from urllib.parse import urlencode

from facevalue.errors import DataError
from facevalue.measures.caveats import add_caveat
from facevalue.measures.definitions import unit_name
from facevalue.protocol.lookup import Estimate
from facevalue.report import formatting
from facevalue.report.blocks.view import View
from facevalue.report.findings import sampled_units
from facevalue.report.formatting import DASH
from facevalue.report.verdict import MEANINGS, verdict_of
from facevalue.view.arithmetic import NOT_SUMS, TOO_MANY, Arithmetic, figures, lines, sums_of_run, unit_columns
from facevalue.view.background import NotYetError
from facevalue.view.estimates import ViewedEstimate, rows_of
from facevalue.view.opened import RunState
from facevalue.view.pictures import PictureRef
from facevalue.view.query import Query
from facevalue.view.unit_trials import pictures_of_trials, trials_of_units

QUERY = ("run", "key")
_CLUSTERS = 100
"""Units that are listed."""


@dataclass(frozen=True, slots=True)
class StepTable:
    """Numbers of a step, as texts."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A step on the way to an estimate."""

    title: str
    text: str
    table: StepTable | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """What a measure is."""

    title: str
    equation: str
    source: str


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A unit that was sampled: its own mean, and what the estimate would move by without it."""

    cluster: str
    title: str
    value: float | None
    added: float | None
    n: float | None
    text: str
    """What it adds, as the report writes numbers of the measure."""
    trials: tuple[int, ...]
    pictures: tuple[PictureRef, ...]


@dataclass(frozen=True, slots=True)
class CellClusters:
    """Units behind an estimate, those that move it most first; `pending`: they are being added up."""

    title: str
    total: int
    pending: bool
    note: str
    rows: tuple[ClusterRow, ...]


@dataclass(frozen=True, slots=True)
class CellPage:
    """An estimate with everything behind it."""

    row: ViewedEstimate
    definition: Definition
    steps: tuple[Step, ...]
    cluster: CellClusters
    behind: str
    """Query of the answers at the levels of its labels, as far as these are factors."""


def cell(state: RunState, query: Query) -> CellPage:
    """The page of an estimate."""
    return cell_of(state, query.text("key"))


def cell_of(state: RunState, key: str) -> CellPage:
    """The page of an estimate, by its key."""
    rows = rows_of(state)
    e, row = rows.row_of(key)
    view = rows.view
    run_sums, arithmetic, waiting, failure = None, None, "", ""
    try:
        run_sums = sums_of_run(state)
        if (of := run_sums.of(key)) is not None:
            arithmetic = Arithmetic.checked(of, e)
    except NotYetError as error:
        waiting = str(error)
    except DataError as error:
        failure = str(error)
    steps = _steps(view, e)
    if arithmetic is not None:
        steps = [*_sums(view, e, arithmetic), *steps]
    elif failure:
        steps = [Step("Sums", failure), *steps]
    elif run_sums is not None and e.value is not None:
        steps = [Step("Sums", TOO_MANY if run_sums.is_full else NOT_SUMS), *steps]
    return CellPage(
        row,
        _definition(view, e),
        tuple(steps),
        _clusters(state, view, e, row, arithmetic, waiting),
        _behind(state, row),
    )


def _sums(view: View, e: Estimate, arithmetic: Arithmetic) -> Sequence[Step]:
    """Steps from the sums of units to the value."""
    signed = view.signed(e)
    of = arithmetic.of
    plural = of.plural or _unit_name(view, e)
    units = f"{len(of.units):,} {plural}"
    if of.total is None:
        text = f"From the sums of {units}: {figures(of.value)}, which is {view.value(e)}."
        return [Step("Value", text)]
    text, rows = lines(arithmetic, e, signed=signed)
    heads = (plural, "sum", "count", "mean", "moves it by")
    first = f"The first {len(rows)} of {units}, by what they add." if len(rows) < len(of.units) else units
    return [Step("Sums of each", first, StepTable(heads, tuple(rows))), Step("All together", text)]


def _unit_name(view: View, e: Estimate) -> str:
    measure = view.definition(e)
    return view.unit_name if measure is None else sampled_units(measure.cluster)


def _clusters(
    state: RunState, view: View, e: Estimate, row: ViewedEstimate, arithmetic: Arithmetic | None, waiting: str
) -> CellClusters:
    """Units behind an estimate, those that move it most first, each with some of its trials."""
    name = _unit_name(view, e)
    if arithmetic is None:
        return CellClusters(name, e.clusters or 0, bool(waiting), waiting, ())
    of, order = arithmetic.of, arithmetic.ranked()[:_CLUSTERS]
    columns = unit_columns(state.run, of.units if of.are_named else ())
    trials = trials_of_units(state, columns, [of.units[at] for at in order], row) if columns else {}
    pictures = pictures_of_trials(state, [number for numbers in trials.values() for number in numbers])
    signed = view.signed(e)
    out = []
    for at in order:
        unit, added = of.units[at], _finite(of.added[at])
        numbers = tuple(trials.get(unit, ()))
        text = "all of it" if added is None else formatting.number(added, _apart(e), signed=True)
        out.append(
            ClusterRow(
                unit, state.titles.get(columns[0], unit) if columns else unit, _finite(arithmetic.means[at]), added,
                float(of.counts[at]) if of.total else None, text, numbers,
                tuple(picture for number in numbers for picture in pictures.get(number, ())),
            )
        )  # fmt: skip
    name = of.plural or name
    note = f"What the estimate{'' if signed else ', which has no sign,'} would move by without each."
    return CellClusters(name, len(of.units), False, note, tuple(out))


def _apart(e: Estimate) -> str:
    """Unit in which people read how far an estimate moves."""
    return unit_name(e.unit, apart=True)


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _definition(view: View, e: Estimate) -> Definition:
    measure = view.definition(e)
    if measure is None:
        return Definition(e.measure, "", e.source or "")
    return Definition(measure.title, measure.equation, measure.source)


def _steps(view: View, e: Estimate) -> Sequence[Step]:
    """What stands beside an estimate's value, in the report's words."""
    interval = view.interval(e)
    method = f": {e.method_words}" if e.method_words and e.method_words not in interval else ""
    steps = [Step("Interval", f"{view.value(e)} {interval}{method}")]
    size = view.numbers.size(e)
    if (floor := view.floor(size)) != DASH:
        steps.append(Step("What chance alone gives", floor))
    if e.has_bounds:
        steps.append(Step("Had all missing answers gone one way", formatting.worst_case(e, signed=view.signed(e))))
    if at_page := formatting.page_interval(e, signed=view.signed(e)):
        family = f", of the family “{e.family}”" if e.family else ""
        steps.append(Step("Among all comparisons of the page", f"{at_page}{family}"))
    verdict = verdict_of(e.verdict)
    if verdict is not None:
        reason = f" {e.why}" if e.why and not MEANINGS[verdict].startswith(e.why) else ""
        steps.append(Step("Verdict", f"{add_caveat(verdict.value, e.caveat)}.{reason} {MEANINGS[verdict]}"))
    return steps


def _behind(state: RunState, row: ViewedEstimate) -> str:
    columns = state.run.study.design.columns
    levels = {f"F.{name}": label.level for name, label in row.labels.items() if name in columns}
    return urlencode({"run": state.number, **levels})
