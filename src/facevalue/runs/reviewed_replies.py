"""How replies of a run were read, by the people who reviewed them: what its page says of the parser."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from facevalue.errors import DataError
from facevalue.runs.ratings import REPLIES, read_kept
from facevalue.runs.review_keys import ReviewKey, read_key
from facevalue.runs.review_outcomes import reader_review

_NAME = 10  # characters of a packet's name, with which a rater's begins


class ReviewedReading(NamedTuple):
    """Share of replies that are read as most people read them, with its interval."""

    raters: int
    replies: int
    value: float
    low: float
    high: float


def reviewed_reading(folder: Path) -> ReviewedReading | None:
    """What people said of the parser, by the packet with most answers; None where nobody reviewed replies."""
    ratings = read_kept(folder, REPLIES)
    if ratings is None:
        return None
    reviews = sorted(_of_parser(folder, ratings), key=lambda review: -review[1].height)
    for key, answers in reviews:
        row = reader_review(key, answers).accuracy.row(0, named=True)
        if row["value"] is not None:
            return ReviewedReading(answers["rater"].n_unique(), row["n"], row["value"], row["low"], row["high"])
    return None


def replies_by_people(folder: Path) -> dict[int, dict[int, Counter[str]]]:
    """How many people gave each answer to how a reply reads, by trial and repeat; empty where nobody reviewed any."""
    ratings = read_kept(folder, REPLIES)
    counts: dict[int, dict[int, Counter[str]]] = {}
    for key, answers in () if ratings is None else _of_parser(folder, ratings):
        rows = key.items.drop_nulls("trial").join(answers, on="item").select("trial", "repeat", "choices", "rating")
        for trial, repeat, choices, rating in rows.iter_rows():
            if rating <= len(choices):
                counts.setdefault(trial, {}).setdefault(repeat, Counter())[choices[rating - 1]] += 1
    return counts


def _of_parser(folder: Path, ratings: pl.DataFrame) -> Iterator[tuple[ReviewKey, pl.DataFrame]]:
    """Packets of replies that the parser read, with the answers that are kept."""
    return ((key, answers) for key, answers in packets_of(folder, ratings) if not key.of)


def packets_of(folder: Path, ratings: pl.DataFrame) -> Iterator[tuple[ReviewKey, pl.DataFrame]]:
    """Packets that ratings are of, each with those that are of it."""
    packets = ratings["rater"].str.slice(0, _NAME)
    for packet in packets.unique(maintain_order=True):
        try:
            key = read_key(folder, packet)
        except DataError:
            continue  # its key is gone: what its items are is not known any more
        yield key, ratings.filter(packets == packet)
