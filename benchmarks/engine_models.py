"""Models of random weights for the engine's benchmark: the shapes of known families, at sizes that a machine can time.

What takes time doesn't depend on the values of weights, but a little on what the model says: which beginnings of
replies are followed. A bias on the tokens that options begin with makes it say what a trained model does (`favour`).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import transformers as tf
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from benchmarks.engine_prompts import corpus, questions
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.processors import load_processor
from facevalue.types import Option

_WORDS = 900
"""So many tokens are learnt from the questions: StylisticBias's then take 54 and VIGNETTE's 35 tokens, as in LLaMA."""
_SPECIAL = ("<pad>", "<s>", "</s>")
_TILES = tuple(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7))
_FAVOUR = 20.0
_CHAT = "SS\nIST\nANT\nAss\nistant\nassistant\nsystem\nuser\nUSER\nUser\n" * 50
"""Pieces of which the templates' words are made, so that they take as many tokens as in real vocabularies."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a model is.

    Attributes
    ----------
    text:
        Width, width of the MLP, layers, heads, heads of keys and values.
    vision:
        Width, width of the MLP, layers, heads.
    vocabulary:
        Tokens.
    side:
        Width and height of the picture in pixels.
    tile:
        Pixels that the encoder of pictures takes along a side, where that is fixed.
    """

    text: tuple[int, int, int, int, int]
    vision: tuple[int, int, int, int]
    vocabulary: int
    side: int
    tile: int = 336


SIZES: Mapping[tuple[str, str], Size] = {
    ("llava", "70m"): Size((512, 1376, 10, 8, 8), (256, 1024, 4, 4), 32_000, 336),
    ("llava", "245m"): Size((1024, 2752, 12, 16, 16), (512, 2048, 6, 8), 32_000, 336),
    ("qwen2.5-vl", "70m"): Size((512, 1376, 12, 8, 2), (256, 704, 4, 4), 32_000, 672),
    ("idefics3", "70m"): Size((512, 1376, 10, 8, 8), (256, 1024, 4, 4), 32_000, 728, 364),
    ("llava", "7b"): Size((4096, 11_008, 32, 32, 32), (1024, 4096, 24, 16), 32_064, 336),
    ("qwen2.5-vl", "7b"): Size((3584, 18_944, 28, 28, 4), (1280, 3420, 32, 16), 152_064, 896),
    ("idefics3", "7b"): Size((4096, 14_336, 32, 32, 8), (1152, 4304, 27, 16), 128_256, 728, 364),
    ("llava", "tiny"): Size((64, 128, 2, 4, 4), (32, 64, 2, 2), 2_000, 84, 84),
    ("qwen2.5-vl", "tiny"): Size((64, 128, 2, 4, 2), (32, 64, 2, 2), 2_000, 112),
    ("idefics3", "tiny"): Size((64, 128, 2, 4, 4), (32, 64, 2, 2), 2_000, 112, 56),
}
"""By family and name of the size. "7b" has the shapes of the published models; "tiny" is for smoke tests."""
TITLES = {"llava": "LLaVA-1.5-like", "qwen2.5-vl": "Qwen2.5-VL-like (M-RoPE)", "idefics3": "Idefics3-like (5 tiles)"}


def picture(size: Size, number: int) -> Image.Image:
    """Return a picture of noise of the size that a model takes, another one for each number."""
    pixels = np.random.default_rng(number).integers(0, 256, (size.side, size.side, 3), dtype=np.uint8)
    return Image.fromarray(pixels, "RGB")


def build(family: str, size_name: str, device: str = "cpu", dtype: str = "float32") -> Loaded:
    """Make a model of random weights, on the device, with its processor.

    Parameters
    ----------
    family, size_name:
        One of `SIZES`.
    device, dtype:
        Where it lies and the number format.
    """
    tf.utils.logging.set_verbosity_error()
    size = SIZES[family, size_name]
    make, marks, template = _FAMILIES[family]
    words = _tokenizer(size.vocabulary, marks)
    words.chat_template = template
    config, images, settings = make(size, words)
    with TemporaryDirectory() as folder:
        images.save_pretrained(folder)
        words.save_pretrained(folder)
        (Path(folder) / "processor_config.json").write_text(json.dumps(settings))
        processor = load_processor(folder, config.model_type)
    torch.manual_seed(0)
    number_format = getattr(torch, dtype)
    with torch.device(device):
        model = tf.AutoModelForImageTextToText.from_config(config, dtype=number_format, attn_implementation="sdpa")
    model.eval().requires_grad_(False)
    return Loaded(
        model=model,
        processor=processor,
        tokenizer=processor.tokenizer,
        dtype=number_format,
        device=torch.device(device),
        context=config.get_text_config().max_position_embeddings,
        stop_ids=frozenset({words.eos_token_id}),
    )


def spelt(loaded: Loaded, option: Option) -> list[int]:
    """Return the tokens of an option as the reply is to be: its label, or its text if it has none, after a blank."""
    ids: list[int] = loaded.tokenizer(f" {option.label or option.text}", add_special_tokens=False)["input_ids"]
    return ids


def favour(loaded: Loaded, study: str) -> None:
    """Make the tokens that a study's options begin with likely, and none of the many others."""
    head = loaded.model.get_output_embeddings()
    firsts = {spelt(loaded, option)[0] for question in questions(study) for option in question.options}
    bias = torch.zeros(head.weight.shape[0], dtype=head.weight.dtype, device=head.weight.device)
    bias[sorted(firsts)] = _FAVOUR
    head.bias = torch.nn.Parameter(bias, requires_grad=False)


