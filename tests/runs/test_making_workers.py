"""Makings by workers that build generator, editor and album themselves, as those of a cluster do."""

import pickle
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import ModelSpecError, SettingError
from facevalue.generators.base import GeneratorOptions
from facevalue.generators.registry import kind_of
from facevalue.models.base import ModelOptions
from facevalue.protocol.settings import defaults
from facevalue.runs.makings.generators import MakingJob
from facevalue.runs.makings.making import MakingOutcome, made_by, make
from facevalue.runs.makings.preparation import PreparedMaking, prepare_making
from facevalue.runs.makings.records import stored_records
from facevalue.runs.progress import SilentProgress
from facevalue.runs.runner import job_of
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.storage.driver import drive
from facevalue.runs.storage.units import Job, Lost, ModelFacts, Receipt, Unit
from facevalue.runs.storage.worker import Came, UnitWorker
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify
from facevalue.store.objects import Objects
from facevalue.store.sight import Sight
from facevalue.studies import protocol
from facevalue.studies.offers import making_of
from facevalue.types import OptionValue
from tests.generators.pictures import Maker, plan, plan_of_own

FACES: dict[str, OptionValue] = {"faces": "1M,1F", "attributes": ["eyewear"]}


class TwoWorkers:
    """Two workers with nothing in common but what a job says, in turns; `lose` so many units on their way."""

    def __init__(self, job: Job, lose: int = 0) -> None:
        self._workers = [UnitWorker(pickle.loads(pickle.dumps(job))) for _ in range(2)]
        self._waiting: deque[Unit] = deque()
        self._turn, self._lose = 0, lose

    def facts(self) -> ModelFacts:
        return self._workers[0].facts()

    def sight(self) -> Sight:
        return Sight()

    def room(self) -> int:
        return 2 - len(self._waiting)

    def submit(self, unit: Unit) -> None:
        self._waiting.append(pickle.loads(pickle.dumps(unit)))

    def wait(self, seconds: float) -> list[Receipt | Lost]:
        if not self._waiting:
            return []
        unit = self._waiting.popleft()
        if self._lose:
            self._lose -= 1
            return [Lost(unit, "died", "elsewhere")]
        self._turn += 1
        return [self._workers[self._turn % 2].work(unit)]

    def answer_count(self) -> int:
        return 0

    def alive(self) -> Mapping[str, int]:
        return {"here": 2}

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()

    def close(self, *, now: bool = False) -> None:
        for worker in self._workers:
            worker.close()


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    return (tmp_path / "made").as_uri()


def prepared_at(place: Path | str, unit: int = 3) -> PreparedMaking:
    """Two faces with some edits each, a few to a unit."""
    offer = making_of(protocol("stylisticbias"))
    options = defaults(offer.settings) | FACES
    return prepare_making(offer.plan(options), "stylisticbias", options, place, RunSettings(unit=unit))


def made_apart(prepared: PreparedMaking, job: MakingJob, lose: int = 0) -> MakingOutcome:
    """Make pictures by two workers."""
    prepared = prepared.of_kinds(*job.kinds)
    job.check(prepared.run.study)

    def ask() -> RunSummary:
        def workers(_: Came) -> TwoWorkers:
            return TwoWorkers(job_of(prepared.run, job.name, ModelOptions(), job), lose)

        objects = Objects.at(str(prepared.run.folder), make=True)
        return drive(prepared.run.study, prepared.run.settings, objects, workers, SilentProgress())

    return made_by(prepared, ask, SilentProgress(), digests=False)


@pytest.mark.parametrize("lose", [0, 2])
def test_workers_make_what_one_process_makes_and_ask_for_each_picture_once(url: str, tmp_path: Path, lose: int) -> None:
    outcome = made_apart(prepared_at(url), MakingJob(url, "drawn"), lose)
    alone = prepared_at(tmp_path / "alone")
    from facevalue.generators.registry import DrawnGenerator

    drawn = DrawnGenerator(GeneratorOptions(), alone.plan.drawn)
    rows = make(alone, drawn, drawn, SilentProgress()).pictures
    assert outcome.pictures.equals(rows)
    assert outcome.pictures["attempts"].unique().to_list() == ["1"]  # units cut chains, and no edit is asked for early
    assert outcome.summary.errors == 0
    run = StoredRun.open(url)
    assert verify(run).replies == rows.height
    assert stored_records(run.folder).filter(pl.col("status") == "ok").height == rows.height
    again = made_apart(prepared_at(url), MakingJob(url, "drawn"))
    assert (again.summary.asked, again.anew) == (0, 0)


def test_workers_make_a_lost_picture_anew(url: str, tmp_path: Path) -> None:
    first = made_apart(prepared_at(url), MakingJob(url, "drawn"))
    (tmp_path / "made" / first.pictures["path"][0]).unlink()
    second = made_apart(prepared_at(url), MakingJob(url, "drawn"))
    assert (second.anew, second.summary.asked) == (1, 1)
    assert second.pictures.drop("attempts").equals(first.pictures.drop("attempts"))


def test_a_worker_says_what_its_generator_cannot_do(url: str) -> None:
    with pytest.raises(ModelSpecError, match="makes none from texts alone"):
        made_apart(prepared_at(url), MakingJob(url, "sim/null"))


def test_what_lies_on_this_machine_is_refused_before_a_worker_is_asked_for(url: str, tmp_path: Path) -> None:
    pictures_of_own = plan_of_own(tmp_path / "own.png")
    for pictures, generator, says in (
        (pictures_of_own, "sim/null", "lie on this machine: edit them without --cluster"),
        (plan(), "drawn", "no drawings of a study that is a file"),
    ):
        with pytest.raises(SettingError, match=says):
            made_apart(prepare_making(pictures, "hats", {}, url, RunSettings()), MakingJob(url, generator))


def test_names_of_both_are_those_of_the_model_and_kinds_those_of_the_adapters(tmp_path: Path) -> None:
    job = MakingJob("file:///x", "diffusers/a", editor="http://h/v1#b")
    assert job.name == "diffusers/a + http://h/v1#b"
    assert [kind and kind.value for kind in job.kinds] == ["synthetic", "synthetic"]
    assert [kind_of(name) and kind_of(name).value for name in ("drawn", "replay/x", "sim/null")] == [  # type: ignore[union-attr]
        "illustrated", "unstated", None,
    ]  # fmt: skip
    assert Maker().capabilities.kind == "synthetic"
