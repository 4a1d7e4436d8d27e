"""Beginning of a prepared run on a cluster."""

from collections.abc import Sequence

from facevalue.cluster.fleet import RayFleet, connect_cluster
from facevalue.cluster.settings import ClusterSettings
from facevalue.cluster.workers import ClusterWorkers
from facevalue.models.base import ModelOptions
from facevalue.runs.begin import job_of
from facevalue.runs.making import MakingOutcome, made_by
from facevalue.runs.making_model import MakingJob
from facevalue.runs.preparation import Prepared
from facevalue.runs.prepared_making import PreparedMaking
from facevalue.runs.progress import Progress
from facevalue.runs.remote_run import drive
from facevalue.runs.settings import RunSummary
from facevalue.runs.unit_worker import Came
from facevalue.store.objects import Objects

_ON_GPUS = ("hf/", "vllm/", "diffusers/")


def begin_on_cluster(
    prepared: Prepared,
    model: str,
    options: ModelOptions,
    cluster: ClusterSettings,
    progress: Progress,
    making: MakingJob | None = None,
) -> RunSummary:
    """Run what was prepared on a cluster, or go on with it; `making`: who makes pictures, of a run that makes them."""
    objects = Objects.at(str(prepared.folder), make=True)
    ray = connect_cluster(cluster.address)
    try:
        fleet = RayFleet(ray, cluster, _gpus(cluster, model, options, has=RayFleet.gpus_of(ray)))

        def workers(_: Came) -> ClusterWorkers:
            job = job_of(prepared, model, options, making)
            return ClusterWorkers(fleet, job, cluster, fleet.size(), progress.note)

        return drive(prepared.study, prepared.settings, objects, workers, progress)
    finally:
        ray.shutdown()


def make_on_cluster(
    prepared: PreparedMaking,
    making: MakingJob,
    cluster: ClusterSettings,
    progress: Progress,
    *,
    digests: bool,
    again: Sequence[str] = (),
) -> MakingOutcome:
    """Have a cluster make what is not there yet, and list what is, as `runs.making.make` does in this process.

    Raises
    ------
    SettingError
        It needs what lies on this machine.
    ModelError
        A worker cannot load who makes the pictures, or that one cannot make or edit what is wanted.
    """
    prepared = prepared.of_kinds(*making.kinds)
    making.check(prepared.run.study)

    def ask() -> RunSummary:
        return begin_on_cluster(prepared.run, making.name, ModelOptions(), cluster, progress, making)

    return made_by(prepared, ask, progress, digests=digests, again=again)


def _gpus(cluster: ClusterSettings, model: str, options: ModelOptions, has: float) -> float:
    """GPUs of a worker."""
    if cluster.gpus is not None:
        return cluster.gpus
    is_on_gpu = any(name.startswith(_ON_GPUS) for name in model.split(" + "))
    return float(options.tensor_parallel or 1) if has and is_on_gpu else 0.0
