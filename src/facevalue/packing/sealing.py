"""Seal of a pack, the SHA-256 of each of its files, and a ZIP layout that every program unpacks alike."""

import hashlib
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, NoReturn
from unicodedata import normalize
from zipfile import ZIP_DEFLATED, ZIP_STORED

from facevalue.errors import DataError
from facevalue.printable import printable, short
from facevalue.untrusted_files import check_file

BLOCK = 2**20
_WIDE, _WIDE_COUNT = 0xFFFFFFFF, 0xFFFF
"""Sizes and counts that stand for "larger: see elsewhere", which nothing of a pack is."""
_WIDE_PLACE = b"PK\x06\x07"
_WIDE_PLACE_BYTES = 20
_MOST_DIRECTORY = 2**26
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_DESCRIPTOR = struct.Struct("<3I")
_DESCRIPTOR_MARK = b"PK\x07\x08"
_ENCRYPTED, _DESCRIBED_AFTER, _UTF_8 = 1 << 0, 1 << 3, 1 << 11
_FLAGS = 1 << 1 | 1 << 2 | _DESCRIBED_AFTER | _UTF_8
_HOSTS = (0, 3, 10, 19)
"""Systems that wrote the file, as far as others read names and modes of theirs alike: DOS, Unix, Windows, macOS."""
_VERSION = 45
_EXTRAS = (0x000A, 0x5455, 0x5855, 0x7855, 0x7875)
"""Further fields of a member that hold times and owners alone; others can give it another name or size."""
_DOS_ATTRIBUTES = 0x20A7
"""Read-only, hidden, system, archive, plain and not indexed; others make a member a folder, a label or a link."""


class ZipMember(NamedTuple):
    """One file in a ZIP file: what both of its headers say."""

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    """Its bytes in the ZIP file."""
    size: int
    """Its bytes when unpacked."""
    place: int
    """Where its own header begins."""

    @property
    def is_folder(self) -> bool:
        """True if it stands for a folder, which holds nothing itself."""
        return self.name.endswith("/")


@dataclass(frozen=True)
class ZipLayout:
    """Members of a ZIP file, and where the bytes of each begin."""

    file: IO[bytes]
    starts: dict[ZipMember, int]

    def blocks(self, member: ZipMember) -> Iterator[bytes]:
        """Unpack a member, a block at a time.

        Raises
        ------
        DataError
            Its bytes are not what its headers say.
        """
        size, crc = 0, 0
        for block in self._unpack(member):
            size, crc = size + len(block), zlib.crc32(block, crc)
            if size > member.size:
                raise _damage_error()
            yield block
        if size != member.size or crc != member.crc:
            raise _damage_error()

    def _unpack(self, member: ZipMember) -> Iterator[bytes]:
        if member.method == ZIP_STORED:
            yield from self._packed_blocks(member)
            return
        unpack = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            for packed in self._packed_blocks(member):
                rest = packed
                while block := unpack.decompress(rest, BLOCK):
                    yield block
                    rest = unpack.unconsumed_tail
        except zlib.error as error:
            raise _damage_error() from error
        if unpack.unused_data or not unpack.eof:
            raise _damage_error()

    def _packed_blocks(self, member: ZipMember) -> Iterator[bytes]:
        place, rest = self.starts[member], member.packed
        while rest:
            self.file.seek(place)
            block = self.file.read(min(BLOCK, rest))
            if not block:
                raise _damage_error()
            place, rest = place + len(block), rest - len(block)
            yield block


def read_layout(file: IO[bytes]) -> ZipLayout:
    """Read and check the layout of a ZIP file.

    Raises
    ------
    DataError
        It is none, or is laid out so that programs could unpack different files from it.
    """
    count, start, end = _directory_place(file)
    file.seek(start)
    members = list(_directory(file.read(end - start), count))
    _check_names([member.name for member in members])
    starts, place = dict[ZipMember, int](), 0
    for member in sorted(members, key=lambda member: member.place):
        if member.place != place:
            raise DataError(f"{_quote(member.name)} does not begin where the file before it ends")
        starts[member] = _local_end(file, member)
        place = _described_end(file, member, starts[member] + member.packed)
    if place != start:
        raise DataError("there are bytes in it that belong to no file")
    return ZipLayout(file, starts)


