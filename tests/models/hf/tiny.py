"""Models of a few thousand random weights, saved to a folder as real ones are, so that real code loads them."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

torch: Any = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
tf: Any = pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")
tokenizers: Any = pytest.importorskip("tokenizers", reason="tokenizers is not installed: pip install '.[hf]'")
torch.set_num_threads(1)
tf.utils.logging.disable_progress_bar()

LINES = [
    "Who is more competent, (a) the left person or (b) the right person?",
    "Answer with one word: competent, friendly, honest, lazy or warm.",
    "Does the person in the picture look trustworthy? Answer yes or no.",
    "user: assistant: system: You are a helpful assistant.\n\n\nLook at the picture.\n\n\nYes.\n\nNo.\n\n\n",
]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: "
    "{% for part in m['content'] %}{% if part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% if m['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
"""How a conversation is put; IMAGE stands for the family's own mark."""
WEIGHTS: dict[str, Any] = {"initializer_range": 0.3}
"""Large enough for the answers to depend on every token."""
TEXT: dict[str, Any] = WEIGHTS | {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
VISION: dict[str, Any] = WEIGHTS | {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
QWEN_VISION: dict[str, Any] = WEIGHTS | {"depth": 2, "num_heads": 2, "patch_size": 4, "spatial_merge_size": 2}


def picture(name: str, size: tuple[int, int] = (40, 40)) -> Image.Image:
    """A picture of noise, the same for the same name."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels, "RGB")


def tokenizer(*special: str, spaces: bool = False, **named: Any) -> Any:
    """A BPE tokenizer, trained on a few lines, with the given special tokens.

    With `spaces` a blank is put before a text and blanks are written as LLaMA's are; otherwise it works on bytes.
    """
    core = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    if spaces:
        core.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="first")
        core.decoder = tokenizers.decoders.Metaspace(prepend_scheme="first")
        alphabet = sorted({*"".join(LINES)})
    else:
        core.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        core.decoder = tokenizers.decoders.ByteLevel()
        alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=440, special_tokens=[*SPECIAL, *special], initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(LINES * 3, trainer)
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        extra_special_tokens={**named, **{f"extra_{place}": token for place, token in enumerate(special)}},
    )


def save(folder: Path, model: Any, kind: str, images: Any, words: Any, mark: str, **settings: Any) -> Path:
    """Write a model, and its processor in parts, as most of the hub has them."""
    model.save_pretrained(folder)
    images.save_pretrained(folder)
    words.chat_template = TEMPLATE.replace("IMAGE", mark)
    words.save_pretrained(folder)
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": kind, **settings}))
    return folder


def text(words: Any, **changed: Any) -> dict[str, Any]:
    """Settings of a language model for a tokenizer."""
    return TEXT | {"vocab_size": len(words)} | changed


def token(words: Any, name: str) -> int:
    """Number of a token."""
    return int(words.convert_tokens_to_ids(name))


def llava(folder: Path, language: Any = None) -> Path:
    """LLaVA-1.5: four image tokens, CLIP's patches without its class token. Saved in one piece, as new models are.

    `language` makes the configuration of another language model, with as many tokens as the tokenizer has.
    """
    words = tokenizer("<image>", image_token="<image>")
    processor = tf.LlavaProcessor(
        image_processor=_clip(tf.CLIPImageProcessorPil),
        tokenizer=words,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE.replace("IMAGE", "<image>\n"),
        image_token="<image>",
    )
    config = tf.LlavaConfig(
        vision_config=tf.CLIPVisionConfig(image_size=28, patch_size=14, **VISION),
        text_config=language(text(words)) if language else tf.LlamaConfig(**text(words)),
        image_token_index=token(words, "<image>"),
    )
    torch.manual_seed(0)
    tf.LlavaForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _clip(kind: Any, **settings: Any) -> Any:
    return kind(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}, do_convert_rgb=True, **settings)


def llava_next(folder: Path) -> Path:
    """LLaVA-NeXT: tiles by the picture's shape; a tokenizer that puts blanks as LLaMA's."""
    words = tokenizer("<image>", spaces=True)
    shapes = [[28, 56], [56, 28], [56, 56]]
    config = tf.LlavaNextConfig(
        vision_config=tf.CLIPVisionConfig(image_size=28, patch_size=7, **VISION),
        text_config=tf.MistralConfig(sliding_window=None, **text(words)),
        image_token_index=token(words, "<image>"),
        image_grid_pinpoints=shapes,
    )
    torch.manual_seed(0)
    model = tf.LlavaNextForConditionalGeneration(config)
    images = _clip(tf.LlavaNextImageProcessorPil, image_grid_pinpoints=shapes)
    settings = {"patch_size": 7, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    return save(folder, model, "LlavaNextProcessor", images, words, "<image>\n", **settings)


def _qwen(folder: Path, kind: str, model: Any, config: Any, vision: Any, text_config: Any, **rope: Any) -> Path:
    marks = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    words = tokenizer(*marks)
    start, end, image, video = (token(words, mark) for mark in marks)
    sections = {"rope_type": "default", "rope_theta": 1000.0, "mrope_section": [2, 1, 1], **rope}
    torch.manual_seed(0)
    made = model(
        config(
            vision_config=vision,
            text_config=text_config(**text(words, rope_parameters=sections)),
            image_token_id=image,
            video_token_id=video,
            vision_start_token_id=start,
            vision_end_token_id=end,
        )
    )
    images = tf.Qwen2VLImageProcessorPil(
        patch_size=4, merge_size=2, size={"shortest_edge": 16 * 16, "longest_edge": 48 * 48}
    )
    return save(folder, made, kind, images, words, "<|vision_start|><|image_pad|><|vision_end|>")


def qwen2_vl(folder: Path, window: int | None = None) -> Path:
    """Qwen2-VL: positions by height and width; with a window, half of the layers have it."""
    vision = tf.models.qwen2_vl.configuration_qwen2_vl.Qwen2VLVisionConfig(embed_dim=32, hidden_size=32, **QWEN_VISION)
    slides = {"use_sliding_window": window is not None, "sliding_window": window, "max_window_layers": 1}
    text_config = partial(tf.models.qwen2_vl.configuration_qwen2_vl.Qwen2VLTextConfig, **slides)
    return _qwen(folder, "Qwen2VLProcessor", tf.Qwen2VLForConditionalGeneration, tf.Qwen2VLConfig, vision, text_config)


def qwen2_5_vl(folder: Path) -> Path:
    """Qwen2.5-VL: windows in the picture, positions by height and width."""
    own = tf.models.qwen2_5_vl.configuration_qwen2_5_vl
    vision = own.Qwen2_5_VLVisionConfig(
        hidden_size=32,
        out_hidden_size=32,
        intermediate_size=64,
        window_size=16,
        fullatt_block_indexes=[1],
        **QWEN_VISION,
    )
    return _qwen(
        folder,
        "Qwen2_5_VLProcessor",
        tf.Qwen2_5_VLForConditionalGeneration,
        tf.Qwen2_5_VLConfig,
        vision,
        own.Qwen2_5_VLTextConfig,
    )


def qwen3_vl(folder: Path) -> Path:
    """Qwen3-VL: features of the picture enter several layers, positions interleaved."""
    own = tf.models.qwen3_vl.configuration_qwen3_vl
    vision = own.Qwen3VLVisionConfig(
        hidden_size=32,
        out_hidden_size=32,
        intermediate_size=64,
        num_position_embeddings=16,
        deepstack_visual_indexes=[0, 1],
        **QWEN_VISION,
    )
    return _qwen(
        folder,
        "Qwen3VLProcessor",
        tf.Qwen3VLForConditionalGeneration,
        tf.Qwen3VLConfig,
        vision,
        partial(own.Qwen3VLTextConfig, head_dim=8),
        mrope_interleaved=True,
    )


def _tiled(folder: Path, kind: str, images: Any, model: Any, config: Any, vision: Any) -> Path:
    rows = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    marks = ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", *rows]
    words = tokenizer(*marks)
    torch.manual_seed(0)
    made = model(
        config(
            vision_config=vision(image_size=28, patch_size=7, **VISION),
            text_config=tf.LlamaConfig(**text(words)),
            image_token_id=token(words, "<image>"),
            scale_factor=2,
        )
    )
    made_images = images(size={"longest_edge": 56}, max_image_size={"longest_edge": 28})
    return save(folder, made, kind, made_images, words, "<image>", image_seq_len=4)


def idefics3(folder: Path) -> Path:
    """Idefics3: tiles in rows and columns and the whole, with marks and line breaks between."""
    own = tf.models.idefics3.configuration_idefics3
    return _tiled(
        folder,
        "Idefics3Processor",
        tf.Idefics3ImageProcessorPil,
        tf.Idefics3ForConditionalGeneration,
        tf.Idefics3Config,
        own.Idefics3VisionConfig,
    )


def smolvlm(folder: Path) -> Path:
    """SmolVLM; its own processor needs num2words, the first versions came with Idefics3's."""
    own = tf.models.smolvlm.configuration_smolvlm
    mine = find_spec("num2words") is not None
    return _tiled(
        folder,
        "SmolVLMProcessor" if mine else "Idefics3Processor",
        tf.SmolVLMImageProcessorPil if mine else tf.Idefics3ImageProcessorPil,
        tf.SmolVLMForConditionalGeneration,
        tf.SmolVLMConfig,
        own.SmolVLMVisionConfig,
    )


def internvl(folder: Path) -> Path:
    """InternVL: tiles without marks between, a start and an end."""
    marks: dict[str, Any] = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
    }
    words = tokenizer(*marks.values(), "<video>", video_token="<video>", **marks)
    config = tf.InternVLConfig(
        vision_config=tf.InternVLVisionConfig(image_size=[28, 28], patch_size=[7, 7], **VISION),
        text_config=tf.Qwen2Config(**text(words)),
        image_token_id=token(words, "<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    torch.manual_seed(0)
    images = tf.GotOcr2ImageProcessorPil(size={"height": 28, "width": 28}, crop_to_patches=True, max_patches=3)
    model = tf.InternVLForConditionalGeneration(config)
    return save(folder, model, "InternVLProcessor", images, words, "<IMG_CONTEXT>\n", image_seq_length=4)


def gemma3(folder: Path, window: int = 512) -> Path:
    """Gemma-3: a picture's tokens see each other, every second layer sees no further back than a window."""
    marks: dict[str, Any] = {
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
        "image_token": "<image_soft_token>",
    }
    words = tokenizer(*marks.values(), **marks)
    config = tf.Gemma3Config(
        vision_config=tf.SiglipVisionConfig(image_size=28, patch_size=7, **VISION),
        text_config=tf.Gemma3TextConfig(
            **text(words, num_hidden_layers=3),
            head_dim=8,
            query_pre_attn_scalar=8,
            sliding_window=window,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        ),
        mm_tokens_per_image=4,
        boi_token_index=token(words, "<start_of_image>"),
        eoi_token_index=token(words, "<end_of_image>"),
        image_token_index=token(words, "<image_soft_token>"),
    )
    torch.manual_seed(0)
    images = tf.Gemma3ImageProcessorPil(size={"height": 28, "width": 28})
    model = tf.Gemma3ForConditionalGeneration(config)
    torch.nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight, std=0.3)
    return save(folder, model, "Gemma3Processor", images, words, "<start_of_image>", image_seq_length=4)


def _pixtral(folder: Path, model: Any, config: Any, merge: int, window: int | None) -> Path:
    marks = ["[IMG]", "[IMG_BREAK]", "[IMG_END]"]
    words = tokenizer(*marks)
    torch.manual_seed(0)
    made = model(
        config(
            vision_config=tf.PixtralVisionConfig(image_size=56, patch_size=7, head_dim=16, **VISION),
            text_config=tf.MistralConfig(head_dim=8, sliding_window=window, **text(words)),
            image_token_index=token(words, "[IMG]"),
            vision_feature_layer=-1,
            **({"spatial_merge_size": merge} if merge > 1 else {"vision_feature_select_strategy": "full"}),
        )
    )
    images = tf.PixtralImageProcessorPil(patch_size={"height": 7, "width": 7}, size={"longest_edge": 56})
    sizes = {"patch_size": 7, "spatial_merge_size": merge}
    return save(folder, made, "PixtralProcessor", images, words, "[IMG]", **sizes)


def pixtral(folder: Path) -> Path:
    """Pixtral: rows of patches with breaks; to transformers it is a LLaVA."""
    return _pixtral(folder, tf.LlavaForConditionalGeneration, tf.LlavaConfig, 1, None)


def mistral3(folder: Path, window: int | None = None) -> Path:
    """Mistral3: patches merged by two; with a window, every layer has it."""
    return _pixtral(folder, tf.Mistral3ForConditionalGeneration, tf.Mistral3Config, 2, window)


def mllama(folder: Path) -> Path:
    """Llama-3.2-Vision: the picture is no part of the text, some layers look at it by cross-attention."""
    words = tokenizer("<|image|>", "<|python_tag|>")
    config = tf.MllamaConfig(
        vision_config=tf.models.mllama.configuration_mllama.MllamaVisionConfig(
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_global_layers=1,
            attention_heads=2,
            vision_output_dim=64,
            image_size=28,
            patch_size=14,
            intermediate_layers_indices=[0],
            max_num_tiles=4,
            **WEIGHTS,
        ),
        text_config=tf.models.mllama.configuration_mllama.MllamaTextConfig(
            cross_attention_layers=[1], **text(words, num_hidden_layers=3)
        ),
        image_token_index=token(words, "<|image|>"),
    )
    torch.manual_seed(0)
    model = tf.MllamaForConditionalGeneration(config)
    for name, weight in model.named_parameters():
        if "gate" in name:  # they start shut, and no picture would be seen
            torch.nn.init.constant_(weight, 1.0)
    images = tf.MllamaImageProcessorPil(size={"height": 28, "width": 28}, max_image_tiles=4)
    return save(folder, model, "MllamaProcessor", images, words, "<|image|>")


def paligemma(folder: Path, kind: str = "Gemma") -> Path:
    """PaliGemma, which no table lists: the prompt's tokens see each other in both directions, the reply's look back."""
    words = tokenizer("<image>", image_token="<image>")
    words.add_tokens([f"<loc{place:04d}>" for place in range(4)])
    config = tf.PaliGemmaConfig(
        vision_config=tf.SiglipVisionConfig(image_size=28, patch_size=14, projection_dim=32, **VISION),
        text_config=getattr(tf, f"{kind}Config")(**text(words, head_dim=8, vocab_size=1700)),
        image_token_index=token(words, "<image>"),
        projection_dim=32,
        hidden_size=32,
    )
    torch.manual_seed(0)
    images = tf.SiglipImageProcessorPil(size={"height": 28, "width": 28}, image_seq_length=4)
    return save(folder, tf.PaliGemmaForConditionalGeneration(config), "PaliGemmaProcessor", images, words, "<image>")


BUILDERS: dict[str, Callable[[Path], Path]] = {
    build.__name__: build
    for build in (
        llava,
        llava_next,
        qwen2_vl,
        qwen2_5_vl,
        qwen3_vl,
        idefics3,
        smolvlm,
        internvl,
        gemma3,
        pixtral,
        mistral3,
        mllama,
    )
}
"""A builder for each family that shares its prefix."""


def loader(factory: pytest.TempPathFactory, builders: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Return a function from a builder's name, and a number format, to its model, built and loaded once.

    The builders are those of this module, if no others are given.
    """
    from facevalue.models.hf.loading import load_model

    folders: dict[str, Path] = {}

    @cache
    def load(name: str, dtype: str | None = None) -> Any:
        if name not in folders:
            folders[name] = (builders or globals())[name](factory.mktemp(name))
        return load_model(str(folders[name]), dtype=dtype, device="cpu", threads=1)

    return load


def packed(suffixes: Sequence[list[int]]) -> tuple[list[int], list[int], list[int]]:
    """Suffixes as one tree: ids, parents and where each ends."""
    ids: list[int] = []
    parents: list[int] = []
    ends: list[int] = []
    for suffix in suffixes:
        parents += [-1, *range(len(ids), len(ids) + len(suffix) - 1)]
        ids += suffix
        ends.append(len(ids) - 1)
    return ids, parents, ends
