"""A tiny LLaVA with a habit: it answers "(a)" or "(b)", a little oftener one or the other by picture and prompt."""

from importlib import import_module
from pathlib import Path

from tests.models.transformers_tiny import main

STATES = ("start", "open", "letter", "close")
HABITS: dict[str, dict[str, float]] = {
    "start": {"(": 13.0, "a": 8.0, "b": 7.0},
    "open": {"a": 13.0, "b": 12.5},
    "letter": {")": 13.0},
    "close": {"</s>": 13.0},
}
AFTER = {"(": "open", "a": "letter", "b": "letter", ")": "close"}


def write(folder: Path, context: int) -> Path:
    """Write it, with a tokenizer of single bytes.

    The residual stream carries the embeddings nearly unchanged, so that the output layer is a table of what follows
    what; the random layers, and the picture through them, shift the odds.
    """
    main(str(folder), width=128, heads=2, context=context)  # vLLM's attention on CPUs knows heads of 64, not of 8
    torch, tf = import_module("torch"), import_module("transformers")
    model = tf.AutoModelForImageTextToText.from_pretrained(folder)
    words = tf.AutoTokenizer.from_pretrained(folder)
    inputs, outputs = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    root = inputs.shape[1] ** 0.5
    with torch.no_grad():
        for text, number in words.get_vocab().items():
            inputs[number, STATES.index(AFTER.get(text, "start"))] = root
            for place, state in enumerate(STATES):
                outputs[number, place] = HABITS[state].get(text, 0.0) / root
    model.save_pretrained(folder)
    return folder