@cache
def _learnt() -> str:
    """Tokens of the questions, as the JSON of a tokenizer."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core.train_from_iterator(
        [*corpus(), _CHAT], trainers.BpeTrainer(vocab_size=_WORDS, initial_alphabet=alphabet, show_progress=False)
    )
    return core.to_str()


def _tokenizer(size: int, marks: tuple[str, ...]) -> Any:
    """Return a tokenizer of so many tokens; those that were not learnt are words that no text here contains."""
    core = json.loads(_learnt())
    vocabulary: dict[str, int] = core["model"]["vocab"]
    first = len(vocabulary)
    fillers = size - first - len(_SPECIAL) - len(marks)
    vocabulary |= {f"q{number:06d}z": first + number for number in range(fillers)}
    named = {f"extra_{place}": mark for place, mark in enumerate(marks)} | {"image_token": _IMAGE_OF[marks]}
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(core)),
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens=named,
    )


def _text(size: Size) -> dict[str, Any]:
    width, mlp, layers, heads, groups = size.text
    return {
        "hidden_size": width,
        "intermediate_size": mlp,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "vocab_size": size.vocabulary,
        "max_position_embeddings": 4096,
        "initializer_range": 1.1 / width**0.5,  # answers then depend on every token, and rounding stays small
        "tie_word_embeddings": False,
    }


def _vision(size: Size) -> dict[str, Any]:
    width, mlp, layers, heads = size.vision
    return {
        "hidden_size": width,
        "intermediate_size": mlp,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "image_size": size.tile,
        "patch_size": 14,
    }


def _ends(words: Any) -> dict[str, int]:
    return {"pad_token_id": words.pad_token_id, "bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id}


def _token(words: Any, mark: str) -> int:
    return int(words.convert_tokens_to_ids(mark))


Parts = tuple[Any, Any, dict[str, Any]]
"""Configuration, image processor and the processor's settings."""


