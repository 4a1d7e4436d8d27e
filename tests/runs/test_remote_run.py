"""Runs in object storage: what is asked, stored and asked again."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import obstore
import polars as pl
import pytest
from obstore.exceptions import AlreadyExistsError
from obstore.store import MemoryStore

from facevalue.errors import ModelError, RunError
from facevalue.measures.families import Preregistration
from facevalue.models import load
from facevalue.runs.pictures import load_shown
from facevalue.runs.settings import RunSettings
from facevalue.runs.storage.driver import drive
from facevalue.runs.storage.mirror import key_of
from facevalue.runs.storage.units import Job
from facevalue.runs.storage.worker import LocalWorkers, UnitWorker, read_unit
from facevalue.runs.stored_run import StoredRun
from facevalue.store import lease
from facevalue.store import objects as module
from facevalue.store.objects import Objects
from facevalue.store.remote import KEY, listed_units, read_run, run_data
from facevalue.types import Request, Response
from tests.runs.remote import UNIT, URL, Notes, PatientWorkers, go, in_folder, in_memory
from tests.runs.test_pictures import own
from tests.runs.tiny import TinyModel, TinySource, failed, fails, for_a_while, keys, mixed, say, tiny_study
from tests.store.faulty import Lagging


def answers(objects: Objects) -> pl.DataFrame:
    run = read_run(objects)[0].id
    return pl.concat([read_unit(objects, one.key, run) for one in listed_units(objects)])


def test_every_request_is_asked_and_stored_once() -> None:
    objects, model = in_memory(), TinyModel()
    summary = go(objects, model, tiny_study(faces=100, seeds=(1, 2)))
    assert (summary.requests, summary.asked, summary.complete) == (600, 600, True)
    stored = answers(objects)
    assert stored.height == len(model.asked) == stored.select("trial", "repeat").n_unique() == 600
    assert all(KEY.fullmatch(one.key) for one in listed_units(objects))
    assert read_run(objects)[0].counts.ok == 600


def test_a_complete_run_is_not_asked_again_and_not_changed() -> None:
    objects, model = in_memory(), TinyModel()
    go(objects)
    before = objects.get("run.json")
    summary = go(objects, model)
    assert (summary.asked, summary.skipped, model.asked) == (0, 300, [])
    after = objects.get("run.json")
    assert before is not None
    assert after is not None
    assert before[0] == after[0]


def test_failed_requests_are_asked_again_by_the_next_session_as_another_unit() -> None:
    objects, model = in_memory(), TinyModel()
    first = go(objects, TinyModel(lambda r: failed(r) if r.trial % 30 == 0 else mixed(r)))
    assert (first.errors, first.complete, read_run(objects)[0].counts.errors) == (10, True, 10)
    before = listed_units(objects)
    go(objects, model)
    assert sorted(keys(model.asked)) == [(trial, 0) for trial in range(0, 300, 30)]
    assert set(before) < set(listed_units(objects))
    assert read_run(objects)[0].counts.errors == 0


def test_units_that_fail_altogether_again_and_again_have_keys_of_their_own() -> None:
    objects = in_memory()
    for _ in range(3):
        go(objects, TinyModel(failed))
    assert len(listed_units(objects)) == 3 * 4
    go(objects)
    assert answers(objects).filter(pl.col("status") == "ok").height == 300


def test_replies_without_an_answer_are_asked_again_as_in_a_folder() -> None:
    objects, model = in_memory(), TinyModel(lambda r: say("hm")(r) if r.trial % 10 == 0 and r.repeat < 2 else mixed(r))
    summary = go(objects, model, tiny_study(faces=100, reasks=3))
    assert summary.reasked == 60
    assert sorted(k for k in keys(model.asked) if k[0] == 10) == [(10, 0), (10, 1), (10, 2)]


def test_a_run_of_which_the_model_failed_goes_on() -> None:
    objects, model = in_memory(), TinyModel()
    with pytest.raises(ModelError, match="gone"):
        go(objects, TinyModel(for_a_while(150, fails(ModelError, "gone"))))
    stored = answers(objects).height
    assert stored == 150  # those of the unit that it failed at, too
    go(objects, model)
    assert len(model.asked) == 300 - stored


def test_what_is_left_of_a_unit_at_which_a_model_failed_goes_to_another_worker_in_the_same_run() -> None:
    objects, notes = in_memory(), Notes()
    trouble = iter([None] * 150 + [fails(ModelError, "gone")] + [None] * 1000)

    def reply(request: Request) -> Response:
        if then := next(trouble):
            then()
        return mixed(request)

    summary = go(objects, TinyModel(reply), notes=notes, kind=PatientWorkers)
    assert (summary.complete, summary.asked) == (True, 300)
    assert "here: gone Its unit goes to another worker." in notes.notes
    assert answers(objects).select("trial", "repeat").n_unique() == answers(objects).height == 300


def test_a_request_at_which_a_model_always_fails_costs_what_it_is_asked_with_alone() -> None:
    objects, model, notes = in_memory(), TinyModel(), Notes()

    def reply(request: Request) -> Response:
        if request.trial == 50:
            raise ModelError("gone")
        return mixed(request)

    summary = go(objects, TinyModel(reply), notes=notes, kind=PatientWorkers)
    assert not summary.complete
    assert any("is given up; the same command tries it again." in note for note in notes.notes)
    stored = answers(objects).height
    assert 200 < stored < 300
    assert go(objects, model).complete
    assert len(model.asked) == 300 - stored


def test_an_interrupt_stores_what_came_and_the_rest_is_asked_next() -> None:
    objects, model = in_memory(), TinyModel()
    summary = go(objects, TinyModel(for_a_while(150, fails(KeyboardInterrupt))))
    assert (summary.interrupted, summary.complete, summary.asked) == (True, False, 150)
    assert go(objects, model).complete
    assert len(model.asked) == 150
    assert answers(objects).select("trial", "repeat").n_unique() == answers(objects).height == 300


def test_a_limit_of_cost_ends_the_run_in_order() -> None:
    objects = in_memory()
    summary = go(objects, settings=RunSettings(unit=100, price_in=1e6, price_out=1e6, max_cost=1000))
    assert "The run has cost" in summary.stopped
    assert summary.asked == 84, "of a unit of 99: at 12 a reply, the next would be too much"
    assert not summary.complete
    assert go(objects).complete
    assert answers(objects).select("trial", "repeat").n_unique() == answers(objects).height == 300


def test_a_pre_registration_of_a_run_that_never_began_is_not_taken_for_this_one() -> None:
    objects, model = in_memory(), TinyModel()
    objects.create("preregistration.toml", b"alpha = 0.01")
    text = "alpha = 0.05"
    declared = Preregistration((), {}, 0.05, hashlib.sha256(text.encode()).hexdigest(), text)
    with pytest.raises(RunError, match=r"preregistration\.toml says something else"):
        go(objects, model, settings=RunSettings(unit=100, preregistration=declared))
    assert (model.asked, objects.get("run.json")) == ([], None)


def test_who_comes_second_in_beginning_a_run_compares_its_settings_with_those_of_the_first() -> None:
    store, model = MemoryStore(), TinyModel()

    class Late(Objects):
        """Another driver takes over and begins the run just before this one does."""

        def create(self, key: str, data: bytes) -> bool:
            if key == "run.json":
                lease = store_of("lease.json")
                obstore.delete(store, "lease.json")
                go(Objects(URL, store), settings=RunSettings(unit=100, sample=90))
                obstore.put(store, "lease.json", lease)
            return super().create(key, data)

    def store_of(key: str) -> bytes:
        return bytes(obstore.get(store, key).bytes())

    with pytest.raises(RunError, match="begun with other settings: sample"):
        go(Late(URL, store), model)
    assert model.asked == []


def test_units_that_a_lagging_listing_hides_are_not_asked_again() -> None:
    store, model = MemoryStore(), TinyModel()
    go(Objects(URL, store))
    before, begun = listed_units(Objects(URL, store)), read_run(Objects(URL, store))[0]
    Objects(URL, store).overwrite("run.json", run_data(replace(begun, shards=(), end=None)))  # its driver was killed
    summary = go(Lagging(store, 2), model)
    assert (model.asked, summary.asked, summary.complete) == ([], 0, True)
    assert listed_units(Objects(URL, store)) == before


def test_units_that_are_known_are_read_whatever_a_listing_shows() -> None:
    store = MemoryStore()
    go(Objects(URL, store))
    known = read_run(Objects(URL, store))[0].shards
    assert len(listed_units(Lagging(store, 2))) == 2
    assert sorted(listed_units(Lagging(store, 2), known)) == listed_units(Objects(URL, store))


def test_other_settings_prompts_pictures_and_tables_are_refused() -> None:
    objects = in_memory()
    go(objects)
    with pytest.raises(RunError, match="begun with other settings: answers: sampled replies in"):
        go(objects, TinyModel(probabilities="full"), settings=RunSettings(unit=100, exact=True))
    with pytest.raises(RunError, match="An image or prompt has changed"):
        go(objects, study=tiny_study(faces=100, wording="Is he"))
    with pytest.raises(RunError, match="An image or prompt has changed"):
        go(objects, study=tiny_study(faces=100, source=TinySource("v2")))
    with pytest.raises(RunError, match="lists other pictures"):
        go(objects, study=tiny_study(faces=101))


def test_a_sample_is_asked_whole() -> None:
    objects, model = in_memory(), TinyModel()
    summary = go(objects, model, settings=RunSettings(unit=40, sample=90))
    assert summary.requests == summary.asked == len(set(keys(model.asked))) == 90


def test_a_missing_unit_is_named_and_asked_again() -> None:
    store, notes, model = MemoryStore(), Notes(), TinyModel()
    objects = Objects(URL, store)
    go(objects)
    gone = listed_units(objects)[1].key
    obstore.delete(store, gone)
    go(objects, model, notes=notes)
    assert notes.notes == [f"{URL}/{gone} is gone: its trials are asked again."]
    assert len(model.asked) == 99
    assert UNIT.unit == 100


def test_pictures_of_one_s_own_are_put_beside_the_run_once_and_brought_where_they_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    study, url = own(tmp_path / "mine"), (tmp_path / "store").as_uri()
    objects, model = in_folder(tmp_path / "store"), load("sim/default")
    job = Job(url, study.name, study.options, "sim/default")
    # The workers' own: another machine, which has none of the pictures.
    drive(study, RunSettings(), objects, lambda came: LocalWorkers(UnitWorker(job), came), Notes())
    assert len(objects.list("pictures")) == 40
    for path in (tmp_path / "mine" / "faces").iterdir():
        path.unlink()
    opened = StoredRun.open(url)
    assert load_shown(opened, 0).images[0].media_type == "image/png"
    assert len(list((opened.folder / "pictures").rglob("*.png"))) == 1, "none that was not asked for"
    model.close()


def test_a_worker_that_sees_other_pictures_than_the_driver_stores_nothing(tmp_path: Path) -> None:
    study, url = own(tmp_path / "mine", 4), (tmp_path / "store").as_uri()
    objects = in_folder(tmp_path / "store")
    for one in study.manifest["path"]:
        objects.create(key_of(one), b"another")
    job = Job(url, study.name, study.options, "sim/default")
    with pytest.raises(RunError, match="would ask something else than the driver"):
        drive(study, RunSettings(), objects, lambda came: LocalWorkers(UnitWorker(job), came), Notes())
    assert objects.list("responses") == []


def test_a_driver_whose_lease_was_taken_stops_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "TERM", 0.5)
    objects, notes = in_memory(), Notes()

    def reply(request: Request) -> Response:
        if request.trial == 150:
            objects.overwrite(lease.LEASE, b'{"holder": "another", "host": "elsewhere", "pid": 7}')
            time.sleep(0.7)
        return mixed(request)

    with pytest.raises(RunError, match=r"Another process drives memory://bucket/run by now"):
        go(objects, TinyModel(reply), notes=notes)
    assert 0 < answers(objects).height < 300
    kept = objects.get(lease.LEASE)
    assert kept is not None
    assert b"another" in kept[0]


def test_counts_that_models_find_out_are_added_and_servers_listed() -> None:
    class Served(TinyModel):
        def findings(self) -> dict[str, str | int]:
            count = len(self.asked)
            name = "one" if count < 150 else "two"
            return {"prompt_tokens_cached": count, "prompt_tokens_counted": 10 * count, "served_by": name}

    objects = in_memory()
    summary = go(objects, Served())
    found = read_run(objects)[0].sessions[-1].findings
    assert found == {"prompt_tokens_cached": 300, "prompt_tokens_counted": 3000, "served_by": "one; two"}
    assert summary.cached == 0.1
    assert "The server named 2 models" in summary.warnings[0]


def test_a_store_that_refuses_every_first_write_loses_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 answers 409 where two writes meet: nothing is there yet, and what was asked for must be written again."""
    real, seen = obstore.put, set[str]()

    def put(store: MemoryStore, key: str, data: bytes, **how: Any) -> Any:
        if key not in seen:
            seen.add(key)
            raise AlreadyExistsError("409 Conflict: ConditionalRequestConflict")
        return real(store, key, data, **how)

    monkeypatch.setattr(obstore, "put", put)
    monkeypatch.setattr(module, "_PAUSE", 0)
    objects, model = in_memory(), TinyModel()
    summary = go(objects, model)
    assert (summary.asked, summary.complete, summary.warnings) == (300, True, ())
    assert answers(objects).height == len(model.asked) == 300


