"""Inspect's providers as models: what they are sent, and what becomes of what they say and of what they fail with."""

import asyncio
import math
import pickle
import sys
from contextlib import closing
from functools import partial
from typing import Any

import inspect_ai.model as inspect_model
import pytest

import facevalue as fv
from facevalue.errors import DependencyError, FaceValueError, ModelError
from facevalue.hashing import model_hash
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.models.inspect import calls
from facevalue.models.inspect.adapter import InspectModel
from facevalue.models.inspect.providers import BATCHING, PROVIDERS, is_asked_for, without_route
from facevalue.servers.server import Waits
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus
from tests.models.inspect_providers import Batched, Scripted, ServerError, fine, listed, say

KEY = "sk-Scripted/Secret+Key"
PICTURE = Image(b"\x89PNG not looked at", "image/png")
OPTIONS = (Option("(a)", "left", "l"), Option("(b)", "right", "r"))
QUESTION = Question(
    "Who? (a) left (b) right", OPTIONS, system="Be brief.", turns=(("user", "Hello"), ("assistant", "Yes?"))
)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Providers that answer "(a)" and have been asked nothing."""
    for kind in (Scripted, Batched):
        monkeypatch.setattr(kind, "asked", [])
        monkeypatch.setattr(kind, "behave", staticmethod(fine))
        monkeypatch.setattr(kind, "script", [])
    monkeypatch.setattr(Batched.Answers, "created", [])


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def make(slept: list[float]) -> Any:
    def build(spec: str = "inspect/scripted/m", **options: Any) -> InspectModel:
        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        waits = Waits(first=1.0, sleep=sleep, jitter=lambda low, high: high)
        return InspectModel(spec, ModelOptions(**options), waits=waits)

    return build


def request(*, exact: bool = False, trial: int = 3, constrain: bool = False, pictures: int = 1) -> Request:
    stimulus = Stimulus("0", "d", {}, lambda: (PICTURE,) * pictures)
    return Request(trial, 0, 11, stimulus, QUESTION, Sampling(0.7, 0.9, 16), exact, constrain)


def answer(model: InspectModel, asked: Request | None = None) -> Response:
    with closing(model.respond([asked or request()])) as responses:
        return next(responses)


def test_a_request_is_sent_whole_once_and_without_inspects_retries_and_cache(make: Any) -> None:
    assert answer(make(), request(pictures=2)).text == "(a)"
    ((messages, config),) = Scripted.asked
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert [message.text for message in messages] == ["Be brief.", "Hello", "Yes?", QUESTION.prompt]
    contents = [content.model_dump() for content in messages[-1].content if not isinstance(content, str)]
    assert [content["type"] for content in contents] == ["image", "image", "text"]
    assert [content["image"][:22] for content in contents[:2]] == ["data:image/png;base64,"] * 2
    assert (config.temperature, config.top_p, config.max_tokens, config.seed) == (0.7, 0.9, 16, 11)
    assert (config.max_retries, config.cache, config.batch, config.logprobs) == (0, False, None, None)


def test_what_inspect_keeps_of_an_evaluation_around_it_does_not_grow(make: Any) -> None:
    from inspect_ai.log import transcript

    before = len(transcript().events)
    with closing(make().respond(request(trial=i) for i in range(5))) as responses:
        assert len(list(responses)) == 5
    assert len(transcript().events) == before


def test_probabilities_are_read_as_from_any_server(make: Any) -> None:
    first = {"(": math.log(0.9), "Sorry": math.log(0.1)}
    positions = listed(first, {"a": math.log(0.8), "b": math.log(0.2)}, {")": 0.0})
    Scripted.behave = lambda *_: say(logprobs=positions)
    model = make()
    assert model.capabilities.probabilities == "top-k"
    Scripted.asked.clear()
    read = Request(3, 0, 11, request().stimulus, QUESTION, Sampling(), True)
    response = answer(model, read)
    assert response.probs == pytest.approx((0.72, 0.18))
    ((_, config),) = Scripted.asked
    assert (config.temperature, config.top_p, config.logprobs, config.top_logprobs) == (0.0, 1.0, True, 20)


def test_a_provider_without_them_is_seen_to_have_none(make: Any) -> None:
    model = make()
    assert model.capabilities.probabilities == "none"
    assert model.capabilities.images_per_request == 2
    assert model.capabilities.seeds
    assert "no top_logprobs" in (answer(model, request(exact=True)).error or "")


@pytest.mark.parametrize(
    ("output", "status", "text", "error"),
    [
        (say("(b) and", "max_tokens"), Status.TRUNCATED, "(b) and", None),
        (say("(b) and", "model_length"), Status.TRUNCATED, "(b) and", None),
        (say("", "stop"), Status.OK, "", None),
        (say("half", "content_filter"), Status.REFUSED, "half", "A content filter withheld the reply."),
        (
            say("Your prompt was flagged.", "content_filter", usage=None),
            Status.REFUSED,
            None,
            "A content filter withheld the reply.",
        ),
        (
            say("", "content_filter", stop_details=inspect_model.StopDetails(category="hate")),
            Status.REFUSED,
            "",
            "A content filter withheld the reply: hate",
        ),
        (
            say([inspect_model.ContentText(text="No.", refusal=True)]),
            Status.REFUSED,
            "No.",
            "The model declined.",
        ),
        (say("x", "model_length", usage=None), Status.ERROR, None, "The prompt is longer than the model takes: x"),
        (say("x", "unknown"), Status.ERROR, None, "broken off ('unknown')"),
        (inspect_model.ModelOutput(model="m"), Status.ERROR, None, "no choices"),
        (
            say(fallback=inspect_model.ModelFallback(model="m", fallback_model="n")),
            Status.ERROR,
            None,
            "Answered by n in place of m.",
        ),
        (say(model="m-mini"), Status.ERROR, None, "Answered by m-mini, not by m, which was asked."),
        (say(model="m-2026-08-06"), Status.OK, "(a)", None),
        (say(usage=inspect_model.ModelUsage(output_tokens=2**40)), Status.ERROR, None, "count of tokens"),
    ],
)
def test_what_becomes_of_a_reply(make: Any, output: Any, status: Status, text: str | None, error: str | None) -> None:
    Scripted.behave = lambda *_: output
    response = answer(make(retries=1))
    assert (response.status, response.text) == (status, text)
    assert (error or "") in (response.error or ""), response.error
    assert bool(error) == bool(response.error)


@pytest.mark.parametrize("hidden", [True, False], ids=["as content", "as a count"])
def test_thinking_is_no_answer(make: Any, hidden: bool) -> None:
    thought: list[inspect_model.Content] = [inspect_model.ContentReasoning(reasoning="(b)?")] if hidden else []
    usage = inspect_model.ModelUsage(input_tokens=7, output_tokens=20, reasoning_tokens=0 if hidden else 18)
    text = inspect_model.ContentText(text="(a)")
    Scripted.script = [
        lambda *_: say([*thought, text], usage=usage),
        lambda *_: say(thought, "max_tokens", usage=usage),
    ]
    model = make(reasoning_effort="low", reasoning_tokens=100)
    assert answer(model)[2:4] == (Status.OK, "(a)")
    cut = answer(model)
    assert (cut.status, cut.text) == (Status.TRUNCATED, "")
    assert "before the model had ended thinking" in (cut.error or "")
    _, config = Scripted.asked[0]
    assert (config.reasoning_effort, config.reasoning_tokens, config.max_tokens) == ("low", 100, 116)
    assert model.settings()["reasoning_tokens"] == 100


def test_tokens_from_a_cache_are_counted_as_the_prompts(make: Any) -> None:
    usage = inspect_model.ModelUsage(
        input_tokens=10, input_tokens_cache_read=60, input_tokens_cache_write=30, output_tokens=2
    )
    Scripted.behave = lambda *_: say(usage=usage)
    model = make()
    response = answer(model)
    assert (response.prompt_tokens, response.completion_tokens) == (100, 2)
    found = model.findings()
    assert (found["prompt_tokens_cached"], found["prompt_tokens_counted"]) == (60, 100)
    assert found["served_by"] == "m, fp-1"
    assert found["inspect_ai"]


def test_what_may_pass_is_tried_again_as_long_as_the_provider_asks(make: Any, slept: list[float]) -> None:
    Scripted.script = [
        lambda *_: ServerError(429, "Slow down.", retry_after=7.0),
        lambda *_: ServerError(503, "Overloaded."),
        lambda *_: ServerError(500, "Fault."),
    ]
    assert answer(make()).text == "(a)"
    assert slept[0] == 8.0
    assert len(slept) == 3


def test_what_will_not_pass_is_an_error_of_its_request(make: Any, slept: list[float]) -> None:
    model = make()
    assert answer(model).status is Status.OK
    Scripted.script = [lambda *_: ServerError(400, f"Bad picture; key {KEY}.")]
    response = answer(model)
    assert (response.status, response.error) == (Status.ERROR, "HTTP 400: Bad picture; key [key].")
    assert not slept


def test_a_request_that_hangs_times_out_by_our_clock(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripted, "seconds", 5.0)
    assert answer(make(timeout=0.1, retries=0)).error == "No reply within 0.1 s."


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ServerError(401, f"Wrong key {KEY}."), "inspect/scripted/m refuses the key, or the lack of one. HTTP 401"),
        (ServerError(404, "No such model."), "scripted does not offer 'm'. HTTP 404: No such model."),
        (ServerError(429, "No money.", "insufficient_quota"), "No money."),
        (ServerError(400, "This model takes no pictures."), "does not answer a simple question. HTTP 400"),
        (ConnectionError("[Errno 111]"), "inspect/scripted/m cannot be reached: [Errno 111]"),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused_before_the_first_request(
    make: Any, error: Exception, message: str
) -> None:
    Scripted.behave = lambda *_: error
    with pytest.raises(ModelError, match=r"^[^\n]*$") as raised:
        _ = make(retries=0).capabilities
    assert message in str(raised.value)
    assert KEY not in str(raised.value)


def test_keys_of_the_environment_are_in_no_error(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_ACCESS_TOKEN", "tok/Secret=12345")
    Scripted.script = [lambda *_: ServerError(400, "tok/Secret=12345 and tok%2FSecret%3D12345 are wrong")]
    assert "Secret" not in (answer(make()).error or "")


def test_another_model_from_the_start_is_no_model(make: Any) -> None:
    Scripted.behave = lambda *_: say(model="other")
    with pytest.raises(ModelError, match="Answered by other, not by m, which was asked"):
        _ = make().capabilities


def test_what_is_not_sent_is_said_and_part_of_who_is_asked(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make()
    assert whole.capabilities.seeds
    assert whole.notes == ()
    monkeypatch.setattr(Scripted, "dropped", ("temperature", "seed"))
    model = make()
    assert not model.capabilities.seeds
    assert "takes no temperature, which is not sent: its own default applies" in model.notes[0]
    assert model.settings()["left_out"] == "seed, temperature"
    assert answer(model).status is Status.OK
    assert Scripted.asked[-1][1].temperature is None


def test_of_two_parameters_that_are_not_taken_together_one_is_left_out(make: Any) -> None:
    def strict(_: Any, config: Any) -> Any:
        if config.temperature is not None and config.top_p is not None:
            return ServerError(400, "`temperature` and `top_p` cannot both be specified for this model.")
        return say()

    Scripted.behave = strict
    model = make()
    assert model.capabilities.images_per_request == 2
    assert model.settings()["left_out"] == "top_p"
    assert answer(model).text == "(a)"


@pytest.mark.parametrize("honoured", [True, False])
def test_replies_are_held_to_the_options_where_that_is_seen_to_work(make: Any, honoured: bool) -> None:
    def choosing(_: Any, config: Any) -> Any:
        if not honoured or config.response_schema is None:
            return say("Blue.")
        return say(f'{{"answer": "{config.response_schema.json_schema.properties["answer"].enum[-1]}"}}')

    Scripted.behave = choosing
    model = make()
    assert answer(model, request(constrain=True)).text == ('{"answer": "(b)"}' if honoured else "Blue.")
    assert model.capabilities.structured == honoured
    assert model.structured() == honoured


def test_who_is_asked_hangs_on_provider_name_and_address_alone(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = make().settings()
    assert settings == {"api": "inspect", "provider": "scripted", "model": "m"}
    assert make(concurrency=3, timeout=5).settings() == settings
    assert model_hash("inspect/scripted/m", settings) != model_hash(
        "inspect/scripted/n", make("inspect/scripted/n").settings()
    )
    make_api = Scripted.__init__

    def reaching(address: str) -> InspectModel:
        monkeypatch.setattr(Scripted, "__init__", lambda self, **more: make_api(self, **{**more, "base_url": address}))
        made: InspectModel = make()
        return made

    assert reaching("http://127.0.0.1:1/v1/").settings()["endpoint"] == "http://127.0.0.1:1/v1"
    for address in ("http://user:secret@127.0.0.1/v1", "http://127.0.0.1/v1?key=secret"):
        with pytest.raises(ModelError, match=r"^The address of inspect/scripted/m [^\n]*$") as error:
            reaching(address)
        assert "secret@" not in str(error.value)
        assert "key=secret" not in str(error.value)


def test_arguments_of_the_provider_are_part_of_who_is_asked(make: Any) -> None:
    model = make(model_args=("region=eu-west-1", "tier=2", "streaming=false"))
    assert Scripted.arguments == {"region": "eu-west-1", "tier": 2, "streaming": False}
    assert answer(model).status is Status.OK
    assert Scripted.arguments["tier"] == 2, "the client of another event loop has them too"
    assert model.settings()["model_args"] == '{"region": "eu-west-1", "streaming": false, "tier": 2}'
    hashes = {model_hash("m", make(model_args=args).settings()) for args in ((), ("tier=2",), ("tier=3",))}
    assert len(hashes) == 3
    assert pickle.loads(pickle.dumps(model)).settings() == model.settings()
    assert fv.model("inspect/scripted/m", model_args={"tier": 2}).settings() == make(model_args=("tier=2",)).settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tier", "write NAME=VALUE"),
        ("=3", "write NAME=VALUE"),
        ("a b=3", "write NAME=VALUE"),
        ("a=\x07", "write NAME=VALUE"),
        ("memoize=true", "is no argument of a provider"),
        ("api_key=hush", "set the provider's variable instead"),
        ("aws_secret_access_key=hush", "set the provider's variable instead"),
        ('headers={"Authorization": "hush"}', "set the provider's variable instead"),
        ("url=https://ann:hush@host", "set the provider's variable instead"),
    ],
)
def test_arguments_that_are_refused(make: Any, text: str, message: str) -> None:
    with pytest.raises(ModelError, match=r"^[^\n]*$") as error:
        make(model_args=(text,))
    assert message in str(error.value)
    assert "hush" not in str(error.value)


def test_arguments_are_for_providers_and_given_once(make: Any) -> None:
    with pytest.raises(ModelError, match="--model-arg tier is given twice"):
        make(model_args=("tier=1", "tier=2"))
    with pytest.raises(ModelError, match="--model-arg is for Inspect's providers"):
        load("sim/default", ModelOptions(model_args=("tier=1",)))
    with pytest.raises(ModelError, match="model_args are numbers, texts, lists and mappings"):
        fv.model("inspect/scripted/m", model_args={"client": object()})


def test_no_key_is_pickled(make: Any) -> None:
    model = make(concurrency=3)
    packed = pickle.dumps(model)
    assert b"Secret" not in packed
    assert pickle.loads(packed).settings() == model.settings()


def test_clients_live_as_long_as_their_loop(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hook, loops = sys.excepthook, set()
    Scripted.behave = lambda *_: loops.add(id(asyncio.get_running_loop())) or say()  # type: ignore[func-returns-value]
    monkeypatch.setattr(Scripted, "made", 0)
    model = make()
    _ = model.capabilities
    assert [answer(model).status for _ in range(2)] == [Status.OK] * 2
    assert Scripted.made == 3
    assert sys.excepthook is hook


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("inspect/anthropc/x", "Did you mean 'anthropic'?"),
        ("inspect/openai", "names no model: write inspect/openai/NAME"),
        ("inspect/scripted/", "names no model: write inspect/scripted/NAME"),
        ("inspect/hf/llava", "write hf/PATH_OR_ID"),
        ("inspect/none/none", "answers nothing"),
        ("inspect/vllm/x", "set VLLM_BASE_URL to its address"),
        ("inspect/scripted/a\x07b", "control characters"),
        ("inspct/anthropic/x", "Did you mean"),
        ("inspect/defualt", "Did you mean 'default'"),
        ("inspect/mistral/x", "needs the package mistralai, which is not installed: pip install mistralai."),
    ],
)
def test_a_name_that_is_wrong_gets_one_sentence(spec: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mistralai", None)
    monkeypatch.delenv("VLLM_BASE_URL", raising=False)
    with pytest.raises(FaceValueError, match=r"^[^\n]*$") as error:
        load(spec)
    assert message in str(error.value)


def test_a_key_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai._util.error import PrerequisiteError

    def keyless(*_: object, **__: object) -> None:
        raise PrerequisiteError(
            "ERROR: Unable to initialise X client\n\nNo [bold][blue]X_API_KEY[/blue][/bold] defined."
        )

    monkeypatch.setattr(calls, "get_model", keyless)
    with pytest.raises(ModelError, match=r"^'inspect/scripted/m' cannot be used: Unable to .* No X_API_KEY defined\.$"):
        load("inspect/scripted/m")


def test_without_inspect_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("inspect_ai", "facevalue.models.inspect."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(DependencyError, match=r"This needs inspect-ai, .* pip install '.\[inspect\]'"):
        load("inspect/mockllm/m")


def test_options_of_other_models_are_refused() -> None:
    with pytest.raises(ModelError, match="--batch is for Inspect's providers"):
        load("sim/default", ModelOptions(batch=5))
    with pytest.raises(ModelError, match="Inspect's scripted takes no batches; anthropic, google"):
        load("inspect/scripted/m", ModelOptions(batch=5))
    with pytest.raises(ModelError, match="--device is for models on this machine"):
        load("inspect/scripted/m", ModelOptions(device="cpu"))


def test_mockllm(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = partial(lambda *_: say("(b)", model="mockllm"))
    monkeypatch.setattr(calls, "get_model", partial(inspect_model.get_model, custom_outputs=outputs))
    model = load("inspect/mockllm/model")
    assert isinstance(model, InspectModel)
    assert model.capabilities.images_per_request == 2
    assert model.notes == (), "what it sends is not in a shape that says what was left out"
    assert answer(model).text == "(b)"


def test_providers_are_those_of_inspect() -> None:
    assert {*PROVIDERS} <= calls._offered_providers()
    assert {*BATCHING} <= {*PROVIDERS}


@pytest.mark.parametrize(
    ("served", "name", "same"),
    [
        ("gpt-4o", "gpt-4o", True),
        ("openai/GPT-4o", "gpt-4o", True),
        ("gpt-4", "gpt-4o", False),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", True),
        ("claude-sonnet-4", "claude-sonnet-4-5", False),
        ("anthropic.claude-3-haiku-20240307-v1:0", "anthropic.claude-3-haiku", True),
        ("claude-3-haiku-20240307", "us.anthropic.claude-3-haiku-20240307-v1:0", True),
        ("claude-3-opus-20240229", "us.anthropic.claude-3-haiku-20240307-v1:0", False),
        ("openai.gpt-5.5", "bedrock/gpt-5.5", True),
        ("claude-3-5-sonnet@20240620", "claude-3-5-sonnet", True),
        ("gemini-1.5-pro-002", "gemini-1.5-pro", True),
        ("gemini-2.5-pro-preview-05-20", "gemini-2.5-pro", True),
        ("gemini-2.5-pro-lite", "gemini-2.5-pro", False),
        ("llava:latest", "llava", True),
        ("llava:13b", "llava", False),
        ("qwen2.5-vl-72b", "qwen2.5-vl-7b", False),
    ],
)
def test_a_dated_version_of_a_model_is_the_model(served: str, name: str, same: bool) -> None:
    assert is_asked_for(served, [name]) == same


def test_who_is_to_run_a_model_is_no_part_of_its_name() -> None:
    assert without_route("openrouter", "qwen/qwen2.5-vl-72b:free") == "qwen/qwen2.5-vl-72b"
    assert without_route("ollama", "llava:13b") == "llava:13b"


# --- batches --------------------------------------------------------------------------------------------------------


def test_requests_go_out_in_batches_of_the_size_that_was_said(
    make: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    model = make("inspect/batched/m", batch=4, concurrency=2)
    assert model.capabilities.images_per_request == 2
    assert Batched.Answers.created == [], "no probe waits in a batch"
    with closing(model.respond(request(trial=i) for i in range(10))) as responses:
        answers = list(responses)
    assert [answer.text for answer in answers] == [QUESTION.prompt] * 10
    assert sorted(Batched.Answers.created) == [2, 4, 4]
    assert model.findings()["batch"] == 4
    assert "under way when this process ends is lost" in model.notes[-1]
    assert "Created batch batch-1 with 4 requests" in caplog.text, "by which it can be cancelled"
    assert "batch" not in model.settings(), "what a model says does not hang on it"
    assert capfd.readouterr().out == ""


def test_a_batch_that_cannot_be_sent_ends_the_run_instead_of_hanging(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Batched.Answers, "failure", ServerError(400, f"No batches for {KEY}."))
    model = make("inspect/batched/m", batch=4)
    with (
        pytest.raises(ModelError, match="A batch could not be sent") as error,
        closing(model.respond(request(trial=i) for i in range(50))) as responses,
    ):
        list(responses)
    assert KEY not in str(error.value)
