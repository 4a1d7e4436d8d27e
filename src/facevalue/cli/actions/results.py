"""`facevalue measure`, `report`, `export` and `pack`: results of runs, and all that they rest on."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import click
import polars as pl
from rich.console import RenderableType
from rich.text import Text

from facevalue.cli.actions.schema import Columns
from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output, WrittenFiles
from facevalue.cli.params import place
from facevalue.errors import FaceValueError, SettingError, UnknownNameError
from facevalue.measures.caveats import VerdictCounts
from facevalue.measures.cells import PUBLISHED_RATES
from facevalue.measures.definitions import Measure, split_key
from facevalue.places import is_url
from facevalue.runs.audits.folder import WaitingRun, describe_unasked, runs_of, waiting_runs, whole_runs_of
from facevalue.runs.joined_runs import names_for_people, rename_models
from facevalue.runs.reply_counts import counts_by_model
from facevalue.runs.requests import failures_of
from facevalue.runs.storage.in_place import opened_in_place
from facevalue.runs.storage.mirror import REPORT, publish_file
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.store.files import check_ending


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """Replies of a run."""

    run: str
    """Folder or URL."""
    model: str
    """As in the estimates: its own name, or that given by LABEL= or --name."""
    asked: int
    """Requests with a stored outcome, re-asks not counted."""
    failed: int
    """Of these, how many failed; they are asked again when the run is resumed."""
    valid: int
    """Replies with a valid answer."""
    missing: Mapping[str, int]
    """Replies without a valid answer, by reason."""


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """An estimate: columns as in estimates.parquet, labels apart. Null is "not measurable", and `detail` says why."""

    labels: Mapping[str, str]
    """What it is of: levels by label, such as {"variation": "sunglasses"}."""


@dataclass(frozen=True, slots=True)
class MeasuredAnswer:
    """The first screen of the runs' report, in words."""

    verdict: str
    """Kind of answer, such as "difference found" or "too little asked to tell"."""
    caveat: str
    """What else could explain all that was found ("unless the missing answers say otherwise"); empty for nothing."""
    sentence: str
    """What was found, the strongest of it named and the rest counted, and what would have gone unnoticed."""
    more: tuple[str, ...]
    """What must be known beside it."""
    compared: tuple[VerdictCounts, ...]
    """Verdicts by kind of comparison and model."""
    next_steps: tuple[str, ...]
    """What to do next: whether there is enough to decide by, and reasons to doubt."""


@dataclass(frozen=True)
class MeasureDocument(Document):
    """Every measure of runs, with n, interval and method."""

    FORMAT: ClassVar[str] = "measure"
    study: str
    runs: tuple[MeasuredRun, ...]
    answer: MeasuredAnswer
    """What to decide by; docs/reference/report.md explains it."""
    estimates: Annotated[
        Sequence[Mapping[str, object]], Columns("facevalue.measures.estimates:FIXED_COLUMNS", EstimateRow)
    ]
    """docs/explanation/inference.md explains each column."""


@dataclass(frozen=True)
class ExplainedMeasure(Document):
    """Definition of a measure (`measure --explain`)."""

    FORMAT: ClassVar[str] = "explained-measure"
    name: str
    title: str
    equation: str
    unit: str
    cluster: str
    """What was sampled."""
    paired: bool
    signed: bool
    """Whether it has a direction; an unsigned one is shown beside its noise floor where it has one."""
    source: str
    beside: str
    """A measure of another name with a meaning that all studies share; empty if there is none."""
    unbounded: str
    """Why it has no bounds for missing answers; empty if it has."""


@dataclass(frozen=True)
class ReportDocument(Document):
    """A report that was written, with the whole page."""

    FORMAT: ClassVar[str] = "report"
    report: str
    """The HTML file."""
    url: str
    """Where it was put in object storage; empty for runs in folders."""
    page: Mapping[str, Any]
    """Everything that the page shows of estimates, as docs/reference/report.md describes it."""


def measure(
    runs: tuple[str, ...], out: Path | None, explain: str | None, margin: tuple[str, ...]
) -> Output[MeasureDocument | ExplainedMeasure]:
    """Estimate from the answers in runs, or explain a measure of theirs."""
    opened = [open_named(run) for run in runs]
    if explain is not None:
        definition = explain_measure(opened[0].measures, explain, opened[0].study.watched.followed)
        return Output(definition, _explanation(definition))
    if out is not None:
        check_ending(out, ".csv", ".parquet")
    from facevalue.runs.kept_estimates import take_estimates, write_estimates  # noqa: PLC0415
    from facevalue.runs.reviews.pictures import with_ratings  # noqa: PLC0415

    estimates, tallies = take_estimates(opened, _margins(margin), again=True)
    if out is not None:
        write_estimates(with_ratings(estimates, opened)[0], out)

    def text() -> Iterator[RenderableType]:
        from facevalue.report import summary  # noqa: PLC0415 - templates are not needed for machines
        from facevalue.report.sections.headline import page_of  # noqa: PLC0415

        exact = any(run.facts.exact for run in opened)
        page = page_of(opened[0].study)
        names = names_for_people(opened)
        named_estimates, replies = rename_models(estimates, names), counts_by_model(opened, tallies, names)
        yield summary(named_estimates, opened[0].measures, page=page, exact=exact, replies=replies)

    def document() -> MeasureDocument:
        measured = tuple(_to_measured_run(run, tallies[str(run.folder)]) for run in opened)
        rows = list(_rows(with_ratings(estimates, opened)[0]))
        return MeasureDocument(opened[0].study.name, measured, _answer(opened, estimates, tallies), rows)

    warnings = [
        f"! {run.place}: {failures_of(run.folder, tally.failed_requests, tally.asked)}"
        for run in opened
        if (tally := tallies[str(run.folder)]).failed_requests
    ]
    return Output(document, text(), _status(tallies), warnings)


