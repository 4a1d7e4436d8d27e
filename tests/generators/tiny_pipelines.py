"""Tiny diffusers pipelines of random weights, built from configurations alone: no hub, .1 to .4 seconds a picture.

Their pictures are noise. What is tested is the call: arguments, seeds, prompts, sources, refusals.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

_HINT = "is not installed: pip install '.[pictures]'"
torch: Any = pytest.importorskip("torch", reason=f"torch {_HINT}")
transformers: Any = pytest.importorskip("transformers", reason=f"transformers {_HINT}")
diffusers: Any = pytest.importorskip("diffusers", reason=f"diffusers {_HINT}")
from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: E402

LETTERS = [chr(code) for code in range(33, 127)]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
FLOW: dict[str, Any] = {
    "patch_size": 1,
    "in_channels": 4,
    "num_layers": 1,
    "num_single_layers": 1,
    "attention_head_dim": 16,
    "num_attention_heads": 2,
}
"""What transformers of FLUX share."""
KLEIN_LAYERS = 28
"""Layers of its text encoder: by default the pipeline reads three of them, up to number 27."""


def clip_tokenizer() -> Any:
    """A CLIP tokenizer of letters: at most 77 tokens, a letter each."""
    tokens = ["<|startoftext|>", "<|endoftext|>", *LETTERS, *[letter + "</w>" for letter in LETTERS]]
    return transformers.CLIPTokenizer(
        vocab={token: number for number, token in enumerate(tokens)}, merges=[], model_max_length=77
    )


def t5_tokenizer() -> Any:
    """A tokenizer of letters in the place of T5's."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -10.0), ("▁", -2.0), *[(letter, -4.0) for letter in LETTERS]]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=512
    )


