"""A detector of a few thousand random weights, saved to a folder as real ones are, so that real code loads it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
tf: Any = pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")
LABELS = {0: "cat", 1: "Person"}


def write(folder: Path, labels: Mapping[int, str] = LABELS, leaning: float = 3.0) -> Path:
    """Write a YOLOS that leans to its label 1 by so many logits; what it sees moves the score a little."""
    torch.manual_seed(3)
    config = tf.YolosConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=[32, 32],
        patch_size=16, num_detection_tokens=4, initializer_range=0.4, id2label=dict(labels),
        label2id={label: number for number, label in labels.items()},
    )  # fmt: skip
    model = tf.YolosForObjectDetection(config).eval()
    with torch.no_grad():
        model.class_labels_classifier.layers[-1].bias[1] += leaning
    model.save_pretrained(folder)
    tf.YolosImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder
