"""Damage at rest: one bit of a file is another."""

from pathlib import Path

from numpy.random import Generator


def flip_a_bit(path: Path, rng: Generator) -> None:
    """Flip one bit of a file, wherever."""
    data = bytearray(path.read_bytes())
    at = int(rng.integers(8 * len(data)))
    data[at // 8] ^= 1 << at % 8
    path.write_bytes(bytes(data))
