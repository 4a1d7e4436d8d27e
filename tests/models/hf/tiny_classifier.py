"""Text classifiers of a few thousand random weights, saved to a folder as real ones are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.models.hf.tiny import tf, tokenizer, torch

TOXIC = (
    "toxicity", "severe_toxicity", "obscene", "identity_attack", "insult", "threat", "sexual_explicit", "male",
    "female", "homosexual_gay_or_lesbian", "christian", "jewish", "muslim", "black", "white",
    "psychiatric_or_mental_illness",
)  # fmt: skip
"""Labels of unitary/unbiased-toxic-roberta, in its order."""
SMALL: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "initializer_range": 0.5, "vocab_size": 512, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def write(
    folder: Path, labels: Sequence[str] = ("calm", "hostile"), kind: str = "Roberta", window: int = 32, **config: Any
) -> Path:
    """Write a classifier whose window holds so many tokens."""
    torch.manual_seed(5)
    named = {"id2label": dict(enumerate(labels)), "label2id": {label: at for at, label in enumerate(labels)}}
    positions = window + 1 if kind == "Roberta" else window  # RoBERTa's first position is that after the padding
    made = getattr(tf, f"{kind}Config")(**SMALL, **named, max_position_embeddings=positions, **config)
    model = getattr(tf, f"{kind}ForSequenceClassification")(made).eval()
    model.save_pretrained(folder)
    words = tokenizer()
    words.model_max_length = 10**30
    words.save_pretrained(folder)
    return folder
