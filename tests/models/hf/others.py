"""Tiny models of families that no table lists, each saved to a folder as `tests.models.hf.tiny` does."""

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


BUILDERS: dict[str, Callable[[Path], Path]] = {
    build.__name__: build for build in (blip_2, blip_2_t5, instructblip, janus, kosmos2)
}
