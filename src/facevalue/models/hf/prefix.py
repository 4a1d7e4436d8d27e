"""Keys and values of a prefix, kept once, and the branches that grow from it.

A branch is a tree of tokens after the prefix: the suffixes of many questions, the inner nodes of their options, the
replies that are drawn. All the nodes of one call are packed into a single sequence. Each attends to the whole prefix,
to its own ancestors and to itself, and its position is that of the prefix's end plus its depth, so that it computes
just what it would after a prefix of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from facevalue.models.hf.calls import calling
from facevalue.models.hf.families import carried, next_position, window_of
from facevalue.models.hf.loaded import Loaded
from facevalue.models.hf.tree import Tree

if TYPE_CHECKING:
    from torch import Tensor

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class _Layer:
    """One layer's keys and values: those of the prefix, which nobody can change, and those of one branch."""

    # What transformers asks of a cache layer.
    is_compileable = is_croppable = is_sliding = supports_early_init = False

    def __init__(self, keys: "Tensor | None", values: "Tensor | None") -> None:
        # What a model reads that computes no keys for new tokens (cross-attention): those of the prefix alone. None
        # where it skips a layer for want of a picture.
        self.keys = keys
        self.values = values
        self.is_initialized = keys is not None
        self.own: tuple[Tensor, Tensor] | None = None

    def update(self, keys: "Tensor", values: "Tensor", *_: object, **__: object) -> "tuple[Tensor, Tensor]":
        """Keep the new keys and values with the branch; return them after the prefix's and the branch's own.

        The concatenation with the prefix lives until the layer has been computed.
        """
        import torch  # noqa: PLC0415

        if self.own is not None:
            keys = torch.cat([self.own[0], keys], dim=-2)
            values = torch.cat([self.own[1], values], dim=-2)
        self.own = (keys, values)
        return torch.cat([self.keys, keys], dim=-2), torch.cat([self.values, values], dim=-2)

    def get_seq_length(self) -> int:
        """Tokens that are kept."""
        return sum(int(keys.shape[-2]) for keys in (self.keys, self.own and self.own[0]) if keys is not None)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of the keys that a mask must cover."""
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        """No limit of its own."""
        return -1


@cache
def _cache_type() -> Any:
    """Return transformers' cache class, after making `_Layer` known to it as a layer."""
    from transformers.cache_utils import Cache, CacheLayerMixin  # noqa: PLC0415

    CacheLayerMixin.register(_Layer)
    return Cache


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """A prefix that has been run.

    `next_position` is not the length where pictures take fewer positions than tokens. `layers` are keys and values of
    each layer, (1, heads, length, width) each; a cross-attention layer has those of the pictures, None if there are
    none. Read-only.
    """

    length: int
    next_position: int
    loaded: Loaded
    inputs: "Mapping[str, Tensor]"
    layers: "tuple[tuple[Tensor | None, Tensor | None], ...]"

    @classmethod
    def of(cls, loaded: Loaded, inputs: "Mapping[str, Tensor]") -> "Prefix":
        """Run a processor's inputs, one row cut after the prefix, through the model and keep its keys and values."""
        import torch  # noqa: PLC0415
        from transformers import DynamicCache  # noqa: PLC0415

        kept = DynamicCache()  # without a configuration it keeps what sliding windows would drop
        with torch.inference_mode(), calling():
            loaded.model(**inputs, past_key_values=kept, use_cache=True, logits_to_keep=1)
            position = next_position(loaded.family, loaded.model, inputs)
        layers = tuple((layer.keys, layer.values) for layer in kept.layers)
        return cls(int(inputs["input_ids"].shape[1]), position, loaded, inputs, layers)


class Branch:
    """A tree of tokens after a prefix, grown call by call. It shares the prefix, and nothing with any other branch."""

    def __init__(self, prefix: Prefix) -> None:
        self.prefix = prefix
        self.tree = Tree.empty()
        self._layers = [_Layer(*pair) for pair in prefix.layers]

    def grow(self, ids: Sequence[int] | Ints, parents: Sequence[int] | Ints, read: Sequence[int] | Ints) -> "Tensor":
        """Feed nodes, and return the logits of what follows those to `read`: float32, (len(read), vocabulary).

        A parent is one of all nodes that this branch has been given, earlier calls first, and comes before its
        children; -1 stands for the end of the prefix. `read` counts the nodes of this call. After an error, such as out
        of memory, the branch is as it was before the call.
        """
        import torch  # noqa: PLC0415

        prefix, loaded = self.prefix, self.prefix.loaded
        tokens, wanted = np.asarray(ids, dtype=np.int64), np.asarray(read, dtype=np.int64)
        if not tokens.size:
            raise ValueError("a branch grows by one or more nodes")
        if wanted.size and (wanted.min() < 0 or wanted.max() >= len(tokens)):
            raise ValueError("a node to read is none of this call's")
        tree, old = self.tree.extended(tokens, np.asarray(parents, dtype=np.int64)), len(self.tree)
        given = {
            "input_ids": torch.as_tensor(tokens, device=loaded.device)[None],
            "attention_mask": self._mask(tree, old),
            "position_ids": torch.as_tensor(prefix.next_position + tree.depths[old:], device=loaded.device)[None],
            "past_key_values": _cache_type()(layers=self._layers),
            "logits_to_keep": torch.as_tensor(wanted),
            **carried(prefix.inputs, len(tokens)),
        }
        before = [layer.own for layer in self._layers]
        try:
            with torch.inference_mode(), calling():
                out = loaded.model(**given, use_cache=True)
                logits: Tensor = out.logits[0].float()
        except BaseException:  # some layers may have taken the nodes: memory ran out, or somebody pressed Ctrl-C
            for layer, kept in zip(self._layers, before, strict=True):
                layer.own = kept
            raise
        self.tree = tree
        return logits

    def _mask(self, tree: Tree, first: int) -> "Tensor | dict[str, Tensor]":
        """Return what the nodes from `first` on see, (1, 1, new, prefix and nodes); if some layers slide, by kind."""
        import torch  # noqa: PLC0415

        length = self.prefix.length
        seen = np.pad(tree.visible(first), ((0, 0), (length, 0)), constant_values=True)

        def sent(mask: Bools) -> "Tensor":
            return torch.as_tensor(mask, device=self.prefix.loaded.device)[None, None]

        window = window_of(self.prefix.loaded.model.config.get_text_config())
        if window is None:
            return sent(seen)
        places = np.concatenate([np.arange(length), length + tree.depths])
        near = seen & (places[length + first :, None] - places[None, :] < window.size)
        return {"full_attention": sent(seen), "sliding_attention": sent(near)} if window.some else sent(near)
