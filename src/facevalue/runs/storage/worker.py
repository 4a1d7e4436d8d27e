"""Unit worker: asks a unit, stores it as one object, returns a receipt; in this process or in another."""

import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from facevalue import studies
from facevalue.checked_replies import ReplyCheck
from facevalue.errors import ModelError, RunError
from facevalue.models import Model, load
from facevalue.models.base import Finding, Holding, Noting, Sharing
from facevalue.models.cached_tokens import COUNTS
from facevalue.parquet import read_table_of
from facevalue.printable import first_line
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import interventions_of
from facevalue.protocol.variants import add_interventions
from facevalue.runs.checks import check_limits
from facevalue.runs.open_requests import OpenRequests, missing_reasons
from facevalue.runs.reply_counts import LOOKED_AT, UnparsedReplies, unparsed_of
from facevalue.runs.requests import Chunk, RequestBuilder
from facevalue.runs.settings import facts_of_model
from facevalue.runs.sight import look
from facevalue.runs.storage.mirror import look_ahead, own_roots, pictures_at
from facevalue.runs.storage.units import Job, Lost, ModelFacts, Receipt, Unit, run_numbers, steps, unit_hash
from facevalue.store.files import STIMULI
from facevalue.store.manifest import INTERVENTIONS, RunManifest, versions
from facevalue.store.objects import Objects
from facevalue.store.remote import KEY, UnitFacts, encoded, read_run, unit_data, unit_facts
from facevalue.store.schema import RESPONSES
from facevalue.store.sight import Sight
from facevalue.store.writer import to_frame
from facevalue.types import Response

Came = Callable[[Response], None]
"""Called with each response, in the thread that asks."""


