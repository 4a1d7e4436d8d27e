r"""Attention of many token sequences in one pass: each over a prefix that others share, and over its own tokens.

With :math:`s` the scaled scores of a query, :math:`A` the keys of its prefix and :math:`B` its own ones, each part
gives

.. math:: m_X = \max_X s, \quad l_X = \sum_X e^{s - m_X}, \quad o_X = \sum_X e^{s - m_X} v,

and the result is :math:`(e^{m_A - m} o_A + e^{m_B - m} o_B) / (e^{m_A - m} l_A + e^{m_B - m} l_B)` with :math:`m` the
larger one: what a softmax over both gives. So a prefix is read once for all sequences after it, and copied for none.

The numbers of a sequence don't depend on what else is in the pass, to the last bit, where the rows of a matrix product
don't depend on how many there are. Kernels on CPUs have another way for fewer than 4 rows, so there are never so few.

A sequence moves to a row twice as long when it has filled its own, so memory is within about twice what is used. What a
row holds and how long it is depend on its own sequence alone: so does every number that is computed from it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from facevalue.models.hf.calls import calling, logits_of
from facevalue.models.hf.loading import Loaded, Window, window_of
from facevalue.models.hf.prefix import Prefix
from facevalue.models.hf.resumption import Path

if TYPE_CHECKING:
    from torch import Tensor


# Keys and values of token sequences that follow shared prefixes: each has a row of a tensor as long as it needs.


_SHORTEST, _FEWEST = 64, 4
"""Tokens of the shortest row, and rows of the smallest shelf."""


@dataclass(slots=True, eq=False)
class TokenSequence:
    """Tokens after a prefix that have been read: so many, kept in a row of a shelf."""

    prefix: Prefix
    shelf: "Shelf"
    row: int
    length: int = 0

    def free(self) -> None:
        """Give its row back."""
        self.shelf.remove(self.row)


@dataclass(slots=True, eq=False)
class Shelf:
    """Rows of one length; those in use come first.

    `keys` and `values` have a tensor for each layer, (rows, heads, length, width). `prompt`: it is for one prompt,
    which is read several tokens at a time.
    """

    length: int
    keys: "list[Tensor]"
    values: "list[Tensor]"
    prompt: bool = False
    sequences: list[TokenSequence] = field(default_factory=list)

    @classmethod
    def like(cls, prefix: Prefix, length: int, *, prompt: bool = False) -> "Shelf":
        """Return an empty shelf for sequences after prefixes like this one."""

        def empty(place: int) -> "list[Tensor]":
            tensors = [pair[place] for pair in prefix.layers]
            return [t.new_zeros(int(prompt), t.shape[1], length, t.shape[3]) for t in tensors if t is not None]

        return cls(length, empty(0), empty(1), prompt)

    @property
    def capacity(self) -> int:
        """Rows that memory is taken for."""
        return len(self.keys[0])

    def add(self, sequence: TokenSequence) -> None:
        """Give a sequence the next row, with what it has in its present one."""
        source, row = sequence.shelf, sequence.row
        if len(self.sequences) == self.capacity:
            self._resize(max(_FEWEST, self.capacity + self.capacity // 2))
        place = len(self.sequences)
        if sequence.length:
            for shelved, its in zip((*self.keys, *self.values), (*source.keys, *source.values), strict=True):
                shelved[place, :, : sequence.length] = its[row, :, : sequence.length]
        self.sequences.append(sequence)
        sequence.shelf, sequence.row = self, place

    def remove(self, row: int) -> None:
        """Take out what is in a row; what is in the last one takes its place."""
        last = self.sequences.pop()
        if row < len(self.sequences):
            for shelved in (*self.keys, *self.values):
                shelved[row, :, : last.length] = shelved[last.row, :, : last.length]
            self.sequences[row], last.row = last, row
        if len(self.sequences) < self.capacity // 4:
            self._resize(max(_FEWEST, 2 * len(self.sequences)) if self.sequences else 0)

    def _resize(self, rows: int) -> None:
        size = len(self.sequences)
        for tensors in (self.keys, self.values):
            for layer, tensor in enumerate(tensors):
                tensors[layer] = tensor.new_zeros(rows, *tensor.shape[1:])
                tensors[layer][:size] = tensor[:size]


class Shelves:
    """All shelves of one model."""

    def __init__(self) -> None:
        self._by_length: dict[int, Shelf] = {}

    def begin(self, prefix: Prefix, length: int) -> TokenSequence:
        """Return a prompt of which nothing is read yet, of so many tokens."""
        shelf = Shelf.like(prefix, shelf_length(length), prompt=True)
        sequence = TokenSequence(prefix, shelf, 0)
        shelf.add(sequence)
        return sequence

    def fork(self, sequence: TokenSequence) -> TokenSequence:
        """Return a copy for one of the replies to a prompt."""
        copy = TokenSequence(sequence.prefix, sequence.shelf, sequence.row, sequence.length)
        self._shelf(sequence.prefix, shelf_length(sequence.length + 1)).add(copy)
        return copy

    def extend(self, sequence: TokenSequence) -> None:
        """Make room for one more token."""
        shelf, row = sequence.shelf, sequence.row
        if sequence.length == shelf.length:
            self._shelf(sequence.prefix, 2 * shelf.length).add(sequence)
            shelf.remove(row)

    @property
    def tokens(self) -> int:
        """Tokens that memory is taken for."""
        return sum(shelf.capacity * shelf.length for shelf in self._by_length.values())

    def _shelf(self, prefix: Prefix, length: int) -> Shelf:
        if length not in self._by_length:
            self._by_length[length] = Shelf.like(prefix, length)
        return self._by_length[length]


def shelf_length(length: int) -> int:
    """Return the length of the rows that so many tokens are kept in.

    >>> [shelf_length(length) for length in (1, 64, 65, 300)]
    [64, 64, 128, 512]
    """
    return max(_SHORTEST, 1 << (length - 1).bit_length())


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
    """Batch of one pass: one or more tokens of each sequence, whose keys and values it then keeps."""

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
            self._shelved.append(self._shelved_rows(shelf, slice(first, first + len(rows)), selected, rows, places))
            first += len(rows)
        for n in prompts:
            sequence, tokens = steps[n]
            end, count = self.ends[n] + 1, len(tokens)
            places = [*range(sequence.length, sequence.length + count)]
            self._shelved.append(
                self._shelved_rows(sequence.shelf, slice(end - count, end), slice(0, 1), [0] * count, places)
            )
        self._shared = [self._after(prefix, tokens_at) for prefix, tokens_at in at.items()]

    def _shelved_rows(
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
                attention = _attend(
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
        return _merge_parts(within, before, sinks).reshape(heads, count, -1).transpose(0, 1)

    @property
    def window(self) -> Window | None:
        """Attention window of the model's layers; None if they see all."""
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
    o, m, s = _attend(rows, keys, values, hidden, softcap)
    shape = heads, group, count
    return o.view(*shape, -1), m.view(*shape, 1), s.view(*shape, 1)


