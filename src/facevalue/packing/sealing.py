"""Seal of a pack: the SHA-256 of each of its files in one list, and its check."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

from facevalue.errors import DataError
from facevalue.packing.zip_layout import BLOCK, read_layout
from facevalue.untrusted_files import check_file

SUMS = "SHA256SUMS"
"""Name of the list, in the form that `sha256sum -c` reads."""
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")
_MIB = 2**20
_MOST_LIST = 16 * _MIB


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
        It is no pack, cannot be read, or is a ZIP file that programs could unpack differently.
    """
    try:
        if pack.is_dir():
            return _check_files(pack, *_of_folder(pack))
        check_file(pack, "pack")
        with pack.open("rb") as file:
            return _check_files(pack, _of_zip(pack, file), [])
    except OSError as error:
        raise DataError(f"{pack} cannot be read as a pack: {error}.") from error


def _check_files(pack: Path, files: Mapping[str, Iterator[bytes]], others: Sequence[str]) -> tuple[int, list[str]]:
    """Compare the files of a pack with its list; `others`: sentences on what is in it and is no file."""
    if SUMS not in files and {"run.toml", "audit.toml"} & {*files}:
        raise DataError(f"{pack} is a run or an audit, not a pack: `facevalue verify {pack}` checks it.")
    if SUMS not in files:
        raise DataError(f"{pack} is not a pack: it has no file {SUMS}. `facevalue pack RUN --to {pack}` writes one.")
    listed = dict[str, str]()
    for number, line in enumerate(_list_lines(pack, files[SUMS]), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise DataError(f"{SUMS} of {pack}, line {number}: not a digest and the name of a file.")
        if match[2] in listed:
            raise DataError(f"{SUMS} of {pack}, line {number}: {match[2]} is listed twice.")
        listed[match[2]] = match[1]
    out = [*others, *(f"{name}: not in the list" for name in sorted({*files} - {*listed, SUMS}))]
    for name, digest in listed.items():
        if name not in files:
            out.append(f"{name}: missing")
            continue
        try:
            is_same = _digest(files[name]) == digest
        except DataError as error:
            out.append(f"{name}: {error}")
        else:
            out += [] if is_same else [f"{name}: changed"]
    return len(listed), out


def _list_lines(pack: Path, blocks: Iterator[bytes]) -> list[str]:
    """The lines of a pack's list, of which a bounded number of bytes is read."""
    data = bytearray()
    try:
        for block in blocks:
            data += block
            if len(data) > _MOST_LIST:
                raise DataError(f"larger than {_MOST_LIST // _MIB} MiB, the most that is read of one")
        text = data.decode()
    except (DataError, UnicodeDecodeError) as error:
        reason = error if isinstance(error, DataError) else "not in UTF-8"
        raise DataError(f"{SUMS} of {pack} cannot be read: {reason}.") from error
    return text.removesuffix("\n").split("\n")


def _digest(blocks: Iterator[bytes]) -> str:
    out = hashlib.sha256()
    for block in blocks:
        out.update(block)
    return out.hexdigest()


def _of_folder(folder: Path) -> tuple[dict[str, Iterator[bytes]], list[str]]:
    """Files of a folder by name, read when they are asked for, and a sentence for each thing that is no file."""
    files, others = dict[str, Iterator[bytes]](), []
    for above, folders, names in os.walk(folder, onerror=_raise):
        for name in (*folders, *names):
            path = Path(above, name)
            place, mode = path.relative_to(folder).as_posix(), path.lstat().st_mode
            if stat.S_ISREG(mode):
                files[place] = _blocks(path)
            elif not stat.S_ISDIR(mode):
                others.append(f"{place}: {'a link' if stat.S_ISLNK(mode) else 'a pipe or device'}, not a file")
    return files, sorted(others)


def _raise(error: OSError) -> NoReturn:
    raise error


def _of_zip(pack: Path, file: IO[bytes]) -> dict[str, Iterator[bytes]]:
    """Files of a ZIP file by name, without the folder that holds them all, read when they are asked for."""
    try:
        layout = read_layout(file)
    except DataError as error:
        raise DataError(f"{pack} cannot be read as a pack: {error}.") from error
    members = {member.name: member for member in layout.starts}
    top = {name.partition("/")[0] for name in members}
    root = f"{top.pop()}/" if len(top) == 1 and SUMS not in members else ""
    return {name.removeprefix(root): layout.blocks(member) for name, member in members.items() if not member.is_folder}


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block
