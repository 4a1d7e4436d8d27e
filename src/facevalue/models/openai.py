"""OpenAI-compatible servers: any that speaks the chat-completions protocol."""

import logging
import time
from collections import OrderedDict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from facevalue.errors import FaceValueError, ModelError, UnknownNameError
from facevalue.models._chat import CUT_THINKING, Dialect, ServerReply, body, encoded, read, white_squares
from facevalue.models._fallback import exact, instead, response_of
from facevalue.models._structured import PROBES, Way, said
from facevalue.models.base import Capabilities, ModelOptions
from facevalue.models.cached import CachedTokens
from facevalue.servers.budget import Budget
from facevalue.servers.connections import Connections
from facevalue.servers.outage import Outage
from facevalue.servers.pool import Pool
from facevalue.servers.server import Failure, Server, Waits
from facevalue.servers.target import target_of
from facevalue.thinking import THOUGHT, after_thinking
from facevalue.types import Option, Question, Request, Response, Sampling, Status, Stimulus

_LOG = logging.getLogger(__name__)
_PATH = "/chat/completions"
_STIMULI_KEPT = 4
"""Requests about one stimulus are neighbours, so few encoded stimuli are worth keeping."""
_INABILITY = frozenset({200, 500, 501})
"""HTTP statuses with which servers answer a probe of what they can't do: a broken reply, or a fault."""
_HICCUPS = 1
"""So many such answers to a probe may be accidents: the probe is sent again."""
_PROBED = 16
"""Most tokens of a reply to a probe."""
_THINKING = 4096
"""Tokens for thinking where an effort is given alone."""
_MOST_NAMES = 20
"""So many models and builds of one server are remembered."""
SERVED_BY = "served_by"
"""What `findings` calls who answered, as replies name it."""
_WITHHELD = frozenset({"content_filter", "content_policy_violation"})
"""Error codes with which a server declines to answer a prompt."""


