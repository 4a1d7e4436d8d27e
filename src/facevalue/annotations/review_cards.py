"""Packets for people who review a run: cards with what they see, what is asked, its answers, and a page per rater.

A page is one HTML file that needs no network and keeps its answers in the browser.
"""

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from facevalue.errors import DataError
from facevalue.models._pictures import picture
from facevalue.printable import printable
from facevalue.stimuli.images import read_header
from facevalue.store.files import write_whole
from facevalue.types import Image

YES_OR_NO = ("Yes", "No")
"""Answers, whose numbers are 1 and 2."""
MOST_PICTURES = 400
"""Cards with pictures that a packet holds at most, as each page holds all its pictures itself."""
_SIDE, _BYTES, _QUALITY = 1024, 300_000, 90  # of a view: longest side, file that is shown as it is, JPEG's quality
_CHECK = "c"  # first letter of items that are checks of attention
_PER_CHECK = 20  # cards to a check of attention


class ShownPicture(NamedTuple):
    """A picture as a page shows it."""

    address: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class CardQuestion:
    """A question of a card: the item that it is, or the items that can be ticked, each with a name; answers."""

    text: str
    item: str = ""
    several: tuple[tuple[str, str], ...] = ()
    choices: tuple[str, ...] = YES_OR_NO

    @property
    def items(self) -> tuple[tuple[str, str], ...]:
        """Each item with the thing that it is about; "" where it is the question itself."""
        return self.several or ((self.item, ""),)


@dataclass(frozen=True, slots=True)
class ReviewCard:
    """Card that a rater sees at once.

    Attributes
    ----------
    questions:
        What is asked.
    texts:
        What is to be read, each with a heading: verbatim, whoever wrote it.
    pictures:
        Pictures from left to right: a name and a label.
    phase:
        Cards of a lower one come before all of a higher one, in whatever order.
    """

    questions: tuple[CardQuestion, ...]
    texts: tuple[tuple[str, str], ...] = ()
    pictures: tuple[tuple[str, str], ...] = ()
    phase: int = 0

    @property
    def items(self) -> tuple[str, ...]:
        """All that can be answered."""
        return tuple(item for question in self.questions for item, _ in question.items)


@dataclass(frozen=True)
class Packet:
    """Cards that several people review, each alone.

    Attributes
    ----------
    task:
        What they do: "parse", "picture" or "finding".
    title, instructions:
        What they read first; paragraphs.
    note:
        What they should be prepared to see; "" if nothing.
    cards:
        What is reviewed.
    views:
        Pictures by the name that cards give them.
    """

    task: str
    title: str
    instructions: tuple[str, ...]
    cards: tuple[ReviewCard, ...]
    note: str = ""
    views: Mapping[str, ShownPicture] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        """Name of the packet, which follows from all that is asked.

        Examples
        --------
        >>> Packet("parse", "What is said?", (), (ReviewCard((CardQuestion("Yes?", "r-1"),)),)).name
        'b8134e34c4'
        """
        content = [repr((self.task, [(q.text, q.item, q.several, q.choices) for q in card.questions], card.texts,
                       card.pictures)) for card in self.cards]  # fmt: skip
        return hashlib.blake2b("\x1f".join(content).encode(), digest_size=5).hexdigest()

    def choices(self) -> dict[str, tuple[str, ...]]:
        """Answers that there are, by item."""
        return {item: q.choices for card in self.cards for q in card.questions for item, _ in q.items}


def item_id(prefix: str, item: Sequence[str]) -> str:
    """Name of an item that follows from what it says alone, so that ratings fit it whenever it is asked.

    Examples
    --------
    >>> item_id("q", ["age", "0-17"])
    'q-f48351d966'
    """
    return f"{prefix}-" + hashlib.blake2b("\x1f".join(item).encode(), digest_size=5).hexdigest()


def checks_of(packet: Packet) -> tuple[ReviewCard, ...]:
    """Checks of attention, one to twenty cards: which answer to give is said, and none of them says anything else.

    The answer that is asked for is `right_answer`.
    """
    wordings = list(dict.fromkeys(q.choices for card in packet.cards for q in card.questions if not q.several))
    wordings = wordings or [YES_OR_NO]
    count = max(1, -(-len(packet.cards) // _PER_CHECK))
    phase = max((card.phase for card in packet.cards), default=0)
    cards = []
    for number in range(count):
        choices, item = wordings[number % len(wordings)], item_id(_CHECK, (packet.name, str(number)))
        text = f"This is a check that somebody reads. Please choose “{choices[right_answer(item, choices) - 1]}”."
        cards.append(ReviewCard((CardQuestion(text, item, choices=choices),), phase=phase))
    return tuple(cards)


def is_check(item: str) -> bool:
    """Return whether an item is a check of attention."""
    return item.startswith(f"{_CHECK}-")


def right_answer(item: str, choices: Sequence[str]) -> int:
    """Number of the answer that a check of attention asks for."""
    return int(item.rpartition("-")[2], 16) % len(choices) + 1


def view(data: bytes, name: str) -> ShownPicture:
    """Make a picture an address that holds it whole: as it is if it is small, else smaller, as a JPEG.

    Raises
    ------
    DataError
        It is no picture that can be read.
    """
    header = read_header(data, name)
    if len(data) <= _BYTES and max(header.width, header.height) <= _SIDE:
        return ShownPicture(_address(header.media_type, data), header.width, header.height)
    smaller = picture(Image(data, header.media_type), name)
    smaller.thumbnail((_SIDE, _SIDE))
    out = io.BytesIO()
    smaller.save(out, "JPEG", quality=_QUALITY)
    return ShownPicture(_address("image/jpeg", out.getvalue()), *smaller.size)


def check_size(packet: Packet) -> None:
    """Refuse more pictures than a page can hold."""
    if not packet.cards:
        raise DataError("There is nothing to review.")
    with_pictures = sum(bool(card.pictures) for card in packet.cards)
    if with_pictures > MOST_PICTURES:
        raise DataError(
            f"A packet holds {MOST_PICTURES} cards with pictures at most, not {with_pictures:,}: give a smaller "
            "--sample."
        )


def _address(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


LONGEST = 5_000
"""Characters of a text that a card shows."""


def order_cards(packet: Packet, rater: str) -> tuple[ReviewCard, ...]:
    """Cards of a rater with checks of attention among them, in an order of the rater's own, the same one each time."""
    digest = hashlib.blake2b(f"{packet.name}/{rater}".encode(), digest_size=8).digest()
    cards = [*packet.cards, *checks_of(packet)]
    mixed = np.random.default_rng(int.from_bytes(digest)).permutation(len(cards))
    return tuple(sorted((cards[place] for place in mixed), key=lambda card: card.phase))


def write_page(packet: Packet, rater: str, path: Path) -> None:
    """Write the page of a rater, which fetches nothing and sends nothing.

    Only our script may run, whatever a reply says: its text is text, with marks of direction and controls spelled out.
    """
    style, script = (
        files(__package__).joinpath("templates", f"review.{kind}").read_text(encoding="utf-8") for kind in ("css", "js")
    )
    templates = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    html = templates.get_template("review.html").render(
        style=Markup(style),  # noqa: S704 our own files
        script=Markup(script),  # noqa: S704 our own files
        policy=_policy(style, script),
        packet=packet,
        rater=rater,
        cards=[_to_printable_card(card) for card in order_cards(packet, rater)],
    )
    write_whole(path, html.encode())


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


def _policy(style: str, script: str) -> str:
    """A policy under which only these style and script run, and nothing is fetched or sent: pictures are inside."""
    hashes: Sequence[str] = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