@pytest.mark.parametrize("spoil", [lambda data: data[:-40], lambda data: data[:-40] + b"X" + data[-39:], lambda _: b""])
def test_objects_that_come_changed_or_cut_every_other_time_are_intact(
    monkeypatch: pytest.MonkeyPatch, spoil: Callable[[bytes], bytes]
) -> None:
    objects = in_memory()
    go(objects, TinyModel(lambda r: failed(r) if r.trial % 30 == 0 else mixed(r)))
    real, tail, turns = obstore.get, Objects.tail, count()

    def spoilt(store: MemoryStore, key: str) -> Any:
        found = real(store, key)
        data, size = bytes(found.bytes()), found.meta["size"]
        if key != "lease.json" and next(turns) % 2 == 0:
            data = spoil(data)
        return SimpleNamespace(meta={**found.meta, "size": min(size, len(data))}, stream=lambda: iter([data]))

    def spoilt_tail(self: Objects, key: str, size: int, most: int) -> bytes | None:
        data = tail(self, key, size, most)
        return spoil(data) if data is not None and next(turns) % 2 == 0 else data

    monkeypatch.setattr(obstore, "get", spoilt)
    monkeypatch.setattr(Objects, "tail", spoilt_tail)
    summary = go(objects)
    assert (summary.asked, summary.complete) == (10, True)
    assert answers(objects).filter(pl.col("status") == "ok").height == 300
    assert next(turns) > 10
