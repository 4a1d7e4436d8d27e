"""`facevalue run`, `requests` and `import`: a study asked here or by somebody else, and its log file."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click
from rich.console import Console

from facevalue.api.study import rehearse
from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output
from facevalue.errors import FaceValueError, SettingError
from facevalue.models import Model, load
from facevalue.models.base import ModelOptions
from facevalue.printable import printable, shell_command
from facevalue.protocol.protocol import Protocol
from facevalue.records.batches import FORMS
from facevalue.records.opening import open_records
from facevalue.runs import Progress, RichProgress, RunSummary
from facevalue.runs.outside_runs import by_run, prepare_import, write_requests
from facevalue.runs.preparation import Prepared, prepare
from facevalue.runs.requests import AGAIN, failures
from facevalue.runs.runner import begin
from facevalue.runs.settings import RunSettings, StopRule
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.terminal import terminal
from facevalue.types import OptionValue

if TYPE_CHECKING:
    from facevalue.cluster.workers import ClusterSettings


@contextmanager
def log_to_file(path: Path | None) -> Iterator[None]:
    """Append to a file what the package says of its work; nowhere if it is None."""
    if path is None:
        yield
        return
    try:
        handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be written: {error.strerror}.", param_hint="--log") from None
    handler.setFormatter(_OneLine())
    logger = logging.getLogger("facevalue")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    except FaceValueError as error:
        logger.error("%s", error)
        raise
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()


class _OneLine(logging.Formatter):
    """A line for each message, whatever a server said."""

    def format(self, record: logging.LogRecord) -> str:
        """Time in UTC, level and message."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return f"{time} {record.levelname} {' '.join(printable(record.getMessage()).split())}"


_OF_RUN = ("sample", "seed", "exact", "price_in", "price_out", "max_cost", "max_invalid", "sight", "name")


@dataclass(frozen=True)
class RunDocument(Document):
    """Session of a run: how far it came."""

    FORMAT: ClassVar[str] = "run"
    run: str
    """Folder or URL."""
    study: str
    model: str
    measurable: bool
    """Whether any reply has a valid answer, as far as that is known."""
    requests: int
    """Requests of the whole run, without re-asks."""
    asked: int
    """Responses stored by this session, re-asks included."""
    skipped: int
    """Requests that an earlier session had stored."""
    errors: int
    """Of those asked: failed; the next session asks them again."""
    na: int
    """Of those asked: answered, but without a valid answer."""
    refused: int
    """Of those asked: declined by a signal of the server or model."""
    reasked: int
    """Of those asked: re-asks of trials without a valid answer."""
    seconds: float
    """From the first request to the last shard."""
    prompt_tokens: int | None
    completion_tokens: int | None
    """Of those asked; null where the model doesn't say."""
    cost: float | None
    """What those tokens cost; null if no price was given."""
    complete: bool
    """Whether every request of the run has now been asked; errors may be among them."""
    interrupted: bool
    """Whether Ctrl-C or SIGTERM ended the session; the same command resumes the run."""
    failure: str
    """What most of those that failed failed with; empty if none did."""
    enough: str
    """What was known when the run's own rule (--stop-when) ended it; empty if it did not."""
    stopped: str
    """Which of the run's limits ended the session; empty if none did."""
    cached: float | None
    """Share of the prompt tokens that the server had in its cache; null if it doesn't say."""


def run(
    protocol: Protocol,
    options: dict[str, OptionValue],
    model: str,
    out: Path | str | None,
    preregister: Path | None,
    interventions: tuple[str, ...],
    log: Path | None,
    cluster: str | None,
    cluster_config: Path | None,
    **values: Any,
) -> Output[RunDocument]:
    """Prepare, load, ask, and say how it went."""
    rule = values.pop("stop_when")
    settings = RunSettings(
        **{name: values.pop(name) for name in _OF_RUN}, stop_when=None if rule is None else StopRule.from_text(rule)
    )
    with log_to_file(log):
        target = cluster_of(cluster, cluster_config, out)
        prepared = prepare(protocol.study(options), model, out, settings, interventions, preregister)
        rehearse(protocol, prepared.study, exact=settings.exact, declared=prepared.settings.preregistration)
        if target is not None:
            from facevalue.cluster.fleet import begin_on_cluster  # noqa: PLC0415 - only where it is asked for

            return _ran(prepared, model, partial(begin_on_cluster, prepared, model, ModelOptions(**values), target))
        loaded = load(model, ModelOptions(**values))
        try:
            return execute(prepared, loaded)
        finally:
            loaded.close()


def cluster_of(address: str | None, config: Path | None, out: Path | str | None) -> "ClusterSettings | None":
    """The cluster that a user names; None for this process alone."""
    if address is None:
        if config is not None:
            raise SettingError("--cluster-config is about a cluster: say which one with --cluster.")
        return None
    if not isinstance(out, str):
        raise SettingError(
            "--cluster needs a place that every node can write to: --out s3://BUCKET/PREFIX (or gs://, az://), or "
            "file:///FOLDER on a disk that they share."
        )
    from facevalue.cluster.workers import read_settings  # noqa: PLC0415

    return read_settings(address, config)


