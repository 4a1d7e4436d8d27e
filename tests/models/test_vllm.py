"""Models by vLLM in this process: what it is asked and how it is read, by a stand-in, and the real one if there."""

import dataclasses
import functools
import inspect
import io
import json
import math
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from facevalue.errors import DataError, DependencyError, ModelError
from facevalue.models.base import ModelOptions
from facevalue.models.vllm import VLLMModel
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus
from tests.models import vllm_stand_in as stand_in
from tests.models.vllm_stand_in import Behaviour, Engine, Logprob, SamplingParams, listed, said

OPTIONS = (Option("(a)", "left", "l"), Option("(b)", "right", "r"))
Asked = list[dict[str, Any]]


def stimulus(key: str = "face", images: int = 1) -> Stimulus:
    return Stimulus(key, key, {}, lambda: tuple(Image(f"{key} {i}".encode(), "image/png") for i in range(images)))


def ask(trial: int = 0, *, exact: bool = False, shown: Stimulus | None = None, **sampling: Any) -> Request:
    question = Question(f"Who? {trial}", OPTIONS, system="Be brief.")
    return Request(trial, 0, 2**31 + 40 + trial, shown or stimulus(), question, Sampling(**sampling), exact)


def sure(messages: Asked, params: SamplingParams) -> stand_in.RequestOutput:
    """Answer "(a)", of which nearly all is seen."""
    if params.logprobs is None:
        return said("(b)")
    return said(
        "(a)", "stop", [listed(_=0.95, a=0.03, b=0.015), listed(a=0.7, b=0.3), listed(close=1.0), listed(end=1.0)]
    )


def unsure(messages: Asked, params: SamplingParams) -> stand_in.RequestOutput:
    """Answer "(a)", of which 5% is not seen."""
    if params.logprobs is None:
        return said("(b)")
    return said("(a)", "stop", [listed(_=0.95), listed(a=0.7, b=0.3), listed(close=1.0), listed(end=1.0)])


Make = Callable[..., tuple[VLLMModel, Engine]]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    def build(behave: Behaviour = sure) -> tuple[VLLMModel, Engine]:
        engine = Engine(behave)
        for name, module in stand_in.modules(engine).items():
            monkeypatch.setitem(sys.modules, name, module)
        return VLLMModel("org/model", ModelOptions()), engine

    return build


def one(model: VLLMModel, request: Request) -> Response:
    (response,) = model.respond([request])
    return response


# What vLLM is asked


def test_the_engine_starts_when_first_needed_and_once(make: Make) -> None:
    model, engine = make()
    assert model.name == "vllm/org/model"
    assert model.settings() == {"api": "vllm", "model": "org/model", "vllm": stand_in.VERSION}
    assert not engine.started
    assert len(list(model.respond(map(ask, range(3))))) == 3
    assert model.capabilities.probabilities == "top-k"
    (how,) = engine.started
    assert how["model"] == "org/model"
    assert how["load_format"] == "safetensors"
    assert how["trust_remote_code"] is False
    assert how["enable_prefix_caching"] is True
    assert how["generation_config"] == "vllm"
    assert how["logprobs_mode"] == "raw_logprobs"


def test_a_sampled_reply_is_drawn_as_the_study_says(make: Make) -> None:
    model, engine = make()
    response = one(model, ask(temperature=0.7, top_p=0.9, max_tokens=5))
    assert (response.status, response.text, response.probs, response.error) == (Status.OK, "(b)", None, None)
    assert (response.prompt_tokens, response.completion_tokens) == (7, 4)
    ((messages, params),) = engine.asked
    assert params == SamplingParams(temperature=0.7, top_p=0.9, seed=40, max_tokens=5)
    system, user = messages
    assert system == {"role": "system", "content": "Be brief."}
    assert [part["type"] for part in user["content"]] == ["image_url", "text"]
    assert user["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")


def test_special_tokens_that_mark_thinking_are_kept(make: Make) -> None:
    model, engine = make()
    one(model, ask())
    assert engine.asked[-1][1].skip_special_tokens
    model, engine = make()
    engine.special = ("</s>", "[THINK]", "[/THINK]")
    one(model, ask())
    assert not engine.asked[-1][1].skip_special_tokens


