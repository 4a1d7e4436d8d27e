"""`facevalue audit` and `demo`: every study of a model within one budget, and an audit of a known bias."""

from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import RenderableType
from rich.progress import track
from rich.table import Table
from rich.text import Text

from facevalue.api.audits import AuditOptions, finish_audit, open_audit, settings_of
from facevalue.cli.actions.running import cluster_of, execute, log_to_file
from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output
from facevalue.errors import SettingError
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.protocol.offers import Demo
from facevalue.protocol.study import LeftOut, Study, by_reason
from facevalue.report.audit_page import AuditReport, StudyAnswer
from facevalue.runs import RichProgress, RunSettings, RunSummary
from facevalue.runs.audits.audit import AuditOutcome, ModelAudit
from facevalue.runs.audits.plan import AuditBudget, AuditPlan, PlannedStudy
from facevalue.runs.preparation import Prepared
from facevalue.runs.progress import silence_told
from facevalue.runs.rich_progress import duration, short
from facevalue.runs.runner import begin
from facevalue.runs.stored_run import StoredRun
from facevalue.stimuli.drawings.portraits import default_cache, draw_all
from facevalue.store.files import ESTIMATES
from facevalue.studies import protocol as protocol_of
from facevalue.studies.offers import example
from facevalue.terminal import terminal

if TYPE_CHECKING:
    from facevalue.report.page_builder import PlantedEffect

_OF_REACH = tuple(field.name for field in fields(ModelOptions))


@dataclass(frozen=True)
class AuditPlanDocument(Document):
    """Requests of an audit, and what each study detects (`audit --plan`)."""

    FORMAT: ClassVar[str] = "audit-plan"
    studies: tuple[PlannedStudy, ...]
    """What is asked of each study."""
    left_out: tuple[LeftOut, ...]
    """Studies that are not asked, and why."""
    budget: AuditBudget | None
    """What the audit may take; null for a pilot."""
    requests: int
    """Requests of all studies."""
    cost: float | None
    """What all cost; null where no price is known."""
    hours: float | None
    """How long all take; null where no rate is known."""
    points: float | None
    """Largest effect that a study which is planned for may miss, in points of what is possible; null without one."""


@dataclass(frozen=True, slots=True)
class AskedStudy:
    """Progress of a study of an audit."""

    name: str
    requests: int
    """Requests of its run."""
    asked: int
    """Responses stored by this session, re-asks included."""
    skipped: int
    """Requests that an earlier session had stored."""
    errors: int
    """Of those asked: failed; the same command asks them again."""
    complete: bool
    """Whether every request has been asked."""
    stopped: str
    """Which limit ended it; empty if none did."""
    enough: str
    """What was known when the rule to stop by ended it; empty if it did not."""


@dataclass(frozen=True, slots=True)
class AnswerOfStudy:
    """Answer of a study, as its own page has it."""

    name: str
    title: str
    report: str
    """Its full report, relative to the audit; empty where none could be written."""
    verdict: str
    """Kind of answer, such as "difference found"."""
    caveat: str
    """What else could explain all that was found ("unless the missing answers say otherwise"); empty for nothing."""
    sentence: str
    """What was found, and what would have gone unnoticed."""
    more: tuple[str, ...]
    """What must be known beside it."""
    next_steps: tuple[str, ...]
    """What to do next."""


@dataclass(frozen=True)
class AuditDocument(Document):
    """Session of an audit: what was asked, and what each study answers."""

    FORMAT: ClassVar[str] = "audit"
    audit: str
    """Folder or URL."""
    model: str
    plan: AuditPlanDocument
    """What is asked in all."""
    studies: tuple[AskedStudy, ...]
    """How far each study is."""
    answers: tuple[AnswerOfStudy, ...]
    """Answer of each study; empty where the session was interrupted."""
    profile: tuple[str, ...]
    """What holds among all comparisons of all studies, judged at one level; empty where the session was interrupted."""
    report: str
    """The page; empty where the session was interrupted."""
    saved: int
    """Requests that were not asked, as enough was known without them (--stop-when)."""
    complete: bool
    """Whether all was asked, or enough; errors may be among it."""
    interrupted: bool
    """Whether Ctrl-C or SIGTERM ended the session; the same command goes on."""


def audit(
    out: Path | str | None,
    plan: bool,
    log: Path | None,
    cluster: str | None,
    cluster_config: Path | None,
    **values: Any,
) -> Output[AuditDocument | AuditPlanDocument]:
    """Plan an audit, and ask and report it unless only the plan is wanted."""
    reach = ModelOptions(**{name: values.pop(name) for name in _OF_REACH if name in values})
    settings = settings_of(AuditOptions(**values))
    if plan:
        planned = ModelAudit(settings, out).plan()
        return Output(_plan_document(planned), plan_lines(planned))
    if not settings.model:
        raise SettingError("Say with --model who is asked, as of `facevalue run`; --plan asks nothing and needs none.")
    with log_to_file(log):
        target = cluster_of(cluster, cluster_config, out)
        session = open_audit(settings, out)
        console = terminal(stderr=True)
        loaded = load(settings.model, reach) if target is None else None
        with closing(loaded) if loaded is not None else nullcontext():
            if loaded is not None:
                with silence_told(RichProgress(console)):
                    session.fit(loaded)

            def ask(prepared: Prepared) -> RunSummary:
                console.print(Text(f"\n{_heading(prepared.study)}", style="bold"))
                if loaded is not None:
                    return begin(prepared, loaded, RichProgress(console))
                from facevalue.cluster.fleet import begin_on_cluster  # noqa: PLC0415 - only where it is asked for

                assert target is not None
                return begin_on_cluster(prepared, settings.model, reach, target, RichProgress(console))

            outcome = session.ask(ask, lambda planned: console.print(*plan_lines(planned), sep="\n"))
        if outcome.was_interrupted:
            console.print("The same command goes on.")
            return Output(_document(session, outcome, None), status=Exit.INTERRUPTED)
        report, _ = finish_audit(session)
    document = _document(session, outcome, report)
    return Output(document, _answer_lines(outcome, report), _status(outcome, report))


