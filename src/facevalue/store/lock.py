"""Lock of a run folder: one process at a time writes it."""

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from facevalue.errors import RunError
from facevalue.store.files import LOCK, make_folder, unwritable


class RunLock:
    """An exclusive lock on a run folder, held within a `with` block.

    The system lets go of it when the process ends, however it ends; the file itself may stay and means nothing. Reading
    needs no lock.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Where the system has no such locks, a file that outlives its process is none: better an error.
        self._lock = FileLock(
            folder / LOCK, blocking=False, thread_local=False, fallback_to_soft=False, on_acquired=_sign
        )

    def __enter__(self) -> Self:
        make_folder(self._folder)
        path = self._folder / LOCK
        try:
            self._lock.acquire()
        except Timeout:
            holder = ""
            with contextlib.suppress(OSError, UnicodeError):  # Windows lets nobody read what is locked
                holder = path.read_text(encoding="ascii").strip()
            by = f"process {holder}" if holder else "another process"
            raise RunError(
                f"{self._folder} is being written by {by}. Wait for it, stop it, or name another folder."
            ) from None
        except OSError as error:
            raise unwritable(path, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._lock.release()


def _sign(descriptor: int) -> None:
    """Write the process number for those who are refused."""
    os.ftruncate(descriptor, 0)
    os.write(descriptor, b"%d\n" % os.getpid())