def test_a_reply_is_held_to_the_options(make: Make) -> None:
    model, engine = make()
    assert model.capabilities.structured
    one(model, ask()._replace(constrain=True))
    params = engine.asked[-1][1]
    assert params.structured_outputs is not None
    assert params.structured_outputs.choice == ["(a)", "(b)"]


def test_probabilities_are_those_of_free_replies(make: Make) -> None:
    model, engine = make(unsure)
    one(model, ask(exact=True)._replace(constrain=True))
    assert [params.structured_outputs for _, params in engine.asked] == [None, None]


def test_questions_about_a_picture_are_handed_over_together_and_the_picture_comes_first(make: Make) -> None:
    model, engine = make(unsure)
    requests = [ask(i, exact=True, shown=stimulus(f"face {i // 100}")) for i in range(300)]
    assert len(list(model.respond(requests))) == 300
    assert [len(batch) for batch in engine.batches] == [256, 256, 44, 44]
    for batch in engine.batches:
        prefixes = [json.dumps([*messages[:-1], messages[-1]["content"][:-1]]) for messages, _ in batch]
        changes = sum(a != b for a, b in pairwise(prefixes))
        assert changes == len(set(prefixes)) - 1
        assert all(messages[-1]["content"][-1]["type"] == "text" for messages, _ in batch)


def test_an_image_is_loaded_once(make: Make) -> None:
    loads: list[str] = []

    def shown(key: str) -> Stimulus:
        def load() -> tuple[Image, ...]:
            loads.append(key)
            return (Image(b"x", "image/png"),)

        return Stimulus(key, key, {}, load)

    model, _ = make()
    list(model.respond(ask(i, shown=shown(f"face {i // 5}")) for i in range(20)))
    assert loads == [f"face {i}" for i in range(4)]


# How it is read


def test_exact_probabilities(make: Make) -> None:
    model, engine = make()
    response = one(model, ask(exact=True, temperature=1.0))
    assert (response.status, response.text, response.error) == (Status.OK, "(a)", None)
    assert response.probs == pytest.approx((0.95 * 0.7 + 0.03, 0.95 * 0.3 + 0.015))
    ((_, params),) = engine.asked
    assert params == SamplingParams(temperature=0.0, top_p=1.0, seed=40, max_tokens=16, logprobs=100)


def test_a_reply_is_drawn_where_too_much_was_not_seen(make: Make) -> None:
    model, engine = make(lambda m, p: (unsure if "1" in m[-1]["content"][-1]["text"] else sure)(m, p))
    responses = sorted(model.respond(ask(i, exact=True, temperature=0.9) for i in range(3)))
    assert [response.probs is None for response in responses] == [False, True, False]
    drawn = responses[1]
    assert (drawn.status, drawn.text) == (Status.OK, "(b)")
    assert "5.0% of the probability is on replies that were not listed" in str(drawn.error)
    assert (drawn.prompt_tokens, drawn.completion_tokens) == (14, 8)
    assert [len(batch) for batch in engine.batches] == [3, 1]
    assert engine.asked[-1][1] == SamplingParams(temperature=0.9, seed=41)


def test_a_part_of_a_character_is_not_taken_for_the_end(make: Make) -> None:
    options = (Option("", "no", "n"), Option("", "no idea", "d"))
    logprobs = [listed(no=1.0), listed(end=0.9, broken=0.1)]
    model, _ = make(lambda m, p: said("no", logprobs=logprobs) if p.logprobs else said("no"))
    response = one(model, ask(exact=True)._replace(question=Question("Well?", options)))
    assert response.probs is None
    assert "10.0%" in str(response.error)


