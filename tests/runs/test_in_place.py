"""Runs in object storage that are looked at where they lie: what is transferred, and that it says the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from facevalue.annotations.scores import ANNOTATIONS
from facevalue.errors import RunError
from facevalue.runs import RunSettings, kept_estimates
from facevalue.runs.kept_estimates import digest_of_run, take_estimates
from facevalue.runs.storage.driver import drive
from facevalue.runs.storage.in_place import bring_run, describe_unchecked, opened_in_place
from facevalue.runs.storage.mirror import mirror_run
from facevalue.runs.storage.units import Job
from facevalue.runs.storage.worker import LocalWorkers, UnitWorker
from facevalue.runs.stored_run import StoredRun
from facevalue.store import ranges
from facevalue.store.files import ESTIMATES, RESPONSES_FOLDER
from facevalue.store.objects import ListedObject, Objects
from facevalue.store.reader import read_responses, scan_stored
from facevalue.store.remote import unit_digest
from facevalue.store.shards import shard_paths
from facevalue.studies import build
from facevalue.types import Request, Response, Status
from facevalue.view.documents import document, plain
from facevalue.view.open_runs import OpenedRuns
from tests.runs.remote import Notes
from tests.runs.tiny import TinyModel
from tests.s3_server import serving

URL = "s3://audit/run"


def wordy(request: Request) -> Response:
    text = "(a) " if request.trial % 3 else "I am sorry, "
    text += Random(request.trial).randbytes(1_500).hex()
    return Response(request.trial, request.repeat, Status.OK, text, None, 10, 2, 1.0)


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """An S3 server that holds a run of 8 units with long replies."""
    with serving() as served, pytest.MonkeyPatch.context() as environment:
        for name, value in served.environment.items():
            environment.setenv(name, value)
        study, model = build("stylisticbias", {"faces": "1M,1F", "attributes": ["eyewear", "makeup"]}), TinyModel(wordy)
        job = Job(URL, study.name, study.options, model.name)
        settings = RunSettings(unit=300)
        drive(study, settings, Objects.at(URL), lambda came: LocalWorkers(UnitWorker(job, study, model), came), Notes())
        yield served.environment


@pytest.fixture
def transferred(server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of each read of the store, with a cache of its own."""
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    out: list[int] = []
    for name in ("get", "part", "tail"):
        monkeypatch.setattr(Objects, name, counted(getattr(Objects, name), out))
    return out


def counted(read: Any, out: list[int]) -> Any:
    def reading(*args: Any, **more: Any) -> Any:
        content = read(*args, **more)
        data = content[0] if isinstance(content, tuple) else content
        out.append(0 if data is None else len(data))
        return content

    return reading


def size_of_run() -> int:
    return sum(unit.size for unit in Objects.at(URL).list(RESPONSES_FOLDER))


def test_opening_a_run_and_looking_at_a_trial_transfer_a_small_part_of_it(transferred: list[int]) -> None:
    runs = OpenedRuns([opened_in_place(URL)])
    document(runs, "head")
    whole = size_of_run()
    assert len(Objects.at(URL).list(RESPONSES_FOLDER)) >= 8
    assert sum(transferred) < whole / 10
    opened = sum(transferred)
    trial = plain(document(runs, "trial", [("trial", "40")]))
    assert len(trial["replies"][0]["reply"]) > 600
    assert sum(transferred) - opened < whole / 4, "trials, statuses, and one unit"
    before = len(transferred)
    document(runs, "trial", [("trial", "40")])
    assert len(transferred) == before, "what is here is not brought again"
    assert not list((Path(runs.state_of_run("0").run.folder).parent.parent / "runs").glob("*")), "nothing is mirrored"


def test_what_is_read_in_place_is_what_a_mirror_holds(transferred: list[int]) -> None:
    there = opened_in_place(URL)
    rows = read_responses(there.folder)
    assert rows.equals(read_responses(mirror_run(URL)))
    assert rows.height > 2_000


@pytest.mark.slow
def test_estimates_are_taken_of_all_of_it(transferred: list[int]) -> None:
    Objects.at(URL).overwrite(ESTIMATES, b"damaged")
    runs = OpenedRuns([opened_in_place(URL)])
    page = plain(document(runs, "estimates", [("measure", "shift"), ("n", "5")]))
    here = OpenedRuns([StoredRun.open(URL)])
    assert page == plain(document(here, "estimates", [("measure", "shift"), ("n", "5")]))
    assert sum(transferred) >= size_of_run()
    assert not ranges.is_in_place(bring_run(runs.state_of_run("0").run).folder)
    transferred.clear()
    again = opened_in_place(URL)
    assert not ranges.is_in_place(again.folder), "a mirror that holds everything is read"
    assert sum(transferred) < size_of_run() / 10


