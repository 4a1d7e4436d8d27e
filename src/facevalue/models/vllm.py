"""Models in this process by vLLM, which keeps what requests share in its own prefix cache."""

import os
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from facevalue.errors import DependencyError, FaceValueError, ModelError
from facevalue.models._chat import (
    SEED_BITS,
    Part,
    ServerReply,
    constrained_texts,
    conversation,
    exact,
    image_parts,
    replace_response,
    response_of,
    white_squares,
)
from facevalue.models._pictures import EncodedStimuli
from facevalue.models._spelling import Position
from facevalue.models._toplogprobs import log_probability
from facevalue.models.base import Capabilities, ModelOptions
from facevalue.models.cached_tokens import CachedTokens
from facevalue.servers.replies import Outage
from facevalue.thinking import unsaid_tokens
from facevalue.types import Question, Request, Response, Sampling, Status, Stimulus

_BATCH = 256
"""Requests handed over together. vLLM itself decides how many of them it works on at once."""
_LISTED = 100
"""Alternatives asked for at each token; servers list 20 at most."""
_IMAGES = 2
_OF_ONE_REQUEST = (ValueError, TypeError, OSError)
"""What vLLM raises for a request that it can't take: too long, too many images, an image or template that fails."""
_FINISHED = {"stop": Status.OK, "length": Status.TRUNCATED}
_SHOWN = 300


class VLLMModel:
    """A model that vLLM runs in this process, on the GPUs that it finds.

    Questions about one image are handed over together, and the image comes first in each, so that vLLM computes what
    they share once (automatic prefix caching). Weights are read from safetensors files only, and no code that comes
    with them is run. The engine starts when it is first needed.

    `name`: a folder of weights, or a name on the Hugging Face hub. `options`: how to reach it; of it, only
    `tensor_parallel` concerns a model in this process, in which vLLM decides how much is done at once.

    Raises
    ------
    DependencyError
        vLLM is not installed.
    ModelError
        vLLM is installed but doesn't work on this machine.
    """

    def __init__(self, name: str, options: ModelOptions) -> None:
        self._name = name
        self._parallel = options.tensor_parallel or 1
        self._vllm = _vllm()
        self._engine: Any = None
        self._marked = False
        self._capabilities: Capabilities | None = None
        self._encoded: EncodedStimuli[list[Part]] = EncodedStimuli(image_parts)
        self._outage = Outage()
        self._cached = CachedTokens()

    def __repr__(self) -> str:
        return f"VLLMModel({self._name!r})"

    @property
    def name(self) -> str:
        """Name by which the user chose this model."""
        return f"vllm/{self._name}"

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Return the model's name and vLLM's version; the same on every resume."""
        return {"api": "vllm", "model": self._name, "vllm": self._vllm.version}

    def findings(self) -> dict[str, int]:
        """Say how many tokens of the prompts vLLM had in its cache."""
        return self._cached.findings()

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the model, found by up to three tiny requests on first access.

        More than two images a request are not tried.
        """
        if self._capabilities is None:
            for images in range(_IMAGES, -1, -1):
                outcome = self._ask([_tiny(images)], listed=True)[0]
                if isinstance(outcome, ServerReply):
                    break
            else:
                raise ModelError(f"{self.name} does not answer a simple question: {outcome}")
            self._capabilities = Capabilities(
                probabilities="top-k" if outcome.positions else "none",
                images_per_request=images,
                seeds=True,
                structured=True,
            )
        return self._capabilities

    def respond(self, requests: Iterable[Request]) -> Generator[Response, None, None]:
        """Answer each request once, a batch after another. The latency of each is that of its batch."""
        source = iter(requests)
        while batch := list(islice(source, _BATCH)):
            for response in self._answer(batch):
                self._outage.weigh(response.status, response.error)
                yield response

    def close(self) -> None:
        """Release the engine and its memory."""
        self._engine = None
        self._encoded.clear()

    def _answer(self, batch: Sequence[Request]) -> Iterator[Response]:
        """Ask a batch once, and those again of which more than a little probability was not seen."""
        prepared: list[_PreparedRequest] = []
        for request in batch:
            try:
                prepared.append(_PreparedRequest(request, self._encoded.content(request.stimulus)))
            except (OSError, FaceValueError) as error:
                problem = f"Stimulus {request.stimulus.key!r} could not be loaded: {error}"
                yield Response(request.trial, request.repeat, Status.ERROR, error=problem)
        doubtful: list[tuple[_PreparedRequest, Response, str]] = []
        for item, response, reply in self._responses(prepared, listed=True):
            exact_response = (
                exact(item.request, reply, response) if item.request.exact and reply is not None else response
            )
            if isinstance(exact_response, Response):
                yield exact_response
            else:
                doubtful.append((item, response, exact_response))
        again = self._responses([item for item, _, _ in doubtful], listed=False)
        for (_, response, reason), (_, drawn_response, reply) in zip(doubtful, again, strict=True):
            yield drawn_response if reply is None else replace_response(reason, response, drawn_response)

    def _responses(
        self, prepared: Sequence["_PreparedRequest"], *, listed: bool
    ) -> Iterator[tuple["_PreparedRequest", Response, ServerReply | None]]:
        """Ask, and return each request with its response and, unless it failed, the reply that this was read from."""
        started = time.perf_counter()
        outcomes = self._ask(prepared, listed=listed)
        latency = (time.perf_counter() - started) * 1000
        for item, outcome in zip(prepared, outcomes, strict=True):
            if isinstance(outcome, ServerReply):
                self._cached.count(outcome.prompt_tokens, outcome.cached_tokens)
                yield item, response_of(item.request, outcome, latency), outcome
            else:
                yield item, Response(item.request.trial, item.request.repeat, Status.ERROR, error=outcome), None

    def _ask(self, prepared: Sequence["_PreparedRequest"], *, listed: bool) -> list[ServerReply | str]:
        """Return the reply to each request, or why there is none. A batch is halved until a bad one is alone."""
        if not prepared:
            return []
        messages = [conversation(item.parts, item.request.question) for item in prepared]
        engine = self._ensure_engine()
        params = [self._params(item.request, listed=listed) for item in prepared]
        try:
            outputs = engine.chat(messages, params, use_tqdm=False)
        except _OF_ONE_REQUEST as error:
            if len(prepared) == 1:
                return [f"vLLM did not take the request: {_shorten_error(error)}"]
            half = len(prepared) // 2
            return self._ask(prepared[:half], listed=listed) + self._ask(prepared[half:], listed=listed)
        except Exception as error:
            raise ModelError(f"vLLM stopped working: {_shorten_error(error)} What was answered is kept.") from error
        if len(outputs) != len(prepared):
            raise ModelError(f"vLLM gave {len(outputs)} replies to {len(prepared)} requests.")
        return [_read(output) for output in outputs]

    def _params(self, request: Request, *, listed: bool) -> Any:
        """Return how a reply is drawn: greedily with its alternatives for probabilities, as in a server's case."""
        question, sampling = request.question, request.sampling
        reading = request.exact and listed
        held = request.constrain and not request.exact and question.options
        return self._vllm.params(
            temperature=0.0 if reading else sampling.temperature,
            top_p=1.0 if reading else sampling.top_p,
            max_tokens=sampling.max_tokens,
            seed=request.seed & SEED_BITS,
            skip_special_tokens=not self._marked,
            logprobs=_LISTED if reading else None,
            structured_outputs=self._vllm.structured(choice=constrained_texts(question.options)) if held else None,
        )

    def _ensure_engine(self) -> Any:
        """Start the engine, which takes minutes, or return the one that runs."""
        if self._engine is None:
            try:
                self._engine = self._vllm.engine(
                    model=self._name,
                    load_format="safetensors",
                    trust_remote_code=False,
                    generation_config="vllm",  # otherwise the model's own top-k and penalties are applied
                    logprobs_mode="raw_logprobs",
                    max_logprobs=_LISTED,
                    enable_prefix_caching=True,
                    limit_mm_per_prompt={"image": _IMAGES},
                    tensor_parallel_size=self._parallel,
                    seed=0,
                )
            except Exception as error:
                raise ModelError(f"vLLM cannot run {self._name}: {_shorten_error(error)}") from error
            _, self._marked = unsaid_tokens(self._engine.get_tokenizer())
        return self._engine


