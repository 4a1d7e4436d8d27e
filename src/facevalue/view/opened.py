"""Runs that are looked at: what is read of them once, and again when they have grown."""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, TypeVar

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.report.blocks.view import View
from facevalue.report.built import Built, built
from facevalue.report.data import ReportData
from facevalue.report.formatting import Titles
from facevalue.report.of_runs import collected
from facevalue.report.sections import page_of
from facevalue.runs.kept_estimates import taken
from facevalue.runs.stored import ReplyTally, StoredRun
from facevalue.store.manifest import read_manifest
from facevalue.store.shards import shard_paths

T = TypeVar("T")
_RECENT = 4
"""Queries of which the places of answers are kept: some tens of megabytes each for five million."""
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
    """

    def __init__(self, run: StoredRun, number: int) -> None:
        self.run, self.number = run, str(number)
        self.rows_of: Callable[[int], pl.DataFrame] | None = None
        """What is stored of a trial, once there is an index of the answers."""
        self._values: dict[str, Any] = {}
        self._locks: dict[str, Lock] = {}
        self._guard, self._recent_lock = Lock(), Lock()
        self._recent: OrderedDict[str, Any] = OrderedDict()

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What is made of the run, once; others wait for it meanwhile."""
        with self._guard:
            lock = self._locks.setdefault(name, Lock())
        with lock:
            if name not in self._values:
                self._values[name] = make()
            value: T = self._values[name]
            return value

    def lately(self, name: str, make: Callable[[], T]) -> T:
        """What is made of the run for a query; the last few are kept for the next pages of the same."""
        with self._recent_lock:
            if name not in self._recent:
                self._recent[name] = make()
                while len(self._recent) > _RECENT:
                    self._recent.popitem(last=False)
            self._recent.move_to_end(name)
            value: T = self._recent[name]
            return value

    def has(self, name: str) -> bool:
        """Whether that has been made already."""
        return name in self._values

    @property
    def is_complete(self) -> bool:
        """Whether all that was to be asked was asked."""
        return self.run.facts.end is not None

    @property
    def taken(self) -> tuple[pl.DataFrame, Mapping[str, ReplyTally]]:
        """Estimates, and the tally of replies."""
        return self.once("taken", lambda: taken([self.run]))

    @property
    def tally(self) -> ReplyTally:
        """Numbers of replies."""
        return self.taken[1][str(self.run.folder)]

    @property
    def data(self) -> ReportData:
        """Everything that its report shows."""
        return self.once("data", lambda: collected([self.run], *self.taken).data)

    @property
    def page(self) -> Built:
        """Its report, made ready."""
        return built(self.data)

    @property
    def view(self) -> View:
        """Its estimates, and how they are written."""
        return self.page.view

    @property
    def titles(self) -> Titles:
        """Wording of levels, which needs no estimate."""
        return self.once("titles", lambda: Titles(page_of(self.run.study).titles, self.run.study.about.titles))


class ViewedRun:
    """A run that may grow while it is looked at.

    Parameters
    ----------
    run:
        The run as it is now.
    number:
        Its place among the runs that are looked at.
    """

    def __init__(self, run: StoredRun, number: int) -> None:
        self._state, self._number = RunState(run, number), number
        self._marks = _marks(run)
        self._looked_at, self._cost = time.monotonic(), 0.0
        self._lock = Lock()

    def state(self) -> RunState:
        """The run as it is now, or was a few seconds ago."""
        state = self._state
        if state.is_complete or time.monotonic() < self._looked_at + max(_PAUSE, _TIMES * self._cost):
            return state
        with self._lock:
            if self._state is state:
                self._look_again()
            return self._state

    def _look_again(self) -> None:
        begun, run = time.monotonic(), self._state.run
        marks = _marks(run)
        if run.url or marks != self._marks:
            again = run.reopened() if not run.url else StoredRun.open(run.url)
            self._state, self._marks = RunState(again, self._number), marks
            if shard_paths(again.folder):
                self._state.taken  # noqa: B018 - so that it is known how long it takes
        self._looked_at = time.monotonic()
        self._cost = self._looked_at - begun


def _marks(run: StoredRun) -> tuple[object, ...]:
    """By what is seen that a run has grown or ended."""
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
        What audits among them have not begun, a sentence for each (`audit_folder.unasked`).
    """

    def __init__(self, runs: Sequence[StoredRun], *, audit: bool = False, waiting: Sequence[str] = ()) -> None:
        self._viewed = [ViewedRun(run, number) for number, run in enumerate(runs)]
        self.audit, self.waiting = audit, tuple(waiting)
        self._values: dict[str, tuple[tuple[RunState, ...], Any]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._viewed)

    def states(self) -> tuple[RunState, ...]:
        """All runs as they are now."""
        return tuple(viewed.state() for viewed in self._viewed)

    def at(self, number: str) -> RunState:
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

    def once(self, name: str, states: tuple[RunState, ...], make: Callable[[], T]) -> T:
        """What is made of several runs together, once for as long as none of them has grown."""
        with self._lock:
            stored = self._values.get(name)
            if stored is None or stored[0] != states:
                stored = self._values[name] = (states, make())
            value: T = stored[1]
            return value
