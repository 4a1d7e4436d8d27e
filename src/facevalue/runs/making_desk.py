"""Desk of a making: which pictures can be asked for now, and which wait for those that they are edited from."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import polars as pl

from facevalue.errors import RunError
from facevalue.generators.base import PictureRequest
from facevalue.protocol.making import IMAGE, SOURCE
from facevalue.runs.picture_records import outcome_text
from facevalue.store.album import PictureAlbum
from facevalue.types import Image, Request, Response, Status

_MOST_READY = 256
"""Requests for one adapter that wait while the other works, before it is their turn."""
_SEEDS = 2**31


class SourceOutcome(NamedTuple):
    """What became of a picture that others are edited from, and why it was not made, where it was not."""

    status: Status
    digest: str = ""
    media_type: str = ""
    reason: str = ""


Noted = Callable[[Request], tuple[Response, SourceOutcome] | None]
"""What an earlier session wrote down of a request that can be made now, and nobody stored."""


class PictureDesk:
    """Requests of one call of `respond`: those that can be made at once, and edits that wait for their sources.

    Adapters may take requests in threads of their own, while pictures are kept in another.
    """

    def __init__(
        self,
        rows: pl.DataFrame,
        sources: set[str],
        outcomes: dict[str, SourceOutcome],
        album: PictureAlbum,
        requests: Iterable[Request],
        halted: Callable[[], bool],
        noted: Noted,
    ) -> None:
        self._rows, self._sources, self._outcomes, self._album = rows, sources, outcomes, album
        self._requests, self._halted, self._noted = iter(requests), halted, noted
        self._lock = threading.RLock()
        self._ready: dict[bool, deque[Request]] = {True: deque(), False: deque()}  # edits, and pictures from texts
        self._held: dict[str, list[Request]] = {}
        self._settled: deque[Response] = deque()
        self._ended = False

    def open(self) -> bool:
        """Whether there is anything to ask for."""
        return not self._halted() and (not self._ended or any(self._ready.values()))

    def stream(self, kinds: tuple[bool, ...], flying: dict[int, Request]) -> Iterator[PictureRequest]:
        """What an adapter is asked now: edits (True), pictures from texts (False), or both; `flying` holds it."""
        while (request := self._next(kinds, flying)) is not None:
            yield request

    def settle(self, trial: int, outcome: SourceOutcome) -> None:
        """Let those begin that wait for a picture, or fail as it did."""
        name = self._rows[IMAGE][trial]
        if name not in self._sources:
            return
        with self._lock:
            self._outcomes[name] = outcome
            for request in self._held.pop(name, ()):
                self._place(request)

    def settled(self) -> Iterator[Response]:
        """Responses that need no asking: to edits that cannot be made, and what an earlier session noted."""
        while self._settled:
            yield self._settled.popleft()

    def unanswered(self) -> Iterator[Response]:
        """Edits of pictures that nobody answered for, at the end of all requests."""
        for request in [request for requests in self._held.values() for request in requests]:
            self._fall(request, SourceOutcome(Status.ERROR))
        yield from self.settled()

    def _next(self, kinds: tuple[bool, ...], flying: dict[int, Request]) -> PictureRequest | None:
        while (request := self._next_ready(kinds)) is not None:
            if (noted := self._noted(request)) is not None:
                response, outcome = noted
                self._settled.append(response)
                self.settle(request.trial, outcome)
            elif (picture_request := self._with_source(request)) is not None:
                flying[request.trial] = request
                return picture_request
        return None

    def _next_ready(self, kinds: tuple[bool, ...]) -> Request | None:
        """The next request that can be made now; None if there is none."""
        with self._lock:
            while not self._halted():
                queue = next((self._ready[kind] for kind in kinds if self._ready[kind]), None)
                if queue is not None:
                    return queue.popleft()
                if self._ended or any(len(waiting) >= _MOST_READY for waiting in self._ready.values()):
                    return None
                upcoming = next(self._requests, None)
                if upcoming is None:
                    self._ended = True
                    return None
                self._place(upcoming)
            return None

    def _place(self, request: Request) -> None:
        """Put a request where it belongs: it can be made, has to wait, or cannot be made at all."""
        source = self._rows[SOURCE][request.trial]
        outcome = self._outcomes.get(source) if source is not None else SourceOutcome(Status.OK)
        if outcome is None:
            self._held.setdefault(source, []).append(request)
        elif outcome.status is Status.OK:
            self._ready[source is not None].append(request)
        else:
            self._fall(request, outcome)

    def _fall(self, request: Request, outcome: SourceOutcome) -> None:
        """Have an edit fail as its source did."""
        refused = outcome.status is Status.REFUSED
        reason = f": {outcome.reason}" if outcome.reason else "."
        source = self._rows[SOURCE][request.trial]
        self._fail(request, outcome, f"Its source {source} was {'refused' if refused else 'not made'}{reason}")

    def _fail(self, request: Request, outcome: SourceOutcome, error: str) -> None:
        """Answer for a picture that was never asked for."""
        self._settled.append(Response(request.trial, request.repeat, outcome.status, outcome_text(0), error=error))
        self.settle(request.trial, outcome)

    def _with_source(self, request: Request) -> PictureRequest | None:
        """What the adapter is asked, outside the lock; None where the picture to be edited cannot be read."""
        _, source, seed = self._rows.row(request.trial)
        image: Image | None = None
        if source is not None:
            outcome = self._outcomes[source]
            try:
                image = self._album.get(outcome.digest, outcome.media_type)
            except RunError as error:
                self._fail(request, SourceOutcome(Status.ERROR), f"Its source cannot be read: {error}")
                return None
        return PictureRequest(request.trial, request.question.prompt, seed % _SEEDS, image, request.stimulus.factors)