def qwen_tokenizer(*special: str, chat_template: str | None = TEMPLATE) -> Any:
    """A tokenizer of bytes of Qwen's kind."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    wrapped = transformers.Qwen2TokenizerFast(
        tokenizer_object=tokenizer,
        additional_special_tokens=list(special or SPECIAL),
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
    )
    wrapped.chat_template = chat_template
    return wrapped


def clip_encoder(tokenizer: Any, width: int = 32, *, projected: bool = False) -> Any:
    config = transformers.CLIPTextConfig(
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
        hidden_size=width,
        intermediate_size=37,
        num_attention_heads=4,
        num_hidden_layers=2,
        vocab_size=len(tokenizer),
        projection_dim=width,
    )
    return (transformers.CLIPTextModelWithProjection if projected else transformers.CLIPTextModel)(config).eval()


def t5_encoder(tokenizer: Any) -> Any:
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    return transformers.T5EncoderModel(config).eval()


def qwen_encoder(tokenizer: Any, layers: int) -> Any:
    config = transformers.Qwen3Config(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=8,
        vocab_size=len(tokenizer),
        max_position_embeddings=1024,
    )
    return transformers.Qwen3ForCausalLM(config).eval()


def vae(**changes: Any) -> Any:
    options = {
        "block_out_channels": [8, 16],
        "in_channels": 3,
        "out_channels": 3,
        "norm_num_groups": 4,
        "down_block_types": ["DownEncoderBlock2D"] * 2,
        "up_block_types": ["UpDecoderBlock2D"] * 2,
        "latent_channels": 4,
        "sample_size": 32,
    }
    return diffusers.AutoencoderKL(**options | changes)


def flow_vae(channels: int = 1) -> Any:
    return diffusers.AutoencoderKL(
        sample_size=32,
        in_channels=3,
        out_channels=3,
        block_out_channels=(4,),
        layers_per_block=1,
        latent_channels=channels,
        norm_num_groups=1,
        use_quant_conv=False,
        use_post_quant_conv=False,
        shift_factor=0.0609,
        scaling_factor=1.5035,
    )


def unet(channels: int = 4, **changes: Any) -> Any:
    options = {
        "block_out_channels": (8, 16),
        "layers_per_block": 1,
        "sample_size": 16,
        "in_channels": channels,
        "out_channels": 4,
        "norm_num_groups": 4,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
        "cross_attention_dim": 32,
        "attention_head_dim": 4,
    }
    return diffusers.UNet2DConditionModel(**options | changes)


def stable_diffusion(kind: str = "StableDiffusionPipeline", channels: int = 4, *, checked: bool = False) -> Any:
    tokenizer = clip_tokenizer()
    safety = {"safety_checker": None, "feature_extractor": None}
    if checked:
        sides = {"hidden_size": 32, "intermediate_size": 37, "num_attention_heads": 4, "num_hidden_layers": 1}
        config = transformers.CLIPConfig(
            text_config={**sides, "vocab_size": 99},
            vision_config={**sides, "image_size": 30, "patch_size": 15},
            projection_dim=64,
        )
        from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker

        size = {"height": 30, "width": 30}
        safety = {
            "safety_checker": StableDiffusionSafetyChecker(config).eval(),
            "feature_extractor": transformers.CLIPImageProcessorPil(size={"shortest_edge": 30}, crop_size=size),
        }
    return getattr(diffusers, kind)(
        vae=vae(),
        text_encoder=clip_encoder(tokenizer),
        tokenizer=tokenizer,
        unet=unet(channels),
        scheduler=diffusers.DDIMScheduler(clip_sample=False, steps_offset=1),
        requires_safety_checker=checked,
        **safety,
    )


def stable_diffusion_xl() -> Any:
    tokenizer = clip_tokenizer()
    return diffusers.StableDiffusionXLPipeline(
        vae=vae(),
        text_encoder=clip_encoder(tokenizer),
        text_encoder_2=clip_encoder(tokenizer, projected=True),
        tokenizer=tokenizer,
        tokenizer_2=clip_tokenizer(),
        unet=unet(
            cross_attention_dim=64,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            transformer_layers_per_block=(1, 1),
            projection_class_embeddings_input_dim=80,
        ),
        scheduler=diffusers.EulerDiscreteScheduler(),
        add_watermarker=False,
    )


def stable_diffusion_3() -> Any:
    tokenizer, long_tokenizer = clip_tokenizer(), t5_tokenizer()
    return diffusers.StableDiffusion3Pipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=flow_vae(4),
        text_encoder=clip_encoder(tokenizer, projected=True),
        text_encoder_2=clip_encoder(tokenizer, projected=True),
        text_encoder_3=t5_encoder(long_tokenizer),
        tokenizer=tokenizer,
        tokenizer_2=clip_tokenizer(),
        tokenizer_3=long_tokenizer,
        transformer=diffusers.SD3Transformer2DModel(
            sample_size=32,
            patch_size=1,
            in_channels=4,
            num_layers=1,
            attention_head_dim=8,
            num_attention_heads=4,
            caption_projection_dim=32,
            joint_attention_dim=32,
            pooled_projection_dim=64,
            out_channels=4,
        ),
    )


def flux(kind: str = "FluxPipeline") -> Any:
    tokenizer, long_tokenizer = clip_tokenizer(), t5_tokenizer()
    return getattr(diffusers, kind)(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=flow_vae(),
        text_encoder=clip_encoder(tokenizer),
        tokenizer=tokenizer,
        text_encoder_2=t5_encoder(long_tokenizer),
        tokenizer_2=long_tokenizer,
        transformer=diffusers.FluxTransformer2DModel(
            **FLOW,
            joint_attention_dim=32,
            pooled_projection_dim=32,
            axes_dims_rope=[4, 4, 8],
        ),
    )


def flux_klein() -> Any:
    tokenizer = qwen_tokenizer()
    return diffusers.Flux2KleinPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=diffusers.AutoencoderKLFlux2(
            sample_size=32,
            in_channels=3,
            out_channels=3,
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            block_out_channels=(4, 4),
            layers_per_block=1,
            latent_channels=1,
            norm_num_groups=1,
            use_quant_conv=False,
            use_post_quant_conv=False,
        ),
        text_encoder=qwen_encoder(tokenizer, KLEIN_LAYERS),
        tokenizer=tokenizer,
        transformer=diffusers.Flux2Transformer2DModel(
            **FLOW,
            joint_attention_dim=48,
            timestep_guidance_channels=256,
            axes_dims_rope=[4, 4, 4, 4],
            guidance_embeds=False,
        ),
    )


def z_image() -> Any:
    tokenizer = qwen_tokenizer()
    return diffusers.ZImagePipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=vae(
            latent_channels=16, use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.0, scaling_factor=1
        ),
        text_encoder=qwen_encoder(tokenizer, 2),
        tokenizer=tokenizer,
        transformer=diffusers.ZImageTransformer2DModel(
            all_patch_size=(2,),
            all_f_patch_size=(1,),
            in_channels=16,
            dim=32,
            n_layers=1,
            n_refiner_layers=1,
            n_heads=2,
            n_kv_heads=2,
            cap_feat_dim=16,
            axes_dims=[8, 4, 4],
            axes_lens=[512, 64, 64],
        ),
    )


def sana() -> Any:
    tokenizer = t5_tokenizer()
    config = transformers.Gemma2Config(
        head_dim=16,
        hidden_size=8,
        intermediate_size=16,
        num_attention_heads=2,
        num_hidden_layers=1,
        num_key_value_heads=2,
        vocab_size=len(tokenizer),
    )
    return diffusers.SanaPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=7.0),
        vae=diffusers.AutoencoderDC(
            in_channels=3,
            latent_channels=4,
            attention_head_dim=2,
            encoder_block_types=("ResBlock", "EfficientViTBlock"),
            decoder_block_types=("ResBlock", "EfficientViTBlock"),
            encoder_block_out_channels=(8, 8),
            decoder_block_out_channels=(8, 8),
            encoder_qkv_multiscales=((), (5,)),
            decoder_qkv_multiscales=((), (5,)),
            encoder_layers_per_block=(1, 1),
            decoder_layers_per_block=(1, 1),
            downsample_block_type="conv",
            upsample_block_type="interpolate",
            decoder_norm_types="rms_norm",
            decoder_act_fns="silu",
            scaling_factor=0.41407,
        ),
        text_encoder=transformers.Gemma2Model(config).eval(),
        tokenizer=tokenizer,
        transformer=diffusers.SanaTransformer2DModel(
            patch_size=1,
            in_channels=4,
            out_channels=4,
            num_layers=1,
            num_attention_heads=2,
            attention_head_dim=4,
            num_cross_attention_heads=2,
            cross_attention_head_dim=4,
            cross_attention_dim=8,
            caption_channels=8,
            sample_size=32,
        ),
    )


def qwen_image() -> Any:
    tokenizer = qwen_tokenizer(
        *SPECIAL, "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>", chat_template=None
    )
    text = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "vocab_size": len(tokenizer),
        "rope_parameters": {"mrope_section": [1, 1, 2], "rope_type": "default", "rope_theta": 1e6},
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
    }
    vision = {
        "depth": 1,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_heads": 2,
        "out_hidden_size": 16,
        "fullatt_block_indexes": [0],
        "window_size": 56,
    }
    config = transformers.Qwen2_5_VLConfig(text_config=text, vision_config=vision)
    return diffusers.QwenImagePipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=diffusers.AutoencoderKLQwenImage(
            base_dim=8,
            z_dim=4,
            dim_mult=[1, 2, 4],
            num_res_blocks=1,
            temperal_downsample=[False, True],
            latents_mean=[0.0] * 4,
            latents_std=[1.0] * 4,
        ),
        text_encoder=transformers.Qwen2_5_VLForConditionalGeneration(config).eval(),
        tokenizer=tokenizer,
        transformer=diffusers.QwenImageTransformer2DModel(
            patch_size=2,
            in_channels=16,
            out_channels=4,
            num_layers=1,
            attention_head_dim=16,
            num_attention_heads=3,
            joint_attention_dim=16,
            guidance_embeds=False,
            axes_dims_rope=(8, 4, 4),
        ),
    )


FAMILIES: dict[str, Callable[[], Any]] = {
    "sd": stable_diffusion,
    "sd-checked": partial(stable_diffusion, checked=True),
    "pix2pix": partial(stable_diffusion, "StableDiffusionInstructPix2PixPipeline", 8),
    "sdxl": stable_diffusion_xl,
    "sd3": stable_diffusion_3,
    "flux": flux,
    "kontext": partial(flux, "FluxKontextPipeline"),
    "klein": flux_klein,
    "z-image": z_image,
    "qwen": qwen_image,
    "sana": sana,
}


def save_pipeline(family: str, folder: Path) -> Path:
    """Write a pipeline of a family into a folder, the same each time."""
    torch.manual_seed(0)
    FAMILIES[family]().save_pretrained(folder)
    return folder


def change_index(folder: Path, **changes: Any) -> None:
    """Change what a folder's model_index.json says."""
    index = folder / "model_index.json"
    index.write_text(json.dumps({**json.loads(index.read_text()), **changes}))
