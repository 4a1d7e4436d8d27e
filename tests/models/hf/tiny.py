"""Models of a few thousand random weights, saved to a folder as real ones are, so that the real loading code is used."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

torch: Any = pytest.importorskip("torch", reason="torch is not installed: pip install 'facevalue[hf]'")
tf: Any = pytest.importorskip("transformers", reason="transformers is not installed: pip install 'facevalue[hf]'")
tokenizers: Any = pytest.importorskip("tokenizers", reason="tokenizers is not installed: pip install 'facevalue[hf]'")

LINES = [
    "Who is more competent, (a) the left person or (b) the right person?",
    "Answer with one word: competent, friendly, honest, lazy or warm.",
    "Does the person in the picture look trustworthy? Answer yes or no.",
    "user: assistant: system: You are a helpful assistant. Look at the picture.",
]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: "
    "{% for part in m['content'] %}{% if part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% if m['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
TEXT: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.3,
}
VISION: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "initializer_range": 0.3,
}


def tokenizer(*special: str, **named: str) -> Any:
    """A byte-level BPE tokenizer, trained on a few lines, with the given special tokens."""
    core = tokenizers.Tokenizer(tokenizers.models.BPE())
    core.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[*SPECIAL, *special],
        initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    core.train_from_iterator(LINES, trainer)
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        extra_special_tokens=named,
    )


def save(folder: Path, model: Any, processor: Any) -> Path:
    """Write a model and its processor as the hub has them."""
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def llava(folder: Path) -> Path:
    """LLaVA-1.5: four image tokens, taken from CLIP's patches without its class token."""
    words = tokenizer("<image>", image_token="<image>")
    template = TEMPLATE.replace("IMAGE", "<image>\n")
    processor = tf.LlavaProcessor(
        image_processor=tf.CLIPImageProcessorPil(
            size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}, do_convert_rgb=True
        ),
        tokenizer=words,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template,
        image_token="<image>",
    )
    torch.manual_seed(0)
    config = tf.LlavaConfig(
        vision_config=tf.CLIPVisionConfig(image_size=28, patch_size=14, **VISION),
        text_config=tf.LlamaConfig(vocab_size=len(words), **TEXT),
        image_token_index=words.convert_tokens_to_ids("<image>"),
    )
    return save(folder, tf.LlavaForConditionalGeneration(config), processor)


BUILDERS: dict[str, Callable[[Path], Path]] = {"llava": llava}
"""A builder for each family."""


def picture(name: str, size: tuple[int, int] = (40, 40)) -> Image.Image:
    """A picture of noise, the same for the same name."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels, "RGB")
