"""Members of a zip file from strangers: sizes bounded, checksums compared, Zstandard read where Python cannot."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import pyarrow as pa

from facevalue.errors import DataError
from facevalue.given import check_file

MEMBERS = 200_000
"""Most members of a file."""
_ZSTANDARD = 93  # method of compression that Inspect's logs have; Python knows it from 3.14 on
_WAYS = {ZIP_STORED: None, ZIP_DEFLATED: "deflate", _ZSTANDARD: "zstd"}
_HEAD = 30  # bytes of a member's own head before its name
_ENCRYPTED = 1
_MIB = 2**20


class Zipped:
    """A zip file whose members are read one at a time.

    Raises
    ------
    DataError
        It is no zip file, or has more than `MEMBERS` members.
    """

    def __init__(self, path: Path, noun: str) -> None:
        check_file(path, noun)
        self._path = path
        try:
            with ZipFile(path) as file:
                listed = file.infolist()
        except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise DataError(f"{path.name} is cut short or damaged: {error}.") from None
        if len(listed) > MEMBERS:
            raise DataError(f"{path.name} holds {len(listed):,} files; at most {MEMBERS:,} are read.")
        self.members: Mapping[str, ZipInfo] = {member.filename: member for member in listed}
        """By name; of several of one name the last, which replaced the others."""

    def content(self, name: str, limit: int) -> bytes:
        """Return what a member holds: at most `limit` bytes, whatever its head promises."""
        member, place = self.members[name], f"{self._path.name}, {name[:80]}"
        if member.compress_type not in _WAYS or member.flag_bits & _ENCRYPTED:
            raise DataError(f"{place} is compressed or encrypted in a way that is not read.")
        if member.file_size > limit:
            raise DataError(f"{place} is larger than {limit // _MIB} MiB, the most that is read of one.")
        try:
            with self._path.open("rb") as file:
                file.seek(member.header_offset)
                head = file.read(_HEAD)
                if head[:4] != b"PK\x03\x04" or len(head) < _HEAD:
                    raise DataError(f"{place} is cut short or damaged.")
                file.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
                packed = file.read(min(member.compress_size, limit + _MIB))
            data = _unpacked(packed, _WAYS[member.compress_type], limit)
        except (OSError, ValueError, zlib.error, pa.ArrowException) as error:
            raise DataError(f"{place} is cut short or damaged: {str(error).splitlines()[0]}.") from None
        if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
            raise DataError(f"{place} is cut short or damaged: its checksum is another one.")
        return data


def _unpacked(packed: bytes, way: str | None, limit: int) -> bytes:
    """Decompress at most a byte more than the limit: enough to see that there is too much."""
    if way is None:
        return packed
    if way == "deflate":
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit + 1)
    with pa.CompressedInputStream(pa.BufferReader(packed), way) as stream:
        return bytes(stream.read(limit + 1))
