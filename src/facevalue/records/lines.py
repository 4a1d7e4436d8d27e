"""Files of JSON lines whose answers carry the ids that FaceValue gave its requests."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from facevalue.errors import DataError
from facevalue.records.base import Key, RecordedReply, asker_of, checked_dict, content_of
from facevalue.types import Request
from facevalue.untrusted_files import check_file, to_json

LINE = 16 * 2**20
"""Most bytes of a line."""
_ID = re.compile(r"(\d{1,19})-(\d{1,3})-([0-9a-f]{16})-([0-9a-f]{16})", re.ASCII)


class CustomId(NamedTuple):
    """Content of a request's id: trial, repeat, digest of what is shown and said, and model."""

    trial: int
    repeat: int
    content: str
    """`content_of` the request."""
    asker: str
    """`asker_of` the request."""

    @classmethod
    def of_request(cls, request: Request, asked_of: int) -> "CustomId":
        """Name a request, in characters that every batch interface takes (at most 57 letters, digits and hyphens)."""
        return cls(request.trial, request.repeat, content_of(request), asker_of(request, asked_of))

    @classmethod
    def read(cls, value: object, place: str) -> "CustomId":
        """Understand what an answer says it is to."""
        match = _ID.fullmatch(value) if isinstance(value, str) else None
        if match is None or int(match[2]) > 255 or int(match[1]) >= 2**63:
            raise DataError(
                f"{place}: {str(value)[:40]!r} is no id of a request that FaceValue wrote ('facevalue requests STUDY')."
            )
        return cls(int(match[1]), int(match[2]), match[3], match[4])

    def __str__(self) -> str:
        return f"{self.trial}-{self.repeat}-{self.content}-{self.asker}"

    @property
    def key(self) -> Key:
        """Trial and repeat."""
        return self.trial, self.repeat


def first_object(path: Path, noun: str) -> Mapping[str, Any]:
    """Return the first object of a file, by which its kind is known."""
    for place, _, line in _lines(path, noun):
        return _object(line, place)
    raise DataError(f"{path.name} is empty.")


def index_answers(path: Path, noun: str) -> dict[Key, tuple[int, CustomId]]:
    """Places of answers in a file, by what they are to.

    Raises
    ------
    DataError
        A line is no JSON or too long, has no id of ours, or answers what another line answers.
    """
    places: dict[Key, tuple[int, CustomId]] = {}
    for place, offset, line in _lines(path, noun):
        name = CustomId.read(_object(line, place).get("custom_id"), place)
        if name.key in places:
            raise DataError(f"{place}: a second answer to {name}.")
        places[name.key] = (offset, name)
    if not places:
        raise DataError(f"{path.name} is empty.")
    return places


def loader(
    path: Path, reader: Callable[[Mapping[str, Any], str], RecordedReply | str]
) -> Callable[[tuple[int, CustomId]], RecordedReply | str]:
    """A reader of one answer at its place."""
    return partial(_load_reply, path, reader)


def _load_reply(
    path: Path, reader: Callable[[Mapping[str, Any], str], RecordedReply | str], place: tuple[int, CustomId]
) -> RecordedReply | str:
    with path.open("rb") as file:
        file.seek(place[0])
        line = file.readline(LINE)
    reply = reader(_object(line, f"{path.name}, answer to {place[1]}"), path.name)
    return reply if isinstance(reply, str) else replace(reply, content=place[1].content, asker=place[1].asker)


def _lines(path: Path, noun: str) -> Iterator[tuple[str, int, bytes]]:
    check_file(path, noun)
    with path.open("rb") as file:
        offset = number = 0
        while line := file.readline(LINE):
            number += 1
            place = f"{path.name}, line {number}"
            if len(line) == LINE and not line.endswith(b"\n"):
                raise DataError(f"{place}: longer than {LINE // 2**20} MiB.")
            if line.strip():
                yield place, offset, line
            offset += len(line)


def _object(line: bytes, place: str) -> Mapping[str, Any]:
    return checked_dict(to_json(line, place), place)
