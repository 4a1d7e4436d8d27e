"""Many questions about one picture at a time: the decoder run once over the picture, then over all questions.

Every question sees the picture and its own words, and nothing of the others. The weights are those of the model's own
layers, and so are the results (tested against the model's plain forward pass).
"""

from typing import Any

import torch
from torch.nn import functional
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb


def decode(language: Any, prefix: torch.Tensor, embedded: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Run the decoder over shared prefixes and the questions that follow them.

    Parameters
    ----------
    language:
        The language model, without its head.
    prefix:
        Embeddings of what questions share; shape (pictures, length, width).
    embedded:
        Embeddings of the questions' tokens; shape (pictures, questions, tokens, width). Padding comes last.

    Returns
    -------
    The last hidden states of the questions, and those from halfway up; shape as `embedded`.
    """
    b, p, d = prefix.shape
    q, s = embedded.shape[1:3]
    config = language.config
    heads, size = config.num_attention_heads, config.hidden_size // config.num_attention_heads
    at = torch.arange(p + s)[None]
    cos, sin = language.rotary_emb(prefix, at)
    before, after = (cos[:, :p], sin[:, :p]), (cos[:, p:], sin[:, p:])
    own_mask = torch.full((s, s), float("-inf")).triu(1)
    mask = torch.cat([torch.zeros(s, p), own_mask], dim=1)
    x, y = prefix, embedded.reshape(b * q, s, d)
    half = y
    for number, layer in enumerate(language.layers):
        last = number + 1 == len(language.layers)
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
        keys, values = (
            torch.cat([one[:, None].expand(b, q, heads, p, size).reshape(b * q, heads, p, size), own], dim=2)
            for one, own in ((kx, ky), (vx, vy))
        )
        seen = functional.scaled_dot_product_attention(qy, keys, values, attn_mask=mask)
        y = y + attention.o_proj(seen.transpose(1, 2).reshape(b * q, s, d))
        y = y + layer.mlp(layer.post_attention_layernorm(y))
        if not last:  # nobody looks at the prefix above the last layer's keys
            seen = functional.scaled_dot_product_attention(qx, kx, vx, is_causal=True)
            x = x + attention.o_proj(seen.transpose(1, 2).reshape(b, p, d))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        if 2 * (number + 1) == len(language.layers):
            half = y
    return language.norm(y).view(b, q, s, d), half.view(b, q, s, d)
