"""Workers of a cluster: what becomes of units whose workers die, hang, fail or never come."""

from collections import Counter
from typing import Any

import pytest

from facevalue import __version__
from facevalue.cluster.workers import ClusterSettings, ClusterWorkers, WorkerDied
from facevalue.errors import ModelError, RunError
from facevalue.models.base import Capabilities
from facevalue.runs.storage.units import Job, Lost, ModelFacts, Receipt
from tests.cluster.fake_fleet import FACTS, FakeFleet, FakeWorker, Never, unit, well

JOB = Job("file:///run", "study", {}, "tiny")


def workers(
    fleet: FakeFleet, size: tuple[int, int] = (1, 2), settings: ClusterSettings | None = None
) -> tuple[ClusterWorkers, list[str]]:
    notes: list[str] = []
    return ClusterWorkers(fleet, JOB, settings or ClusterSettings(), size, notes.append, fleet.clock), notes


def drive(made: ClusterWorkers, units: int) -> tuple[Counter[str], list[Lost]]:
    """Hand units out as a driver does; count receipts by node, and units that were given up."""
    made.facts()
    todo, way = [unit(number) for number in range(units)], 0
    receipts: Counter[str] = Counter()
    given_up: list[Lost] = []
    while todo or way:
        while todo and made.room() > 0:
            made.submit(todo.pop(0))
            way += 1
        for one in made.wait(1.0):
            way -= 1
            if isinstance(one, Receipt):
                receipts[one.node] += 1
            elif one.given_up:
                given_up.append(one)
            else:
                made.submit(one.unit)
                way += 1
    return receipts, given_up


def test_units_are_shared_out_and_every_one_ends_once() -> None:
    fleet = FakeFleet(["a", "b"])
    made, _ = workers(fleet)
    receipts, given_up = drive(made, 40)
    assert receipts.total() == 40
    assert set(receipts) == {"a", "b"}
    assert not given_up
    made.close()
    assert not any(one.alive for one in fleet.workers)


