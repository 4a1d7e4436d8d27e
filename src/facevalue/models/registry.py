"""Registry of models: from what the user types to an adapter, imported when first used.

Other packages add kinds of models by entry points: in the group `facevalue.models`, the kind ("acme" for "acme/NAME")
and a callable that takes what the user typed and `ModelOptions`, and returns a `Model`.
"""

import re
from importlib.metadata import EntryPoint

from facevalue import plugins
from facevalue.errors import DependencyError, FaceValueError, ModelSpecError, UnknownNameError
from facevalue.models.base import Model, ModelOptions, checked_model
from facevalue.models.inspect.providers import PROVIDERS, names_provider
from facevalue.plugins import Plugin
from facevalue.printable import first_line
from facevalue.servers.replies import checked_words

KINDS = {
    "sim": "NAME",
    "openai": "NAME",
    "vllm": "NAME",
    "hf": "PATH_OR_ID",
    "replay": "PATH",
    "reference": "VARIANT",
    "inspect": "default or inspect/PROVIDER/NAME",
}
"""How models of our own are written: a kind, a slash, and this."""
_ABOVE = {"inspect": EntryPoint("inspect", "facevalue.inspection.inspector:Inspector", plugins.MODELS)}
"""Kinds of our own that stand in folders above this one, found as those of other packages are."""


def load(spec: str, options: ModelOptions | None = None) -> Model:
    """Return the adapter for a model.

    `spec`: "reference" for the model that comes with FaceValue, "reference/NAME" for a variant that comes with it,
    "reference/PATH" for one in a folder; "sim/NAME"; "http://HOST/v1#MODEL" or "https://..." for any OpenAI-compatible
    server; "openai/MODEL"; "hf/PATH_OR_ID" for a model on this machine; "vllm/NAME" for one that vLLM runs in this
    process; "replay/PATH" for recorded answers; "inspect/PROVIDER/NAME" for a model of one of Inspect's providers, and
    "inspect/default" for what measures pictures; "KIND/NAME" for a model of another package. `options`: how to reach or
    load it.
    """
    options = options or ModelOptions()
    checked_words(options.refusal_words)
    kind, _, name = spec.partition("/")
    is_provided = kind == "inspect" and names_provider(name)
    if kind in KINDS and kind != "openai" and not is_provided:
        _check_served(spec, options)
    _check_vllm(spec, options)
    if options.batch is not None and not is_provided:
        raise ModelSpecError(f"--batch is for Inspect's providers (inspect/PROVIDER/NAME); {spec} is of none.")
    if options.model_args and not is_provided:
        raise ModelSpecError(f"--model-arg is for Inspect's providers (inspect/PROVIDER/NAME); {spec} is of none.")
    if is_provided:
        _check_remote(spec, options)
        return _of_inspect(spec, options)
    if kind == "hf" and name and "," in (options.device or ""):
        from facevalue.models.hf.devices import HFDevices  # noqa: PLC0415

        return HFDevices(spec, options)
    if kind == "hf" and name:
        from facevalue.models.hf.adapter import HFModel  # noqa: PLC0415

        return HFModel(spec, options)
    if not name and kind in KINDS and spec != "reference":
        raise ModelSpecError(f"{spec!r} names no model: write {kind}/{KINDS[kind]}.")
    if kind == "inspect" and name in PROVIDERS:
        raise ModelSpecError(f"{spec!r} names no model: write {spec}/NAME.")
    if kind in _ABOVE:
        return _of_plugin(Plugin(_ABOVE[kind]), spec, options)
    ours = kind in KINDS or spec.startswith(("http://", "https://"))
    others = {} if ours else plugins.plugins(plugins.MODELS, KINDS)
    if kind in others:
        return _of_plugin(others[kind], spec, options)
    _check_remote(spec, options)
    if spec.startswith(("http://", "https://", "openai/")):
        from facevalue.models.openai import OpenAIModel  # noqa: PLC0415 - imported when asked for

        return OpenAIModel(spec, options)
    if kind == "reference":
        from facevalue.models.reference.adapter import ReferenceModel, folder_of  # noqa: PLC0415

        return ReferenceModel(spec, folder_of(name))
    if kind == "sim":
        from facevalue.models.sim import SimModel  # noqa: PLC0415

        return SimModel(name)
    if kind == "vllm":
        from facevalue.models.vllm import VLLMModel  # noqa: PLC0415

        return VLLMModel(name, options)
    if kind == "replay":
        from facevalue.models.replay import ReplayModel  # noqa: PLC0415

        return ReplayModel(name)
    local = [
        "reference",
        "reference/VARIANT",
        "sim/default",
        "replay/PATH",
        "hf/PATH_OR_ID",
        "vllm/NAME",
        "inspect/PROVIDER/NAME",
        "inspect/default",
    ]
    servers = ["http://HOST/v1#MODEL", "https://HOST/v1#MODEL", "openai/MODEL"]
    names = [*local, *servers, *(f"{scheme}/NAME" for scheme in others)]
    raise UnknownNameError("model", spec, names, why=_suggest_form(spec))


