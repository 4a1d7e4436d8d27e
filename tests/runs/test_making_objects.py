"""Makings in object storage: pictures as objects, edits that stand in another unit than their sources, damage."""

from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import RunError
from facevalue.runs.makings.made_list import made_pictures, run_folder
from facevalue.runs.makings.making import make
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.makings.records import named_records
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify
from facevalue.store.album import path_of
from tests.generators.pictures import Maker, plan

CUES = ("cap", "scarf", "beard")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    return (tmp_path / "made").as_uri()


def made(url: str, maker: Maker, **settings: int) -> RunSummary:
    """Make pictures under a URL."""
    prepared = prepare_making(plan(cues=CUES), "hiring", {}, url, RunSettings(**settings))  # type: ignore[arg-type]
    return make(prepared, maker, maker, SilentProgress()).summary


def test_pictures_and_their_list_lie_under_the_url(url: str, tmp_path: Path) -> None:
    maker = Maker(ahead=3)
    assert made(url, maker).complete
    assert len(maker.asked) == 32
    rows = pl.read_parquet(tmp_path / "made" / "manifest.parquet")
    assert rows.height == 32
    assert all((tmp_path / "made" / path).is_file() for path in rows["path"])
    assert made(url, again := Maker()).asked == 0
    assert not again.asked
    assert verify(StoredRun.open(f"{url}/making")).replies == 32
    assert verify(StoredRun.open(url)).replies == 32  # a URL of pictures stands for the run that made them
    (tmp_path / "made" / rows["path"][3]).write_bytes(b"else")
    with pytest.raises(RunError, match=r"1 of 32 pictures are missing or damaged: f3 "):
        verify(StoredRun.open(url))


def test_edits_whose_sources_are_in_a_later_unit_are_made_all_the_same(url: str) -> None:
    maker = Maker()
    assert made(url, maker, unit=3).errors == 0
    assert len(maker.asked) == 32
    prepared = prepare_making(plan(cues=CUES), "hiring", {}, url, RunSettings(unit=3))
    assert made_pictures(prepared, named_records(run_folder(prepared.run))).height == 32


def test_a_session_that_ended_goes_on(url: str) -> None:
    def answer(request: object) -> None:
        if len(maker.asked) == 11:
            raise KeyboardInterrupt

    maker = Maker(answer)
    assert made(url, maker, unit=4).interrupted
    again = Maker()
    made(url, again, unit=4)
    asked = [str(request.factors["image"]) for request in (*maker.asked[:-1], *again.asked)]
    assert sorted(asked) == sorted(plan(cues=CUES).table["image"])


def test_no_album_holds_what_is_no_digest() -> None:
    for digest, kind in (("../../etc/passwd", "image/png"), ("ab" * 32, "text/html")):
        with pytest.raises(RunError, match="no album can hold"):
            path_of(digest, kind)
