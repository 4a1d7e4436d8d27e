"""Pages on which people review: one HTML file per rater, that needs no network and keeps its answers in the browser."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from facevalue.annotations.review_cards import CardQuestion, Packet, ReviewCard, ShownPicture, checks_of
from facevalue.errors import DataError
from facevalue.printable import printable
from facevalue.store.files import write_whole
from facevalue.untrusted_files import read_file, to_json

# Packets as files: what raters see, kept so that a review can go on later.


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


LONGEST = 5_000
"""Characters of a text that a card shows."""


def order_cards(packet: Packet, rater: str) -> tuple[ReviewCard, ...]:
    """Cards of a rater with checks of attention among them, in an order of the rater's own, the same one each time."""
    digest = hashlib.blake2b(f"{packet.name}/{rater}".encode(), digest_size=8).digest()
    cards = [*packet.cards, *checks_of(packet)]
    mixed = np.random.default_rng(int.from_bytes(digest)).permutation(len(cards))
    return tuple(sorted((cards[place] for place in mixed), key=lambda card: card.phase))


class ReviewPage(NamedTuple):
    """A page on which a rater reviews, and the policy that stands in it."""

    html: str
    policy: str


def write_page(packet: Packet, rater: str, path: Path) -> None:
    """Write the page of a rater, which fetches nothing and sends nothing."""
    write_whole(path, review_page(packet, rater).html.encode())


def review_page(packet: Packet, rater: str, *, served: bool = False) -> ReviewPage:
    """The page of a rater; of one that is `served` each answer is sent to the address that it came from.

    Only our script may run, whatever a reply says: its text is text, with marks of direction and controls spelled out.
    """
    style, script = (
        files(__package__).joinpath("templates", f"review.{kind}").read_text(encoding="utf-8") for kind in ("css", "js")
    )
    templates = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    policy = _policy(style, script, served=served)
    html = templates.get_template("review.html").render(
        style=Markup(style),  # noqa: S704 our own files
        script=Markup(script),  # noqa: S704 our own files
        policy=policy,
        served=served,
        packet=packet,
        rater=rater,
        cards=[_to_printable_card(card) for card in order_cards(packet, rater)],
    )
    return ReviewPage(html, policy)


def _to_printable_card(card: ReviewCard) -> ReviewCard:
    """The card with texts as a page can show them."""
    questions = tuple(
        replace(question, text=printable(question.text), choices=tuple(map(printable, question.choices)))
        for question in card.questions
    )
    return replace(
        card, questions=questions, texts=tuple((heading, shorten_text(text)) for heading, text in card.texts)
    )


def shorten_text(text: str) -> str:
    """A text with controls spelled out, cut where it is too long.

    Examples
    --------
    >>> shorten_text("a" * 6_000)[-32:]
    'aaaaaaaaaaaaaa… (1,000 more cut)'
    """
    spelled = printable(text[:LONGEST])
    return spelled if len(text) <= LONGEST else f"{spelled}… ({len(text) - LONGEST:,} more cut)"


def _policy(style: str, script: str, *, served: bool) -> str:
    """A policy under which only these style and script run, and nothing is fetched or sent: pictures are inside.

    `served`: answers are sent to where the page came from.
    """
    hashes: Sequence[str] = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in (style, script)
    ]
    sends = "connect-src 'self'; " if served else ""
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        f"img-src data:; {sends}base-uri 'none'; form-action 'none'"
    )
