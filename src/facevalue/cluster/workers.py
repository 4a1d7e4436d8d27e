"""Workers of a cluster, and its settings: who works on what, who is alive, and whose unit goes to another."""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from facevalue import __version__
from facevalue.errors import FaceValueError, ModelError, RunError
from facevalue.protocol.toml_tables import TomlTable, lines_of
from facevalue.runs.storage.units import Job, Lost, ModelFacts, Receipt, Unit
from facevalue.store.sight import Sight
from facevalue.untrusted_files import read_file, to_text, to_toml

_MOST_BYTES = 2**20
_MOST_WORKERS = 10_000


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Settings of workers: where they run, and what each of them needs."""

    address: str = "auto"
    """"auto" for the cluster that this machine belongs to, "local" for one of its own, "ray://HOST:PORT" or
    "HOST:PORT"."""
    workers: tuple[int, int] | None = None
    """Fewest and most workers; None for one per GPU of the cluster where they need any, else one per node."""
    gpus: float | None = None
    """GPUs of a worker; a fraction lets several share one. None for 1 with hf/ and vllm/ models where there are any."""
    cpus: float = 1.0
    attempts: int = 3
    """How often a unit is tried whose worker dies or fails."""
    start_seconds: float = 300.0
    """How long to wait for the fewest workers to get their places; what they load may take longer."""
    silent_seconds: float = 120.0
    """A worker that gives no sign of life for so long counts as dead."""
    stalled_seconds: float = 1800.0
    """A worker whose model answers nothing for so long is replaced."""
    runtime_env: Mapping[str, Any] = field(default_factory=dict)
    """Ray's runtime environment of the workers."""


def read_settings(address: str, path: Path | None) -> ClusterSettings:
    """Settings of a cluster; the defaults where no file is given."""
    if path is None:
        return ClusterSettings(address)
    text, name = to_text(read_file(path, _MOST_BYTES, "a cluster's settings"), path.name), path.name
    table = TomlTable(name, lines_of(text), (), to_toml(text.encode(), name))
    defaults = ClusterSettings()
    positive = ("cpus", "start_seconds", "silent_seconds", "stalled_seconds")
    table.check_keys("workers", "gpus", "attempts", *positive, "runtime_env")
    for key in positive:
        if table.number(key, getattr(defaults, key)) <= 0:
            raise table.error(f"{key!r} is a number above 0.", key)
    gpus = table.number("gpus") if "gpus" in table else None
    if gpus is not None and (gpus < 0 or (gpus > 1 and gpus != int(gpus))):
        raise table.error("'gpus' is a whole number, or a share of one GPU.", "gpus")
    if (attempts := table.whole_number("attempts", defaults.attempts)) < 1:
        raise table.error("'attempts' is a whole number from 1.", "attempts")
    return ClusterSettings(
        address=address,
        workers=_workers(table) if "workers" in table else None,
        gpus=gpus,
        attempts=attempts,
        runtime_env=dict(table.table("runtime_env", needed=False).document()),
        **{key: table.number(key, getattr(defaults, key)) for key in positive},
    )


def _workers(table: TomlTable) -> tuple[int, int]:
    value = table.document()["workers"]
    bounds = value if isinstance(value, list) else [value, value]
    if len(bounds) != 2 or not all(isinstance(bound, int) and 1 <= bound <= _MOST_WORKERS for bound in bounds):
        raise table.error("'workers' is a number of them, or the fewest and the most: [1, 16].", "workers")
    if bounds[0] > bounds[1]:
        raise table.error(
            f"'workers' are at least {bounds[0]}, at most {bounds[1]}: write the fewest first.", "workers"
        )
    return bounds[0], bounds[1]


_BEATS = 8
"""Signs of life that are asked for in the time after which a worker counts as dead."""
_TICK = 1.0


class WorkerDied(Exception):  # noqa: N818 - what happened, not an error of the run
    """The process of a worker ended, or its node did; the text says why, for people."""


