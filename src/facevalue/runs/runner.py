"""Runner: asks a model what a run does not hold yet and stores what it says, in a folder or object storage."""

import hashlib
import logging
import secrets
import time
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from facevalue.checked_replies import ReplyCheck
from facevalue.design import Order
from facevalue.errors import RunError
from facevalue.models.base import Finding, Holding, Model, ModelOptions, Noting, checked_facts
from facevalue.printable import first_line
from facevalue.protocol.study import Study
from facevalue.runs.audits.folder import check_no_audit
from facevalue.runs.checks import check_images, check_limits, check_stimuli_table, check_unchanged
from facevalue.runs.makings.generators import MakingJob
from facevalue.runs.open_requests import Completion, RequestStream, missing_reasons
from facevalue.runs.preparation import Prepared
from facevalue.runs.progress import Interrupts, Progress, SilentProgress, silence_told
from facevalue.runs.reply_counts import ENOUGH, LOOKED_AT, unparsed_of
from facevalue.runs.requests import RequestBuilder, TrialNumbers
from facevalue.runs.session import RunSession, SessionCounts, check_same_run
from facevalue.runs.settings import RunSettings, RunSummary, asked_run, facts_of_model, table_of
from facevalue.runs.sight import look, new_sight, sight_of_run
from facevalue.runs.storage.driver import drive
from facevalue.runs.storage.units import Fact, Job
from facevalue.runs.storage.worker import Came, LocalWorkers, UnitWorker
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import LISTS, MANIFEST, PREREGISTRATION, ROOTS, STIMULI, make_folder, write_whole
from facevalue.store.journal import recover
from facevalue.store.lease import RunLock
from facevalue.store.manifest import Counts, RunManifest, read_manifest, versions, write_manifest
from facevalue.store.objects import Objects
from facevalue.store.reader import count_drawn
from facevalue.store.shards import check_stimuli, shard_paths
from facevalue.store.sight import Sight
from facevalue.store.writer import ShardWriter
from facevalue.types import Status

_LOG = logging.getLogger(__name__)
_MOST_KINDS = 1_000  # different errors that are counted


def run(
    study: Study, model: Model, folder: Path, settings: RunSettings | None = None, progress: Progress | None = None
) -> RunSummary:
    """Run a study on a model, or go on with a run; the model is not closed.

    The same call with the same folder resumes: what is stored as anything but an error is never asked again. Ctrl-C and
    SIGTERM end the run in order (handled where this is called in the main thread): no new requests, a few seconds for
    those on their way, all that came is stored, and the summary says `interrupted`.

    Raises
    ------
    RunError
        The folder belongs to a run with other settings, images or prompts; is written by another process; cannot be
        written, or the disk is full. What was stored is kept in each case.
    ModelError
        The model cannot do what the study needs (said before anything is asked), or fails for good; what was stored is
        kept.
    DataError
        An image is missing or unreadable.
    KeyboardInterrupt
        Ctrl-C before the first request.
    """
    settings = settings or RunSettings()
    progress = progress or SilentProgress()
    numbers = (
        TrialNumbers(study.design.size)
        if settings.sample is None
        else TrialNumbers.select(study.sample(settings.sample, settings.seed, 1 if settings.exact else study.repeats))
    )
    with silence_told(progress):
        can = check_limits(study, model, numbers, settings.exact, images=settings.check)
    with RunLock(folder), Interrupts(settings.grace) as signals:
        manifest = begin_run(study, model.name, facts_of_model(study, model, settings.exact), folder, settings)
        asking = RequestBuilder(study, settings.exact, manifest.asked_of)
        if recovered := recover(folder, manifest.id):
            progress.note(f"{recovered:,} replies that a killed process had not yet put in order are stored.")
        completion = Completion(numbers, asking.repeats, asking.rounds)
        warnings = completion.load(folder, manifest, study)
        for warning in warnings:
            progress.note(warning)
        if settings.sample is not None and completion.requests < min(
            settings.sample, study.design.size * asking.repeats
        ):
            progress.note(f"{completion.requests:,} of {settings.sample:,} requests: as many whole units as fit.")
        check_unchanged(study, folder, completion, asking)
        order = Order(study.design, study.asked_together, settings.seed, numbers.chosen)
        if settings.check and can.images_per_request:
            check_images(study, completion)
        stream = RequestStream(study, completion, asking, order, settings.chunk)
        new = Sight()
        if stream.planned:
            ask = partial(look, study, model, exact=settings.exact)
            sight = sight_of_run(manifest.sight, settings, study, can, numbers, ask)
            new, manifest = new_sight(manifest.sight, sight), replace(manifest, sight=sight)
        session = _FolderSession(study, model, folder, settings, progress, manifest, completion, stream)
        session.warnings += warnings
        session.looked = new
        return session.run(model.notes if isinstance(model, Noting) else (), versions(), signals)


