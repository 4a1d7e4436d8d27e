"""Network of the reference model in NumPy: vision tower, projector and decoder, in single precision.

A picture goes through tower and decoder once; every question about it sees the same keys and values. The layers are
those of SigLIP and Llama as transformers defines them, which a test compares with this module.
"""

import threading
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize
from threadpoolctl import threadpool_limits

from facevalue.errors import ModelError

# Texts that go on from one picture, as a tree of tokens: which of them are still to be run, and what they follow.


Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

ROWS = 128
"""Most branches that are run at once."""
_TOKENS = 4096
"""Most tokens of these, each branch counted as long as the longest: memory grows with the square of their lengths."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedPrefix:
    """Computed prefix that every question shares: keys and values of each layer, shape (heads, length, size)."""

    keys: tuple[Floats, ...]
    values: tuple[Floats, ...]

    @property
    def length(self) -> int:
        """Number of tokens."""
        return self.keys[0].shape[1]


@dataclass(frozen=True, slots=True, eq=False)
class BranchStep:
    """New tokens of branches, and what they follow. Rows are branches with new tokens; their padding is read by nobody.

    Of each new token, shape (new,): its number, its id, how many tokens it has before it after the prefix, and its
    `home` in `queries`, flat. Of each row, its tokens' numbers from the first one (`lines`), which of the new ones it
    computes (`queries`), and where in its line these stand (`columns`). `read` says at which of the new tokens to read.
    """

    numbers: Ints
    tokens: Ints
    depths: Ints
    lines: Ints
    queries: Ints
    columns: Ints
    home: Ints
    read: Ints


class BranchPool:
    """Keys and values of tokens by number, in each layer; shape (room, heads, size)."""

    def __init__(self, layers: int, heads: int, size: int) -> None:
        self.keys = [np.zeros((0, heads, size), dtype=np.float32) for _ in range(layers)]
        self.values = [np.zeros((0, heads, size), dtype=np.float32) for _ in range(layers)]

    def make_room(self, count: int) -> None:
        """Make room for so many tokens in all."""
        for tables in (self.keys, self.values):
            for layer, table in enumerate(tables):
                if len(table) < count:
                    # Zeros, since padding may stand for a token that is not run yet.
                    tables[layer] = np.zeros((max(count, 2 * len(table)), *table.shape[1:]), dtype=np.float32)
                    tables[layer][: len(table)] = table


class Branches:
    """Texts that go on from one prefix, as a tree of tokens: what several of them begin with is run once.

    Tokens that are never said (`unsaid`), such as that of a picture, have minus infinity.
    """

    ROOT = -1

    def __init__(self, network: "Network", prefix: SharedPrefix, unsaid: Iterable[int] = ()) -> None:
        self._unsaid = list(unsaid)
        self._network = network
        self._prefix = prefix
        self._pool = network.pool()
        self._numbers: dict[tuple[int, int], int] = {}
        self._tokens: list[int] = []
        self._parents: list[int] = []
        self._run: list[bool] = []
        self._logits: dict[int, Floats] = {}

    def enter(self, tokens: Iterable[int], after: int = ROOT) -> int:
        """Return the number of the last token of a text that goes on after a token; runs nothing."""
        for token in tokens:
            number = self._numbers.setdefault((after, token), len(self._tokens))
            if number == len(self._tokens):
                self._tokens.append(token)
                self._parents.append(after)
                self._run.append(False)
            after = number
        return after

    def path(self, number: int) -> list[int]:
        """Return the numbers of the tokens up to a token and of itself."""
        out = []
        while number != self.ROOT:
            out.append(number)
            number = self._parents[number]
        return out[::-1]

    def logits(self, numbers: Iterable[int]) -> Floats:
        """Return what follows tokens that have been read, shape (tokens, vocabulary)."""
        return np.stack([self._logits[number] for number in numbers])

    def forget(self) -> None:
        """Forget what was read; what was run is kept."""
        self._logits.clear()

    def run(self, nodes: Iterable[int]) -> None:
        """Run tokens and all before them, and read what follows them, where that is not known yet."""
        missing = {number for number in nodes if number not in self._logits}
        paths = {number: self.path(number) for number in missing}
        inner = {number for path in paths.values() for number in path[:-1]}
        ends = sorted((paths[n] for n in missing - inner), key=lambda path: (len(path), path))
        self._pool.make_room(len(self._tokens))
        start = 0
        while start < len(ends):
            longest = len(ends[min(start + ROWS, len(ends)) - 1])
            stop = start + max(1, min(ROWS, _TOKENS // longest))
            step = self._step(ends[start:stop], missing)
            start = stop
            logits = self._network.extend(self._prefix, self._pool, step)
            logits[:, self._unsaid] = -np.inf
            self._logits |= zip(step.numbers[step.read].tolist(), logits, strict=True)
            for number in step.numbers.tolist():
                self._run[number] = True

    def _step(self, paths: Sequence[Sequence[int]], needed: Container[int]) -> BranchStep:
        """Plan to run these paths from their first token on that is not run, or wanted and not read."""
        places: dict[int, int] = {}
        homes: list[tuple[int, int]] = []
        depths: list[int] = []
        queries: list[list[int]] = []
        firsts: list[int] = []
        for row, path in enumerate(paths):
            new = ((n not in self._logits and n in needed) or not self._run[n] for n in path)
            first = next(at for at, is_new in enumerate(new) if is_new)
            firsts.append(first)
            nodes = []
            for column, number in enumerate(path[first:]):
                place = places.setdefault(number, len(homes))
                if place == len(homes):
                    homes.append((row, column))
                    depths.append(first + column)
                nodes.append(place)
            queries.append(nodes)
        longest = max(map(len, queries))
        return BranchStep(
            numbers=np.array(list(places)),
            tokens=np.array([self._tokens[number] for number in places]),
            depths=np.array(depths),
            lines=_pad_rows(paths),
            queries=_pad_rows(queries),
            columns=np.array(firsts)[:, None] + np.arange(longest),
            home=np.array([row * longest + column for row, column in homes]),
            read=np.array([place for number, place in places.items() if number in needed]),
        )


def _pad_rows(rows: Sequence[Sequence[int]]) -> Ints:
    longest = max(map(len, rows))
    return np.array([[*row, *[0] * (longest - len(row))] for row in rows])


Turns = npt.NDArray[np.complex64]
Tensors = Mapping[str, Floats]
Real = TypeVar("Real", npt.NDArray[np.float32], npt.NDArray[np.float64])

_TYPES: dict[str, np.dtype[Any]] = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4")}
_TOGETHER = 256
_LARGEST = 60.0  # of single precision, exp(60) is far from the ends
_MOST_BYTES = 64 * 2**20
_VISION = "vision_tower."
_LANGUAGE = "language_model.model."
_PROJECTOR = "multi_modal_projector."


class _OneThread:
    """Matrix products on one thread each, while anyone wants that.

    They are small here. OpenBLAS would share each among all cores, and its threads would wait for each other in loops
    that keep the cores busy: where anything else runs, that is slower by an order of magnitude. Where NumPy's library
    is one that cannot be told, nothing is changed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users, self._limits = 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limits.enter_context(threadpool_limits(1, user_api="blas"))
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limits.close()


