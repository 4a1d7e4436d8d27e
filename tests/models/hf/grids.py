"""Tiny models of families that no table lists, with positions by the height and width of a picture, as Qwen-VL's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.models.hf import tiny
from tests.models.hf.others import saved

tf = tiny.tf


def _grid(folder: Path, kind: str, config: Any, images: Any, vision: Any, text: Any, marks: dict[str, str]) -> Path:
    """Pictures by height and width, as Qwen-VL's."""
    named: dict[str, Any] = {f"{name}_token": mark for name, mark in marks.items()}
    words = tiny.tokenizer(*marks.values(), **named)
    ids = {f"{name}_token_id": tiny.token(words, mark) for name, mark in marks.items()}
    made = config(vision_config=vision, text_config=text(words), **ids)
    shown = "".join(marks[name] for name in marks if name in ("vision_start", "image_start"))
    shown += marks["image"] + "".join(marks[name] for name in marks if name in ("vision_end", "image_end"))
    return saved(folder, words, made, kind, images, shown)


_QWEN = {
    "vision_start": "<|vision_start|>",
    "vision_end": "<|vision_end|>",
    "image": "<|image_pad|>",
    "video": "<|video_pad|>",
}
_ROPE = {"rope_type": "default", "rope_theta": 1000.0, "mrope_section": [2, 1, 1]}
_SIZE = {"shortest_edge": 16 * 16, "longest_edge": 48 * 48}


def _qwen_images() -> Any:
    return tf.Qwen2VLImageProcessorPil(patch_size=4, merge_size=2, size=_SIZE)


def _qwen3_vision(own: Any, prefix: str) -> Any:
    sizes = {"hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 64, "num_position_embeddings": 16}
    return getattr(own, f"{prefix}VisionConfig")(deepstack_visual_indexes=[0, 1], **sizes, **tiny.QWEN_VISION)


def qwen3_vl_moe(folder: Path) -> Path:
    """Qwen3-VL with experts."""
    own = tf.models.qwen3_vl_moe.configuration_qwen3_vl_moe

    def text(words: Any) -> Any:
        experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "head_dim": 8}
        return own.Qwen3VLMoeTextConfig(
            **tiny.text(words), **experts, rope_parameters=_ROPE | {"mrope_interleaved": True}
        )

    vision = _qwen3_vision(own, "Qwen3VLMoe")
    return _grid(folder, "Qwen3VLProcessor", tf.Qwen3VLMoeConfig, _qwen_images(), vision, text, _QWEN)


