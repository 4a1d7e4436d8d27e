"""Many questions about one picture at a time: the decoder run once over the picture, then over all questions.

Every question sees the picture and its own words, and nothing of the others. The weights are those of the model's own
layers, and so are the results (tested against the model's plain forward pass).
"""

from typing import Any

import torch
from torch.nn import functional
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb


def decode(
    language: Any,
    prefix: torch.Tensor,
    embedded: torch.Tensor,
    middle: list[torch.Tensor] | None = None,
    layers: int | None = None,
) -> torch.Tensor:
    """Run the decoder over shared prefixes and the questions that follow them.

    Parameters
    ----------
    language:
        The language model, without its head.
    prefix:
        Embeddings of what questions share; shape (pictures, length, width).
    embedded:
        Embeddings of the questions' tokens; shape (pictures, questions, tokens, width). Padding comes last.

    middle:
        The hidden states from halfway up are appended to it.
    layers:
        How many layers to run; all by default.

    Returns
    -------
    The hidden states of the questions after these layers, before the last norm; shape as `embedded`.
    """
    b, p, d = prefix.shape
    q, s = embedded.shape[1:3]
    config = language.config
    heads, size = config.num_attention_heads, config.hidden_size // config.num_attention_heads
    at = torch.arange(p + s)[None]
    cos, sin = language.rotary_emb(prefix, at)
    before, after = (cos[:, :p], sin[:, :p]), (cos[:, p:], sin[:, p:])
    own_mask = torch.full((s, s), float("-inf")).triu(1)
    x, y = prefix, embedded.reshape(b * q, s, d)
    count = len(language.layers) if layers is None else layers
    for number, layer in enumerate(language.layers[:count]):
        last = number + 1 == count
        attention = layer.self_attn
        normed = layer.input_layernorm(x)
        kx, vx = (m(normed).view(b, p, heads, size).transpose(1, 2) for m in (attention.k_proj, attention.v_proj))
        qx = attention.q_proj(normed).view(b, p, heads, size).transpose(1, 2)
        qx, kx = apply_rotary_pos_emb(qx, kx, *before)
        normed = layer.input_layernorm(y)
        qy, ky, vy = (
            m(normed).view(b * q, s, heads, size).transpose(1, 2)
            for m in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        qy, ky = apply_rotary_pos_emb(qy, ky, *after)
        seen = _attended(qy.view(b, q, heads, s, size), kx, vx, ky, vy, own_mask)
        y = y + attention.o_proj(seen.transpose(1, 2).reshape(b * q, s, d))
        y = y + layer.mlp(layer.post_attention_layernorm(y))
        if not last:  # nobody looks at the prefix above the last layer's keys
            seen = functional.scaled_dot_product_attention(qx, kx, vx, is_causal=True)
            x = x + attention.o_proj(seen.transpose(1, 2).reshape(b, p, d))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        if middle is not None and 2 * (number + 1) == len(language.layers):
            middle.append(y.view(b, q, s, d))
    return y.view(b, q, s, d)


def _attended(
    query: torch.Tensor, kx: torch.Tensor, vx: torch.Tensor, ky: torch.Tensor, vy: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Attention over the prefix and a question's own tokens, without a copy of the prefix for each question.

    Parameters
    ----------
    query:
        Shape (pictures, questions, heads, tokens, size).
    kx, vx:
        Keys and values of the prefix; shape (pictures, heads, length, size).
    ky, vy:
        Those of the questions; shape (pictures * questions, heads, tokens, size).
    mask:
        Added to the scores of a question's own tokens; shape (tokens, tokens).
    """
    b, q, h, s, d = query.shape
    query, p = query * d**-0.5, kx.shape[2]
    together = query.transpose(1, 2).reshape(b, h, q * s, d)
    far = (together @ kx.transpose(2, 3)).view(b, h, q, s, p).transpose(1, 2).reshape(b * q, h, s, p)
    near = query.reshape(b * q, h, s, d) @ ky.transpose(2, 3) + mask
    shares = torch.cat([far, near], dim=-1).softmax(dim=-1)
    far = shares[..., :p].reshape(b, q, h, s, p).transpose(1, 2).reshape(b, h, q * s, p)
    mixed = (far @ vx).view(b, h, q, s, d).transpose(1, 2).reshape(b * q, h, s, d)
    return mixed + shares[..., p:] @ vy