def execute(prepared: Prepared, model: Model, again: str = AGAIN) -> Output[RunDocument]:
    """Run in this process, and say in a few lines how it went; `again`: what is to be done about failed requests."""
    return _ran(prepared, model.name, partial(begin, prepared, model), again)


def _ran(
    prepared: Prepared, model: str, begin: Callable[[Progress], RunSummary], again: str = AGAIN
) -> Output[RunDocument]:
    console = terminal(stderr=True)
    if warning := prepared.warning(model):
        _say(console, warning, "yellow")
    if cost := prepared.cost():
        _say(console, cost)
    folder = prepared.folder
    summary = begin(RichProgress(console))
    status = _status(prepared, summary, console, again)
    if status is Exit.DONE or (status is Exit.INCOMPLETE and summary.errors < summary.requests):
        _say(console, f"Report: {shell_command('report', folder)}")
    facts: dict[str, Any] = {
        field.name: getattr(summary, field.name) for field in fields(RunSummary) if field.name != "warnings"
    }
    counted: dict[str, Any] = {name: facts.pop(name) or None for name in ("prompt_tokens", "completion_tokens")}
    document = RunDocument(str(folder), prepared.study.name, model, status is not Exit.REFUSED, **facts, **counted)
    return Output(document, status=status)


def _status(prepared: Prepared, summary: RunSummary, console: Console, again: str) -> Exit:
    """Say what is left to do, if anything; the exit status."""
    if summary.interrupted:
        console.print("The same command resumes.")
        return Exit.INTERRUPTED
    if summary.stopped and not summary.complete:
        _say(console, "To continue, repeat the command with a higher limit.", "yellow")
    if summary.errors:
        _say(console, failures(summary.errors, summary.asked, summary.failure, again), "yellow")
        if summary.errors == summary.requests:
            return Exit.INCOMPLETE
    if summary.requests and not _valid(prepared.folder, summary):
        _say(console, "No reply had a valid answer: nothing is measurable. Look at the replies:", "yellow")
        _say(console, f"  facevalue export {prepared.folder} --out replies.csv", "yellow")
        return Exit.REFUSED
    return Exit.DONE if summary.complete and not summary.errors else Exit.INCOMPLETE


def _valid(folder: Path | str, summary: RunSummary) -> bool:
    """Return whether any reply of the run, of this session or an earlier one, has a valid answer."""
    if summary.asked - summary.errors - summary.na > 0:
        return True
    if not summary.skipped:
        return False
    return any(chunk["na"].is_null().any() for chunk in answers(StoredRun.open(folder)))


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class RequestsDocument(Document):
    """Requests that were written for somebody else to ask."""

    FORMAT: ClassVar[str] = "requests"
    run: str
    """Folder of the run that waits for the answers."""
    study: str
    model: str
    requests: int
    """Requests written."""
    answered: int
    """Requests that have an answer already."""
    files: tuple[str, ...]
    """In which they are."""


def requests(
    protocol: Protocol,
    options: dict[str, OptionValue],
    model: str,
    out: Path,
    form: str,
    sample: int | None,
    seed: int,
    exact: bool,
    interventions: tuple[str, ...],
    name: str | None,
    max_tokens: int | None = None,  # a study may have a setting of this name
) -> Output[RequestsDocument]:
    """Begin the folder and write the files."""
    settings = RunSettings(sample=sample, seed=seed, exact=exact, name=name)
    prepared = prepare(protocol.study(options), model, out, settings, interventions)
    written = write_requests(prepared.study, model, form, out, prepared.settings, max_tokens)
    if written.files:
        place = f"{len(written.files):,} files" if len(written.files) > 1 else "one file"
        text = [f"{written.requests:,} requests in the form of {FORMS[form].tool}, in {place}:"]
        text += [f"  {path}" for path in written.files]
        text += [f"Answers: {shell_command('import', 'ANSWERS', '--out', out)}"]
    else:
        text = [f"Nothing is left to ask: {written.answered:,} requests have an answer."]
    document = RequestsDocument(
        str(out), prepared.study.name, model, written.requests, written.answered, tuple(map(str, written.files))
    )
    return Output(document, text, Exit.DONE)


_AGAIN = "The same command with a fuller record fills them in."


@dataclass(frozen=True)
class ImportDocument(Document):
    """Runs that were made of records, or filled by them."""

    FORMAT: ClassVar[str] = "import"
    runs: tuple[RunDocument, ...]
    """Each as of `run`."""


def import_records(
    records: tuple[Path, ...],
    out: Path,
    name: str | None,
    outside: bool,
    refusal_words: tuple[str, ...] = (),
    allow_mismatch: bool = False,
) -> Output[ImportDocument]:
    """Make a run folder of each model's records; of several models, folders below OUT."""
    opened_records, warnings = open_records(records)
    documents, status = [], Exit.DONE
    for folder, group in by_run(opened_records, out, name).items():
        prepared, model = prepare_import(group, folder, name, refusal_words, outside=outside, mismatched=allow_mismatch)
        output = execute(prepared, model, _AGAIN)
        assert isinstance(output.document, RunDocument)
        documents.append(output.document)
        status = max(status, output.status)
        warnings += model.warnings(resumed=output.document.skipped > 0)
    return Output(ImportDocument(tuple(documents)), status=status, warnings=warnings)
