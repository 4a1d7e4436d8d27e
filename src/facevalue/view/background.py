"""Long computations in threads of their own while pages are answered; a failure is a sentence, never a wait."""

import logging
import signal
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread, main_thread
from typing import Generic, TypeVar

from polars.exceptions import PanicException

from facevalue.errors import DataError, FaceValueError, RunError
from facevalue.forks import end_with_parent
from facevalue.runs.storage.in_place import bring_run
from facevalue.runs.storage.mirror import own_folder
from facevalue.runs.stored_run import StoredRun
from facevalue.store.shards import checked, shard_paths

# Work on all answers of a run, done by a process of its own: the one that serves pages has little memory to spare.


T = TypeVar("T")
FEW = 250_000
"""Answers up to which the work is done in this process: they take less memory than another one takes time to start."""


def run_apart(work: Callable[[StoredRun], T], run: StoredRun) -> T:
    """Do something with all answers of a run, in a process of its own where they are many.

    `work`: a function of a module that returns little, such as where it has kept the rest. A run that is looked at in
    object storage is brought for it.

    Raises
    ------
    FaceValueError
        The work failed, or its process was ended.
    """
    if run.given is not None or sum(checked(path).rows for path in shard_paths(run.folder)) <= FEW:
        return work(bring_run(run))
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    pictures = own_folder(run.facts.options) if run.pictures_named else None
    place = run.url or run.folder
    process = context.Process(target=_work, args=(work, place, pictures, run.facts.name, there), daemon=True)
    process.start()
    there.close()
    try:
        value, error = here.recv()
    except EOFError:
        value, error = None, None
    process.join()
    if not main_thread().is_alive():
        raise SystemExit  # of this thread: the viewer has ended, and the process with it
    if process.exitcode:
        raise RunError(
            f"the process that does it was ended (status {process.exitcode}), perhaps as memory ran out. Open the "
            "viewer again to try once more."
        )
    if error is not None:
        raise error
    done: T = value
    return done


def _work(
    work: Callable[[StoredRun], T], place: Path | str, pictures: Path | None, name: str, answer: Connection
) -> None:
    """Open the run and do the work; hand back what that gives, or the error for which it failed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the viewer, with which this process ends
    end_with_parent()
    try:
        run = StoredRun.open(place, pictures=pictures)
        value = work(replace(run, facts=replace(run.facts, name=name)))
    except FaceValueError as error:
        answer.send((None, error))
    else:
        answer.send((value, None))


_LOG = logging.getLogger(__name__)


class NotYetError(FaceValueError):
    """Error for a page whose data is being made: it is asked for again after a moment."""


class Background(Generic[T]):
    """Value that is being made.

    Parameters
    ----------
    make:
        What makes it; called once, at once.
    failure:
        What a reader is told should it fail; the reason follows.
    """

    def __init__(self, make: Callable[[], T], failure: str) -> None:
        self._make, self._failure = make, failure
        self._values: list[T] = []
        self._reason = ""
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._values.append(self._make())
        except FaceValueError as error:
            self._reason = f"{self._failure}: {error}"
            _LOG.warning("%s", self._reason)
        except (Exception, PanicException):
            self._reason = f"{self._failure}: the viewer's terminal says why."
            _LOG.exception("%s", self._failure)

    def is_ready(self, patience: float | None) -> bool:
        """Return whether it was made, or failed; waits so many seconds for it, or as long as it takes."""
        self._thread.join(timeout=patience)
        return not self._thread.is_alive()

    def value(self, patience: float | None, waiting: str) -> T:
        """Return the value that was made.

        `patience`: seconds that are waited for it; None for as long as it takes. `waiting`: what a reader is told.

        Raises
        ------
        NotYetError
            It is not there by then.
        DataError
            It failed.
        """
        if not self.is_ready(patience):
            raise NotYetError(waiting)
        if self._reason:
            raise DataError(self._reason)
        return self._values[0]
