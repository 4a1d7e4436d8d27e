"""`python -m tests.faults.objects --out docs/results/object-faults.csv`: runs in object storage that are killed.

Most kills are played: the process does nothing more at the store from some operation on, before or after it was done.
A share is real: SIGKILL to a process that writes to `file://`.
"""

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import polars as pl
from obstore.store import MemoryStore

from facevalue.errors import FaceValueError
from facevalue.parquet import read_table_of
from facevalue.runs.settings import RunSettings
from facevalue.store import lease
from facevalue.store.objects import Objects
from facevalue.store.remote import listed_units
from facevalue.types import Request, Response
from tests.faults.killed_driver import killed_at_random
from tests.runs.remote import go
from tests.runs.tiny import Reply, TinyModel, keys, mixed, tiny_study
from tests.store.faulty import URL, Faulty, Killed, Mortal

STUDY = tiny_study(faces=60, prompts=3, seeds=(1, 2))
UNIT = RunSettings(unit=30)
RELEASED = b'{"released": true}'
GOOD = "nothing lost, nothing twice"


class Case(NamedTuple):
    """What became of one run."""

    kills: int
    again: int
    """Requests that were asked more than once, counted each time."""
    outcome: str


def rows(objects: Objects) -> pl.DataFrame:
    """Every stored row."""
    found = [objects.get(one.key) for one in listed_units(objects)]
    tables = [read_table_of(one[0]).drop("latency_ms", "at") for one in found if one is not None]
    return pl.concat(tables).sort("trial", "repeat")


def outcome(objects: Objects, whole: pl.DataFrame, asked: Counter[tuple[int, int]], kills: int, unit: int) -> Case:
    """Compare what is stored with a run that nothing happened to."""
    found, again = rows(objects), asked.total() - len(asked)
    if found.select("trial", "repeat").is_duplicated().any():
        what = "stored twice"
    elif not found.equals(whole):
        what = "another table"
    elif again > kills * unit:
        what = "more asked again than was in flight"
    else:
        what = GOOD
    return Case(kills, again, what)


def played(make: Callable[[], Objects], rng: random.Random, wanted: int) -> Iterator[Case]:
    """Runs whose processes end at an operation of the store, until so many have."""
    objects = Objects(URL, MemoryStore())
    go(objects, study=STUDY, settings=UNIT)
    whole, kills = rows(objects), 0
    while kills < wanted:
        stored, asked, own = make(), Counter[tuple[int, int]](), 0
        while True:
            model = TinyModel()
            mortal = Mortal(stored._store, rng.randrange(1, 60), before=rng.random() < 0.5, url=stored.url)
            try:
                done = go(mortal, model, STUDY, UNIT)
            except Killed:
                own += 1
                stored.overwrite(lease.LEASE, RELEASED)  # as of a process that this machine sees to be dead
            else:
                assert done.complete
                break
            finally:
                asked.update(keys(model.asked))
        kills += own
        yield outcome(stored, whole, asked, own, 30)


def failing(rng: random.Random, runs: int) -> Iterator[Case]:
    """Runs at a store of whose operations 5% fail, half of them after they were done."""
    objects = Objects(URL, MemoryStore())
    go(objects, study=STUDY, settings=UNIT)
    whole = rows(objects)
    for _ in range(runs):
        store, model = MemoryStore(), TinyModel()
        go(Faulty(store, share=0.05, seed=rng.randrange(2**32)), model, STUDY, UNIT)
        yield outcome(Objects(URL, store), whole, Counter(keys(model.asked)), 0, 30)


def two_drivers(rng: random.Random, runs: int) -> Iterator[Case]:
    """Runs that a second driver takes over while the first one, believed dead, goes on to the end."""
    objects = Objects(URL, MemoryStore())
    go(objects, study=STUDY, settings=UNIT)
    whole = rows(objects)
    for _ in range(runs):
        store, asked = MemoryStore(), Counter[tuple[int, int]]()
        at, first = rng.randrange(360), TinyModel()

        def second(store: MemoryStore = store, asked: Counter[tuple[int, int]] = asked) -> None:
            model = TinyModel()
            taken = Objects(URL, store)
            taken.overwrite(lease.LEASE, RELEASED)
            go(taken, model, STUDY, UNIT)
            asked.update(keys(model.asked))

        first = TinyModel(_then(at, second))
        with suppress(FaceValueError):  # it is told that another drives the run
            go(Objects(URL, store), first, STUDY, UNIT)
        asked.update(keys(first.asked))
        yield outcome(Objects(URL, store), whole, asked, 1, 60)


def _then(at: int, what: Callable[[], None]) -> Reply:
    """Do something before one answer."""
    count = iter(range(10**9))

    def reply(request: Request) -> Response:
        if next(count) == at:
            what()
        return mixed(request)

    return reply


def main() -> int:
    """Run all kinds, print and write the table; the exit status says whether everything held."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.objects")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--kills", type=int, default=450, help="of each store that are played")
    parser.add_argument("--real", type=int, default=100, help="processes that are killed")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    table = []
    with tempfile.TemporaryDirectory() as place:
        kinds: dict[str, Iterator[Case]] = {
            "process ends at one operation of the store, memory": played(_memory, rng, asked.kills),
            "process ends at one operation of the store, file": played(lambda: _folder(place), rng, asked.kills),
            "5% of operations fail, half of them after they were done": failing(rng, 20),
            "a second driver, while the first goes on": two_drivers(rng, 20),
            "SIGKILL at a random moment, file": killed_at_random(Path(place), rng, asked.real),
        }
        for name, cases in kinds.items():
            found = list(cases)
            table.append(
                {
                    "fault": name,
                    "runs": len(found),
                    "kills": sum(case.kills for case in found),
                    "requests asked again": sum(case.again for case in found),
                    GOOD: sum(case.outcome == GOOD for case in found),
                    "something else": sum(case.outcome != GOOD for case in found),
                }
            )
            print(table[-1], {case.outcome for case in found} - {GOOD} or "", flush=True)
    frame = pl.DataFrame(table)
    if asked.out is not None:
        frame.write_csv(asked.out)
    return int(frame["something else"].sum() > 0)


def _memory() -> Objects:
    return Objects(URL, MemoryStore())


def _folder(place: str) -> Objects:
    folder = Path(place) / "store"
    shutil.rmtree(folder, ignore_errors=True)
    return Objects.at(folder.as_uri(), make=True)


if __name__ == "__main__":
    sys.exit(main())