@pytest.mark.parametrize(
    ("logprobs", "says"),
    [
        (None, "no top_logprobs"),
        ([], "no top_logprobs"),
        ([listed(the=1.0), listed(end=1.0)], "not those of the reply's text"),
        ([{0: Logprob(math.nan, 1, "(a)")}], "nan"),
        ([{0: Logprob(0.5, 1, "(a)")}], "0.5"),
    ],
)
def test_missing_or_broken_logprobs_are_no_guess(
    make: Make, logprobs: list[dict[int, Logprob]] | None, says: str
) -> None:
    model, engine = make(lambda m, p: said("(a)", logprobs=logprobs))
    response = one(model, ask(exact=True))
    assert (response.status, response.probs) == (Status.ERROR, None)
    assert says in str(response.error)
    assert len(engine.asked) == 1


@pytest.mark.parametrize(
    ("finish", "status"), [("stop", Status.OK), ("length", Status.TRUNCATED), ("abort", Status.ERROR)]
)
def test_status(make: Make, finish: str, status: Status) -> None:
    model, _ = make(lambda m, p: said("(a", finish))
    response = one(model, ask())
    assert response.status is status
    assert response.text == (None if status is Status.ERROR else "(a")


# What goes wrong


def test_a_request_that_vllm_does_not_take_fails_alone(make: Make) -> None:
    def behave(messages: Asked, params: SamplingParams) -> stand_in.RequestOutput:
        if messages[-1]["content"][-1]["text"] == "Who? 5":
            raise ValueError("The prompt is longer than the maximum model length of 4096.")
        return said("(a)")

    model, _ = make(behave)
    responses = sorted(model.respond(map(ask, range(8))))
    assert [r.status for r in responses] == [Status.OK] * 5 + [Status.ERROR] + [Status.OK] * 2
    assert "maximum model length" in str(responses[5].error)


def test_twenty_failures_in_a_row_end_the_run(make: Make) -> None:
    def behave(messages: Asked, params: SamplingParams) -> stand_in.RequestOutput:
        raise ValueError("The prompt is longer than the maximum model length of 4096.")

    model, _ = make(behave)
    responses = model.respond(map(ask, range(40)))
    assert [next(responses).status for _ in range(19)] == [Status.ERROR] * 19
    with pytest.raises(ModelError, match=r"20 requests in a row failed for good.*maximum model length"):
        next(responses)


def test_more_images_than_allowed_fail_alone(make: Make) -> None:
    model, _ = make()
    responses = sorted(model.respond([ask(0, shown=stimulus("three", 3)), ask(1)]))
    assert [r.status for r in responses] == [Status.ERROR, Status.OK]


def test_an_image_that_cannot_be_loaded_fails_alone(make: Make) -> None:
    def broken() -> tuple[Image, ...]:
        raise DataError("face.png is no image.")

    model, _ = make()
    responses = sorted(model.respond([ask(0, shown=Stimulus("x", "x", {}, broken)), ask(1)]))
    assert [r.status for r in responses] == [Status.ERROR, Status.OK]
    assert "face.png is no image." in str(responses[0].error)


def test_an_engine_that_stops_ends_the_run_and_what_was_answered_is_kept(make: Make) -> None:
    def behave(messages: Asked, params: SamplingParams) -> stand_in.RequestOutput:
        if messages[-1]["content"][-1]["text"] == "Who? 300":
            raise RuntimeError("EngineCore encountered an issue.")
        return said("(a)")

    model, _ = make(behave)
    responses = model.respond(map(ask, range(400)))
    assert {next(responses).status for _ in range(256)} == {Status.OK}
    with pytest.raises(ModelError, match="EngineCore encountered an issue"):
        next(responses)


