"""Text classifiers: the same scores as by transformers' own pipeline, whatever is beside a text; texts in pieces."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from facevalue.annotations import scores
from facevalue.annotations.model_scorers import load_scorer
from facevalue.annotations.scoring import score_texts
from facevalue.errors import ModelError, UnknownNameError
from facevalue.models.classifiers import TextClassifier, load_classifier
from facevalue.models.hf import classifiers
from tests.annotations.test_scoring import pieces
from tests.models.hf.tiny import tf, torch
from tests.models.hf.tiny_classifier import TOXIC, write

TEXTS = ["a calm person", "a", "What a fool! The person in the picture.", "Yes.", "\n", "Ünïcödé \U0001f642"]


def piped(folder: Path, text: str) -> dict[str, float]:
    """Scores by transformers alone."""
    words = tf.AutoTokenizer.from_pretrained(folder)
    model = tf.AutoModelForSequenceClassification.from_pretrained(folder)
    pipe = tf.pipeline("text-classification", model=model, tokenizer=words, device="cpu")
    return {found["label"]: found["score"] for found in pipe(text, top_k=None)}


@pytest.mark.parametrize(
    ("labels", "config"),
    [
        (("calm", "hostile"), {"problem_type": "multi_label_classification"}),
        (("calm", "hostile"), {"problem_type": "single_label_classification"}),
        (("calm", "hostile", "neither"), {}),
        (("hostile",), {}),
        (("warmth",), {"problem_type": "regression"}),
        (("calm", "hostile"), {"kind": "Bert", "problem_type": "multi_label_classification"}),
    ],
)
def test_scores_are_those_of_transformers_own_pipeline(
    tmp_path: Path, labels: tuple[str, ...], config: dict[str, Any]
) -> None:
    folder = write(tmp_path / "tiny", labels, window=64, **config)
    classifier: TextClassifier = load_classifier(folder)
    found = classifier.scores(TEXTS)
    assert (classifier.labels, found.cut) == (labels, frozenset())
    for at, text in enumerate(TEXTS):
        expected = piped(folder, text)
        assert {label: found.scores[label][at] for label in labels} == pytest.approx(expected, abs=1e-5)
    assert len({values[0] for values in found.scores.values()} | set(found.scores[labels[0]])) > 3


def test_the_configuration_says_what_is_applied(tmp_path: Path) -> None:
    by = {}
    for said in ("sigmoid", "softmax", "none"):
        by[said] = load_classifier(write(tmp_path / said, function_to_apply=said)).scores(["a calm person"]).scores
    assert by["softmax"]["calm"][0] + by["softmax"]["hostile"][0] == pytest.approx(1, abs=1e-5)
    for label in ("calm", "hostile"):
        logit = torch.tensor(by["none"][label][0])
        assert by["sigmoid"][label][0] == pytest.approx(logit.sigmoid().item(), abs=1e-5)
    with pytest.raises(ModelError, match="applies 'tanh'"):
        load_classifier(write(tmp_path / "tanh", function_to_apply="tanh"))


@pytest.mark.parametrize("together", [False, True])
def test_scores_depend_neither_on_what_is_beside_a_text_nor_on_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    monkeypatch.setattr(classifiers, "_STEP", 8)
    classifier = load_classifier(write(tmp_path, problem_type="multi_label_classification"))
    classifier._together = together  # type: ignore[attr-defined] # as on a GPU: padded, several at once
    texts = [f"{text} {'word ' * (number % 9)}" for number in range(12) for text in TEXTS]
    alone = [classifier.scores([text]).scores["hostile"][0] for text in texts]
    assert classifier.scores(texts).scores["hostile"] == alone
    assert classifier.scores(texts[::-1]).scores["hostile"] == alone[::-1]
    assert [piped(tmp_path, text)["hostile"] for text in texts[:6]] == pytest.approx(alone[:6], abs=1e-5)


@pytest.mark.parametrize("kind", ["Roberta", "Bert"])
def test_a_text_longer_than_the_window_has_the_highest_score_of_its_pieces(tmp_path: Path, kind: str) -> None:
    folder = write(tmp_path, kind=kind, window=16, problem_type="multi_label_classification")
    classifier = load_classifier(folder)
    text = "Who is more competent, (a) the left person or (b) the right person? " * 3
    words = tf.AutoTokenizer.from_pretrained(folder)
    ids = words(text)["input_ids"]
    assert len(ids) > 16
    model = tf.AutoModelForSequenceClassification.from_pretrained(folder)
    pieces = [ids[at : at + 16] for at in range(0, len(ids) - 2, 14)]
    with torch.no_grad():
        by_piece = torch.stack([model(torch.tensor([piece])).logits[0].sigmoid() for piece in pieces])
    found = classifier.scores(["short", text])
    assert found.cut == {1}
    assert [found.scores["calm"][1], found.scores["hostile"][1]] == pytest.approx(by_piece.amax(0).tolist(), abs=1e-5)


def test_a_text_of_a_quarter_megabyte_and_an_empty_one_are_no_errors(tmp_path: Path) -> None:
    classifier = load_classifier(write(tmp_path, window=512, kind="Roberta"))
    found = classifier.scores(["", "Yes. " * 50_000])
    assert found.cut == {1}
    assert found.scores["calm"][0] == float("-inf")  # no score: this tokenizer makes nothing of it


def test_labels_that_say_who_is_mentioned_are_left_out_unless_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "toxic", TOXIC, problem_type="multi_label_classification")
    usual = load_scorer(f"hf-text/{folder}")
    assert (usual.name, usual.called, usual.labels) == ("hf-text/toxic", "toxic", TOXIC[:7])
    assert load_scorer(f"hf-text/{folder}", ["black", "toxicity"]).labels == ("black", "toxicity")
    with pytest.raises(UnknownNameError, match="'flirtation'"):
        load_scorer(f"hf-text/{folder}", ["flirtation"])
    assert load_scorer(f"hf-text/{write(tmp_path / 'other', ('black', 'white'))}").labels == ("black", "white")


def test_texts_of_a_run_are_scored_and_those_in_pieces_and_without_a_score_counted(tmp_path: Path) -> None:
    scorer = load_scorer(f"hf-text/{write(tmp_path / 'tiny')}")
    texts = [*TEXTS, "", "Yes. " * 100]
    now = score_texts(tmp_path, scorer, pieces(texts))
    assert (now.done, now.failed, now.cut) == (8, 1, 1)
    (kept,) = scores.read(tmp_path)
    assert kept.reasons == {"no score of calm, hostile": 1}
    found = kept.scores_of_texts(pl.Series(texts))
    assert found["calm"].to_list()[:6] == load_classifier(tmp_path / "tiny").scores(TEXTS).scores["calm"]
    assert found.row(6) == (None, None)


def test_the_digest_is_of_the_weights(tmp_path: Path) -> None:
    one, same = (load_classifier(write(tmp_path / name)) for name in ("one", "same"))
    assert one.digest == same.digest
    assert one.scores(TEXTS) == same.scores(TEXTS)
    model = tf.AutoModelForSequenceClassification.from_pretrained(tmp_path / "same")
    with torch.no_grad():
        model.classifier.out_proj.bias[0] += 1
    model.save_pretrained(tmp_path / "same")
    assert load_classifier(tmp_path / "same").digest != one.digest


def edited(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


def test_folders_without_a_classifier_say_why(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    with pytest.raises(ModelError, match="There is no folder"):
        load_classifier(folder)
    folder.mkdir()
    with pytest.raises(ModelError, match="holds no text classifier"):
        load_classifier(folder)
    write(folder)
    edited(folder, model_type="yolos")
    with pytest.raises(ModelError, match="of type 'yolos', which classifies no texts"):
        load_classifier(folder)
    edited(folder, model_type="roberta", hidden_size=64)
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_classifier(folder)
    write(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="pickles are never read"):
        load_classifier(folder)


def test_a_model_without_its_head_is_no_classifier(tmp_path: Path) -> None:
    write(tmp_path)
    model = tf.AutoModelForSequenceClassification.from_pretrained(tmp_path)
    model.roberta.save_pretrained(tmp_path)
    edited(tmp_path, architectures=["RobertaForSequenceClassification"])
    with pytest.raises(ModelError, match="lacks 4 of the classifier's weights"):
        load_classifier(tmp_path)
