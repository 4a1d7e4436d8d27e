"""Actor: a unit worker in a process of the cluster, which ends by itself once its driver is silent."""

import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from facevalue import __version__
from facevalue.runs.unit_worker import UnitWorker
from facevalue.runs.units import Job, ModelFacts, Receipt, Unit
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