def begin_run(study: Study, model: str, facts: Mapping[str, Fact], folder: Path, settings: RunSettings) -> RunManifest:
    """Read what the folder says and compare it with what is asked; or begin a new folder.

    `model`, `facts`: whom it asks, and what changes what that says. For whoever holds the folder's lock.
    """
    manifest = asked_run(study, model, facts, settings)
    if not (folder / MANIFEST).exists():
        if shard_paths(folder):
            raise RunError(f"{folder} holds responses but no {MANIFEST}: it is unknown of what. Name another folder.")
        check_no_audit(folder)
        make_folder(folder)
        table = table_of(study)
        write_whole(folder / STIMULI, table)
        if settings.preregistration:
            write_whole(folder / PREREGISTRATION, settings.preregistration.text.encode())
        return replace(manifest, id=secrets.token_hex(8), stimuli=hashlib.sha256(table).hexdigest())
    stored = _at_new_places(read_manifest(folder), study)
    check_same_run(stored, manifest, folder, "folder")
    check_stimuli(folder, stored)
    check_stimuli_table(study, folder)
    return replace(stored, name=settings.name or stored.name)


def _at_new_places(stored: RunManifest, study: Study) -> RunManifest:
    """A run whose pictures or lists were moved since it began; what these are is compared by table and digests."""
    places = [name for name in (*ROOTS, *LISTS) if stored.options.get(name) and study.options.get(name)]
    return replace(stored, options={**stored.options, **{name: study.options[name] for name in places}})


def _findings(model: Model) -> Mapping[str, Fact]:
    """Facts that the model found out about itself, if it looks."""
    try:
        return checked_facts(model, "The findings", model.findings()) if isinstance(model, Finding) else {}
    except Exception as error:  # what was answered is stored, whatever a stranger's model says of itself
        _LOG.info("%s", first_line(error))
        return {}


