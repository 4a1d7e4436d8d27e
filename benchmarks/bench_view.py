"""How long the viewer takes to open a run of five million answers, and to answer each kind of click.

Run with `python -m benchmarks.bench_view [FACES [FOLDER]]`: 274M,226F faces for StylisticBias make five million
answers, by a simulated respondent, in a folder that is removed in the end, or stays in FOLDER for the next time;
estimates are taken before. The viewer is asked through its web application, in a fresh process on two cores, each
kind of click at places of its own each time. Processor time is what counts: wall time is what others do, too.
"""

import sys
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks._harness import Result, at_most, finish, fresh, peak_mb

CLICKS = 9
"""Clicks of each kind."""
_TOKEN, _PORT = "bench", 8000


def simulate(folder: str, faces: str) -> float:
    """Ask a simulated respondent, and take the estimates; number of answers."""
    from facevalue import studies
    from facevalue.models import load
    from facevalue.runs import RunSettings, run
    from facevalue.runs.kept_estimates import take_estimates
    from facevalue.runs.stored_run import StoredRun

    place = Path(folder) / "run"
    if not place.exists():
        run(studies.build("stylisticbias", {"faces": faces}), load("sim/default"), place, RunSettings(check=False))
    _, tallies = take_estimates([StoredRun.open(place)])
    return float(tallies[str(place)].asked)


def clicks(folder: str) -> dict[str, float]:
    """Seconds until the viewer is open, medians of each kind of click, and peak memory in MB after some."""
    import resource
    import shutil

    import httpx  # noqa: F401 - of the client that asks, which is not the viewer's

    begun, worked = time.perf_counter(), time.process_time()
    from starlette.testclient import TestClient

    import facevalue.cli.actions.view  # noqa: F401 - as `facevalue view` does
    from facevalue.runs.stored_run import StoredRun
    from facevalue.store.remote import cached_folder
    from facevalue.view.app import HOST, PATIENCE, application
    from facevalue.view.open_runs import OpenedRuns

    run = StoredRun.open(Path(folder) / "run")
    shutil.rmtree(cached_folder("sums", run.place, run.place), ignore_errors=True)  # of an earlier time
    runs = OpenedRuns([run], patience=PATIENCE)
    client = TestClient(application(runs, _TOKEN, _PORT), base_url=f"http://{HOST}:{_PORT}")
    client.get(f"/?token={_TOKEN}")

    def get(address: str) -> Any:
        while (answer := client.get(address)).status_code == 202:  # it is being made: the page says so, and asks again
            time.sleep(0.02)
        assert answer.status_code == 200, answer.text[:300]
        return None if address.startswith("/picture") else answer.json()

    get("/api/head")
    out = {"open": time.process_time() - worked, "open, wall time": time.perf_counter() - begun}

    def timed(name: str, *addresses: str) -> None:
        walls, processors = [], []
        for address in addresses:
            start, worked = time.perf_counter(), time.process_time()
            get(address)
            walls.append(time.perf_counter() - start)
            processors.append(time.process_time() - worked)
        out[name], out[f"{name}, wall time"] = median(processors), median(walls)

    timed("first screen, first time", "/api/lead")
    timed("first screen", *["/api/lead"] * CLICKS)
    timed("estimates, first time", "/api/estimates?n=50")
    timed("estimates", *(f"/api/estimates?sort=value&measure=shift&from={50 * page}&n=50" for page in range(CLICKS)))
    out["memory of estimates"] = peak_mb()
    timed("answers, first time", "/api/answers?n=50")
    total = get("/api/answers?n=1")["total"]
    random = Random(1)
    timed("answers", *(f"/api/answers?n=50&from={random.randrange(total - 50)}" for _ in range(CLICKS)))
    levels = [level["level"] for level in get("/api/answers?n=1")["facets"]["variation"]][:CLICKS]
    timed("answers by a factor", *(f"/api/answers?n=50&F.variation={level}" for level in levels))
    words = [f"/api/answers?n=50&q={words}" for words in ("Option A", "(b)", "sorry", "I cannot")]
    timed("answers with words", *words)
    for address in words:
        start = time.perf_counter()
        while get(address)["pending"]:
            time.sleep(0.02)
        out["words, until all replies were looked through, first time"] = time.perf_counter() - start
    timed("trial", *(f"/api/trial?trial={random.randrange(total // 4)}" for _ in range(CLICKS)))
    timed("picture", *(f"/picture/0/{random.randrange(total // 4)}-0?small=1" for _ in range(CLICKS)))
    timed("missing, first time", "/api/missing")
    timed("missing", *["/api/missing"] * CLICKS)
    out["memory of answers"] = peak_mb()
    keys = [row["key"] for row in get("/api/estimates?measure=shift&n=50")["rows"]][:CLICKS]
    start = time.perf_counter()
    while get(f"/api/cell?key={keys[0]}")["cluster"]["pending"]:
        time.sleep(0.02)
    out["sums of units, first time"] = time.perf_counter() - start
    timed("estimate", *(f"/api/cell?key={key}" for key in keys))
    beside = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    return out | {"memory of all": peak_mb(), "memory of beside": beside}


def main() -> None:
    """Run all cases."""
    faces = sys.argv[1] if len(sys.argv) > 1 else "274M,226F"
    with tempfile.TemporaryDirectory() as passing:
        folder = sys.argv[2] if len(sys.argv) > 2 else passing
        answers = fresh(simulate, folder, faces, cores=2)
        measured = fresh(clicks, folder, cores=2)
    opened, waited = measured.pop("open"), measured.pop("open, wall time")
    memory = {name: measured.pop(f"memory of {name}") for name in ("estimates", "answers", "all", "beside")}
    finish(
        "view",
        "The viewer of a run (simulated), two cores, processor time",
        [
            Result("answers", answers, "answers"),
            at_most("open", opened, "s", 2),
            Result("open, wall time", waited, "s"),
            *(
                Result(name, 1000 * value, "ms")
                if "first time" in name or "wall" in name
                else at_most(name, 1000 * value, "ms", 300)
                for name, value in measured.items()
            ),
            Result("peak memory with first screen and estimates", memory["estimates"], "MB"),
            Result("peak memory with answers, too", memory["answers"], "MB"),
            at_most("peak memory with sums of units, too", memory["all"], "MB", 500),
            Result("peak memory of the process that adds up sums of units, and ends", memory["beside"], "MB"),
        ],
    )


if __name__ == "__main__":
    main()
