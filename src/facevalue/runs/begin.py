"""Beginning of a prepared run, in a folder or in object storage."""

from functools import partial

from facevalue.models.base import Model, ModelOptions
from facevalue.runs.making_model import MakingJob
from facevalue.runs.preparation import Prepared
from facevalue.runs.progress import Progress
from facevalue.runs.remote_run import drive
from facevalue.runs.runner import run
from facevalue.runs.settings import RunSummary
from facevalue.runs.unit_worker import Came, LocalWorkers, UnitWorker
from facevalue.runs.units import Job
from facevalue.store.objects import Objects


def begin(prepared: Prepared, model: Model, progress: Progress) -> RunSummary:
    """Run what was prepared on a model, or go on with it; the model is not closed."""
    study, settings = prepared.study, prepared.settings
    if not isinstance(prepared.folder, str):
        return run(study, model, prepared.folder, settings, progress)
    objects = Objects.at(prepared.folder, make=True)
    return drive(study, settings, objects, partial(_single_worker, prepared, model, objects), progress)


def job_of(prepared: Prepared, model: str, options: ModelOptions, making: MakingJob | None = None) -> Job:
    """Job for workers of a run in object storage; `making`: that of a run that makes pictures."""
    study, settings = prepared.study, prepared.settings
    return Job(
        url=str(prepared.folder),
        study=study.name,
        options=study.options,
        model=model,
        model_options=options,
        exact=settings.exact,
        sample=settings.sample,
        seed=settings.seed,
        check=settings.check,
        watched=settings.max_invalid is None,
        making=making,
    )


def _single_worker(prepared: Prepared, model: Model, objects: Objects, came: Came) -> LocalWorkers:
    """The one worker of this process."""
    return LocalWorkers(UnitWorker(job_of(prepared, model.name, ModelOptions()), prepared.study, model, objects), came)
