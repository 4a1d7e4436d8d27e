"""Work on all answers of a run, done by a process of its own: the one that serves pages has little memory to spare."""

import signal
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import main_thread
from typing import TypeVar

from facevalue.errors import FaceValueError, RunError
from facevalue.forks import end_with_parent
from facevalue.runs.in_place import brought
from facevalue.runs.remote_pictures import own_folder
from facevalue.runs.stored import StoredRun
from facevalue.store.shards import checked, shard_paths

T = TypeVar("T")
FEW = 250_000
"""Answers up to which the work is done in this process: they take less memory than another one takes time to start."""


def apart(work: Callable[[StoredRun], T], run: StoredRun) -> T:
    """Do something with all answers of a run, in a process of its own where they are many.

    `work`: a function of a module that returns little, such as where it has kept the rest. A run that is looked at in
    object storage is brought for it.

    Raises
    ------
    FaceValueError
        The work failed, or its process was ended.
    """
    if run.given is not None or sum(checked(path).rows for path in shard_paths(run.folder)) <= FEW:
        return work(brought(run))
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
