"""Damage at rest: one bit of a file is another."""

from pathlib import Path
from random import Random

from numpy.random import Generator


def flip_a_bit(path: Path, rng: Generator | Random) -> None:
    """Flip one bit of a file, wherever."""
    data = bytearray(path.read_bytes())
    size = len(data)
    at = 8 * rng.randrange(size) + rng.randrange(8) if isinstance(rng, Random) else int(rng.integers(8 * size))
    data[at // 8] ^= 1 << at % 8
    path.write_bytes(bytes(data))
