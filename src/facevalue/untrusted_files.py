"""Files from users and strangers, read within bounds: a problem is one sentence, not a traceback."""

import json
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from facevalue.errors import DataError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MIB = 2**20
_LOOKED_AT = 2_000  # names of a folder, where a file is missing
Record = TypeVar("Record", bound="DataclassInstance")


def check_file(path: Path, noun: str) -> int:
    """Return the size of a regular file. Pipes and devices are refused, as reading them might never end."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise DataError(f"There is no file {path} ({noun}).{nearest(path)}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} ({noun}) cannot be read: {_error_reason(error)}.") from None
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or device"
        raise DataError(f"{path} ({noun}) is {kind}, not a file.")
    return status.st_size


def nearest(path: Path) -> str:
    """Ask whether another name in its folder is meant, as a further sentence; empty where none is alike."""
    try:
        names = [place.name for place in islice(path.parent.iterdir(), _LOOKED_AT)]
    except (OSError, ValueError):
        return ""
    alike = get_close_matches(path.name, names, n=1)
    return f" Did you mean {alike[0]!r}?" if alike else ""


def read_file(path: Path, limit: int, noun: str) -> bytes:
    """Read a whole file of at most so many bytes."""
    if check_file(path, noun) <= limit:
        try:
            with path.open("rb") as file:
                data = file.read(limit + 1)
        except OSError as error:
            raise DataError(f"{path} ({noun}) cannot be read: {_error_reason(error)}.") from None
        if len(data) <= limit:
            return data
    raise _too_large(f"{path} ({noun})", limit)


def read_text(path: Path, limit: int, noun: str) -> str:
    """Read a whole file of text in UTF-8, with or without a mark at its beginning."""
    return to_text(read_file(path, limit, noun), str(path))


def to_text(data: bytes, name: str) -> str:
    """Decode UTF-8; an error names the line."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError(f"{name} is UTF-16. Save the file as UTF-8 (in a spreadsheet: CSV UTF-8).") from None
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}: line {line} is not UTF-8 (byte {error.start}). Save the file as UTF-8.") from None


@cache
def shipped(package: str, *path: str) -> dict[str, Any]:
    """The tables of a TOML file that comes with a package."""
    return tomllib.loads(files(package).joinpath(*path).read_text(encoding="utf-8"))


def records(kind: type[Record], rows: Iterable[Mapping[str, Any]], **shared: Any) -> tuple[Record, ...]:
    """Rows of a shipped table as records of one kind: lists become tuples, keys that are no field are passed over.

    `shared`: fields that all of them have alike, unless a row says otherwise.
    """
    names = {field.name for field in fields(kind)}
    columns = ({**shared, **row} for row in rows)
    return tuple(
        kind(
            **{name: tuple(value) if isinstance(value, list) else value for name, value in row.items() if name in names}
        )
        for row in columns
    )


def to_toml(data: bytes, name: str, limit: int | None = None) -> dict[str, Any]:
    """Understand TOML of at most so many bytes, of any depth and with numbers of any length, or say why not."""
    if limit is not None and len(data) > limit:
        raise _too_large(name, limit)
    try:
        return tomllib.loads(to_text(data, name))
    except RecursionError:
        raise DataError(f"{name} is not valid TOML that is read: its tables are nested too deeply.") from None
    except ValueError as error:
        raise DataError(f"{name} is not valid TOML: {_error_reason(error)}.{_written_number(data, error)}") from None


def _written_number(data: bytes, error: ValueError) -> str:
    """Say how a number like .7 is written, as a further sentence; empty where the line of an error ends in none."""
    line = re.search(r"at line (\d+)", str(error))
    text = data.splitlines()[int(line[1]) - 1][:200] if line and int(line[1]) <= len(data.splitlines()) else b""
    number = re.search(rb"=\s*([+-]?)(\.\d{1,20})\s*(?:#|$)", text)
    return f" Numbers begin with a digit: write {(number[1] + b'0' + number[2]).decode()}." if number else ""


def to_json(text: str | bytes, name: str, **decoding: Any) -> Any:
    """Understand JSON, of any depth, with numbers of any length and whole characters, or say why not."""
    try:
        value = json.loads(text, **decoding)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise DataError(f"{name} is not valid JSON that is read: it is nested too deeply.") from None
    except UnicodeEncodeError:
        raise DataError(f"{name} holds half of a character (a lone surrogate), which no file can hold.") from None
    except ValueError as error:
        raise DataError(f"{name} is not valid JSON: {_error_reason(error)}.") from None
    return value


def _too_large(name: str, limit: int) -> DataError:
    size = f"{limit // _MIB} MiB" if limit >= _MIB else f"{limit // 1024} KiB"
    return DataError(f"{name} is larger than {size}, the most that is read of one.")


def _error_reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