def test_an_engine_that_does_not_start(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make()

    def start(**how: object) -> None:
        raise RuntimeError("No CUDA GPUs are available")

    monkeypatch.setattr(sys.modules["vllm"], "LLM", start)
    with pytest.raises(ModelError, match="cannot run org/model: No CUDA GPUs"):
        _ = VLLMModel("org/model", ModelOptions()).capabilities


def test_images_are_counted_by_trying(make: Make) -> None:
    def behave(messages: Asked, params: SamplingParams) -> stand_in.RequestOutput:
        if not isinstance(messages[-1]["content"], str):
            raise ValueError("org/model is not a multimodal model")
        return sure(messages, params)

    assert make()[0].capabilities.images_per_request == 2
    assert make(behave)[0].capabilities.images_per_request == 0


def test_a_model_without_logprobs_gives_no_probabilities(make: Make) -> None:
    assert make(lambda m, p: said("(a)"))[0].capabilities.probabilities == "none"


def test_a_model_that_answers_nothing(make: Make) -> None:
    def behave(messages: Asked, params: SamplingParams) -> stand_in.RequestOutput:
        raise ValueError("no chat template is set")

    with pytest.raises(ModelError, match=r"simple question.*no chat template"):
        _ = make(behave)[0].capabilities


def test_without_vllm_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(DependencyError, match=r"pip install '.\[vllm\]"):
        VLLMModel("org/model", ModelOptions())


# The real one


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VLLMModel]:
    for name in ("vllm", "transformers", "torch"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install '.[vllm]'", exc_type=ImportError)
    import vllm

    from tests.models.transformers_tiny import main
    from tests.vllm.server import OWN, renamed

    folder: Path = tmp_path_factory.mktemp("tiny-llava")
    main(str(folder), width=128, heads=2)
    small = {"dtype": "float32", "enforce_eager": True, "max_model_len": 2048}  # compiling takes minutes
    with pytest.MonkeyPatch.context() as patch:
        for name, value in OWN.items():
            patch.setenv(name, value)
        patch.setattr(vllm, "LLM", functools.partial(vllm.LLM, **small))
        model = VLLMModel(str(renamed(folder)), ModelOptions())
        yield model
        model.close()


def test_the_stand_in_is_like_the_real_one() -> None:
    vllm = pytest.importorskip("vllm", reason="vLLM is not installed: pip install '.[vllm]'", exc_type=ImportError)
    from vllm import logprobs, outputs, sampling_params
    from vllm.engine.arg_utils import EngineArgs

    def fields(of: type) -> set[str]:
        return {each.name for each in dataclasses.fields(of)}

    assert fields(stand_in.SamplingParams) <= set(inspect.signature(vllm.SamplingParams).parameters)
    assert fields(stand_in.StructuredOutputsParams) <= set(
        inspect.signature(sampling_params.StructuredOutputsParams).parameters
    )
    assert fields(stand_in.Logprob) == fields(logprobs.Logprob)
    assert fields(stand_in.CompletionOutput) <= fields(outputs.CompletionOutput)
    assert fields(stand_in.RequestOutput) <= set(inspect.signature(outputs.RequestOutput).parameters)
    assert callable(vllm.LLM.get_tokenizer)
    assert set(inspect.signature(Engine.chat).parameters) <= set(inspect.signature(vllm.LLM.chat).parameters)
    started = set(inspect.signature(Engine.__call__).parameters) - {"self"}
    assert started <= {each.name for each in dataclasses.fields(EngineArgs)}


def coloured(colour: str) -> Stimulus:
    def load() -> tuple[Image, ...]:
        file = io.BytesIO()
        PIL.Image.new("RGB", (28, 28), colour).save(file, "PNG")
        return (Image(file.getvalue(), "image/png"),)

    return Stimulus(colour, colour, {}, load)


def test_a_tiny_model_in_the_real_vllm(real: VLLMModel) -> None:
    able = real.capabilities
    assert (able.probabilities, able.images_per_request, able.seeds, able.structured) == ("top-k", 2, True, True)
    question = Question("Who? (a) left (b) right", OPTIONS)
    asked = [
        Request(i, 0, 7, coloured(colour), question, Sampling(max_tokens=4), exact)
        for i, (colour, exact) in enumerate((c, e) for c in ("red", "blue") for e in (False, True))
    ]
    responses = sorted(real.respond(asked))
    assert {r.status for r in responses} <= {Status.OK, Status.TRUNCATED}
    assert all(r.prompt_tokens and r.completion_tokens for r in responses)
    # Of random weights nearly nothing is seen among a hundred tokens, so that replies are drawn, by the same seed.
    assert [r.text for r in responses[::2]] == [r.text for r in responses[1::2]]
    held = sorted(real.respond(r._replace(constrain=True, exact=False) for r in asked))
    assert {r.text for r in held} <= {"(a)", "(b)"}
