"""Runs in object storage whose process is killed at a random moment, until they are complete."""

import multiprocessing
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from facevalue.runs.settings import RunSettings
from tests.runs.remote import go, in_folder
from tests.runs.tiny import TinyModel, tiny_study

if TYPE_CHECKING:
    from tests.faults.objects import Case

STUDY = tiny_study(faces=100, prompts=3, seeds=(1, 2))
UNIT = RunSettings(unit=60)
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.runs.remote"])


def drive(folder: Path) -> None:
    """Run, or go on, in a process of its own."""
    model = TinyModel(delay=0.001, log=folder.with_suffix(".log"))
    go(in_folder(folder), model, STUDY, UNIT)


def killed_at_random(place: Path, rng: random.Random, wanted: int) -> Iterator["Case"]:
    """Kill processes until so many have been."""
    from tests.faults.objects import outcome, rows

    whole_folder = place / "whole"
    go(in_folder(whole_folder), study=STUDY, settings=UNIT)
    whole, kills = rows(in_folder(whole_folder)), 0
    while kills < wanted:
        folder, own = place / "killed", 0
        while True:
            process = PROCESSES.Process(target=drive, args=(folder,), daemon=True)
            process.start()
            if own < 5:
                time.sleep(rng.uniform(0.1, 0.8))
                process.kill()
            process.join(120)
            if process.exitcode == 0:
                break
            own += 1
            assert own < 50
        kills += own
        lines = folder.with_suffix(".log").read_text().splitlines()
        asked = Counter((int(trial), int(repeat)) for trial, repeat in (line.split() for line in lines))
        yield outcome(in_folder(folder), whole, asked, own, 60)
        shutil.rmtree(folder)
        folder.with_suffix(".log").unlink()
