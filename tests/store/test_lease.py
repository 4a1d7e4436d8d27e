"""The lease of a run: one driver at a time."""

import json
import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from obstore.store import MemoryStore

from facevalue.errors import RunError
from facevalue.store import lease as module
from facevalue.store.lease import LEASE, Lease
from facevalue.store.objects import Objects
from tests.store.faulty import URL


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Objects:
    monkeypatch.setattr(module, "TERM", 0.5)
    return Objects(URL, MemoryStore())


def text(objects: Objects) -> dict[str, object]:
    found = objects.get(LEASE)
    assert found is not None
    facts: dict[str, object] = json.loads(found[0])
    return facts


def test_a_second_driver_is_told_who_holds_it(objects: Objects) -> None:
    with Lease(objects, lambda note: None), pytest.raises(RunError, match=f"driven by process {os.getpid()} on"):
        Lease(objects, lambda note: None).__enter__()
    assert text(objects)["released"]


def test_it_is_renewed_for_as_long_as_it_is_held(objects: Objects) -> None:
    with Lease(objects, lambda note: None) as lease:
        until = time.monotonic() + 5
        while text(objects)["renewed"] < 8 and time.monotonic() < until:  # type: ignore[operator]
            assert not lease.lost
            time.sleep(0.02)
        assert text(objects)["renewed"] >= 8  # type: ignore[operator]


def test_one_that_is_no_longer_renewed_is_taken_after_its_term(objects: Objects) -> None:
    """Only on the taker's own clock: what the other wrote says nothing of when."""
    notes: list[str] = []
    objects.create(LEASE, json.dumps({"holder": "gone", "host": "elsewhere", "pid": 7, "at": "2999-01-01"}).encode())
    began = time.monotonic()
    with Lease(objects, notes.append) as lease:
        assert not lease.lost
        assert time.monotonic() - began >= 0.5
    assert notes == ["process 7 on elsewhere was driving this run: waiting 0.5 s to see whether it still does."]


def test_that_of_a_dead_process_of_this_machine_is_taken_at_once(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TERM", 3600.0)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    facts = {"holder": "gone", "host": "here", "machine": module._machine(), "pid": dead.pid}
    objects.create(LEASE, json.dumps(facts).encode())
    with Lease(objects, lambda note: None) as lease:
        assert not lease.lost


def test_who_loses_it_sees_so_and_leaves_it_alone(objects: Objects) -> None:
    with Lease(objects, lambda note: None) as lease:
        found = objects.get(LEASE)
        assert found is not None
        objects.overwrite(LEASE, json.dumps({"holder": "another", "host": "elsewhere", "pid": 7}).encode())
        until = time.monotonic() + 5
        while not lease.lost and time.monotonic() < until:
            time.sleep(0.02)
        assert lease.lost
    assert text(objects)["holder"] == "another"


def test_a_store_that_is_away_for_longer_than_the_term_costs_no_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TERM", 0.2)
    away = [False]

    class Away(Objects):
        def _ask(self, *given: Any, **more: Any) -> Any:
            if away[0]:
                raise RunError("The store cannot be reached.")
            return super()._ask(*given, **more)

    objects = Away(URL, MemoryStore())
    with Lease(objects, lambda note: None) as lease:
        away[0] = True
        time.sleep(0.6)
        away[0] = False
        before = text(objects)["renewed"]
        until = time.monotonic() + 5
        while text(objects)["renewed"] == before and time.monotonic() < until:
            time.sleep(0.02)
        assert text(objects)["renewed"] != before
        assert not lease.lost


def test_of_many_at_once_one_has_it(objects: Objects) -> None:
    inside, most, refused = [0], [0], [0]
    lock = threading.Lock()

    def drive() -> None:
        try:
            with Lease(objects, lambda note: None):
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                time.sleep(1.2)
                with lock:
                    inside[0] -= 1
        except RunError:
            with lock:
                refused[0] += 1

    threads = [threading.Thread(target=drive) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (most[0], refused[0]) == (1, 5)


def test_damage_is_no_holder(objects: Objects) -> None:
    objects.create(LEASE, b"\xff not json")
    with Lease(objects, lambda note: None) as lease:
        assert not lease.lost


def test_a_store_that_does_not_show_what_is_written_is_one_sentence(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "get", lambda _: None)
    with pytest.raises(RunError, match="does not show what is written there"):
        Lease(objects, lambda note: None).__enter__()
