"""What differs between families of models, found by looking at the model rather than by its name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

AROUND = {"gemma3": "\n\n"}
"""Text that a processor puts before and after the special tokens of a picture, by `model_type`.

Without it the processor would be asked for every question, picture and all: the same tokens, more slowly.
"""


_AXES = 3
"""Time, height and width."""


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


@contextmanager
def watched(model: Any) -> Iterator[Callable[[Sequence[int]], tuple[int, ...]]]:
    """Watch which positions a model's own code gives its tokens, to say which ones come after rows of these lengths.

    Where pictures take positions by their height and width (M-RoPE), that is an earlier one than there are tokens.
    """
    states: list[Tensor | None] = [None]

    def look(_: Any, __: Any, keywords: dict[str, Any]) -> None:
        states[0] = keywords.get("position_ids")

    def following(lengths: Sequence[int]) -> tuple[int, ...]:
        if states[0] is None:
            return tuple(lengths)
        axes = states[0].reshape(-1, *states[0].shape[-2:])[-_AXES:]  # what is before them counts tokens
        rows = axes.amax(0).expand(len(lengths), -1)  # the last part of a picture may be wide, and its first one high
        return tuple(int(row[:length].max()) + 1 for row, length in zip(rows, lengths, strict=True))

    hook = model.get_decoder().register_forward_pre_hook(look, with_kwargs=True)
    try:
        yield following
    finally:
        hook.remove()


def carried(inputs: "Mapping[str, Tensor]", nodes: int) -> "dict[str, Tensor]":
    """Return what nodes after a prefix take over from its last token: the pictures it may look at (cross-attention)."""
    seen = inputs.get("cross_attention_mask")
    return {} if seen is None else {"cross_attention_mask": seen[:, -1:].expand(-1, nodes, -1, -1)}