class OpenAIModel:
    """A model behind an OpenAI-compatible server, local or not.

    `respond` runs the requests on an event loop in a thread of its own, while requests are drawn and images loaded in
    the caller's thread. Leaving the iterator early cancels what is in flight; use `contextlib.closing` to leave it at
    once where an exception might keep it alive.

    `spec`: "http://HOST/v1#MODEL" or "https://..." (key, if any, in FACEVALUE_API_KEY), or "openai/MODEL" (key in
    OPENAI_API_KEY; OPENAI_BASE_URL replaces the address). `options`: how to reach it. `waits`: how to wait between
    tries, for tests.

    Raises
    ------
    ModelError
        The address is incomplete or holds a password or query, or a key is missing.
    """

    def __init__(self, spec: str, options: ModelOptions, *, waits: Waits | None = None) -> None:
        self._spec = spec
        self._options = options
        self._waits = waits or Waits()
        if min(options.max_tokens or 1, options.reasoning_tokens or 1) < 1:
            raise ModelError("Limits of tokens are whole numbers from 1.")
        target = target_of(spec)
        self._model = target.model
        self._server = Server(target.url, target.variable, options.timeout)
        self._budget = Budget(options.rpm, options.tpm, self._waits)
        self._dialect = Dialect()
        self._sampling = Sampling()
        self._more, self._thinking = _reasoning(spec, options)
        self._capabilities: Capabilities | None = None
        self._way: Way | None = None
        self._knows_way = False
        self._encoded: OrderedDict[tuple[str, str], list[bytes]] = OrderedDict()
        self._reached = self._worked = False
        self._outage = Outage()
        self._served_by: dict[str, None] = {}
        self._cached = CachedTokens()

    def __repr__(self) -> str:
        return f"OpenAIModel({self._spec!r})"

    @property
    def name(self) -> str:
        """What the user typed to get this model."""
        return self._spec

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Return the endpoint, the model's name there, and what is sent otherwise than a study says."""
        # Without a seed replies are drawn from the same distribution: folders begun on such a server go on.
        unlike = sorted(name for name in self._dialect.left_out if name != "seed")
        settings = {
            "max_tokens": self._options.max_tokens,
            "reasoning_effort": self._options.reasoning_effort,
            "reasoning_tokens": self._thinking or None,
            "left_out": ", ".join(unlike) or None,
        }
        stated = {name: value for name, value in settings.items() if value is not None}
        return {"api": "openai-chat-completions", "endpoint": self._server.url, "model": self._model, **stated}

    @property
    def notes(self) -> tuple[str, ...]:
        """What of a study's sampling the server does not take."""
        default = {"temperature": self._sampling.temperature, "top_p": self._sampling.top_p}
        notes = [
            f"{self._server.url} takes no {name}: its own default applies, not the {default[name]:g} of the study."
            for name in self._dialect.left_out
            if name in default
        ]
        if "seed" in self._dialect.left_out:
            notes.append(f"{self._server.url} takes no seed: replies cannot be reproduced.")
        return tuple(notes)

    def expect(self, sampling: Sampling) -> None:
        """Probe with the run's own sampling."""
        if sampling != self._sampling:
            self._sampling, self._capabilities, self._dialect = sampling, None, Dialect()

    def findings(self) -> dict[str, str | int | float | bool]:
        """Say which model and build replies name (more than one is a change during the run), and what was cached."""
        facts = {SERVED_BY: "; ".join(self._served_by)} if self._served_by else {}
        return {**facts, **self._cached.findings()}

    @property
    def capabilities(self) -> Capabilities:
        """What the server turns out to do, found by a few tiny requests on first access.

        `seeds` means that the server takes a seed, not that it was seen to reproduce a reply. Whether a system
        message is honoured can't be seen from outside and is taken for granted. More than two images a request are
        not tried. `structured` is False until `structured` has been called or a constrained request been asked.
        """
        if self._capabilities is None:
            with Pool(self._server.connections) as pool:
                self._capabilities = pool.run(self._probe)
        if self._way is not None and not self._capabilities.structured:
            self._capabilities = replace(self._capabilities, structured=True)
        return self._capabilities

    def structured(self) -> bool:
        """Tell whether the server can hold a reply to a question's options, found by a few tiny requests, once."""
        if not self._knows_way:
            with Pool(self._server.connections) as pool:
                self._way = pool.run(self._find_way)
            self._knows_way = True
        return self._way is not None

    def share(self, fraction: float) -> None:
        """Spend only this part of the budget from now on."""
        self._budget.share(fraction)

    def respond(self, requests: Iterable[Request]) -> Generator[Response, None, None]:
        """Answer each request once, in any order."""
        with Pool(self._server.connections) as pool:
            yield from pool.map(self._answer, map(self._prepare, requests), self._options.concurrency)

    def close(self) -> None:
        """Forget encoded images. Connections end with the iterators that use them."""
        self._encoded.clear()

    def _prepare(self, request: Request) -> "_Prepared":
        """Load and encode what a request shows, once per stimulus, in the caller's thread."""
        way = self._way if _constrained(request) and self.structured() else None
        stimulus = request.stimulus
        at = (stimulus.key, stimulus.digest)
        content = self._encoded.get(at)
        if content is None:
            try:
                content = encoded(stimulus.load())
            except (OSError, FaceValueError) as error:
                return _Prepared(request, [], f"Stimulus {stimulus.key!r} could not be loaded: {error}", None)
            self._encoded[at] = content
            if len(self._encoded) > _STIMULI_KEPT:
                self._encoded.popitem(last=False)
        else:
            self._encoded.move_to_end(at)
        return _Prepared(request, content, None, way)

    async def _answer(self, connections: Connections, prepared: "_Prepared") -> Response:
        request = prepared.request
        if prepared.problem is not None:
            return Response(request.trial, request.repeat, Status.ERROR, error=prepared.problem)
        try:
            response = await self._respond(connections, prepared)
        except Failure as failure:
            if failure.code in _WITHHELD:
                response = Response(request.trial, request.repeat, Status.REFUSED, error=failure.text)
            else:
                if not self._worked:
                    await self._explain(connections, failure)
                response = Response(request.trial, request.repeat, Status.ERROR, error=failure.text)
        self._outage.weigh(response.status, response.error)
        return response

    async def _respond(self, connections: Connections, prepared: "_Prepared") -> Response:
        """Ask once; or twice, where probabilities are wanted but more than a little of them is not seen."""
        request = prepared.request
        reply, latency = await self._ask(connections, prepared)
        response = response_of(request, reply, latency)
        if not request.exact:
            return response
        exact_response = exact(request, reply, response)
        if isinstance(exact_response, Response):
            return exact_response
        reply, latency = await self._ask(connections, prepared, logprobs=False)
        return instead(exact_response, response, response_of(request, reply, latency))

    async def _ask(
        self, connections: Connections, prepared: "_Prepared", *, logprobs: bool | None = None, probing: bool = False
    ) -> tuple[ServerReply, float]:
        """Send a request until it succeeds, in whatever dialect the server takes; return also the milliseconds.

        With `probing`, a server's fault or a broken reply that comes twice is taken for its answer, since some servers
        answer so to what they can't do.
        """
        request = prepared.request
        logprobs = request.exact if logprobs is None else logprobs
        dialect = known_dialect = self._dialect
        settled = self._capabilities is not None
        retry = 0
        while True:
            sent = body(
                self._model,
                prepared.parts,
                request.question,
                self._limited(request.sampling),
                request.seed,
                dialect=dialect,
                logprobs=logprobs,
                way=prepared.way,
                more=self._more,
            )
            booked = await self._budget.take()
            started = time.perf_counter()
            try:
                payload = await self._server.call(connections, _PATH, sent)
                latency = (time.perf_counter() - started) * 1000
                reply = self._read(payload)
            except Failure as failure:
                self._reached |= failure.connected
                next_dialect = None if failure.transient else dialect.after(failure.text, greedy=logprobs)
                # What changes the answers is settled before the first one, as it is a part of their hashes.
                if next_dialect is not None and (not settled or next_dialect.left_out == dialect.left_out):
                    dialect = next_dialect
                    continue
                if not self._reached or failure.code == "insufficient_quota":
                    raise ModelError(failure.text) from None
                final = not failure.transient or (probing and failure.status in _INABILITY and retry >= _HICCUPS)
                if final or retry >= self._options.retries:
                    raise
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
            return reply, latency

    def _limited(self, sampling: Sampling) -> Sampling:
        return replace(sampling, max_tokens=(self._options.max_tokens or sampling.max_tokens) + self._thinking)

    def _read(self, payload: Mapping[str, object]) -> ServerReply:
        try:
            reply = read(payload)
        except ValueError as error:
            raise Failure(
                self._server.clean(f"The reply is no chat completion: {error}"), status=200, transient=True
            ) from None
        if (
            self._thinking
            and reply.status is Status.TRUNCATED
            and not (reply.thought or reply.note)
            and THOUGHT not in (reply.text or "")
        ):
            # Many templates open the thinking themselves: what was said so far can't be told from it.
            return replace(reply, text="", note=CUT_THINKING)
        return reply

    def _note_server(self, name: str) -> None:
        """Remember who says that it answered, in the order of first replies."""
        if name and len(self._served_by) < _MOST_NAMES:
            self._served_by.setdefault(self._server.clean(name))

    async def _explain(self, connections: Connections, failure: Failure) -> None:
        """Raise `ModelError` if a first request was refused for a reason that holds for all."""
        self._server.check_key(failure)
        if failure.status != 404:
            return
        names = await self._server.models(connections)
        if names and self._model not in names:
            raise ModelError(str(UnknownNameError(f"model at {self._server.url}:", self._model, names)))
        raise ModelError(
            f"{self._server.url} does not offer {self._model!r} at {_PATH}. {failure.text} "
            "Most servers' addresses end in /v1."
        )

    async def _probe(self, connections: Connections) -> Capabilities:
        """Ask a tiny question in ever plainer forms until one is answered."""
        failure: Failure | None = None
        for images, logprobs in ((1, True), (1, False), (0, True), (0, False)):
            try:
                reply, _ = await self._ask(connections, self._tiny(images), logprobs=logprobs, probing=True)
            except Failure as error:
                failure = error
                if error.transient and error.status not in _INABILITY:
                    break
                if error.status in (401, 403, 404):
                    await self._explain(connections, error)
                continue
            return Capabilities(
                probabilities="top-k" if logprobs and reply.positions else "none",
                images_per_request=await self._takes_two(connections) if images else 0,
                seeds="seed" not in self._dialect.left_out,
            )
        assert failure is not None
        hint = " Choose another temperature with --temperature." if "temperature" in failure.text else ""
        raise ModelError(f"{self._server.url} does not answer a simple question. {failure.text}{hint}")

    def _tiny(self, images: int) -> "_Prepared":
        """Return a small question about white squares, with the run's sampling."""
        stimulus = Stimulus("probe", "", {}, tuple)
        sampling = replace(self._sampling, max_tokens=min(self._sampling.max_tokens, _PROBED))
        request = Request(0, 0, 0, stimulus, Question("Answer with (a) or (b)."), sampling, False)
        return _Prepared(request, encoded(white_squares(images)), None, None)

    async def _takes_two(self, connections: Connections) -> int:
        try:
            await self._ask(connections, self._tiny(2), logprobs=False, probing=True)
        except Failure:
            return 1
        return 2

    async def _find_way(self, connections: Connections) -> Way | None:
        """Find the first way of constraining a reply that the server honours."""
        for way in Way:
            if await self._honours(connections, way):
                return way
        return None

    async def _honours(self, connections: Connections, way: Way) -> bool:
        """Whether replies are what no model says by itself; most servers ignore what they don't know."""
        for texts in PROBES:
            try:
                reply, _ = await self._ask(connections, _choice(texts, way, self._sampling), probing=True)
            except Failure as failure:
                if failure.status in (401, 403, 404):
                    await self._explain(connections, failure)
                if failure.transient and failure.status not in _INABILITY:
                    raise ModelError(
                        f"It could not be found out whether {self._server.url} holds replies to given options. "
                        f"{failure.text}"
                    ) from None
                return False
            if said(way, after_thinking(reply.text or "")) not in texts:
                return False
        return True


