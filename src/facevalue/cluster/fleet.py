"""Fleet of Ray actors: connects, starts and ends them, and says in a sentence what Ray says in a page."""

import contextlib
import os
import platform
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from facevalue.cluster.actor import Actor
from facevalue.cluster.settings import ClusterSettings
from facevalue.cluster.workers import WorkerDied
from facevalue.errors import DependencyError, FaceValueError, RunError

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
