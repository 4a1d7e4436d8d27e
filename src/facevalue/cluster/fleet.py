"""Fleet of Ray actors, each a unit worker that ends once its driver is silent, and runs that begin on it."""

import contextlib
import os
import platform
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from facevalue import __version__
from facevalue.cluster.workers import ClusterSettings, ClusterWorkers, WorkerDied
from facevalue.errors import DependencyError, FaceValueError, RunError
from facevalue.models.base import ModelOptions
from facevalue.runs.makings.generators import MakingJob
from facevalue.runs.makings.making import MakingOutcome, made_by
from facevalue.runs.makings.preparation import PreparedMaking
from facevalue.runs.preparation import Prepared
from facevalue.runs.progress import Progress
from facevalue.runs.runner import job_of
from facevalue.runs.settings import RunSummary
from facevalue.runs.storage.driver import drive
from facevalue.runs.storage.units import Job, ModelFacts, Receipt, Unit
from facevalue.runs.storage.worker import Came, UnitWorker
from facevalue.store.objects import Objects
from facevalue.store.sight import Sight
from facevalue.types import Response

F = TypeVar("F", bound=Callable[..., Any])
_PATIENCE = 1800.0
"""Seconds after which a driver that says nothing counts as dead in turn; it may be reading what is stored."""


def _meanwhile(method: F) -> F:
    """Allow calls of a method while another works; Ray must know it where the class is defined."""
    try:
        import ray  # noqa: PLC0415 - an extra
    except ImportError:
        return method
    grouped: F = ray.method(concurrency_group="signs")(method)
    return grouped


class Actor:
    """Loads and works in one thread, gives signs of life in another."""

    def __init__(self) -> None:
        self._worker: UnitWorker | None = None
        self._came = 0
        self._heard = time.monotonic()

    def hello(self) -> tuple[str, str]:
        """Name of the worker's machine, and its version of FaceValue."""
        return socket.gethostname(), __version__

    def load(self, job: Job, silence: float, share: float) -> ModelFacts:
        """Build study and model; `share` is of what all workers may ask a server a minute."""
        threading.Thread(target=self._watch, args=(max(_PATIENCE, 5 * silence),), daemon=True).start()
        self._worker = UnitWorker(job)
        self._worker.share(share)
        return self._worker.facts()

    def sight(self) -> Sight:
        """Ask about pictures made on the spot."""
        assert self._worker is not None
        return self._worker.sight()

    def work(self, unit: Unit) -> Receipt:
        """Ask and store a unit."""
        assert self._worker is not None
        self._came = 0
        return self._worker.work(unit, self._count)

    @_meanwhile
    def beat(self, share: float) -> int:
        """Answers to the present unit so far."""
        self._heard = time.monotonic()
        if self._worker is not None:
            self._worker.share(share)
        return self._came

    @_meanwhile
    def stop(self) -> None:
        """Stop making requests."""
        if self._worker is not None:
            self._worker.stop()

    def _count(self, response: Response) -> None:
        self._came += 1

    def _watch(self, patience: float) -> None:
        """End the process once nobody asks after it: Ray has not noticed that its driver is gone."""
        while time.monotonic() - self._heard < patience:
            time.sleep(1)
        os._exit(1)


_CONNECT = 10.0  # seconds; Ray itself tries for five minutes
_NOT_THERE = "No Ray cluster answers at {}: start one ('ray start --head' there), or check the address."


