"""Beginning of a prepared run on a cluster."""

from facevalue.cluster.fleet import RayFleet, connected
from facevalue.cluster.settings import ClusterSettings
from facevalue.cluster.workers import ClusterWorkers
from facevalue.models.base import ModelOptions
from facevalue.runs.begin import job_of
from facevalue.runs.prepared import Prepared
from facevalue.runs.progress import Progress
from facevalue.runs.remote_run import drive
from facevalue.runs.settings import RunSummary
from facevalue.runs.unit_worker import Came
from facevalue.store.objects import Objects

_ON_GPUS = ("hf/", "vllm/")


def begin_on_cluster(
    prepared: Prepared, model: str, options: ModelOptions, cluster: ClusterSettings, progress: Progress
) -> RunSummary:
    """Run what was prepared on a cluster, or go on with it."""
    objects = Objects.at(str(prepared.folder), make=True)
    ray = connected(cluster.address)
    try:
        fleet = RayFleet(ray, cluster, _gpus(cluster, model, options, has=RayFleet.gpus_of(ray)))

        def workers(_: Came) -> ClusterWorkers:
            return ClusterWorkers(fleet, job_of(prepared, model, options), cluster, fleet.size(), progress.note)

        return drive(prepared.study, prepared.settings, objects, workers, progress)
    finally:
        ray.shutdown()


def _gpus(cluster: ClusterSettings, model: str, options: ModelOptions, has: float) -> float:
    """GPUs of a worker."""
    if cluster.gpus is not None:
        return cluster.gpus
    return float(options.tensor_parallel or 1) if has and model.startswith(_ON_GPUS) else 0.0
