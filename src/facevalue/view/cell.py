"""An estimate's own page: its definition, its arithmetic in steps, and what each unit that was sampled adds to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from facevalue.protocol.lookup import Estimate
from facevalue.report import formatting
from facevalue.report.blocks.view import View
from facevalue.report.formatting import DASH
from facevalue.report.verdict import MEANINGS, verdict_of
from facevalue.view.estimates import ViewedEstimate, rows_of
from facevalue.view.opened import RunState
from facevalue.view.pictures import PictureRef
from facevalue.view.query import Query

QUERY = ("run", "key")


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
    meaning: str
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
class CellTrials:
    """Trials that the labels of an estimate name: a query of the answers."""

    total: int | None
    query: str


@dataclass(frozen=True, slots=True)
class CellPage:
    """An estimate with everything behind it."""

    row: ViewedEstimate
    definition: Definition
    steps: tuple[Step, ...]
    cluster: CellClusters
    trials: CellTrials


def cell(state: RunState, query: Query) -> CellPage:
    """The page of an estimate."""
    return cell_of(state, query.text("key"))


def cell_of(state: RunState, key: str) -> CellPage:
    """The page of an estimate, by its key."""
    rows = rows_of(state)
    e, row = rows.row_of(key)
    view = rows.view
    return CellPage(
        row,
        _definition(view, e),
        tuple(_steps(view, e)),
        CellClusters(view.unit_name, e.clusters or 0, False, "", ()),
        _trials(state, row),
    )


def _definition(view: View, e: Estimate) -> Definition:
    measure = view.measures.get(e.measure)
    if measure is None:
        return Definition(e.measure, e.unit, "", e.source or "")
    return Definition(measure.title, formatting.unit_of(measure), measure.equation, measure.source)


def _steps(view: View, e: Estimate) -> Sequence[Step]:
    """What stands beside an estimate's value, in the report's words."""
    steps = [Step("Interval", f"{view.value(e)} {view.interval(e)}{f': {e.method}' if e.method else ''}")]
    size = view.numbers.size(e)
    if (floor := view.floor(size)) != DASH:
        steps.append(Step("What chance alone gives", floor))
    if e.has_bounds:
        steps.append(
            Step("Had all missing answers gone one way", formatting.worst_case(e, signed=view.signed(e.measure)))
        )
    if at_page := formatting.page_interval(e, signed=view.signed(e.measure)):
        family = f", of the family “{e.family}”" if e.family else ""
        steps.append(Step("Among all comparisons of the page", f"{at_page}{family}"))
    verdict = verdict_of(e.verdict)
    if verdict is not None:
        reason = f" {e.why}" if e.why else ""
        steps.append(Step("Verdict", f"{verdict.value}.{reason} {MEANINGS[verdict]}"))
    return steps


def _trials(state: RunState, row: ViewedEstimate) -> CellTrials:
    """Trials at the levels of an estimate's labels, as far as these are factors."""
    columns = state.run.study.design.columns
    levels = {f"F.{name}": label.level for name, label in row.labels.items() if name in columns}
    return CellTrials(None, urlencode({"run": state.number, **levels}))
