"""Providers of Inspect: their names, which are not asked from here, and whether a reply is of the model asked for."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from facevalue.errors import ModelSpecError

PROVIDERS = (
    *("anthropic", "azureai", "bedrock", "cloudflare", "deepseek", "fireworks", "google", "grok", "groq"),
    *("hf-inference-providers", "litellm-proxy", "llama-cpp-python", "meta", "mistral", "mockllm", "moonshot"),
    *("ollama", "openai", "openai-api", "openrouter", "perplexity", "sagemaker", "sambanova", "sglang", "together"),
    "vllm",
)
"""Those that come with Inspect and can be asked; packages bring others."""
BATCHING = ("anthropic", "google", "grok", "openai", "together")
"""Those of them that take batches, at half the price or so."""
ELSEWHERE = {
    "hf": "loads a model into this process and shows it no picture: write hf/PATH_OR_ID",
    "nnterp": "loads a model into this process and shows it no picture: write hf/PATH_OR_ID",
    "transformer_lens": "loads a model into this process and shows it no picture: write hf/PATH_OR_ID",
    "none": "answers nothing",
}
"""Those that are not asked through Inspect, and why."""
_STARTING = {"vllm": "VLLM_BASE_URL", "vllm-completions": "VLLM_BASE_URL", "sglang": "SGLANG_BASE_URL"}
"""Those that start a server unless a variable says where there is one."""
_DEPLOYING = ("azureai", "litellm-proxy", "sagemaker")
"""Those whose names are the user's own, as are those of models called `azure/...`."""
_ROUTING = ("hf-inference-providers", "openrouter")
_VERSION = re.compile(
    r"[-@:](?:(?:preview|exp)-)?(?:\d{4}-\d\d-\d\d|\d{8}|\d{6}|\d{4}|\d{3}|\d\d-\d\d(?:-\d{4})?)(?:-v\d+)?(?::\d+)?"
    r"|-v\d+(?::\d+)?"
)
"""What names of dated versions add: -2024-08-06, -20240229-v1:0, @20240620, -002, -preview-05-20, -v1:0."""
_VENDOR = re.compile(r"^(?:[a-z]{2,6}\.)?[a-z]+\.(?=[a-z])")
"""What Bedrock puts before a name: "anthropic.", "us.anthropic."."""


def names_provider(name: str) -> bool:
    """Return whether the text after "inspect/" names a model of a provider, rather than an inspector of pictures.

    Examples
    --------
    >>> [names_provider(name) for name in ("anthropic/claude", "default", "identity=dlib,objects=models/detr")]
    [True, False, False]
    """
    provider, slash, _ = name.partition("/")
    return bool(slash) and "=" not in provider


def check_provider(spec: str, provider: str, model: str) -> None:
    """Refuse a provider that cannot be asked from here, or no model of it.

    Raises
    ------
    ModelSpecError
        Why, and what to write instead.
    """
    if provider in ELSEWHERE:
        raise ModelSpecError(f"{spec!r}: Inspect's {provider} {ELSEWHERE[provider]}.")
    if not model:
        raise ModelSpecError(f"{spec!r} names no model: write inspect/{provider}/NAME.")
    if not model.isprintable():
        raise ModelSpecError("The model's name holds control characters: write inspect/PROVIDER/NAME.")
    variable = _STARTING.get(provider)
    if variable and not os.environ.get(variable):
        raise ModelSpecError(
            f"{spec!r} would start a server: start one yourself and set {variable} to its address, such as "
            "http://localhost:8000/v1."
        )


def endpoint_variable(provider: str) -> str | None:
    """The variable with the address of a server, where the provider connects to it when first asked."""
    return _STARTING.get(provider)


def without_route(provider: str, name: str) -> str:
    """The name of a model without who is to run it, where a provider takes that: "NAME:free", "NAME:fireworks-ai"."""
    return name.partition(":")[0] if provider in _ROUTING else name


class AskedModel:
    """A model that is asked for, and which other one answers in its place.

    `name`: of the model. `names`: what else it may call itself. `deployed`: whether the name says nothing of the model
    behind it: there the one that answers first is the one.
    """

    def __init__(self, name: str, names: Iterable[str] = (), *, deployed: bool = False) -> None:
        self._name, self._deployed = name, deployed
        self._names = [] if deployed else [name, *names]

    @classmethod
    def of_provider(cls, provider: str, name: str, names: Iterable[str] = ()) -> "AskedModel":
        """A model of one of Inspect's providers."""
        names = (without_route(provider, name), provider, *names)
        return cls(name, names, deployed=provider in _DEPLOYING or name.startswith("azure/"))

    def describe_other(self, served: str) -> str:
        """Sentence on a reply that names another model; empty where it is the same, or the reply names none."""
        if served and not self._names:
            self._names = [served]
        if not served or is_asked_for(served, self._names):
            return ""
        return f"Answered by {served}, not by {self._names[0] if self._deployed else self._name}, which was asked."

    def another(self, output: Mapping[str, Any]) -> str:
        """The same, by a `ModelOutput` as JSON has it."""
        fallback, served = output.get("fallback"), output.get("model")
        if fallback is None:
            return self.describe_other(served if isinstance(served, str) else "")
        stated = fallback if isinstance(fallback, Mapping) else {}
        other, name = stated.get("fallback_model") or "another model", stated.get("model") or self._name
        return f"Answered by {other} in place of {name}."


def is_asked_for(served: str, names: Iterable[str]) -> bool:
    """Return whether the model that answered has one of the requested names, but for the date of a version.

    Examples
    --------
    >>> is_asked_for("gpt-4o-2024-08-06", ["gpt-4o"]), is_asked_for("gpt-4o-mini", ["gpt-4o"])
    (True, False)
    >>> is_asked_for("gpt-4o-2024-08-06", ["gpt-4o-2024-05-13"])
    False
    >>> is_asked_for("claude-3-7-sonnet-20250219", ["claude-3-7-sonnet-latest"])
    True
    """
    return any(_is_version(_bare(served), _bare(name)) for name in names)


def _is_version(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    return long.startswith(short) and (long == short or _VERSION.fullmatch(long[len(short) :]) is not None)


def _bare(name: str) -> str:
    return _VENDOR.sub("", re.sub(r"[-:]latest$", "", name.rpartition("/")[2].strip().casefold()))
