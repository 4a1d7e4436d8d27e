"""Object stores that fail, lose confirmations, lag, or end with their process."""

import random
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from obstore.exceptions import GenericError
from obstore.store import MemoryStore

from facevalue.store.objects import ListedObject, Objects

T = TypeVar("T")
URL = "memory://bucket/run"


class Killed(BaseException):
    """The end of a process, as far as this one can play it."""


class Faulty(Objects):
    """Each try at the store may fail, before or after it was done."""

    def __init__(self, store: Any, url: str = URL, share: float = 0.0, seed: int = 0) -> None:
        super().__init__(url, store)
        self._share = share
        self._rng = random.Random(seed)
        self.failed = 0

    def _ask(self, key: str, action: str, call: Callable[[], T], patience: float | None = None, **otherwise: T) -> T:
        def tried() -> T:
            fails = self._rng.random() < self._share
            before = self._rng.random() < 0.5
            self.failed += fails
            if fails and before:
                raise GenericError("503 Slow Down")
            found = call()
            if fails:
                raise GenericError("connection closed before message completed")
            return found

        return super()._ask(key, action, tried, patience, **otherwise)


class Mortal(Objects):
    """Ends the process at one operation: before it, or after it was done. Nothing is done any more after that."""

    def __init__(self, store: Any, at: int, *, before: bool, url: str = URL) -> None:
        super().__init__(url, store)
        self._left = at
        self._before = before
        self._dead = False

    def _ask(self, key: str, action: str, call: Callable[[], T], patience: float | None = None, **otherwise: T) -> T:
        def tried() -> T:
            if threading.current_thread() is not threading.main_thread():
                if self._dead:
                    raise PermissionError("the process is no more")  # the lease's thread ends quietly
                return call()
            if self._dead:
                raise Killed
            self._left -= 1
            self._dead = self._left < 0
            if self._dead and self._before:
                raise Killed
            found = call()
            if self._dead:
                raise Killed
            return found

        return super()._ask(key, action, tried, patience, **otherwise)


class Lagging(Objects):
    """A listing that shows only part of what is there."""

    def __init__(self, store: MemoryStore, hidden: int) -> None:
        super().__init__(URL, store)
        self._hidden = hidden

    def list(self, folder: str) -> list[ListedObject]:
        return super().list(folder)[self._hidden :]