def _suggest_form(spec: str) -> str:
    """Sentence on how a model that was named without its form is probably meant.

    Examples
    --------
    >>> _suggest_form("localhost:8711#acme-vlm"), _suggest_form("gpt-4o")
    ('Did you mean http://localhost:8711/v1#acme-vlm?', 'Did you mean openai/gpt-4o?')
    """
    place, mark, name = spec.partition("#")
    if mark and (address := re.fullmatch(r"([\w.-]+(?::\d+)?)(/\S*)?", place)) is not None:
        return f"Did you mean http://{address[1]}{address[2] or '/v1'}#{name}?"
    if re.match(r"gpt|chatgpt|o\d", spec):
        return f"Did you mean openai/{spec}?"
    if "/" not in spec:
        return f"A model that a server offers is http://HOST:PORT/v1#{spec}, a checkpoint on this machine hf/PATH."
    return ""


def _of_plugin(plugin: Plugin, spec: str, options: ModelOptions) -> Model:
    factory = plugin.load()
    if not callable(factory):
        raise plugin.wrong(f"makes no models: it is of type {type(factory).__name__}")
    try:
        return checked_model(factory(spec, options))
    except FaceValueError:
        raise
    except (Exception, SystemExit) as error:  # whatever a stranger's package raises
        raise plugin.wrong(f"makes no model of {spec!r}: {first_line(error)}") from error


def _of_inspect(spec: str, options: ModelOptions) -> Model:
    try:
        from facevalue.models.inspect.adapter import InspectModel  # noqa: PLC0415 - needs an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "inspect_ai":
            raise
        raise DependencyError("inspect-ai", "inspect") from None
    return InspectModel(spec, options)


def _check_vllm(spec: str, options: ModelOptions) -> None:
    """Refuse what only vLLM can be told."""
    if options.tensor_parallel is not None and not spec.startswith("vllm/"):
        raise ModelSpecError(f"--tensor-parallel is for models that vLLM runs (vllm/NAME); {spec} is none.")


def _check_served(spec: str, options: ModelOptions) -> None:
    """Refuse what only a model behind a server can be told."""
    options_given = [
        name
        for name in ("max_tokens", "reasoning_effort", "reasoning_tokens", "refusal_words")
        if getattr(options, name) not in (None, ())
    ]
    if options_given:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in options_given)
        raise ModelSpecError(
            f"{names} {'is' if len(options_given) == 1 else 'are'} for models behind a server; {spec} is none."
        )


def _check_remote(spec: str, options: ModelOptions) -> None:
    """Refuse what only a model on this machine can be told."""
    names_given = [name for name in ("dtype", "device", "threads") if getattr(options, name) is not None]
    names_given += ["compile"] * options.compile
    if names_given:
        names = " and ".join(f"--{name}" for name in names_given)
        verb = "is" if len(names_given) == 1 else "are"
        raise ModelSpecError(
            f"{names} {verb} for models on this machine that PyTorch runs (hf/PATH_OR_ID); {spec} is none."
        )
