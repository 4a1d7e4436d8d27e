"""The mirror of a run in object storage: each object brought once, nothing believed that is not as written."""

from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import RunError
from facevalue.models import load
from facevalue.runs import RunSettings, run
from facevalue.runs.joined_runs import estimate
from facevalue.runs.storage.driver import drive
from facevalue.runs.storage.mirror import copy_run, mirror_run
from facevalue.runs.storage.units import Job
from facevalue.runs.storage.worker import LocalWorkers, UnitWorker
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify
from facevalue.store import read_manifest
from facevalue.store.objects import Objects
from facevalue.store.remote import listed_units
from facevalue.studies import build
from tests.runs.remote import Notes, in_folder

STUDY = build("stylisticbias", {"faces": "1M,1F", "attributes": ["eyewear"]})
SETTINGS = RunSettings(unit=300)


def ask(objects: Objects) -> None:
    model = load("sim/default")
    job = Job(objects.url, STUDY.name, STUDY.options, model.name)
    drive(STUDY, SETTINGS, objects, lambda came: LocalWorkers(UnitWorker(job, STUDY, model), came), Notes())


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Objects:
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    objects = in_folder(tmp_path / "store")
    ask(objects)
    return objects


def without_times(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(~pl.col("measure").str.contains("drift"))


def test_estimates_are_those_of_a_run_in_a_folder_to_the_last_bit(stored: Objects, tmp_path: Path) -> None:
    run(STUDY, load("sim/default"), tmp_path / "folder")
    one, two = StoredRun.open(tmp_path / "folder"), StoredRun.open(stored.url)
    tables = [without_times(estimate([opened])[0]) for opened in (one, two)]
    assert tables[0].height > 50
    assert tables[0].equals(tables[1])
    assert verify(two).replies == 1_800


def test_each_object_is_brought_once(stored: Objects) -> None:
    folder = mirror_run(stored.url)
    before = {path: path.stat().st_mtime_ns for path in (folder / "responses").iterdir()}
    assert len(before) == 6
    assert mirror_run(stored.url) == folder
    assert {path: path.stat().st_mtime_ns for path in (folder / "responses").iterdir()} == before


def test_what_was_damaged_or_emptied_in_the_mirror_is_brought_again(stored: Objects) -> None:
    folder = mirror_run(stored.url)
    table = without_times(estimate([StoredRun.open(stored.url)])[0])
    first, second = sorted((folder / "responses").iterdir())[:2]
    data = bytearray(first.read_bytes())
    data[100] ^= 8
    first.write_bytes(data)
    second.write_bytes(b"")
    assert without_times(estimate([StoredRun.open(stored.url)])[0]).equals(table)


def test_a_fetched_run_is_a_run_folder_that_goes_on(stored: Objects, tmp_path: Path) -> None:
    copy_run(stored.url, tmp_path / "here")
    summary = run(STUDY, load("sim/default"), tmp_path / "here")
    assert (summary.asked, summary.skipped) == (0, 1_800)
    with pytest.raises(RunError, match="is not empty"):
        copy_run(stored.url, tmp_path / "here")


def _change(stored: Objects, what: str) -> str:
    """Do something to the second object, and return its key."""
    first, second = (one.key for one in listed_units(stored)[:2])
    folder = Path(stored.url.removeprefix("file://"))
    data = bytearray((folder / second).read_bytes())
    if what == "flipped":
        data[100] ^= 8
    elif what == "cut":
        del data[-200:]
    elif what == "mixed up":
        data = bytearray((folder / first).read_bytes())
    if what == "missing":
        (folder / second).unlink()
    else:
        (folder / second).write_bytes(data)
    return second


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("flipped", "is damaged: its content is not what was written"),
        ("cut", "is damaged: it is cut short"),
        ("mixed up", "was stored as"),
        ("missing", "listed in run.json, but not there"),
    ],
)
@pytest.mark.parametrize("seen", [True, False], ids=["brought before", "new"])
def test_what_is_not_as_it_was_written_is_named_and_nothing_measured(
    stored: Objects, what: str, says: str, seen: bool
) -> None:
    if seen:
        mirror_run(stored.url)
    key = _change(stored, what)
    with pytest.raises(RunError, match=f"^{stored.url}/{key} ?:? ?{says}") as told:
        StoredRun.open(stored.url)
    assert "\n" not in str(told.value)


def test_a_damaged_object_that_was_deleted_is_asked_again(stored: Objects) -> None:
    before = StoredRun.open(stored.url)
    table = without_times(estimate([before])[0])
    Path(stored.url.removeprefix("file://"), _change(stored, "missing")).unlink(missing_ok=True)
    ask(stored)
    assert without_times(estimate([StoredRun.open(stored.url)])[0]).equals(table)


def test_the_table_of_pictures_of_another_run_is_named(stored: Objects) -> None:
    stored.overwrite("manifest.parquet", b"another")
    with pytest.raises(RunError, match=r"manifest.parquet is not what the run began with"):
        StoredRun.open(stored.url)


def test_a_new_run_at_the_same_place_has_a_mirror_of_its_own(stored: Objects) -> None:
    first = mirror_run(stored.url)
    folder = Path(stored.url.removeprefix("file://"))
    for path in [*folder.glob("*.json"), *folder.glob("responses/*")]:
        path.unlink()
    ask(stored)
    assert mirror_run(stored.url) != first
    assert read_manifest(mirror_run(stored.url)).counts.ok == 1_800
