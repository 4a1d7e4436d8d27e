"""Driver of runs in object storage: cuts what is open into units, hands them to workers, counts receipts."""

import contextlib
import json
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from facevalue.errors import ModelError, RunError
from facevalue.models.cached import cached_share
from facevalue.protocol.study import Study
from facevalue.runs.asked import asked_run, other_server, utc_now
from facevalue.runs.checks import check_pictures
from facevalue.runs.interrupts import Interrupts
from facevalue.runs.limits import RunLimits
from facevalue.runs.progress import Meter, Progress, Snapshot
from facevalue.runs.remote_pictures import put_pictures
from facevalue.runs.remote_start import put_declared, put_table
from facevalue.runs.rich_progress import concluded
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.stored_units import StoredUnits
from facevalue.runs.tally import Tally
from facevalue.runs.unit_worker import Came
from facevalue.runs.units import (
    Lost,
    Receipt,
    Unit,
    UnitPlan,
    Workers,
    answers_per_unit,
    run_numbers,
)
from facevalue.store.files import MANIFEST
from facevalue.store.lease import Lease
from facevalue.store.manifest import RunManifest, Session, differences
from facevalue.store.objects import Objects, Tag
from facevalue.store.remote import RUN, STATUS, read_run, run_data
from facevalue.types import Response

_LOG = logging.getLogger(__name__)
_LOST = "Another process drives {} by now."
_UPDATE = 0.2  # seconds between reports
_WRITTEN = 5.0  # seconds between two `status.json`
_SAVED = 60.0  # seconds between two `run.json`
_MOST_WARNINGS = 20  # of replies and stored rows that cannot count, and units that are gone

MakeWorkers = Callable[[Came], Workers]
"""Given what workers of this process call at each response, from the thread that waits for them."""


def drive(
    study: Study, settings: RunSettings, objects: Objects, make_workers: MakeWorkers, progress: Progress
) -> RunSummary:
    """Run a study in object storage, or go on with it. Workers are made once the table of pictures is stored.

    Raises what `run` raises; what was stored is kept. Only the holder of the run's lease drives it.
    """
    driver: _Driver | None = None

    def came(response: Response) -> None:
        if driver is not None:
            driver.came(response)

    with Lease(objects, progress.note) as lease, Interrupts(settings.grace) as signals:
        digest = put_table(study, objects)
        workers = make_workers(came)
        now = True
        try:
            driver = _Driver(study, settings, objects, workers, progress, lease, digest)
            summary = driver.run(signals)
            now = summary.interrupted
        finally:
            workers.close(now=now)
        return summary


