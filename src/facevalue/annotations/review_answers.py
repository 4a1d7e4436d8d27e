"""Answers of people who reviewed a packet, read from the files that pages, sheets or Label Studio wrote."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from facevalue.annotations import label_studio
from facevalue.annotations.ratings import MAX_BYTES, RATER, SCHEMA, packet_in, read_sheets
from facevalue.annotations.review_cards import is_check, right_answer
from facevalue.errors import DataError
from facevalue.given import read_file, to_json
from facevalue.printable import short

FORMAT, VERSION = "facevalue-review", 1
"""Name and version of what a page saves."""
MAX_FILES = 200
MAX_EXPORT = 512 * 2**20
"""Largest export of Label Studio with the pictures of its tasks, which are dropped before anything is read of it."""
_PICTURES = re.compile(rb'(?<!\\)"data:image(?:[\w+=;,:./-]++|\\/)*+"')
_LONGEST_SECONDS = 10**7
Choices = Mapping[str, Sequence[str]]


def packet_of(path: Path) -> str:
    """Name of the packet that a file is about.

    Raises
    ------
    DataError
        It is of none.
    """
    if path.suffix == ".json":
        document = _document(path)
        name = label_studio.packet_of(document, path.name) if isinstance(document, list) else document.get("packet")
    else:
        name = packet_in(path)
    if not isinstance(name, str) or re.fullmatch(r"[0-9a-f]{10}", name) is None:
        raise DataError(f"{path.name} does not say of which packet it is: it is no file of `facevalue review`.")
    return name


def read_answers(paths: Sequence[Path], packet: str, choices: Choices) -> pl.DataFrame:
    """Read what raters chose: `rater`, `item`, `rating` (number of an answer) and `duration` in seconds.

    Parameters
    ----------
    paths:
        Files of pages (.json), of Label Studio (its JSON export) or sheets (.csv); a rater each, or several.
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
        is_json = path.suffix == ".json"
        table = _read_json(path, packet, choices) if is_json else read_sheets([path], choices, packet)
        if not table.height:
            raise DataError(f"{path.name}: holds no answer.")
        for rater in table["rater"].unique().sort():
            if rater in origins:
                raise DataError(f"{path.name}: {rater!r} has answered before, in {origins[rater]}.")
            origins[rater] = path.name
        tables.append(table)
    answers = pl.concat(tables) if tables else pl.DataFrame(schema=SCHEMA)
    return answers.with_columns(rater=pl.lit(f"{packet}-") + pl.col("rater"))


def failed_checks(answers: pl.DataFrame, choices: Choices) -> pl.DataFrame:
    """How raters fared at checks of attention: `rater`, `checks` that they answered, and `failed` of these.

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


def saved_document(packet: str, task: str, rater: str, seconds: int, answers: Mapping[str, int]) -> dict[str, object]:
    """Answers of a rater as a page saves them."""
    return {
        "format": FORMAT, "version": VERSION, "packet": packet, "task": task, "rater": rater, "seconds": seconds,
        "answers": dict(answers), "seal": seal_of(packet, rater, seconds, answers),
    }  # fmt: skip


def read_saved(path: Path, packet: str, choices: Choices) -> list[tuple[str, str, int, float | None]]:
    """Rater, item, number of the answer and seconds, of a file that a page saved; errors as of `read_answers`."""
    document = _document(path)
    if not isinstance(document, dict):
        raise DataError(f"{path.name} is not what a page of a review saves.")
    return _read_saved(document, packet, choices, path.name)


def _document(path: Path) -> Any:
    """What a JSON file of answers holds: an object of a page's, or a list of Label Studio's."""
    data = _PICTURES.sub(b'""', read_file(path, MAX_EXPORT, "answers"))
    if len(data) > MAX_BYTES:
        raise DataError(f"{path.name} is larger than {MAX_BYTES // 2**20} MiB, pictures left out.")
    document = to_json(data, path.name)
    if not isinstance(document, dict | list):
        raise DataError(f"{path.name} holds no answers: it is {short(document)}.")
    return document


def _read_json(path: Path, packet: str, choices: Choices) -> pl.DataFrame:
    document = _document(path)
    if isinstance(document, list):
        rows = label_studio.read_export(document, packet, choices, path.name)
    else:
        rows = _read_saved(document, packet, choices, path.name)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _read_saved(
    document: Mapping[str, Any], packet: str, choices: Choices, name: str
) -> list[tuple[str, str, int, float | None]]:
    """Rows of what a page saved."""

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


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
