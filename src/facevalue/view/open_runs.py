"""Runs that are looked at: read once and again when they have grown, and computed on in the background."""

import logging
import signal
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, Thread, main_thread
from typing import Any, Generic, TypeVar

import polars as pl
from polars.exceptions import PanicException

from facevalue.errors import DataError, FaceValueError, RunError, UnknownNameError
from facevalue.forks import end_with_parent
from facevalue.report.blocks.view import View
from facevalue.report.collect import collect_report
from facevalue.report.data import ReportData
from facevalue.report.formatting import Titles
from facevalue.report.page_builder import PageAnswer, page_answer
from facevalue.report.sections.headline import page_of
from facevalue.runs.kept_estimates import keep, read_kept, read_kept_estimates
from facevalue.runs.storage.in_place import bring_run, opened_in_place
from facevalue.runs.storage.mirror import own_folder
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.store.manifest import read_manifest
from facevalue.store.ranges import is_in_place, release
from facevalue.store.shards import checked, shard_paths

# Work on all answers of a run, done by a process of its own: the one that serves pages has little memory to spare.


T = TypeVar("T")
FEW = 250_000
"""Answers up to which the work is done in this process: they take less memory than another one takes time to start."""


def run_apart(work: Callable[[StoredRun], T], run: StoredRun) -> T:
    """Do something with all answers of a run, in a process of its own where they are many.

    `work`: a function of a module that returns little, such as where it has kept the rest. A run that is looked at in
    object storage is brought for it.

    Raises
    ------
    FaceValueError
        The work failed, or its process was ended.
    """
    if run.given is not None or sum(checked(path).rows for path in shard_paths(run.folder)) <= FEW:
        return work(bring_run(run))
    context = get_context("spawn")
    here, child = context.Pipe(duplex=False)
    pictures = own_folder(run.facts.options) if run.pictures_named else None
    place = run.url or run.folder
    process = context.Process(target=_work, args=(work, place, pictures, run.facts.name, child), daemon=True)
    process.start()
    child.close()
    try:
        value, error = here.recv()
    except EOFError:
        value, error = None, None
    process.join()
    if not main_thread().is_alive():
        raise SystemExit  # of this thread: the viewer has ended, and the process with it
    if process.exitcode:
        raise RunError(
            f"the process that does it was ended (status {process.exitcode}), perhaps as memory ran out. Open the "
            "viewer again to try once more."
        )
    if error is not None:
        raise error
    done: T = value
    return done


