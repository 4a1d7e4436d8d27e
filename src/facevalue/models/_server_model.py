"""Models behind servers, however those are spoken to: asked until they answer, and able to do what they turn out to."""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, TypeVar

from facevalue.errors import FaceValueError, ModelError
from facevalue.models._chat import (
    LIMIT,
    PROBES,
    Dialect,
    ServerReply,
    Way,
    constrained_choice,
    exact,
    refused_by_words,
    replace_response,
    response_of,
    white_squares,
    without_cut_thinking,
)
from facevalue.models._pictures import EncodedStimuli
from facevalue.models.base import Capabilities, ModelOptions
from facevalue.models.cached_tokens import CachedTokens
from facevalue.servers.pool import Budget, Pool, concurrency_note
from facevalue.servers.replies import Outage, holds_words
from facevalue.servers.server import Failure, Waits
from facevalue.thinking import after_thinking
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus

_LOG = logging.getLogger(__name__)
_INABILITY = frozenset({200, 500, 501})
"""HTTP statuses with which servers answer a probe of what they can't do: a broken reply, or a fault."""
_REJECTED = frozenset({400, 422})
"""HTTP statuses with which servers reject what a request holds."""
_OTHERWISE = frozenset({401, 403, 404, 413})
"""HTTP statuses that are about a key, an address or a size, whichever parameter their text may name."""
_HICCUPS = 1
"""So many such answers to a probe may be accidents: the probe is sent again."""
_PROBED = 16
"""Most tokens of a reply to a probe."""
_THINKING = 4096
"""Tokens for thinking where an effort is given alone."""
_MOST_NAMES = 20
"""So many models and builds of one server are remembered."""
_PATIENCE = 30.0
"""Seconds for which one request may hold up all others, where its time limit is shorter: packages load at first use."""
SERVED_BY = "served_by"
"""What `findings` calls who answered, as replies name it."""

C = TypeVar("C")
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class EncodedRequest(Generic[P]):
    """A request with its images encoded, or why they couldn't be loaded, and how its reply is constrained."""

    request: Request
    pictures: Sequence[P]
    problem: str | None
    way: Way | None


@dataclass(frozen=True, slots=True)
class Manner:
    """Form in which one try of a request is sent."""

    sampling: Sampling
    """As the request says, with room for thinking."""
    dialect: Dialect
    logprobs: bool
    """Whether the alternatives of each token are asked for, of the greedy reply."""
    probing: bool
    """Whether it only is to show what the server can do."""


