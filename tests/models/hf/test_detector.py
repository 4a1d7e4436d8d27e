"""Detectors of people: the same scores as by transformers alone, and folders that hold none."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from facevalue.errors import DependencyError, ModelError, UnknownNameError
from facevalue.models.classifiers import Detector, load_detector
from tests.models.hf.tiny import picture
from tests.models.hf.tiny_detector import tf, torch, write

BLACK, WHITE = (PIL.Image.new("RGB", (40, 30), color) for color in ("black", "white"))


def alone(folder: Path, shown: PIL.Image.Image) -> float:
    """Highest probability of label 1 among detections of which it is the likeliest, computed by hand."""
    model = tf.YolosForObjectDetection.from_pretrained(folder)
    pixels = tf.YolosImageProcessorPil.from_pretrained(folder)(images=shown, return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        chances = model(pixels).logits.softmax(-1)[0, :, :-1].numpy()
    found = chances[chances.argmax(1) == 1, 1]
    return float(np.max(found, initial=0.0))


def test_a_score_is_that_of_the_surest_person(tmp_path: Path) -> None:
    detector: Detector = load_detector(write(tmp_path / "tiny"))
    pictures = [BLACK, WHITE, picture("a"), picture("b", (64, 20))]
    scores = [max(persons, default=0.0) for persons in detector.persons(pictures)]
    assert scores == pytest.approx([alone(tmp_path / "tiny", one) for one in pictures], abs=1e-5)
    assert len(set(scores)) == 4
    assert all(0 < score < 1 for score in scores)
    assert detector.name == "tiny"


def test_a_picture_has_the_same_score_beside_any_other(tmp_path: Path) -> None:
    detector = load_detector(write(tmp_path))
    shown = picture("a")
    (first,) = detector.persons([shown])
    *_, last = detector.persons([picture("b", (200, 100)), shown])
    assert first == last


def test_where_no_person_is_likeliest_there_is_none(tmp_path: Path) -> None:
    assert list(load_detector(write(tmp_path, leaning=-50)).persons([BLACK])) == [[]]


def test_any_kind_of_detector_is_loaded_as_its_folder_says(tmp_path: Path) -> None:
    backbone = tf.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], out_features=["stage4"]
    )
    config = tf.DetrConfig(
        backbone_config=backbone, use_timm_backbone=False, use_pretrained_backbone=False, d_model=16, encoder_layers=1,
        decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16,
        num_queries=3, id2label={0: "person"}, label2id={"person": 0},
    )  # fmt: skip
    tf.DetrForObjectDetection(config).save_pretrained(tmp_path)
    tf.DetrImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(tmp_path)
    (scores,) = load_detector(tmp_path).persons([picture("a")])
    assert all(0 < score < 1 for score in scores)


def test_a_detector_without_the_label_person_names_its_labels(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"'person'.* Did you mean 'persons'"):
        load_detector(write(tmp_path, {0: "cat", 1: "persons"}))


def edited(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


def test_folders_without_a_detector_say_why(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    with pytest.raises(ModelError, match="There is no folder"):
        load_detector(folder)
    folder.mkdir()
    with pytest.raises(ModelError, match="holds no detector"):
        load_detector(folder)
    write(folder)
    edited(folder, num_detection_tokens=7)
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_detector(folder)
    edited(folder, model_type="vit", num_detection_tokens=4)
    with pytest.raises(ModelError, match="of type 'vit', which detects no objects"):
        load_detector(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be read"):
        load_detector(folder)
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(ModelError, match=r"preprocessor_config\.json"):
        load_detector(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="pickles are never read"):
        load_detector(folder)


def test_damaged_weights_are_one_message(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_detector(tmp_path)


def test_without_transformers_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(DependencyError, match=r"pip install '.\[hf\]'"):
        load_detector(tmp_path)
