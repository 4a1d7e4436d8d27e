"""Tiny models with a planted liking for some tokens, so that options have real mass."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from tests.models.hf import tiny

LIKED = {
    "(": 9.0,
    "a": 9.0,
    "b": 8.5,
    "A": 8.5,
    "AB": 7.5,
    "B": 7.5,
    ")": 8.0,
    "\u010a": 5.0,
    "</s>": 8.0,
    "(a)": 8.0,
    "(b)": 7.5,
    "yes": 8.0,
    "no": 8.0,
    "Yes": 8.0,
    "No": 8.0,
}
_CONSTANT = 6.0


def plant(folder: Path, liked: Mapping[str, float] = LIKED) -> Path:
    """Raise the logits of tokens by about so much, wherever they may come.

    One dimension of the embeddings is made a constant, which the output layer then weighs.
    """
    torch, tf = tiny.torch, tiny.tf
    model = tf.AutoModelForImageTextToText.from_pretrained(folder)
    words = tf.AutoTokenizer.from_pretrained(folder)
    inputs, outputs = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    with torch.no_grad():
        inputs[:, 0] = _CONSTANT
        outputs[:, 0] = 0.0
        for text, much in liked.items():
            for way in (text, f"\u2581{text}", f"\u0120{text}"):  # as SentencePiece and byte-level BPE write a blank
                token = words.convert_tokens_to_ids(way)
                if token is not None and token != words.unk_token_id:
                    outputs[token, 0] = much / 2.5
    model.save_pretrained(folder)
    return folder


def engine(folder: Path, **how: Any) -> Any:
    """Load an engine on the CPU."""
    from facevalue.models.hf.engine import Engine

    return Engine.load(str(folder), **({"device": "cpu", "threads": 1} | how))


def untried(engine: Any, *, shares: bool = True) -> Any:
    """Have an engine share, or not, without a trial: so that faults that come later are met."""
    engine.trials.allow = lambda *_: shares
    return engine


def untried_openings(engine: Any) -> Any:
    """Have an engine go on from token sequences without a trial."""
    engine.opening.trials.allow = lambda *_: True
    return engine
