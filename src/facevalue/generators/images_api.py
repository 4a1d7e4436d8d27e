"""Servers of pictures: `/v1/images/generations` and `/v1/images/edits`, as OpenAI, vLLM-Omni and SGLang serve them."""

import logging
import time
from collections.abc import Generator, Iterable, Mapping
from urllib.parse import urlsplit

from facevalue.errors import ModelError, ModelSpecError, UnknownNameError
from facevalue.generators.base import GeneratedPicture, GeneratorCapabilities, GeneratorOptions, PictureRequest
from facevalue.generators.images_requests import (
    DOCUMENT,
    EDITS,
    GENERATIONS,
    OPTIONAL,
    PATHS,
    SEED,
    PictureReply,
    Scalar,
    SentRequest,
    Taken,
    UnwantedReplyError,
    accepted_fields,
    body,
    checked_settings,
    cut_picture,
    is_setting,
    not_as_asked,
    path_of,
    read_reply,
    refused_setting,
    settings_of,
)
from facevalue.servers.connections import Connections, target_of
from facevalue.servers.pool import Budget, Pool, concurrency_note
from facevalue.servers.replies import Outage, unknown_parameter
from facevalue.servers.server import Failure, Server, Waits
from facevalue.stimuli.images import MAX_BYTES
from facevalue.types import Status

_LOG = logging.getLogger(__name__)

_LARGEST = MAX_BYTES * 4 // 3 + 2**20
"""Bytes of a reply: the largest picture in base64, and what is said of it."""
_LOOKING = 30.0
"""Most seconds to find out what a server takes."""
_OPENAI = "api.openai.com"
_UNPAID = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_MOST_NOTES = 20
NOT_AS_ASKED = "not_as_asked"
"""What facts and findings call settings that a server says it did not keep."""


