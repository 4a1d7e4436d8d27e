"""The keys and values of a prefix, kept once, and the branches that grow from it.

A branch is a tree of tokens after the prefix: the suffixes of many questions, the inner nodes of their options, the
replies that are drawn. All the nodes of one call are packed into a single sequence. Each attends to the whole prefix, to
its own ancestors and to itself, and its position is that of the prefix's end plus its depth, so that it computes just
what it would after a prefix of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from facevalue.models.hf.loaded import Loaded

if TYPE_CHECKING:
    from torch import Tensor

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class _Layer:
    """One layer's keys and values: those of the prefix, which nobody can change, and those of one branch."""

    # What transformers asks of a cache layer.
    is_compileable = is_croppable = is_sliding = supports_early_init = False
    is_initialized = True

    def __init__(self, keys: "Tensor", values: "Tensor") -> None:
        self._prefix = (keys, values)
        self._own: tuple[Tensor, Tensor] | None = None

    @property
    def keys(self) -> "Tensor":
        """Keys of the prefix, as a model reads them that computes none of its own (cross-attention)."""
        return self._prefix[0]

    @property
    def values(self) -> "Tensor":
        """Values of the prefix."""
        return self._prefix[1]

    def update(self, keys: "Tensor", values: "Tensor", *_: object, **__: object) -> "tuple[Tensor, Tensor]":
        """Keep the new keys and values with the branch; return them after the prefix's and the branch's own.

        The concatenation with the prefix lives until the layer has been computed.
        """
        import torch  # noqa: PLC0415

        if self._own is not None:
            keys = torch.cat([self._own[0], keys], dim=-2)
            values = torch.cat([self._own[1], values], dim=-2)
        self._own = (keys, values)
        return torch.cat([self._prefix[0], keys], dim=-2), torch.cat([self._prefix[1], values], dim=-2)

    def get_seq_length(self) -> int:
        """Tokens that are kept."""
        return int(self._prefix[0].shape[-2]) + (0 if self._own is None else int(self._own[0].shape[-2]))

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


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix that has been run.

    Attributes
    ----------
    length:
        Tokens of the prefix.
    next_position:
        Position of the token that comes after it; not the length where pictures take fewer positions than tokens.
    loaded:
        The model that ran it.
    layers:
        Keys and values of each layer, (1, heads, length, width) each. Read-only.
    """

    length: int
    next_position: int
    loaded: Loaded
    layers: "tuple[tuple[Tensor, Tensor], ...]"

    @classmethod
    def of(cls, loaded: Loaded, inputs: "Mapping[str, Tensor]") -> "Prefix":
        """Run a prefix through the model's own forward pass and keep its keys and values.

        Parameters
        ----------
        loaded:
            The model.
        inputs:
            What its processor makes, cut after the prefix: one row of token ids with its pictures.
        """
        import torch  # noqa: PLC0415
        from transformers import DynamicCache  # noqa: PLC0415

        kept = DynamicCache()
        with torch.inference_mode():
            loaded.model(**inputs, past_key_values=kept, use_cache=True, logits_to_keep=1)
        layers = tuple((layer.keys, layer.values) for layer in kept.layers)
        length = int(inputs["input_ids"].shape[1])
        return cls(length, length, loaded, layers)

    def branch(self) -> "Branch":
        """Return a new branch. It shares the prefix's keys and values, and nothing with any other branch."""
        return Branch(self)


class Branch:
    """A tree of tokens after a prefix, grown call by call.

    Attributes
    ----------
    prefix:
        What it grows from.
    """

    def __init__(self, prefix: Prefix) -> None:
        self.prefix = prefix
        self._depths: Ints = np.zeros(0, dtype=np.int64)
        self._visible: Bools = np.zeros((0, 0), dtype=np.bool_)
        self._cache = _cache_type()(layers=[_Layer(*pair) for pair in prefix.layers])

    def grow(self, ids: Sequence[int] | Ints, parents: Sequence[int] | Ints, read: Sequence[int] | Ints) -> "Tensor":
        """Feed nodes and return the logits of what follows some of them.

        Parameters
        ----------
        ids:
            Token ids of the new nodes, at least one.
        parents:
            Parent of each among all nodes that this branch has been given, earlier calls first; these nodes follow in
            order. -1 stands for the end of the prefix. A parent comes before its children.
        read:
            Nodes of this call, from 0, whose logits are wanted.

        Returns
        -------
        Tensor
            Logits, float32, (len(read), vocabulary).

        Raises
        ------
        ValueError
            No nodes, a parent that does not come before its child, or a node to read that is none of this call's.
        """
        import torch  # noqa: PLC0415

        loaded = self.prefix.loaded
        visible = self._grown(np.asarray(ids, dtype=np.int64), np.asarray(parents, dtype=np.int64))
        wanted = np.asarray(read, dtype=np.int64)
        if wanted.size and not (0 <= wanted.min() and wanted.max() < len(visible)):
            raise ValueError("a node to read is none of this call's")
        mask = np.ones((len(visible), self.prefix.length + visible.shape[1]), dtype=np.bool_)
        mask[:, self.prefix.length :] = visible
        positions = self.prefix.next_position + self._depths[-len(visible) :]
        device = loaded.device
        with torch.inference_mode():
            out = loaded.model(
                input_ids=torch.as_tensor(np.asarray(ids, dtype=np.int64), device=device)[None],
                attention_mask=torch.as_tensor(mask, device=device)[None, None],
                position_ids=torch.as_tensor(positions, device=device)[None],
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=torch.as_tensor(wanted, device=device),
            )
            logits: Tensor = out.logits[0].float()
        return logits

    def _grown(self, ids: Ints, parents: Ints) -> Bools:
        """Take note of new nodes; return which of all the nodes each of them sees, (new, all)."""
        before, new = len(self._depths), len(ids)
        if ids.ndim != 1 or new == 0 or parents.shape != ids.shape:
            raise ValueError("a branch grows by one or more nodes, each with a parent")
        depths = np.concatenate([self._depths, np.zeros(new, dtype=np.int64)])
        visible = np.zeros((before + new, before + new), dtype=np.bool_)
        visible[:before, :before] = self._visible
        for node, parent in enumerate(parents.tolist(), start=before):
            if not -1 <= parent < node:
                raise ValueError(f"node {node} comes before its parent {parent}")
            if parent >= 0:
                depths[node] = depths[parent] + 1
                visible[node] = visible[parent]
            visible[node, node] = True
        self._depths, self._visible = depths, visible
        return visible[before:]
