"""Calls of pipelines: which arguments each takes, and where families differ. What differs is data, no branches."""

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType
from typing import Any

from facevalue.errors import ModelSpecError, UnknownNameError
from facevalue.printable import quote

Setting = str | int | float | bool

PROMPT, SOURCE, STEPS, LENGTH = "prompt", "image", "num_inference_steps", "max_sequence_length"
"""Arguments that all pipelines name alike: the text, the picture to be changed, the steps, the longest text."""


@dataclass(frozen=True, slots=True)
class CallTraits:
    """Traits of a pipeline's call that its signature does not show.

    Attributes
    ----------
    aligned:
        Whether several source pictures in one call are changed one each. Others take them for several views of one
        request, so that they get one at a time.
    sized:
        Whether it makes a picture of a size of its own, whatever its source's, unless it is told one: then it is told
        its source's.
    listed:
        Whether it takes its source as a list.
    slices:
        Whether it cuts what it has encoded at `max_sequence_length`, besides what its tokenizer cuts.
    """

    aligned: bool = False
    sized: bool = False
    listed: bool = False
    slices: bool = False


_USUAL = CallTraits()
TRAITS: Mapping[str, CallTraits] = {
    "ChromaImg2ImgPipeline": CallTraits(sized=True),
    "FluxImg2ImgPipeline": CallTraits(aligned=True, sized=True),
    "FluxKontextPipeline": CallTraits(aligned=True, sized=True),
    "JoyImageEditPipeline": CallTraits(slices=True),
    "KandinskyImg2ImgCombinedPipeline": CallTraits(sized=True),
    "KandinskyV22Img2ImgCombinedPipeline": CallTraits(sized=True),
    "QwenImageEditPlusPipeline": CallTraits(listed=True),
    "QwenImageImg2ImgPipeline": CallTraits(sized=True, slices=True),
    "QwenImagePipeline": CallTraits(slices=True),
    "StableDiffusion3Img2ImgPipeline": CallTraits(aligned=True, sized=True),
    "StableDiffusionImg2ImgPipeline": CallTraits(aligned=True),
    "StableDiffusionInstructPix2PixPipeline": CallTraits(aligned=True),
    "StableDiffusionXLImg2ImgPipeline": CallTraits(aligned=True),
    "StableDiffusionXLInstructPix2PixPipeline": CallTraits(sized=True),
}
"""Traits by class, as diffusers 0.42 has them; a class that is not here has the usual ones."""

REWRITERS: Mapping[str, Setting | None] = {
    "caption_upsample_temperature": None,  # FLUX.2: a model writes the prompt anew
    "clean_caption": False,  # PixArt, DeepFloyd: links, marks and numbers are taken out
    "complex_human_instruction": None,  # Sana: an instruction to enhance the prompt stands before it
    "enable_prompt_rewrite": False,  # LongCat
    "prompt_upsampling": False,  # Ideogram
}
"""Arguments by which pipelines rewrite prompts, with the value that turns it off: so it is unless the user asks."""

_FOREIGN: Mapping[str, str] = {
    "mask_image": "a mask",
    "mask": "a mask",
    "control_image": "a picture that controls it",
    "num_frames": "a length in frames",
    "audio_length_in_s": "a length in seconds",
}
"""Arguments of pipelines that do something else, with what they need."""