class RayFleet:
    """Actors on a cluster."""

    def __init__(self, ray: Any, settings: ClusterSettings, gpus: float) -> None:
        self._ray = ray
        self._settings = settings
        self._needs = {"CPU": settings.cpus, **({"GPU": gpus} if gpus else {})}
        self._actor = ray.remote(concurrency_groups={"signs": 1}, max_restarts=0, max_task_retries=0)(Actor).options(
            num_cpus=settings.cpus,
            num_gpus=gpus,
            **({"runtime_env": dict(settings.runtime_env)} if settings.runtime_env else {}),
        )

    def start(self) -> Any:
        """Ask for an actor."""
        return self._actor.remote()

    def call(self, worker: Any, method: str, *arguments: object) -> Any:
        """Call a method of an actor."""
        return getattr(worker, method).remote(*arguments)

    def ended_calls(self, calls: Sequence[Any], seconds: float) -> Sequence[Any]:
        """Calls that have ended: waits for the first, and returns all that have ended by then."""
        ray = self._ray
        if not calls:
            time.sleep(seconds)
            return []
        try:
            first, rest = ray.wait(list(calls), num_returns=1, timeout=seconds)
            more = ray.wait(rest, num_returns=len(rest), timeout=0)[0] if first and rest else []
        except (ray.exceptions.RayError, ConnectionError) as error:
            raise RunError(
                f"The cluster answers no more ({_first_line(error)}). Everything stored before is kept; the same "
                "command goes on, on another cluster, too."
            ) from None
        return [*first, *more]

    def result(self, call: Any) -> Any:
        """Value that a call returned."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(call)
        except errors.RayTaskError as error:
            if isinstance(error.cause, FaceValueError):
                raise error.cause from None
            raise WorkerDied(f"failed: {_first_line(error.cause)}.") from None
        except errors.OutOfMemoryError:
            raise WorkerDied(
                "ran out of memory: give workers more 'cpus', so that fewer share a node, or nodes with more memory."
            ) from None
        except errors.RuntimeEnvSetupError as error:
            raise RunError(f"The runtime environment cannot be set up: {_first_line(error)}") from None
        except errors.RayError as error:
            raise _to_death_error(str(error)) from None

    def kill(self, worker: Any) -> None:
        """End an actor."""
        with contextlib.suppress(Exception):  # it may be gone already, or the cluster
            self._ray.kill(worker)

    def nodes(self) -> int:
        """Nodes that are alive."""
        return sum(node["Alive"] for node in self._ray.nodes())

    @staticmethod
    def gpus_of(ray: Any) -> float:
        """GPUs of the cluster."""
        return float(ray.cluster_resources().get("GPU", 0))

    def size(self) -> tuple[int, int]:
        """Fewest and most workers: as many as the GPUs hold where they need any, else one per node, unless told."""
        gpus = self._needs.get("GPU", 0)
        fit = int(self.gpus_of(self._ray) / gpus + 1e-6) if gpus else self.nodes()
        return self._settings.workers or (1, max(fit, 1))

    def missing(self) -> str:
        """Resources that no node has."""
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if any(all(has.get(kind, 0) >= need for kind, need in self._needs.items()) for has in alive):
            return ""
        needs = " and ".join(f"{need:g} {kind}{'s' if need != 1 else ''}" for kind, need in self._needs.items())
        largest = ", ".join(f"{max((has.get(kind, 0) for has in alive), default=0):g} {kind}s" for kind in self._needs)
        return f"No node of the cluster has the {needs} of a worker (the most are {largest})"


def connect_cluster(address: str) -> Any:
    """Connect to a cluster and return the module `ray`."""
    try:
        import ray  # noqa: PLC0415 - an extra
        import ray.exceptions  # noqa: PLC0415
    except ImportError:
        raise DependencyError("Ray", "cluster") from None
    if place := re.fullmatch(r"(?:ray://)?\[?([^/\[\]]+)\]?:(\d+)", address):
        try:
            socket.create_connection((place[1], int(place[2])), _CONNECT).close()
        except (OSError, OverflowError) as error:
            raise RunError(f"{_NOT_THERE.format(address)} ({error})") from None
    elif address not in ("auto", "local"):
        raise RunError(f"{address!r} is no address of a cluster: write auto, local, ray://HOST:PORT or HOST:PORT.")
    options = {"include_dashboard": False} if address == "local" else {}
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")  # half a minute is short for a busy machine
    try:
        with _own_signals():
            ray.init(address=address, log_to_driver=False, logging_level="CRITICAL", **options)
    except ConnectionError:
        target = "this machine ('auto')" if address == "auto" else address
        raise RunError(_NOT_THERE.format(target)) from None
    except (RuntimeError, ValueError, ImportError) as error:
        if "ray[client]" in str(error) or isinstance(error, ImportError):
            raise DependencyError("Ray's client (for ray:// addresses)", "cluster") from None
        if "Version mismatch" in str(error):
            versions = re.findall(r"(Ray|Python): ([0-9][\w.]*)", str(error))[:2]
            cluster = ", ".join(" ".join(version) for version in versions)
            ours = f"Ray {ray.__version__}, Python {platform.python_version()}"
            raise RunError(f"The cluster at {address} has {cluster}, this machine {ours}: they must agree.") from None
        raise RunError(f"The cluster at {address} cannot be used: {_first_line(error)}") from None
    # Nothing public turns off the paragraph that Ray prints whenever a worker dies; we say so in a sentence.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    return ray


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep our handlers of signals: Ray sets its own for SIGTERM."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _to_death_error(text: str) -> Exception:
    if lacks := re.search(r"No module named '(\w+)'", text):
        return RunError(
            f"A node of the cluster lacks the package {lacks[1]}: install FaceValue there, or name it in [runtime_env]."
        )
    if "node" in text.lower() and "died" in text.lower() and "worker process has died" not in text:
        return WorkerDied("was on a node that died.")
    return WorkerDied("died (killed, out of memory, or crashed).")


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]


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
