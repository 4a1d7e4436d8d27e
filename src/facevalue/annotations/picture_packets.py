"""Packets of pictures for people to look at: a page for a browser or for paper, or a sheet for spreadsheets."""

import base64
import codecs
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from facevalue.annotations.questionnaires import item_id, write_filled
from facevalue.csv_text import csv_bytes
from facevalue.models._pictures import picture
from facevalue.stimuli.images import read_header
from facevalue.store.files import write_whole
from facevalue.types import Image

CHOICES = ("Yes", "No")
"""Answers, whose numbers are 1 and 2."""
MOST_ON_A_PAGE = 400
"""Cards that a page holds at most, as it holds all pictures itself."""
_SIDE, _BYTES, _QUALITY = 1024, 300_000, 90  # of a view: longest side, file that is shown as it is, JPEG's quality
_SHEET = ("item", "picture", "source", "beside", "asked for", "question", "answers")


class ShownPicture(NamedTuple):
    """A picture as a page shows it."""

    label: str
    address: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class CardQuestion:
    """A question about a picture: the item that it is, or the items that can be ticked, each with a name; answers."""

    text: str
    item: str = ""
    several: tuple[tuple[str, str], ...] = ()
    choices: tuple[str, ...] = CHOICES


@dataclass(frozen=True, slots=True)
class PictureCard:
    """A picture that people look at, or a pair of them.

    Attributes
    ----------
    path, source:
        Where it and the picture that it was edited from are, as the list has it; `source` is "" where there is none.
    prompt:
        What was asked for; "" where people are not told.
    questions:
        What is asked about it.
    beside:
        The other picture of a pair; "" where there is none.
    """

    path: str
    source: str
    prompt: str
    questions: tuple[CardQuestion, ...]
    beside: str = ""

    @property
    def views(self) -> tuple[tuple[str, str], ...]:
        """Pictures as they are shown, from left to right: path and label."""
        if self.beside:
            return (self.path, "A"), (self.beside, "B")
        return ((self.source, "Before"), (self.path, "After")) if self.source else ((self.path, ""),)


def picture_item(path: str, source: str, prompt: str, question: str) -> str:
    """Name of a question about a picture, which follows from these alone.

    Examples
    --------
    >>> picture_item("a.png", "", "An old man", "identity")
    'p-29dc4c6148'
    """
    return item_id("p", (path, source, prompt, question))


def view(data: bytes, name: str, label: str = "") -> ShownPicture:
    """Make a picture an address that holds it whole: as it is if it is small, else smaller, as a JPEG.

    Raises
    ------
    DataError
        It is no picture that can be read.
    """
    header = read_header(data, name)
    if len(data) <= _BYTES and max(header.width, header.height) <= _SIDE:
        return ShownPicture(label, _address(header.media_type, data), header.width, header.height)
    smaller = picture(Image(data, header.media_type), name)
    smaller.thumbnail((_SIDE, _SIDE))
    out = io.BytesIO()
    smaller.save(out, "JPEG", quality=_QUALITY)
    return ShownPicture(label, _address("image/jpeg", out.getvalue()), *smaller.size)


def _address(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def write_packet_page(cards: Sequence[tuple[PictureCard, Sequence[ShownPicture]]], note: str, path: Path) -> None:
    """Write a page that holds the pictures and saves answers as a file for `ratings.read_ratings`.

    `cards`: pictures with their views, from left to right. `note`: what readers should be prepared to see; "" if
    nothing.
    """
    kinds = [("Pair", [entry for entry in cards if entry[0].beside])]
    kinds += [("Picture", [entry for entry in cards if not entry[0].beside])]
    entries = [
        {"kind": kind, "place": place, "of": len(of_kind), "views": views, "card": card}
        for kind, of_kind in kinds
        for place, (card, views) in enumerate(of_kind, start=1)
    ]
    views = sum(len(views) for _, views in cards)
    count = "this picture" if views == 1 else f"these {views:,} pictures"
    write_filled("facevalue.annotations", "pictures.html", path, cards=entries, note=note, count=count)


def write_packet_sheet(cards: Iterable[PictureCard], path: Path) -> None:
    """Write a CSV sheet, a row per answer with where its picture is, and `rating` to be filled in with an answer."""
    rows = [
        (item, card.path, card.source, card.beside, card.prompt, f"{question.text} {thing}".strip(),
         ", ".join(question.choices))
        for card in cards
        for question in card.questions
        for item, thing in question.several or ((question.item, ""),)
    ]  # fmt: skip
    sheet = pl.DataFrame(rows, schema=dict.fromkeys(_SHEET, pl.String()), orient="row")
    filled_in = sheet.select(pl.lit("").alias("rater"), *_SHEET, pl.lit("").alias("rating"))
    write_whole(path, codecs.BOM_UTF8 + csv_bytes(filled_in))  # a mark, by which spreadsheets know UTF-8
