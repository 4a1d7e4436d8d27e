"""Generators as models: a run asks for pictures as it asks for replies, and gets a record of each that was made."""

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import polars as pl

from facevalue.errors import DataError, ModelError, RunError
from facevalue.generators.base import GeneratedPicture, PictureGenerator, PictureRequest
from facevalue.generators.checked import CheckedPicture, checked_picture
from facevalue.models.base import Capabilities, Finding, Sharing, checked_facts
from facevalue.printable import quoted
from facevalue.protocol.making import IMAGE, PICTURE_SEED, SOURCE, requested
from facevalue.runs.picture_records import PictureRecord, checked_record_facts
from facevalue.store.album import PictureAlbum
from facevalue.types import Image, Request, Response, Status

_MOST_READY = 256
"""Requests for one adapter that wait while the other works, before it is their turn."""
_LONGEST = 32_000  # characters of a revised prompt
_SEEDS = 2**31


class SourceOutcome(NamedTuple):
    """What became of a picture that others are edited from."""

    status: Status
    digest: str = ""
    media_type: str = ""


class PictureModel:
    """A generator, an editor and an album as a model: it keeps each picture that comes, then yields its record.

    An edit waits until the picture that it is edited from is there. Generator and editor may be one adapter.

    Parameters
    ----------
    table:
        The pictures that are to be made, and those that exist, as of `protocol.making.PicturePlan`.
    generator, editor:
        Who makes pictures from texts, and who edits them.
    album:
        Where they are kept.
    stored:
        Gives what became of the sources that earlier sessions made, and of those that existed; called when the first
        picture is asked for.

    Attributes
    ----------
    early:
        Edits that failed as their sources had not been asked for.
    """

    capabilities = Capabilities(images_per_request=0, seeds=True)

    def __init__(
        self,
        table: pl.DataFrame,
        generator: PictureGenerator,
        editor: PictureGenerator,
        album: PictureAlbum,
        stored: Callable[[], Mapping[str, SourceOutcome]],
    ) -> None:
        self._rows = requested(table).select(IMAGE, SOURCE, pl.col(PICTURE_SEED).cast(pl.Int64))
        self._sources = set(self._rows[SOURCE].drop_nulls())
        self._generator, self._editor, self._album, self._stored = generator, editor, album, stored
        self._outcomes: dict[str, SourceOutcome] | None = None
        self._halted = False
        self.early = 0
        joint = generator is editor
        self.name = " + ".join(dict.fromkeys((generator.name, editor.name)))
        self._adapters = ((generator, (True, False)),) if joint else ((generator, (False,)), (editor, (True,)))

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Facts of both adapters, each under its own name."""
        out: dict[str, str | int | float | bool] = {}
        for role, adapter in (("generator", self._generator), ("editor", self._editor)):
            out[role] = adapter.name
            if role == "generator" or adapter is not self._generator:
                facts = checked_facts(adapter, "The settings", adapter.settings())
                out |= {f"{role} {name}": fact for name, fact in facts.items()}
        return out

    @property
    def notes(self) -> tuple[str, ...]:
        """What both have to say before they are asked."""
        return tuple(note for adapter, _ in self._adapters for note in getattr(adapter, "notes", ()))

    def findings(self) -> Mapping[str, str | int | float | bool]:
        """What both found out while they were asked, each under its own name."""
        out: dict[str, str | int | float | bool] = {}
        for role, adapter in (("editor", self._editor), ("generator", self._generator)):
            if isinstance(adapter, Finding) and (role == "generator" or adapter is not self._generator):
                out |= {f"{role} {name}": fact for name, fact in adapter.findings().items()}
        return out

    def share(self, fraction: float) -> None:
        """Have both spend only this part of their budgets."""
        for adapter, _ in self._adapters:
            if isinstance(adapter, Sharing):
                adapter.share(fraction)

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Have each picture made once; edits of one that was not made fail as it did."""
        if self._outcomes is None:
            self._outcomes = {name: outcome for name, outcome in self._stored().items() if name in self._sources}
        desk = _Desk(self._rows, self._sources, self._outcomes, self._album, requests, lambda: self._halted)
        while desk.open():
            for adapter, kinds in self._adapters:
                yield from self._asked(adapter, kinds, desk)
        if not self._halted:
            for response in desk.left():
                self.early += 1
                yield response

    def _asked(self, adapter: PictureGenerator, kinds: tuple[bool, ...], desk: "_Desk") -> Iterator[Response]:
        """What one adapter makes of what can be made now."""
        flying: dict[int, Request] = {}
        pictures = adapter.generate(desk.stream(kinds, flying))
        try:
            for picture in pictures:
                yield self._response(adapter, picture, flying, desk)
                yield from desk.failures()
        finally:
            if callable(close := getattr(pictures, "close", None)):
                close()  # an adapter cancels what is on its way
        yield from desk.failures()

    def halt(self) -> None:
        """Begin no picture that waits."""
        self._halted = True

    def close(self) -> None:
        """Let go of both."""
        self._generator.close()
        if self._editor is not self._generator:
            self._editor.close()

    def _response(
        self, adapter: PictureGenerator, picture: object, flying: dict[int, Request], desk: "_Desk"
    ) -> Response:
        """The response to a request of what its adapter yielded; one to trial -1 where it answers none."""
        number = picture.number if isinstance(picture, GeneratedPicture) else None
        request = flying.pop(number, None) if isinstance(number, int) else None
        if request is None and len(flying) == 1 and not isinstance(picture, GeneratedPicture):
            _, request = flying.popitem()  # it can be about nothing else
        if request is None:
            return Response(
                -1, 0, Status.ERROR, error=f"{adapter.name} gave {quoted(picture)} for nothing it was asked"
            )
        if isinstance(picture, GeneratedPicture):
            response, outcome = self._judged(adapter, picture, request)
        else:
            response, outcome = _failed(request, f"{adapter.name} gave {quoted(picture)}"), SourceOutcome(Status.ERROR)
        desk.settle(request.trial, outcome)
        return response

    def _judged(
        self, adapter: PictureGenerator, picture: GeneratedPicture, request: Request
    ) -> tuple[Response, SourceOutcome]:
        """Check what came and keep it, and only then say that it is there."""
        if picture.status not in (Status.OK, Status.REFUSED):
            reason = picture.error or f"{adapter.name} gave neither a picture nor a reason"
            return _failed(request, reason), SourceOutcome(Status.ERROR)
        text: str | None = None
        error: str | None = picture.error or "refused"
        outcome = SourceOutcome(Status.REFUSED)
        try:
            if picture.status == Status.OK:
                checked = checked_picture(picture.image)
                error = "The picture is black, as a filter leaves it."
                if not checked.black:
                    record = _record(adapter, checked, picture, request)
                    self._album.put(checked.image, record.picture)
                    text, error = record.text(), None
                    outcome = SourceOutcome(Status.OK, record.picture, record.media_type)
        except (DataError, ModelError) as problem:
            return _failed(request, str(problem)), SourceOutcome(Status.ERROR)
        response = Response(
            request.trial, request.repeat, outcome.status, text, None, picture.prompt_tokens,
            picture.completion_tokens, picture.latency_ms, error,
        )  # fmt: skip
        return response, outcome


