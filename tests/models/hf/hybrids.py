"""Tiny language models whose layers keep a recurrent state, some or all, saved as `tests.models.hf.tiny` does."""

from collections.abc import Callable
from pathlib import Path

from tests.models.hf.test_text_only import written

_PAIRS = {"num_hidden_layers": 4}
_MAMBA = {"mamba_d_state": 8, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 4}
_HEADS = {"mamba_d_state": 8, "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_chunk_size": 8}
_STATES = {"state_size": 8, "conv_kernel": 4, "expand": 2}

BUILDERS: dict[str, Callable[[Path], Path]] = {
    "lfm2": written("Lfm2", layer_types=["conv", "full_attention"] * 2, **_PAIRS),
    "qwen3_next": written(
        "Qwen3Next", layer_types=["linear_attention", "full_attention"] * 2, head_dim=8, linear_key_head_dim=8,
        linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4, num_experts=0,
        mlp_only_layers=[0, 1, 2, 3], **_PAIRS,
    ),
    "zamba2": written(
        "Zamba2", layers_block_type=["mamba", "hybrid"] * 2, num_mem_blocks=1, mamba_d_state=8, mamba_headdim=8,
        n_mamba_heads=8, chunk_size=8, **_PAIRS,
    ),
    "mamba2": written("Mamba2", num_heads=8, head_dim=8, n_groups=1, chunk_size=8, **_STATES),
    "falcon_h1": written("FalconH1", mamba_d_ssm=64, mamba_n_groups=1, **_HEADS),
    "bamba": written("Bamba", attn_layer_indices=[1, 3], **_PAIRS, **_HEADS),
    "jamba": written(
        "Jamba", attn_layer_period=2, attn_layer_offset=1, num_experts=2, num_experts_per_tok=1, **_PAIRS, **_MAMBA
    ),
    "zamba": written(
        "Zamba", layers_block_type=["mamba", "hybrid"] * 2, n_mamba_heads=2, num_key_value_heads=4,
        attention_hidden_size=64, attention_head_dim=16, **_PAIRS, **_MAMBA,
    ),
    "mamba": written("Mamba", time_step_rank=4, **_STATES),
}  # fmt: skip
