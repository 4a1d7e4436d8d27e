"""Runner: asks a model what a folder does not hold yet, and stores what it says."""

import hashlib
import logging
import secrets
import time
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from facevalue.design import Order
from facevalue.errors import FaceValueError, RunError
from facevalue.gate import Gate
from facevalue.models.base import Finding, Model, Noting, checked_facts
from facevalue.models.cached import cached_share
from facevalue.printable import first_line
from facevalue.protocol.study import Study
from facevalue.runs.asked import asked_run, facts_of_model, other_server, table_of, utc_now
from facevalue.runs.checks import check_images, check_limits, check_stimuli_table, check_unchanged
from facevalue.runs.completion import Completion
from facevalue.runs.interrupts import Interrupts
from facevalue.runs.limits import LOOKED_AT, RunLimits
from facevalue.runs.progress import Meter, Progress, SilentProgress, Snapshot
from facevalue.runs.requests import RequestBuilder
from facevalue.runs.retries import without_answer
from facevalue.runs.rich_progress import concluded
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.stream import RequestStream
from facevalue.runs.tally import SessionCounts
from facevalue.runs.trials import TrialNumbers
from facevalue.store.files import MANIFEST, PREREGISTRATION, STIMULI, make_folder, write_whole
from facevalue.store.integrity import check_stimuli
from facevalue.store.journal import recover
from facevalue.store.lock import RunLock
from facevalue.store.manifest import Counts, RunManifest, Session, differences, read_manifest, versions, write_manifest
from facevalue.store.reader import count_drawn
from facevalue.store.shards import shard_paths
from facevalue.store.writer import ShardWriter
from facevalue.types import Status

_LOG = logging.getLogger(__name__)
_UPDATE = 0.2  # seconds between reports
_MOST_KINDS = 1_000  # different errors that are counted


def run(
    study: Study,
    model: Model,
    folder: Path,
    settings: RunSettings | None = None,
    progress: Progress | None = None,
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
        else TrialNumbers.of(study.sample(settings.sample, settings.seed, 1 if settings.exact else study.repeats))
    )
    can = check_limits(study, model, numbers, settings.exact, images=settings.check)
    with RunLock(folder), Interrupts(settings.grace) as signals:
        manifest = _manifest(study, model, folder, settings)
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
        session = _Session(
            study,
            folder,
            settings,
            progress,
            completion,
            RequestStream(study, completion, asking, order, settings.chunk),
        )
        session.warnings += warnings
        return session.run(model, manifest, signals)


def _manifest(study: Study, model: Model, folder: Path, settings: RunSettings) -> RunManifest:
    """Read what the folder says and compare it with what is asked; or begin a new folder."""
    manifest = asked_run(study, model.name, facts_of_model(study, model, settings.exact), settings)
    if not (folder / MANIFEST).exists():
        if shard_paths(folder):
            raise RunError(f"{folder} holds responses but no {MANIFEST}: it is unknown of what. Name another folder.")
        make_folder(folder)
        table = table_of(study)
        write_whole(folder / STIMULI, table)
        if settings.preregistration:
            write_whole(folder / PREREGISTRATION, settings.preregistration.text.encode())
        return replace(manifest, id=secrets.token_hex(8), stimuli=hashlib.sha256(table).hexdigest())
    stored = read_manifest(folder)
    if changed := differences(stored, manifest):
        raise RunError(
            f"{folder} was begun with other settings: {'; '.join(changed)}. Restore them, or name another folder."
        )
    check_stimuli(folder, stored)
    check_stimuli_table(study, folder)
    return replace(stored, name=settings.name or stored.name)


def _names(shards: Collection[Path]) -> tuple[str, ...]:
    return tuple(path.name for path in shards)


def _found(session: Session, model: Model) -> Session:
    """Enter what the model found out about itself, if it looks."""
    if not isinstance(model, Finding):
        return session
    try:
        return replace(session, findings=checked_facts(model, "The findings", model.findings()))
    except Exception as error:  # what was answered is stored, whatever a stranger's model says of itself
        _LOG.info("%s", first_line(error))
        return session


@dataclass(slots=True)
class _Tally(SessionCounts):
    """Counts of one session; written by whichever thread stores."""

    example: str = ""
    """A reply without a valid answer."""


