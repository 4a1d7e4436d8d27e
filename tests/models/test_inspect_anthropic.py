"""Anthropic's models through Inspect, against a server on this machine: what it is sent, and what is read of it."""

import importlib.util
from collections.abc import Iterator
from contextlib import closing

import pytest

from facevalue.errors import ModelError
from facevalue.models import load
from facevalue.models._chat import white_squares
from facevalue.models.base import Model, ModelOptions
from facevalue.types import Question, Request, Response, Sampling, Status, Stimulus
from tests.models.misbehaving import Behaviour, Exchange, Misbehaving

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("anthropic") is None, reason="anthropic is not installed: pip install anthropic"
)
KEY = "sk-Very/Secret+Key=="
SPEC = "inspect/anthropic/claude-sonnet-4-5"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Misbehaving]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Misbehaving().served() as served:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", served.url.removesuffix("/v1"))
        served.otherwise = saying("(a)")
        yield served


def saying(text: str, stop_reason: str = "end_turn", model: str = "claude-sonnet-4-5-20250929") -> Behaviour:
    def say(exchange: Exchange) -> None:
        usage = {
            "input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 5
        }  # fmt: skip
        reply = {"id": "m", "type": "message", "role": "assistant", "model": model, "stop_reason": stop_reason}
        exchange.json(200, {**reply, "content": [{"type": "text", "text": text}], "usage": usage})

    return say


def failing(status: int, message: str) -> Behaviour:
    return lambda exchange: exchange.json(status, {"type": "error", "error": {"type": "x", "message": message}})


def answer(model: Model) -> Response:
    question = Question("Who?", system="Be brief.", turns=(("user", "Hello"), ("assistant", "Yes?")))
    stimulus = Stimulus("0", "d", {}, lambda: tuple(white_squares(2)))
    with closing(iter(model.respond([Request(0, 0, 1, stimulus, question, Sampling(), False)]))) as responses:  # type: ignore[type-var]
        return next(responses)


def test_a_run_of_its_own_words(server: Misbehaving) -> None:
    model = load(SPEC, ModelOptions(retries=1))
    assert model.capabilities.probabilities == "none"
    assert model.capabilities.images_per_request == 2
    response = answer(model)
    assert response[2:6] == (Status.OK, "(a)", None, 75)
    body = server.bodies[-1]
    assert [part["type"] for part in body["messages"][-1]["content"]] == ["image", "image", "text"]
    assert body["system"][0]["text"] == "Be brief."
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    left_out = [name for name in ("seed", "temperature", "top_p") if name not in body]
    assert model.settings().get("left_out", "") == ", ".join(left_out), "what went out is what is said"
    server.otherwise = saying("", "refusal")
    assert answer(model).status is Status.REFUSED
    server.otherwise = saying("(b)", model="claude-haiku-4-5")
    assert "Answered by claude-haiku-4-5" in (answer(model).error or "")
    server.otherwise = failing(400, "prompt is too long: 300000 tokens > 200000 maximum")
    assert "The prompt is longer than the model takes" in (answer(model).error or "")
    before = len(server.asked)
    server.otherwise = failing(529, "Overloaded")
    assert answer(model).error == "HTTP 529: Overloaded"
    assert len(server.asked) - before == 2, "the package's own retries are off"


@pytest.mark.parametrize(
    ("behave", "message"),
    [
        (failing(401, f"invalid x-api-key {KEY}"), f"{SPEC} refuses the key, or the lack of one. HTTP 401: invalid"),
        (failing(404, "model: claude-sonnet-4-5"), "anthropic does not offer 'claude-sonnet-4-5'. Did you mean"),
    ],
)
def test_what_ends_a_run_before_it_begins(server: Misbehaving, behave: Behaviour, message: str) -> None:
    server.otherwise = behave
    with pytest.raises(ModelError, match=r"^[^\n]*$") as error:
        _ = load(SPEC).capabilities
    assert message in str(error.value)
    assert KEY not in str(error.value)
