"""Keys and values of prefixes, kept once, and the branches that grow from them.

A branch is a tree of tokens after the prefix: the suffixes of many questions, the inner nodes of their options, the
replies that are drawn. All the nodes of one call are packed into a single sequence. Each attends to the whole prefix,
to its own ancestors and to itself, and its position is that of the prefix's end plus its depth, so that it computes
just what it would after a prefix of its own.

The prefixes of several pictures go through the model together, as rows of a batch, and so do the trees after them.
Shorter rows are filled up at the end with tokens that no other one sees.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from facevalue.models.hf.calls import calling, logits_of
from facevalue.models.hf.loading import Loaded, carry_inputs, watch_positions, window_of

if TYPE_CHECKING:
    from torch import Tensor


# Tree of tokens that grows from the end of a prefix, packed into one sequence.


Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Tokens after a prefix, of which several may follow the same one. A parent comes before its children.

    `parents` has -1 for a node that comes directly after the prefix, -2 for one after a second prefix, and so on; a
    node's position is the prefix's end plus its depth.

    >>> tree, paths = Tree.empty().add_branches([(-1, [5, 6]), (-1, [5, 7, 8])])
    >>> tree.ids.tolist(), tree.parents.tolist(), tree.depths.tolist()
    ([5, 6, 7, 8], [-1, 0, 0, 2], [0, 1, 1, 2])
    >>> paths
    [[0, 1], [0, 2, 3]]
    """

    ids: Ints
    parents: Ints
    depths: Ints

    @classmethod
    def empty(cls) -> Self:
        """Return a tree without nodes."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, none)

    def add_branches(self, branches: Iterable[tuple[int, Sequence[int]]]) -> tuple[Self, list[list[int]]]:
        """Return the tree with new branches, each from a node or a prefix (-1), and the new nodes of each.

        Beginnings that the new ones share are taken once. The old nodes are never taken for new ones: what follows a
        new node can be read in the call that computes it and not later.
        """
        old = len(self)
        nodes: dict[tuple[int, int], int] = {}
        paths = []
        for start, branch in branches:
            path, at = [], start
            for token in branch:
                at = nodes.setdefault((at, int(token)), old + len(nodes))
                path.append(at)
            paths.append(path)
        ids = np.fromiter((token for _, token in nodes), dtype=np.int64, count=len(nodes))
        parents = np.fromiter((parent for parent, _ in nodes), dtype=np.int64, count=len(nodes))
        return self.add_nodes(ids, parents), paths

    def add_nodes(self, ids: Ints, parents: Ints) -> Self:
        """Return the tree with new nodes, each with its parent among the old ones and the new ones before it."""
        if ids.shape != parents.shape or ids.ndim != 1:
            raise ValueError(f"{ids.size} nodes and {parents.size} parents")
        if (parents >= len(self) + np.arange(parents.size)).any():
            raise ValueError("a parent comes before its children")
        depths = np.concatenate([self.depths, np.zeros_like(parents)])
        for node, parent in enumerate(parents.tolist(), len(self)):
            depths[node] = depths[parent] + 1 if parent >= 0 else 0
        return type(self)(np.concatenate([self.ids, ids]), np.concatenate([self.parents, parents]), depths)

    def __len__(self) -> int:
        return int(self.ids.size)

    def visible(self, first: int = 0) -> tuple[Ints, Ints]:
        """Return which nodes from `first` on attend to which ones, themselves and their ancestors: so many pairs."""
        nodes = above = np.arange(min(first, len(self)), len(self))
        pairs = [(nodes, above)]
        while nodes.size:  # up the tree, all nodes at once
            above = self.parents[above]
            nodes, above = nodes[above >= 0], above[above >= 0]
            pairs.append((nodes, above))
        return np.concatenate([nodes for nodes, _ in pairs]), np.concatenate([above for _, above in pairs])


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
        self.rows: Tensor | None = None  # those that a call has nodes of; None for all

    def update(self, keys: "Tensor", values: "Tensor", *_: object, **__: object) -> "tuple[Tensor, Tensor]":
        """Keep the new keys and values with the branch; return them after the prefix's and the branch's own.

        The concatenation with the prefix lives until the layer has been computed.
        """
        import torch  # noqa: PLC0415

        rows, own_states = self.rows, (keys, values)
        assert self.keys is not None
        if rows is not None:  # what the others lack is masked
            own_states = tuple(
                new.new_zeros(len(self.keys), *new.shape[1:]).index_copy_(0, rows, new) for new in own_states
            )
        if self.own is not None:
            own_states = tuple(torch.cat(two, dim=-2) for two in zip(self.own, own_states, strict=True))
        self.own = own_states
        all_of = zip((self.keys, self.values), own_states, strict=True)
        keys, values = (torch.cat(two if rows is None else [t[rows] for t in two], dim=-2) for two in all_of)
        return keys, values

    def get_seq_length(self) -> int:
        """Tokens that are kept."""
        return sum(int(keys.shape[-2]) for keys in (self.keys, self.own and self.own[0]) if keys is not None)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of the keys that a mask must cover."""
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        """Return -1: the layer has no limit of its own."""
        return -1