_RESERVED = re.compile(
    r"prompt(_\d)?|negative_prompt_\d|image|generator|seed|output_type|return_dict|num_images_per_prompt|height|width"
    r"|.*latents.*|.*embeds.*|.*mask.*|callback.*|.*ip_adapter.*|.*_kwargs|timesteps|sigmas|.*_size|crops_.*|.*_layers"
)
"""Arguments that are no setting: they are the request's, FaceValue's, or tensors and functions."""
_COMPOUND = re.compile(r"\b(?:[Ll]ist|[Tt]uple|[Dd]ict)\[[^\[\]]*\]")
_KINDS: Mapping[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
_CALLED = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def traits(kind: type) -> CallTraits:
    """Return what is particular about a pipeline's call."""
    return TRAITS.get(kind.__name__, _USUAL)


def parameters(kind: type) -> Mapping[str, inspect.Parameter]:
    """Return the arguments of a pipeline's call by name."""
    signature = inspect.signature(kind.__call__)
    fixed = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {name: p for name, p in signature.parameters.items() if name != "self" and p.kind not in fixed}


def missing_input(kind: type) -> str:
    """Return what a pipeline needs besides a text and a source picture, in words; empty if nothing."""
    takes = parameters(kind)
    foreign = [words for name, words in _FOREIGN.items() if name in takes]
    required = [n for n, p in takes.items() if p.default is p.empty and n not in (PROMPT, SOURCE)]
    return (foreign + required or [""])[0]


def setting_kinds(kind: type) -> Mapping[str, frozenset[type]]:
    """Return the settings that a pipeline takes, with the types that each may have."""
    kinds = {}
    for name, parameter in parameters(kind).items():
        if _RESERVED.fullmatch(name):
            continue
        if isinstance(parameter.default, list):  # texts that are there by default, and can be replaced by one
            kinds[name] = frozenset((str, bool))
            continue
        written = _COMPOUND.sub("", str(parameter.annotation))
        types = {_KINDS[word] for word in re.findall(r"\b(str|int|float|bool)\b", written)}
        default = type(parameter.default)
        types |= {default} & set(_KINDS.values())
        if types:
            kinds[name] = frozenset(types)
    return MappingProxyType(kinds)


def check_settings(kinds: Sequence[type], settings: Mapping[str, Setting]) -> None:
    """Raise an error that names the first setting which none of the pipelines takes, or not with such a value."""
    takes: dict[str, frozenset[type]] = {}
    for kind in kinds:
        for name, types in setting_kinds(kind).items():
            takes[name] = takes.get(name, frozenset()) | types
    for name, value in settings.items():
        if name in ("height", "width"):
            raise ModelSpecError(f"{name} is no setting: ask for a size, such as 512x512.")
        if name not in takes:
            raise UnknownNameError(f"setting of {kinds[0].__name__}", name, takes)
        if not _fits(value, takes[name]):
            expected = " or ".join(_CALLED[kind] for kind in _CALLED if kind in takes[name])
            raise ModelSpecError(f"{name} of {kinds[0].__name__} is {expected}, not {quote(value)}.")
        if name == STEPS and value < 1:  # type: ignore[operator]
            raise ModelSpecError(f"{name} is at least 1, not {value}.")


def _fits(value: object, types: Collection[type]) -> bool:
    if isinstance(value, bool) or not isinstance(value, int):
        return type(value) in types and not (isinstance(value, float) and not isfinite(value))
    return int in types or float in types


def rewrites(kind: type, settings: Mapping[str, Setting]) -> bool:
    """Return whether the user has asked a pipeline to rewrite prompts."""
    takes = parameters(kind)
    return any(settings.get(name, False) not in (off, False) for name, off in REWRITERS.items() if name in takes)


def fixed_arguments(kind: type, settings: Mapping[str, Setting]) -> dict[str, Any]:
    """Return the arguments that are the same for all requests: the user's settings, and rewriting of prompts off."""
    takes = parameters(kind)
    arguments: dict[str, Any] = {name: off for name, off in REWRITERS.items() if name in takes}
    for name, value in settings.items():
        if name not in takes:
            continue  # of the other pipeline of the folder
        if isinstance(takes[name].default, list):
            arguments[name] = takes[name].default if value is True else [value] if value else REWRITERS.get(name)
        else:
            arguments[name] = value
    return arguments


def stated_facts(kind: type, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the value of every setting that a pipeline is called with, its own defaults included."""
    arguments, takes = fixed_arguments(kind, settings), parameters(kind)
    values = {name: arguments.get(name, takes[name].default) for name in setting_kinds(kind)}
    return {
        name: bool(value) if isinstance(value, list) else value
        for name, value in values.items()
        if isinstance(value, str | int | float | bool | list)
    }


def request_arguments(
    kind: type, fixed: Mapping[str, Any], prompts: Sequence[str], sources: Sequence[Any], size: tuple[int, int] | None
) -> dict[str, Any]:
    """Return the arguments of one call for one or several requests.

    `fixed`: what is the same for all (`fixed_arguments`). `sources`: a picture for each, or none. `size`: width and
    height to be asked for.
    """
    batch = len(prompts) > 1
    arguments = {
        name: [value] * len(prompts) if batch and name == "negative_prompt" else value for name, value in fixed.items()
    }
    arguments[PROMPT] = list(prompts) if batch else prompts[0]
    if sources:
        arguments[SOURCE] = list(sources) if batch or traits(kind).listed else sources[0]
    if size is not None:
        arguments["width"], arguments["height"] = size
    return arguments


def asked_size(
    kind: type, size: tuple[int, int] | None, source: tuple[int, int] | None, multiple: int
) -> tuple[int, int] | None:
    """Return the width and height that a pipeline is asked for; None to leave them to it.

    `size`: the user's. `source`: that of the picture to be changed. `multiple`: what sides must be multiples of.
    """
    if "height" not in parameters(kind):
        return None
    if size is not None or source is None or not traits(kind).sized:
        return size
    width, height = (max(side // multiple, 1) * multiple for side in source)
    return width, height
