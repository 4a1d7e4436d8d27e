"""Driver of runs in object storage: cuts what is open into units, hands them to workers, counts receipts."""

import hashlib
import json
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import islice

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import ModelError, RunError
from facevalue.protocol.study import Study
from facevalue.runs.audits.folder import check_no_audit
from facevalue.runs.checks import check_pictures
from facevalue.runs.open_requests import Completion, without_answer
from facevalue.runs.progress import Interrupts, Progress, silence_told
from facevalue.runs.requests import TrialNumbers
from facevalue.runs.session import RunSession, RunTally, check_same_run
from facevalue.runs.settings import RunSettings, RunSummary, asked_run, table_of, utc_now
from facevalue.runs.sight import new_sight, sight_of_run
from facevalue.runs.storage.mirror import mirror_run, put_pictures
from facevalue.runs.storage.units import (
    Fact,
    Lost,
    ModelFacts,
    Piece,
    Receipt,
    Unit,
    UnitPlan,
    Workers,
    answers_per_unit,
    run_numbers,
)
from facevalue.runs.storage.worker import Came, facts_of, read_unit
from facevalue.runs.stored_run import StoredRun, describe_bad_rows, odd_rows
from facevalue.store.files import MANIFEST, PREREGISTRATION, RESPONSES_FOLDER, STIMULI
from facevalue.store.lease import Lease
from facevalue.store.manifest import Counts, RunManifest
from facevalue.store.objects import Objects, Tag
from facevalue.store.remote import KEY, RUN, STATUS, UnitFacts, encoded, listed_units, read_run, run_data, unit_facts
from facevalue.store.sight import Sight
from facevalue.types import Response

# What is put under the prefix of a run before anything is asked: its table of pictures, and what was declared.


def put_table(study: Study, objects: Objects) -> str:
    """Store the table of pictures, from which workers build the study; return its digest."""
    table = table_of(study)
    _put(
        objects,
        STIMULI,
        table,
        "lists other pictures than the study now has: trial numbers would mean something else. Name another prefix.",
    )
    return hashlib.sha256(table).hexdigest()


def put_declared(text: str, objects: Objects) -> None:
    """Store what a new run declares; a killed command may have left something else."""
    _put(
        objects,
        PREREGISTRATION,
        text.encode(),
        "says something else than this run's, and is of a run that never began. Delete it, or name another prefix.",
    )


def _put(objects: Objects, key: str, data: bytes, otherwise: str) -> None:
    """Create an object unless it is there already; another one by its name is an error."""

    def check(stored: bytes) -> None:
        if stored != data:
            raise RunError(f"{objects.called(key)} {otherwise}")

    if not objects.create(key, data) and objects.get(key, check) is None:
        raise RunError(f"{objects.called(key)} was there, and is no longer: give the command again.")


# Units that are stored: what of a run is done, and which units are still open.


_ASIDE = "aside"
"""Where units with rows that cannot count are kept as they were."""
_READERS = 16
_LOOKED_AT = 200_000  # requests whose hashes are compared when a run goes on


