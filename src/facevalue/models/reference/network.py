"""The reference model's arithmetic in NumPy: the vision tower, the projector and the decoder, in single precision.

A picture goes through tower and decoder once; every question about it sees the same keys and values. The layers are
those of SigLIP and Llama as transformers defines them, which a test compares with this module.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from facevalue.errors import ModelError

Floats = npt.NDArray[np.float32]
Tensors = Mapping[str, Floats]
Real = TypeVar("Real", npt.NDArray[np.float32], npt.NDArray[np.float64])

_TYPES: dict[str, np.dtype[np.float16] | np.dtype[np.float32]] = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4")}
_MOST_BYTES = 64 * 2**20
_VISION = "vision_tower."
_LANGUAGE = "language_model.model."
_PROJECTOR = "multi_modal_projector."


def read_weights(path: Path) -> dict[str, Floats]:
    """Read a safetensors file of small floats as single precision.

    Raises
    ------
    ModelError
        It is no such file, or damaged.
    """
    try:
        data = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b""
        (length,) = struct.unpack_from("<Q", data)
        header: dict[str, Any] = json.loads(data[8 : 8 + length])
        body = memoryview(data)[8 + length :]
        out = {}
        for name, entry in header.items():
            if name != "__metadata__":
                start, end = entry["data_offsets"]
                flat: npt.NDArray[Any] = np.frombuffer(body[start:end], dtype=_TYPES[entry["dtype"]])
                out[name] = flat.reshape(entry["shape"]).astype(np.float32)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error) as error:
        raise ModelError(f"{path.name} is no file of weights of the reference model: {error}.") from error
    return out


@dataclass(frozen=True)
class Prefix:
    """What has been run and every question shares: keys and values of each layer, shape (heads, length, size)."""

    keys: tuple[Floats, ...]
    values: tuple[Floats, ...]

    @property
    def length(self) -> int:
        """How many tokens."""
        return self.keys[0].shape[1]


class Network:
    """The reference model.

    Parameters
    ----------
    weights:
        Tensors by the names that transformers gives them.
    config:
        The model's configuration as transformers writes it.
    """

    def __init__(self, weights: Tensors, config: Mapping[str, Any]) -> None:
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
        # Projections that see the same input are done as one product, transposed once.
        self._blocks = [self._block(f"{_LANGUAGE}layers.{i}.") for i in range(self._layers)]

    def _block(self, at: str) -> dict[str, Floats]:
        w = self._w
        attention = [w[f"{at}self_attn.{name}_proj.weight"] for name in ("q", "k", "v")]
        inward = [w[f"{at}mlp.{name}_proj.weight"] for name in ("gate", "up")]
        return {
            "before": w[f"{at}input_layernorm.weight"],
            "qkv": np.ascontiguousarray(np.concatenate(attention).T),
            "out": np.ascontiguousarray(w[f"{at}self_attn.o_proj.weight"].T),
            "after": w[f"{at}post_attention_layernorm.weight"],
            "inward": np.ascontiguousarray(np.concatenate(inward).T),
            "down": np.ascontiguousarray(w[f"{at}mlp.down_proj.weight"].T),
        }

    def look(self, pixels: npt.NDArray[np.uint8]) -> Floats:
        """Turn a picture into embeddings, as many as the picture has patches.

        Parameters
        ----------
        pixels:
            Shape (side, side, 3), red green blue.

        Returns
        -------
        Shape (patches, width).
        """
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

    def run(self, embedded: Floats) -> Prefix:
        """Run the decoder over what questions share; shape of `embedded` (length, width)."""
        keys, values = [], []
        x = embedded
        length = len(x)
        mask = np.triu(np.full((length, length), -np.inf, dtype=np.float32), 1)
        turn = self._turns(np.arange(length))
        for block in self._blocks:
            q, k, v = self._qkv(x[None], block, turn)
            keys.append(k[0])
            values.append(v[0])
            mixed = softmax(q[0] @ k[0].transpose(0, 2, 1) + mask) @ v[0]
            x = self._feed(x + mixed.transpose(1, 0, 2).reshape(x.shape) @ block["out"], block)
        return Prefix(tuple(keys), tuple(values))

    def read(self, prefix: Prefix, rows: Sequence[Sequence[int]], places: Sequence[Sequence[int]]) -> list[Floats]:
        """Compute what follows tokens of rows that go on from a prefix, each row for itself.

        Parameters
        ----------
        prefix:
            What the rows share.
        rows:
            Tokens of each row.
        places:
            Places in each row at which to read.

        Returns
        -------
        list of Floats
            Logits of each row, shape (its places, vocabulary).
        """
        count, length = len(rows), max(len(row) for row in rows)
        ids = np.zeros((count, length), dtype=np.int64)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
        x = self.embeddings[ids]
        turn = self._turns(np.arange(prefix.length, prefix.length + length))
        below = np.arange(length)
        for number, block in enumerate(self._blocks):
            q, k, v = self._qkv(x, block, turn)
            if number + 1 < self._layers:
                mixed = self._attended(q, k, v, below, prefix.keys[number], prefix.values[number])
                x = self._feed(x + mixed @ block["out"], block)
        # Above the last layer's keys and values only the places that are read matter.
        line = np.array([at for at, own in enumerate(places) for _ in own])
        column = np.array([place for own in places for place in own])
        mixed = self._attended(
            q[line, :, column][:, :, None], k[line], v[line], column[:, None, None], prefix.keys[-1], prefix.values[-1]
        )
        x = self._feed(x[line, column] + mixed[:, 0] @ block["out"], block)
        logits = self._rms_norm(x, self._w[_LANGUAGE + "norm.weight"]) @ self.embeddings.T
        return np.split(logits, np.cumsum([len(own) for own in places])[:-1])

    def _attended(
        self, q: Floats, k: Floats, v: Floats, places: npt.NDArray[np.int64], keys: Floats, values: Floats
    ) -> Floats:
        """Attend to a prefix that all rows share, and to each row's own tokens up to a place.

        Over the prefix all rows are one product per head; over its own tokens each row is one.

        Parameters
        ----------
        q:
            Shape (rows, heads, places, size).
        k, v:
            Shape (rows, heads, length, size).
        places:
            Where each of `q` stands in its row; broadcasts with (rows, heads, places).
        keys, values:
            Of the prefix, shape (heads, prefix, size).

        Returns
        -------
        Shape (rows, places, width).
        """
        count, heads, read, size = q.shape
        own = np.arange(k.shape[2])
        hidden = np.where(own > np.asarray(places)[..., None], np.float32(-np.inf), np.float32(0))
        flat = q.transpose(1, 0, 2, 3).reshape(heads, count * read, size)
        far = (flat @ keys.transpose(0, 2, 1)).reshape(heads, count, read, -1).transpose(1, 0, 2, 3)
        near = q @ k.transpose(0, 1, 3, 2) + hidden
        top = np.maximum(far.max(axis=-1, keepdims=True), near.max(axis=-1, keepdims=True))
        far, near = np.exp(far - top), np.exp(near - top)
        total = far.sum(axis=-1, keepdims=True) + near.sum(axis=-1, keepdims=True)
        far = far.transpose(1, 0, 2, 3).reshape(heads, count * read, -1)
        mixed = (far @ values).reshape(heads, count, read, size).transpose(1, 0, 2, 3) + near @ v
        return (mixed / total).transpose(0, 2, 1, 3).reshape(count, read, heads * size)

    def _qkv(self, x: Floats, block: Mapping[str, Floats], turn: tuple[Floats, Floats]) -> tuple[Floats, ...]:
        count, length, _ = x.shape
        joint = self._rms_norm(x, block["before"]) @ block["qkv"]
        q, k, v = joint.reshape(count, length, 3, self._heads, self._size).transpose(2, 0, 3, 1, 4)
        return _turned(q, turn) / np.float32(np.sqrt(self._size)), _turned(k, turn), v

    def _feed(self, x: Floats, block: Mapping[str, Floats]) -> Floats:
        gate, up = np.split(self._rms_norm(x, block["after"]) @ block["inward"], 2, axis=-1)
        return x + gate / (1 + np.exp(-gate)) * up @ block["down"]

    def _rms_norm(self, x: Floats, weight: Floats) -> Floats:
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(self._eps)) * weight

    def _turns(self, places: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        angles = np.outer(places, self._frequencies)
        both = np.concatenate([angles, angles], axis=1)
        return np.cos(both).astype(np.float32), np.sin(both).astype(np.float32)


def _turned(x: Floats, turn: tuple[Floats, Floats]) -> Floats:
    """Rotary position embedding: the second half of a head is the imaginary part of the first."""
    half = x.shape[-1] // 2
    turned: Floats = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * turn[0] + turned * turn[1]


def softmax(x: Real) -> Real:
    """Softmax over the last axis."""
    shares = np.exp(x - x.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)
