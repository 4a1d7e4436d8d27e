"""Inspect's providers as models: any of them, under our runner, hashes, retries and budgets."""

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from inspect_ai.model import BatchConfig, GenerateConfig, Model, ResponseSchema

from facevalue.addresses import split_address
from facevalue.errors import DataError, ModelError, ModelSpecError
from facevalue.models._chat import (
    JSON_TOKENS,
    SEED_BITS,
    ServerReply,
    Way,
    choice_schema,
    constrained_texts,
    image_urls,
)
from facevalue.models._server_model import EncodedRequest, Manner, Served
from facevalue.models.base import Capabilities, ModelOptions
from facevalue.models.inspect import calls, replies
from facevalue.models.inspect.calls import clean_message, messages, near_names
from facevalue.models.inspect.providers import BATCHING, AskedModel, check_provider, endpoint_variable
from facevalue.printable import without_secrets
from facevalue.servers.server import Failure, Waits
from facevalue.types import Image
from facevalue.untrusted_files import to_json

# Arguments of Inspect's providers, as `-M` of Inspect takes them: read, and refused where they hold a key.


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
_LONGEST = 4096  # characters of a value
_OF_INSPECT = frozenset({"model", "model_name", "role", "required", "default", "config", "memoize"})
"""What Inspect takes by these names is no argument of a provider."""


def provider_arguments(texts: Sequence[str]) -> dict[str, Any]:
    """Understand NAME=VALUE, where VALUE is JSON or else a text.

    Raises
    ------
    ModelSpecError
        A text that is none, a name that is given twice or is none of a provider's, or a key: what a run keeps of its
        model holds no secret.

    Examples
    --------
    >>> provider_arguments(["region=eu-west-1", "responses_api=false", 'headers={"team": "a"}'])
    {'region': 'eu-west-1', 'responses_api': False, 'headers': {'team': 'a'}}
    """
    arguments: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name) or len(value) > _LONGEST or not value.isprintable():
            raise ModelSpecError(f"--model-arg {name[:80]!r}: write NAME=VALUE, such as region=eu-west-1.")
        if name in arguments:
            raise ModelSpecError(f"--model-arg {name} is given twice.")
        if name in _OF_INSPECT:
            raise ModelSpecError(f"--model-arg {name} is no argument of a provider.")
        arguments[name] = _value(value)
        if without_secrets({name: arguments[name]}) != {name: arguments[name]}:
            raise ModelSpecError(
                f"--model-arg {name} holds a key or password by its name, and a run folder holds none: set the "
                "provider's variable instead."
            )
    return arguments


def _value(text: str) -> Any:
    try:
        return to_json(text, "a value")
    except DataError:
        return text


_CONNECTIONS = 2**20
"""Requests that Inspect may have in flight: how many there are is for us to say."""
_LOST = (
    "A batch that is under way when this process ends is lost: the provider charges for it, and the next session asks "
    "its requests again. Batches of 'facevalue requests' are not, as 'facevalue import' brings their answers in."
)