def _attend(
    queries: "Tensor", keys: "Tensor", values: "Tensor", hidden: "Tensor | None", softcap: float | None
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


def _merge_parts(first: Part, second: Part, sinks: "Tensor | None") -> "Tensor":
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
        """Return 0: the layer keeps no tokens."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of the keys that a mask must cover."""
        return query_length, 0

    def get_max_length(self) -> int:
        """Return -1: the layer has no limit of its own."""
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


# Token sequences of any number and length that go through the model together, each after its prefix.


class Sequences:
    """Decoder of many sequences in passes of one width.

    On a GPU every pass has just `width` tokens, filled up if there are fewer, and on a CPU as many as a multiple of
    `LEAST`: the kernels are the same then whatever else is in the pass, and so are a sequence's numbers.
    """

    def __init__(self, loaded: Loaded, width: int) -> None:
        self.loaded = loaded
        self.width = width
        self.shelves = Shelves()

    def read(self, steps: Sequence[tuple[TokenSequence, Sequence[int]]], rows_wanted: Sequence[int]) -> "Tensor":
        """Read further tokens of sequences, no more than `width` in all.

        Return what follows the last token of those that are `wanted`, by their numbers: logits, float32, (len(wanted),
        vocabulary). After an error the sequences are as they were.
        """
        import torch  # noqa: PLC0415

        loaded = self.loaded
        for sequence, _ in steps:
            if not sequence.shelf.prompt:
                self.shelves.extend(sequence)
        current = Pass(loaded, steps)
        total = len(current.ids)
        width = self._padded_count(total)
        ids = current.ids + [current.ids[0]] * (width - total)
        positions = current.positions + [current.positions[0]] * (width - total)
        places = [current.ends[n] for n in rows_wanted] or [0]
        padded = places + [places[0]] * (self._padded_count(len(places)) - len(places))
        with torch.inference_mode(), calling(), attending(loaded, current, width) as caches:
            logits = logits_of(
                loaded.model,
                torch.as_tensor(padded),
                input_ids=torch.as_tensor([ids], device=loaded.device),
                position_ids=torch.as_tensor([positions], device=loaded.device),
                **caches,
            )
        for sequence, tokens in steps:
            sequence.length += len(tokens)
        return logits[0, : len(rows_wanted)].float()

    def _padded_count(self, count: int) -> int:
        """Return how many rows a product has for so many."""
        if self.loaded.device.type != "cpu":
            return max(self.width, count)
        return -(-count // LEAST) * LEAST


class SequenceDecoding:
    """Decoding by `Sequences`, with the interface of `decoding.Decoding`, to be tried beside plain passes."""

    def __init__(self, sequences: Sequences, prefixes: Sequence[Prefix], suffixes: Sequence[Sequence[int]]) -> None:
        self._sequences = sequences
        self._prefixes = prefixes
        self._suffixes = suffixes
        self._kept: dict[Path, TokenSequence] = {}

    def read(self, paths: Sequence[Path]) -> "Tensor":
        """Compute what follows some beginnings of replies, all of a length at once."""
        import torch  # noqa: PLC0415

        rows: dict[Path, Tensor] = {}
        for member in dict.fromkeys(member for member, _ in paths):
            if (member, ()) not in self._kept:
                rows[member, ()] = self._begin_prompt(member)
        for length in range(1, max((len(reply) for _, reply in paths), default=0) + 1):
            level = list(dict.fromkeys((m, reply[:length]) for m, reply in paths if len(reply) >= length))
            level = [path for path in level if path not in self._kept]
            for m, reply in level:
                self._kept[m, reply] = self._sequences.shelves.fork(self._kept[m, reply[:-1]])
            if level:
                level_logits = self._sequences.read([(self._kept[p], p[1][-1:]) for p in level], range(len(level)))
                rows |= dict(zip(level, level_logits, strict=True))
        return torch.stack([rows[path] for path in paths])

    def _begin_prompt(self, member: int) -> "Tensor":
        """Read a prompt in two pieces, as passes with little room do."""
        suffix = self._suffixes[member]
        sequence = self._sequences.shelves.begin(self._prefixes[member], len(suffix))
        self._kept[member, ()] = sequence
        pieces = [suffix[: len(suffix) // 2], suffix[len(suffix) // 2 :]]
        for piece in pieces:
            if piece:
                logits = self._sequences.read([(sequence, piece)], [0])
        return logits[0]
