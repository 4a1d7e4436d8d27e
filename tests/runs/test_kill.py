"""Runs that are killed, interrupted, or run out of disk: nothing stored is lost or asked twice."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from facevalue.runs import run
from facevalue.store import read_manifest, read_responses
from tests.runs import slow_run
from tests.runs.tiny import TinyModel, tiny_study

# A server that has imported everything once and forks: a fresh interpreter takes seconds, and here are many runs.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.runs.slow_run"])


class Run:
    """A run in another process, from the moment when it is about to ask."""

    def __init__(self, folder: Path, **given: float) -> None:
        self._out = folder.with_suffix(".out")
        self._out.unlink(missing_ok=True)
        self.process = PROCESSES.Process(target=slow_run.main, args=(folder, given), daemon=True)
        self.process.start()
        self.wait_for("started")

    def said(self) -> list[str]:
        return self._out.read_text().splitlines() if self._out.exists() else []

    def wait_for(self, line: str) -> None:
        wait(lambda: line in self.said())

    def wait_to_be_asking(self, folder: Path, before: int) -> None:
        wait(lambda: len(asked(folder)) > before or self.process.exitcode is not None)

    def send(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def summary(self) -> dict[str, Any]:
        self.process.join(120)
        assert self.process.exitcode == 0, self.said()
        summary: dict[str, Any] = json.loads(self.said()[-1])
        return summary


def wait(until: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def stored(folder: Path) -> set[tuple[int, int]]:
    if not (folder / "responses").is_dir():
        return set()
    return set(read_responses(folder).select("trial", "repeat").rows())


def asked(folder: Path) -> list[tuple[int, int]]:
    log = folder.with_suffix(".log")
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    pairs = [line.split() for line in lines if line.endswith("\n")]
    return [(int(trial), int(repeat)) for trial, repeat in pairs]


def test_killed_again_and_again_it_ends_with_the_same_table(tmp_path: Path) -> None:
    rng = random.Random(4)
    folder, killed = tmp_path / "run", 0
    safe: set[tuple[int, int]] = set()
    before = 0
    for attempt in range(9):
        session = Run(folder, delay=0.0005)
        if attempt < 8:
            if rng.random() < 0.7:  # else it dies while it is still looking at what is there
                session.wait_to_be_asking(folder, before)
            time.sleep(rng.uniform(0, 0.25))
            session.kill()
            killed += session.process.exitcode == -signal.SIGKILL
        else:
            assert session.summary()["complete"]
        log = asked(folder)
        assert not safe & set(log[before:]), "asked again although it was stored"
        now = stored(folder)
        assert safe <= now, "lost"
        safe, before = now, len(log)
    assert killed >= 4
    run(tiny_study(faces=400, prompts=3, seeds=slow_run.SEEDS), TinyModel(), tmp_path / "at once")
    assert read_responses(folder).equals(read_responses(tmp_path / "at once"))
    manifest = read_manifest(folder)
    assert manifest.end is not None
    assert manifest.counts.ok == 2400
    assert not list((folder / "responses").glob(".*"))


def test_a_polite_kill_ends_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    session = Run(folder, seconds=3600, rows=10**6, delay=0.005)
    wait(lambda: len(asked(folder)) >= 20)
    session.send(signal.SIGTERM)
    summary = session.summary()
    assert (summary["interrupted"], summary["complete"]) == (True, False)
    assert summary["asked"] == len(stored(folder)) == len(asked(folder)) > 0
    manifest = read_manifest(folder)
    assert manifest.end is None
    assert manifest.sessions[-1].end is not None
    assert manifest.counts.ok == summary["asked"]


def test_a_second_interrupt_stops_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    session = Run(folder, seconds=3600, hangs=1)
    session.wait_for("hanging")
    session.send(signal.SIGINT)
    time.sleep(0.3)
    assert session.process.is_alive()
    session.send(signal.SIGINT)
    assert session.summary()["asked"] == len(stored(folder)) == 10


def test_a_full_disk_is_said_and_keeps_what_was_stored(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    session = Run(folder, limit=20_000, seconds=3600, rows=50)
    session.process.join(60)
    assert session.process.exitcode == 1
    assert "Cannot write" in session.said()[-1]
    assert "Everything stored before is kept" in session.said()[-1]
    kept = stored(folder)
    assert len(kept) >= 200
    assert len(kept) % 50 == 0
    # What was in the journal alone when the disk was full is not lost either.
    skipped = run(tiny_study(faces=400, prompts=3, seeds=slow_run.SEEDS), TinyModel(), folder).skipped
    assert len(kept) <= skipped < len(kept) + 50
