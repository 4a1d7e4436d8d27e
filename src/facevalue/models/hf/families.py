"""Families of models: what each adds to the common way of sharing a prefix."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Family:
    """How a family's prefix is shared.

    `grid_positions`: a picture takes positions by its height and width (M-RoPE), so that what follows it comes at an
    earlier position than there are tokens before it. `around`: text that the processor puts before and after the
    special tokens of a picture. `causal`: a text token is known to see nothing but what comes before it.
    """

    name: str
    shares: bool = True
    grid_positions: bool = False
    around: str = ""
    causal: bool = True


UNKNOWN = Family("unknown", shares=False, causal=False)
"""A family of which nothing is known: every question is run by itself, which is right for all of them."""

FAMILIES: dict[str, Family] = {
    "gemma3": Family("Gemma-3", around="\n\n"),
    "idefics3": Family("Idefics3"),
    "internvl": Family("InternVL"),
    "llava": Family("LLaVA-1.5"),  # Pixtral's configuration says so, too
    "llava_next": Family("LLaVA-NeXT"),
    "mistral3": Family("Mistral3"),
    "mllama": Family("Llama-3.2-Vision"),
    "qwen2_5_vl": Family("Qwen2.5-VL", grid_positions=True),
    "qwen2_vl": Family("Qwen2-VL", grid_positions=True),
    "qwen3_vl": Family("Qwen3-VL", grid_positions=True),
    "smolvlm": Family("SmolVLM"),
}
"""By `model_type` of the configuration."""

TEXT_FAMILIES: dict[str, Family] = {
    "llama": Family("LLaMA"),  # Vicuna's configuration says so, too
    "mistral": Family("Mistral"),
    "qwen2": Family("Qwen2"),
    "qwen3": Family("Qwen3"),
}
"""The same of models that take texts alone."""


def family_of(model_type: str) -> Family:
    """Return the family of a configuration's `model_type`, `UNKNOWN` if it isn't known."""
    return FAMILIES.get(model_type) or TEXT_FAMILIES.get(model_type, UNKNOWN)


@dataclass(frozen=True, slots=True)
class Window:
    """How far back some or all layers of a model see: a token attends to itself and to the `size` - 1 before it.

    Where only some do, the model takes a mask for each kind of layer.
    """

    size: int
    some: bool


def window_of(text_config: Any) -> Window | None:
    """Return the sliding window of a language model, None if every layer sees everything.

    A `NotImplementedError` says that some layers don't attend by a mask over all tokens, or attend forwards.

    >>> from types import SimpleNamespace
    >>> window_of(SimpleNamespace(sliding_window=4096, layer_types=["full_attention", "sliding_attention"]))
    Window(size=4096, some=True)
    """
    kinds = set(getattr(text_config, "layer_types", None) or ())
    if kinds - {"full_attention", "sliding_attention"} or getattr(text_config, "use_bidirectional_attention", None):
        raise NotImplementedError(", ".join(sorted(kinds)) or "attention in both directions")
    size = getattr(text_config, "sliding_window", None)
    if size is None or (kinds and "sliding_attention" not in kinds):
        return None
    return Window(int(size), bool(kinds))


def next_position(family: Family, model: Any, inputs: "Mapping[str, Tensor]") -> int:
    """Return the position of the token after a prefix.

    M-RoPE's rule is asked for this prefix; the model's attribute of that name remembers whichever picture came last.
    """
    length = int(inputs["input_ids"].shape[1])
    if not family.grid_positions or "image_grid_thw" not in inputs:
        return length
    wanted = ("input_ids", "mm_token_type_ids", "image_grid_thw", "attention_mask")
    _, delta = model.model.get_rope_index(**{name: inputs[name] for name in wanted if name in inputs})
    return length + int(delta)


def carried(inputs: "Mapping[str, Tensor]", nodes: int) -> "dict[str, Tensor]":
    """Return what nodes after a prefix take over from its last token: the pictures it may look at (cross-attention)."""
    seen = inputs.get("cross_attention_mask")
    return {} if seen is None else {"cross_attention_mask": seen[:, -1:].expand(-1, nodes, -1, -1)}
