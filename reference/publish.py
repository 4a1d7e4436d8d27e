"""Write a trained model as a folder that transformers loads like any LLaVA, and put it into the package.

`python -m reference.publish FOLDER` makes a finished model the one that ships; with `--variant NAME` a variant of it,
of which only the weights that differ are kept.
"""

import argparse
import json
import shutil
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    GenerationConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

from facevalue.models.reference.adapter import FOLDER, VARIANTS
from reference import words
from reference.network import PATCH, configuration, network
from reference.portraits import SIDE
from reference.truth import PlantedTruth

TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<' + message['role'] + '>' }}"
    "{%- if message['content'] is string -%}{{ message['content'] }}"
    "{%- else -%}"
    "{%- for part in message['content'] if part['type'] == 'image' -%}{{ '<image>' }}{%- endfor -%}"
    "{%- for part in message['content'] if part['type'] == 'text' -%}{{ part['text'] }}{%- endfor -%}"
    "{%- endif -%}"
    "{{ '<end>' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<assistant>' }}{%- endif -%}"
)


def processor() -> LlavaProcessor:
    """Everything that turns a picture and a conversation into tensors."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words.tokenizer(),
        pad_token=words.PAD,
        eos_token=words.END,
        additional_special_tokens=[words.IMAGE, words.USER, words.SYSTEM, words.ASSISTANT],
        model_max_length=512,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    pictures = SiglipImageProcessorPil(
        size={"height": SIDE, "width": SIDE},
        resample=3,
        do_rescale=True,
        do_normalize=True,
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
        do_convert_rgb=True,
    )
    return LlavaProcessor(
        image_processor=pictures,
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="full",
        chat_template=TEMPLATE,
    )


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    """Read the weights of a finished model back, as `publish` takes them."""
    model: Any = LlavaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    weights: dict[str, torch.Tensor] = model.state_dict()
    return weights


def publish(weights: dict[str, torch.Tensor], folder: Path, truth: PlantedTruth) -> None:
    """Write the folder. Weights are kept in half precision and computed with in single."""
    made = processor()
    tokenizer: Any = made.tokenizer
    token = tokenizer.convert_tokens_to_ids
    config = configuration(len(tokenizer), token(words.IMAGE), token(words.PAD), token(words.END))
    model: Any = network(config, 0)
    model.load_state_dict(weights)
    model.generation_config = GenerationConfig(
        do_sample=False, max_new_tokens=24, eos_token_id=token(words.END), pad_token_id=token(words.PAD)
    )
    model.save_pretrained(folder)
    stored = folder / "model.safetensors"
    save_file({name: value.half() for name, value in load_file(stored).items()}, stored, metadata={"format": "pt"})
    stored.chmod(0o644)
    settings = json.loads((folder / "config.json").read_text())
    settings["dtype"] = "float32"
    (folder / "config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")
    made.save_pretrained(folder)
    truth.write(folder / "truth.parquet")


def rest_of(differing: Iterable[str]) -> str:
    """Hash of the shipped tensors that a variant is completed with, and of all that goes with them."""
    state = blake2b(digest_size=16)
    for name, value in sorted(load_file(FOLDER / "model.safetensors").items()):
        if name not in set(differing):
            state.update(name.encode() + value.numpy().tobytes())
    for name in ("config.json", "tokenizer.json"):
        state.update((FOLDER / name).read_bytes())
    return state.hexdigest()


def ship(folder: Path, variant: str = "") -> Path:
    """Put a finished model into the package, and return where.

    Parameters
    ----------
    folder:
        As `publish` writes it.
    variant:
        What the variant is called; empty for the model itself.
    """
    if not variant:
        for path in folder.iterdir():
            shutil.copy(path, FOLDER)
        return FOLDER
    target = VARIANTS / variant
    target.mkdir(parents=True, exist_ok=True)
    known, own = load_file(FOLDER / "model.safetensors"), load_file(folder / "model.safetensors")
    differing = {name: value for name, value in own.items() if not torch.equal(value, known[name])}
    save_file(differing, target / "model.safetensors", metadata={"format": "pt", "rest": rest_of(differing)})
    (target / "model.safetensors").chmod(0o644)
    shutil.copy(folder / "truth.parquet", target)
    return target


def main() -> None:
    """Put a finished model into the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a finished model")
    parser.add_argument("--variant", default="", help="what the variant is called; the model itself by default")
    arguments = parser.parse_args()
    print(ship(arguments.folder, arguments.variant))


if __name__ == "__main__":
    main()
