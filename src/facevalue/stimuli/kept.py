"""Bounded cache of recent results, in memory."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    r"""The values used last, up to so many bytes of them. Safe for several threads.

    >>> kept = Kept[str, bytes](limit=8)
    >>> for name in ("a", "b", "c"):
    ...     kept.put(name, bytes(4), 4)
    >>> kept.get("a"), kept.get("c"), kept.size
    (None, b'\x00\x00\x00\x00', 8)
    """

    def __init__(self, limit: int) -> None:
        self._most = limit
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()
        self._size = 0

    def __reduce__(self) -> tuple[type["Kept[K, V]"], tuple[int]]:
        """Pickle and copy the limit alone: values are made again, and a lock belongs to one process."""
        return type(self), (self._most,)

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return self._size

    def get(self, key: K) -> V | None:
        """Return a value and count it as used; None if it isn't there."""
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                return None
            self._values.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value of so many bytes, and let go of those used longest ago."""
        with self._lock:
            if size > self._most:
                return
            before = self._values.pop(key, None)
            self._size += size - (before[1] if before else 0)
            self._values[key] = (value, size)
            while self._size > self._most:
                _, (_, gone) = self._values.popitem(last=False)
                self._size -= gone