class StoredUnits:
    """Facts that the stored units of a run state, a few numbers each; answers are read where some are open."""

    def __init__(self, study: Study, objects: Objects, run: RunManifest, plan: UnitPlan) -> None:
        self._study = study
        self._objects = objects
        self._run = run
        self._plan = plan
        self._units: dict[int, list[UnitFacts]] = {}  # by first place, in the order of storing
        self._answered = 0  # kept as units come: a driver asks for it at each

    def __iter__(self) -> Iterator[UnitFacts]:
        return (unit for units in self._units.values() for unit in units)

    def load(self) -> list[str]:
        """Look at all that is listed, and set aside what cannot count; return what people should know."""
        listed = listed_units(self._objects, self._run.shards)
        with ThreadPoolExecutor(_READERS) as pool:
            facts = pool.map(lambda unit: unit_facts(self._objects, unit.key, self._run.id, unit.size), listed)
            for unit in facts:
                if unit is not None:
                    self.enter(unit)
        for units in self._units.values():
            units.sort(key=lambda unit: unit.generation)
        missing = sorted(set(self._run.shards) - set(self.names()))
        gone = [f"{self._objects.called(f'responses/{name}')} is gone: its trials are asked again." for name in missing]
        self._check_unchanged()  # before any row is compared with what would be asked now
        return [*gone, *self._mend()]

    def enter(self, facts: UnitFacts) -> None:
        """Enter a unit."""
        place = KEY.fullmatch(facts.key)
        assert place is not None
        self._units.setdefault(int(place[1]), []).append(facts)
        self._answered += _count_answers(facts)

    def names(self) -> tuple[str, ...]:
        """Names of the objects."""
        return tuple(sorted(unit.key.partition("/")[2] for unit in self))

    def answer_count(self) -> int:
        """Requests with an answer of whatever kind, re-asks left out."""
        return self._answered

    def counts(self) -> Counts:
        """Requests by status, re-asks included."""
        errors = 0
        for units in self._units.values():
            for again in {unit.again for unit in units}:
                round_units = [unit for unit in units if unit.again == again]
                left = max(unit.wanted for unit in round_units) - sum(unit.rows - unit.errors for unit in round_units)
                errors += min(left, sum(unit.errors for unit in round_units))
        return Counts(
            requests=self._plan.requests,
            ok=sum(unit.rows - unit.errors - unit.refused - unit.truncated for unit in self),
            refused=sum(unit.refused for unit in self),
            truncated=sum(unit.truncated for unit in self),
            errors=errors,
            prompt_tokens=sum(unit.prompt_tokens for unit in self),
            completion_tokens=sum(unit.completion_tokens for unit in self),
        )

    def open(self, again: int, *, begun: bool = False) -> Iterator[Unit]:
        """Units of what is not answered in a round; `begun`: of pieces of which something is stored alone."""
        for piece in self._plan.pieces():
            if piece.first in self._units:
                yield from self._rest(piece, again)
            elif again == 0 and not begun:
                yield self._plan.plain_unit(piece)

    def rest(self, unit: Unit) -> Iterator[Unit]:
        """Rest of a unit, if its worker kept only the answers that came before the model failed."""
        place = KEY.fullmatch(unit.key)
        assert place is not None
        return self._rest(next(piece for piece in self._plan.pieces() if piece.first == int(place[1])), unit.again)

    def _rest(self, piece: Piece, again: int) -> Iterator[Unit]:
        if not self._is_settled(piece, again):
            missing = self._open_requests(piece, again)
            if missing.any():
                yield self._plan.unit(piece, missing, again, len(self._units[piece.first]))

    def _expected_requests(self, piece: Piece, again: int) -> int:
        """Number of requests that a round makes about a piece."""
        if again == 0:
            return piece.trials.size * self._plan.asking.repeats
        return sum(unit.na for unit in self._units[piece.first] if unit.again == again - 1)

    def _is_settled(self, piece: Piece, again: int) -> bool:
        answered = sum(unit.rows - unit.errors for unit in self._units[piece.first] if unit.again == again)
        return answered >= self._expected_requests(piece, again)

    def _open_requests(self, piece: Piece, again: int) -> npt.NDArray[np.bool_]:
        """Mask of the requests about a piece that are open, read from what is stored about it."""
        asking = self._plan.asking
        state = Completion(TrialNumbers.select(piece.trials), asking.repeats, asking.rounds)
        for unit in self._units[piece.first]:
            frame = read_unit(self._objects, unit.key, self._run.id)
            if not state.enter(frame):
                raise RunError(f"{self._objects.called(unit.key)} holds trials that are not of its place. Take it out.")
            state.mark(frame.filter(without_answer(self._study, frame)))
        return state.open_requests(state.numbers.positions(piece.trials)[0], again)

    def _mend(self) -> Iterator[str]:
        """Set units with rows that cannot count aside, and store what counts of them anew; say so of each.

        What a unit says of itself was counted by whoever wrote it, so that every row is read here.
        """
        stored = ((piece, at) for piece in self._plan.pieces() for at in range(len(self._units.get(piece.first, ()))))
        with ThreadPoolExecutor(_READERS) as pool:
            while some := list(islice(stored, _READERS)):
                keys = [self._units[piece.first][at].key for piece, at in some]
                frames = pool.map(lambda key: read_unit(self._objects, key, self._run.id), keys)
                for (piece, at), key, frame in zip(some, keys, frames, strict=True):
                    odd = self._odd(piece, frame)
                    if fault := describe_bad_rows(frame, odd):
                        place = self._set_aside(piece, at, frame.filter(odd.is_null()))
                        yield f"{self._objects.called(key)}: {fault} Kept as {place}; the rest of it is stored anew."

    def _odd(self, piece: Piece, frame: pl.DataFrame) -> pl.Series:
        """Reason why each row of a unit cannot count; null where it can."""
        asking = self._plan.asking
        reasons = odd_rows(self._study, frame, asking.repeats * (1 + asking.rounds)).alias("why")
        elsewhere = ~pl.col("trial").is_in(pl.Series(piece.trials, dtype=pl.UInt64).implode())
        return frame.with_columns(reasons).select(
            pl.coalesce(
                "why",
                pl.when(elsewhere).then(pl.lit("It is of a trial that the unit was not asked.")),
                pl.when(pl.struct("trial", "repeat").is_duplicated()).then(pl.lit("Its request has two rows.")),
            )
        )["why"]

    def _set_aside(self, piece: Piece, at: int, rows: pl.DataFrame) -> str:
        """Store a unit with these rows alone, after a copy of what it was; return where that is."""
        facts = self._units[piece.first][at]
        content = self._objects.get(facts.key)
        if content is not None:
            data, tag = content
            name = facts.key.removeprefix(f"{RESPONSES_FOLDER}/").removesuffix(".parquet")
            aside = f"{_ASIDE}/{name}-{hashlib.sha256(data).hexdigest()[:16]}.parquet"
            self._objects.create(aside, data)
            na = int(without_answer(self._study, rows).sum())
            facts = UnitFacts(**asdict(facts) | facts_of(rows, na, exact=self._run.exact))
            if self._objects.replace(facts.key, encoded(rows, facts), tag) is not None:
                self._answered += _count_answers(facts) - _count_answers(self._units[piece.first][at])
                self._units[piece.first][at] = facts
                return self._objects.called(aside)
        raise RunError(f"{self._objects.called(facts.key)} was changed by another process: give the command again.")

    def _check_unchanged(self) -> None:
        """Compare the hashes of some whole units, evenly spread, with those that would be asked now."""
        step = max(sum(unit.wanted for unit in self) // _LOOKED_AT, 1)
        for at, piece in enumerate(self._plan.pieces()):
            stored = self._units.get(piece.first)
            if not stored or at % step or stored[0].generation:
                continue
            if self._plan.plain_unit(piece).key != stored[0].key:
                raise RunError(
                    f"An image or prompt has changed since {self._objects.url} was begun: {stored[0].key} was asked "
                    "something else. Restore it, or name another prefix."
                )


def _count_answers(unit: UnitFacts) -> int:
    return unit.rows - unit.errors if unit.again == 0 else 0


_LOG = logging.getLogger(__name__)
_LOST = "Another process drives {} by now."
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
            with silence_told(progress):
                model = workers.facts()
            driver = _Driver(study, settings, objects, workers, model, progress, lease, digest)
            summary = driver.run(model.notes, dict(model.versions), signals)
            now = summary.interrupted
        finally:
            workers.close(now=now)
        return summary


class _Driver(RunSession):
    """One session of a run in object storage: units handed to workers, and their receipts counted."""

    _tally: RunTally

    def __init__(
        self,
        study: Study,
        settings: RunSettings,
        objects: Objects,
        workers: Workers,
        model: ModelFacts,
        progress: Progress,
        lease: Lease,
        stimuli: str,
    ) -> None:
        self._objects, self._workers, self._lease = objects, workers, lease
        if settings.check and model.capabilities.images_per_request:
            check_pictures(study)
        self._run, self._tag = _manifest(study, model, settings, objects, stimuli)
        put_pictures(study, objects)
        assert self._run.unit is not None
        self._plan = UnitPlan(study, settings, self._run.id, self._run.asked_of, self._run.unit, self._run.grown)
        self._units = StoredUnits(study, objects, self._run, self._plan)
        self._written = 0.0
        self._saved = time.monotonic()
        self._way: dict[str, Unit] = {}
        self._given_up = 0
        self._lost: set[str] = set()
        warnings = self._units.load()
        new, can = Sight(), model.capabilities
        if self._plan.requests > self._units.answer_count():
            sight = sight_of_run(self._run.sight, settings, study, can, self._plan.numbers, workers.sight)
            new, self._run = new_sight(self._run.sight, sight), replace(self._run, sight=sight)
        super().__init__(
            study, settings, progress, model.name, self._run, self._counts(), self._units.answer_count(), RunTally()
        )
        self.looked = new
        self._warn_of(warnings)

    @property
    def _planned_requests(self) -> int:
        return self._plan.requests - self._skipped

    def came(self, response: Response) -> None:
        """A response came to a worker of this process: a limit of cost ends its unit, and not only the run."""
        self._came += 1
        self._limits.take(response)
        self._watch()
        self._report()

    def _ask(self, signals: Interrupts) -> None:
        try:
            with signals.draining(self._interrupt):
                for again in range(self._plan.asking.rounds + 1):
                    self._round(again)
        except KeyboardInterrupt:
            if not self._lease.lost:
                raise
        if self._lease.lost:
            raise RunError(f"{_LOST.format(self._objects.url)} Everything stored before is kept.")

    def _round(self, again: int) -> None:
        """Hand out all that is open, and wait for it."""
        enough = self._enough
        for unit in self._units.open(again, begun=bool(enough)):
            while not self._workers.room() and not self._stopping:
                self._take()
            if self._stopping or self._enough != enough:
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
            self._reassign(receipt)
        self._came = max(self._came, self._tally.stored + self._workers.answer_count())
        if self._lease.lost and not self._stopping:
            self._end(_LOST.format(self._objects.url))
        self._report()

    def _hand_rest(self, unit: Unit, receipt: Receipt) -> None:
        """Hand out what is left of a unit of which a worker stored some answers, while there are more.

        The worker failed, or ended it as most of its replies could not be read, where most of all replies could.
        """
        facts, is_left = receipt.facts, unit.key in self._lost or receipt.unparsed.too_many
        if is_left and facts is not None and facts.rows > facts.errors and not self._stopping:
            for rest in self._units.rest(unit):
                self._hand(rest)

    def _reassign(self, lost: Lost) -> None:
        """Hand a unit whose worker was lost to another one."""
        if lost.fatal:
            raise ModelError(lost.why)
        if self._stopping:
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

    def _count(self, receipt: Receipt) -> None:
        """Enter a receipt into all counts."""
        tally, facts = self._tally, receipt.facts
        self._warn_of(receipt.notes)
        tally.learn(receipt.findings)
        if facts is None:
            return
        self._units.enter(facts)
        if not receipt.stored and receipt.key not in self._lost:
            return
        tally.add(facts, receipt)
        self._came = max(self._came, tally.stored)
        self._limits.take_counts(facts)
        self._watch()
        if self._look_due(self._units.answer_count()):
            self._look(StoredRun(mirror_run(self._objects.url), self._run, self._study))
        if time.monotonic() - self._saved > _SAVED and not self._stopping:
            self._save(replace(self._run, counts=self._counts()))

    def _warn_of(self, messages: Iterable[str]) -> None:
        """Warn of replies and stored rows that cannot count, and of units that are gone, while these are few."""
        for message in messages:
            if len(self.warnings) < _MOST_WARNINGS:
                self._warn(message)

    def _halt(self) -> None:
        self._workers.stop()

    def _save(self, run: RunManifest) -> None:
        """Replace `run.json`, if it still is the one that this process knows."""
        self._run = replace(run, shards=self._units.names())
        tag = self._objects.replace(RUN, run_data(self._run), self._tag)
        if tag is None:
            raise RunError(
                f"{self._objects.called(RUN)} was changed by another process, which drives this run by now. "
                "Everything stored before is kept."
            )
        self._tag, self._saved = tag, time.monotonic()

    def _counts(self) -> Counts:
        return self._units.counts()

    def _count_answered(self) -> int:
        return self._units.answer_count()

    def _findings(self) -> Mapping[str, Fact]:
        return self._tally.findings

    def _count_unanswered(self) -> int:
        return self._plan.requests - self._units.answer_count() - self._counts().errors

    def _incomplete(self, silent: int) -> str:
        if self._given_up:
            return f"Given up, as every worker died or failed that had them: {self._given_up:,} units."
        return super()._incomplete(silent)

    def _drawn_warning(self) -> str:
        replies = sum(unit.drawn for unit in self._units)
        return f"{replies:,} replies were drawn, as over 1% of their probability could not be read." if replies else ""

    def _close(self, complete: bool) -> None:
        if not self._lease.lost:
            super()._close(complete)
            if self._tally.stored or not complete or self._before.end is None:
                self._write_status("ended")

    def _whereabouts(self) -> str:
        return self._tally.describe_units(self._workers.alive())

    def _show(self, now: float) -> None:
        super()._show(now)
        if now - self._written > _WRITTEN:
            self._write_status("running", self._meter.rate(self._came, now))

    def _write_status(self, state: str, rate: float = 0.0) -> None:
        """Replace `status.json`; it is only shown, never read to decide anything."""
        self._written = time.monotonic()
        tally = self._tally
        text: Mapping[str, object] = {
            "state": state,
            "at": utc_now().isoformat(),
            "requests": self._requests,
            "answered": self._units.answer_count(),
            "units_stored": len(list(self._units)),
            "units_on_their_way": len(self._way),
            "session_units": tally.units,
            "session_answers": tally.stored,
            "answers_per_second": round(rate, 3),
            "cost": self._cost(),
            "failures_by_node": dict(tally.by_node),
            "units_lost_by_node": dict(tally.lost_on),
            "units_given_up": self._given_up,
            "workers_by_node": dict(self._workers.alive()),
            "driver": {"host": socket.gethostname(), "pid": os.getpid()},
            "model": self._model_name,
            "study": self._study.name,
        }
        try:
            self._objects.overwrite(STATUS, json.dumps(text, indent=1).encode(), once=True)
        except RunError as error:
            _LOG.info("%s", error)


def _manifest(
    study: Study, model: ModelFacts, settings: RunSettings, objects: Objects, stimuli: str
) -> tuple[RunManifest, Tag]:
    """Read what the prefix says and compare it with what is asked; or begin a new run."""
    manifest = asked_run(study, model.name, model.settings, settings)
    stored = read_run(objects, missing=True)
    if stored is None:
        if objects.list("responses"):
            raise RunError(f"{objects.url} holds responses but no {RUN}: it is unknown of what. Name another prefix.")
        check_no_audit(objects)
        if settings.preregistration:
            put_declared(settings.preregistration.text, objects)
        requests = run_numbers(study, settings.sample, settings.seed, settings.exact).size
        requests *= 1 if settings.exact else study.repeats
        unit = settings.unit or answers_per_unit(requests)
        objects.create(RUN, run_data(replace(manifest, id=secrets.token_hex(8), stimuli=stimuli, unit=unit)))
        stored = read_run(objects)  # another driver's, if this process was held up for so long that it came second
    run, tag = stored
    check_same_run(run, manifest, objects.url, "prefix")
    if run.unit is None:
        raise RunError(f"{objects.called(RUN)} is the {MANIFEST} of a folder: name another prefix.")
    return replace(run, name=settings.name or run.name), tag