class _Desk:
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
    ) -> None:
        self._rows, self._sources, self._outcomes, self._album = rows, sources, outcomes, album
        self._requests, self._halted = iter(requests), halted
        self._lock = threading.RLock()
        self._ready: dict[bool, deque[Request]] = {True: deque(), False: deque()}  # edits, and pictures from texts
        self._held: dict[str, list[Request]] = {}
        self._failures: deque[Response] = deque()
        self._ended = False

    def open(self) -> bool:
        """Whether there is anything to ask for."""
        return not self._halted() and (not self._ended or any(self._ready.values()))

    def stream(self, kinds: tuple[bool, ...], flying: dict[int, Request]) -> Iterator[PictureRequest]:
        """What an adapter is asked now: edits (True), pictures from texts (False), or both; `flying` holds it."""
        while (pair := self._next(kinds, flying)) is not None:
            yield pair

    def settle(self, trial: int, outcome: SourceOutcome) -> None:
        """Let those begin that wait for a picture, or fail as it did."""
        name = self._rows[IMAGE][trial]
        if name not in self._sources:
            return
        with self._lock:
            self._outcomes[name] = outcome
            for request in self._held.pop(name, ()):
                self._place(request)

    def failures(self) -> Iterator[Response]:
        """Edits that cannot be made."""
        while self._failures:
            yield self._failures.popleft()

    def left(self) -> Iterator[Response]:
        """Edits of pictures that nobody answered for, at the end of all requests."""
        for request in [request for requests in self._held.values() for request in requests]:
            self._fail(request, SourceOutcome(Status.ERROR))
        yield from self.failures()

    def _next(self, kinds: tuple[bool, ...], flying: dict[int, Request]) -> PictureRequest | None:
        while (request := self._taken(kinds)) is not None:
            if (picture_request := self._with_source(request)) is not None:
                flying[request.trial] = request
                return picture_request
        return None

    def _taken(self, kinds: tuple[bool, ...]) -> Request | None:
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
            self._fail(request, outcome)

    def _fail(self, request: Request, outcome: SourceOutcome) -> None:
        refused = outcome.status is Status.REFUSED
        error = f"Its source {self._rows[SOURCE][request.trial]} was {'refused' if refused else 'not made'}."
        self._failures.append(Response(request.trial, request.repeat, outcome.status, error=error))
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
                self._failures.append(_failed(request, f"Its source cannot be read: {error}"))
                self.settle(request.trial, SourceOutcome(Status.ERROR))
                return None
        return PictureRequest(request.trial, request.question.prompt, seed % _SEEDS, image, request.stimulus.factors)


def _record(
    adapter: PictureGenerator, checked: CheckedPicture, picture: GeneratedPicture, request: Request
) -> PictureRecord:
    revised, seed = picture.revised_prompt, picture.seed if adapter.capabilities.seeds else None
    if revised is not None and not isinstance(revised, str):
        raise DataError(f"The revised prompt is {quoted(revised)}, not a text.")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63):
        raise DataError(f"The seed is {quoted(seed)}, not a whole number.")
    if revised is not None:
        revised = revised[:_LONGEST].encode(errors="replace").decode()
    return PictureRecord(
        hashlib.sha256(checked.image.data).hexdigest(), checked.image.media_type, checked.width, checked.height,
        len(checked.image.data), checked.stated or None, None if revised == request.question.prompt else revised, seed,
        checked_record_facts(adapter, picture.facts),
    )  # fmt: skip


def _failed(request: Request, reason: str) -> Response:
    return Response(request.trial, request.repeat, Status.ERROR, error=str(reason))
