"""Makings in object storage that are killed: each picture is kept and noted at once, and none is asked for twice."""

import random
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from facevalue.generators.base import GeneratedPicture, PictureRequest
from facevalue.runs.makings.making import make
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify
from facevalue.store.objects import Objects
from facevalue.store.remote import listed_units
from facevalue.types import Status
from tests.generators.pictures import Maker, plan
from tests.runs import slow_making
from tests.runs.killing import asked, is_killed
from tests.s3_server import serving

pytest.importorskip("moto", reason="needs the package moto")


def test_kills_cost_what_is_on_its_way_though_no_unit_is_stored_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    log, draws, kills, url = tmp_path / "asked.log", random.Random(3), 0, "s3://audit/made"
    with serving() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        for _ in range(5):
            kills += is_killed(url, log, draws, 2, server.environment)
        assert kills >= 3
        assert not listed_units(Objects.at(f"{url}/making"))  # all 32 are one unit, which was never whole
        slow_making.main(url, log, server.environment)
        counts = Counter(asked(log))
        pictures = plan(cues=slow_making.CUES).table["image"].to_list()
        assert set(counts) == {*pictures}
        assert counts.total() <= len(pictures) + kills  # the one whose picture was on its way
        assert verify(StoredRun.open(url)).replies == len(pictures)
        maker, unbroken = Maker(), tmp_path / "unbroken"
        prepared = prepare_making(plan(cues=slow_making.CUES), "hiring", {}, unbroken, RunSettings())
        rows = make(prepared, maker, maker, SilentProgress()).pictures
        stored = Objects.at(url).get("manifest.parquet")
        assert stored is not None
        assert pl.read_parquet(stored[0]).equals(rows)


def test_a_note_stands_for_its_picture_alone_and_a_refusal_is_noted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    url = (tmp_path / "made").as_uri()
    prepared = prepare_making(plan(cues=()), "hiring", {}, url, RunSettings())

    def broken(request: PictureRequest) -> GeneratedPicture | None:
        if len(maker.asked) == 6:
            raise SystemError("killed")  # the gate stores what came; the unit is taken away below
        is_refused = request.factors["image"] == "f2"
        return GeneratedPicture(request.number, Status.REFUSED, error="no") if is_refused else None

    maker = Maker(broken)
    make(prepared, maker, maker, SilentProgress())
    for unit in (tmp_path / "made" / "making" / "responses").glob("*.parquet"):
        unit.unlink()  # as if the process had been killed before it was stored
    notes = sorted((tmp_path / "made" / "making" / "notes").glob("*.json"))
    assert len(notes) == 7  # all but the one at which the generator broke off
    pictures = sorted((tmp_path / "made" / "pictures").rglob("*.png"))
    pictures[0].unlink()
    notes[0].write_text("{")
    notes[1].write_text('{"status": "ok", "text": "[]"}')
    again = Maker()
    outcome = make(prepared, again, again, SilentProgress())
    assert (outcome.summary.asked, outcome.summary.refused, outcome.pictures.height) == (8, 1, 7)
    assert 3 <= len(again.asked) <= 4  # the one that broke off, two notes of nothing, and one of no picture
