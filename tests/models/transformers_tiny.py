"""Write a LLaVA with random weights and a tokenizer of single bytes for `transformers serve`.

Usage: transformers_tiny.py FOLDER, run by an interpreter that has torch and transformers; nothing is downloaded.
"""

import sys
from importlib import import_module

TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)


def main(folder: str, width: int = 32, heads: int = 4, context: int = 2048) -> None:
    torch, tf, tokenizers = map(import_module, ("torch", "transformers", "tokenizers"))
    special = ["<pad>", "<s>", "</s>", "<unk>", "<image>"]
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*special, *alphabet])}
    core = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        extra_special_tokens={"image_token": "<image>"},
    )
    tokenizer.chat_template = TEMPLATE
    side, patch = 28, 14
    images = tf.CLIPImageProcessorPil(
        size={"shortest_edge": side}, crop_size={"height": side, "width": side}, do_convert_rgb=True
    )
    processor = tf.LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=patch,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
        image_token="<image>",
    )
    torch.manual_seed(0)
    layers = {
        "hidden_size": width,
        "intermediate_size": 2 * width,
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
    }
    config = tf.LlavaConfig(
        vision_config=tf.CLIPVisionConfig(image_size=side, patch_size=patch, **layers),
        text_config=tf.LlamaConfig(
            vocab_size=len(vocabulary),
            num_key_value_heads=heads,
            max_position_embeddings=context,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            **layers,
        ),
        image_token_index=vocabulary["<image>"],
    )
    model = tf.LlavaForConditionalGeneration(config)
    model.generation_config = tf.GenerationConfig(
        do_sample=True, top_k=0, pad_token_id=0, bos_token_id=1, eos_token_id=2
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


if __name__ == "__main__":
    main(sys.argv[1])