class Fleet(Protocol):
    """Interface to the part of Ray that is used; a call is anything that can be a key."""

    def start(self) -> Any:
        """Ask for a worker; it gets its place when there is one."""
        ...

    def call(self, worker: Any, method: str, *arguments: object) -> Any:
        """Begin a call of a worker's method."""
        ...

    def ended_calls(self, calls: Sequence[Any], seconds: float) -> Sequence[Any]:
        """Calls that have ended; waits at most so long for the first."""
        ...

    def result(self, call: Any) -> Any:
        """Value that an ended call returned; raises `WorkerDied`, or what the worker raised."""
        ...

    def kill(self, worker: Any) -> None:
        """End a worker, whatever it does; one without a place gives up its claim."""
        ...

    def nodes(self) -> int:
        """Number of nodes now."""
        ...

    def missing(self) -> str:
        """Resources that a worker needs and no node has, for people; empty if a node has all of them."""
        ...


@dataclass(slots=True, eq=False)
class _Seat:
    """One worker, from the claim to its end."""

    worker: Any
    since: float
    node: str = ""
    facts: ModelFacts | None = None
    unit: Unit | None = None
    calls: dict[Any, str] = field(default_factory=dict)
    beat: float = 0.0
    """When the last sign of life was asked for, or came."""
    waiting: bool = False
    """Whether one is on its way."""
    came: int = 0
    moved: float = 0.0
    """Answers to its unit so far, and when their number last grew."""
    stopped: bool = False
    loading: bool = False
    """Whether it was told to load."""
    parked: bool = False
    """It holds its place, so that no other is started there, and does nothing."""


