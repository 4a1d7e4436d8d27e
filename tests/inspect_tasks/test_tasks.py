"""Tasks of Inspect's: options as on the command line, one sentence for each mistake, pictures when they are needed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", minversion="0.3.285")

from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import ChatMessageUser, ContentImage, GenerateConfig, get_model

from facevalue.errors import DataError
from facevalue.inspect_tasks import registry
from facevalue.inspect_tasks.tasks import _estimate_answers, content_shown, task_of, trials_of
from facevalue.models import load
from facevalue.studies.registry import PUBLISHED

SMALL = {"faces": "1M,1F", "attributes": "eyewear", "scenario": "wealthy"}


def document(task: Task) -> dict[str, Any]:
    assert task.metadata is not None
    return dict(task.metadata["facevalue"])


def mistake(name: str, **options: object) -> str:
    with pytest.raises(PrerequisiteError) as caught:
        task_of(name, options)
    message = str(caught.value.message)
    assert "\n" not in message
    return message


MISTAKES: list[tuple[dict[str, object], str]] = [
    ({"fcaes": 2}, "Did you mean 'faces'"),
    ({"faces": "many"}, "Cannot read the number of faces 'many'"),
    ({"attributes": "eyeware"}, "Did you mean 'eyewear'?"),
    ({"grid": "keep"}, "Unknown grid 'keep'. Did you mean 'kept'?"),
    ({"temperature": "hot"}, "The setting temperature is a number, not 'hot'."),
    ({"temperature": 9}, "it must be between 0 (greedy) and 2"),
    ({"sample": 0}, "sample is a whole number from 1, not 0."),
    ({"sample": True}, "sample is a whole number from 1, not True."),
    ({"sample_seed": -1}, "sample_seed is a whole number from 0, not -1."),
    ({"exact": "yes"}, "exact is true or false, not 'yes'."),
    ({"with": "no-imag"}, "Did you mean 'blank-image' or 'no-image'?"),
    ({"seeds": "a"}, "Seeds are 1 to 80 different whole numbers, such as 1,2,3."),
    ({"manifest": "nowhere.csv"}, "There is no file"),
    (
        {"faces": 60},
        "are more than the 20,000 that a task of Inspect's takes here: choose a part (-T sample=20000), or",
    ),
    ({"prompts": "released"}, "asks again after a reply without an answer, which no epoch of Inspect's does"),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_mistakes_are_said_as_on_the_command_line(options: dict[str, object], message: str) -> None:
    assert message in mistake("stylisticbias", **options)


def test_studies_that_are_none(tmp_path: Path) -> None:
    assert "Did you mean 'gras'?" in mistake("grass")
    (tmp_path / "my.toml").write_text("name = 3")
    assert "my.toml" in mistake(str(tmp_path / "my.toml"))
    assert "asks for free text" in mistake("visbias", task="description", exact=True)


def test_values_are_as_inspects_command_line_reads_them() -> None:
    task = task_of(
        "stylisticbias", {"faces": ["1M", "1F"], "attributes": ["eyewear"], "scenario": "wealthy", "seeds": 7}
    )
    assert document(task)["options"]["faces"] == "1M,1F"
    assert (task.epochs, task.version) == (1, 1)
    assert (task.config.temperature, task.config.max_tokens) == (0.2, 16)
    assert len(task.dataset) == 24
    assert [type(sample.id) for sample in task.dataset[:2]] == [int, int]
    assert "reliably" not in str(task.dataset[0].metadata)


def test_interventions_are_asked_besides() -> None:
    plain, both = (len(task_of("stylisticbias", {**SMALL, **more}).dataset) for more in ({}, {"with": "no-image"}))
    assert both == 2 * plain


def test_pictures_are_not_in_the_dataset_and_come_with_the_request() -> None:
    task = task_of("stylisticbias", SMALL)
    assert all(isinstance(sample.input[-1].content, str) for sample in task.dataset)  # type: ignore[union-attr]
    request = trials_of(document(task)).request(int(task.dataset[0].id or 0), 1)
    content = content_shown(request)
    assert isinstance(content, list)
    picture, text = content
    assert isinstance(picture, ContentImage)
    assert picture.image.startswith("data:image/png;base64,")
    assert text.text == request.question.prompt  # type: ignore[union-attr]
    assert request.seed == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_study_is_asked_scored_and_estimated(name: str) -> None:
    trials = trials_of(document(task_of(name, {"sample": 60, **(SMALL if name == "stylisticbias" else {})})))
    requests = [trials.request(int(sample.id or 0), 0) for sample in trials.samples()]
    counts = _estimate_answers(trials, list(load("sim/default").respond(requests)))
    assert counts.pop("replies") == len(requests)
    assert 0 < (counts.pop("valid") or 0) <= len(requests)
    assert all(value is None or isinstance(value, float) for value in counts.values())


def test_a_study_of_ones_own_is_named() -> None:
    with pytest.raises(PrerequisiteError, match=r"-T file=my-study\.toml"):
        registry.study()


def test_more_epochs_than_seeds_are_an_error() -> None:
    trials = trials_of(document(task_of("stylisticbias", SMALL)))
    with pytest.raises(DataError, match="asks each trial 3 times here"):
        trials.request(0, 3)


def test_ones_own_study(tmp_path: Path) -> None:
    from facevalue.studies.registry import file_text

    (tmp_path / "hiring.toml").write_text(file_text("hiring-screen"))
    task = registry.study(file=str(tmp_path / "hiring.toml"), sample=50)
    assert document(task)["study"] == "hiring-screen"
    assert 0 < len(task.dataset) <= 50
    assert trials_of(document(task)).study.name == "hiring-screen"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt", "facevalue/gpt is no model of FaceValue's for Inspect"),
        ("reference/bias-9", "Unknown folder or variant of the reference model"),
        ("sim/defualt", "Did you mean 'sim/default' or 'sim/refuser'?"),
    ],
)
def test_models_that_are_none(name: str, message: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        get_model(f"facevalue/{name}")
    assert message in str(caught.value.message)


def test_the_reference_model_answers_any_task() -> None:
    model = get_model("facevalue/reference", config=GenerateConfig(seed=1, max_tokens=8, temperature=0.0))
    output = asyncio.run(model.generate([ChatMessageUser(content="What is the capital of France?")]))
    assert (output.completion != "", output.stop_reason in ("stop", "max_tokens")) == (True, True)
    with pytest.raises(DataError, match="looks at factors, not at pictures"):
        asyncio.run(get_model("facevalue/sim/default").generate([ChatMessageUser(content="?")]))