class UnitWorker:
    """One model, asked unit by unit. Study and model are built from the job unless they are there already."""

    def __init__(
        self, job: Job, study: Study | None = None, model: Model | None = None, objects: Objects | None = None
    ) -> None:
        self._job = job
        self._objects = objects or Objects.at(job.url)
        self._trusted = study is not None  # the driver's own: it asks what the key says
        self._pictures = TemporaryDirectory(prefix="facevalue-")  # removed with the worker, however that ends
        self._study = study or _build_study(job, self._objects, Path(self._pictures.name))
        self._own = model is None
        self._model = model or (
            load(job.model, job.model_options) if job.making is None else job.making.model(self._study, job.url)
        )
        self._node = socket.gethostname()
        self._notes: list[str] = []
        self._check = ReplyCheck(self._model, self._notes.append)
        self._run: RunManifest | None = None
        self._asking: RequestBuilder | None = None
        self._open: OpenRequests | None = None
        self._stopped = self._interrupted = False
        self._watching = job.watched
        self._counted: dict[str, int] = {}

    def facts(self) -> ModelFacts:
        """Facts of the model, once it is clear that it can do what the study needs."""
        job, model = self._job, self._model
        numbers = run_numbers(self._study, job.sample, job.seed, job.exact)
        can = check_limits(self._study, model, numbers, job.exact, images=job.check)
        notes = model.notes if isinstance(model, Noting) else ()
        return ModelFacts(model.name, facts_of_model(self._study, model, job.exact), can, tuple(notes), versions())

    def sight(self) -> Sight:
        """Answers of the model to questions about pictures made on the spot."""
        return look(self._study, self._model, exact=self._job.exact)

    def work(self, unit: Unit, came: Came | None = None) -> Receipt:
        """Ask a unit and store it; one that is stored already is not asked again."""
        began = time.monotonic()
        if self._asking is None or self._run is None:
            self._run = read_run(self._objects)[0]
            self._asking = RequestBuilder(self._study, self._job.exact, self._run.asked_of)
        run, asking = self._run, self._asking
        if (stored_facts := unit_facts(self._objects, unit.key, run.id)) is not None:
            return Receipt(unit.key, stored_facts, False, time.monotonic() - began, self._node)
        self.look_ahead(unit)
        place = KEY.fullmatch(unit.key)
        if place is None or (
            not self._trusted and unit_hash(asking, run.id, unit.trials, unit.wanted, unit.generation) != place[3]
        ):
            raise RunError(
                f"{self._node} would ask something else than the driver does: it has another version of FaceValue or "
                "other pictures."
            )
        frame, failure, ended = self._ask(unit, asking, came)
        facts: UnitFacts | None = None
        stored, unparsed = False, UnparsedReplies()
        if frame.height:
            reasons = missing_reasons(self._study, frame)
            unparsed = unparsed_of(self._study, frame, reasons)
            facts = UnitFacts(
                key=unit.key,
                run=run.id,
                again=unit.again,
                generation=unit.generation,
                wanted=int(unit.wanted.sum()),
                **facts_of(frame, frame.height - reasons.null_count(), exact=self._job.exact),
            )
            data = encoded(frame, facts)
            stored = self._objects.create(unit.key, data)
            if not stored:  # another did, or our own write whose confirmation was lost
                facts = unit_facts(self._objects, unit.key, run.id)
                stored_unit = self._objects.get(unit.key)
                stored = stored_unit is not None and stored_unit[0] == data
        if ended is not None:
            raise ended
        findings = dict(self._model.findings()) if isinstance(self._model, Finding) else {}
        for name in COUNTS:  # of this unit alone: the driver adds them
            if isinstance(total := findings.get(name), int):
                findings[name] = total - self._counted.get(name, 0)
                self._counted[name] = total
        notes, self._notes[:] = tuple(self._notes), ()
        return Receipt(
            unit.key, facts, stored, time.monotonic() - began, self._node, failure, findings, self._interrupted, notes,
            unparsed,
        )  # fmt: skip

    def look_ahead(self, unit: Unit) -> None:
        """Bring the pictures of a unit that are not here yet; for the next one, while a unit is asked."""
        if not self._trusted and own_roots(self._job.options):
            look_ahead(self._study, unit.trials)

    def stop(self) -> None:
        """Stop making requests: what has come is stored. May be called from any thread."""
        self._stopped = True
        if isinstance(self._model, Holding):
            self._model.halt()
        if self._open is not None:
            self._open.stop = True

    def share(self, fraction: float) -> None:
        """Say which part of the budget of requests and tokens a minute is this worker's, as others ask as well."""
        if isinstance(self._model, Sharing):
            self._model.share(fraction)

    def close(self) -> None:
        """Release the model, if it was loaded here, and pictures that were brought."""
        self._pictures.cleanup()
        if self._own:
            self._model.close()

    def _ask(
        self, unit: Unit, asking: RequestBuilder, came: Came | None
    ) -> tuple[pl.DataFrame, str, ModelError | None]:
        """Ask the model a unit's requests; returns answers, the main failure, and the error that ended all asking."""
        self._open = stream = OpenRequests(self._study, asking)
        stream.stop = self._stopped
        rows: list[Response] = []
        times: list[float] = []
        ended = None
        try:
            with closing(self._check.respond(stream.requests_of_chunks(_chunks(unit, asking)))) as responses:
                for response in responses:
                    rows.append(response)
                    times.append(time.time())
                    if came is not None:
                        came(response)
                    if self._watching and len(rows) == LOOKED_AT:
                        self._watching = False
                        # Their requests stay open.
                        replies = to_frame(rows, np.zeros(len(rows), np.uint64), None, stream.picture_shares(rows))
                        stream.stop |= unparsed_of(self._study, replies).too_many
        except KeyboardInterrupt:  # what has come is stored all the same, then nothing more is done
            self._interrupted = True
        except ModelError as error:  # likewise
            ended = error
        if stream.failure is not None:
            raise stream.failure
        assert self._run is not None
        failures = Counter(row.error for row in rows if row.error is not None)
        frame = _frame(rows, None if self._run.replayed else times, stream)
        return frame, failures.most_common(1)[0][0] if failures else "", ended