ONE_THREAD = _OneThread()
"""To be entered around matrix products."""


def read_weights(path: Path) -> dict[str, Floats]:
    """Read a safetensors file of small floats as single precision."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
        tensors = deserialize(path.read_bytes())  # type: ignore[no-untyped-call]  # the library's stub has no types
        return {name: _tensor(name, **entry) for name, entry in tensors}
    except (OSError, ValueError, SafetensorError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelError(f"{path.name} has no weights of the reference model, or is damaged ({reason}).") from error


def _tensor(name: str, dtype: str, shape: Sequence[int], data: bytes) -> Floats:
    if dtype not in _TYPES:
        raise ValueError(f"{name} is of type {dtype}, not of {' or '.join(_TYPES)}")
    values: npt.NDArray[Any] = np.frombuffer(data, _TYPES[dtype]).reshape(shape)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has values that are not finite numbers")
    return values.astype(np.float32)


class Network:
    """The reference model, from tensors and a configuration as transformers names and writes them."""

    def __init__(self, weights: Tensors, config: Mapping[str, Any]) -> None:
        try:
            self._set_up(weights, config)
            logits = self.run(self.look(np.zeros((self.side, self.side, 3), dtype=np.uint8)))
            self.read(logits, [[0]], [[0]])
        except (LookupError, ValueError, TypeError, ArithmeticError, MemoryError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise ModelError(f"These are not weights and settings of the reference model ({reason}).") from error

    def _set_up(self, weights: Tensors, config: Mapping[str, Any]) -> None:
        self._w = weights
        vision, text = config["vision_config"], config["text_config"]
        self.side, self._patch = int(vision["image_size"]), int(vision["patch_size"])
        self._vision_layers, self._vision_heads = int(vision["num_hidden_layers"]), int(vision["num_attention_heads"])
        self._vision_eps = float(vision.get("layer_norm_eps", 1e-6))
        self._layers, self._heads = int(text["num_hidden_layers"]), int(text["num_attention_heads"])
        self._width, self._eps = int(text["hidden_size"]), float(text["rms_norm_eps"])
        self._size = self._width // self._heads
        theta = float(text["rope_parameters"]["rope_theta"])
        self._frequencies = theta ** -(np.arange(0, self._size, 2, dtype=np.float64) / self._size)
        self.embeddings = weights[_LANGUAGE + "embed_tokens.weight"]
        self._output = np.ascontiguousarray((self.embeddings * weights[_LANGUAGE + "norm.weight"]).T)
        self._blocks = [self._block(f"{_LANGUAGE}layers.{i}.") for i in range(self._layers)]

    def _block(self, at: str) -> dict[str, Floats]:
        """Return one layer's projections, transposed; those that see the same input are one product.

        The weights of the normalisation before a projection are multiplied into it, as is the scale of the scores.
        """
        w = self._w
        # The two halves of a head are real and imaginary parts; next to each other they are complex numbers.
        order = np.arange(self._width).reshape(self._heads, 2, -1).transpose(0, 2, 1).ravel()
        q, k, v = (w[f"{at}self_attn.{name}_proj.weight"] for name in ("q", "k", "v"))
        attention = np.concatenate([q[order] / np.float32(np.sqrt(self._size)), k[order], v])
        attention = attention * w[f"{at}input_layernorm.weight"]
        inward = np.concatenate([w[f"{at}mlp.{name}_proj.weight"] for name in ("gate", "up")])
        inward = inward * w[f"{at}post_attention_layernorm.weight"]
        return {
            "qkv": np.ascontiguousarray(attention.T),
            "out": np.ascontiguousarray(w[f"{at}self_attn.o_proj.weight"].T),
            "inward": np.ascontiguousarray(inward.T),
            "down": np.ascontiguousarray(w[f"{at}mlp.down_proj.weight"].T),
        }

    def pool(self) -> BranchPool:
        """Return room for keys and values of this model."""
        return BranchPool(self._layers, self._heads, self._size)

    def look(self, pixels: npt.NDArray[np.uint8]) -> Floats:
        """Turn a picture, (side, side, 3), red green blue, into embeddings, (patches, width)."""
        w, p, n = self._w, self._patch, self.side // self._patch
        values = pixels.astype(np.float32) / np.float32(127.5) - np.float32(1)
        patches: Floats = values.reshape(n, p, n, p, 3).transpose(0, 2, 4, 1, 3).reshape(n * n, 3 * p * p)
        kernel = w[_VISION + "embeddings.patch_embedding.weight"]
        x: Floats = patches @ kernel.reshape(len(kernel), -1).T
        x = x + w[_VISION + "embeddings.patch_embedding.bias"]
        x = x + w[_VISION + "embeddings.position_embedding.weight"]
        for layer in range(self._vision_layers):
            x = self._vision_layer(x, f"{_VISION}encoder.layers.{layer}.")
        x = np.maximum(self._linear(x, _PROJECTOR + "linear_1"), 0)
        return self._linear(x, _PROJECTOR + "linear_2")

    def _vision_layer(self, x: Floats, at: str) -> Floats:
        normed = self._layer_norm(x, at + "layer_norm1")
        q, k, v = (self._by_head(self._linear(normed, f"{at}self_attn.{name}_proj")) for name in "qkv")
        scores = q @ k.transpose(0, 2, 1) / np.float32(np.sqrt(q.shape[2]))
        mixed = (softmax(scores) @ v).transpose(1, 0, 2).reshape(x.shape)
        x = x + self._linear(mixed, at + "self_attn.out_proj")
        inner = np.maximum(self._linear(self._layer_norm(x, at + "layer_norm2"), at + "mlp.fc1"), 0)
        return x + self._linear(inner, at + "mlp.fc2")

    def _by_head(self, x: Floats) -> Floats:
        return x.reshape(len(x), self._vision_heads, -1).transpose(1, 0, 2)

    def _linear(self, x: Floats, name: str) -> Floats:
        return x @ self._w[name + ".weight"].T + self._w[name + ".bias"]

    def _layer_norm(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(self._vision_eps))
        return centred / scale * self._w[name + ".weight"] + self._w[name + ".bias"]

    def run(self, embedded: Floats) -> SharedPrefix:
        """Run the decoder over what questions share; shape of `embedded` (length, width)."""
        keys, values = [], []
        x = np.array(embedded, dtype=np.float32)
        hidden = np.triu(np.full((len(x), len(x)), -np.inf, dtype=np.float32), 1)
        turn = self._turns(np.arange(len(x)))
        for block in self._blocks:
            q, k, v = self._qkv(x, block, turn).transpose(1, 2, 0, 3)
            keys.append(np.ascontiguousarray(k))
            values.append(np.ascontiguousarray(v))
            mixed = softmax(q @ k.transpose(0, 2, 1) + hidden) @ v
            self._finish(x, mixed.transpose(1, 0, 2).reshape(x.shape), block)
        return SharedPrefix(tuple(keys), tuple(values))

    def read(
        self, prefix: SharedPrefix, rows: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
    ) -> list[Floats]:
        """Compute what follows the tokens of rows after a prefix: logits of each, (its places, vocabulary)."""
        branches = Branches(self, prefix)
        ends = [branches.enter(row) for row in rows]
        paths = [branches.path(end) for end in ends]
        node_lists = [[path[place] for place in nodes] for path, nodes in zip(paths, places, strict=True)]
        branches.run([*ends, *(node for nodes in node_lists for node in nodes)])
        return [branches.logits(nodes) for nodes in node_lists]

    def extend(self, prefix: SharedPrefix, pool: BranchPool, step: BranchStep) -> Floats:
        """Run new tokens of branches that go on from a prefix: logits where it is read, (places, vocabulary).

        The pool has keys and values of all tokens after the prefix; those of the new ones are filled in.
        """
        x = self.embeddings[step.tokens]
        turn = self._turns(prefix.length + step.depths)
        queries = step.queries.shape[1]
        for layer, block in enumerate(self._blocks):
            projected = self._qkv(x, block, turn)
            pool.keys[layer][step.numbers], pool.values[layer][step.numbers] = projected[:, 1], projected[:, 2]
            lines, columns, queried, home = step.lines, step.columns, step.queries, step.home
            if layer + 1 == self._layers:  # above the last keys and values only what is read matters
                at = home[step.read]
                lines, columns, queried = lines[at // queries], columns.reshape(-1)[at][:, None], step.read[:, None]
                x, home = x[step.read], np.arange(len(at))
            hidden = np.where(np.arange(lines.shape[1]) > columns[..., None], np.float32(-np.inf), np.float32(0))
            mixed = _attend(
                projected[queried, 0], pool.keys[layer][lines], pool.values[layer][lines], hidden,
                prefix.keys[layer], prefix.values[layer],
            )  # fmt: skip
            self._finish(x, mixed[home], block)
        return _normalise(x, self._eps) @ self._output

    def _qkv(self, x: Floats, block: Mapping[str, Floats], turn: Turns) -> Floats:
        """Return queries, keys and values of tokens, turned as their places want; shape (tokens, 3, heads, size)."""
        projected: Floats = _normalise(x, self._eps) @ block["qkv"]
        turned = projected[:, : 2 * self._width].view(np.complex64)
        turned *= turn
        return projected.reshape(len(x), 3, self._heads, self._size)

    def _finish(self, x: Floats, mixed: Floats, block: Mapping[str, Floats]) -> None:
        """Add to tokens, in place, what they attended to, and what the layer then makes of them.

        A few at a time, which stay in the processor's cache.
        """
        for start in range(0, len(x), _TOGETHER):
            rows = x[start : start + _TOGETHER]
            rows += mixed[start : start + _TOGETHER] @ block["out"]
            gate, up = np.split(_normalise(rows, self._eps) @ block["inward"], 2, axis=-1)
            with np.errstate(over="ignore"):  # 1 / infinity is right
                inner = np.exp(-gate)
            inner += 1
            np.divide(gate, inner, out=inner)
            inner *= up
            rows += inner @ block["down"]

    def _turns(self, places: npt.NDArray[np.int64]) -> Turns:
        """Return the rotary position embedding's factors for queries and keys, shape (places, width)."""
        angles = np.outer(np.arange(places.max() + 1), self._frequencies)
        return np.tile(np.exp(1j * angles).astype(np.complex64), 2 * self._heads)[places]


