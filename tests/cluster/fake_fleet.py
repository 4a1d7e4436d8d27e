"""A fleet without Ray or processes: what workers do is written down, and time passes only while one waits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from facevalue import __version__
from facevalue.models.base import Capabilities
from facevalue.runs.storage.units import ModelFacts, Receipt, Unit

FACTS = ModelFacts("tiny", {"size": 1}, Capabilities(), (), {})


class Never(Exception):
    """The call does not end."""


@dataclass(eq=False)
class FakeWorker:
    """A worker, where it is, and what was asked of it."""

    node: str
    placed: bool = True
    alive: bool = True
    asked: list[tuple[Any, ...]] = field(default_factory=list)


def unit(number: int) -> Unit:
    """A unit of one trial."""
    return Unit(f"responses/{number}", np.array([number]), np.ones((1, 1), dtype=np.bool_))


def receipt(one: Unit, node: str = "a") -> Receipt:
    """A receipt of a unit."""
    return Receipt(one.key, None, True, 1.0, node)


Does = Callable[[FakeWorker, str, tuple[Any, ...]], Any]


def well(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
    """What a worker does that has no trouble."""
    match what:
        case "hello":
            return worker.node, __version__
        case "load":
            return FACTS
        case "work":
            return receipt(given[0], worker.node)
        case "beat":
            return 0


class FakeFleet:
    """Places, one worker each; `does` says what calls return or raise."""

    def __init__(self, places: Sequence[str], does: Does = well) -> None:
        self.places = list(places)
        self.does = does
        self.now = 0.0
        self.workers: list[FakeWorker] = []
        self.open: dict[Any, tuple[FakeWorker, str, tuple[Any, ...]]] = {}
        self.outcomes: dict[Any, Any] = {}
        self.lacks = ""

    def clock(self) -> float:
        """Seconds that were waited for."""
        return self.now

    def start(self) -> FakeWorker:
        """Give a free place, if there is one."""
        taken = [one.node for one in self.workers if one.alive and one.placed]
        free = [node for node in dict.fromkeys(self.places) if taken.count(node) < self.places.count(node)]
        worker = FakeWorker(free[0] if free else "", placed=bool(free))
        self.workers.append(worker)
        return worker

    def call(self, worker: FakeWorker, what: str, *given: object) -> object:
        """Write down what is asked."""
        call = object()
        worker.asked.append((what, *given))
        self.open[call] = worker, what, given
        return call

    def ended_calls(self, calls: Sequence[Any], seconds: float) -> list[Any]:
        """Calls that return or raise; if none does, time passes."""
        done = []
        for call in calls:
            worker, what, given = self.open[call]
            if not worker.placed:
                continue
            try:
                self.outcomes[call] = self.does(worker, what, given)
            except Never:
                continue
            except Exception as error:
                self.outcomes[call] = error
            done.append(call)
        self.now += 0 if done else max(seconds, 0.01)
        return done

    def result(self, call: Any) -> Any:
        """What it returned, or its exception."""
        del self.open[call]
        outcome = self.outcomes.pop(call)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def kill(self, worker: FakeWorker) -> None:
        """End it; its place is free."""
        worker.alive = False

    def nodes(self) -> int:
        """Nodes that have a place."""
        return len(set(self.places))

    def missing(self) -> str:
        """As the test says."""
        return self.lacks
