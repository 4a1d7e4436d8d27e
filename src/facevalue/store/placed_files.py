"""Files of a place, which is a folder or a URL in object storage: whole files by their names."""

from pathlib import Path

from facevalue.given import read_file
from facevalue.store.files import write_whole


def write_placed(place: Path | str, name: str, data: bytes) -> None:
    """Write a file, or an object, in place of an earlier one; a kill leaves one or the other as a whole."""
    if isinstance(place, str):
        from facevalue.store.objects import Objects  # noqa: PLC0415 - asyncio and ssl: help needs none of it

        Objects.at(place, make=True).overwrite(name, data)
    else:
        write_whole(place / name, data)


def read_placed(place: Path | str, name: str, most_bytes: int, kind: str) -> bytes | None:
    """Read a file, or an object; None if it is not there. `kind`: what it is called where it is too large a file."""
    if isinstance(place, str):
        from facevalue.store.objects import Objects  # noqa: PLC0415 - asyncio and ssl: help needs none of it

        stored = Objects.at(place).get(name)
        return None if stored is None else stored[0]
    path = place / name
    return read_file(path, most_bytes, kind) if path.is_file() else None
