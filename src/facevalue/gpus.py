"""GPUs of this machine, as NVIDIA's driver lists them: PyTorch, which takes seconds to import, is not asked."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

_QUERY = ("name", "memory.total", "memory.free", "compute_cap", "driver_version")
_SECONDS = 10
"""Longest wait for the driver, which may hang where a GPU is broken."""
_MIB = 2**20
BFLOAT16 = 8.0
"""Compute capability from which a GPU has bfloat16."""
_BYTES, _WEIGHTS = 2, 0.8
"""Bytes of a weight in 16 bits; share of the memory that weights may take, the rest being for pictures and replies."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU, and what it allows."""

    name: str
    memory_gb: float
    """In GB of 10^9 bytes."""
    free_gb: float
    compute_capability: str
    driver: str
    dtype: str
    """Number format to load models in: bfloat16, or float16 on a GPU that has none."""
    largest_model: float
    """Billions of weights of the largest model that fits into the whole memory in that format, a fifth left for the
    rest; by arithmetic."""


def gpus() -> tuple[Gpu, ...]:
    """NVIDIA's GPUs; none where its driver does not answer."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return ()
    query = [command, f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(parse_gpus(answer.stdout)) if answer.returncode == 0 else ()


def parse_gpus(text: str) -> Iterator[Gpu]:
    """GPUs of what the driver lists; lines that cannot be read are none.

    Examples
    --------
    >>> (gpu,) = parse_gpus("NVIDIA H100 80GB HBM3, 81559, 81008, 9.0, 550.54")
    >>> gpu.dtype, gpu.memory_gb, gpu.largest_model
    ('bfloat16', 85.5, 34.0)
    """
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(_QUERY):
            continue
        name, total, free, capability, driver = cells
        try:
            memory, left, level = float(total) * _MIB / 1e9, float(free) * _MIB / 1e9, float(capability)
        except ValueError:  # "[N/A]": a part of a GPU, or one that is broken
            continue
        dtype = "bfloat16" if level >= BFLOAT16 else "float16"
        largest = round(memory * _WEIGHTS / _BYTES)
        yield Gpu(name, round(memory, 1), round(left, 1), capability, driver, dtype, float(largest))