@cache
def _cache_type() -> Any:
    """Return transformers' cache class, after making `_Layer` known to it as a layer."""
    from transformers.cache_utils import Cache, CacheLayerMixin  # noqa: PLC0415

    CacheLayerMixin.register(_Layer)
    return Cache


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """One or more prefixes that have been run together, a row each.

    `next_positions` are not the lengths where pictures take fewer positions than tokens. `layers` are keys and values
    of each layer, (rows, heads, longest, width) each; a cross-attention layer has those of the pictures, None if there
    are none. Read-only.
    """

    lengths: tuple[int, ...]
    next_positions: tuple[int, ...]
    loaded: Loaded
    inputs: "Mapping[str, Tensor]"
    layers: "tuple[tuple[Tensor | None, Tensor | None], ...]"

    @classmethod
    def read_prefixes(cls, loaded: Loaded, *inputs: "Mapping[str, Tensor]") -> "Prefix":
        """Run a processor's inputs, each cut after its prefix, through the model and keep their keys and values."""
        import torch  # noqa: PLC0415
        from transformers import DynamicCache  # noqa: PLC0415

        together = inputs[0] if len(inputs) == 1 else join_inputs(loaded, inputs)
        cache = DynamicCache()  # without a configuration it keeps what sliding windows would drop
        with torch.inference_mode(), calling(), watch_positions(loaded.model) as following:
            logits_of(loaded.model, torch.tensor([-1]), **together, past_key_values=cache, use_cache=True)
        lengths = tuple(int(group_inputs["input_ids"].shape[1]) for group_inputs in inputs)
        layers = tuple((layer.keys, layer.values) for layer in cache.layers)
        return cls(lengths, following(lengths), loaded, together, layers)

    @property
    def length(self) -> int:
        """Tokens of the longest."""
        return max(self.lengths)

    def part(self, first: int, end: int) -> "Prefix":
        """Return some of the rows, not copied."""
        if end - first == len(self.lengths):
            return self
        rows, longest = slice(first, end), max(self.lengths[first:end])

        def cut(tensor: "Tensor | None") -> "Tensor | None":
            return None if tensor is None else tensor[rows, :, :longest]

        layers = tuple((cut(keys), cut(values)) for keys, values in self.layers)
        return Prefix(self.lengths[rows], self.next_positions[rows], self.loaded, {}, layers)


def joinable(first: "Mapping[str, Tensor]", second: "Mapping[str, Tensor]") -> bool:
    """Return whether two prefixes can be rows of one batch: not if the model attends to pictures from outside."""

    def kind(inputs: "Mapping[str, Tensor]") -> dict[str, int]:
        return {name: tensor.ndim for name, tensor in inputs.items()}

    return kind(first) == kind(second) and "cross_attention_mask" not in first


