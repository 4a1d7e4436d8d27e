"""Reviews in tests: sheets of packets, filled in as a rater does who heeds the checks of attention."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from facevalue.annotations.review_answers import read_answers
from facevalue.annotations.review_cards import Packet, is_check
from facevalue.annotations.review_sheets import write_sheet
from facevalue.runs.review_keys import ReviewKey
from facevalue.runs.review_outcomes import counted

Row = dict[str, str]


def rows_of(sheet: Path) -> list[Row]:
    """Rows of a sheet, without checks of attention."""
    return [row for row in _all_rows(sheet) if not is_check(row["item"])]


def _all_rows(sheet: Path) -> list[Row]:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def filled(sheet: Path, rater: str, answer: Callable[[Row], object], duration: object = None) -> Path:
    """The file of a rater: a sheet with their answers."""
    rows = _all_rows(sheet)
    target = sheet.with_name(f"{rater}.csv")
    more = [] if duration is None else ["duration"]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *more])
        writer.writeheader()
        for row in rows:
            rating = row["question"].split("“")[-1].split("”")[0] if is_check(row["item"]) else answer(row)
            entry = {**row, "rater": rater, "rating": rating}
            writer.writerow(entry if duration is None else {**entry, "duration": duration})
    return target


def sheet_of(packet: Packet, path: Path) -> Path:
    """The sheet of a packet."""
    write_sheet(packet, "r1", path)
    return path


def answers_in(files: Sequence[Path], packet: Packet) -> pl.DataFrame:
    """Answers to a packet that count."""
    choices = ReviewKey.of_packet(packet).choices()
    return counted(read_answers(files, packet.name, choices), choices).answers
