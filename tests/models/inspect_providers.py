"""Providers of Inspect that say what a test wants: by themselves, and in batches."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from inspect_ai.model import (
    BatchConfig,
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    Content,
    GenerateConfig,
    Logprobs,
    ModelAPI,
    ModelCall,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.model._model import RetryDecision
from inspect_ai.model._providers.util.batch import Batch, BatchCheckResult, Batcher, BatchRequest
from inspect_ai.model._retry import batch_admin_retry_config
from inspect_ai.tool import ToolChoice, ToolInfo

COUNTS = ModelUsage(input_tokens=7, output_tokens=2, total_tokens=9)
Behaviour = Callable[[list[ChatMessage], GenerateConfig], ModelOutput | Exception]


def say(
    text: str | list[Content] = "(a)",
    stop_reason: Any = "stop",
    *,
    model: str = "m",
    usage: ModelUsage | None = COUNTS,
    logprobs: Logprobs | None = None,
    **more: Any,
) -> ModelOutput:
    """A reply."""
    message = ChatMessageAssistant(content=text)
    choice = ChatCompletionChoice(message=message, stop_reason=stop_reason, logprobs=logprobs)
    choice.stop_details = more.pop("stop_details", None)
    return ModelOutput(model=model, choices=[choice], usage=usage, **more)


def fine(_: list[ChatMessage], __: GenerateConfig) -> ModelOutput:
    """Answer "(a)"."""
    return say()


class ServerError(Exception):
    """What a provider's package raises for an HTTP status."""

    def __init__(self, status_code: int, message: str, code: str | None = None, retry_after: float | None = None):
        super().__init__(f"Error code: {status_code} - {{...}}")
        self.status_code = status_code
        self.body = {"error": {"message": message}}
        self.code = code
        self.retry_after = retry_after


class Scripted(ModelAPI):
    """A provider that behaves as a test says."""

    behave: ClassVar[Behaviour] = staticmethod(fine)
    script: ClassVar[list[Behaviour]] = []
    asked: ClassVar[list[tuple[list[ChatMessage], GenerateConfig]]] = []
    dropped: ClassVar[tuple[str, ...]] = ()
    made: ClassVar[int] = 0
    seconds: ClassVar[float] = 0.0
    arguments: ClassVar[dict[str, Any]] = {}

    def __init__(self, model_name: str, base_url: str | None = None, api_key: str | None = None, **more: Any) -> None:
        super().__init__(model_name, base_url, api_key or "sk-Scripted/Secret+Key", ["SCRIPTED_API_KEY"])
        type(self).made += 1
        type(self).arguments = {name: value for name, value in more.items() if name != "config"}

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> tuple[ModelOutput | Exception, ModelCall]:
        self.asked.append((input, config))
        await asyncio.sleep(self.seconds)
        behave = self.script.pop(0) if self.script else type(self).behave
        output = behave(input, config)
        if isinstance(output, ConnectionError):
            raise output
        sent = {name: getattr(config, name) for name in ("max_tokens", "temperature", "top_p", "seed")}
        request = {name: value for name, value in sent.items() if name not in self.dropped and value is not None}
        return output, ModelCall.create({"model": self.model_name, **request}, {"system_fingerprint": "fp-1"})

    def should_retry(self, ex: BaseException) -> RetryDecision:
        if isinstance(ex, ServerError) and ex.status_code in (429, 503):
            return RetryDecision.rate_limit(ex.retry_after)
        return RetryDecision(retry=isinstance(ex, ConnectionError))

    def is_auth_failure(self, ex: Exception) -> bool:
        return isinstance(ex, ServerError) and ex.status_code == 401


class _Answers(Batcher[ModelOutput, bool]):
    """Batches that are answered at once; each that was created, by how many requests it holds."""

    created: ClassVar[list[int]] = []
    failure: ClassVar[Exception | None] = None
    seconds: ClassVar[float] = 0.0

    async def _create_batch(self, batch: list[BatchRequest[ModelOutput]]) -> str:
        if self.failure is not None:
            raise self.failure
        self.created.append(len(batch))
        return f"batch-{len(self.created)}"

    async def _check_batch(self, batch: Batch[ModelOutput]) -> BatchCheckResult[bool]:
        return BatchCheckResult(len(batch.requests), 0, batch.created_at, True)

    async def _handle_batch_result(
        self, batch: Batch[ModelOutput], completion_info: bool
    ) -> dict[str, ModelOutput | Exception]:
        await asyncio.sleep(self.seconds)
        return {name: say(request.request["text"]) for name, request in batch.requests.items()}


class Batched(Scripted):
    """A provider that takes batches: each reply is the prompt."""

    Answers = _Answers

    def __init__(self, model_name: str, **more: Any) -> None:
        super().__init__(model_name, **more)
        self._batcher: _Answers | None = None

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> Any:
        if not isinstance(config.batch, BatchConfig):
            return await super().generate(input, tools, tool_choice, config)
        if self._batcher is None:
            retries = batch_admin_retry_config(self.model_name, config, self.should_retry)
            quick = config.batch.model_copy(update={"tick": 0.01, "send_delay": 1.0})
            self._batcher = _Answers(quick, retries, 50_000, 100)
        return await self._batcher.generate_for_request({"text": input[-1].text})


@modelapi(name="scripted")
def scripted() -> type[ModelAPI]:
    return Scripted


@modelapi(name="batched")
def batched() -> type[ModelAPI]:
    return Batched


def listed(*positions: Mapping[str, float]) -> Logprobs:
    """Log-probabilities of tokens by their alternatives, the first of which the reply took."""
    tops = [[{"token": token, "logprob": log} for token, log in position.items()] for position in positions]
    return Logprobs.model_validate({"content": [{**top[0], "top_logprobs": top} for top in tops]})