@dataclass(frozen=True, slots=True)
class _PreparedRequest:
    """A request with its images encoded."""

    request: Request
    parts: list[Part]


@dataclass(frozen=True, slots=True)
class _VLLM:
    """Part of vLLM that is used: its engine, how a reply is drawn and constrained, and the version."""

    engine: Any
    params: Any
    structured: Any
    version: str


def _vllm() -> _VLLM:
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")  # it reports its use to its makers otherwise
    try:
        import vllm  # noqa: PLC0415 - takes seconds and a GPU
        from vllm.sampling_params import StructuredOutputsParams  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name == "vllm":
            raise DependencyError("vLLM", "vllm") from None
        raise ModelError(f"vLLM is installed, but {_shorten_error(error)}") from error
    except (ImportError, OSError, RuntimeError) as error:
        raise ModelError(f"vLLM is installed, but does not work here: {_shorten_error(error)}") from error
    return _VLLM(vllm.LLM, vllm.SamplingParams, StructuredOutputsParams, vllm.__version__)


def _read(output: Any) -> ServerReply | str:
    """Read a `vllm.RequestOutput`."""
    reply_text = output.outputs[0]
    status = _FINISHED.get(reply_text.finish_reason)
    if status is None:
        return f"vLLM gave the request up ({reply_text.finish_reason})."
    positions = None
    if reply_text.logprobs and len(reply_text.logprobs) == len(reply_text.token_ids):
        try:
            positions = [_position(*pair) for pair in zip(reply_text.token_ids, reply_text.logprobs, strict=True)]
        except (KeyError, ValueError) as error:
            return f"vLLM's log-probabilities cannot be read: {_shorten_error(error)}"
    return ServerReply(
        status,
        reply_text.text,
        positions,
        len(output.prompt_token_ids),
        len(reply_text.token_ids),
        None,
        cached_tokens=output.num_cached_tokens,
    )


def _position(token: int, listed: Mapping[int, Any]) -> Position:
    """Read one token of a reply: vLLM lists the likeliest, and the one taken, by their numbers."""
    top = {number: (entry.decoded_token or "", log_probability(entry.logprob)) for number, entry in listed.items()}
    return Position(*top[token], tuple(top.values()))


def _tiny(images: int) -> _PreparedRequest:
    """Return a small question about white squares."""
    question, stimulus = Question("Answer with (a) or (b)."), Stimulus("probe", "", {}, tuple)
    sampling = Sampling(temperature=0.0, max_tokens=4)
    return _PreparedRequest(
        Request(0, 0, 0, stimulus, question, sampling, exact=True), image_parts(white_squares(images))
    )


def _shorten_error(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
