"""Runs of the tiny study in object storage, in this process."""

from pathlib import Path

from obstore.store import MemoryStore

from facevalue.protocol.study import Study
from facevalue.runs.progress import SilentProgress
from facevalue.runs.remote_run import drive
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.unit_worker import Came, LocalWorkers, UnitWorker
from facevalue.runs.units import Job
from facevalue.store.objects import Objects
from tests.runs.tiny import TinyModel, tiny_study

URL = "memory://bucket/run"
UNIT = RunSettings(unit=100)


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def in_memory() -> Objects:
    return Objects(URL, MemoryStore())


def in_folder(path: Path) -> Objects:
    return Objects.at(path.as_uri(), make=True)


def go(
    objects: Objects,
    model: TinyModel | None = None,
    study: Study | None = None,
    settings: RunSettings = UNIT,
    notes: Notes | None = None,
    worker_objects: Objects | None = None,
) -> RunSummary:
    """Run the study, or go on with it."""
    study, model = study or tiny_study(faces=100), model or TinyModel()
    job = Job(objects.url, study.name, study.options, model.name, exact=settings.exact, sample=settings.sample)

    def workers(came: Came) -> LocalWorkers:
        return LocalWorkers(UnitWorker(job, study, model, worker_objects or objects), came)

    return drive(study, settings, objects, workers, notes or Notes())
