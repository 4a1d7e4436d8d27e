"""Memory of a process that stays: what libraries free goes back to the system soon. Imported before those libraries."""

import ctypes
import os
import sys
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Names of settings of glibc's allocator."""
_BYTES, _ARENAS = 4 * 2**20, 2
"""Blocks from this size are the system's again once they are freed; arenas in which threads keep what they freed."""


def _set() -> None:
    os.environ.setdefault("_RJEM_MALLOC_CONF", "background_thread:true,dirty_decay_ms:100,muzzy_decay_ms:0")  # Polars'
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        for name, value in ((_ARENA_MAX, _ARENAS), (_MMAP_THRESHOLD, _BYTES), (_TRIM_THRESHOLD, _BYTES)):
            mallopt(name, value)


_set()
