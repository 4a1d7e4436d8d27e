"""Files that this process may have open at once, and how many requests fit among them: each holds a connection."""

from contextlib import suppress
from pathlib import Path

_SPARE = 24
"""Left for files that are read and written meanwhile."""
_EACH = 2
"""Files of a request: an address of a server may be tried while another is."""


def requests_at_once(width: int) -> int:
    """How many requests can be on their way at once: as many as wanted, or as the process may hold connections.

    The limit of the process (`ulimit -n`) is raised as far as the system lets it be.

    Examples
    --------
    >>> requests_at_once(1)
    1
    """
    try:
        import resource  # noqa: PLC0415 - not of every system
    except ImportError:
        return width
    needed = _open_files() + _SPARE + _EACH * width
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < needed:
        with suppress(OSError, ValueError):
            raised = needed if hard == unlimited else min(hard, needed)
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == unlimited or soft >= needed:
        return width
    return max(1, min(width, (soft - _open_files() - _SPARE) // _EACH))


def concurrency_note(width: int) -> str:
    """Say that fewer requests are on their way at once than was wanted; empty where it is as many."""
    count = requests_at_once(width)
    if count == width:
        return ""
    return f"At most {count} of {width} requests at once: this process may open few files at a time (ulimit -n)."


def _open_files() -> int:
    """Files that are open now, or what a process begins with where that is not told."""
    with suppress(OSError):
        return len(list(Path("/proc/self/fd").iterdir()))
    return _SPARE