class _Prepared(NamedTuple):
    """A request with its images encoded, or why they couldn't be loaded, and how its reply is constrained."""

    request: Request
    parts: list[bytes]
    problem: str | None
    way: Way | None


def _constrained(request: Request) -> bool:
    """Whether a reply is to be constrained; one whose probabilities are read never is."""
    return request.constrain and not request.exact and bool(request.question.options)


def _choice(texts: Sequence[str], way: Way, sampling: Sampling) -> _Prepared:
    """Return a question that has nothing to do with the texts to which its reply is constrained."""
    question = Question("What colour is the sky?", tuple(Option("", text, "") for text in texts))
    sampling = replace(sampling, max_tokens=_PROBED)
    return _Prepared(Request(0, 0, 0, Stimulus("probe", "", {}, tuple), question, sampling, False, True), [], None, way)


def _reasoning(spec: str, options: ModelOptions) -> tuple[dict[str, object], int]:
    """Return the parameters that say how much to think, and how many tokens that may take.

    Hybrid models of servers other than OpenAI's stop thinking by an argument of their chat template.
    """
    effort, tokens = options.reasoning_effort, options.reasoning_tokens
    if effort is None:
        return {}, tokens or 0
    if effort != "none":
        return {"reasoning_effort": effort}, _THINKING if tokens is None else tokens
    off = {} if spec.startswith("openai/") else {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}
    return {"reasoning_effort": effort, **off}, tokens or 0