def join_inputs(loaded: Loaded, inputs: "Sequence[Mapping[str, Tensor]]") -> "dict[str, Tensor]":
    """Put the inputs of several prefixes into one batch, texts in rows and pictures one after the other.

    What is shorter, or has fewer tiles or pixels, is filled up at the end as processors do: with zeros.
    """
    pad = loaded.tokenizer.pad_token_id
    out: dict[str, Tensor] = {}
    for name in inputs[0]:
        tensors = [group_inputs[name] for group_inputs in inputs]
        sizes = np.max([tensor.shape[1:] for tensor in tensors], axis=0).astype(int).tolist()
        filling = (loaded.tokenizer.eos_token_id if pad is None else pad) if name == "input_ids" else 0
        out[name] = tensors[0].new_full((sum(map(len, tensors)), *sizes), filling)
        for tensor, place in zip(tensors, np.cumsum([0, *map(len, tensors)]).tolist(), strict=False):
            out[name][(slice(place, place + len(tensor)), *map(slice, tensor.shape[1:]))] = tensor
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Positions of the nodes of a branch: rows, columns after the longest prefix, and number of columns taken."""

    rows: Ints
    columns: Ints
    width: int

    def add_nodes(self, parents: Ints, nodes: Ints) -> "_Places":
        """Return the places with new nodes, in columns of their own.

        Of several rows those that are `read` come first, so that few logits are computed besides them.
        """
        old = len(self.rows)
        rows = np.concatenate([self.rows, np.zeros_like(parents)])
        for node, parent in enumerate(parents.tolist(), old):
            rows[node] = rows[parent] if parent >= 0 else -1 - parent
        new = rows[old:]
        unread = np.ones(len(new), dtype=np.bool_)
        unread[nodes] = False
        several = (new != new[0]).any()
        order = np.lexsort((unread, new)) if several else np.arange(len(new))
        starts = np.flatnonzero(np.diff(new[order], prepend=-1))
        counts = np.diff(starts, append=len(new))
        columns = np.empty_like(new)
        columns[order] = self.width + np.arange(len(new)) - np.repeat(starts, counts)
        return _Places(rows, np.concatenate([self.columns, columns]), self.width + int(counts.max()))


class Branch:
    """Trees of tokens, one after each prefix, grown call by call. They share the prefixes, and nothing else."""

    def __init__(self, prefix: Prefix) -> None:
        self.prefix = prefix
        self.tree = Tree.empty()
        self._layers = [_Layer(*pair) for pair in prefix.layers]
        none = np.zeros(0, dtype=np.int64)
        self._places = _Places(none, none, 0)

    def grow(self, ids: Sequence[int] | Ints, parents: Sequence[int] | Ints, nodes: Sequence[int] | Ints) -> "Tensor":
        """Feed nodes, and return the logits of what follows those to `read`: float32, (len(read), vocabulary).

        A parent is one of all nodes that this branch has been given, earlier calls first, and comes before its
        children; -1 stands for the end of the prefix, -2 for that of the second. `read` counts the nodes of this call.
        After an error, such as out of memory, the branch is as it was before the call.
        """
        import torch  # noqa: PLC0415

        prefix, loaded = self.prefix, self.prefix.loaded
        tokens, node_numbers = np.asarray(ids, dtype=np.int64), np.asarray(nodes, dtype=np.int64)
        above = np.asarray(parents, dtype=np.int64)
        if not tokens.size:
            raise ValueError("a branch grows by one or more nodes")
        if node_numbers.size and (node_numbers.min() < 0 or node_numbers.max() >= len(tokens)):
            raise ValueError("a node to read is none of this call's")
        if above.size and above.min() < -len(prefix.lengths):
            raise ValueError("a parent is neither a node nor the end of a prefix")
        tree, old = self.tree.add_nodes(tokens, above), len(self.tree)
        before = [layer.own for layer in self._layers], self._places
        start, self._places = self._places.width, self._places.add_nodes(above, node_numbers)
        active, row = np.unique(self._places.rows[old:], return_inverse=True)
        column = self._places.columns[old:] - start
        shape = len(active), self._places.width - start
        given_ids, positions = np.full(shape, tokens[0]), np.full(shape, min(prefix.next_positions))
        given_ids[row, column] = tokens
        positions[row, column] = np.array(prefix.next_positions)[active][row] + tree.depths[old:]
        computed = node_numbers if len(active) == 1 else np.arange(column[node_numbers].max(initial=-1) + 1)
        rows = None if len(active) == len(prefix.lengths) else torch.as_tensor(active, device=loaded.device)
        for layer in self._layers:
            layer.rows = rows if rows is None or layer.keys is None else rows.to(layer.keys.device)
        arguments = {
            "input_ids": torch.as_tensor(given_ids, device=loaded.device),
            "attention_mask": self._mask(tree, old),
            "position_ids": torch.as_tensor(positions, device=loaded.device),
            "past_key_values": _cache_type()(layers=self._layers),
            "use_cache": True,
            **carry_inputs(prefix.inputs, shape[1]),
        }
        try:
            with torch.inference_mode(), calling():
                logits = logits_of(loaded.model, torch.as_tensor(computed), **arguments)
                if len(active) == 1:
                    logits = logits[0].float()
                else:
                    logits = logits[torch.as_tensor(row[node_numbers]), torch.as_tensor(column[node_numbers])].float()
        except BaseException:  # some layers may have taken the nodes: memory ran out, or somebody pressed Ctrl-C
            for layer, layer_states in zip(self._layers, before[0], strict=True):
                layer.own = layer_states
            self._places = before[1]
            raise
        self.tree = tree
        return logits

    def _mask(self, tree: Tree, first: int) -> "Tensor | dict[str, Tensor]":
        """Return what the nodes from `first` on see, (rows, 1, new, prefix and nodes); if some layers slide, by kind.

        Columns that no node of a row is in see its prefix: with nothing to see, attention gives no number at all.
        """
        import torch  # noqa: PLC0415

        length, columns = self.prefix.length, self._places.columns
        active, row = np.unique(self._places.rows[first:], return_inverse=True)
        lengths, start = np.array(self.prefix.lengths)[active], int(columns[first:].min())
        seen = np.zeros((len(active), self._places.width - start, length + self._places.width), dtype=np.bool_)
        seen[:, :, :length] = (np.arange(length) < lengths[:, None])[:, None]
        reachable, above = tree.visible(first)
        seen[row[reachable - first], columns[reachable] - start, length + columns[above]] = True

        model = self.prefix.loaded.model
        added = model.get_decoder().config._attn_implementation == "eager"  # which adds masks to what it scales

        def to_mask(mask: Bools) -> "Tensor":
            seen = torch.as_tensor(mask, device=self.prefix.loaded.device)[:, None]
            return torch.where(seen, 0.0, torch.finfo(model.dtype).min).to(model.dtype) if added else seen

        window = window_of(model.config.get_text_config())
        if window is None:
            return to_mask(seen)
        place = np.tile(
            np.concatenate([np.arange(length), np.zeros(self._places.width, dtype=np.int64)]), (len(active), 1)
        )
        place[:, length:] = lengths[:, None]
        own_rows = np.flatnonzero(np.isin(self._places.rows, active))
        at = np.searchsorted(active, self._places.rows[own_rows])
        place[at, length + columns[own_rows]] = lengths[at] + tree.depths[own_rows]
        near = seen & (place[:, length + start :, None] - place[:, None, :] < window.size)
        return {"full_attention": to_mask(seen), "sliding_attention": to_mask(near)} if window.some else to_mask(near)