def _llava(size: Size, words: Any) -> Parts:
    config = tf.LlavaConfig(
        vision_config=tf.CLIPVisionConfig(**_vision(size)),
        text_config=tf.LlamaConfig(**_text(size), **_ends(words)),
        image_token_index=_token(words, "<image>"),
    )
    images = tf.CLIPImageProcessorPil(
        size={"shortest_edge": size.tile}, crop_size={"height": size.tile, "width": size.tile}, do_convert_rgb=True
    )
    own = {"patch_size": 14, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    return config, images, {"processor_class": "LlavaProcessor", "image_token": "<image>", **own}


def _qwen(size: Size, words: Any) -> Parts:
    width, mlp, layers, heads = size.vision
    own = tf.models.qwen2_5_vl.configuration_qwen2_5_vl
    half = size.text[0] // size.text[3] // 2
    section = [half - 2 * (3 * half // 8), 3 * half // 8, 3 * half // 8]
    config = tf.Qwen2_5_VLConfig(
        vision_config=own.Qwen2_5_VLVisionConfig(
            depth=layers,
            hidden_size=width,
            intermediate_size=mlp,
            num_heads=heads,
            out_hidden_size=size.text[0],
            fullatt_block_indexes=[place for place in range(layers) if (place + 1) % max(2, layers // 4) == 0],
        ),
        text_config=own.Qwen2_5_VLTextConfig(
            **_text(size),
            **_ends(words),
            rope_parameters={"rope_type": "default", "rope_theta": 1e6, "mrope_section": section},
        ),
        image_token_id=_token(words, "<|image_pad|>"),
        video_token_id=_token(words, "<|video_pad|>"),
        vision_start_token_id=_token(words, "<|vision_start|>"),
        vision_end_token_id=_token(words, "<|vision_end|>"),
    )
    return config, tf.Qwen2VLImageProcessorPil(), {"processor_class": "Qwen2_5_VLProcessor"}


def _idefics(size: Size, words: Any) -> Parts:
    own = tf.models.idefics3.configuration_idefics3
    config = tf.Idefics3Config(
        vision_config=own.Idefics3VisionConfig(**_vision(size)),
        text_config=tf.LlamaConfig(**_text(size), **_ends(words)),
        image_token_id=_token(words, "<image>"),
        scale_factor=2,
        tie_word_embeddings=False,
        pad_token_id=words.pad_token_id,
    )
    images = tf.Idefics3ImageProcessorPil(size={"longest_edge": size.side}, max_image_size={"longest_edge": size.tile})
    return config, images, {"processor_class": "Idefics3Processor", "image_seq_len": (size.tile // 28) ** 2}


def _template(before: str, mark: str, after: str) -> str:
    parts = "{% if part['type'] == 'image' %}" + mark + "{% else %}{{ part['text'] }}{% endif %}"
    loop = "{% for m in messages %}{% for part in m['content'] %}" + parts + "{% endfor %}{% endfor %}"
    return f"{{{{ '{before}' }}}}{loop}{{{{ '{after}' }}}}"


_MARKS: Mapping[str, tuple[str, ...]] = {
    "llava": ("<image>",),
    "qwen2.5-vl": (
        "<|vision_start|>",
        "<|vision_end|>",
        "<|image_pad|>",
        "<|video_pad|>",
        "<|im_start|>",
        "<|im_end|>",
    ),
    "idefics3": ("<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", *_TILES),
}
_IMAGE_OF = {
    _MARKS["llava"]: "<image>",
    _MARKS["qwen2.5-vl"]: "<|image_pad|>",
    _MARKS["idefics3"]: "<image>",
}
_CHATML = "<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n<|im_start|>user\\n"
_FAMILIES: Mapping[str, tuple[Callable[[Size, Any], Parts], tuple[str, ...], str]] = {
    "llava": (_llava, _MARKS["llava"], _template("<s>USER: ", "<image>\n", " ASSISTANT:")),
    "qwen2.5-vl": (
        _qwen,
        _MARKS["qwen2.5-vl"],
        _template(_CHATML, "<|vision_start|><|image_pad|><|vision_end|>", "<|im_end|>\\n<|im_start|>assistant\\n"),
    ),
    "idefics3": (
        _idefics,
        _MARKS["idefics3"],
        _template("<s>User:", "<image>", "<end_of_utterance>\\nAssistant:"),
    ),
}
