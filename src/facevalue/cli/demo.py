"""`facevalue demo`: a whole audit of a model whose bias is known, without key or network."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import RenderableType
from rich.progress import track
from rich.table import Table

from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.cli.running import execute
from facevalue.models import load
from facevalue.protocol.offers import Demo
from facevalue.runs import RunSettings
from facevalue.runs.preparation import Prepared
from facevalue.runs.stored_run import StoredRun
from facevalue.stimuli.drawn_portraits import default_cache, draw_all
from facevalue.store.files import ESTIMATES
from facevalue.studies import protocol as protocol_of
from facevalue.studies.offers import example
from facevalue.terminal import terminal

if TYPE_CHECKING:
    from facevalue.report.page_builder import PlantedEffect

SHOWN = 8
"""Rows of the table, the largest planted effects first."""


@dataclass(frozen=True, slots=True)
class DemoEffect:
    """An effect that was planted, beside what the audit found."""

    title: str
    planted: float
    estimated: float | None
    low: float | None
    high: float | None
    unit: str
    found: bool


@dataclass(frozen=True)
class DemoDocument(Document):
    """An audit of a model whose bias is known."""

    FORMAT: ClassVar[str] = "demo"
    run: str
    report: str
    model: str
    effects: tuple[DemoEffect, ...]
    """Largest planted first; empty where the demo was interrupted."""


def demo(out: Path) -> Output[DemoDocument]:
    """Draw portraits, ask the reference model, whose bias is planted, and report what the audit finds."""
    from facevalue.protocol.lookup import EstimateIndex  # noqa: PLC0415 - slow to import
    from facevalue.runs.kept_estimates import read_estimates  # noqa: PLC0415 - scipy.stats takes a second to import

    console = terminal(stderr=True)
    protocol = protocol_of(example("demo"))
    offer = protocol.extras.demo
    assert offer is not None
    study = protocol.study(offer.options)
    console.print(f"{study.about.title}\n{offer.describe(study)}\n{study.about.content_note}", highlight=False)
    drawing = draw_all(study.manifest, default_cache())
    for _ in track(drawing, "Drawing portraits", total=study.manifest.height, console=console, transient=True):
        pass

    summary = execute(Prepared(study, out / "run", RunSettings(exact=True)), load(offer.model))
    run, page = str(out / "run"), out / "report.html"
    if summary.status is Exit.INTERRUPTED:
        return Output(DemoDocument(run, "", offer.model, ()), status=summary.status)
    from facevalue.report.collect import report  # noqa: PLC0415 - templates take their time
    from facevalue.report.page_builder import planted_effects  # noqa: PLC0415

    written = report([StoredRun.open(out / "run")], page)
    estimates = read_estimates(out / "run" / ESTIMATES, study)
    rows = planted_effects(offer, study, EstimateIndex(estimates, measures=study.estimates.measures), offer.model)
    effects = tuple(
        DemoEffect(
            row.title, row.effect, row.estimate.value, row.estimate.low, row.estimate.high, row.estimate.unit,
            row.is_found,
        )
        for row in rows
    )  # fmt: skip

    def text() -> Iterator[RenderableType]:
        yield from written.lines
        yield f"Report: {page}"
        yield ""
        yield _table(offer, rows)
        yield (
            "\nThat model says nothing about real people. To audit a real model, on any OpenAI-compatible server:\n"
            f"  facevalue run {study.name} --model http://127.0.0.1:8000/v1#NAME --sample 20000"
        )

    return Output(DemoDocument(run, str(page), offer.model, effects), text(), summary.status)


def _table(offer: Demo, rows: "Sequence[PlantedEffect]") -> Table:
    """Make a table of what was planted in these very pictures, beside what the audit found."""
    from facevalue.report.formatting import interval, number  # noqa: PLC0415
    from facevalue.report.page_builder import count_found_effects  # noqa: PLC0415

    table = Table(
        title="Planted and found",
        title_justify="left",
        caption=count_found_effects(offer, list(rows)),
        caption_justify="left",
        header_style="bold",
    )
    table.add_column(offer.heading)
    for name in ("planted", "estimated", "95% interval", ""):
        table.add_column(name, justify="right")
    for row in rows[:SHOWN]:
        e = row.estimate
        values = [number(value, e.written_unit, signed=True) for value in (row.effect, e.value)]
        table.add_row(row.title, *values, interval(e, signed=True), "found" if row.is_found else "")
    return table