class LocalWorkers:
    """The one worker of this process: it works while the driver waits."""

    def __init__(self, worker: UnitWorker, came: Came) -> None:
        self._worker = worker
        self._waiting: deque[Unit] = deque()
        self._came = came

    def facts(self) -> ModelFacts:
        """Facts of the worker's model."""
        return self._worker.facts()

    def sight(self) -> Sight:
        """Answers of the worker's model to questions about pictures made on the spot."""
        return self._worker.sight()

    def room(self) -> int:
        """Room for a single unit at a time."""
        return 0 if self._waiting else 1

    def submit(self, unit: Unit) -> None:
        """Submit a unit."""
        self._waiting.append(unit)

    def wait(self, seconds: float) -> list[Receipt | Lost]:
        """Work on what waits, however long it takes."""
        return [self._worker.work(self._waiting.popleft(), self._came)] if self._waiting else []

    def answer_count(self) -> int:
        """Return 0: `came` counts the answers."""
        return 0

    def alive(self) -> Mapping[str, int]:
        """The single worker, in this process."""
        return {socket.gethostname(): 1}

    def stop(self) -> None:
        """Cut short what is on its way."""
        self._worker.stop()

    def close(self, *, now: bool = False) -> None:
        """Release the model."""
        self._worker.close()


def _build_study(job: Job, objects: Objects, pictures: Path) -> Study:
    """The study of a job, with the table of pictures that lies beside the run; its own pictures are brought here."""
    stimuli = objects.get(STIMULI)
    if stimuli is None:
        raise RunError(f"{objects.called(STIMULI)} is not there: nothing can be asked without the table of pictures.")
    options = {name: value for name, value in job.options.items() if name != INTERVENTIONS}
    if roots := own_roots(options):
        options |= dict.fromkeys(roots, str(pictures_at(objects, pictures)))
    plain = studies.build(job.study, options, read_table_of(stimuli[0]))
    return add_interventions(plain, interventions_of(job.options))


def read_unit(objects: Objects, key: str, run: str) -> pl.DataFrame:
    """The answers of a stored unit."""
    data = unit_data(objects, key, run)
    if data is None:
        raise RunError(f"{objects.called(key)} was there, and is no longer: give the command again.")
    try:
        frame = read_table_of(data)
    except pl.exceptions.PolarsError as error:
        raise RunError(f"{objects.called(key)} cannot be read: {first_line(error)}. Take it out.") from error
    if unlike := [name for name, kind in RESPONSES.items() if frame.schema.get(name) != kind]:
        raise RunError(f"{objects.called(key)} has no {unlike[0]!r} as FaceValue stores it. Take it out.")
    return frame


def _chunks(unit: Unit, asking: RequestBuilder) -> Iterator[Chunk]:
    for start, stop in steps(unit.trials):
        yield asking.chunk(unit.trials[start:stop], unit.wanted[start:stop].copy())


def _frame(rows: list[Response], times: list[float] | None, stream: OpenRequests) -> pl.DataFrame:
    keys = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    shares = stream.picture_shares(rows)  # while the requests are open
    return to_frame(rows, stream.close_requests(keys[:, 0], keys[:, 1]), times, shares)


def facts_of(frame: pl.DataFrame, na: int, *, exact: bool) -> dict[str, int]:
    """Facts that a unit states about its answers, `na` of them without a valid one."""
    status = frame["status"]
    replied = status.is_in(["ok", "truncated"])
    return {
        "rows": frame.height,
        "errors": int((status == "error").sum()),
        "refused": int((status == "refused").sum()),
        "truncated": int((status == "truncated").sum()),
        "na": na,
        "drawn": int((replied & frame["probs"].is_null()).sum()) if exact else 0,
        "prompt_tokens": int(frame["prompt_tokens"].sum()),
        "completion_tokens": int(frame["completion_tokens"].sum()),
        "uncounted": int((replied & frame["prompt_tokens"].is_null()).sum()),
    }
