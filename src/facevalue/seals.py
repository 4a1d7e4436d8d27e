"""Digests by which files of a run folder say whether they are as they were written."""

import hashlib
import re
from pathlib import Path

from facevalue.errors import DataError

SHARD = re.compile(r"part-(\d+)(?:-([0-9a-f]{16}))?\.parquet")
"""Name of a file of responses: its number, and the digest of its bytes. One that is read in place has no digest."""
_SEAL = "sha256"


def digest_of(data: bytes) -> str:
    """Digest by which a shard's bytes are known: 64 bits of SHA-256, against damage and mistakes.

    Examples
    --------
    >>> digest_of(b"answers")
    '677fe21b65f4a6cf'
    """
    return hashlib.sha256(data).hexdigest()[:16]


def check_shard(path: Path) -> None:
    """Read a shard's bytes and compare them with the digest in its name, where it has one."""
    match = SHARD.fullmatch(path.name)
    if match and match[2] and digest_of(path.read_bytes()) != match[2]:
        raise DataError("its content is not what was written: a bit was flipped, or it was replaced")


def sealed(data: bytes) -> bytes:
    """Return TOML with the digest of all other lines in its first."""
    return f'{_SEAL} = "{hashlib.sha256(data).hexdigest()}"\n'.encode() + data


def unsealed(data: bytes, name: str) -> bytes:
    """Return TOML without its seal, once that was compared; the data themselves where there is none."""
    first, _, rest = data.partition(b"\n")
    if not first.startswith(_SEAL.encode()):
        return data
    if sealed(rest) != data:
        raise DataError(
            f"{name} is not as FaceValue wrote it: its digest is another one. It was damaged or edited, and trial "
            "numbers could mean something else. Restore it from a copy."
        )
    return rest