class InspectModel(Served[calls.Client, str]):
    """A model of one of Inspect's providers.

    `spec`: "inspect/PROVIDER/NAME". `options`: how to reach it. `waits`: how to wait between tries, for tests.

    Raises
    ------
    ModelError
        There is no such provider, or its package or a key is missing.
    """

    ways = (Way.RESPONSE_FORMAT,)

    def __init__(self, spec: str, options: ModelOptions, *, waits: Waits | None = None) -> None:
        self._provider, _, self._model = spec.partition("/")[2].partition("/")
        check_provider(spec, self._provider, self._model)
        if options.batch is not None:
            options = replace(options, concurrency=max(options.concurrency, options.batch))
        super().__init__(spec, spec, options, waits)
        self._arguments = provider_arguments(options.model_args)
        self._next: Model | None = calls.make_client(spec, self._provider, self._model, self._arguments)
        self._api = self._next.api
        self._endpoint = self._address()
        if options.batch is not None and not any("batcher" in name for name in vars(self._api)):
            raise ModelSpecError(f"Inspect's {self._provider} takes no batches; {', '.join(BATCHING)} do.")
        names = (self._api.service_model_name(), self._api.canonical_name())
        self._asked = AskedModel.of_provider(self._provider, self._model, names)
        self._unsent: list[str] = []
        self._takes_seed = False

    def __reduce__(self) -> tuple[type["InspectModel"], tuple[str, ModelOptions]]:
        """Keep clients and keys out of what is pickled: they are made again from the environment."""
        return type(self), (self._spec, self._options)

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Return provider, name, address and arguments where there are any, and what is sent otherwise than asked."""
        settings = {"api": "inspect", "provider": self._provider, "model": self._model, "endpoint": self._endpoint}
        if self._arguments:
            settings["model_args"] = json.dumps(self._arguments, sort_keys=True)
        return {**{name: text for name, text in settings.items() if text}, **self._changed_settings()}

    @property
    def notes(self) -> tuple[str, ...]:
        """Say also what is lost of batches, as Inspect keeps their numbers in memory alone."""
        return super().notes if self._options.batch is None else (*super().notes, _LOST)

    def findings(self) -> Mapping[str, str | int | float | bool]:
        """Say also which version of Inspect asked, and in batches of how many."""
        batch = {} if self._options.batch is None else {"batch": self._options.batch}
        return {**super().findings(), "inspect_ai": version("inspect-ai"), **batch}

    def _address(self) -> str:
        """The address of the server, where the provider's client has one."""
        places = (self._api.base_url, getattr(getattr(self._api, "client", None), "base_url", None))
        address = next((str(place) for place in places if place), "").rstrip("/")
        variable = endpoint_variable(self._provider)
        address = address or (os.environ.get(variable, "") if variable else "")
        try:
            parts = split_address(address) if address else None
        except ValueError as error:
            raise ModelSpecError(
                f"The address of {self._spec} {error}. Put the key into its variable instead."
            ) from None
        if parts is not None and (parts.query or parts.fragment):
            raise ModelSpecError(f"The address of {self._spec} holds a query ('?...'), which could be a secret.")
        return address

    def _resource(self) -> AbstractAsyncContextManager[calls.Client]:
        """A client of its own for each event loop, as connections belong to one."""
        model = self._next or calls.make_client(self._spec, self._provider, self._model, self._arguments)
        self._next = None
        return calls.client(model)

    def _encode(self, images: Sequence[Image]) -> list[str]:
        return image_urls(images)

    def _clean(self, text: str) -> str:
        return clean_message(text, self._api)

    async def _send(self, resource: calls.Client, prepared: EncodedRequest[str], manner: Manner) -> ServerReply:
        conversation = messages(prepared.pictures, prepared.request.question)
        limit = None if self._uses_batches(manner) else self._options.timeout
        try:
            async with asyncio.timeout(limit):
                output, request, response = await calls.ask(resource, conversation, self._config(prepared, manner))
        except Failure as failure:
            if not failure.connected:
                failure.text = f"{self._spec} cannot be reached: {failure.text}"
            raise
        except TimeoutError:
            raise Failure(f"No reply within {self._options.timeout:g} s.", transient=True) from None
        if manner.probing:
            self._unsent, self._takes_seed = calls.unsent(request)
        document = output.model_dump()
        try:
            reply = replies.reply_of(document, fingerprint=response.get("system_fingerprint"))
        except replies.PromptLengthError as error:
            raise Failure(self._clean(str(error))) from None
        except ValueError as error:
            text = self._clean(f"The reply is none that can be read: {error}")
            raise Failure(text, status=200, transient=True) from None
        if problem := self._asked.another(document):
            raise Failure(self._clean(problem))
        return replace(reply, note=None if reply.note is None else self._clean(reply.note))

    def _config(self, prepared: EncodedRequest[str], manner: Manner) -> GenerateConfig:
        """Configuration for Inspect: with `logprobs` the greedy reply, as of any server; its own retries are off."""
        sampling, left_out = manner.sampling, manner.dialect.left_out
        extra = JSON_TOKENS if prepared.way is not None else 0
        effort = self._options.reasoning_effort
        config = GenerateConfig(
            max_tokens=sampling.max_tokens + extra,
            temperature=0.0 if manner.logprobs else sampling.temperature,
            top_p=1.0 if manner.logprobs else sampling.top_p,
            seed=prepared.request.seed & SEED_BITS,
            logprobs=True if manner.logprobs else None,
            top_logprobs=manner.dialect.top_logprobs if manner.logprobs else None,
            reasoning_effort=effort,  # type: ignore[arg-type] # one of `EFFORTS`
            reasoning_tokens=self._options.reasoning_tokens,
            response_schema=None if prepared.way is None else _schema(prepared),
            max_retries=0,
            max_connections=_CONNECTIONS,
            cache=False,
            batch=BatchConfig(size=self._options.batch, max_size=self._options.batch)
            if self._uses_batches(manner)
            else None,
        )
        return config.model_copy(update=dict.fromkeys(left_out))

    def _uses_batches(self, manner: Manner) -> bool:
        return self._options.batch is not None and not manner.probing

    async def _explain(self, resource: calls.Client, failure: Failure) -> None:
        if failure.status in (401, 403):
            raise ModelError(f"{self._spec} refuses the key, or the lack of one. {failure.text}")
        if failure.status == 404:
            near = near_names(self._provider, self._model)
            raise ModelError(f"{self._provider} does not offer {self._model!r}.{near} {failure.text}")

    async def _probe(self, resource: calls.Client) -> Capabilities:
        """See also which parameters Inspect did send: what it drops in silence is no part of what was planned."""
        capabilities = await super()._probe(resource)
        left_out = dict.fromkeys([*self._dialect.left_out, *self._unsent])
        self._dialect = replace(self._dialect, left_out=tuple(left_out))
        return replace(capabilities, seeds=self._takes_seed)


def _schema(prepared: EncodedRequest[str]) -> ResponseSchema:
    answer = choice_schema(constrained_texts(prepared.request.question.options))
    return ResponseSchema.model_validate({"name": "answer", "json_schema": answer, "strict": True})
