r"""Attention of many token sequences in one pass: each over a prefix that others share, and over its own tokens.

With :math:`s` the scaled scores of a query, :math:`A` the keys of its prefix and :math:`B` its own ones, each part
gives

.. math:: m_X = \max_X s, \quad l_X = \sum_X e^{s - m_X}, \quad o_X = \sum_X e^{s - m_X} v,

and the result is :math:`(e^{m_A - m} o_A + e^{m_B - m} o_B) / (e^{m_A - m} l_A + e^{m_B - m} l_B)` with :math:`m` the
larger one: what a softmax over both gives. So a prefix is read once for all sequences after it, and copied for none.

The numbers of a sequence don't depend on what else is in the pass, to the last bit, where the rows of a matrix product
don't depend on how many there are. Kernels on CPUs have another way for fewer than 4 rows, so there are never so few.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from facevalue.models.hf.families import Window, window_of
from facevalue.models.hf.loaded import Loaded
from facevalue.models.hf.prefix import Prefix
from facevalue.models.hf.shelves import Shelf, TokenSequence

if TYPE_CHECKING:
    from torch import Tensor

LEAST = 8
"""So many rows, or a multiple, that products have the same kernel for all."""
_NAME = "facevalue_sequences"
_KINDS = {1: "full_attention", 2: "sliding_attention"}
"""Kinds of layers by the width of the mask that stands for them: the mask itself has nothing to say."""
_UNKNOWN = "position_bias", "cu_seq_lens_q", "head_mask"

Part = tuple["Tensor", "Tensor", "Tensor"]


@dataclass(frozen=True, slots=True, eq=False)
class _Shelved:
    """Tokens of a pass that attend to rows of one shelf: one each of several rows, or several of a prompt.

    `hidden`: what each token doesn't see of its row, by kind of layer.
    """

    shelf: Shelf
    tokens: slice
    rows: "Tensor | slice"
    places: "Tensor"
    written: "Tensor"
    hidden: "Mapping[str, Tensor]"


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """Tokens of a pass that come after one prefix; what the window of a layer hides of it from each, if anything."""

    prefix: Prefix
    tokens: "Tensor"
    hidden: "Tensor | None"


class Pass:
    """What goes through the model at once: of each sequence one or more tokens, whose keys and values it then keeps."""

    def __init__(self, loaded: Loaded, steps: Sequence[tuple[TokenSequence, Sequence[int]]]) -> None:
        import torch  # noqa: PLC0415

        self._device = loaded.device
        self._window = window_of(loaded.model.config.get_text_config())
        single = sorted(
            (n for n, (sequence, _) in enumerate(steps) if not sequence.shelf.prompt),
            key=lambda n: (steps[n][0].shelf.length, steps[n][0].row),
        )
        prompts = [n for n, (sequence, _) in enumerate(steps) if sequence.shelf.prompt]
        self.ids: list[int] = []
        self.positions: list[int] = []
        self.ends: dict[int, int] = {}
        self._shelved: list[_Shelved] = []
        at: dict[Prefix, list[tuple[int, int]]] = {}
        for n in (*single, *prompts):
            sequence, tokens = steps[n]
            for place, token in enumerate(tokens, sequence.length):
                at.setdefault(sequence.prefix, []).append((len(self.ids), place))
                self.ids.append(token)
                self.positions.append(sequence.prefix.next_positions[0] + place)
            self.ends[n] = len(self.ids) - 1
        first = 0
        while first < len(single):
            shelf = steps[single[first]][0].shelf
            group = [steps[n][0] for n in single[first:] if steps[n][0].shelf is shelf]
            rows = [sequence.row for sequence in group]
            selected = slice(0, len(rows)) if rows == list(range(len(rows))) else torch.as_tensor(rows).to(self._device)
            places = [sequence.length for sequence in group]
            self._shelved.append(self._of(shelf, slice(first, first + len(rows)), selected, rows, places))
            first += len(rows)
        for n in prompts:
            sequence, tokens = steps[n]
            end, count = self.ends[n] + 1, len(tokens)
            places = [*range(sequence.length, sequence.length + count)]
            self._shelved.append(self._of(sequence.shelf, slice(end - count, end), slice(0, 1), [0] * count, places))
        self._shared = [self._after(prefix, tokens_at) for prefix, tokens_at in at.items()]

    def _of(
        self, shelf: Shelf, tokens: slice, rows: "Tensor | slice", written: list[int], places: list[int]
    ) -> _Shelved:
        import torch  # noqa: PLC0415

        place = torch.as_tensor(places).to(self._device)
        places_kept = torch.arange(shelf.length, device=self._device)
        hidden = {"full_attention": places_kept > place[:, None]}
        if self._window:
            hidden["sliding_attention"] = hidden["full_attention"] | (place[:, None] - places_kept >= self._window.size)
        return _Shelved(shelf, tokens, rows, place, torch.as_tensor(written).to(self._device), hidden)

    def _after(self, prefix: Prefix, spots: list[tuple[int, int]]) -> _Shared:
        import torch  # noqa: PLC0415

        places = torch.as_tensor([place for _, place in spots]).to(self._device)
        hidden = None
        if self._window and prefix.length + max(place for _, place in spots) >= self._window.size:
            places_kept = torch.arange(prefix.length, device=self._device)
            hidden = prefix.length + places[:, None] - places_kept >= self._window.size
        return _Shared(prefix, torch.as_tensor([token for token, _ in spots]).to(self._device), hidden)

    def attend(
        self,
        layer: int,
        states: "tuple[Tensor, Tensor, Tensor]",
        kind: str,
        scaling: float,
        softcap: float | None = None,
        sinks: "Tensor | None" = None,
    ) -> "Tensor":
        """Attend from each token's queries, (heads, tokens, width); return (tokens, heads, width of values)."""
        queries, keys, values = states
        heads, count, width = queries.shape
        queries = (queries * scaling).view(len(keys), heads // len(keys), count, width)
        shape = (*queries.shape[:3], values.shape[-1])
        within = _empty(queries, shape)
        before = _empty(queries, shape)
        for shelved in self._shelved:
            shelf_keys, shelf_values = shelved.shelf.keys[layer], shelved.shelf.values[layer]
            shelf_keys[shelved.written, :, shelved.places] = keys[:, shelved.tokens].transpose(0, 1)
            shelf_values[shelved.written, :, shelved.places] = values[:, shelved.tokens].transpose(0, 1)
            part_queries, hidden = queries[:, :, shelved.tokens], shelved.hidden[kind]
            if shelved.shelf.prompt:
                attention = _several(part_queries, shelf_keys[0], shelf_values[0], hidden, softcap)
                for target, some in zip(within, attention, strict=True):
                    target[:, :, shelved.tokens] = some
            else:
                attention = _attended(
                    part_queries.permute(2, 0, 1, 3),
                    shelf_keys[shelved.rows],
                    shelf_values[shelved.rows],
                    hidden[:, None, None],
                    softcap,
                )
                for target, some in zip(within, attention, strict=True):
                    target[:, :, shelved.tokens] = some.permute(1, 2, 0, 3)
        for shared in self._shared:
            kept_k, kept_v = shared.prefix.layers[layer]
            assert kept_k is not None
            assert kept_v is not None
            hidden = shared.hidden if kind == "sliding_attention" else None
            attention = _several(queries[:, :, shared.tokens], kept_k[0], kept_v[0], hidden, softcap)
            for target, some in zip(before, attention, strict=True):
                target[:, :, shared.tokens] = some
        return _merged(within, before, sinks).reshape(heads, count, -1).transpose(0, 1)

    @property
    def window(self) -> Window | None:
        """How far back the model's layers see."""
        return self._window


def _empty(queries: "Tensor", shape: tuple[int, ...]) -> Part:
    import torch  # noqa: PLC0415

    zeros = queries.new_zeros((*shape[:-1], 1), dtype=torch.float32)
    return queries.new_zeros(shape, dtype=torch.float32), zeros.clone(), zeros


def _several(
    queries: "Tensor", keys: "Tensor", values: "Tensor", hidden: "Tensor | None", softcap: float | None
) -> Part:
    """Attend from tokens, (heads, group, tokens, width), to the same keys, (heads, length, width)."""
    heads, group, count, width = queries.shape
    rows = queries.reshape(heads, group * count, width)
    if hidden is not None:
        hidden = hidden.repeat(group, 1)
    o, m, s = _attended(rows, keys, values, hidden, softcap)
    shape = heads, group, count
    return o.view(*shape, -1), m.view(*shape, 1), s.view(*shape, 1)


def _attended(
    queries: "Tensor",
    keys: "Tensor",
    values: "Tensor",
    hidden: "Tensor | None",
    softcap: float | None,
) -> Part:
    """Return a part of attention, not divided yet; what is `hidden` doesn't count."""
    import torch  # noqa: PLC0415
    from torch.nn.functional import pad  # noqa: PLC0415

    count = queries.shape[-2]
    if queries.ndim == 3 and count < LEAST:
        queries = pad(queries, (0, 0, 0, LEAST - count))
    scores = torch.matmul(queries, keys.transpose(-1, -2)).float()[..., :count, :]
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if hidden is not None:
        scores = scores.masked_fill_(hidden, -torch.inf)
    largest = scores.amax(-1, keepdim=True).clamp_min(torch.finfo(torch.float32).min)
    weights = scores.sub_(largest).exp_()
    total, weights = weights.sum(-1, keepdim=True), weights.to(values.dtype)
    if queries.ndim == 3 and count < LEAST:
        weights = pad(weights, (0, 0, 0, LEAST - count))
    return torch.matmul(weights, values).float()[..., :count, :], largest, total


def _merged(first: Part, second: Part, sinks: "Tensor | None") -> "Tensor":
    """Put two parts of attention together; a layer's `sinks`, one for each head, take weight and give nothing."""
    import torch  # noqa: PLC0415

    largest = torch.maximum(first[1], second[1])
    scale, its = (first[1] - largest).exp(), (second[1] - largest).exp()
    total = scale * first[2] + its * second[2]
    if sinks is not None:
        total += (sinks.float().view(*largest.shape[:2], 1, 1) - largest).exp()
    return (scale * first[0] + its * second[0]) / torch.where(total > 0, total, torch.ones_like(total))


class _AttendedLayer:
    """One layer of a cache that keeps nothing: attention itself writes the new keys and values to their rows."""

    # What transformers asks of a cache layer.
    is_compileable = is_croppable = is_sliding = supports_early_init = False
    is_initialized = True
    keys = values = None

    def update(self, keys: "Tensor", values: "Tensor", *_: object, **__: object) -> "tuple[Tensor, Tensor]":
        """Return what is given."""
        return keys, values

    def get_seq_length(self) -> int:
        """No tokens."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of the keys that a mask must cover."""
        return query_length, 0

    def get_max_length(self) -> int:
        """No limit of its own."""
        return -1


_passes: list[tuple[Pass, dict[int, int]]] = []
"""The pass that goes through a model now, and how often each layer has attended in it."""


@cache
def _cache_type() -> Any:
    """Return transformers' cache class, after making the layers and the attention known to it."""
    import torch  # noqa: PLC0415
    from transformers import AttentionInterface  # noqa: PLC0415
    from transformers.cache_utils import Cache, CacheLayerMixin  # noqa: PLC0415

    CacheLayerMixin.register(_AttendedLayer)
    AttentionInterface.register(_NAME, torch.compiler.disable(_attention))
    return Cache


def _attention(
    module: Any,
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
    attention_mask: "Tensor",
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: "Tensor | None" = None,
    **more: Any,
) -> "tuple[Tensor, None]":
    """Attention as transformers' models call it."""
    if any(more.get(name) is not None for name in _UNKNOWN):
        raise NotImplementedError("attention that depends on more than queries and keys")
    current, calls = _passes[-1]
    calls[module.layer_idx] = calls.get(module.layer_idx, 0) + 1
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    kind = _KINDS[attention_mask.shape[-1]]
    attention = current.attend(module.layer_idx, (query[0], key[0], value[0]), kind, scale, softcap, s_aux)
    return attention.to(query.dtype)[None], None


@contextmanager
def attending(loaded: Loaded, current: Pass, width: int) -> "Iterator[dict[str, Any]]":
    """Have a model attend as a pass does; give what the model is to be called with besides tokens and positions.

    A `NotImplementedError` says that some layer has not attended so, and what was computed is wrong.
    """
    import torch  # noqa: PLC0415

    kind = _cache_type()
    config = loaded.model.get_decoder().config
    usual, calls, layers = config._attn_implementation, dict[int, int](), range(config.num_hidden_layers)
    masks = {name: torch.zeros((1, 1, width, size), device=loaded.device) for size, name in _KINDS.items()}
    window = current.window
    mask = masks if window and window.some else masks["sliding_attention" if window else "full_attention"]
    _passes.append((current, calls))
    config._attn_implementation = _NAME
    try:
        yield {
            "attention_mask": mask,
            "past_key_values": kind(layers=[_AttendedLayer() for _ in layers]),
            "use_cache": True,
        }
    finally:
        config._attn_implementation = usual
        _passes.pop()
    if calls != dict.fromkeys(layers, 1):
        raise NotImplementedError("layers with attention of their own")
