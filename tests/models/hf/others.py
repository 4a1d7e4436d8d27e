"""Tiny models of families that no table lists, each saved to a folder as `tests.models.hf.tiny` does.

Those with positions by height and width are in `tests.models.hf.grids`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.models.hf import tiny

torch, tf = tiny.torch, tiny.tf


def _queried(folder: Path, kind: str, own: Any, prefix: str, words: Any, text: Any) -> Path:
    """A Q-Former between picture and language model: the processor puts the picture's tokens before the text."""
    torch.manual_seed(0)
    config = getattr(own, f"{prefix}Config")(
        vision_config=getattr(own, f"{prefix}VisionConfig")(image_size=28, patch_size=14, **tiny.VISION),
        qformer_config=getattr(own, f"{prefix}QFormerConfig")(
            encoder_hidden_size=32, vocab_size=len(words), cross_attention_frequency=1, **tiny.VISION
        ),
        text_config=text,
        num_query_tokens=4,
        image_token_index=tiny.token(words, "<image>"),
    )
    model = getattr(tf, f"{prefix}ForConditionalGeneration")(config)
    torch.nn.init.normal_(model.query_tokens, std=0.3)
    images = tf.BlipImageProcessorPil(size={"height": 28, "width": 28})
    if kind == "InstructBlipProcessor":
        words.save_pretrained(folder / "qformer_tokenizer")
    return tiny.save(folder, model, kind, images, words, "", num_query_tokens=4)


def _opt(words: Any) -> Any:
    return tf.OPTConfig(ffn_dim=64, word_embed_proj_dim=32, **tiny.text(words))


def _t5(words: Any) -> Any:
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    return tf.T5Config(vocab_size=len(words), decoder_start_token_id=0, pad_token_id=0, eos_token_id=2, **sizes)


def blip_2(folder: Path) -> Path:
    """BLIP-2 with OPT. Its tokenizer knows the picture's mark by name."""
    words = tiny.tokenizer("<image>", image_token="<image>")
    own = tf.models.blip_2.configuration_blip_2
    return _queried(folder, "Blip2Processor", own, "Blip2", words, _opt(words))


def blip_2_t5(folder: Path) -> Path:
    """BLIP-2 with T5: an encoder reads the prompt, a decoder replies. Its processor adds the picture's mark."""
    words = tiny.tokenizer("<image>")
    own = tf.models.blip_2.configuration_blip_2
    return _queried(folder, "Blip2Processor", own, "Blip2", words, _t5(words))


def instructblip(folder: Path) -> Path:
    """InstructBLIP with OPT: the Q-Former reads the question, too."""
    words = tiny.tokenizer("<image>")
    own = tf.models.instructblip.configuration_instructblip
    return _queried(folder, "InstructBlipProcessor", own, "InstructBlip", words, _opt(words))


def kosmos2(folder: Path) -> Path:
    """Kosmos-2, whose processor stands in no table of transformers."""
    words = tiny.tokenizer()
    words.add_tokens([f"<p{place}>" for place in range(4)])
    own = tf.models.kosmos2.configuration_kosmos2
    torch.manual_seed(0)
    config = tf.Kosmos2Config(
        text_config=own.Kosmos2TextConfig(
            vocab_size=2048, max_position_embeddings=1024, embed_dim=32, layers=2, ffn_dim=64, attention_heads=4,
            init_std=0.3, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        ),
        vision_config=own.Kosmos2VisionConfig(image_size=28, patch_size=14, **tiny.VISION),
        latent_query_num=64,
    )  # fmt: skip
    images = tf.CLIPImageProcessorPil(
        size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}, do_convert_rgb=True
    )
    return tiny.save(folder, tf.Kosmos2ForConditionalGeneration(config), "Kosmos2Processor", images, words, "")