def _work(
    work: Callable[[StoredRun], T], place: Path | str, pictures: Path | None, name: str, answer: Connection
) -> None:
    """Open the run and do the work; hand back what that gives, or the error for which it failed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the viewer, with which this process ends
    end_with_parent()
    try:
        run = StoredRun.open(place, pictures=pictures)
        value = work(replace(run, facts=replace(run.facts, name=name)))
    except FaceValueError as error:
        answer.send((None, error))
    else:
        answer.send((value, None))


_LOG = logging.getLogger(__name__)


class NotYetError(FaceValueError):
    """Error for a page whose data is being made: it is asked for again after a moment."""


class Background(Generic[T]):
    """Value that is being made.

    Parameters
    ----------
    make:
        What makes it; called once, at once.
    failure:
        What a reader is told should it fail; the reason follows.
    """

    def __init__(self, make: Callable[[], T], failure: str) -> None:
        self._make, self._failure = make, failure
        self._values: list[T] = []
        self._reason = ""
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._values.append(self._make())
        except FaceValueError as error:
            self._reason = f"{self._failure}: {error}"
            _LOG.warning("%s", self._reason)
        except (Exception, PanicException):
            self._reason = f"{self._failure}: the viewer's terminal says why."
            _LOG.exception("%s", self._failure)

    def is_ready(self, patience: float | None) -> bool:
        """Return whether it was made, or failed; waits so many seconds for it, or as long as it takes."""
        self._thread.join(timeout=patience)
        return not self._thread.is_alive()

    def value(self, patience: float | None, waiting: str) -> T:
        """Return the value that was made.

        `patience`: seconds that are waited for it; None for as long as it takes. `waiting`: what a reader is told.

        Raises
        ------
        NotYetError
            It is not there by then.
        DataError
            It failed.
        """
        if not self.is_ready(patience):
            raise NotYetError(waiting)
        if self._reason:
            raise DataError(self._reason)
        return self._values[0]


_RECENT = 4
"""Queries of which the places of answers are kept: some tens of megabytes each for five million."""
FAILED = "The estimates could not be taken"
BRINGING = "The run is being brought from object storage: its estimates are taken of all answers, once."
AGAIN = "The run could not be read again"
WAITING = "Computing the estimates. This is done once; a few million answers take about a minute."
_PAUSE, _TIMES = 5.0, 4.0
"""Seconds after which a run in progress is read again, and how many times as long as that took it is left alone."""


class RunState:
    """A run as it was when it was opened: all documents about it are of the same answers.

    Parameters
    ----------
    run:
        The run.
    number:
        Its place among the runs that are looked at, as documents have it.
    patience:
        Seconds that a document waits for what is made in the background; None for as long as it takes.
    """

    def __init__(self, run: StoredRun, number: int, patience: float | None = None) -> None:
        self.run, self.number, self.patience = run, str(number), patience
        self.rows_of: Callable[[int], pl.DataFrame] | None = None
        """What is stored of a trial, once there is an index of the answers."""
        self._values: dict[str, Any] = {}
        self._locks: dict[str, Lock] = {}
        self._guard, self._recent_lock = Lock(), Lock()
        self._recent: OrderedDict[str, Any] = OrderedDict()

    def make_once(self, name: str, make: Callable[[], T]) -> T:
        """Make a value from the run once; other callers wait for it meanwhile."""
        with self._guard:
            lock = self._locks.setdefault(name, Lock())
        with lock:
            if name not in self._values:
                self._values[name] = make()
            value: T = self._values[name]
            return value

    def make_in_background(self, name: str, make: Callable[[], T], failure: str, waiting: str) -> T:
        """Make a value from the run once, in the background.

        `failure`, `waiting`: what a reader is told should it fail, and while it is not there.

        Raises
        ------
        NotYetError
            It is not there yet, and patience is at its end.
        DataError
            It failed.
        """
        return self.begin(name, make, failure).value(self.patience, waiting)

    def begin(self, name: str, make: Callable[[], T], failure: str) -> Background[T]:
        """Begin to make a value from the run, once, without waiting for it."""
        return self.make_once(name, lambda: Background(make, failure))

    def make_recent(self, name: str, make: Callable[[], T]) -> T:
        """Make a value from the run for a query; the last few are kept for the next pages of the same."""
        with self._recent_lock:
            if name not in self._recent:
                self._recent[name] = make()
                while len(self._recent) > _RECENT:
                    self._recent.popitem(last=False)
            self._recent.move_to_end(name)
            value: T = self._recent[name]
            return value

    @property
    def is_complete(self) -> bool:
        """True if all that was to be asked was asked."""
        return self.run.facts.end is not None

    @property
    def complete_run(self) -> StoredRun:
        """The run with every answer here; one that is looked at in object storage is brought for it."""
        return self.make_once("whole", lambda: bring_run(self.run))

    @property
    def estimates_and_tally(self) -> tuple[pl.DataFrame, ReplyTally]:
        """Estimates, and the tally of replies."""
        waiting = BRINGING if is_in_place(self.run.folder) else WAITING
        return self.make_in_background("taken", lambda: _take_estimates(self.run), FAILED, waiting)

    @property
    def are_taken(self) -> bool:
        """True if there are estimates already."""
        taking: Background[Any] | None = self._values.get("taken")
        return taking is not None and taking.is_ready(0)

    @property
    def tally(self) -> ReplyTally:
        """Numbers of replies."""
        return self.estimates_and_tally[1]

    @property
    def data(self) -> ReportData:
        """Data of its report, without stored answers."""
        estimates, tally = self.estimates_and_tally
        tallies = {str(self.run.folder): tally}
        return self.make_once("data", lambda: collect_report([self.run], estimates, tallies, with_answers=False).data)

    @property
    def answer(self) -> PageAnswer:
        """Answer of its report."""
        data = self.data
        return self.make_once("answer", lambda: page_answer(data))

    @property
    def view(self) -> View:
        """Estimates of the run, and how they are written."""
        return self.answer.view

    @property
    def titles(self) -> Titles:
        """Wording of levels, which needs no estimate."""
        return self.make_once("titles", lambda: Titles(page_of(self.run.study).titles, self.run.study.about.titles))


class ViewedRun:
    """A run that may grow while it is looked at.

    Parameters
    ----------
    run:
        The run as it is now.
    number:
        Its place among the runs that are looked at.
    patience:
        Seconds that a document waits for what is made in the background; None for as long as it takes.
    """

    def __init__(self, run: StoredRun, number: int, patience: float | None) -> None:
        self._state = RunState(run, number, patience)
        self._number, self._patience = number, patience
        self._marks = _marks(run)
        self._looked_at, self._cost = time.monotonic(), 0.0
        self._lock = Lock()
        self._looking: Background[None] | None = None
        self._former = Path()

    def state(self) -> RunState:
        """The run as it is now, or was until it was read again and its estimates taken."""
        with self._lock:
            is_due = time.monotonic() >= self._looked_at + max(_PAUSE, _TIMES * self._cost)
            if self._looking is None and is_due and not self._state.is_complete:
                self._looking = Background(self._look_again, AGAIN)
            looking = self._looking
        if looking is not None and looking.is_ready(self._patience):
            self._looking = None
        return self._state

    def _look_again(self) -> None:
        begun, run = time.monotonic(), self._state.run
        try:
            marks = _marks(run)
            if run.url or marks != self._marks:
                again = opened_in_place(run.url) if run.url else run.reopen()
                state = RunState(again, self._number, self._patience)
                if shard_paths(again.folder):
                    state.make_once("taken", lambda: Background(lambda: _take_estimates(again), FAILED)).is_ready(None)
                self._state, self._marks = state, marks
                release(self._former)  # who is still answered of the run that was just left has it for one round more
                self._former = run.folder
        finally:
            self._looked_at = time.monotonic()
            self._cost = self._looked_at - begun


def _take_estimates(run: StoredRun) -> tuple[pl.DataFrame, ReplyTally]:
    """Estimates of a run, read where they are kept, else taken apart."""
    stored = read_kept_estimates(run)
    return read_kept(run_apart(keep, run), run) if stored is None else stored


def _marks(run: StoredRun) -> tuple[object, ...]:
    """State of the files that shows whether a run has grown or ended."""
    if run.url:
        return ()
    return tuple(path.name for path in shard_paths(run.folder)), read_manifest(run.folder).end


class OpenedRuns:
    """All runs that the viewer was opened with.

    Parameters
    ----------
    runs:
        In the order in which they were named.
    audit:
        Whether they are those of an audit.
    waiting:
        What audits among them have not begun, a sentence for each (`audit_folder.describe_unasked`).
    patience:
        Seconds that a document waits for what is made in the background; None for as long as it takes.
    """

    def __init__(
        self,
        runs: Sequence[StoredRun],
        *,
        audit: bool = False,
        waiting: Sequence[str] = (),
        patience: float | None = None,
    ) -> None:
        self._viewed = [ViewedRun(run, number, patience) for number, run in enumerate(runs)]
        self.audit, self.waiting = audit, tuple(waiting)
        self._values: dict[str, tuple[tuple[RunState, ...], Any]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._viewed)

    def states(self) -> tuple[RunState, ...]:
        """All runs as they are now."""
        return tuple(viewed.state() for viewed in self._viewed)

    def state_of_run(self, number: str) -> RunState:
        """A run by its place; the first one where none is named.

        Raises
        ------
        UnknownNameError
            No run has that place.
        """
        places = [str(place) for place in range(len(self))]
        if (number or "0") not in places:
            raise UnknownNameError("run", number[:20], places)
        return self._viewed[int(number or "0")].state()

    def make_once(self, name: str, states: tuple[RunState, ...], make: Callable[[], T]) -> T:
        """Make a value from several runs together, once for as long as none of them has grown."""
        with self._lock:
            stored = self._values.get(name)
            if stored is None or stored[0] != states:
                stored = self._values[name] = (states, make())
            value: T = stored[1]
            return value