def _answer(runs: Sequence[StoredRun], estimates: pl.DataFrame, tallies: Mapping[str, ReplyTally]) -> MeasuredAnswer:
    """The answer as the report has it."""
    from facevalue.report.collect import collect_report  # noqa: PLC0415
    from facevalue.report.page_builder import build_page  # noqa: PLC0415 - templates are not needed for people
    from facevalue.report.sections.findings import compared_kinds  # noqa: PLC0415

    page = build_page(collect_report(runs, estimates, tallies).data)
    return MeasuredAnswer(
        verdict=page.answer.verdict.value,
        caveat=page.answer.caveat,
        sentence=page.answer.sentence,
        more=page.answer.more,
        compared=tuple(compared_kinds(page.comparisons)),
        next_steps=tuple(f"{step.text} {step.title}" if step.text.endswith(":") else step.text for step in page.steps),
    )


def _rows(estimates: pl.DataFrame) -> Iterator[Mapping[str, object]]:
    from facevalue.measures.estimates import FIXED_COLUMNS, label_columns  # noqa: PLC0415

    labels = label_columns(estimates)
    for row in estimates.iter_rows(named=True):
        levels = {name: row[name] for name in labels if row[name] is not None}
        yield {"labels": levels, **{name: row[name] for name in FIXED_COLUMNS}}


def _to_measured_run(run: StoredRun, tally: ReplyTally) -> MeasuredRun:
    return MeasuredRun(run.place, run.model, tally.asked, tally.failed_requests, tally.valid, tally.na)


def open_named(text: str, pictures: Path | None = None, *, in_place: bool = False) -> StoredRun:
    """Open RUN, or LABEL=RUN by that name; `in_place`: one in object storage where it lies."""
    label, run = _split_label(text)
    at = place(run)
    opened = (
        opened_in_place(at, pictures) if in_place and isinstance(at, str) else StoredRun.open(at, pictures=pictures)
    )
    return opened.rename(label) if label else opened


def open_all(
    texts: Sequence[str],
    pictures: Path | None = None,
    below: Callable[[Path | str], list[str]] = runs_of,
    *,
    in_place: bool = False,
) -> list[StoredRun]:
    """Open each RUN, or LABEL=RUN by that name; an AUDIT stands for all its runs, which `below` names.

    `in_place`: those in object storage where they lie.
    """
    return [
        open_named(f"{label}={run}" if label else run, pictures, in_place=in_place)
        for label, run_or_audit in map(_split_label, texts)
        for run in below(place(run_or_audit))
    ]


def unasked_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Studies that each AUDIT among the places named has not begun, a sentence each."""
    return describe_unasked(place(text) for _, text in map(_split_label, texts))


def waiting_runs_of(texts: Sequence[str]) -> list[WaitingRun]:
    """Runs of each AUDIT among what was named of which nothing was asked yet."""
    return waiting_runs(place(text) for _, text in map(_split_label, texts))


def _split_label(text: str) -> tuple[str, str]:
    """A label, empty for none, and what it is of."""
    label, separator, run = text.partition("=")
    return (label, run) if separator and not is_url(text) and not Path(text).exists() else ("", text)


def _status(tallies: Mapping[str, ReplyTally]) -> Exit:
    """Exit status: done if any model gave a valid answer, refused if none did."""
    return Exit.DONE if any(tally.valid for tally in tallies.values()) else Exit.REFUSED


_ALIKE = "missing_share, which has one meaning in every study; this one is the protocol's own"


def explain_measure(measures: Sequence[Measure], name: str, followed: Collection[str] = ()) -> ExplainedMeasure:
    """Definition of a measure, of those that a study takes; `followed`: scores that share the one of their measure."""
    definitions = {m.key: m for m in measures}
    shared, score = split_key(name)
    definition = definitions.get(name) or (definitions.get(shared) if score in followed else None)
    if definition is None:
        raise UnknownNameError("measure", name, definitions)
    return ExplainedMeasure(
        name=definition.key, title=definition.title, equation=definition.equation, unit=definition.unit,
        cluster=definition.cluster, paired=definition.paired, signed=definition.signed, source=definition.source,
        beside=_ALIKE if name in PUBLISHED_RATES else "", unbounded=definition.unbounded,
    )  # fmt: skip


def definition_lines(measure: ExplainedMeasure) -> Iterator[tuple[str, str]]:
    """Lines of a measure's definition: label and text, as `--explain` prints them."""
    lines = (
        ("equation", measure.equation),
        ("unit", measure.unit),
        ("cluster", measure.cluster),
        ("paired", "yes" if measure.paired else "no"),
        ("signed", "yes" if measure.signed else "no: beside its noise floor where it has one"),
        ("source", measure.source),
        ("beside", measure.beside),
        ("bounds", measure.unbounded and f"none for missing answers: {measure.unbounded}"),
    )
    return ((label, text) for label, text in lines if text)