def qwen3_5(folder: Path) -> Path:
    """Qwen3.5: most layers keep a recurrent state instead of keys and values."""
    own = tf.models.qwen3_5.configuration_qwen3_5

    def text(words: Any) -> Any:
        return own.Qwen3_5TextConfig(
            **tiny.text(words), head_dim=8, layer_types=["linear_attention", "full_attention"],
            linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4,
            rope_parameters=_ROPE | {"mrope_interleaved": True, "partial_rotary_factor": 1.0},
        )  # fmt: skip

    sizes = {"hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 64, "num_position_embeddings": 16}
    vision = own.Qwen3_5VisionConfig(**sizes, **tiny.QWEN_VISION)
    return _grid(folder, "Qwen3VLProcessor", tf.Qwen3_5Config, _qwen_images(), vision, text, _QWEN)


_GLM = {
    "image_start": "<|begin_of_image|>",
    "image_end": "<|end_of_image|>",
    "video_start": "<|begin_of_video|>",
    "video_end": "<|end_of_video|>",
    "image": "<|image|>",
    "video": "<|video|>",
}


def _glm(folder: Path, prefix: str, kind: str, images: Any) -> Path:
    own = tf.models.glm4v.configuration_glm4v
    vision = own.Glm4vVisionConfig(
        hidden_size=32, out_hidden_size=32, intermediate_size=64, image_size=32, **tiny.QWEN_VISION
    )

    def text(words: Any) -> Any:
        return own.Glm4vTextConfig(**tiny.text(words), rope_parameters=_ROPE | {"partial_rotary_factor": 1.0})

    size = {"shortest_edge": 16 * 16, "longest_edge": 48 * 48}
    shown = images(patch_size=4, merge_size=2, size=size)
    return _grid(folder, kind, getattr(tf, f"{prefix}Config"), shown, vision, text, _GLM)


def glm4v(folder: Path) -> Path:
    """GLM-4V."""
    return _glm(folder, "Glm4v", "Glm4vProcessor", tf.Glm4vImageProcessorPil)


def glm46v(folder: Path) -> Path:
    """GLM-4.6V."""
    return _glm(folder, "Glm46V", "Glm46VProcessor", tf.Glm46VImageProcessorPil)


def glm4v_moe(folder: Path) -> Path:
    """GLM-4.5V: experts."""
    own = tf.models.glm4v_moe.configuration_glm4v_moe
    sizes = {"hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 64, "image_size": 32}

    def text(words: Any) -> Any:
        return own.Glm4vMoeTextConfig(
            **tiny.text(words), n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, head_dim=8,
            rope_parameters=_ROPE | {"partial_rotary_factor": 1.0},
        )  # fmt: skip

    vision = own.Glm4vMoeVisionConfig(**sizes, **tiny.QWEN_VISION)
    images = tf.Glm4vImageProcessorPil(patch_size=4, merge_size=2, size=_SIZE)
    return _grid(folder, "Glm4vProcessor", tf.Glm4vMoeConfig, images, vision, text, _GLM)


def exaone4_5(folder: Path) -> Path:
    """EXAONE 4.5."""
    own = tf.models.exaone4_5.configuration_exaone4_5
    vision = own.Exaone4_5_VisionConfig(
        hidden_size=32, out_hidden_size=32, intermediate_size=64, window_size=16, fullatt_block_indexes=[1],
        num_key_value_heads=1, **tiny.QWEN_VISION,
    )  # fmt: skip

    def text(words: Any) -> Any:
        return tf.Exaone4Config(**tiny.text(words), layer_types=["sliding_attention", "full_attention"])

    return _grid(folder, "Exaone4_5_Processor", tf.Exaone4_5_Config, _qwen_images(), vision, text, _QWEN)


def hyperclovax_vision_v2(folder: Path) -> Path:
    """HyperCLOVA X SEED."""
    own = tf.models.hyperclovax_vision_v2.configuration_hyperclovax_vision_v2
    vision = tf.models.qwen2_5_vl.configuration_qwen2_5_vl.Qwen2_5_VLVisionConfig(
        hidden_size=32, out_hidden_size=32, intermediate_size=64, window_size=16, fullatt_block_indexes=[1],
        **tiny.QWEN_VISION,
    )  # fmt: skip

    def text(words: Any) -> Any:
        return tf.HyperCLOVAXConfig(**tiny.text(words), head_dim=8)

    kind = "HyperCLOVAXVisionV2Processor"
    return _grid(folder, kind, own.HyperCLOVAXVisionV2Config, _qwen_images(), vision, text, _QWEN)


def paddleocr_vl(folder: Path) -> Path:
    """PaddleOCR-VL."""
    own = tf.models.paddleocr_vl.configuration_paddleocr_vl
    vision = own.PaddleOCRVisionConfig(image_size=32, patch_size=4, spatial_merge_size=2, **tiny.VISION)

    def text(words: Any) -> Any:
        return own.PaddleOCRTextConfig(**tiny.text(words), head_dim=8, rope_parameters=_ROPE)

    images = tf.PaddleOCRVLImageProcessorPil(patch_size=4, merge_size=2, size=_SIZE)
    return _grid(folder, "PaddleOCRVLProcessor", tf.PaddleOCRVLConfig, images, vision, text, _QWEN)


def video_llama_3(folder: Path) -> Path:
    """VideoLLaMA 3, shown pictures."""
    own = tf.models.video_llama_3.configuration_video_llama_3
    vision = own.VideoLlama3VisionConfig(patch_size=4, **tiny.VISION)
    images = tf.VideoLlama3ImageProcessorPil(patch_size=4, merge_size=2, size=_SIZE)

    def text(words: Any) -> Any:
        return tf.Qwen2Config(**tiny.text(words))

    return _grid(folder, "VideoLlama3Processor", tf.VideoLlama3Config, images, vision, text, _QWEN)


def ernie4_5_vl_moe(folder: Path) -> Path:
    """ERNIE 4.5 VL: other experts for pictures than for text."""
    own = tf.models.ernie4_5_vl_moe.configuration_ernie4_5_vl_moe
    vision = own.Ernie4_5_VLMoeVisionConfig(
        depth=2, num_heads=2, hidden_size=32, intermediate_size=64, patch_size=4, spatial_merge_size=2
    )

    def text(words: Any) -> Any:
        return own.Ernie4_5_VLMoeTextConfig(
            **tiny.text(words), mlp_layer_types=["dense", "sparse"], moe_intermediate_size=[32, 16], moe_k=2,
            moe_num_experts=4, moe_num_shared_experts=1,
            rope_parameters={"rope_type": "default", "rope_theta": 1000.0, "mrope_section": [1, 1, 2]},
        )  # fmt: skip

    images = tf.Ernie4_5_VLMoeImageProcessorPil(patch_size=4, merge_size=2, size=_SIZE)
    return _grid(folder, "Ernie4_5_VLMoeProcessor", tf.Ernie4_5_VLMoeConfig, images, vision, text, _GLM)


BUILDERS: dict[str, Callable[[Path], Path]] = {
    build.__name__: build
    for build in (
        ernie4_5_vl_moe,
        exaone4_5,
        glm46v,
        glm4v,
        glm4v_moe,
        hyperclovax_vision_v2,
        paddleocr_vl,
        qwen3_5,
        qwen3_vl_moe,
        video_llama_3,
    )
}
