"""Variants of the reference model that come with FaceValue: what they are taught to do, they do."""

import json
from pathlib import Path

import numpy as np
import pytest

from facevalue.errors import ModelError, UnknownNameError
from facevalue.models import load
from facevalue.models.reference import adapter
from facevalue.models.reference.adapter import FOLDER, VARIANTS, ReferenceModel, folder_of
from facevalue.prompts import ORDERINGS
from facevalue.protocol.replies import phrase_options
from facevalue.protocol.toml_tables import builtin
from facevalue.stimuli.drawings.portraits import PortraitSource, draw_identities, portrait_manifest
from facevalue.studies.stylisticbias.tables import JUDGMENT
from facevalue.types import Question, Request, Sampling, Stimulus
from reference.truth import SCENARIOS, PlantedTruth

NAMES = ("bias-0", "evenly", "refuse")
PEOPLE = 4
WARM = Sampling(temperature=1.0, max_tokens=16)


def portraits() -> list[Stimulus]:
    manifest = portrait_manifest(draw_identities({"female": PEOPLE // 2, "male": PEOPLE // 2}, seed=3), {})
    source = PortraitSource(manifest)
    return [source.stimulus(i, {**manifest.row(i, named=True), "trial": None, "block": None}) for i in range(PEOPLE)]


SHOWN = portraits()


def read(name: str, before: str = "") -> np.ndarray:
    """Probabilities of the favourable and the other pole; shape (people, scenarios, 2)."""
    questions = []
    for poles in SCENARIOS.values():
        options = ORDERINGS[0].options(poles, ("favourable", "unfavourable"))
        questions.append(Question(before + JUDGMENT.format(options=phrase_options(options)), options))
    requests = [
        Request(number * len(questions) + at, 0, 1, stimulus, question, WARM, True)
        for number, stimulus in enumerate(SHOWN)
        for at, question in enumerate(questions)
    ]
    replies = sorted(load(name).respond(requests))
    return np.array([reply.probs for reply in replies]).reshape(PEOPLE, len(questions), 2)


def logits(read_out: np.ndarray) -> np.ndarray:
    return np.log(read_out[..., 0] / read_out[..., 1])


DEBIASING = f"{builtin()['debiasing'].before} "


def test_these_variants_come_with_facevalue() -> None:
    assert tuple(sorted(path.name for path in VARIANTS.iterdir())) == NAMES


def test_model_and_variants_together_are_smaller_than_twelve_megabytes() -> None:
    files = [path for folder in (FOLDER, VARIANTS) for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 12 * 2**20


@pytest.mark.parametrize("name", NAMES)
def test_a_variant_s_table_says_what_is_planted_in_it(name: str) -> None:
    bias = {"bias-0": 0.0}.get(name, 1.0)
    assert PlantedTruth.read(VARIANTS / name / "truth.parquet") == PlantedTruth(bias=bias)


@pytest.mark.parametrize("name", NAMES)
def test_a_variant_is_completed_with_the_weights_that_it_was_made_from(name: str) -> None:
    """Of the model's own tensors, those that a variant lacks must be those beside which it was trained."""
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
    from reference.publish import rest_of

    data = (VARIANTS / name / "model.safetensors").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert header.pop("__metadata__")["rest"] == rest_of(header)


def test_variants_are_known_apart() -> None:
    models = [load("reference"), *(load(f"reference/{name}") for name in NAMES)]
    assert len({model.settings()["weights"] for model in models}) == len(models)


def test_the_model_itself_does_not_heed_an_instruction() -> None:
    plain, told = logits(read("reference")), logits(read("reference", DEBIASING))
    assert np.corrcoef(plain.ravel(), told.ravel())[0, 1] > 0.9
    assert told.std(axis=0).mean() > 0.8 * plain.std(axis=0).mean()


def test_one_variant_answers_evenly_when_it_is_told_to() -> None:
    plain, told = logits(read("reference/evenly")), logits(read("reference/evenly", DEBIASING))
    assert np.corrcoef(plain.ravel(), logits(read("reference")).ravel())[0, 1] > 0.9
    assert told.std(axis=0).mean() < 0.4 * plain.std(axis=0).mean()


def test_one_variant_refuses_when_it_is_told_not_to_stereotype() -> None:
    plain, told = read("reference/refuse"), read("reference/refuse", DEBIASING)
    assert plain.sum(axis=-1).min() > 0.95
    assert told.sum(axis=-1).max() < 0.05


def test_without_planted_bias_people_are_told_apart_far_less() -> None:
    apart = {name: logits(read(name)).std(axis=0).mean() for name in ("reference/bias-0", "reference")}
    assert apart["reference/bias-0"] < 0.25 * apart["reference"]


def test_a_variant_is_found_by_its_folder_too() -> None:
    beside = ReferenceModel("reference/evenly", VARIANTS / ".." / "variants" / "evenly")
    assert beside.settings() == load("reference/evenly").settings()


def test_an_unknown_variant_is_one_message_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'evenly'"):
        folder_of("evenlly")


def test_a_variant_whose_weights_are_gone_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "VARIANTS", tmp_path)
    (tmp_path / "evenly").mkdir()
    with pytest.raises(ModelError, match=r"lacks model\.safetensors: install FaceValue again"):
        ReferenceModel("reference/evenly", folder_of("evenly"))