class _FolderSession(RunSession):
    """One call of `run`: a model asked in this process, its answers stored as shards of a folder."""

    def __init__(
        self,
        study: Study,
        model: Model,
        folder: Path,
        settings: RunSettings,
        progress: Progress,
        manifest: RunManifest,
        completion: Completion,
        stream: RequestStream,
    ) -> None:
        self._model, self._folder, self._manifest = model, folder, manifest
        self._completion, self._stream = completion, stream
        super().__init__(
            study, settings, progress, model.name, manifest, self._counts(), completion.count_stored(), SessionCounts()
        )

    @property
    def _planned_requests(self) -> int:
        return self._stream.planned

    def _ask(self, signals: Interrupts) -> None:
        _LOG.info(
            "%s on %s in %s: %d of %d requests to make",
            self._before.study,
            self._before.model,
            self._folder.name,
            self._planned_requests,
            self._requests,
        )
        with ShardWriter(
            self._folder,
            self._stream.close_requests,
            rows=self._settings.flush_rows,
            seconds=self._settings.flush_seconds,
            stored=self._enter_shard,
            run=self._before.id,
            listed=self._list,
            journal_seconds=self._settings.journal_seconds,
            guard=signals.shield,
            timed=not self._before.replayed,
            picture_shares=self._stream.picture_shares,
        ) as writer:
            try:
                self._watch()
                check = ReplyCheck(self._model, self._warn)
                for again in range(self._completion.width // self._completion.repeats):
                    if self._stopping:
                        return
                    self._stream.stop, self._stream.only_failed = False, bool(self._enough)
                    self._ask_round(check, again, writer, signals)
            except KeyboardInterrupt:  # what has come is stored
                self._interrupted = True

    def _ask_round(self, check: ReplyCheck, again: int, writer: ShardWriter, signals: Interrupts) -> None:
        with closing(check.respond(self._stream.requests(again))) as responses, signals.draining(self._interrupt):
            for response in responses:
                self._came += 1
                writer.append(response)
                if response.status is Status.ERROR:
                    _LOG.info("Trial %d, repeat %d failed: %s", response.trial, response.repeat, response.error)
                self._limits.take(response)
                if self._came in (ENOUGH, LOOKED_AT):
                    writer.flush()  # so that it is known what they are
                self._watch()
                if self._look_due(self._skipped + self._came):
                    writer.flush()
                    self._look(StoredRun(self._folder, self._manifest, self._study))
                    self._stream.stop |= bool(self._enough)
                self._report()
        writer.flush()  # the next round reads what this one stored
        self._show(time.monotonic())
        if self._stream.failure is not None:
            raise self._stream.failure

    def _halt(self) -> None:
        self._stream.stop = True
        if isinstance(self._model, Holding):
            self._model.halt()

    def _enter_shard(self, frame: pl.DataFrame) -> None:
        """Enter a shard that is safe on the disk into all counts."""
        tally, status = self._tally, frame["status"]
        tally.errors += int((status == "error").sum())
        if len(tally.failures) < _MOST_KINDS:
            tally.failures.update(frame.filter(status == "error")["error"].drop_nulls().to_list())
        tally.refused += int((status == "refused").sum())
        tally.reasked += int((frame["repeat"] >= self._completion.repeats).sum())
        tally.prompt_tokens += int(frame["prompt_tokens"].sum())
        tally.completion_tokens += int(frame["completion_tokens"].sum())
        self._completion.enter(frame)
        reasons = missing_reasons(self._study, frame)
        self._completion.mark(frame.filter(reasons.is_not_null()))
        tally.na += reasons.len() - reasons.null_count()
        quoting = not tally.unparsed.quoted_enough
        tally.unparsed += unparsed_of(self._study, frame, reasons, quoting=quoting)
        tally.stored += frame.height  # last, as the other thread looks at the rest once this has changed

    def _list(self, shards: Collection[Path]) -> None:
        """Write down which shards there are."""
        self._manifest = replace(self._manifest, shards=tuple(path.name for path in shards))
        write_manifest(self._folder, self._manifest)

    def _save(self, run: RunManifest) -> None:
        self._manifest = run
        self._list(shard_paths(self._folder))

    def _counts(self) -> Counts:
        completion, by_status = self._completion, self._completion.counts()
        return Counts(
            requests=completion.requests,
            ok=by_status["ok"],
            refused=by_status["refused"],
            truncated=by_status["truncated"],
            errors=by_status["error"],
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
        )

    def _count_answered(self) -> int:
        return self._completion.count_stored()

    def _findings(self) -> Mapping[str, Fact]:
        return _findings(self._model)

    def _count_unanswered(self) -> int:
        return self._completion.count_unasked()

    def _drawn_warning(self) -> str:
        if not self._before.exact or not (replies := count_drawn(self._folder)):
            return ""
        return (
            f"{replies:,} of {self._requests:,} replies were drawn, as over 1% of their probability could not be read: "
            f"'facevalue export {self._folder} --out replies.csv' shows which (no probabilities, and why)."
        )


def begin(prepared: Prepared, model: Model, progress: Progress) -> RunSummary:
    """Run what was prepared on a model, or go on with it; the model is not closed."""
    study, settings = prepared.study, prepared.settings
    if not isinstance(prepared.folder, str):
        return run(study, model, prepared.folder, settings, progress)
    objects = Objects.at(prepared.folder, make=True)
    return drive(study, settings, objects, partial(_single_worker, prepared, model, objects), progress)


def job_of(prepared: Prepared, model: str, options: ModelOptions, making: MakingJob | None = None) -> Job:
    """Job for workers of a run in object storage; `making`: that of a run that makes pictures."""
    study, settings = prepared.study, prepared.settings
    return Job(
        url=str(prepared.folder),
        study=study.name,
        options=study.options,
        model=model,
        model_options=options,
        exact=settings.exact,
        sample=settings.sample,
        seed=settings.seed,
        check=settings.check,
        watched=settings.max_invalid is None,
        making=making,
    )


def _single_worker(prepared: Prepared, model: Model, objects: Objects, came: Came) -> LocalWorkers:
    """The one worker of this process."""
    return LocalWorkers(UnitWorker(job_of(prepared, model.name, ModelOptions()), prepared.study, model, objects), came)
