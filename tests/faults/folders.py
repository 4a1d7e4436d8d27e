"""Runs that end at a file operation, and go on."""

import contextlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import RunError
from facevalue.runs import RunSettings, run
from facevalue.store import read_responses
from facevalue.store.shards import check_folder
from facevalue.types import Request
from tests.faults.disk import Dead, Disk
from tests.runs.test_kill import Run, asked
from tests.runs.tiny import TinyModel, mixed, tiny_study

STUDY = tiny_study(faces=10, prompts=3, seeds=(1, 2))
SMALL = RunSettings(flush_rows=7, flush_seconds=3600, journal_seconds=0)
IN_FLIGHT = 1
"""Requests that the model is answering when the process dies."""


def table(folder: Path) -> pl.DataFrame:
    return read_responses(folder).drop("latency_ms")


def operations(place: Path) -> int:
    """File operations of a run in one go."""
    disk = Disk(place / "counted", "kill", -1, random.Random(0))
    with pytest.MonkeyPatch.context() as patch:
        disk.install(patch)
        run(STUDY, TinyModel(), place / "counted", SMALL)
    return disk.count


def _each(kind: str, rng: random.Random, place: Path) -> Iterator[str]:
    run(STUDY, TinyModel(), place / "whole", SMALL)
    whole = table(place / "whole")
    for at in range(operations(place)):
        folder = place / f"{kind}-{at}"
        first, second = TinyModel(), TinyModel()
        with pytest.MonkeyPatch.context() as patch:
            Disk(folder, kind, at, rng).install(patch)
            with contextlib.suppress(Dead, RunError):
                run(STUDY, first, folder, SMALL)
        run(STUDY, second, folder, SMALL)
        check_folder(folder)
        yield _outcome(whole, table(folder), first, second, power=kind == "power")
        shutil.rmtree(folder)


def _outcome(whole: pl.DataFrame, now: pl.DataFrame, first: TinyModel, second: TinyModel, *, power: bool) -> str:
    if not now.equals(whole):
        return "another table"
    again = set(_keys(first.asked)) & set(_keys(second.asked))
    if len(again) > IN_FLIGHT and not power:  # what was not forced to the disk goes with the power
        return f"{len(again)} asked again"
    return "as without the fault"


def _keys(requests: list[Request]) -> list[tuple[int, int]]:
    return [(request.trial, request.repeat) for request in requests]


def killed(rng: random.Random, cases: int, place: Path) -> Iterator[str]:
    """Die at every operation once."""
    return _each("kill", rng, place)


def refused(rng: random.Random, cases: int, place: Path) -> Iterator[str]:
    """Every operation fails once."""
    return _each("error", rng, place)


def cut(rng: random.Random, cases: int, place: Path) -> Iterator[str]:
    """The power goes at every operation once."""
    return _each("power", rng, place)


def killed_at_random(rng: random.Random, cases: int, place: Path) -> Iterator[str]:
    """Kill a process that runs, again and again, until it has ended."""
    study = tiny_study(faces=400, prompts=3, seeds=(1, 2))
    run(study, TinyModel(mixed), place / "whole")
    whole, killed = table(place / "whole"), 0
    while killed < cases:
        folder = place / f"run-{killed}"
        while True:
            child = Run(folder, delay=0.002, rows=100)
            child.wait_to_be_asking(folder, len(asked(folder)))
            child.process.join(rng.uniform(0.05, 0.6))
            if child.process.exitcode is not None:
                break
            child.kill()
            killed += 1
            yield (
                "as without the fault"
                if table(folder).join(whole, on=["trial", "repeat"], how="anti").is_empty()
                else "a stray row"
            )
        yield "as without the fault" if table(folder)["trial"].equals(whole["trial"]) else "another table"
        shutil.rmtree(folder)