def check_name(name: str) -> None:
    r"""Refuse a name of a file that could be unpacked elsewhere, or under another name.

    Examples
    --------
    >>> check_name("reports/a.html")
    >>> check_name("../a.html")
    Traceback (most recent call last):
    facevalue.errors.DataError: '../a.html' is not the name of a file in a pack
    """
    segments = name.split("/")
    is_odd = any(not segment or segment != segment.strip() or segment.endswith(".") for segment in segments)
    if is_odd or set(name) & set('\\:*?"<>|'):
        raise DataError(f"{short(name)} is not the name of a file in a pack")
    if name != printable(name) or set(name) & set("\t\n"):
        raise DataError(f"{short(name)} holds signs that do not show")


def _check_names(names: list[str]) -> None:
    """Refuse names of which two are one file on some system, or one is a file and a folder."""
    spelled = dict[str, str]()
    for name in names:
        check_name(name.removesuffix("/"))
        key = normalize("NFC", name.removesuffix("/")).casefold()
        if key in spelled:
            twice = f"{_quote(name)} twice" if spelled[key] == name else f"{_quote(spelled[key])} and {_quote(name)}"
            raise DataError(f"it holds {twice}, of which one would be unpacked over the other")
        spelled[key] = name
    for key, name in spelled.items():
        above = key.split("/")[:-1]
        folders = ("/".join(above[: depth + 1]) for depth in range(len(above)))
        if any(not spelled.get(folder, "/").endswith("/") for folder in folders):
            raise DataError(f"it holds {_quote(name)} in a folder that is itself a file")


def _directory_place(file: IO[bytes]) -> tuple[int, int, int]:
    """Number of members that the directory lists, and the places where it begins and ends."""
    size = file.seek(0, 2)
    file.seek(max(size - _END.size, 0))
    data = file.read(_END.size)
    if len(data) < _END.size or not data.startswith(b"PK\x05\x06"):
        raise DataError("it does not end as a ZIP file does")
    _, disk, first_disk, on_disk, count, length, start, comment = _END.unpack(data)
    if disk or first_disk or on_disk != count or comment or start + length != size - _END.size:
        raise DataError("its end contradicts itself, or bytes were added to it")
    file.seek(max(size - _END.size - _WIDE_PLACE_BYTES, 0))
    if count == _WIDE_COUNT or file.read(len(_WIDE_PLACE)) == _WIDE_PLACE:
        raise DataError("it is of the form for very large ZIP files, which no pack is")
    if length > _MOST_DIRECTORY:
        raise DataError(f"its directory is larger than {_MOST_DIRECTORY // BLOCK} MiB, the most that is read of one")
    return count, start, start + length


def _directory(data: bytes, count: int) -> Iterator[ZipMember]:
    place = 0
    for _ in range(count):
        if len(data) - place < _CENTRAL.size:
            raise DataError("its directory is cut short")
        head = _CENTRAL.unpack_from(data, place)
        (mark, made_by, version, flags, method, _, _, crc, packed, size) = head[:10]
        (name_length, extra_length, comment_length, disk, _, attributes, start) = head[10:]
        place += _CENTRAL.size
        if mark != b"PK\x01\x02" or disk or comment_length or len(data) - place < name_length + extra_length:
            raise DataError("its directory is damaged")
        name = _decode(data[place : place + name_length], flags)
        _check_extra(data[place + name_length : place + name_length + extra_length], name)
        place += name_length + extra_length
        member = ZipMember(name, flags, method, crc, packed, size, start)
        _check_member(member, made_by >> 8, version, attributes)
        yield member
    if place != len(data):
        raise DataError("its directory lists more files than it counts")


