"""Driver of a run whose workers die: lost units are tried again, and given up without ending the run."""

from facevalue.runs.settings import RunSummary
from facevalue.runs.storage.driver import drive
from facevalue.runs.storage.units import Job, Lost, Receipt, Unit
from facevalue.runs.storage.worker import Came, LocalWorkers, UnitWorker
from facevalue.store.objects import Objects
from tests.runs.remote import UNIT, URL, Notes, go, in_memory
from tests.runs.tiny import TinyModel, tiny_study


class Dying(LocalWorkers):
    """Loses one unit so many times."""

    def __init__(self, worker: UnitWorker, came: Came, times: int, most: int) -> None:
        super().__init__(worker, came)
        self._left, self._most, self._victim = times, most, ""
        self._tries = 0

    def wait(self, seconds: float) -> list[Receipt | Lost]:
        unit: Unit = self._waiting[0]
        self._victim = self._victim or unit.key
        if unit.key == self._victim and self._left:
            self._left, self._tries = self._left - 1, self._tries + 1
            self._waiting.popleft()
            return [Lost(unit, "a worker died.", "far", given_up=self._tries == self._most)]
        return super().wait(seconds)


def run(times: int, most: int, notes: Notes) -> tuple[Objects, RunSummary]:
    objects, study, model = in_memory(), tiny_study(faces=100), TinyModel()
    job = Job(URL, study.name, study.options, model.name)

    def workers(came: Came) -> Dying:
        return Dying(UnitWorker(job, study, model, objects), came, times, most)

    return objects, drive(study, UNIT, objects, workers, notes)


def test_a_lost_unit_is_tried_again() -> None:
    notes = Notes()
    _, summary = run(2, 9, notes)
    assert summary.complete
    assert summary.asked == summary.requests
    assert notes.notes.count("far: a worker died. Its unit goes to another worker.") == 2


def test_a_unit_that_is_given_up_leaves_the_run_incomplete_and_the_same_command_goes_on() -> None:
    notes = Notes()
    objects, summary = run(3, 3, notes)
    assert not summary.complete
    assert 0 < summary.asked < summary.requests
    assert "is given up; the same command tries it again." in notes.notes[-2]
    assert summary.warnings == ("Given up, as every worker died or failed that had them: 1 units.",)
    again = go(objects)
    assert again.complete
    assert again.asked == summary.requests - summary.asked
