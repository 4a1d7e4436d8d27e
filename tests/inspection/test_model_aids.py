"""Aids that are models in folders: tiny random ones, loaded as real ones are."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facevalue.errors import FaceValueError, ModelError
from facevalue.inspection.inspector import Inspector
from facevalue.inspection.quantities import Expectation
from facevalue.stimuli.portraits import Identity
from tests.inspection.plants import encoded, portrait
from tests.models.hf.tiny_detector import tf, torch
from tests.models.hf.tiny_detector import write as write_detector

ANNE = Identity("anne", 3, "female", "young", "monk-05", "normal")
SOURCE = encoded(portrait(ANNE, size=96))
GLASSES = encoded(portrait(ANNE, ("eyewear", "sunglasses"), size=96))


def small(**more: Any) -> dict[str, Any]:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    return sizes | {"initializer_range": 0.4} | more


def write_classifier(folder: Path, labels: list[str]) -> Path:
    torch.manual_seed(1)
    config = tf.ViTConfig(**small(image_size=32, patch_size=16), id2label=dict(enumerate(labels)))
    tf.ViTForImageClassification(config).save_pretrained(folder)
    tf.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def write_encoder(folder: Path) -> Path:
    torch.manual_seed(2)
    config = tf.Dinov2Config(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=32, patch_size=16)
    tf.Dinov2Model(config).save_pretrained(folder)
    tf.BitImageProcessorPil(size={"height": 32, "width": 32}, crop_size={"height": 32, "width": 32}).save_pretrained(
        folder
    )
    return folder


def write_clip(folder: Path, tokens: int = 8) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.manual_seed(3)
    words = ["<pad>", "<bos>", "<eos>", "<unk>", "a", "picture", "of", "without", "glasses", "sunglasses", "person"]
    words += ["with", "expression", "neutral", "happy", "sad", "angry", "surprised", "afraid", "disgusted"]
    made = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    tf.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>", unk_token="<unk>"
    ).save_pretrained(folder)
    text = small(vocab_size=len(words), max_position_embeddings=tokens, eos_token_id=2, bos_token_id=1, pad_token_id=0)
    config = tf.CLIPConfig(text_config=text, vision_config=small(image_size=32, patch_size=16), projection_dim=16)
    tf.CLIPModel(config).save_pretrained(folder)
    tf.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def test_a_classifier_of_ages_gives_years_and_their_change(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "age", ["0-9", "20-29", "more than 70"])
    numbers = Inspector(f"inspect/age={folder}").inspect_picture(GLASSES, SOURCE)
    alone = Inspector(f"inspect/age={folder}").inspect_picture(SOURCE)
    assert 5 <= (numbers["perceived_age"] or 0) <= 75
    assert numbers["perceived_age_change"] == pytest.approx(
        (numbers["perceived_age"] or 0) - (alone["perceived_age"] or 0), abs=1e-9
    )
    assert "perceived_age_change" not in alone


def test_perceived_gender_and_group_change_by_half_the_difference(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "c", ["Female", "Male"])
    inspector = Inspector(f"inspect/gender={folder},group={folder}")
    numbers = inspector.inspect_picture(GLASSES, SOURCE)
    assert 0 < (numbers["perceived_gender_change"] or 0) < 1
    assert numbers["perceived_gender_change"] == numbers["perceived_group_change"]
    assert inspector.inspect_picture(SOURCE, SOURCE)["perceived_gender_change"] == 0
    assert inspector.settings()["gender"] == "c"


def test_an_expression_changes_by_half_the_difference_and_towards_a_happy_one(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "c", ["neutral", "Happiness", "sad"])
    inspector = Inspector(f"inspect/expression={folder}")
    numbers = inspector.inspect_picture(GLASSES, SOURCE)
    assert 0 < (numbers["expression_change"] or 0) < 1
    assert abs(numbers["happiness_change"] or 0) <= (numbers["expression_change"] or 0) + 1e-9
    assert inspector.inspect_picture(SOURCE, SOURCE)["expression_change"] == 0
    assert "expression_change" not in inspector.inspect_picture(SOURCE)
    unhappy = write_classifier(tmp_path / "u", ["neutral", "sad"])
    numbers = Inspector(f"inspect/expression={unhappy}").inspect_picture(GLASSES, SOURCE)
    assert numbers["happiness_change"] is None
    assert numbers["expression_change"] is not None


def test_an_expression_is_chosen_from_texts_where_a_model_reads_them(tmp_path: Path) -> None:
    inspector = Inspector(f"inspect/expression={write_clip(tmp_path, 16)}")
    numbers = inspector.inspect_picture(GLASSES, SOURCE)
    assert 0 < (numbers["expression_change"] or 0) < 1
    assert abs(numbers["happiness_change"] or 1) < 1
    assert "neutral, happy" in str(inspector.settings()["expression_texts"])
    with pytest.raises(ModelError, match="reads 4 tokens"):
        Inspector(f"inspect/expression={write_clip(tmp_path / 'short', 4)}")


def test_what_is_unsafe_is_every_label_that_is_not_safe(tmp_path: Path) -> None:
    folder = write_classifier(tmp_path / "n", ["normal", "nsfw", "hentai"])
    chances = Inspector(f"inspect/unsafe={folder}").inspect_picture(SOURCE)["unsafe"]
    assert 0 < (chances or 0) < 1


def test_structure_of_a_copy_is_1_and_of_an_edit_below(tmp_path: Path) -> None:
    inspector = Inspector(f"inspect/structure={write_encoder(tmp_path)}")
    assert inspector.inspect_picture(SOURCE, SOURCE)["deep_structure"] == pytest.approx(1)
    assert (inspector.inspect_picture(GLASSES, SOURCE)["deep_structure"] or 2) < 0.99999
    assert "deep_structure" not in inspector.inspect_picture(SOURCE)


def test_an_attribute_is_compared_with_a_picture_without_it(tmp_path: Path) -> None:
    folder = write_clip(tmp_path)
    inspector = Inspector(f"inspect/agreement={folder}")
    numbers = inspector.inspect_picture(GLASSES, SOURCE, Expectation(text="a person", attribute="sunglasses").prompt())
    assert 0 < (numbers["shows_attribute"] or 0) < 1
    assert numbers["realised"] != 0
    assert -1 <= (numbers["text_agreement"] or -2) <= 1
    model = tf.CLIPModel.from_pretrained(folder).eval()
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    texts = tokenizer(["a picture of sunglasses", "a picture without sunglasses"], return_tensors="pt", padding=True)
    import io

    import PIL.Image

    pixels = tf.CLIPImageProcessorPil.from_pretrained(folder)(
        images=PIL.Image.open(io.BytesIO(GLASSES.data)).convert("RGB"), return_tensors="pt"
    )
    with torch.no_grad():
        logits = model(input_ids=texts["input_ids"], attention_mask=texts["attention_mask"], **pixels).logits_per_image
    assert numbers["shows_attribute"] == pytest.approx(float(logits.softmax(-1)[0, 0]), abs=1e-4)


def test_a_text_that_the_model_would_cut_is_missing(tmp_path: Path) -> None:
    inspector = Inspector(f"inspect/agreement={write_clip(tmp_path)}")
    numbers = inspector.inspect_picture(SOURCE, None, Expectation(text="a person " * 20, attribute="glasses").prompt())
    assert "text_agreement" not in numbers
    assert numbers["shows_attribute"] is not None


def test_people_are_counted(tmp_path: Path) -> None:
    inspector = Inspector(f"inspect/objects={write_detector(tmp_path, leaning=30)}")
    assert inspector.inspect_picture(SOURCE)["persons"] == 4


@pytest.mark.parametrize(
    ("kind", "labels", "message"),
    [
        ("age", ["young", "old"], "classifies no ages"),
        ("unsafe", ["cat", "dog"], "no label of a safe picture"),
        ("structure", ["a"], ""),
        ("agreement", ["a"], "not CLIP or SigLIP"),
        ("objects", ["a"], "detects no objects"),
    ],
)
def test_a_model_that_is_no_such_thing_is_one_sentence(
    kind: str, labels: list[str], message: str, tmp_path: Path
) -> None:
    folder = write_classifier(tmp_path, labels)
    if kind == "structure":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"model_type": "no-such-model"}))
    with pytest.raises(FaceValueError, match=r"^[^\n]*$") as error:
        Inspector(f"inspect/{kind}={folder}")
    assert message in str(error.value)


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="There is no folder"):
        Inspector(f"inspect/age={tmp_path / 'no'}")


def test_probabilities_are_those_of_transformers(tmp_path: Path) -> None:
    from facevalue.models._pictures import picture
    from facevalue.models.hf.picture_models import HFPictureClassifier

    folder = write_classifier(tmp_path, ["a", "b", "c"])
    shown = picture(SOURCE, "it")
    pixels = tf.ViTImageProcessorPil.from_pretrained(folder)(images=shown, return_tensors="pt")
    with torch.no_grad():
        expected = tf.ViTForImageClassification.from_pretrained(folder)(**pixels).logits.softmax(-1)[0].numpy()
    np.testing.assert_allclose(HFPictureClassifier(folder).probabilities(shown), expected, atol=1e-5)
