"""What a real vLLM 0.32 was seen to send, by a stand-in; `make test-vllm` asks the real one."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from facevalue.errors import ModelError
from facevalue.models.base import ModelOptions
from facevalue.models.cached_tokens import cached_share
from facevalue.models.openai import OpenAIModel
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus
from tests.models.misbehaving import Behaviour, Exchange, Misbehaving

QUESTION = Question("Who?", (Option("", "“日”", "a"), Option("", "né", "b")))
TOO_LONG = (
    "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens, "
    "which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. "
    "(parameter=input_tokens, value=2049)"
)
DEAD = "EngineCore encountered an issue. See stack trace (above) for the root cause."


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with Misbehaving().served() as served:
        yield served


@pytest.fixture
def model(server: Misbehaving) -> Iterator[OpenAIModel]:
    made = OpenAIModel(server.spec, ModelOptions(concurrency=1, retries=0))
    yield made
    made.close()


def ask(trial: int = 0, *, exact: bool = False) -> Request:
    shown = Stimulus("face", "digest", {}, lambda: (Image(b"png", "image/png"),))
    return Request(trial, 0, 40 + trial, shown, QUESTION, Sampling(), exact)


def one(model: OpenAIModel, request: Request) -> Response:
    (response,) = model.respond([request])
    return response


def shown(*tokens: str, sure: float = 0.999) -> dict[str, Any]:
    """Log-probabilities as vLLM sends them: the token taken first, and bytes that say no more than the text."""

    def entry(token: str, share: float) -> dict[str, Any]:
        return {"token": token, "logprob": math.log(share), "bytes": list(token.encode())}

    content = [entry(token, sure) for token in tokens]
    return {"content": [own | {"top_logprobs": [own, entry("<pad>", (1 - sure) / 2)]} for own in content]}


def says(text: str, tokens: Sequence[str], **usage: Any) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        exchange.say(text, logprobs=shown(*tokens) if exchange.body.get("logprobs") else None, usage=usage)

    return behave


def test_an_option_whose_characters_are_split_over_tokens_is_read(server: Misbehaving, model: OpenAIModel) -> None:
    server.otherwise = says("“日”", ["", "", "“", "", "", "日", "", "", "”", "</s>"])
    response = one(model, ask(exact=True))
    assert (response.status, response.error) == (Status.OK, None)
    assert response.probs == pytest.approx((0.999**6, 0), abs=1e-2)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("\N{REPLACEMENT CHARACTER}z né", ["", "z", " ", "", "né", "</s>"]),
        ("z\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} x", ["z", "", "", " ", "x"]),
        ("", ["</s>"]),
    ],
)
def test_a_reply_with_bytes_that_are_no_text_is_an_answer(
    server: Misbehaving, model: OpenAIModel, text: str, tokens: list[str]
) -> None:
    server.otherwise = says(text, tokens)
    response = one(model, ask(exact=True))
    assert response.status is Status.OK
    assert response.probs is None or sum(response.probs) < 0.01


def test_tokens_of_another_text_are_an_error(server: Misbehaving, model: OpenAIModel) -> None:
    server.otherwise = says("né", ["", "né", " or", " not", "</s>"])
    response = one(model, ask(exact=True))
    assert (response.status, response.probs) == (Status.ERROR, None)
    assert "not those of the reply's text" in str(response.error)


def test_tokens_shown_by_their_numbers_are_no_probabilities(server: Misbehaving, model: OpenAIModel) -> None:
    """`vllm serve --return-tokens-as-token-ids`."""
    server.otherwise = says("né", ["token_id:12", "token_id:2"])
    assert model.capabilities.probabilities == "none"
    response = one(model, ask(exact=True))
    assert (response.status, response.probs) == (Status.ERROR, None)
    assert "numbers" in str(response.error)


def test_log_probabilities_of_the_prompt_are_never_asked_for(server: Misbehaving, model: OpenAIModel) -> None:
    """With a cache of prefixes they are not the same twice (vllm#42245)."""
    server.otherwise = says("né", ["né", "</s>"])
    assert model.capabilities.probabilities == "top-k"
    model.structured()
    for exact in (True, False):
        list(model.respond([ask(i, exact=exact)._replace(constrain=not exact) for i in range(3)]))
    assert len(server.bodies) > 8
    assert not [body for body in server.bodies if "prompt_logprobs" in json.dumps(body)]


def test_tokens_from_the_cache_are_counted_where_the_server_tells_them(server: Misbehaving, model: OpenAIModel) -> None:
    def cached(tokens: object) -> Callable[[Exchange], None]:
        return says("né", ["né"], prompt_tokens=100, prompt_tokens_details=tokens)

    server.script = [cached({"cached_tokens": 64}), cached({"cached_tokens": 0}), cached(None), cached({})]
    server.script += [cached({"cached_tokens": None}), cached({"cached_tokens": "64"}), cached(3)]
    assert len(list(model.respond(map(ask, range(7))))) == 7
    assert cached_share([model.findings()]) == pytest.approx(0.32)


def test_without_a_word_of_the_cache_nothing_is_known(server: Misbehaving, model: OpenAIModel) -> None:
    server.otherwise = says("né", ["né"])
    list(model.respond([ask()]))
    assert cached_share([model.findings()]) is None


@pytest.mark.parametrize(
    "broken", [{"prompt_tokens_cached": "x"}, {"prompt_tokens_cached": 3, "prompt_tokens_counted": 2}]
)
def test_findings_that_make_no_sense_are_not_known(broken: dict[str, Any]) -> None:
    assert cached_share([broken]) is None


def test_a_prompt_beyond_the_context_is_an_error_of_its_own(server: Misbehaving, model: OpenAIModel) -> None:
    fine = says("né", ["né"])
    server.script, server.otherwise = [fine, lambda e: e.error(400, TOO_LONG)], fine
    first, second, third = sorted(model.respond(map(ask, range(3))))
    assert [r.status for r in (first, second, third)] == [Status.OK, Status.ERROR, Status.OK]
    assert str(second.error).startswith("HTTP 400: This model's maximum context length is 2048 tokens.")
    assert server.bodies[-1].keys() == server.bodies[0].keys()  # it taught nothing about parameters


def test_an_engine_that_died_ends_the_run_with_its_words(server: Misbehaving, model: OpenAIModel) -> None:
    server.script = [says("né", ["né"])]
    server.otherwise = lambda e: e.error(500, DEAD)
    with pytest.raises(ModelError, match=r"20 requests in a row failed.*EngineCore encountered an issue"):
        list(model.respond(map(ask, range(40))))
