"""Answers of people who reviewed a packet, read from the files that pages save."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from facevalue.annotations.review_cards import is_check, right_answer
from facevalue.errors import DataError
from facevalue.printable import short
from facevalue.untrusted_files import read_file, to_json

# Ratings by people, and which of them count by the rules of VisBias, section 3.4.


MAX_BYTES = 10 * 2**20
"""Largest file of ratings."""
LEAST_SECONDS = 120.0
"""Time below which a response is left out: those "submitted in under two minutes" are excluded (section 3.4)."""

RATER = re.compile(r"[A-Za-z0-9._-]{1,60}")
"""Names of raters."""
SCHEMA = pl.Schema({"rater": pl.String(), "item": pl.String(), "rating": pl.Int64(), "duration": pl.Float64()})
"""Ratings: by whom, of what, the number of the answer, and seconds for the whole of what the rater answered."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Ratings that count, by the paper's rules (section 3.4)."""

    ratings: pl.DataFrame
    uniform: tuple[str, ...]  # raters that rated several items and all of them alike
    notes: tuple[str, ...]  # sentences on what is left out


def ratings_that_count(ratings: pl.DataFrame) -> Counted:
    """Leave out the responses that the paper leaves out.

    Examples
    --------
    >>> rows = {"rater": ["a", "a", "b", "b"], "item": ["x", "y"] * 2, "rating": [3, 2, 3, 4]}
    >>> ratings_that_count(pl.DataFrame({**rows, "duration": [99.0, 99.0, 400.0, 400.0]})).notes
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
    counting = ratings.filter(~pl.col("rater").is_in(uniform) & ~fast.fill_null(value=False))
    return Counted(counting, uniform, tuple(sentences))


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


FORMAT, VERSION = "facevalue-review", 1
"""Name and version of what a page saves."""
MAX_FILES = 200
_LONGEST_SECONDS = 10**7
Choices = Mapping[str, Sequence[str]]


def packet_of(path: Path) -> str:
    """Name of the packet that a file is about.

    Raises
    ------
    DataError
        It is of none.
    """
    name = _document(path).get("packet")
    if not isinstance(name, str) or re.fullmatch(r"[0-9a-f]{10}", name) is None:
        raise DataError(f"{path.name} does not say of which packet it is: it is no file of `facevalue review`.")
    return name


def read_answers(paths: Sequence[Path], packet: str, choices: Choices) -> pl.DataFrame:
    """Read what raters chose: `rater`, `item`, `rating` (number of an answer) and `duration` in seconds.

    Parameters
    ----------
    paths:
        Files that pages saved, a rater each.
    packet:
        The only packet that they may be of.
    choices:
        Answers that there are, by item.

    Raises
    ------
    DataError
        A file is of another packet, was changed after it was saved, holds an answer that there is not, or one of a
        rater who has answered before; it says where.
    """
    if len(paths) > MAX_FILES:
        raise DataError(f"{len(paths):,} files are given; {MAX_FILES} at most are read.")
    tables: list[pl.DataFrame] = []
    origins: dict[str, str] = {}
    for path in paths:
        rows = read_saved(path, packet, choices)
        if not rows:
            raise DataError(f"{path.name}: holds no answer.")
        rater = rows[0][0]
        if rater in origins:
            raise DataError(f"{path.name}: {rater!r} has answered before, in {origins[rater]}.")
        origins[rater] = path.name
        tables.append(pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    answers = pl.concat(tables) if tables else pl.DataFrame(schema=SCHEMA)
    return answers.with_columns(rater=pl.lit(f"{packet}-") + pl.col("rater"))


def failed_checks(answers: pl.DataFrame, choices: Choices) -> pl.DataFrame:
    """Count each rater's failures at checks of attention: `rater`, `checks` that they answered, and `failed` of these.

    Examples
    --------
    >>> answers = pl.DataFrame({"rater": ["a", "b"], "item": ["c-1", "c-1"], "rating": [2, 1]})
    >>> failed_checks(answers, {"c-1": ("Yes", "No")}).rows()
    [('a', 1, 0), ('b', 1, 1)]
    """
    rights = {item: right_answer(item, texts) for item, texts in choices.items() if is_check(item)}
    right = pl.col("item").replace_strict(rights, default=None, return_dtype=pl.Int64)
    checks = answers.with_columns(right.alias("right"))
    failed = (pl.col("right") != pl.col("rating")).sum()
    return checks.group_by("rater", maintain_order=True).agg(checks=pl.col("right").count(), failed=failed)


def seal_of(packet: str, rater: str, seconds: int, answers: Mapping[str, int]) -> str:
    """Digest of answers as the page computes it: it shows edits and cut-off files, and keeps nobody from cheating.

    Examples
    --------
    >>> seal_of("97107d9e28", "r1", 60, {"r-1": 2})
    '7e89a581'
    """
    text = "|".join([packet, rater, str(seconds), *(f"{item}={answers[item]}" for item in sorted(answers))])
    value = 0x811C9DC5  # FNV-1a of 32 bits
    for character in text:
        value = ((value ^ ord(character)) * 0x01000193) % 2**32
    return f"{value:08x}"


def read_saved(path: Path, packet: str, choices: Choices) -> list[tuple[str, str, int, float]]:
    """Rater, item, number of the answer and seconds, of a file that a page saved; errors as of `read_answers`."""
    document, name = _document(path), path.name

    def need(key: str, fits: Callable[[Any], bool], meaning: str) -> Any:
        value = document.get(key)
        if not fits(value):
            raise DataError(f"{name}: {key!r} is {meaning}, not {short(value)}.")
        return value

    need("format", lambda value: value == FORMAT, repr(FORMAT))
    need("version", lambda value: value == VERSION and not isinstance(value, bool), f"{VERSION}, what we read")
    need("packet", lambda value: value == packet, packet)
    rater = need("rater", lambda value: isinstance(value, str) and bool(RATER.fullmatch(value)), "a rater's name")
    seconds = need("seconds", lambda x: _is_number(x) and 0 <= x <= _LONGEST_SECONDS, "a number of whole seconds")
    answers = need("answers", lambda value: isinstance(value, dict), "an object with the number of each answer")
    for item, number in answers.items():
        if item not in choices:
            raise DataError(f"{name}: {short(item)} is not an item of this packet.")
        if not _is_number(number) or not 1 <= number <= len(choices[item]):
            raise DataError(
                f"{name}: the answer to {item} is a number from 1 to {len(choices[item])}, not {short(number)}."
            )
    seal = seal_of(packet, rater, seconds, answers)
    need("seal", lambda value: value == seal, f"{seal!r} for these answers: the file was changed after it was saved")
    return [(rater, item, number, float(seconds)) for item, number in answers.items()]


def _document(path: Path) -> Mapping[str, Any]:
    """Content of a file of answers."""
    document = to_json(read_file(path, MAX_BYTES, "answers"), path.name)
    if not isinstance(document, dict):
        raise DataError(f"{path.name} holds no answers: it is {short(document)}.")
    return document


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