class ClusterWorkers:
    """Workers of a fleet, as the driver of a run sees them.

    A worker that dies, hangs or fails is replaced and its unit goes to another, on another node if there is one; a unit
    that failed `attempts` times is reported as lost. A node on which nothing succeeded in so many tries is used no
    more.
    """

    def __init__(
        self,
        fleet: Fleet,
        job: Job,
        settings: ClusterSettings,
        size: tuple[int, int],
        note: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fleet = fleet
        self._job = job
        self._settings = settings
        self._least, self._most = size
        self._note = note
        self._clock = clock
        self._seats: list[_Seat] = []
        self._units: deque[Unit] = deque()
        self._tries: Counter[str] = Counter()
        self._failed_on: defaultdict[str, set[str]] = defaultdict(set)
        self._in_a_row: Counter[str] = Counter()
        self._error: Exception | None = None
        self._facts: ModelFacts | None = None
        self._sight: Sight | None = None
        self._began = clock()
        self._warned = False
        self._ending = False

    def facts(self) -> ModelFacts:
        """Wait for a first worker with its model loaded."""
        while self._facts is None:
            self._step(_TICK)
        return self._facts

    def sight(self) -> Sight:
        """Have one worker ask its model about pictures made on the spot; another one, where it ends before."""
        while self._sight is None:
            ready = [seat for seat in self._seats if seat.facts and not seat.parked]
            if ready and not any("sight" in seat.calls.values() for seat in ready):
                ready[0].calls[self._fleet.call(ready[0].worker, "sight")] = "sight"
            self._step(_TICK)
        return self._sight

    def room(self) -> int:
        """Number of units that can be submitted: one per worker and one that waits here, safe from dying workers."""
        ready = self.alive().total()
        busy = sum(seat.unit is not None for seat in self._seats)
        return 0 if self._ending else max(2 * ready - len(self._units) - busy, 0)

    def submit(self, unit: Unit) -> None:
        """Queue a unit for the workers."""
        self._units.append(unit)
        self._hand_out()

    def wait(self, seconds: float) -> list[Receipt | Lost]:
        """Wait for calls that end, at most so many seconds for the first; returns those that have ended."""
        until = self._clock() + seconds
        out = self._stop_all() if self._ending else []
        while not out and self._clock() < until:
            out = self._step(max(0.0, min(until - self._clock(), _TICK)))
        return out

    def stop(self) -> None:
        """Cut short what is on its way: what came is stored. Safe in the handler of a signal: the next wait does it."""
        self._ending = True

    def close(self, *, now: bool = False) -> None:
        """End all workers: none of them holds anything that is not stored."""
        self._ending = True
        for seat in self._seats:
            self._fleet.kill(seat.worker)
        self._seats.clear()

    def alive(self) -> Counter[str]:
        """Working workers by node."""
        return Counter(seat.node for seat in self._seats if seat.facts and not seat.parked)

    def answer_count(self) -> int:
        """Answers to units on their way, as of the last sign of life."""
        return sum(seat.came for seat in self._seats if seat.unit is not None)

    def _stop_all(self) -> list[Receipt | Lost]:
        """Have workers stop, once; units that none of them has begun end here."""
        for seat in self._seats:
            if seat.unit is not None and not seat.stopped:
                seat.calls[self._fleet.call(seat.worker, "stop")] = "stop"
                seat.stopped = True
        waiting: list[Receipt | Lost] = [Lost(unit, "not begun", "", given_up=True) for unit in self._units]
        self._units.clear()
        return waiting

    def _step(self, seconds: float) -> list[Receipt | Lost]:
        """Do what is due once, then return what ends within so many seconds."""
        self._grow()
        self._ask_for_beats()
        calls = {call: seat for seat in self._seats for call in seat.calls}
        out: list[Receipt | Lost] = []
        for call in self._fleet.ended_calls(list(calls), seconds):
            seat = calls[call]
            if call in seat.calls:  # else the seat was given up by another call of this round
                out += self._end(seat, call, seat.calls.pop(call))
        for seat in list(self._seats):
            if cause := self._dead(seat):
                out += self._lose(seat, WorkerDied(cause))
        self._hand_out()
        self._check_hope()
        return out

    def _grow(self) -> None:
        """Claim as many workers as may be; in place of the parked ones, too, but not without end."""
        parked = sum(seat.parked for seat in self._seats)
        while not self._ending and len(self._seats) - parked < self._most and parked <= self._most:
            seat = _Seat(self._fleet.start(), self._clock())
            self._seats.append(seat)
            seat.calls[self._fleet.call(seat.worker, "hello")] = "hello"

    def _ask_for_beats(self) -> None:
        now = self._clock()
        share = 1 / max(sum(bool(seat.node) and not seat.parked for seat in self._seats), 1)
        for seat in self._seats:
            if seat.node and not seat.waiting and now - seat.beat > self._settings.silent_seconds / _BEATS:
                seat.calls[self._fleet.call(seat.worker, "beat", share)] = "beat"
                seat.waiting, seat.beat = True, now

    def _end(self, seat: _Seat, call: Any, method: str) -> list[Receipt | Lost]:
        """Process what a call returned or raised."""
        try:
            value = self._fleet.result(call)
            if method == "hello":
                self._welcome(seat, *value)
            elif method == "load":
                self._check_same(seat, value)
                seat.facts = value
                self._facts = self._facts or value
            elif method == "sight":
                self._sight = value
        except Exception as error:
            return self._lose(seat, error)
        now = self._clock()
        if method == "beat":
            seat.waiting, seat.beat = False, now
            if value != seat.came:
                seat.came, seat.moved = value, now
        elif method == "work":
            seat.unit = None
            self._in_a_row.pop(seat.node, None)
            for idle in self._seats:
                if idle.parked and not idle.loading and idle.node == seat.node:
                    self._load(idle)
            return [value]
        return []

    def _welcome(self, seat: _Seat, node: str, version: str) -> None:
        """A worker has its place: have it load, unless nothing succeeds there."""
        seat.node, seat.beat, seat.moved = node, self._clock(), self._clock()
        if version != __version__:
            raise RunError(f"FaceValue {version} is installed there, {__version__} here: both must be the same.")
        if self._in_a_row[node] >= self._settings.attempts:
            seat.parked = True  # until something succeeds there
        else:
            self._load(seat)

    def _load(self, seat: _Seat) -> None:
        seat.loading, seat.parked, seat.moved = True, False, self._clock()
        share = 1 / self._most
        seat.calls[self._fleet.call(seat.worker, "load", self._job, self._settings.silent_seconds, share)] = "load"

    def _check_same(self, seat: _Seat, facts: ModelFacts) -> None:
        first = self._facts or facts
        if unlike := sorted(
            name for name in {*first.settings, *facts.settings} if first.settings.get(name) != facts.settings.get(name)
        ):
            raise RunError(f"The model there is not that of other nodes (unlike: {', '.join(unlike)}).")

    def _dead(self, seat: _Seat) -> str:
        """Reason why a silent worker counts as dead; empty if it lives."""
        now = self._clock()
        if seat.waiting and now - seat.beat > self._settings.silent_seconds:
            return f"gave no sign of life for {self._settings.silent_seconds:g} s"
        busy = seat.unit is not None or (seat.node and seat.facts is None and not seat.parked)
        if busy and now - seat.moved > self._settings.stalled_seconds:
            return f"came no further for {self._settings.stalled_seconds:g} s"
        return ""

    def _lose(self, seat: _Seat, error: Exception) -> list[Receipt | Lost]:
        """Replace a worker; its unit goes to another, or is given up."""
        unit, text, place = seat.unit, str(error), seat.node or "a node"
        reason = text if isinstance(error, FaceValueError) else f"a worker {text}"
        self._error = (ModelError if isinstance(error, ModelError) else RunError)(f"{place}: {reason}")
        self._in_a_row[seat.node] += 1
        known_bad = isinstance(error, FaceValueError) and seat.facts is None
        if known_bad and seat.node:  # it would fail there again
            self._in_a_row[seat.node] = self._settings.attempts
        seat.calls = {}  # others of them may end in the same round
        if self._in_a_row[seat.node] >= self._settings.attempts and isinstance(error, FaceValueError):
            seat.parked, seat.unit, seat.waiting = True, None, False
        else:
            self._fleet.kill(seat.worker)
            self._seats.remove(seat)
        if unit is None:
            self._note(f"{place}: {reason}")
            return []
        self._tries[unit.key] += 1
        self._failed_on[unit.key].add(seat.node)
        given_up = self._ending or self._tries[unit.key] >= self._settings.attempts
        return [Lost(unit, reason, place, given_up=given_up)]

    def _hand_out(self) -> None:
        """Give waiting units to idle workers."""
        idle = [seat for seat in self._seats if seat.facts and seat.unit is None and not seat.parked]
        others = {seat.node for seat in self._seats if seat.facts and not seat.parked}
        for seat in idle:
            for unit in self._units:
                if seat.node not in self._failed_on[unit.key] or others <= self._failed_on[unit.key]:
                    break
            else:
                continue
            self._units.remove(unit)
            seat.unit, seat.came, seat.moved = unit, 0, self._clock()
            seat.calls[self._fleet.call(seat.worker, "work", unit)] = "work"

    def _check_hope(self) -> None:
        """Raise where no worker works, and none will."""
        placed = [seat for seat in self._seats if seat.node and not seat.parked]
        if self._ending or len(placed) >= self._least:
            self._began, self._least = self._clock(), 1  # later it goes on with any that are left
            return
        late = self._clock() - self._began > self._settings.start_seconds
        bad = {node for node, count in self._in_a_row.items() if node and count >= self._settings.attempts}
        if self._error is not None and not placed and (late or len(bad) >= self._fleet.nodes()):
            raise self._error
        missing = self._fleet.missing()
        wait = f"{self._settings.start_seconds:g} s"
        if late:
            raise RunError(
                f"{missing or 'The cluster has no free place for a worker'}: {len(placed)} of {self._least} started in "
                f"{wait}. Change what a worker needs, or start nodes; the same command goes on."
            )
        if missing and not self._warned:
            self._warned = True
            self._note(f"{missing}: waiting {wait} for such a node.")
