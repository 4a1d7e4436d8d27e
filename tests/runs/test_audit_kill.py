"""An audit that is killed anywhere goes on as a whole, and asks nothing twice that was stored."""

import multiprocessing
import random
import signal
import time
from pathlib import Path

import pytest

from facevalue.runs.audits.folder import read_audit, run_place
from facevalue.store import read_manifest, read_responses
from tests.runs import slow_audit
from tests.runs.own_studies import study_file

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.runs.slow_audit"])
NAMES = ("kind", "warm")
Pairs = set[tuple[int, int]]


def stored(folder: Path) -> Pairs:
    return set(read_responses(folder).select("trial", "repeat").rows()) if (folder / "responses").is_dir() else set()


def asked(log: Path) -> list[tuple[int, int]]:
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    pairs = [line.split() for line in lines if line.endswith("\n")]
    return [(int(trial), int(repeat)) for trial, repeat in pairs]


@pytest.mark.slow
def test_killed_again_and_again_an_audit_ends_as_one_that_never_was(tmp_path: Path) -> None:
    files = (study_file(tmp_path, "kind", 120), study_file(tmp_path, "warm", 120, traits=2))
    folder = tmp_path / "audit"
    rng, killed = random.Random(5), 0
    safe: dict[str, Pairs] = {name: set() for name in NAMES}
    before = dict.fromkeys(NAMES, 0)
    for attempt in range(60):
        process = PROCESSES.Process(target=slow_audit.main, args=(folder, files), daemon=True)
        process.start()
        if attempt < 6:
            deadline = time.monotonic() + rng.uniform(0.4, 1.6)
            while process.is_alive() and time.monotonic() < deadline:
                time.sleep(0.01)
            process.kill()
        process.join(120)
        killed += process.exitcode == -signal.SIGKILL
        for name in NAMES:
            run = folder / "runs" / name
            log = asked(tmp_path / f"{name}.log")
            assert not safe[name] & set(log[before[name] :]), "asked again although it was stored"
            now = stored(run)
            assert safe[name] <= now, "lost"
            safe[name], before[name] = now, len(log)
        if process.exitcode == 0:
            break
    assert killed >= 3
    at_once = tmp_path / "once" / "audit"
    at_once.parent.mkdir()
    assert slow_audit.audited(at_once, files)
    record, expected = read_audit(folder), read_audit(at_once)
    assert record.planned
    assert record.ended is not None
    assert record.studies == expected.studies
    for name in NAMES:
        run, other = (Path(run_place(place, name)) for place in (folder, at_once))
        assert read_responses(run).sort("trial", "repeat").equals(read_responses(other).sort("trial", "repeat"))
        assert read_manifest(run).sample == record.studies[NAMES.index(name)].sample
        assert read_manifest(run).end is not None