class _Session:
    """One call of `run`, from the first request to the last shard."""

    def __init__(
        self,
        study: Study,
        folder: Path,
        settings: RunSettings,
        progress: Progress,
        completion: Completion,
        stream: RequestStream,
    ) -> None:
        self.warnings: list[str] = []
        self._study = study
        self._folder = folder
        self._manifest: RunManifest | None = None
        self._settings = settings
        self._progress = progress
        self._completion = completion
        self._stream = stream
        self._tally = _Tally()
        self._skipped = completion.stored()
        self._meter = Meter()
        self._reported = 0.0
        self._came = 0
        self._began = time.monotonic()
        self._limits = RunLimits(
            settings,
            completion.prompt_tokens,
            completion.completion_tokens,
            study.reading.unread,
            new=not self._skipped,
        )
        self._stopped = ""

    def run(self, model: Model, before: RunManifest, signals: Interrupts) -> RunSummary:
        """Ask everything that is open; the run folder is in order whatever ends this."""
        begun = Session(utc_now(), None, 0, versions())
        end = before.end if not self._stream.planned else None
        self._manifest = replace(before, end=end, counts=self._counts(), sessions=(*before.sessions, begun))
        self._list(shard_paths(self._folder))
        self._progress.start(self._skipped, self._skipped + self._stream.planned)
        for note in model.notes if isinstance(model, Noting) else ():
            self._note(note)
        _LOG.info(
            "%s on %s in %s: %d of %d requests to make",
            before.study,
            before.model,
            self._folder.name,
            self._stream.planned,
            self._completion.requests,
        )
        interrupted = False
        try:
            with ShardWriter(
                self._folder,
                self._stream.asked,
                rows=self._settings.flush_rows,
                seconds=self._settings.flush_seconds,
                stored=self._stored,
                run=before.id,
                listed=self._list,
                journal_seconds=self._settings.journal_seconds,
                guard=signals.shielded,
                timed=not before.replayed,
            ) as writer:
                try:
                    self._ask(model, writer, signals)
                except KeyboardInterrupt:
                    interrupted = True
            interrupted = interrupted or (self._stream.stop and not self._stopped)
        except KeyboardInterrupt:  # while the last shard was written; it is
            interrupted = True
        except BaseException as error:
            signals.over()
            self._close(before, _found(begun, model), complete=False, error=error)
            self._report(time.monotonic())
            self._progress.finish(None)
            raise
        signals.over()
        silent = self._completion.unasked()
        if silent and not interrupted and not self._stopped:
            message = f"{model.name} gave no response to {silent:,} requests; the same command asks them again."
            self._warn(message)
        if before.exact and (sampled := count_drawn(self._folder)):
            message = (
                f"{sampled:,} of {self._completion.requests:,} replies were drawn, as over 1% of their probability "
                f"could not be read: 'facevalue export {self._folder} --to replies.csv' "
                "shows which (no probabilities, and why)."
            )
            self._warn(message)
        complete = not (silent or interrupted or self._stopped)
        begun = _found(begun, model)
        if changed := other_server((*before.sessions, begun)):
            self._warn(changed)
        self._close(before, begun, complete)
        summary = self._summary(complete, interrupted, cached_share([begun.findings]))
        _LOG.info("%s", concluded(summary))
        self._progress.finish(summary)
        return summary

    def _ask(self, model: Model, writer: ShardWriter, signals: Interrupts) -> None:
        self._watch()
        gate = Gate(model, self._warn)
        for again in range(self._completion.width // self._completion.repeats):
            with closing(gate.respond(self._stream.requests(again))) as responses, signals.draining(self._interrupt):
                for response in responses:
                    self._came += 1
                    writer.append(response)
                    if response.status is Status.ERROR:
                        _LOG.info("Trial %d, repeat %d failed: %s", response.trial, response.repeat, response.error)
                    self._limits.take(response)
                    if self._came == LOOKED_AT:
                        writer.flush()  # so that it is known what they are
                    self._watch()
                    if (now := time.monotonic()) - self._reported > _UPDATE:
                        self._report(now)
            writer.flush()  # the next round reads what this one stored
            self._report(time.monotonic())
            if self._stream.failure is not None:
                raise self._stream.failure
            if self._stream.stop:
                return

    def _watch(self) -> None:
        replies, invalid = self._tally.stored - self._tally.errors, self._tally.na
        if (reason := self._limits.reached(replies, invalid, self._tally.example)) and not self._stopped:
            self._stopped, self._stream.stop = reason, True
            self._note(f"{reason} Stopping; what is on its way is stored.")
        elif doubt := self._limits.doubt(replies, invalid):
            self._note(doubt)

    def _warn(self, message: str) -> None:
        self.warnings.append(message)
        self._note(message)

    def _note(self, message: str) -> None:
        _LOG.info("%s", message)
        self._progress.note(message)

    def _interrupt(self) -> None:
        self._stream.stop = True
        self._note(
            f"Stopping: waiting up to {self._settings.grace:g} s for requests on their way. "
            "Interrupt again to stop at once."
        )

    def _stored(self, frame: pl.DataFrame) -> None:
        """Enter a shard that is safe on the disk into all counts."""
        tally, status = self._tally, frame["status"]
        tally.stored += frame.height
        tally.errors += int((status == "error").sum())
        if len(tally.failures) < _MOST_KINDS:
            tally.failures.update(frame.filter(status == "error")["error"].drop_nulls().to_list())
        tally.refused += int((status == "refused").sum())
        tally.reasked += int((frame["repeat"] >= self._completion.repeats).sum())
        tally.prompt_tokens += int(frame["prompt_tokens"].sum())
        tally.completion_tokens += int(frame["completion_tokens"].sum())
        self._completion.enter(frame)
        invalid = without_answer(self._study, frame)
        self._completion.mark(frame.filter(invalid))
        tally.na += int(invalid.sum())
        tally.example = tally.example or next(iter(frame.filter(invalid)["text"].drop_nulls().head(1)), "")

    def _list(self, shards: Collection[Path]) -> None:
        """Write down which shards there are."""
        assert self._manifest is not None
        self._manifest = replace(self._manifest, shards=_names(shards))
        write_manifest(self._folder, self._manifest)

    def _report(self, now: float) -> None:
        self._reported = now
        tally, rate = self._tally, self._meter.rate(self._came, now)
        self._progress.update(
            Snapshot(
                done=self._skipped + self._came,
                total=self._skipped + self._stream.planned,
                rate=rate,
                eta=max(self._stream.planned - self._came, 0) / rate if rate > 0 else None,
                prompt_tokens=tally.prompt_tokens,
                completion_tokens=tally.completion_tokens,
                cost=self._settings.cost(tally.prompt_tokens, tally.completion_tokens),
                stored=tally.stored,
                na=tally.na,
                errors=tally.errors,
            )
        )

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

    def _close(self, before: RunManifest, begun: Session, complete: bool, error: BaseException | None = None) -> None:
        if not self._tally.stored and before.end is not None and complete:
            # Nothing was left to ask: as if the command had not been given.
            write_manifest(self._folder, replace(before, shards=_names(shard_paths(self._folder))))
            return
        ended = replace(begun, end=utc_now(), asked=self._tally.stored)
        after = replace(
            before,
            end=utc_now() if complete else None,
            counts=self._counts(),
            sessions=(*before.sessions, ended),
            shards=_names(shard_paths(self._folder)),
        )
        try:
            write_manifest(self._folder, after)
        except FaceValueError:
            if error is None:
                raise  # otherwise it is the same full disk once more

    def _summary(self, complete: bool, interrupted: bool, cached: float | None) -> RunSummary:
        tally = self._tally
        return RunSummary(
            requests=self._completion.requests,
            asked=tally.stored,
            skipped=self._skipped,
            errors=tally.errors,
            na=tally.na,
            refused=tally.refused,
            reasked=tally.reasked,
            seconds=time.monotonic() - self._began,
            prompt_tokens=tally.prompt_tokens,
            completion_tokens=tally.completion_tokens,
            cost=self._settings.cost(tally.prompt_tokens, tally.completion_tokens),
            complete=complete,
            interrupted=interrupted,
            stopped=self._stopped,
            failure=tally.failures.most_common(1)[0][0] if tally.failures else "",
            warnings=tuple(self.warnings),
            cached=cached,
        )
