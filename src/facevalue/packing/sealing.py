"""Seal of a pack: the SHA-256 of each of its files in one list, and its check."""

import hashlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from facevalue.errors import DataError

SUMS = "SHA256SUMS"
"""Name of the list, in the form that `sha256sum -c` reads."""
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")
_MOST_BYTES = 2**32
"""Bytes of a pack's file that are read to check it."""
_BLOCK = 2**20


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums(files: Mapping[str, bytes]) -> bytes:
    r"""The list of digests of files, by name.

    Examples
    --------
    >>> sums({"a.txt": b""})[:12], sums({"a.txt": b""})[-8:]
    (b'e3b0c44298fc', b'  a.txt\n')
    """
    lines = (f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    return "".join(lines).encode()


def faults(pack: Path) -> tuple[int, list[str]]:
    """Check a pack, a folder or a ZIP file: how many files its list names, and a sentence for each that is wrong.

    Raises
    ------
    DataError
        It is no pack, or cannot be read.
    """
    try:
        with _opened(pack) as files:
            return _checked(pack, files)
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise DataError(f"{pack} cannot be read as a pack: {error}.") from error


def _checked(pack: Path, files: Mapping[str, Iterator[bytes]]) -> tuple[int, list[str]]:
    if SUMS not in files:
        raise DataError(f"{pack} is not a pack: it has no {SUMS}. `facevalue pack RUN --to {pack}` writes one.")
    listed: dict[str, str] = {}
    for number, line in enumerate(b"".join(files[SUMS]).decode().splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise DataError(f"{SUMS} of {pack}, line {number}: not a digest and the name of a file.")
        listed[match[2]] = match[1]
    out = [f"{name}: not in the list" for name in sorted({*files} - {*listed, SUMS})]
    for name, digest in listed.items():
        if name not in files:
            out.append(f"{name}: missing")
        elif _digest(files[name]) != digest:
            out.append(f"{name}: changed")
    return len(listed), out


def _digest(blocks: Iterator[bytes]) -> str:
    out = hashlib.sha256()
    for block in blocks:
        out.update(block)
    return out.hexdigest()


@contextmanager
def _opened(pack: Path) -> Iterator[Mapping[str, Iterator[bytes]]]:
    """Files of a pack by name, read when they are asked for."""
    if pack.is_dir():
        paths = (path for path in sorted(pack.rglob("*")) if path.is_file() and not path.is_symlink())
        yield {path.relative_to(pack).as_posix(): _blocks(path) for path in paths}
        return
    with zipfile.ZipFile(pack) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        top = {PurePosixPath(member.filename).parts[0] for member in members}
        root = f"{top.pop()}/" if len(top) == 1 and SUMS not in archive.namelist() else ""
        yield {member.filename.removeprefix(root): _unpacked(archive, member) for member in members}


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    if member.file_size > _MOST_BYTES:
        raise DataError(f"{member.filename} is {member.file_size:,} bytes when unpacked: more than a pack's file has.")
    with archive.open(member) as file:
        while block := file.read(_BLOCK):
            yield block
