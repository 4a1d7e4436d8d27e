"""OpenAI-compatible servers: any that speaks the chat-completions protocol."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from facevalue.errors import ModelError, UnknownNameError
from facevalue.models._chat import ServerReply, body, encode_images, read
from facevalue.models._server_model import EncodedRequest, Manner, Served
from facevalue.models.base import ModelOptions
from facevalue.servers.connections import Connections, target_of
from facevalue.servers.server import Failure, Server, Waits
from facevalue.types import Image

_PATH = "/chat/completions"


class OpenAIModel(Served[Connections, bytes]):
    """A model behind an OpenAI-compatible server, local or not.

    `spec`: "http://HOST/v1#MODEL" or "https://..." (key, if any, in FACEVALUE_API_KEY), or "openai/MODEL" (key in
    OPENAI_API_KEY; OPENAI_BASE_URL replaces the address). `options`: how to reach it. `waits`: how to wait between
    tries, for tests.

    Raises
    ------
    ModelError
        The address is incomplete or holds a password or query, or a key is missing.
    """

    def __init__(self, spec: str, options: ModelOptions, *, waits: Waits | None = None) -> None:
        target = target_of(spec)
        super().__init__(spec, target.url, options, waits)
        self._model = target.model
        self._server = Server(target.url, target.variable, options.timeout)
        self._more = _reasoning(spec, options)

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Return the endpoint, the model's name there, and what is sent otherwise than a study says."""
        return {
            "api": "openai-chat-completions", "endpoint": self._server.url, "model": self._model,
            **self._changed_settings()
        }  # fmt: skip

    def _resource(self) -> AbstractAsyncContextManager[Connections]:
        return self._server.connections()

    def _encode(self, images: Sequence[Image]) -> list[bytes]:
        return encode_images(images)

    def _clean(self, text: str) -> str:
        return self._server.clean(text)

    async def _send(self, resource: Connections, prepared: EncodedRequest[bytes], manner: Manner) -> ServerReply:
        sent = body(
            self._model,
            prepared.pictures,
            prepared.request.question,
            manner.sampling,
            prepared.request.seed,
            dialect=manner.dialect,
            logprobs=manner.logprobs,
            way=prepared.way,
            more=self._more,
        )
        payload = await self._server.call(resource, _PATH, sent)
        try:
            return read(payload)
        except ValueError as error:
            text = self._server.clean(f"The reply is no chat completion: {error}")
            raise Failure(text, status=200, transient=True) from None

    async def _explain(self, resource: Connections, failure: Failure) -> None:
        self._server.check_key(failure)
        if failure.status != 404:
            return
        names = await self._server.models(resource)
        if names and self._model not in names:
            raise ModelError(str(UnknownNameError(f"model at {self._server.url}:", self._model, names)))
        raise ModelError(
            f"{self._server.url} does not offer {self._model!r} at {_PATH}. {failure.text} "
            "Most servers' addresses end in /v1."
        )


def _reasoning(spec: str, options: ModelOptions) -> dict[str, object]:
    """Return the parameters that say how much to think.

    Hybrid models of servers other than OpenAI's stop thinking by an argument of their chat template.
    """
    effort = options.reasoning_effort
    if effort is None:
        return {}
    if effort != "none" or spec.startswith("openai/"):
        return {"reasoning_effort": effort}
    return {"reasoning_effort": effort, "chat_template_kwargs": {"enable_thinking": False, "thinking": False}}
