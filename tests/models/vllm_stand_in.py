"""What FaceValue uses of vLLM, as vLLM 0.33 has it: names, fields and results, without a model.

`test_vllm.py` compares all of it with the real package where that is installed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

VERSION = "0.33.0"


@dataclass
class StructuredOutputsParams:
    """`vllm.sampling_params.StructuredOutputsParams`, as far as it is used."""

    choice: list[str] | None = None


@dataclass
class SamplingParams:
    """`vllm.SamplingParams`, as far as it is used."""

    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    max_tokens: int | None = 16
    logprobs: int | None = None
    skip_special_tokens: bool = True
    structured_outputs: StructuredOutputsParams | None = None


@dataclass
class Logprob:
    """`vllm.logprobs.Logprob`."""

    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    """`vllm.CompletionOutput`, as far as it is used."""

    index: int
    text: str
    token_ids: Sequence[int]
    cumulative_logprob: float | None
    logprobs: list[dict[int, Logprob]] | None
    finish_reason: str | None = None


@dataclass
class RequestOutput:
    """`vllm.RequestOutput`, as far as it is used."""

    request_id: str
    prompt: str | None
    prompt_token_ids: list[int] | None
    prompt_logprobs: None
    outputs: list[CompletionOutput]
    finished: bool
    num_cached_tokens: int | None = None


def said(text: str, finish: str = "stop", logprobs: list[dict[int, Logprob]] | None = None) -> RequestOutput:
    """Return a reply; its tokens are those listed first."""
    tokens = [next(iter(listed)) for listed in logprobs] if logprobs is not None else list(range(len(text) + 1))
    return RequestOutput(
        "0", "...", list(range(7)), None, [CompletionOutput(0, text, tokens, None, logprobs, finish)], True
    )


def listed(**shares: float) -> dict[int, Logprob]:
    """Return the alternatives of one token, the one taken first; `_` stands for "(" and `end` for the end."""
    texts = {"_": "(", "end": "</s>", "close": ")", "broken": ""}
    return {
        number: Logprob(math.log(share), number + 1, texts.get(name, name))
        for number, (name, share) in enumerate(shares.items())
    }


Behaviour = Callable[[list[dict[str, Any]], SamplingParams], RequestOutput]


@dataclass
class Engine:
    """`vllm.LLM`, as far as it is used: records what it is asked, and answers as the test says."""

    behave: Behaviour
    special: tuple[str, ...] = ("</s>",)
    started: list[dict[str, Any]] = field(default_factory=list)
    batches: list[list[tuple[list[dict[str, Any]], SamplingParams]]] = field(default_factory=list)

    def __call__(
        self,
        model: str,
        *,
        trust_remote_code: bool,
        seed: int,
        load_format: str,
        generation_config: str,
        logprobs_mode: str,
        max_logprobs: int,
        enable_prefix_caching: bool,
        tensor_parallel_size: int,
        limit_mm_per_prompt: dict[str, int],
    ) -> "Engine":
        """Start, as `vllm.LLM(...)` does."""
        self.started.append({k: v for k, v in locals().items() if k != "self"})
        return self

    def get_tokenizer(self) -> Any:
        """Return the tokenizer, as far as it is used."""
        return SimpleNamespace(all_special_tokens=self.special, all_special_ids=range(len(self.special)))

    def chat(
        self, messages: list[list[dict[str, Any]]], sampling_params: list[SamplingParams], use_tqdm: bool = True
    ) -> list[RequestOutput]:
        """Answer all conversations, in order; one that can't be taken fails them all, as vLLM does."""
        assert len(messages) == len(sampling_params)
        assert not use_tqdm
        for conversation in messages:
            shown = sum(p["type"] == "image_url" for m in conversation for p in m["content"] if isinstance(p, dict))
            if shown > self.started[-1]["limit_mm_per_prompt"]["image"]:
                raise ValueError("At most 2 image(s) may be provided in one prompt.")
        for params in sampling_params:
            if (params.logprobs or 0) > self.started[-1]["max_logprobs"]:
                raise ValueError("Requested sample logprobs greater than max allowed")
        self.batches.append(list(zip(messages, sampling_params, strict=True)))
        return [self.behave(m, p) for m, p in self.batches[-1]]

    @property
    def asked(self) -> list[tuple[list[dict[str, Any]], SamplingParams]]:
        """All that was asked, in order."""
        return [one for batch in self.batches for one in batch]


def modules(engine: Engine) -> dict[str, ModuleType]:
    """Return modules to stand for `vllm`."""
    vllm, sampling = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    vllm.LLM, vllm.SamplingParams, vllm.__version__ = engine, SamplingParams, VERSION  # type: ignore[attr-defined]
    sampling.StructuredOutputsParams = StructuredOutputsParams  # type: ignore[attr-defined]
    return {"vllm": vllm, "vllm.sampling_params": sampling}
