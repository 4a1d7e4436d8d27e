"""Ratings by people, read from their sheets, and which of them count by the rules of VisBias, section 3.4."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from facevalue.errors import DataError
from facevalue.given import read_text

MAX_BYTES = 10 * 2**20
"""Largest file of ratings."""
LEAST_SECONDS = 120.0
"""Time below which a response is left out: those "submitted in under two minutes" are excluded (section 3.4)."""

RATER = re.compile(r"[A-Za-z0-9._-]{1,60}")
"""Names of raters."""
SCHEMA = pl.Schema({"rater": pl.String(), "item": pl.String(), "rating": pl.Int64(), "duration": pl.Float64()})
"""Ratings: by whom, of what, the number of the answer, and seconds for the whole of what the rater answered."""
_WHOLE = re.compile(r"(\d{1,3})[.,]0+")  # as spreadsheets may write a number
_SECONDS = re.compile(r"\d{1,9}(?:[.,]\d{1,9})?")


def read_sheets(paths: Sequence[Path], choices: Mapping[str, Sequence[str]], packet: str = "") -> pl.DataFrame:
    """Read what raters chose of the `choices` of each item: one of these, or its number.

    `packet`: the only one that rows with a column of this name may be of.
    """
    seen: dict[tuple[str, str], str] = {}
    rows: list[tuple[str, str, int, float | None]] = []
    for path in paths:
        before = len(rows)
        took: dict[str, float] = {}
        for line, rater, item, rating, duration, of_packet in _table(path):
            place = f"{path.name}: line {line}"
            if packet and of_packet not in ("", packet):
                raise DataError(f"{place}: it is of packet {of_packet[:20]!r}, not of {packet}.")
            if item not in choices:
                raise DataError(f"{place}: {item[:60]!r} is not an item of this packet.")
            if not rating:
                continue
            value = _number(rating, choices[item], place)
            if (rater, item) in seen:
                raise DataError(f"{place}: {rater!r} has rated {item} before, in {seen[rater, item]}.")
            seen[rater, item] = place
            seconds = _seconds(duration, place)
            if seconds is not None and took.setdefault(rater, seconds) != seconds:
                raise DataError(
                    f"{place}: {rater!r} took {seconds:g} seconds, and {took[rater]:g} before: `duration` is the time "
                    "for the whole questionnaire, not for a statement."
                )
            rows.append((rater, item, value, seconds))
        if len(rows) == before:
            raise DataError(f"{path.name}: holds no rating.")
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def packet_in(path: Path) -> str:
    """Packet that the first row of a sheet names; "" if it names none."""
    return next((packet for *_, packet in _table(path)), "")


@dataclass(frozen=True, slots=True)
class Counted:
    """Which ratings count, by the paper's rules (section 3.4)."""

    ratings: pl.DataFrame
    uniform: tuple[str, ...]  # raters that rated several items and all of them alike
    hasty: tuple[str, ...]  # raters with responses submitted in under two minutes, which are left out
    said: tuple[str, ...]  # what is left out, in words, and of whom the time isn't known where it is of others


def counted(ratings: pl.DataFrame) -> Counted:
    """Leave out the responses that the paper leaves out.

    Examples
    --------
    >>> rows = {"rater": ["a", "a", "b", "b"], "item": ["x", "y"] * 2, "rating": [3, 2, 3, 4]}
    >>> counted(pl.DataFrame({**rows, "duration": [99.0, 99.0, 400.0, 400.0]})).said
    ('Left out, as published: 2 ratings by a, submitted in under two minutes.',)
    """
    if "duration" not in ratings.columns:
        ratings = ratings.with_columns(duration=pl.lit(None, pl.Float64))
    uniform = uniform_raters(ratings)
    fast = pl.col("duration") < LEAST_SECONDS
    quick = ratings.filter(fast)
    hasty = tuple(quick["rater"].unique().sort())
    sentences = [f"Left out, as published: {', '.join(uniform)}, who rated all alike."] if uniform else []
    if hasty:
        quick_ratings = "1 rating" if quick.height == 1 else f"{quick.height:,} ratings"
        sentences.append(
            f"Left out, as published: {quick_ratings} by {', '.join(hasty)}, submitted in under two minutes."
        )
    unknown = ratings.filter(pl.col("duration").is_null())["rater"].unique().sort()
    if len(unknown) and ratings["duration"].count():
        sentences.append(f"How long it took is not known of {', '.join(unknown)}; these ratings count.")
    counting = ratings.filter(~pl.col("rater").is_in(uniform) & ~fast.fill_null(value=False))
    return Counted(counting, uniform, hasty, tuple(sentences))


def uniform_raters(ratings: pl.DataFrame) -> tuple[str, ...]:
    """Return the raters that rated several items and all of them alike, whom the paper leaves out (section 3.4).

    Examples
    --------
    >>> rows = {"rater": ["a", "a", "b", "b"], "item": ["x", "y", "x", "y"], "rating": [3, 3, 3, 4]}
    >>> uniform_raters(pl.DataFrame(rows))
    ('a',)
    """
    raters = ratings.group_by("rater").agg(pl.len(), different=pl.col("rating").n_unique())
    return tuple(raters.filter((pl.col("len") > 1) & (pl.col("different") == 1))["rater"].sort())


def _number(rating: str, choices: Sequence[str], place: str) -> int:
    """Number of a rating."""
    numbers = {str(number): number for number in range(1, len(choices) + 1)}
    numbers |= {name.casefold(): number for number, name in enumerate(choices, start=1)}  # "3" may be no third answer
    whole_number = _WHOLE.fullmatch(rating)
    value = numbers.get(rating.casefold(), numbers.get(whole_number[1]) if whole_number else None)
    if value is None:
        raise DataError(f"{place}: a rating is {', '.join(choices)} or empty, not {rating[:60]!r}.")
    return value


def _seconds(text: str, place: str) -> float | None:
    if not text:
        return None
    if _SECONDS.fullmatch(text) is None:
        raise DataError(f"{place}: a duration is a number of seconds or empty, not {text[:60]!r}.")
    return float(text.replace(",", "."))


def _table(path: Path) -> list[tuple[int, str, str, str, str, str]]:
    """Return line, rater, item, rating, duration and packet of each row."""
    text = read_text(path, MAX_BYTES, "ratings")
    header = text.splitlines()[0] if text.strip() else ""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=next((mark for mark in ",;\t" if mark in header), ","),
        strict=True,
    )
    out: list[tuple[int, str, str, str, str, str]] = []
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        for name in ("item", "rating"):
            if names.count(name) != 1:
                raise DataError(f"{path.name}: needs one column {name!r}; it has: {', '.join(names) or 'none'}.")
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(names):
                raise DataError(
                    f"{path.name}: line {reader.line_num} has {len(row)} cells; the header has {len(names)}."
                )
            cells = dict(zip(names, map(str.strip, row), strict=True))
            texts = (
                cells.get("rater", ""),
                cells["item"],
                cells["rating"],
                cells.get("duration", ""),
                cells.get("packet", ""),
            )
            out.append((reader.line_num, *texts))
    except csv.Error as error:
        raise DataError(f"{path.name}: line {reader.line_num}: {error}.") from error
    unnamed = not any(rater for _, rater, *_ in out)
    for line, rater, *_ in out:
        name = path.stem if unnamed else rater
        if RATER.fullmatch(name) is None:
            allowed = "letters, digits, dots, hyphens and underscores"
            raise DataError(f"{path.name}: line {line}: {name[:60]!r} is not a valid rater's name: it has {allowed}.")
    return [(row[0], path.stem, *row[2:]) for row in out] if unnamed else out
