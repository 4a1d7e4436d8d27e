"""A LLaVA of a few hundred kilobytes for llama.cpp: random weights, and a planted habit of answering "(a)" or "(b)".

The residual stream carries the token embeddings almost unchanged, so that the output layer works as a table of what
follows what: "(" after the prompt, then "a" or "b", then ")", then the end. The random layers, and the picture through
them, only shift the odds a little. One habit leaves much to all other tokens and begins in two ways; the other doesn't.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

gguf: Any = pytest.importorskip("gguf", reason="gguf is not installed: pip install '.[servers]'")
Weights = npt.NDArray[np.float32]

PIECES = ["\u2581(", "(", "a", "b", ")", "\u2581a", "\u2581b", "A", "B", "\u2581competent", "\u2581the", "."]
HABITS = {
    "start": {"(": 5.0, "\u2581(": 3.5, "a": 2.5, "\u2581b": 3.0, "\u2581the": 3.0},
    "open": {"a": 6.0, "b": 5.5, "\u2581the": 3.0},
    "letter": {")": 7.0, ".": 4.0},
    "close": {"</s>": 9.0},
}
SURE = HABITS | {"start": {"(": 13.0, "a": 9.0, "\u2581the": 10.5}, "open": {"a": 13.0, "b": 12.5, "\u2581the": 10.0}}
WIDTH, LAYERS, HEADS = 64, 2, 4
V_WIDTH, SIDE, PATCH = 32, 28, 14
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def write(folder: Path, habits: Mapping[str, Mapping[str, float]] = HABITS) -> tuple[Path, Path]:
    """Write the language model and its vision projector; return their paths."""
    rng = np.random.default_rng(20)
    return _language(folder / "tiny.gguf", rng, habits), _vision(folder / "tiny-mmproj.gguf", rng)


def _language(path: Path, rng: np.random.Generator, habits: Mapping[str, Mapping[str, float]]) -> Path:
    special = ["<unk>", "<s>", "</s>"]
    tokens = special + [f"<0x{byte:02X}>" for byte in range(256)] + PIECES
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(PIECES)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny-llava")
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * 259 + [-float(i) for i in range(len(PIECES))])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_chat_template(TEMPLATE)

    state = dict.fromkeys(tokens, "start")
    state |= {"(": "open", "\u2581(": "open", ")": "close", ".": "close"}
    state |= dict.fromkeys(["a", "b", "A", "B", "\u2581a", "\u2581b"], "letter")
    names = list(habits)
    embedding = _small(rng, len(tokens), WIDTH, scale=0.05)
    output = _small(rng, len(tokens), WIDTH, scale=0.02)
    for number, token in enumerate(tokens):
        embedding[number, names.index(state[token])] = np.sqrt(WIDTH)
        for at, name in enumerate(names):
            output[number, at] = habits[name].get(token, 0.0) / np.sqrt(WIDTH)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", _small(rng, WIDTH, WIDTH, scale=0.08))
        writer.add_tensor(f"blk.{layer}.ffn_gate.weight", _small(rng, 2 * WIDTH, WIDTH, scale=0.05))
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", _small(rng, 2 * WIDTH, WIDTH, scale=0.05))
        writer.add_tensor(f"blk.{layer}.ffn_down.weight", _small(rng, WIDTH, 2 * WIDTH, scale=0.05))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    return _close(writer, path)


def _vision(path: Path, rng: np.random.Generator) -> Path:
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("mlp")
    writer.add_vision_image_size(SIDE)
    writer.add_vision_patch_size(PATCH)
    writer.add_vision_embedding_length(V_WIDTH)
    writer.add_vision_feed_forward_length(2 * V_WIDTH)
    writer.add_vision_projection_dim(WIDTH)
    writer.add_vision_block_count(1)
    writer.add_vision_head_count(2)
    writer.add_vision_attention_layernorm_eps(1e-5)
    writer.add_vision_image_mean([0.5, 0.5, 0.5])
    writer.add_vision_image_std([0.5, 0.5, 0.5])
    writer.add_vision_use_gelu(True)
    patches = (SIDE // PATCH) ** 2
    writer.add_tensor("v.class_embd", _small(rng, V_WIDTH))
    writer.add_tensor("v.patch_embd.weight", _small(rng, V_WIDTH, 3, PATCH, PATCH))
    writer.add_tensor("v.position_embd.weight", _small(rng, patches + 1, V_WIDTH))
    for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
        _linear(writer, f"v.blk.0.{name}", _small(rng, V_WIDTH, V_WIDTH, scale=0.2))
    _linear(writer, "v.blk.0.ffn_up", _small(rng, 2 * V_WIDTH, V_WIDTH, scale=0.2))
    _linear(writer, "v.blk.0.ffn_down", _small(rng, V_WIDTH, 2 * V_WIDTH, scale=0.2))
    for name in ("v.pre_ln", "v.blk.0.ln1", "v.blk.0.ln2"):
        writer.add_tensor(f"{name}.weight", np.ones(V_WIDTH, np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(V_WIDTH, np.float32))
    _linear(writer, "mm.0", _small(rng, WIDTH, V_WIDTH, scale=0.3))
    _linear(writer, "mm.2", _small(rng, WIDTH, WIDTH, scale=0.3))
    return _close(writer, path)


def _linear(writer: Any, name: str, weight: Weights) -> None:
    writer.add_tensor(f"{name}.weight", weight)
    writer.add_tensor(f"{name}.bias", np.zeros(weight.shape[0], np.float32))


def _small(rng: np.random.Generator, *shape: int, scale: float = 0.1) -> Weights:
    return rng.normal(0, scale, shape).astype(np.float32)


def _close(writer: Any, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