def _explanation(measure: ExplainedMeasure) -> Iterator[RenderableType]:
    yield Text.assemble((measure.name, "bold"), f": {measure.title}")
    for label, text in definition_lines(measure):
        yield Text(f"  {label:9} {text}")


def report(
    runs: tuple[str, ...],
    out: Path | None,
    margin: tuple[str, ...],
    pictures: Path | None,
) -> Output[ReportDocument]:
    """Write the report of runs."""
    if len(runs) > 1 and out is None:
        raise click.UsageError("Several runs have no common folder: use --out FILE.")
    opened = [open_named(run, pictures) for run in runs]
    path = out or opened[0].folder / REPORT
    from facevalue.report.collect import report as write  # noqa: PLC0415 - templates take their time

    written = write(opened, path, _margins(margin))
    lines, url = [*written.lines, f"Report: {path}"], ""
    if out is None and opened[0].url:
        publish_file(opened[0].url, opened[0].folder / REPORT)
        url = f"{opened[0].url}/{REPORT}"
        lines.append(f"Also: {url}")
    return Output(lambda: ReportDocument(str(path), url, written.page()), lines, _status(written.tallies))


def export(run: Path | str, out: Path) -> Output[WrittenFiles]:
    """Write one wide table of a run."""
    from facevalue.runs.export import export as write_table  # noqa: PLC0415

    rows = write_table(StoredRun.open(run), out)
    return Output(WrittenFiles((str(out),), rows), [f"{rows:,} responses: {out}"])


def _margins(texts: tuple[str, ...]) -> dict[str, float]:
    out = {}
    for text in texts:
        name, _, size = text.partition("=")
        try:
            out[name.strip()] = float(size)
        except ValueError:
            raise click.BadParameter(f"{text!r}: write MEASURE=SIZE, such as gap=0.02", param_hint="--margin") from None
    return out


@dataclass(frozen=True)
class PackDocument(Document):
    """A pack that was written."""

    FORMAT: ClassVar[str] = "pack"
    pack: str
    """Folder or ZIP file."""
    files: int
    bytes: int
    """Of all files together, before they were packed."""
    runs: tuple[str, ...]
    """Names of its runs."""


@dataclass(frozen=True)
class PackCheckDocument(Document):
    """Check of a pack (`pack --verify`)."""

    FORMAT: ClassVar[str] = "pack-check"
    pack: str
    files: int
    """How many its list names."""
    faults: tuple[str, ...]
    """Files that are missing, changed, or not in the list; empty if all is as it was written."""


def pack(
    runs: Sequence[Path | str],
    to: Path | None,
    verify: Path | None,
    organization: str,
    limits: Path | None,
    baseline: Sequence[str],
) -> Output[PackDocument | PackCheckDocument]:
    """Write a pack, or check one."""
    if verify is not None:
        if runs or to is not None or limits is not None or baseline:
            raise SettingError("--verify checks a pack that is there: leave out all else.")
        from facevalue.packing.sealing import faults  # noqa: PLC0415 - what packs imports reports

        files, wrong = faults(verify)
        text = wrong or [f"{verify}: all {files:,} files are as they were written."]
        status = Exit.REFUSED if wrong else Exit.DONE
        return Output(PackCheckDocument(str(verify), files, tuple(wrong)), text, status)
    if not runs:
        raise SettingError("Name the runs or the audit to pack: facevalue pack RUN --to pack.zip")
    if to is None:
        raise SettingError("Say where the pack goes: --to FOLDER, or --to FILE.zip.")
    from facevalue.packing.contents import pack as write_pack  # noqa: PLC0415

    try:
        packed = write_pack(runs, to, organization, limits, open_all(baseline, below=whole_runs_of))
    except UnknownNameError as error:  # of a run or file, not of the command line
        raise FaceValueError(str(error)) from error
    line = f"{packed.place}: {packed.files:,} files, {packed.size / 1e6:,.1f} MB. Begin with README.md."
    return Output(PackDocument(str(packed.place), packed.files, packed.size, packed.runs), [line])