def janus(folder: Path) -> Path:
    """Janus, whose `generate` passes no logits processor on."""
    words = tiny.tokenizer("<image>", "<boi>", "<eoi>", image_token="<image>", boi_token="<boi>", eoi_token="<eoi>")
    own = tf.models.janus.configuration_janus
    torch.manual_seed(0)
    config = tf.JanusConfig(
        text_config=tf.LlamaConfig(**tiny.text(words)),
        vision_config=own.JanusVisionConfig(
            image_size=28, patch_size=14, num_image_tokens=4, projection_dim=32, depth=2, hidden_size=32,
            num_hidden_layers=2, num_attention_heads=2, mlp_ratio=2, initializer_range=0.3,
        ),
        vq_config=own.JanusVQVAEConfig(
            embed_dim=8, num_embeddings=16, double_latent=False, latent_channels=8, base_channels=32,
            channel_multiplier=[1, 1], num_res_blocks=1, projection_dim=32, num_patches=4, image_token_embed_dim=32,
        ),
        image_token_id=tiny.token(words, "<image>"),
    )  # fmt: skip
    images = tf.JanusImageProcessorPil(size={"height": 28, "width": 28}, min_size=14)
    model = tf.JanusForConditionalGeneration(config)
    return tiny.save(folder, model, "JanusProcessor", images, words, "<image>", num_image_tokens=4)


def saved(folder: Path, words: Any, config: Any, kind: str, images: Any, mark: str, **settings: Any) -> Path:
    """Make a model of a configuration, its weights large enough for answers to depend on everything, and save it."""
    torch.manual_seed(0)
    model = tf.AutoModelForImageTextToText.from_config(config)
    for weights in model.parameters():
        if weights.dim() > 1:
            torch.nn.init.normal_(weights, std=0.2)
    return tiny.save(folder, model, kind, images, words, mark, **settings)


def _words(*more: str, **named: Any) -> Any:
    return tiny.tokenizer("<image>", *more, *named.values(), image_token="<image>", **named)


def _square(kind: Any, side: int = 28, **settings: Any) -> Any:
    return kind(size={"height": side, "width": side}, **settings)


def _clip_images(kind: Any = None, **settings: Any) -> Any:
    size, crop = {"shortest_edge": 28}, {"height": 28, "width": 28}
    return (kind or tf.CLIPImageProcessorPil)(size=size, crop_size=crop, do_convert_rgb=True, **settings)


def _clip() -> Any:
    return tf.CLIPVisionConfig(image_size=28, patch_size=14, **tiny.VISION)


def _siglip(**changed: Any) -> Any:
    return tf.SiglipVisionConfig(
        **{"image_size": 28, "patch_size": 14, "vision_use_head": False} | tiny.VISION | changed
    )


