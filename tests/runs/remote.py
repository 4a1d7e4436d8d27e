"""Runs of the tiny study in object storage, in this process."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from obstore.store import MemoryStore

from facevalue.errors import ModelError
from facevalue.protocol.study import Study
from facevalue.runs.progress import SilentProgress
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.storage.driver import drive
from facevalue.runs.storage.units import Job, Lost, Receipt, Unit
from facevalue.runs.storage.worker import Came, LocalWorkers, UnitWorker
from facevalue.store.objects import Objects
from tests.runs.tiny import TinyModel, tiny_study

URL = "memory://bucket/run"
UNIT = RunSettings(unit=100)


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


class PatientWorkers(LocalWorkers):
    """Workers as those of a cluster: a unit at which a model fails goes to the next one, a few times."""

    def __init__(self, worker: UnitWorker, came: Came) -> None:
        super().__init__(worker, came)
        self._unit: Unit | None = None
        self.tries: Counter[str] = Counter()

    def submit(self, unit: Unit) -> None:
        self._unit = unit
        super().submit(unit)

    def wait(self, seconds: float) -> list[Receipt | Lost]:
        try:
            return super().wait(seconds)
        except ModelError as error:
            assert self._unit is not None
            self.tries[self._unit.key] += 1
            return [Lost(self._unit, str(error), "here", given_up=self.tries[self._unit.key] == 3)]


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
    kind: Callable[[UnitWorker, Came], LocalWorkers] = LocalWorkers,
) -> RunSummary:
    """Run the study, or go on with it."""
    study, model = study or tiny_study(faces=100), model or TinyModel()
    job = Job(objects.url, study.name, study.options, model.name, exact=settings.exact, sample=settings.sample,
              watched=settings.max_invalid is None)  # fmt: skip

    def workers(came: Came) -> LocalWorkers:
        return kind(UnitWorker(job, study, model, worker_objects or objects), came)

    return drive(study, settings, objects, workers, notes or Notes())