def _check_member(member: ZipMember, host: int, version: int, attributes: int) -> None:
    name = _quote(member.name)
    if member.flags & _ENCRYPTED:
        raise DataError(f"{name} is marked as encrypted, which no file of a pack is")
    if member.flags & ~_FLAGS or member.method not in (ZIP_STORED, ZIP_DEFLATED):
        raise DataError(f"{name} is compressed in a way that packs are not")
    if host not in _HOSTS or version > _VERSION:
        raise DataError(f"{name} is of a kind of ZIP file that packs are not")
    mode = attributes >> 16
    expected = stat.S_IFDIR if member.is_folder else stat.S_IFREG
    dos = attributes & 0xFFFF & ~_DOS_ATTRIBUTES & ~(0x10 if member.is_folder else 0)
    if stat.S_IFMT(mode) not in (0, expected) or dos:
        raise DataError(f"{name} is marked as a link or another thing that is no file")
    if member.is_folder and (member.packed or member.size):
        raise DataError(f"{name} is a folder and has bytes of its own")
    if member.size == _WIDE or (member.method == ZIP_STORED and member.size != member.packed):
        raise DataError(f"{name} has a size that contradicts itself")


def _local_end(file: IO[bytes], member: ZipMember) -> int:
    """Start of a member's bytes; its own header must say what the directory says."""
    file.seek(member.place)
    data = file.read(_LOCAL.size)
    differs = DataError(f"{_quote(member.name)} is something else in its own header than in the directory")
    if len(data) < _LOCAL.size:
        raise differs
    mark, version, flags, method, _, _, *sizes, name_length, extra_length = _LOCAL.unpack(data)
    name, extra = file.read(name_length), file.read(extra_length)
    listed = [member.crc, member.packed, member.size]
    agrees = sizes == listed or (member.flags & _DESCRIBED_AFTER and sizes == [0, 0, 0])
    if (mark, flags, method) != (b"PK\x03\x04", member.flags, member.method) or version > _VERSION or not agrees:
        raise differs
    if len(extra) < extra_length or name != member.name.encode():
        raise differs
    _check_extra(extra, member.name)
    return member.place + _LOCAL.size + name_length + extra_length


def _described_end(file: IO[bytes], member: ZipMember, end: int) -> int:
    """End of a member: after its bytes, or after the descriptor that follows them."""
    if not member.flags & _DESCRIBED_AFTER:
        return end
    file.seek(end)
    data = file.read(len(_DESCRIPTOR_MARK) + _DESCRIPTOR.size)
    mark = len(_DESCRIPTOR_MARK) if data.startswith(_DESCRIPTOR_MARK) else 0
    if data[mark : mark + _DESCRIPTOR.size] != _DESCRIPTOR.pack(member.crc, member.packed, member.size):
        raise DataError(f"{_quote(member.name)} is something else behind its bytes than in the directory")
    return end + mark + _DESCRIPTOR.size


def _decode(name: bytes, flags: int) -> str:
    try:
        return name.decode("utf-8" if flags & _UTF_8 else "ascii")
    except UnicodeDecodeError:
        raise DataError(f"{short(name)} is a name in no encoding that is read: UTF-8, marked as such") from None


def _check_extra(extra: bytes, name: str) -> None:
    """Refuse further fields that say more than times and owners."""
    place = 0
    while place < len(extra):
        kind, length = int.from_bytes(extra[place : place + 2], "little"), extra[place + 2 : place + 4]
        place += 4 + int.from_bytes(length, "little")
        if kind not in _EXTRAS or place > len(extra) or len(length) < 2:
            raise DataError(f"{_quote(name)} has a further field that packs do not have")


def _quote(name: str) -> str:
    return name if len(name) <= 100 and name == printable(name) else short(name)


def _damage_error() -> DataError:
    return DataError("damaged: its bytes cannot be unpacked")


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
