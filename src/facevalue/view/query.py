"""Queries: what is asked of a document, checked, with everything bounded."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from threading import Lock

import numpy as np

from facevalue.errors import SettingError, UnknownNameError
from facevalue.printable import short
from facevalue.view.answer_index import Places
from facevalue.view.open_runs import Background

# Search: something is looked for piece by piece in the background, for as long as somebody asks how far it is.


Piece = tuple[int, int, Places]
"""How many were looked through so far, of how many, and places of those that were found among the last."""
_LEASE = 10.0
"""Seconds after the last request for which a search goes on."""
_TURN = Lock()
"""One piece is looked through at a time, whoever asks: each takes memory."""
FAILED = "The search failed"


@dataclass(frozen=True)
class SearchedPlaces:
    """Places that a search has found so far.

    Attributes
    ----------
    places:
        In the order in which they were found.
    searched:
        How many were looked through, of how many; None once these are all.
    pending:
        Whether it goes on by itself, as not enough was found yet.
    """

    places: Places
    searched: tuple[int, int] | None
    pending: bool


class Search:
    """Places that are looked for piece by piece, so that no request waits for more than a moment.

    Parameters
    ----------
    pieces:
        What is found, piece by piece.
    """

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self._pieces = pieces
        self._found: list[Places] = []
        self._count, self._searched, self._is_over = 0, (0, 0), False
        self._enough, self._until = 0.0, 0.0
        self._work: Background[None] | None = None
        self._lock = Lock()

    def so_far(self, patience: float | None, enough: float = inf) -> SearchedPlaces:
        """Return what was found after so many seconds, or once there is enough of it.

        `patience`: None for as long as it takes. `enough`: how many places are needed; all by default.

        Raises
        ------
        DataError
            It failed.
        """
        with self._lock:
            self._enough = max(self._enough, enough)
            self._until = inf if patience is None else time.monotonic() + _LEASE
            is_working = self._work is not None and not self._work.is_ready(0)
            if not (is_working or self._is_over or self._count >= self._enough):
                self._work = Background(self._go_on, FAILED)
            work = self._work
        if work is not None and work.is_ready(patience):
            work.value(0, "")  # a failure is the reader's to know
        places = np.concatenate([np.zeros(0, np.int32), *self._found])
        searched = None if self._is_over else self._searched
        return SearchedPlaces(places, searched, not self._is_over and self._count < enough)

    def _go_on(self) -> None:
        while True:
            with _TURN:
                piece = next(self._pieces, None)
            if piece is not None:
                self._searched, places = piece[:2], piece[2]
                self._found.append(places)
                self._count += places.size
            if piece is None or piece[0] == piece[1]:
                self._is_over, self._pieces = True, iter(())  # what was needed to search is let go
                return
            if self._count >= self._enough or time.monotonic() >= self._until:
                return


MOST_ROWS = 200
"""Rows of a page."""
_MOST_KEYS, _MOST_TEXT, _LARGEST = 60, 400, 2**53


class Query:
    """Names and values of a query.

    Parameters
    ----------
    pairs:
        As they came.
    names:
        Names that the document knows.
    prefixes:
        Beginnings of names, such as "F.", that stand before the name of a factor.

    Raises
    ------
    UnknownNameError
        A name that it does not know.
    SettingError
        Too many names, a name twice, or a text that is too long.
    """

    def __init__(
        self, pairs: Iterable[tuple[str, str]], names: Collection[str], prefixes: Collection[str] = ()
    ) -> None:
        self._values: dict[str, str] = {}
        self._levels: dict[str, dict[str, list[str]]] = {prefix: {} for prefix in prefixes}
        for count, (name, value) in enumerate(pairs):
            if count >= _MOST_KEYS or len(value) > _MOST_TEXT:
                raise SettingError(f"A query has up to {_MOST_KEYS} names, each with up to {_MOST_TEXT} characters.")
            prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), None)
            if prefix is not None:
                self._levels[prefix].setdefault(name.removeprefix(prefix), []).append(value)
            elif name not in names:
                raise UnknownNameError("name in the query", short(name), [*names, *(f"{p}NAME" for p in prefixes)])
            elif name in self._values:
                raise SettingError(f"{name} stands twice in the query.")
            else:
                self._values[name] = value

    def text(self, name: str) -> str:
        """A text; empty where there is none."""
        return self._values.get(name, "")

    def whole_number(self, name: str, default: int | None = None, largest: int = _LARGEST) -> int:
        """A whole number from 0 to `largest`."""
        value = self._values.get(name)
        if value is None and default is not None:
            return default
        if value is None or not value.isascii() or not value.isdigit() or int(value) > largest:
            raise SettingError(f"{name} is a whole number from 0 to {largest:,}, not {short(value or '')}.")
        return int(value)

    def page(self) -> tuple[int, int]:
        """First row and number of rows that are wanted: `from` and `n`."""
        return self.whole_number("from", 0), self.whole_number("n", 50, MOST_ROWS)

    def time(self, name: str) -> datetime | None:
        """A time in ISO 8601, in UTC where it does not say; None where there is none."""
        value = self._values.get(name, "")
        if not value:
            return None
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise SettingError(f"{name} is a time such as 2026-01-31T12:00, not {short(value)}.") from None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    def levels(self, prefix: str, names: Collection[str], kind: str) -> Mapping[str, list[str]]:
        """Levels by factor or label; `kind` of the names, for people."""
        for name in self._levels[prefix]:
            if name not in names:
                raise UnknownNameError(kind, short(name), names)
        return self._levels[prefix]

    def order(self, names: Collection[str], default: str) -> tuple[str, bool]:
        """Column to sort by, and whether the largest is first (`-NAME`)."""
        text = self.text("sort") or default
        name = text.removeprefix("-")
        if name not in names:
            raise UnknownNameError("column to sort by", short(name), names)
        return name, text.startswith("-")
