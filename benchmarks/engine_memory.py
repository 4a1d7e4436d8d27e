"""Memory that a way to ask takes beyond the loaded model: its peak, in a process of its own."""

import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path

import torch

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def extra_mb(work: Callable[[], object], device: str) -> float | None:
    """Run something and return how far memory rose above what was in use, in MB of 10^6 bytes.

    On a GPU torch counts what tensors take. On Linux the kernel's mark of the highest resident memory is set back
    before; elsewhere there is no such mark, and the answer is None.

    Parameters
    ----------
    work:
        What to run; it should have been run once in a small way, so that what is made once is there.
    device:
        "cpu" or "cuda".
    """
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before) / 1e6
    if sys.platform != "linux":
        return None
    ctypes.CDLL(None).malloc_trim(0)  # what was freed is given back, so that using it anew counts
    try:
        _CLEAR.write_text("5")
    except OSError:
        return None
    before = _resident("VmRSS")
    work()
    return (_resident("VmHWM") - before) * 1024 / 1e6


def _resident(name: str) -> int:
    """Memory of this process in KiB."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])