def _attend(q: Floats, k: Floats, v: Floats, hidden: Floats, keys: Floats, values: Floats) -> Floats:
    """Attend to a prefix that all rows share, and to each row's own tokens: shape (rows * queries, heads * size).

    `q`, `k` and `v` are (rows, length, heads, size), the prefix's keys and values (heads, prefix, size); `hidden` is
    minus infinity where a query doesn't see a row's token, else 0, (rows, queries, length). Over the prefix all rows
    are one product per head; over its own tokens each row is one.
    """
    rows, queries, heads, size = q.shape
    by_head = q.reshape(rows * queries, heads, size).transpose(1, 0, 2)
    far = by_head @ keys.transpose(0, 2, 1)
    near = q.transpose(2, 0, 1, 3) @ k.transpose(2, 0, 3, 1)
    near += hidden
    near = near.reshape(heads, rows * queries, -1)
    # Scores are small as a rule; larger ones are moved, so that no exponential runs over and no row vanishes.
    if far.min() < -_LARGEST or max(far.max(), near.max()) > _LARGEST:
        top = np.maximum(far.max(axis=-1, keepdims=True), near.max(axis=-1, keepdims=True))
        far, near = far - top, near - top
    np.exp(far, out=far)
    np.exp(near, out=near)
    mixed: Floats = np.matmul(far, values)
    mixed += (near.reshape(heads, rows, queries, -1) @ v.transpose(2, 0, 1, 3)).reshape(mixed.shape)
    total = far @ np.ones(far.shape[-1], dtype=np.float32) + near @ np.ones(near.shape[-1], dtype=np.float32)
    mixed /= total[..., None]
    return mixed.transpose(1, 0, 2).reshape(rows * queries, heads * size)


def _normalise(x: Floats, eps: float) -> Floats:
    """Root mean square normalisation over the last axis, without a weight: that is part of the next projection."""
    mean: Floats = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
    scale: Floats = np.sqrt(mean + np.float32(eps))[:, None]
    return x / scale


def softmax(x: Real) -> Real:
    """Softmax over the last axis."""
    shares = np.exp(x - x.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)