_ONE_MORE = {"patch_size": 14, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
"""Sizes that a processor of LLaVA's kind is told: a tower of CLIP has one token besides its patches."""


def vipllava(folder: Path) -> Path:
    """ViP-LLaVA: features of several layers side by side."""
    words = _words()
    config = tf.VipLlavaConfig(
        vision_config=_clip(),
        text_config=tf.LlamaConfig(**tiny.text(words)),
        image_token_index=tiny.token(words, "<image>"),
        vision_feature_layers=[-1, -2],
    )
    return saved(folder, words, config, "LlavaProcessor", _clip_images(), "<image>", **_ONE_MORE)


def video_llava(folder: Path) -> Path:
    """Video-LLaVA, shown pictures."""
    words = _words(video_token="<video>")
    config = tf.VideoLlavaConfig(
        vision_config=_clip(),
        text_config=tf.LlamaConfig(**tiny.text(words)),
        image_token_index=tiny.token(words, "<image>"),
        video_token_index=tiny.token(words, "<video>"),
    )
    images = _clip_images(tf.VideoLlavaImageProcessor)
    return saved(folder, words, config, "VideoLlavaProcessor", images, "<image>", **_ONE_MORE)


_SHAPES = [[28, 56], [56, 28], [56, 56]]


def llava_next_video(folder: Path) -> Path:
    """LLaVA-NeXT-Video, shown pictures: tiles."""
    words = _words(video_token="<video>")
    config = tf.LlavaNextVideoConfig(
        vision_config=tf.CLIPVisionConfig(image_size=28, patch_size=7, **tiny.VISION),
        text_config=tf.LlamaConfig(**tiny.text(words)),
        image_token_index=tiny.token(words, "<image>"),
        video_token_index=tiny.token(words, "<video>"),
        image_grid_pinpoints=_SHAPES,
    )
    images = _clip_images(tf.LlavaNextImageProcessorPil, image_grid_pinpoints=_SHAPES)
    sizes = {"patch_size": 7, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    return saved(folder, words, config, "LlavaNextVideoProcessor", images, "<image>", **sizes)


def llava_onevision(folder: Path) -> Path:
    """LLaVA-OneVision: tiles and Qwen2."""
    words = _words(video_token="<video>")
    config = tf.LlavaOnevisionConfig(
        vision_config=_siglip(),
        text_config=tf.Qwen2Config(**tiny.text(words)),
        image_token_index=tiny.token(words, "<image>"),
        video_token_index=tiny.token(words, "<video>"),
        image_grid_pinpoints=_SHAPES,
    )
    images = _square(tf.LlavaOnevisionImageProcessorPil, image_grid_pinpoints=_SHAPES)
    settings = {"num_image_tokens": 4, "vision_feature_select_strategy": "full"}
    return saved(folder, words, config, "LlavaOnevisionProcessor", images, "<image>", **settings)


def aya_vision(folder: Path) -> Path:
    """Aya Vision: tiles, Cohere2."""
    marks = ["<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_PATCH|>", "<|IMG_LINE_BREAK|>", "TILE", "TILE_GLOBAL"]
    words = tiny.tokenizer("<image>", *marks)
    config = tf.AyaVisionConfig(
        vision_config=_siglip(patch_size=7),
        text_config=tf.Cohere2Config(**tiny.text(words), layer_types=["sliding_attention", "full_attention"]),
        image_token_index=tiny.token(words, "<|IMG_PATCH|>"),
    )
    images = _square(tf.GotOcr2ImageProcessorPil, crop_to_patches=True, max_patches=3)
    sizes = {"patch_size": 7, "img_size": 28, "downsample_factor": 2}
    return saved(folder, words, config, "AyaVisionProcessor", images, "<image>", **sizes)


def deepseek_vl(folder: Path) -> Path:
    """DeepSeek-VL."""
    words = _words()
    config = tf.DeepseekVLConfig(
        vision_config=_siglip(),
        text_config=tf.LlamaConfig(**tiny.text(words)),
        image_token_id=tiny.token(words, "<image>"),
    )
    images = _square(tf.DeepseekVLImageProcessorPil, min_size=14)
    return saved(folder, words, config, "DeepseekVLProcessor", images, "<image>", num_image_tokens=4)


def idefics2(folder: Path) -> Path:
    """Idefics2: a perceiver makes the same number of tokens of any picture."""
    words = _words("<end_of_utterance>", image_boundary_token="<fake_token_around_image>")
    own = tf.models.idefics2.configuration_idefics2
    config = tf.Idefics2Config(
        vision_config=own.Idefics2VisionConfig(image_size=56, patch_size=14, **tiny.VISION),
        perceiver_config=own.Idefics2PerceiverConfig(
            hidden_size=32, resampler_n_latents=4, resampler_depth=1, resampler_n_heads=2, resampler_head_dim=16,
            num_key_value_heads=1,
        ),
        text_config=tf.MistralConfig(sliding_window=None, **tiny.text(words)),
        image_token_id=tiny.token(words, "<image>"),
    )  # fmt: skip
    images = tf.Idefics2ImageProcessorPil(size={"longest_edge": 56, "shortest_edge": 28}, do_image_splitting=False)
    return saved(folder, words, config, "Idefics2Processor", images, "<image>", image_seq_len=4)


def aria(folder: Path) -> Path:
    """Aria: experts."""
    words = _words()
    own = tf.models.aria.configuration_aria
    config = tf.AriaConfig(
        vision_config=tf.models.idefics3.configuration_idefics3.Idefics3VisionConfig(
            image_size=980, patch_size=140, **tiny.VISION
        ),
        text_config=own.AriaTextConfig(**tiny.text(words), moe_num_experts=4, moe_topk=2, moe_num_shared_experts=1),
        projector_patch_to_query_dict={49: 4},
        image_token_index=tiny.token(words, "<image>"),
    )
    images = tf.AriaImageProcessorPil(max_image_size=980, min_image_size=336)
    return saved(folder, words, config, "AriaProcessor", images, "<image>", size_conversion={980: 4})


def chameleon(folder: Path) -> Path:
    """Chameleon: a picture's tokens are words of the vocabulary."""
    marks = ["<image>", "<racm3:break>", "<eoss>", *(f"IMGIMG{letter}Z" for letter in "ABCDEFGH")]
    words = tiny.tokenizer(*marks, sep_token="<racm3:break>")
    own = tf.models.chameleon.configuration_chameleon
    config = tf.ChameleonConfig(
        **tiny.text(words),
        vq_config=own.ChameleonVQVAEConfig(
            embed_dim=8, num_embeddings=8, latent_channels=8, resolution=32, base_channels=32,
            channel_multiplier=[1, 2], num_res_blocks=1,
        ),
        vocabulary_map=words.get_vocab(),
    )  # fmt: skip
    images = tf.ChameleonImageProcessorPil(size={"shortest_edge": 8}, crop_size={"height": 8, "width": 8})
    return saved(folder, words, config, "ChameleonProcessor", images, "<image>", image_seq_length=16)


def _sam(**changed: Any) -> dict[str, Any]:
    sizes = {"image_size": 64, "patch_size": 4, "mlp_dim": 64, "output_channels": 16, "window_size": 2}
    return tiny.VISION | sizes | {"global_attn_indexes": [1]} | changed


def got_ocr2(folder: Path) -> Path:
    """GOT-OCR2."""
    marks = {"img_start_token": "<img>", "img_end_token": "</img>", "img_pad_token": "<imgpad>"}
    words = tiny.tokenizer(*marks.values())
    own = tf.models.got_ocr2.configuration_got_ocr2
    config = tf.GotOcr2Config(
        vision_config=own.GotOcr2VisionConfig(**_sam(image_size=256, global_attn_indexes=[])),
        text_config=tf.Qwen2Config(**tiny.text(words)),
        image_token_index=tiny.token(words, "<imgpad>"),
    )
    images = _square(tf.GotOcr2ImageProcessorPil, 256)
    return saved(folder, words, config, "GotOcr2Processor", images, "<img><imgpad></img>")


def deepseek_vl_hybrid(folder: Path) -> Path:
    """DeepSeek-VL with a second encoder for fine print."""
    words = _words()
    config = tf.DeepseekVLHybridConfig(
        vision_config=_siglip(patch_size=7),
        high_res_vision_config=tf.SamVisionConfig(**_sam(num_pos_feats=8, scale=32)),
        text_config=tf.LlamaConfig(**tiny.text(words)),
        image_token_id=tiny.token(words, "<image>"),
    )
    images = tf.DeepseekVLHybridImageProcessorPil(
        size={"height": 28, "width": 28}, high_res_size={"height": 64, "width": 64}, min_size=14
    )
    return saved(folder, words, config, "DeepseekVLHybridProcessor", images, "<image>", num_image_tokens=16)


def emu3(folder: Path) -> Path:
    """Emu3: a picture is spelt row by row."""
    marks = {
        "boi_token": "<|image start|>", "eoi_token": "<|image end|>", "image_wrapper_token": "<|image token|>",
        "eof_token": "<|extra_201|>",
    }  # fmt: skip
    words = _words("<|extra_200|>", *(f"<|visual token {place:06d}|>" for place in range(8)), **marks)
    own = tf.models.emu3.configuration_emu3
    config = tf.Emu3Config(
        text_config=own.Emu3TextConfig(**tiny.text(words)),
        vq_config=own.Emu3VQVAEConfig(
            codebook_size=8, embed_dim=4, latent_channels=4, base_channels=32, channel_multiplier=[1, 1, 1, 1],
            num_res_blocks=1, hidden_size=32, attn_resolutions=[],
        ),
        vocabulary_map=words.get_vocab(),
    )  # fmt: skip
    images = tf.Emu3ImageProcessor(min_pixels=16 * 16, max_pixels=48 * 48)
    return saved(folder, words, config, "Emu3Processor", images, "<image>")


def florence2(folder: Path) -> Path:
    """Florence-2: an encoder reads picture and prompt, a decoder replies."""
    words = _words()
    own = tf.models.florence2.configuration_florence2
    config = tf.Florence2Config(
        vision_config=own.Florence2VisionConfig(
            depths=[1, 1], embed_dim=[8, 16], num_groups=[2, 2], num_heads=[2, 2], patch_padding=[3, 1],
            patch_prenorm=[False, True], patch_size=[7, 3], patch_stride=[4, 2], window_size=4, projection_dim=32,
        ),
        text_config=tf.BartConfig(
            vocab_size=len(words), d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=512,
            bos_token_id=1, eos_token_id=2, pad_token_id=0, decoder_start_token_id=2,
        ),
        image_token_id=tiny.token(words, "<image>"),
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    images = _clip_images(image_seq_length=17)
    return saved(folder, words, config, "Florence2Processor", images, "<image>")


def ovis2(folder: Path) -> Path:
    """Ovis2: a picture's tokens are mixtures of words of its own."""
    marks = ["<IMG_START>", "<IMG_GRID>", "<IMG_COL>", "<IMG_ROW>", "<IMG_END>"]
    words = _words("<IMG_ATOM>", *marks)
    own = tf.models.ovis2.configuration_ovis2
    config = tf.Ovis2Config(
        vision_config=own.Ovis2VisionConfig(image_size=28, patch_size=7, hidden_stride=2, vocab_size=32, **tiny.VISION),
        text_config=tf.Qwen2Config(**tiny.text(words)),
        image_token_id=tiny.token(words, "<IMG_ATOM>"),
        visual_indicator_token_ids=[tiny.token(words, mark) for mark in marks],
        vocab_size=len(words),
        hidden_size=32,
    )
    images = _square(tf.Ovis2ImageProcessorPil, crop_to_patches=False)
    return saved(folder, words, config, "Ovis2Processor", images, "<image>", image_seq_length=4)


def granite_docling(folder: Path) -> Path:
    """Granite Docling: tiles, and features of the picture in several layers."""
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    words = _words("<fake_token_around_image>", "<global-img>", *tiles)
    own = tf.models.granite_docling.configuration_granite_docling
    config = tf.GraniteDoclingConfig(
        vision_config=own.GraniteDoclingVisionConfig(
            image_size=28, patch_size=7, scale_factor=2, out_hidden_size=32, deepstack_visual_indexes=[0],
            use_fine_route=False, **tiny.VISION,
        ),
        text_config=own.GraniteDoclingTextConfig(**tiny.text(words), logits_scaling=1.0, attention_multiplier=0.35),
        image_token_id=tiny.token(words, "<image>"),
        pad_token_id=0,
    )  # fmt: skip
    images = _square(tf.GraniteDoclingImageProcessorPil, max_patches=3)
    return saved(folder, words, config, "GraniteDoclingProcessor", images, "<image>", image_seq_len=4)


def lighton_ocr(folder: Path) -> Path:
    """LightOnOCR: Pixtral's encoder, Qwen3."""
    words = _words(image_break_token="<break>", image_end_token="<end>")
    config = tf.LightOnOcrConfig(
        vision_config=tf.PixtralVisionConfig(image_size=56, patch_size=7, head_dim=16, **tiny.VISION),
        text_config=tf.Qwen3Config(**tiny.text(words), head_dim=8),
        image_token_id=tiny.token(words, "<image>"),
    )
    images = tf.PixtralImageProcessorPil(patch_size={"height": 14, "width": 14}, size={"longest_edge": 56})
    sizes = {"patch_size": 7, "spatial_merge_size": 2}
    return saved(folder, words, config, "LightOnOcrProcessor", images, "<image>", **sizes)


BUILDERS: dict[str, Callable[[Path], Path]] = {
    build.__name__: build
    for build in (
        aria,
        aya_vision,
        blip_2,
        blip_2_t5,
        chameleon,
        deepseek_vl,
        deepseek_vl_hybrid,
        emu3,
        florence2,
        got_ocr2,
        granite_docling,
        idefics2,
        instructblip,
        janus,
        kosmos2,
        lighton_ocr,
        llava_next_video,
        llava_onevision,
        ovis2,
        video_llava,
        vipllava,
    )
}
