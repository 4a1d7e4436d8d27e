"""The network: a LLaVA of a few million parameters, in the classes of transformers."""

from typing import Any

import torch
from transformers import LlamaConfig, LlavaConfig, LlavaForConditionalGeneration, SiglipVisionConfig

from reference.portraits import SIDE

PATCH = 14
PATCHES = (SIDE // PATCH) ** 2
"""Image tokens."""
PLACES = 8.0
"""How much larger than SigLIP's the first embeddings of places are."""


def configuration(vocabulary: int, image_token: int, pad: int, end: int) -> LlavaConfig:
    """The shape of the network."""
    vision = SiglipVisionConfig(
        hidden_size=160,
        hidden_act="relu",
        intermediate_size=480,
        num_hidden_layers=4,
        num_attention_heads=5,
        image_size=SIDE,
        patch_size=PATCH,
        vision_use_head=False,
    )
    text = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=pad,
    )
    return LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=image_token,
        image_seq_length=PATCHES,
        projector_hidden_act="relu",
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        tie_word_embeddings=True,
    )


def network(config: LlavaConfig, seed: int) -> LlavaForConditionalGeneration:
    """The network with weights drawn from a seed.

    Positions in the picture begin as loud as what is seen there: at SigLIP's own start they are a twelfth of it, and
    hundreds of steps pass before the tower knows left from right.
    """
    torch.manual_seed(seed)
    model = LlavaForConditionalGeneration(config)
    places: Any = model.model.vision_tower.embeddings.position_embedding
    with torch.no_grad():
        places.weight.mul_(PLACES)
    return model


def features(tower: Any, pixels: torch.Tensor) -> torch.Tensor:
    """What the vision tower says of pictures.

    Parameters
    ----------
    tower:
        The vision tower.
    pixels:
        Bytes of shape (pictures, SIDE, SIDE, 3).

    Returns
    -------
    Shape (pictures, PATCHES, width).
    """
    values = pixels.permute(0, 3, 1, 2).float().div_(127.5).sub_(1.0)
    return tower(pixel_values=values, output_hidden_states=True).hidden_states[-1]