class ImagesServer:
    """A server of pictures, local or not.

    `generate` runs the requests on an event loop in a thread of its own. Leaving the iterator early cancels what is in
    flight.

    `spec`: "http://HOST/v1#MODEL" or "https://..." (key, if any, in FACEVALUE_API_KEY), or "openai/MODEL" (key in
    OPENAI_API_KEY; OPENAI_BASE_URL replaces the address). `options`: how to reach it and how it is to draw. `waits`:
    how to wait between tries, for tests.

    Which parameters a server takes is found before the first picture, at no cost: OpenAI's are known, others are asked
    for their OpenAPI document. What a document does not list is refused here if the user set it, and not sent if it is
    FaceValue's (`seed`, `response_format`). Of a server without one, those two are left out once it refuses them.

    Raises
    ------
    ModelError
        The address is incomplete or holds a password or query, a key is missing, or a setting can be none.
    """

    def __init__(self, spec: str, options: GeneratorOptions, *, waits: Waits | None = None) -> None:
        self._spec, self._options = spec, options
        self._waits = waits or Waits()
        target = target_of(spec)
        self._model, self._variable = target.model, target.variable
        self._settings = checked_settings(spec, options)
        self._server = Server(target.url, target.variable, options.timeout, _LARGEST)
        self._budget = Budget(options.rpm, None, self._waits)
        self._outage = Outage()
        self._taken: dict[str, Taken] | None = None
        self._left_out: dict[str, frozenset[str]] = dict.fromkeys(PATHS, frozenset())
        if urlsplit(target.url).hostname == _OPENAI:
            self._taken, self._left_out = {}, dict.fromkeys(PATHS, frozenset(OPTIONAL))
        self._reached = False
        self._worked: set[str] = set()
        self._unlike: dict[str, None] = {}

    def __repr__(self) -> str:
        return f"ImagesServer({self._spec!r})"

    @property
    def name(self) -> str:
        """Name by which the user chose it."""
        return self._spec

    @property
    def capabilities(self) -> GeneratorCapabilities:
        """Capabilities that the server states; the first access may ask it.

        `seeds` means that it takes a seed, not that it was seen to draw the same picture again.
        """
        by_path = self._look_up_parameters()
        return GeneratorCapabilities(
            generates=by_path.get(GENERATIONS, Taken()).offered,
            edits=by_path.get(EDITS, Taken()).offered,
            seeds=any(SEED not in left_out for left_out in self._left_out.values()),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on parts of FaceValue's requests that the server does not take; the first access may ask it."""
        self._look_up_parameters()
        if any(SEED not in left_out for left_out in self._left_out.values()):
            seedless = ""
        else:
            seedless = f"{self._server.url} takes no seed: its pictures cannot be drawn again, and none is recorded."
        return tuple(filter(None, [seedless, concurrency_note(self._options.concurrency)]))

    def settings(self) -> Mapping[str, Scalar]:
        """Return the endpoint, the model's name there, and the settings that are sent."""
        return {**self._settings, "api": "openai-images", "endpoint": self._server.url, "model": self._model}

    def findings(self) -> Mapping[str, Scalar]:
        """Say which settings the server did not keep, by its own words or by the bytes that came."""
        return {NOT_AS_ASKED: "; ".join(self._unlike)} if self._unlike else {}

    def share(self, fraction: float) -> None:
        """Spend only this part of the budget from now on."""
        self._budget.share(fraction)

    def generate(self, requests: Iterable[PictureRequest]) -> Generator[GeneratedPicture, None, None]:
        """Answer each request once, in any order."""
        self._look_up_parameters()
        with Pool(self._server.connections) as pool:
            yield from pool.map(self._make, requests, self._options.concurrency)

    def close(self) -> None:
        """Do nothing: connections end with the iterators that use them."""

    async def _make(self, connections: Connections, request: PictureRequest) -> GeneratedPicture:
        try:
            picture = await self._ask(connections, request)
        except Failure as failure:
            status = Status.REFUSED if failure.is_refusal else Status.ERROR
            if status is Status.ERROR and path_of(request) not in self._worked:
                self._explain(path_of(request), failure)
            picture = GeneratedPicture(request.number, status, error=failure.text, retries=failure.retries)
        self._outage.weigh(picture.status, picture.error)
        return picture

    async def _ask(self, connections: Connections, request: PictureRequest) -> GeneratedPicture:
        """Send a request until it succeeds or has failed for good, without what the server refuses of ours."""
        path = path_of(request)
        settings = settings_of(path, self._settings, self._look_up_parameters().get(path, Taken()).names)
        left_out = self._left_out[path]
        retry = 0
        while True:
            outgoing = body(self._model, request, settings, left_out)
            booked = await self._budget.take()
            started = time.perf_counter()
            try:
                reply = await self._reply(connections, request, outgoing)
            except Failure as failure:
                self._reached |= failure.connected
                name = _refused_parameter(failure, left_out)
                if name and (path not in self._worked or name in self._left_out[path]):
                    left_out |= {name}
                    continue
                if not self._reached or failure.code in _UNPAID:
                    raise ModelError(failure.text) from None
                if not failure.transient or failure.is_refusal or retry >= self._options.retries:
                    failure.retries = retry
                    raise
                _LOG.info("Picture %d is asked for again: %s", request.number, failure.text)
                await self._waits.sleep(self._waits.before(retry, failure.retry_after))
                retry += 1
                continue
            latency = (time.perf_counter() - started) * 1000
            self._budget.settle(booked, (reply.prompt_tokens or 0) + (reply.completion_tokens or 0))
            self._reached = True
            self._worked.add(path)
            self._left_out[path] = left_out  # only what was seen to work is remembered
            seed = None if SEED in left_out else request.seed
            return self._picture(request, reply, seed, settings, latency)._replace(retries=retry)

    async def _reply(self, connections: Connections, request: PictureRequest, outgoing: SentRequest) -> PictureReply:
        raw = await self._server.fetch(connections, outgoing.path, outgoing.data, outgoing.media_type)
        encoded = cut_picture(raw)
        payload = self._server.decode_reply(raw)
        try:
            return read_reply(payload, encoded, request.prompt)
        except ValueError as error:
            text = self._server.clean(f"The reply is no picture: {error}.")
            raise Failure(text, status=200, transient=True) from None
        except UnwantedReplyError as error:
            if outgoing.path not in self._worked:  # so it will be each time, and may be paid for
                raise ModelError(f"{self._server.url} is no server that FaceValue can use. {error}") from None
            raise Failure(str(error), status=200) from None
        except Failure as failure:
            text = self._server.clean(failure.text)
            raise Failure(text, status=200, code=failure.code, payload=failure.payload) from None

    def _picture(
        self,
        request: PictureRequest,
        reply: PictureReply,
        seed: int | None,
        settings: Mapping[str, Scalar],
        latency: float,
    ) -> GeneratedPicture:
        facts = {name: self._server.clean(text)[:100] for name, text in reply.echoes.items()}
        if unlike := self._server.clean(not_as_asked(settings, reply)):
            facts[NOT_AS_ASKED] = unlike
            if len(self._unlike) < _MOST_NOTES:
                self._unlike.setdefault(unlike)
        return GeneratedPicture(
            request.number,
            Status.OK,
            reply.image,
            None,
            reply.revised_prompt,
            seed,
            reply.prompt_tokens,
            reply.completion_tokens,
            latency,
            facts,
        )

    def _explain(self, path: str, failure: Failure) -> None:
        """Raise `ModelError` for what holds for all requests to a path on which nothing has worked yet."""
        self._server.check_key(failure)
        if failure.status is not None and (failure.status in (404, 405) or 300 <= failure.status < 400):
            raise ModelError(
                f"{self._server.url} does not offer {self._model!r} at {path}. {failure.text} "
                "Most servers' addresses end in /v1."
            )
        if failure.status in (400, 422) and (name := refused_setting(failure.text, self._settings)):
            raise ModelError(f"{self._server.url} does not take the setting {name!r} as it is. {failure.text}")

    def _look_up_parameters(self) -> Mapping[str, Taken]:
        """Find out what the server takes, once, and refuse settings that it would ignore."""
        if self._taken is None:
            root = Server(self._server.url.removesuffix("/v1"), self._variable, min(self._options.timeout, _LOOKING))
            with Pool(root.connections) as pool:
                by_path = pool.run(lambda connections: self._look(root, connections))
            self._check(by_path)
            self._taken = by_path
        return self._taken

    async def _look(self, root: Server, connections: Connections) -> dict[str, Taken]:
        try:
            by_path = accepted_fields(await root.call(connections, DOCUMENT))
        except Failure as failure:
            if not failure.connected:
                raise ModelError(failure.text) from None
            return {}
        names = await root.models(connections, self._server.url.removeprefix(root.url)) if by_path else []
        if names and self._model not in names:  # such servers would draw with the one they have
            raise ModelError(str(UnknownNameError(f"model at {self._server.url}:", self._model, names)))
        return by_path

    def _check(self, by_path: Mapping[str, Taken]) -> None:
        offered = {path: entry.names for path, entry in by_path.items() if entry.offered}
        for path, names in offered.items():
            if names is not None:
                self._left_out[path] = frozenset(OPTIONAL) - names
        name_sets = [names for names in offered.values() if names is not None]
        if not name_sets or len(name_sets) < len(offered):
            return
        names = frozenset().union(*name_sets)
        if unknown := [name for name in self._settings if name not in names]:
            settable = [name for name in names if is_setting(name)]
            raise ModelSpecError(str(UnknownNameError(f"setting of {self._server.url}:", unknown[0], settable)))


def _refused_parameter(failure: Failure, left_out: frozenset[str]) -> str | None:
    """Return which parameter of `OPTIONAL` that was sent a server says it does not know."""
    if failure.transient or failure.is_refusal:
        return None
    return unknown_parameter(failure.text, [name for name in OPTIONAL if name not in left_out])
