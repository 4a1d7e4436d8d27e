"""Line for people who wait: nothing was answered for some seconds, as by a server that accepts and never answers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from facevalue.runs.progress import Progress

SILENT = 10.0
"""Seconds after which it is said."""


@contextmanager
def silence_told(progress: Progress, *, still: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Note once that no answer has come, where none has when `SILENT` seconds are over.

    `still`: whether none has come. The block may wait in any way, so that the note comes from a thread of its own.
    """
    over = threading.Event()

    def tell() -> None:
        if not over.wait(SILENT) and still():
            progress.note(f"No answer has come for {SILENT:g} s; requests wait for --timeout. Ctrl-C ends this.")

    thread = threading.Thread(target=tell, name="facevalue-silence", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