class _Driver:
    """One session of a run."""

    def __init__(
        self,
        study: Study,
        settings: RunSettings,
        objects: Objects,
        workers: Workers,
        progress: Progress,
        lease: Lease,
        stimuli: str,
    ) -> None:
        self._study, self._settings, self._objects = study, settings, objects
        self._workers, self._progress, self._lease = workers, progress, lease
        self._model = workers.facts()
        if settings.check and self._model.capabilities.images_per_request:
            check_pictures(study)
        self._run, self._tag = self._manifest(stimuli)
        put_pictures(study, objects)
        assert self._run.unit is not None
        self._plan = UnitPlan(study, settings, self._run.id, self._run.asked_of, self._run.unit)
        self._stored = StoredUnits(study, objects, self._run, self._plan)
        self._warnings: list[str] = []
        for note in self._stored.load():
            self._warn(note)
        self._tally = Tally()
        self._meter = Meter()
        self._came = 0
        self._reported = self._written = 0.0
        self._saved = time.monotonic()
        self._way: dict[str, Unit] = {}
        self._given_up = 0
        self._lost: set[str] = set()
        self._stop = self._interrupted = False
        self._stopped = ""
        counts = self._stored.counts()
        self._skipped = self._stored.answered()
        self._total = self._plan.requests
        self._limits = RunLimits(
            settings, counts.prompt_tokens, counts.completion_tokens, study.reading.unread, new=not self._skipped
        )

    def run(self, signals: Interrupts) -> RunSummary:
        """Ask everything that is open; the run is in order whatever ends this."""
        began, before = time.monotonic(), self._run
        begun = Session(utc_now(), None, 0, dict(self._model.versions))
        self._progress.start(self._skipped, self._total)
        for note in self._model.notes:
            self._note(note)
        self._save(replace(before, sessions=(*before.sessions, begun)))
        try:
            with signals.draining(self._interrupt):
                for again in range(self._plan.asking.rounds + 1):
                    self._round(again)
        except KeyboardInterrupt:
            self._interrupted = True
        except BaseException:
            signals.over()
            with contextlib.suppress(RunError):  # what ended the run says more, and is on its way already
                self._close(before, begun, complete=False)
            self._progress.finish(None)
            raise
        signals.over()
        if self._lease.lost:
            self._progress.finish(None)
            raise RunError(f"{_LOST.format(self._objects.url)} Everything stored before is kept.")
        silent = 0 if self._stop else self._plan.requests - self._stored.answered() - self._stored.counts().errors
        warnings = self._warnings
        noted = len(warnings)
        if self._given_up:
            warnings.append(f"Given up, as every worker died or failed that had them: {self._given_up:,} units.")
        elif silent > 0 and not self._interrupted:
            warnings.append(
                f"{self._model.name} gave no response to {silent:,} requests; the same command asks them again."
            )
        if sampled := sum(unit.drawn for unit in self._stored):
            warnings.append(f"{sampled:,} replies were drawn, as over 1% of their probability could not be read.")
        complete = not (silent > 0 or self._interrupted or self._stopped or self._stop)
        if changed := other_server((*before.sessions, replace(begun, findings=self._tally.findings))):
            warnings.append(changed)
        for warning in warnings[noted:]:
            self._note(warning)
        self._close(before, begun, complete)
        summary = self._summary(time.monotonic() - began, complete, warnings)
        _LOG.info("%s", concluded(summary))
        self._progress.finish(summary)
        return summary

    def came(self, response: Response) -> None:
        """A response came to a worker of this process: a limit of cost ends its unit, and not only the run."""
        self._came += 1
        self._limits.take(response)
        self._watch()
        self._report()

    def _round(self, again: int) -> None:
        """Hand out all that is open, and wait for it."""
        for unit in self._stored.open(again):
            while not self._workers.room() and not self._stop:
                self._take()
            if self._stop:
                break
            self._hand(unit)
        while self._way:
            self._take()

    def _hand(self, unit: Unit) -> None:
        self._way[unit.key] = unit
        self._workers.submit(unit)

    def _take(self) -> None:
        """Wait for what ends, and count it."""
        for receipt in self._workers.wait(1.0):
            if isinstance(receipt, Receipt):
                self._count(receipt)
                self._hand_rest(self._way.pop(receipt.key), receipt)
                if receipt.interrupted:
                    raise KeyboardInterrupt
                continue
            del self._way[receipt.unit.key]
            self._again(receipt)
        self._came = max(self._came, self._tally.stored + self._workers.answered())
        if self._lease.lost and not self._stop:
            self._end(_LOST.format(self._objects.url))
        self._report()

    def _hand_rest(self, unit: Unit, receipt: Receipt) -> None:
        """Hand out what is left of a unit of which a worker that failed stored some answers, while there are more."""
        facts = receipt.facts
        if unit.key in self._lost and facts is not None and facts.rows > facts.errors and not self._stop:
            for rest in self._stored.rest(unit):
                self._hand(rest)

    def _again(self, lost: Lost) -> None:
        """Hand a unit whose worker was lost to another one."""
        if lost.fatal:
            raise ModelError(lost.why)
        if self._stop:
            return
        self._tally.lost_on[lost.node] += 1
        if lost.given_up:
            self._given_up += 1
            self._note(
                f"{lost.node}: {lost.why} The unit {lost.unit.key} is given up; the same command tries it again."
            )
            return
        self._note(f"{lost.node}: {lost.why} Its unit goes to another worker.")
        self._lost.add(lost.unit.key)
        self._hand(lost.unit)

    def _manifest(self, stimuli: str) -> tuple[RunManifest, Tag]:
        """Read what the prefix says and compare it with what is asked; or begin a new run."""
        settings, objects, model = self._settings, self._objects, self._model
        manifest = asked_run(self._study, model.name, model.settings, settings)
        stored = read_run(objects, missing=True)
        if stored is None:
            if objects.list("responses"):
                raise RunError(
                    f"{objects.url} holds responses but no {RUN}: it is unknown of what. Name another prefix."
                )
            if settings.preregistration:
                put_declared(settings.preregistration.text, objects)
            requests = run_numbers(self._study, settings.sample, settings.seed, settings.exact).size
            requests *= 1 if settings.exact else self._study.repeats
            new = replace(
                manifest,
                id=secrets.token_hex(8),
                stimuli=stimuli,
                unit=settings.unit or answers_per_unit(requests),
            )
            objects.create(RUN, run_data(new))
            stored = read_run(objects)  # another driver's, if this process was held up for so long that it came second
        if changed := differences(stored[0], manifest):
            raise RunError(
                f"{objects.url} was begun with other settings: {'; '.join(changed)}. Restore them, or name another "
                "prefix."
            )
        if stored[0].unit is None:
            raise RunError(f"{objects.called(RUN)} is the {MANIFEST} of a folder: name another prefix.")
        return replace(stored[0], name=settings.name or stored[0].name), stored[1]

    def _count(self, receipt: Receipt) -> None:
        """Enter a receipt into all counts."""
        tally, facts = self._tally, receipt.facts
        for note in receipt.notes:
            self._warn(note)
        tally.learn(receipt.findings)
        if facts is None:
            return
        self._stored.enter(facts)
        if not receipt.stored and receipt.key not in self._lost:
            return
        tally.add(facts, receipt)
        self._came = max(self._came, tally.stored)
        self._limits.take_counts(facts.prompt_tokens, facts.completion_tokens, facts.uncounted)
        self._watch()
        if time.monotonic() - self._saved > _SAVED and not self._stop:
            self._save(replace(self._run, counts=self._stored.counts()))

    def _watch(self) -> None:
        """End the run where a limit is reached."""
        replies, invalid = self._tally.stored - self._tally.errors, self._tally.na
        if (reason := self._limits.reached(replies, invalid)) and not self._stop:
            self._stopped = reason
            self._end(f"{reason} Stopping; what is on its way is stored.")
        elif doubt := self._limits.doubt(replies, invalid):
            self._note(doubt)

    def _save(self, run: RunManifest) -> None:
        """Replace `run.json`, if it still is the one that this process knows."""
        self._run = replace(run, shards=self._stored.names())
        data = run_data(self._run)
        tag = self._objects.replace(RUN, data, self._tag)
        if tag is None:
            raise RunError(
                f"{self._objects.called(RUN)} was changed by another process, which drives this run by now. "
                "Everything stored before is kept."
            )
        self._tag, self._saved = tag, time.monotonic()

    def _close(self, before: RunManifest, begun: Session, complete: bool) -> None:
        if not self._tally.stored and before.end is not None and complete:
            self._save(before)  # nothing was left to ask: as if the command had not been given
            return
        ended = replace(begun, end=utc_now(), asked=self._tally.stored, findings=self._tally.findings)
        end = utc_now() if complete else None
        if not self._lease.lost:
            self._save(replace(self._run, end=end, counts=self._stored.counts(), sessions=(*before.sessions, ended)))
            self._write_status("ended")

    def _end(self, reason: str) -> None:
        self._stop = True
        self._workers.stop()
        self._note(reason)

    def _interrupt(self) -> None:
        self._interrupted = True
        self._end(
            f"Stopping: waiting up to {self._settings.grace:g} s for what is on its way. "
            "Interrupt again to stop at once."
        )

    def _warn(self, message: str) -> None:
        if len(self._warnings) < _MOST_WARNINGS:
            self._warnings.append(message)
            self._note(message)

    def _note(self, message: str) -> None:
        _LOG.info("%s", message)
        self._progress.note(message)

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._reported < _UPDATE:
            return
        self._reported = now
        tally, rate = self._tally, self._meter.rate(self._came, now)
        finished = self._skipped + self._came
        self._progress.update(
            Snapshot(
                done=finished,
                total=max(self._total, finished),
                rate=rate,
                eta=max(self._total - finished, 0) / rate if rate > 0 else None,
                prompt_tokens=tally.prompt_tokens,
                completion_tokens=tally.completion_tokens,
                cost=self._settings.cost(tally.prompt_tokens, tally.completion_tokens),
                stored=tally.stored,
                na=tally.na,
                errors=tally.errors,
                where=tally.where(self._workers.alive()),
            )
        )
        if now - self._written > _WRITTEN:
            self._write_status("running", rate)

    def _write_status(self, state: str, rate: float = 0.0) -> None:
        """Replace `status.json`; it is only shown, never read to decide anything."""
        self._written = time.monotonic()
        tally = self._tally
        text: Mapping[str, object] = {
            "state": state,
            "at": utc_now().isoformat(),
            "requests": self._plan.requests,
            "answered": self._stored.answered(),
            "units_stored": len(list(self._stored)),
            "units_on_their_way": len(self._way),
            "session_units": tally.units,
            "session_answers": tally.stored,
            "answers_per_second": round(rate, 3),
            "cost": self._settings.cost(tally.prompt_tokens, tally.completion_tokens),
            "failures_by_node": dict(tally.by_node),
            "units_lost_by_node": dict(tally.lost_on),
            "units_given_up": self._given_up,
            "workers_by_node": dict(self._workers.alive()),
            "driver": {"host": socket.gethostname(), "pid": os.getpid()},
            "model": self._model.name,
            "study": self._study.name,
        }
        try:
            self._objects.overwrite(STATUS, json.dumps(text, indent=1).encode(), once=True)
        except RunError as error:
            _LOG.info("%s", error)

    def _summary(self, seconds: float, complete: bool, warnings: list[str]) -> RunSummary:
        tally = self._tally
        return RunSummary(
            requests=self._plan.requests,
            asked=tally.stored,
            skipped=self._skipped,
            errors=tally.errors,
            na=tally.na,
            refused=tally.refused,
            reasked=tally.reasked,
            seconds=seconds,
            prompt_tokens=tally.prompt_tokens,
            completion_tokens=tally.completion_tokens,
            cost=self._settings.cost(tally.prompt_tokens, tally.completion_tokens),
            complete=complete,
            interrupted=self._interrupted,
            stopped=self._stopped,
            failure=tally.failures.most_common(1)[0][0] if tally.failures else "",
            warnings=tuple(warnings),
            cached=cached_share([tally.findings]),
        )
