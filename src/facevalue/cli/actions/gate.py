"""`facevalue gate`: runs checked against limits, for people and for what runs them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import click
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from facevalue.cli.actions.results import open_all, waiting_runs_of
from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output
from facevalue.errors import FaceValueError, UnknownNameError
from facevalue.limits.gate import Gate, LimitResult, gate
from facevalue.limits.limits_file import read_limits
from facevalue.limits.wording import as_annotations, as_junit, as_markdown, conclusion, name_of, summary, value_of
from facevalue.measures.verdicts import LimitOutcome
from facevalue.printable import printable
from facevalue.runs.audits.folder import whole_runs_of
from facevalue.store.files import write_whole

STATUS = {
    LimitOutcome.WITHIN: Exit.DONE,
    LimitOutcome.BEYOND: Exit.BEYOND,
    LimitOutcome.NOT_MEASURABLE: Exit.UNDECIDED,
    LimitOutcome.UNDECIDED: Exit.UNDECIDED,
}
"""Exit status of each outcome."""
_COPIED = (
    *("run", "study", "model", "measure", "value", "low", "high", "gate_low", "gate_high", "n", "clusters", "unit"),
    *("outcome", "why"),
)
_LISTED = 5  # estimates of a limit that are shown; the worst first
_ACTIONS, _SUMMARY = "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"
_STYLES = {
    LimitOutcome.BEYOND: "red",
    LimitOutcome.NOT_MEASURABLE: "yellow",
    LimitOutcome.UNDECIDED: "yellow",
    LimitOutcome.WITHIN: "green",
}


@dataclass(frozen=True, slots=True)
class GatedCell:
    """An estimate, or a change of one, checked against a limit."""

    run: str
    """Folder or URL."""
    study: str
    model: str
    measure: str
    """Empty where nothing of what leads the page of the run was tested."""
    labels: Mapping[str, str]
    """What it is of: levels by label, such as {"variation": "sunglasses"}."""
    value: float | None
    low: float | None
    high: float | None
    """At 95%."""
    gate_low: float | None
    gate_high: float | None
    """At the level of the gate; of findings, at that of the page."""
    n: int | None
    clusters: int | None
    """Units that were asked about."""
    unit: str
    outcome: LimitOutcome
    why: str
    units_needed: float | None
    """How many units would probably tell, where there is not enough data; null where that is not known."""


@dataclass(frozen=True, slots=True)
class GatedLimit:
    """A limit, and how it ended."""

    name: str
    line: int
    """In the file of limits."""
    study: str
    measure: str
    """Empty for what leads the page of each run."""
    at_least: float | None
    at_most: float | None
    """What is allowed; null where there is no end, and for findings."""
    of_change: bool
    """Whether it is of the change against the baseline."""
    findings: int | None
    """Findings that are allowed; null for values."""
    outcome: LimitOutcome
    """The worst of its estimates."""
    units_needed: float | None
    cells: tuple[GatedCell, ...]


@dataclass(frozen=True)
class GateDocument(Document):
    """Runs checked against limits."""

    FORMAT: ClassVar[str] = "gate"
    outcome: LimitOutcome
    """The worst of all limits: beyond, not measurable, not enough data, within."""
    summary: str
    file: str
    """Of the limits."""
    runs: tuple[str, ...]
    baselines: tuple[str, ...]
    level: float
    """Level of the intervals by which something is beyond, so that all of them hold together at 95%."""
    notes: tuple[str, ...]
    """What else must be known, such as what differs from the baseline."""
    limits: tuple[GatedLimit, ...]


def check_gate(
    runs: Sequence[str],
    limits: Path,
    baseline: Sequence[str],
    junit_file: Path | None,
    markdown_file: Path | None,
    github: bool,
    allow_incomplete: bool,
) -> Output[GateDocument]:
    """Check runs against limits."""
    try:
        declared = read_limits(limits)
        gated = gate(
            open_all(runs), declared, open_all(baseline, below=whole_runs_of), waiting_runs_of(runs),
            allow_incomplete=allow_incomplete,
        )  # fmt: skip
    except UnknownNameError as error:  # of a run or file, not of the command line
        raise FaceValueError(str(error)) from error
    if junit_file is not None:
        write_whole(junit_file, as_junit(gated).encode())
    if markdown_file is not None:
        _write_summary(markdown_file, as_markdown(gated))
    if github or os.environ.get(_ACTIONS) == "true":
        for line in as_annotations(gated, _relative(limits)):
            click.echo(printable(line), err=True)
    return Output(lambda: _document(gated, limits), text(gated), STATUS[gated.outcome])


def _write_summary(path: Path, page: str) -> None:
    """Write the page, or add it to the summary of the job, which other steps write into as well."""
    if str(path) == os.environ.get(_SUMMARY) and path.is_file():
        write_whole(path, path.read_bytes() + page.encode())
    else:
        write_whole(path, page.encode())


def _relative(path: Path) -> str:
    """A path as annotations name files: from the root of the repository, where that is known."""
    try:
        return path.resolve().relative_to(Path(os.environ.get("GITHUB_WORKSPACE", ".")).resolve()).as_posix()
    except ValueError:
        return path.name


def text(gated: Gate) -> Iterator[RenderableType]:
    """A gate for people: a row per limit, then the estimates that are not within, and the sentence."""
    yield from map(Text, gated.notes)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("outcome", "limit", "estimates"):
        table.add_column(heading, overflow="fold")
    for result in gated.results:
        table.add_row(
            Text(str(result.outcome), style=_STYLES[result.outcome]),
            escape(result.limit.name),
            escape(conclusion(result)),
        )
    yield table
    for result in gated.results:
        if result.outcome != LimitOutcome.WITHIN:
            yield ""
            yield from _open_cells(result, several=len(gated.runs) > 1)
    yield ""
    yield Text(summary(gated), style=f"bold {_STYLES[gated.outcome]}")


def _open_cells(result: LimitResult, *, several: bool) -> Iterator[RenderableType]:
    cells, labels = result.open_cells, result.labels
    yield Text(result.limit.name, style="bold")
    for row in cells.head(_LISTED).iter_rows(named=True):
        run = f" ({row['run']})" if several else ""
        yield Text.assemble(
            "  ", (row["outcome"], _STYLES[LimitOutcome(row["outcome"])]), f"  {name_of(row, labels)}{run}: ",
            f"{value_of(row, result.limit)}. {row['why']}",
        )  # fmt: skip
    if cells.height > _LISTED:
        yield Text(f"  and {cells.height - _LISTED:,} more (--json has all of them)")


def _document(gated: Gate, limits: Path) -> GateDocument:
    return GateDocument(
        gated.outcome, summary(gated), str(limits), gated.runs, gated.baselines, gated.level, gated.notes,
        tuple(map(_limit, gated.results)),
    )  # fmt: skip


def _limit(result: LimitResult) -> GatedLimit:
    limit, labels = result.limit, result.labels
    first = result.cells.row(0, named=True)
    low, high = (None, None) if limit.findings is not None else (first["at_least"], first["at_most"])
    return GatedLimit(
        limit.name, limit.line, limit.study, limit.measure, low, high, limit.of_change, limit.findings, result.outcome,
        result.units_needed, tuple(_cell(row, labels) for row in result.cells.iter_rows(named=True)),
    )  # fmt: skip


def _cell(row: Mapping[str, Any], labels: Sequence[str]) -> GatedCell:
    levels = {name: str(row[name]) for name in labels if row[name] is not None}
    copied = {name: row[name] for name in _COPIED}
    return GatedCell(labels=levels, units_needed=row["units"], **copied)
