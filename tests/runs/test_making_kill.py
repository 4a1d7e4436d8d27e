"""Makings that are killed: no picture that was kept is lost or asked for again."""

import multiprocessing
import random
import time
from collections import Counter
from pathlib import Path

import polars as pl

from facevalue.cli.status import StatusDocument, status
from facevalue.runs.making import make
from facevalue.runs.prepared_making import prepare_making
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from facevalue.runs.stored import StoredRun
from facevalue.runs.verify import verify
from tests.generators.pictures import Maker, plan
from tests.runs import slow_making

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.runs.slow_making"])


def asked(folder: Path) -> list[str]:
    """Pictures that were asked for, by all processes."""
    log = folder.with_suffix(".log")
    return log.read_text().split() if log.exists() else []


def test_kills_at_random_moments_cost_the_picture_that_is_being_made_at_most(tmp_path: Path) -> None:
    folder, draws, kills = tmp_path / "made", random.Random(7), 0
    for _ in range(8):
        before = len(asked(folder))
        process = PROCESSES.Process(target=slow_making.main, args=(folder, folder.with_suffix(".log")), daemon=True)
        process.start()
        deadline = time.monotonic() + 60
        while len(asked(folder)) == before and process.exitcode is None and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(draws.uniform(0.0, 0.1))
        if process.exitcode is None:
            process.kill()
            kills += 1
        process.join()
        document = status(folder).document
        assert isinstance(document, StatusDocument)
        assert document.replies >= len(set(asked(folder))) - 1  # what waits in the journal counts as stored
        assert document.replies <= len(set(asked(folder)))
    slow_making.main(folder, folder.with_suffix(".log"))
    counts = Counter(asked(folder))
    pictures = plan(cues=slow_making.CUES).table["image"].to_list()
    assert kills >= 3
    assert set(counts) == {*pictures}
    assert counts.total() <= len(pictures) + kills  # the one whose picture was on its way
    assert verify(StoredRun.open(folder)).replies == len(pictures)
    other, maker = tmp_path / "unbroken", Maker()
    make(
        prepare_making(plan(cues=slow_making.CUES), "hiring", {}, other, RunSettings()), maker, maker, SilentProgress()
    )
    rows = [pl.read_parquet(place / "manifest.parquet") for place in (folder, other)]
    assert rows[0].equals(rows[1])  # names of files are digests: the pictures are the same
