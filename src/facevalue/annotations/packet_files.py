"""Packets as files: what raters see, kept so that a review can go on later."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from facevalue.annotations.review_cards import CardQuestion, Packet, ReviewCard, ShownPicture
from facevalue.errors import DataError
from facevalue.given import read_file, to_json
from facevalue.store.files import write_whole

_VERSION = 1
_MOST_BYTES = 512 * 2**20
_PICTURE = re.compile(r"data:image/[a-z+.-]{1,20};base64,[A-Za-z0-9+/=]*")


def write_packet(packet: Packet, path: Path) -> None:
    """Write a packet with its pictures."""
    write_whole(path, json.dumps({"version": _VERSION, **asdict(packet)}, ensure_ascii=False).encode())


def read_packet(path: Path, name: str) -> Packet:
    """Read the packet of a name.

    Raises
    ------
    DataError
        It cannot be read, or is another one.
    """
    document = to_json(read_file(path, _MOST_BYTES, "packet"), path.name)
    try:
        packet = _packet(document)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path.name} is no packet of a review that we read: make a new one.") from error
    if packet.name != name:
        raise DataError(f"{path.name} is not the packet {name}: it was changed. Make a new one.")
    return packet


def _packet(document: Mapping[str, Any]) -> Packet:
    if document["version"] != _VERSION:
        raise ValueError("another version")
    views = {
        _text(name): ShownPicture(_address(of[0]), int(of[1]), int(of[2])) for name, of in document["views"].items()
    }
    cards = tuple(map(_card, document["cards"]))
    if any(name not in views for card in cards for name, _ in card.pictures):
        raise ValueError("a card shows a picture that is not there")
    task, title, note = (_text(document[name]) for name in ("task", "title", "note"))
    return Packet(task, title, _texts(document["instructions"]), cards, note, views)


def _card(card: Mapping[str, Any]) -> ReviewCard:
    return ReviewCard(
        tuple(
            CardQuestion(_text(of["text"]), _text(of["item"]), _pairs(of["several"]), _texts(of["choices"]))
            for of in card["questions"]
        ),
        _pairs(card["texts"]), _pairs(card["pictures"]), int(card["phase"]),
    )  # fmt: skip


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(map(_text, values))


def _pairs(values: Any) -> tuple[tuple[str, str], ...]:
    return tuple((_text(first), _text(second)) for first, second in values)


def _address(value: Any) -> str:
    if _PICTURE.fullmatch(_text(value)) is None:
        raise ValueError("no picture")
    return str(value)