def test_a_worker_has_one_unit_and_another_waits_for_it() -> None:
    def busy(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "work":
            raise Never
        return well(worker, what, given)

    made, _ = workers(FakeFleet(["a"], busy), (1, 1))
    assert made.room() == 0
    made.facts()
    assert made.room() == 2
    made.submit(unit(1))
    made.submit(unit(2))
    assert made.room() == 0


def test_there_is_no_room_while_more_units_wait_than_workers_are_left_for() -> None:
    def dies(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "work":
            raise WorkerDied("died.") if worker.node == "a" else Never
        return well(worker, what, given)

    fleet = FakeFleet(["a", "b"], dies)
    made, _ = workers(fleet, (2, 2))
    made.facts()
    made.wait(1.0)
    fleet.places = ["b"]
    for number in range(made.room()):
        made.submit(unit(number))
    while not made.wait(1.0):
        pass
    assert made.alive() == {"b": 1}
    assert made.room() == 0


def test_a_run_goes_on_with_fewer_workers_than_it_began_with() -> None:
    def dies(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "work" and worker.node == "a":
            fleet.places = ["b"]
            raise WorkerDied("died.")
        return well(worker, what, given)

    fleet = FakeFleet(["a", "b"], dies)
    made, _ = workers(fleet, (2, 2))
    receipts, given_up = drive(made, 6)
    assert receipts == {"b": 6}
    fleet.now += 1000
    made.wait(1.0)
    assert not given_up


def test_a_unit_whose_worker_died_goes_to_another_node() -> None:
    died: list[str] = []

    def once(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "work" and given[0].key == "responses/3" and (not died or worker.node == died[0]):
            died.append(worker.node)
            raise WorkerDied("died.")
        return well(worker, what, given)

    receipts, given_up = drive(workers(FakeFleet(["a", "b"], once))[0], 8)
    assert receipts.total() == 8
    assert not given_up


def test_a_unit_that_kills_its_workers_is_given_up_and_the_others_are_done() -> None:
    tries: list[str] = []

    def deadly(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "work" and given[0].key == "responses/3":
            tries.append(worker.node)
            raise WorkerDied("died.")
        return well(worker, what, given)

    receipts, (lost,) = drive(workers(FakeFleet(["a", "b", "c"], deadly))[0], 8)
    assert receipts.total() == 7
    assert lost.unit.key == "responses/3"
    assert len(tries) == ClusterSettings().attempts


def test_a_worker_that_gives_no_sign_of_life_is_replaced() -> None:
    def silent(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if worker.node == "a" and what in ("work", "beat"):
            raise Never
        return well(worker, what, given)

    fleet = FakeFleet(["a", "b"], silent)
    made, _ = workers(fleet)
    made.facts()
    made.wait(1.0)
    made.submit(unit(1))
    made.submit(unit(2))
    found: list[Receipt | Lost] = []
    while len(found) < 2:
        found += made.wait(10.0)
    assert [one.node for one in found] == ["b", "a"]
    assert isinstance(found[1], Lost)
    assert "gave no sign of life for 120 s" in found[1].why
    assert 120 < fleet.now < 200
    made.wait(1.0)
    assert [one.alive for one in fleet.workers if one.node == "a"] == [False, True]


def test_a_worker_of_which_several_calls_end_at_once_is_lost_once() -> None:
    def node_dies(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if worker is fleet.workers[0] and what in ("work", "beat"):
            if fleet.now < 100 or len(worker.asked) < 4:
                raise Never
            raise WorkerDied("died.")
        return well(worker, what, given)

    fleet = FakeFleet(["a", "b"], node_dies)
    receipts, given_up = drive(workers(fleet)[0], 8)
    assert [call[0] for call in fleet.workers[0].asked] == ["hello", "load", "work", "beat"]
    assert receipts.total() == 8
    assert not given_up


def test_a_worker_whose_model_answers_nothing_more_is_replaced_and_a_slow_one_is_not() -> None:
    came = iter(range(10_000))

    def hangs(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "work":
            raise Never
        if what == "beat":
            return next(came) if worker.node == "slow" else 7
        return well(worker, what, given)

    fleet = FakeFleet(["slow", "hung"], hangs)
    made, _ = workers(fleet, (2, 2))
    made.facts()
    made.wait(1.0)
    made.submit(unit(1))
    made.submit(unit(2))
    found: list[Any] = []
    while not found:
        found = made.wait(100.0)
    assert [one.node for one in found] == ["hung"]
    assert "came no further for 1800 s" in found[0].why
    assert made.answer_count() > 0


def test_a_node_that_cannot_load_the_model_is_used_no_more() -> None:
    def lacks(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if worker.node == "bare" and what == "load":
            raise ModelError("There is no folder /models/x.")
        return well(worker, what, given)

    fleet = FakeFleet(["bare", "good", "good"], lacks)
    made, notes = workers(fleet)
    receipts, _ = drive(made, 6)
    assert set(receipts) == {"good"}
    assert notes == ["bare: There is no folder /models/x."]
    assert sum(one.node == "bare" for one in fleet.workers) == 1, "its place is kept, so that nothing starts there"


def test_a_node_whose_workers_died_in_a_row_is_used_again_once_another_succeeds_there() -> None:
    deaths: list[str] = []

    def some_die(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "work" and len(deaths) < 3:
            deaths.append(worker.node)
            raise WorkerDied("died.")
        if what == "work" and fleet.now < 50:
            raise Never
        return well(worker, what, given)

    fleet = FakeFleet(["a"] * 4 + ["b"], some_die)
    made, _ = workers(fleet, (5, 5), ClusterSettings(attempts=3))
    receipts, _ = drive(made, 40)
    assert receipts.total() == 40
    assert made.alive() == {"a": 4, "b": 1}


def test_a_model_that_no_node_can_load_ends_the_run_at_once() -> None:
    def lacks(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "load":
            raise ModelError("There is no folder /models/x.")
        return well(worker, what, given)

    fleet = FakeFleet(["a", "b"], lacks)
    made, _ = workers(fleet, (1, 4))
    with pytest.raises(ModelError, match=r"a: There is no folder /models/x|b: There is no folder /models/x"):
        made.facts()
    assert fleet.now < 5


def test_workers_that_always_die_end_the_run() -> None:
    def dies(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "load":
            raise WorkerDied("ran out of memory.")
        return well(worker, what, given)

    made, _ = workers(FakeFleet(["a", "b"], dies), (1, 2))
    with pytest.raises(RunError, match="a worker ran out of memory"):
        made.facts()


def test_places_that_no_node_has_are_said_and_waited_for_but_not_without_end() -> None:
    fleet = FakeFleet([])
    fleet.lacks = "No node of the cluster has the 8 GPUs of a worker (the most are 0 GPUs)"
    made, notes = workers(fleet)
    with pytest.raises(RunError, match=r"8 GPUs .* 0 of 1 started in 300 s"):
        made.facts()
    assert notes == [f"{fleet.lacks}: waiting 300 s for such a node."]


def test_a_node_with_another_version_or_another_model_is_refused() -> None:
    def other(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        return (worker.node, "0.0.1") if what == "hello" else well(worker, what, given)

    with pytest.raises(RunError, match=f"a: FaceValue 0.0.1 is installed there, {__version__} here"):
        workers(FakeFleet(["a"], other))[0].facts()

    def larger(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "load" and worker.node == "b":
            return ModelFacts("tiny", {"size": 2}, Capabilities(), (), {})
        return well(worker, what, given)

    made, notes = workers(FakeFleet(["a", "b"], larger))
    receipts, _ = drive(made, 4)
    assert set(receipts) == {"a"}
    assert notes == ["b: The model there is not that of other nodes (unlike: size)."]
    assert made.facts() == FACTS


def test_the_share_of_what_may_be_asked_a_minute_follows_the_number_of_workers() -> None:
    fleet = FakeFleet(["a", "b", "c", "d"])
    made, _ = workers(fleet, (1, 4))
    drive(made, 4)
    fleet.now += 100
    made.wait(0.1)
    shares = [call[1] for one in fleet.workers for call in one.asked if call[0] == "beat"]
    assert shares[-1] == 0.25


def test_stopping_tells_workers_and_hands_back_what_none_has_begun() -> None:
    stopped: list[str] = []

    def busy(worker: FakeWorker, what: str, given: tuple[Any, ...]) -> Any:
        if what == "stop":
            stopped.append(worker.node)
        if what == "work" and not stopped:
            raise Never
        return well(worker, what, given)

    made, _ = workers(FakeFleet(["a"], busy), (1, 1))
    made.facts()
    made.submit(unit(1))
    made.submit(unit(2))
    made.stop()
    assert made.room() == 0
    ended = [*made.wait(1.0), *made.wait(1.0)]
    assert [type(one) for one in ended] == [Lost, Receipt]
    assert isinstance(ended[0], Lost)
    assert ended[0].given_up
    assert ended[0].unit.key == "responses/2"
