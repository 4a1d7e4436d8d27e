"""One process at a time writes a run folder."""

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from facevalue.errors import RunError
from facevalue.store.files import LOCK, make_folder, unwritable

try:
    import fcntl
except ImportError:  # no such locks outside POSIX; two processes are then the user's own lookout
    fcntl = None  # type: ignore[assignment]


class RunLock:
    """An exclusive lock on a run folder, held within a `with` block.

    The system lets go of it when the process ends, however it ends; the file itself stays and means nothing. Reading
    needs no lock.

    Raises
    ------
    RunError
        Another process holds it, or the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        make_folder(self._folder)
        path = self._folder / LOCK
        try:
            file = path.open("a+")
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.seek(0)
            file.truncate()
            file.write(f"{os.getpid()}\n")
            file.flush()
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            by = f"process {holder}" if holder else "another process"
            raise RunError(
                f"{self._folder} is being written by {by}. Wait for it, stop it, or name another folder."
            ) from None
        except OSError as error:
            with contextlib.suppress(OSError):  # on a full disk, what waits can't be written on closing either
                file.close()
            raise unwritable(path, error) from error
        self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
