"""Makings that are killed: no picture that was kept is lost or asked for again."""

import random
from collections import Counter
from pathlib import Path

import polars as pl

from facevalue.cli.actions.run_folders import StatusDocument, status
from facevalue.runs.makings.making import make
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify
from tests.generators.pictures import Maker, plan
from tests.runs import slow_making
from tests.runs.killing import asked, is_killed


def test_kills_at_random_moments_cost_the_picture_that_is_being_made_at_most(tmp_path: Path) -> None:
    folder, log, draws, kills = tmp_path / "made", tmp_path / "asked.log", random.Random(7), 0
    for _ in range(8):
        kills += is_killed(folder, log, draws, 1)
        document = status(folder).document
        assert isinstance(document, StatusDocument)
        assert document.replies >= len(set(asked(log))) - 1  # what waits in the journal counts as stored
        assert document.replies <= len(set(asked(log)))
    slow_making.main(folder, log)
    counts = Counter(asked(log))
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