def test_the_next_who_looks_reads_the_estimates_beside_the_run(
    transferred: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Objects.at(URL).overwrite(ESTIMATES, b"damaged")
    estimates, _ = take_estimates([StoredRun.open(URL)])
    page = plain(document(OpenedRuns([StoredRun.open(URL)]), "lead", []))
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(kept_estimates, "estimate", lambda *_: pytest.fail("they were taken again"))
    transferred.clear()
    runs = OpenedRuns([opened_in_place(URL)])
    lead = plain(document(runs, "lead", []))
    assert "of its 8 files came whole" in lead["cautions"][0]
    assert "facevalue verify s3://audit/run" in lead["cautions"][0]
    assert {**lead, "cautions": lead["cautions"][1:]} == page
    assert sum(transferred) < size_of_run() / 3
    assert not (tmp_path / "elsewhere" / "facevalue" / "runs").exists(), "nothing is mirrored"
    assert_frame_equal(runs.state_of_run("0").estimates_and_tally[0], estimates, check_exact=True)


def test_where_nothing_may_be_written_estimates_are_kept_here(
    transferred: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    Objects.at(URL).overwrite(ESTIMATES, b"damaged")

    def refuse(_objects: Objects, key: str, _data: bytes, *, once: bool) -> None:
        assert once, "nobody waits for it"
        raise RunError(f"No permission to write {key}.")

    monkeypatch.setattr(Objects, "overwrite", refuse)
    page = plain(document(OpenedRuns([opened_in_place(URL)]), "lead", []))
    monkeypatch.setattr(kept_estimates, "estimate", lambda *_: pytest.fail("they were taken again"))
    again = plain(document(OpenedRuns([opened_in_place(URL)]), "lead", []))
    assert again["sentences"] == page["sentences"]
    assert len(again["cautions"]) == len(page["cautions"]) - 1, "a mirror that is whole is read, which is checked"


def test_estimates_beside_a_run_are_not_those_of_other_answers_or_scores(transferred: list[int]) -> None:
    there, here = opened_in_place(URL), StoredRun.open(URL)
    assert digest_of_run(there) == digest_of_run(here)
    (here.folder / ANNOTATIONS / "tox").mkdir(parents=True)
    (here.folder / ANNOTATIONS / "tox" / "part-1.parquet").write_bytes(b"scores")
    assert digest_of_run(there) != digest_of_run(here)
    unit = shard_paths(there.folder)[0]
    digest = unit_digest(unit)
    unit.write_bytes(unit.read_bytes().replace(digest.encode(), digest[::-1].encode()))
    assert digest_of_run(there) != digest_of_run(opened_in_place(URL))


def test_words_are_looked_for_in_the_columns_that_hold_them(transferred: list[int]) -> None:
    runs = OpenedRuns([opened_in_place(URL)])
    page = plain(document(runs, "answers", [("q", "I am sorry"), ("n", "3")]))
    assert page["total"] > 500
    assert page["rows"][0]["reply"].startswith("I am sorry")


def test_what_is_here_is_bounded(transferred: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "_IN_USE", 0.0)
    monkeypatch.setattr(ranges.RunRanges.__init__, "__defaults__", (100_000,))
    run = opened_in_place(URL)
    whole = read_responses(mirror_run(URL))
    for _ in range(2):
        rows = pl.concat([scan_stored(run.folder, among=[path]).collect() for path in shard_paths(run.folder)])
        assert rows.sort("trial", "repeat").equals(whole)
        here = sum(path.stat().st_blocks * 512 for path in shard_paths(run.folder))
        assert here < size_of_run() / 2


def test_a_unit_that_was_replaced_is_named(transferred: list[int]) -> None:
    run = opened_in_place(URL)
    objects = Objects.at(URL)
    unit = objects.list(RESPONSES_FOLDER)[0]
    stored = objects.get(unit.key)
    assert stored is not None
    try:
        objects.overwrite(unit.key, b"something else")
        with pytest.raises(RunError, match=r"is no longer the object that it was: open the run again"):
            read_responses(run.folder)
        with pytest.raises(RunError, match="cut short, or was not written by FaceValue"):
            opened_in_place(URL)
    finally:
        objects.overwrite(unit.key, stored[0])


def damaged(data: bytes) -> bytes:
    """The same with one bit of a text flipped, which only its digest can tell."""
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_a_unit_that_is_read_whole_is_compared_with_its_digest(transferred: list[int]) -> None:
    objects = Objects.at(URL)
    first, *_ = objects.list(RESPONSES_FOLDER)
    stored = objects.get(first.key)
    assert stored is not None
    objects.overwrite(first.key, damaged(stored[0]))
    try:
        run = opened_in_place(URL)
        assert ranges.checked_units(run.folder) == (0, 8)
        with pytest.raises(RunError, match="is damaged: its content is not what was written"):
            read_responses(run.folder)
        assert "of its 8 files came whole" in describe_unchecked(run)
    finally:
        objects.overwrite(first.key, stored[0])
    run = opened_in_place(URL)
    read_responses(run.folder)
    assert ranges.checked_units(run.folder) == (8, 8)
    assert describe_unchecked(run) == ""


def test_what_was_damaged_on_its_way_is_read_again(transferred: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened_in_place(URL)
    part, times = Objects.part, []

    def cut(objects: Objects, listed: ListedObject, start: int, stop: int) -> bytes:
        times.append(start)
        data = part(objects, listed, start, stop)
        return damaged(data) if len(times) == 1 else data

    monkeypatch.setattr(Objects, "part", cut)
    first, *others = shard_paths(run.folder)
    scan_stored(run.folder, among=[first]).collect()
    assert times == [0, 0]
    assert ranges.checked_units(run.folder) == (1, 8)
    document(OpenedRuns([run]), "answers", [("q", "I am sorry"), ("n", "1")])
    assert ranges.checked_units(run.folder)[0] < len(others), "a search reads parts"


def test_a_page_of_answers_is_that_of_a_mirror(transferred: list[int]) -> None:
    query = [("n", "20"), ("from", "500"), ("F.variation", "sunglasses")]
    there, here = OpenedRuns([opened_in_place(URL)]), OpenedRuns([StoredRun.open(URL)])
    assert json.dumps(plain(document(there, "answers", query))) == json.dumps(plain(document(here, "answers", query)))
