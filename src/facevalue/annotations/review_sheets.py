"""Sheets on which people review: a CSV file per rater, to be filled in with a spreadsheet."""

import codecs
from pathlib import Path

import polars as pl

from facevalue.annotations.review_cards import Packet
from facevalue.annotations.review_page import bounded, ordered
from facevalue.csv_text import csv_bytes
from facevalue.store.files import write_whole

COLUMNS = ("packet", "rater", "item", "shown", "read", "question", "answers", "rating")


def write_sheet(packet: Packet, rater: str, path: Path) -> None:
    """Write a row per answer, with the same cards in the same order as on a page; `rating` is to be filled in.

    Pictures are named by their files: whoever fills in a sheet opens them beside it.
    """
    rows = [
        (packet.name, rater, item, " | ".join(name for name, _ in card.pictures),
         "\n".join(f"{heading}: {bounded(text)}" for heading, text in card.texts),
         f"{question.text} {thing}".strip(), "; ".join(question.choices), "")
        for card in ordered(packet, rater)
        for question in card.questions
        for item, thing in question.items
    ]  # fmt: skip
    sheet = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String()), orient="row")
    write_whole(path, codecs.BOM_UTF8 + csv_bytes(sheet))  # a mark, by which spreadsheets know UTF-8