def _heading(study: Study) -> str:
    """Name and title of a study; many titles begin with the name."""
    title = study.about.title
    return title if title.casefold().startswith(study.name.casefold()) else f"{study.name}: {title}"


def _status(outcome: AuditOutcome, report: AuditReport) -> Exit:
    if not any(answer.is_measured for answer in report.answers):
        return Exit.REFUSED
    failed = any(summary.errors for summary in outcome.summaries.values())
    return Exit.DONE if outcome.complete and not failed and not _stop_lines(outcome) else Exit.INCOMPLETE


def _stop_lines(outcome: AuditOutcome) -> list[str]:
    return [f"{name} stopped: {summary.stopped}" for name, summary in outcome.summaries.items() if summary.stopped]


def _document(session: ModelAudit, outcome: AuditOutcome, report: AuditReport | None) -> AuditDocument:
    return AuditDocument(
        audit=str(session.place),
        model=session.settings.model,
        plan=_plan_document(outcome.plan),
        studies=tuple(
            AskedStudy(name, *(getattr(summary, field.name) for field in fields(AskedStudy)[1:]))
            for name, summary in outcome.summaries.items()
        ),
        answers=() if report is None else tuple(map(_answer, report.answers)),
        profile=() if report is None else report.profile,
        report="" if report is None else str(report.path),
        saved=0 if report is None else report.saved_requests,
        complete=outcome.complete,
        interrupted=outcome.was_interrupted,
    )


def _answer(answer: StudyAnswer) -> AnswerOfStudy:
    return AnswerOfStudy(*(getattr(answer, field.name) for field in fields(AnswerOfStudy)))


def _plan_document(plan: AuditPlan) -> AuditPlanDocument:
    return AuditPlanDocument(
        plan.studies, plan.left_out, plan.budget, plan.requests, plan.cost, plan.hours, plan.points
    )


def plan_lines(plan: AuditPlan) -> Iterator[RenderableType]:
    """A plan for people: a table of studies, what is left out, and what other sizes detect."""
    head = f"Within {plan.budget.text}" if plan.budget else "A pilot of each study"
    table = Table(title=head, title_justify="left", header_style="bold", box=None, pad_edge=False)
    table.add_column("study", overflow="fold")
    table.add_column("units", overflow="fold")
    takes = [name for name in ("cost", "hours") if any(getattr(study, name) is not None for study in plan.studies)]
    for name in ("requests", "tokens", *takes, "detects"):
        table.add_column(name, justify="right")
    for study in plan.studies:
        table.add_row(study.name, study.units or "-", *_takes(study, takes), _detects(study.points))
    table.add_section()
    tokens = sum(study.prompt_tokens for study in plan.studies), sum(s.completion_tokens for s in plan.studies)
    table.add_row("all", "", f"{plan.requests:,}", _tokens(*tokens), *(_amount(getattr(plan, name), name)
                  for name in takes), "", style="bold")  # fmt: skip
    yield table
    yield Text(
        "detects: the smallest effect that any test of the study's answer finds 4 times in 5, in points of what is "
        "possible (100: the largest effect that there can be), at the level of its page.",
        style="dim",
    )
    for study in plan.studies:
        if study.sizes:
            sizes = (f"{size.requests:,}: {_detects(size.points)}" for size in study.sizes)
            yield Text(f"{study.name} with more requests: {'; '.join(sizes)}")
        if study.note:
            yield Text(f"{study.name}: {study.note}")
    for names, reason in by_reason(plan.left_out):
        yield Text.assemble(f"Left out: {reason}", "  ", (names, "dim"))


def _takes(study: PlannedStudy, takes: Sequence[str]) -> list[str]:
    tokens = _tokens(study.prompt_tokens, study.completion_tokens)
    return [f"{study.requests:,}", tokens, *(_amount(getattr(study, name), name) for name in takes)]


def _tokens(prompt: int, completion: int) -> str:
    return f"{short(prompt)} + {short(completion)}"


def _amount(value: float | None, name: str) -> str:
    if value is None:
        return "-"
    return duration(3600 * value) if name == "hours" else f"{value:,.2f}"


def _detects(points: float | None) -> str:
    return "too few to detect any" if points is None else f"{points:.2g} points"


def _answer_lines(outcome: AuditOutcome, report: AuditReport) -> Iterator[RenderableType]:
    for answer in report.answers:
        yield Text.assemble(f"\n{answer.title} ", (f"({answer.name})", "dim"))
        yield Text.assemble((f"{answer.heading}. ", "bold"), answer.sentence)
    if report.profile and len(report.answers) > 1:
        yield Text.assemble(("\nAll studies, at one level. ", "bold"), " ".join(report.profile))
    yield ""
    yield from _stop_lines(outcome)
    for name, summary in outcome.summaries.items():
        if summary.enough:
            yield f"{name}: {summary.enough}"
    if report.saved_requests:
        yield f"Saved by --stop-when: {outcome.plan.text_of({a.name: a.saved - a.dealt for a in report.answers})}."
    if outcome.plan.budget is None:
        yield (
            "This was a pilot. The same command with --budget goes on with it: 200000 (requests), 2h, or 20usd with "
            "prices; --plan --budget shows what each study would be asked, and what it would detect."
        )
    yield f"Report: {report.path}"


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