class Served(ABC, Generic[C, P]):
    """A model behind a server.

    `respond` runs the requests on an event loop in a thread of its own, while requests are drawn and images loaded in
    the caller's thread. Leaving the iterator early cancels what is in flight; use `contextlib.closing` to leave it at
    once where an exception might keep it alive.

    `spec`: what the user typed. `place`: who is asked, in messages. `options`: how to reach it. `waits`: how to wait
    between tries, for tests.
    """

    ways: ClassVar[tuple[Way, ...]] = tuple(Way)
    """In which a reply may be constrained, in the order in which they are tried."""

    def __init__(self, spec: str, place: str, options: ModelOptions, waits: Waits | None) -> None:
        if min(options.max_tokens or 1, options.reasoning_tokens or 1) < 1:
            raise ModelError("Limits of tokens are whole numbers from 1.")
        self._spec, self._place = spec, place
        self._options = options
        self._waits = waits or Waits()
        self._budget = Budget(options.rpm, options.tpm, self._waits)
        self._thinking = thinking_tokens(options)
        self._dialect = Dialect()
        self._sampling = Sampling()
        self._capabilities: Capabilities | None = None
        self._way: Way | None = None
        self._knows_way = False
        self._encoded: EncodedStimuli[Sequence[P]] = EncodedStimuli(self._encode)
        self._reached = self._worked = False
        self._outage = Outage()
        self._served_by: dict[str, None] = {}
        self._cached = CachedTokens()

    @abstractmethod
    def _resource(self) -> AbstractAsyncContextManager[C]:
        """Resource that every request needs, such as connections; lives as long as an event loop."""

    @abstractmethod
    def _encode(self, images: Sequence[Image]) -> Sequence[P]:
        """Encode pictures, once for all requests that show them."""

    @abstractmethod
    async def _send(self, resource: C, prepared: EncodedRequest[P], manner: Manner) -> ServerReply:
        """Send a request once.

        Raises
        ------
        Failure
            No usable reply came.
        """

    @abstractmethod
    async def _explain(self, resource: C, failure: Failure) -> None:
        """Raise `ModelError` if a first request was refused for a reason that holds for all."""

    @abstractmethod
    def _clean(self, text: str) -> str:
        """Take keys and control characters out of a text, and clip it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._spec!r})"

    @property
    def name(self) -> str:
        """Name by which the user chose this model."""
        return self._spec

    def _changed_settings(self) -> dict[str, str | int | float | bool]:
        """Settings of what is sent otherwise than a study says."""
        settings = {
            "max_tokens": self._options.max_tokens,
            "reasoning_effort": self._options.reasoning_effort,
            "reasoning_tokens": self._thinking or None,
            "left_out": ", ".join(sorted(self._dialect.left_out)) or None,
        }
        return {name: value for name, value in settings.items() if value is not None}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what the server does not take of what is sent, and on requests limited to fewer at once."""
        sampling, effort = self._sampling, self._options.reasoning_effort
        values = {
            "temperature": f"{sampling.temperature:g}",
            "top_p": f"{sampling.top_p:g}",
            "reasoning_effort": effort,
        }
        more = {
            "seed": "replies cannot be reproduced",
            LIMIT: "replies may be longer, and cost more, than planned",
            **{name: f"its own default applies, not the {value} that was asked" for name, value in values.items()},
        }
        left_out = (
            f"{self._place} takes no {name}, which is not sent: {more.get(name, 'its own default applies')}."
            for name in self._dialect.left_out
        )
        return (*left_out, *filter(None, [concurrency_note(self._options.concurrency)]))

    def expect(self, sampling: Sampling) -> None:
        """Probe with the run's own sampling."""
        if sampling != self._sampling:
            self._sampling, self._capabilities, self._dialect = sampling, None, Dialect()

    def findings(self) -> Mapping[str, str | int | float | bool]:
        """Say which model and build replies name (more than one is a change during the run), and what was cached."""
        facts = {SERVED_BY: "; ".join(self._served_by)} if self._served_by else {}
        return {**facts, **self._cached.findings()}

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the server, found by a few tiny requests on first access.

        `seeds` means that the server takes a seed, not that it was seen to reproduce a reply. Whether a system
        message is honoured can't be seen from outside and is taken for granted. More than two images a request are
        not tried. `structured` is False until `structured` has been called or a constrained request been asked.
        """
        if self._capabilities is None:
            with Pool(self._resource, max(self._options.timeout, _PATIENCE)) as pool:
                self._capabilities = pool.run(self._probe)
        if self._way is not None and not self._capabilities.structured:
            self._capabilities = replace(self._capabilities, structured=True)
        return self._capabilities

    def structured(self) -> bool:
        """Tell whether the server can hold a reply to a question's options, found by a few tiny requests, once."""
        if not self._knows_way:
            with Pool(self._resource, max(self._options.timeout, _PATIENCE)) as pool:
                self._way = pool.run(self._find_way)
            self._knows_way = True
        return self._way is not None

    def share(self, fraction: float) -> None:
        """Spend only this part of the budget from now on."""
        self._budget.share(fraction)

    def respond(self, requests: Iterable[Request]) -> Generator[Response, None, None]:
        """Answer each request once, in any order."""
        with Pool(self._resource, max(self._options.timeout, _PATIENCE)) as pool:
            yield from pool.map(self._answer, map(self._prepare, requests), self._options.concurrency)

    def close(self) -> None:
        """Forget encoded images. Connections end with the iterators that use them."""
        self._encoded.clear()

    def _prepare(self, request: Request) -> EncodedRequest[P]:
        """Load and encode what a request shows, once per stimulus, in the caller's thread."""
        way = self._way if _is_constrained(request) and self.structured() else None
        try:
            return EncodedRequest(request, self._encoded.content(request.stimulus), None, way)
        except (OSError, FaceValueError) as error:
            problem = f"Stimulus {request.stimulus.key!r} could not be loaded: {error}"
            return EncodedRequest(request, [], problem, None)

    async def _answer(self, resource: C, prepared: EncodedRequest[P]) -> Response:
        request = prepared.request
        if prepared.problem is not None:
            return Response(request.trial, request.repeat, Status.ERROR, error=prepared.problem)
        try:
            response = await self._respond(resource, prepared)
        except Failure as failure:
            if self._declines(failure):
                response = Response(request.trial, request.repeat, Status.REFUSED, error=failure.text)
            else:
                if not self._worked:
                    await self._explain(resource, failure)
                response = Response(request.trial, request.repeat, Status.ERROR, error=failure.text)
        self._outage.weigh(response.status, response.error)
        return response

    async def _respond(self, resource: C, prepared: EncodedRequest[P]) -> Response:
        """Ask once; or twice, where probabilities are wanted but more than a little of them is not seen."""
        request = prepared.request
        reply, latency = await self._ask(resource, prepared)
        response = response_of(request, reply, latency)
        if not request.exact:
            return response
        exact_response = exact(request, reply, response)
        if isinstance(exact_response, Response):
            return exact_response
        reply, latency = await self._ask(resource, prepared, logprobs=False)
        return replace_response(exact_response, response, response_of(request, reply, latency))

    async def _ask(
        self, resource: C, prepared: EncodedRequest[P], *, logprobs: bool | None = None, probing: bool = False
    ) -> tuple[ServerReply, float]:
        """Send a request until it succeeds, in whatever dialect the server takes; return also the milliseconds.

        With `probing`, a server's fault or a broken reply that comes twice is taken for its answer, since some servers
        answer so to what they can't do.
        """
        request = prepared.request
        logprobs = request.exact if logprobs is None else logprobs
        sampling = self._limit_tokens(request.sampling)
        dialect = known_dialect = self._dialect
        settled = self._capabilities is not None
        first_failure: Failure | None = None  # it says more than what a server says without the parameter that it named
        retry = 0
        while True:
            booked = await self._budget.take()
            started = time.perf_counter()
            try:
                reply = await self._send(resource, prepared, Manner(sampling, dialect, logprobs, probing))
                latency = (time.perf_counter() - started) * 1000
            except Failure as failure:
                self._reached |= failure.connected
                if self._declines(failure):
                    raise
                at_end = probing and failure.status in _INABILITY and retry >= _HICCUPS
                final = not failure.transient or at_end
                refused = final and failure.status not in _OTHERWISE
                next_dialect = dialect.after(failure.text, greedy=logprobs) if refused else None
                # What changes the answers is settled before the first one, as it is a part of their hashes.
                if next_dialect is not None and (not settled or next_dialect.left_out == dialect.left_out):
                    dialect, first_failure = next_dialect, first_failure or failure
                    continue
                if not self._reached or failure.code == "insufficient_quota":
                    raise ModelError(failure.text) from None
                if final or retry >= self._options.retries:
                    raise first_failure or failure from None
                _LOG.info("Trial %d, repeat %d is tried again: %s", request.trial, request.repeat, failure.text)
                await self._waits.sleep(self._waits.before(retry, failure.retry_after))
                retry += 1
                continue
            self._budget.settle(booked, (reply.prompt_tokens or 0) + (reply.completion_tokens or 0))
            self._reached = self._worked = True
            self._note_server(reply.served_by)
            if not probing:
                self._cached.count(reply.prompt_tokens, reply.cached_tokens)
            if dialect != known_dialect:  # only what was seen to work is remembered
                self._dialect = dialect
            reply = without_cut_thinking(reply) if self._thinking else reply
            return refused_by_words(reply, self._options.refusal_words), latency

    def _declines(self, failure: Failure) -> bool:
        """Return whether the server declined to answer, in a known form or in the user's words."""
        return failure.is_refusal or (failure.connected and holds_words(failure.text, self._options.refusal_words))

    def _limit_tokens(self, sampling: Sampling) -> Sampling:
        return replace(sampling, max_tokens=(self._options.max_tokens or sampling.max_tokens) + self._thinking)

    def _note_server(self, name: str) -> None:
        """Remember who says that it answered, in the order of first replies."""
        if name and len(self._served_by) < _MOST_NAMES:
            self._served_by.setdefault(self._clean(name))

    async def _probe(self, resource: C) -> Capabilities:
        """Ask a tiny question in ever plainer forms until one is answered."""
        failure: Failure | None = None
        for images, logprobs in ((1, True), (1, False), (0, True), (0, False)):
            try:
                reply, _ = await self._ask(resource, self._tiny(images), logprobs=logprobs, probing=True)
            except Failure as error:
                failure = error
                if error.transient and error.status not in _INABILITY:
                    break
                if error.status in (401, 403, 404):
                    await self._explain(resource, error)
                continue
            return Capabilities(
                probabilities="top-k" if logprobs and reply.positions else "none",
                images_per_request=await self._takes_two(resource) if images else 0,
                seeds="seed" not in self._dialect.left_out,
            )
        assert failure is not None
        raise ModelError(
            f"{self._place} does not answer a simple question. {failure.text}{self._sent_besides(failure)}"
        )

    def _sent_besides(self, failure: Failure) -> str:
        """Parameters that were sent with a rejected request; empty for other failures."""
        names = ("temperature", "top_p", self._dialect.limit, "seed")
        left_out = {self._dialect.limit if name == LIMIT else name for name in self._dialect.left_out}
        sent = [name for name in names if name not in left_out]
        if failure.status not in _REJECTED or not sent:
            return ""
        return f" Sent besides, and perhaps refused: {', '.join(sent)}."

    def _tiny(self, images: int) -> EncodedRequest[P]:
        """Return a small question about white squares, with the run's sampling."""
        stimulus = Stimulus("probe", "", {}, tuple)
        sampling = replace(self._sampling, max_tokens=min(self._sampling.max_tokens, _PROBED))
        request = Request(0, 0, 0, stimulus, Question("Answer with (a) or (b)."), sampling, False)
        return EncodedRequest(request, self._encode(white_squares(images)), None, None)

    async def _takes_two(self, resource: C) -> int:
        try:
            await self._ask(resource, self._tiny(2), logprobs=False, probing=True)
        except Failure:
            return 1
        return 2

    async def _find_way(self, resource: C) -> Way | None:
        """Find the first way of constraining a reply that the server honours."""
        for way in self.ways:
            if await self._honours(resource, way):
                return way
        return None

    async def _honours(self, resource: C, way: Way) -> bool:
        """Return whether replies are what no model says by itself: most servers ignore parameters they don't know."""
        for texts in PROBES:
            try:
                reply, _ = await self._ask(resource, _choice(texts, way, self._sampling), probing=True)
            except Failure as failure:
                if failure.status in (401, 403, 404):
                    await self._explain(resource, failure)
                if failure.transient and failure.status not in _INABILITY:
                    raise ModelError(
                        f"It could not be found out whether {self._place} holds replies to given options. "
                        f"{failure.text}"
                    ) from None
                return False
            if constrained_choice(way, after_thinking(reply.text or "")) not in texts:
                return False
        return True


def thinking_tokens(options: ModelOptions) -> int:
    """Tokens that a model may spend thinking, besides those of its reply."""
    is_thinking = options.reasoning_effort not in (None, "none")
    if options.reasoning_tokens is None:
        return _THINKING if is_thinking else 0
    return options.reasoning_tokens


def _is_constrained(request: Request) -> bool:
    """Return whether a reply is to be constrained; one whose probabilities are read never is."""
    return request.constrain and not request.exact and bool(request.question.options)


def _choice(texts: Sequence[str], way: Way, sampling: Sampling) -> EncodedRequest[P]:
    """Return a question that has nothing to do with the texts to which its reply is constrained."""
    question = Question("What colour is the sky?", tuple(Option("", text, "") for text in texts))
    sampling = replace(sampling, max_tokens=_PROBED)
    return EncodedRequest(
        Request(0, 0, 0, Stimulus("probe", "", {}, tuple), question, sampling, False, True), [], None, way
    )
