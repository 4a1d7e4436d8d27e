"""Search: something is looked for piece by piece in the background, for as long as somebody asks how far it is."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from threading import Lock

import numpy as np

from facevalue.view.answer_index import Places
from facevalue.view.background import Background

Piece = tuple[int, int, Places]
"""How many were looked through so far, of how many, and places of those that were found among the last."""
_LEASE = 10.0
"""Seconds after the last request for which a search goes on."""
_TURN = Lock()
"""One piece is looked through at a time, whoever asks: each takes memory."""
FAILED = "The search failed"


@dataclass(frozen=True)
class SearchedPlaces:
    """What a search has found so far.

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
        """What was found after so many seconds, or once there is enough of it.

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
