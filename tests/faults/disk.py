"""A disk that fails: at one operation the process dies, the operation fails, or the power goes."""

import errno
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KINDS = ("kill", "error", "power")


class Dead(BaseException):
    """The process ends here; nothing that catches exceptions may catch it."""


class Disk:
    """Counts the file operations of a run below a folder, and fails at one of them.

    Parameters
    ----------
    folder:
        Below which operations count.
    kind:
        "kill": everything up to the operation is there; "error": the operation fails once, for lack of space;
        "power": what was not forced to the disk by then may be gone.
    at:
        At which operation, from 0; never if negative.
    rng:
        Chooses what a power cut loses.
    """

    def __init__(self, folder: Path, kind: str, at: int, rng: random.Random) -> None:
        self._folder = str(folder)
        self._kind = kind
        self._at = at
        self._rng = rng
        self.count = 0
        self._is_dead = False
        self._renamed: list[tuple[Path, Path | None]] = []
        self._copies = folder.with_suffix(".copies")

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Stand before the operations that the store uses."""
        for owner, name in ((Path, "open"), (Path, "replace"), (Path, "unlink"), (os, "fsync")):
            patch.setattr(owner, name, self._before(name, getattr(owner, name)))

    def _before(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            path = args[0]
            written = name != "open" or any(mode in str(args[1:]) + str(kwargs) for mode in ("w", "a", "+"))
            if not written or (isinstance(path, Path) and not str(path).startswith(self._folder)):
                return real(*args, **kwargs)
            self.count += 1
            if self.count - 1 == self._at or self._is_dead:
                self._fail()
            if name == "replace":
                self._remember(args[1])
            out = real(*args, **kwargs)
            if name == "fsync" and self._is_folder(args[0]):
                self._renamed.clear()
            return out

        return operation

    def _fail(self) -> None:
        if self._kind == "error":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self._kind == "power" and not self._is_dead:
            self._lose()
        self._is_dead = True  # nothing that is done on the way out reaches the disk
        raise Dead

    def _remember(self, path: Path) -> None:
        """Keep what is at a name that is about to mean another file: until the folder is forced, it may come back."""
        if self._kind != "power":
            return
        copy = None
        if path.exists():
            self._copies.mkdir(exist_ok=True)
            copy = self._copies / f"{self.count}"
            shutil.copy(path, copy)
        self._renamed.append((path, copy))

    def _lose(self) -> None:
        for path, copy in reversed(self._renamed):
            if self._rng.random() < 0.5:
                path.unlink(missing_ok=True) if copy is None else shutil.copy(copy, path)
        for path in Path(self._folder).rglob(".*"):  # what is written aside, and the journal, were never forced
            if path.is_file() and path.stat().st_size:
                os.truncate(path, self._rng.randrange(path.stat().st_size))

    @staticmethod
    def _is_folder(number: int) -> bool:
        return os.path.isdir(f"/proc/self/fd/{number}")  # noqa: PTH112 - a number, not a name
