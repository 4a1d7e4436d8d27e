"""The HTTP adapter against a server that misbehaves on purpose."""

import asyncio
import gc
import json
import logging
import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from email.utils import formatdate
from typing import Any

import pytest

from facevalue.errors import DataError, ModelError
from facevalue.hashing import model_hash
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.models.openai import OpenAIModel
from facevalue.servers.connections import MAX_BODY
from facevalue.servers.pool import Budget
from facevalue.servers.server import MAX_ERROR, Waits, retry_after
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus
from tests.models.misbehaving import Behaviour, Exchange, Misbehaving, fine
from tests.servers.refused_forms import DECLINED

KEY = "sk-Very/Secret+Key=="
PICTURE = Image(b"\x89PNG not looked at", "image/png")
QUESTION = Question(
    "Who? (a) left (b) right", (Option("(a)", "left", "l"), Option("(b)", "right", "r")), system="Be brief."
)


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def waits(self) -> Waits:
        return Waits(first=1.0, longest=60.0, sleep=self.sleep, clock=lambda: self.now, jitter=lambda low, high: high)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FACEVALUE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No thread is left behind, and asyncio has nothing to complain about."""
    caplog.set_level(logging.DEBUG)
    yield
    gc.collect(1)
    assert not [t for t in threading.enumerate() if t.name == "facevalue-http"]
    assert not [r for r in caplog.records if r.name == "asyncio" and r.levelno >= logging.WARNING]


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with Misbehaving().served() as served:
        yield served


@pytest.fixture
def clock() -> Clock:
    return Clock()


Make = Callable[..., OpenAIModel]


@pytest.fixture
def make(server: Misbehaving, clock: Clock) -> Make:
    def build(spec: str | None = None, **options: Any) -> OpenAIModel:
        options = {"concurrency": 1, "timeout": 20.0, "retries": 3} | options
        return OpenAIModel(spec or server.spec, ModelOptions(**options), waits=clock.waits())

    return build


def stimulus(key: str = "face", load: Callable[[], tuple[Image, ...]] = lambda: (PICTURE,)) -> Stimulus:
    return Stimulus(key, "digest", {}, load)


def ask(trial: int = 0, *, shown: Stimulus | None = None, exact: bool = False, **sampling: Any) -> Request:
    return Request(trial, 0, 40 + trial, shown or stimulus(), QUESTION, Sampling(**sampling), exact)


def one(model: OpenAIModel, request: Request | None = None) -> Response:
    (response,) = model.respond([request or ask()])
    return response


def collect(responses: Iterator[Response], into: list[Response]) -> None:
    """Keep what comes before an exception."""
    for response in responses:
        into.append(response)


def error(status: int, message: str = "no", **more: Any) -> Behaviour:
    return lambda exchange: exchange.error(status, message, **more)


def say(text: str | None, finish: object = "stop", **more: Any) -> Behaviour:
    return lambda exchange: exchange.say(text, finish, **more)


def raw(data: bytes, status: int = 200) -> Behaviour:
    return lambda exchange: exchange.raw(status, data)


# What is sent


def test_body(server: Misbehaving, make: Make) -> None:
    two = stimulus(load=lambda: (PICTURE, Image(b"jpeg", "image/jpeg")))
    assert one(make(), ask(shown=two, temperature=0.7, top_p=0.9, max_tokens=5)).status is Status.OK
    (body,) = server.bodies
    system, user = body.pop("messages")
    assert system == {"role": "system", "content": "Be brief."}
    assert [part["type"] for part in user["content"]] == ["image_url", "image_url", "text"]
    assert user["content"][1]["image_url"]["url"] == "data:image/jpeg;base64,anBlZw=="
    assert user["content"][2]["text"] == QUESTION.prompt
    assert body == {"model": "tiny-llava", "temperature": 0.7, "top_p": 0.9, "max_tokens": 5, "seed": 40}


def test_body_without_image_or_system(server: Misbehaving, make: Make) -> None:
    one(make(), Request(0, 0, 2**40 - 1, stimulus(load=lambda: ()), Question("Hi"), Sampling(), False))
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "Hi"}]
    assert server.bodies[0]["seed"] == 2**31 - 1


def test_an_exact_request_follows_the_likeliest_path(server: Misbehaving, make: Make) -> None:
    one(make(), ask(exact=True, temperature=0.7, top_p=0.9))
    body = server.bodies[0]
    assert body["temperature"] == 0
    assert body["top_p"] == 1
    assert body["logprobs"] is True
    assert body["top_logprobs"] == 20


def test_an_image_is_loaded_once(server: Misbehaving, make: Make) -> None:
    loads: list[str] = []

    def shown(key: str) -> Stimulus:
        def read() -> tuple[Image, ...]:
            loads.append(key)
            return (PICTURE,)

        return stimulus(key, read)

    requests = [ask(i, shown=shown(f"face {i // 5}")) for i in range(20)]
    assert len(list(make(concurrency=3).respond(requests))) == 20
    assert loads == [f"face {i}" for i in range(4)]


@pytest.mark.parametrize("problem", [OSError("gone"), DataError("face.png is no image.")])
def test_an_image_that_cannot_be_loaded_fails_its_request_only(make: Make, problem: Exception) -> None:
    def broken() -> tuple[Image, ...]:
        raise problem

    responses = sorted(make().respond([ask(0, shown=stimulus("broken", broken)), ask(1)]))
    assert [r.status for r in responses] == [Status.ERROR, Status.OK]
    assert str(problem) in str(responses[0].error)


# What comes back


@pytest.mark.parametrize(
    ("behaviour", "status", "text"),
    [
        (say("(a)"), Status.OK, "(a)"),
        (say(None), Status.OK, ""),
        (say("  (b)\n"), Status.OK, "  (b)\n"),
        (say("(a", "length"), Status.TRUNCATED, "(a"),
        (say(None, "content_filter"), Status.REFUSED, None),
        (say("part", "content_filter"), Status.REFUSED, "part"),
        (say(None, refusal="I can't."), Status.REFUSED, "I can't."),
        (error(400, "filtered", code="content_filter"), Status.REFUSED, None),
        (say("(a)", None), Status.OK, "(a)"),
    ],
)
def test_status(server: Misbehaving, make: Make, behaviour: Behaviour, status: Status, text: str | None) -> None:
    server.otherwise = behaviour
    response = one(make())
    assert (response.status, response.text) == (status, text)
    assert (response.error is not None) == (status is Status.REFUSED)
    assert len(server.asked) == 1


@pytest.mark.parametrize("form", [form for form, (status, _) in DECLINED.items() if status is not None])
def test_a_request_that_a_provider_declines_is_refused_and_not_asked_again(
    server: Misbehaving, make: Make, form: str
) -> None:
    status, said = DECLINED[form]
    server.script = [lambda exchange: exchange.json(status or 200, said)]
    response = one(make())
    assert (response.status, response.text) == (Status.REFUSED, None)
    assert response.error
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"content": ""}, "finish_reason": "IMAGE_SAFETY"},
        {"message": {"content": None}, "finish_reason": "stop", "native_finish_reason": "BLOCKLIST"},
        {"message": {"content": ""}, "finish_reason": "stop", "content_filter_results": {"hate": {"filtered": True}}},
        {"message": {"content": ""}, "finish_reason": "error", "error": {"code": 403, "message": "Flagged"}},
    ],
)
def test_a_choice_that_was_withheld_is_refused(server: Misbehaving, make: Make, choice: dict[str, object]) -> None:
    server.otherwise = lambda exchange: exchange.json(200, {"choices": [choice], "usage": {"prompt_tokens": 5}})
    response = one(make())
    assert (response.status, response.prompt_tokens, len(server.asked)) == (Status.REFUSED, 5, 1)


def test_an_answer_is_none_though_the_server_says_how_it_was_checked(server: Misbehaving, make: Make) -> None:
    checks = {"hate": {"filtered": False, "severity": "safe"}}
    choice = {"message": {"content": "(a)"}, "finish_reason": "stop", "content_filter_results": checks}
    server.otherwise = lambda exchange: exchange.json(200, {"choices": [choice]})
    assert one(make()).status is Status.OK


@pytest.mark.parametrize("behaviour", [error(400, "Denied: AI Shield, rule 7"), say("DENIED BY AI SHIELD")])
def test_the_users_own_words_are_those_of_a_refusal(server: Misbehaving, make: Make, behaviour: Behaviour) -> None:
    server.otherwise = behaviour
    assert one(make()).status is not Status.REFUSED
    assert one(make(refusal_words=("ai shield",))).status is Status.REFUSED


def test_counts_and_latency(make: Make) -> None:
    response = one(make())
    assert (response.prompt_tokens, response.completion_tokens) == (7, 2)
    assert response.latency_ms > 0


def test_usage_that_is_no_number_is_no_count(server: Misbehaving, make: Make) -> None:
    choice = {"message": {"content": "(a)"}}
    server.otherwise = lambda e: e.json(
        200, {"choices": [choice], "usage": {"prompt_tokens": "7", "completion_tokens": True}}
    )
    response = one(make())
    assert (response.status, response.prompt_tokens, response.completion_tokens) == (Status.OK, None, None)


UNUSABLE: dict[str, tuple[Behaviour, str]] = {
    "rate limit": (error(429), "HTTP 429: no"),
    "server error": (error(500, "boom"), "HTTP 500: boom"),
    "conflict": (error(409), "HTTP 409"),
    "timeout by the server": (error(408), "HTTP 408"),
    "too early": (error(425), "HTTP 425"),
    "reset": (lambda e: e.reset(), "The connection broke"),
    "truncated JSON": (raw(b'{"choices": [{"mess'), "no JSON"),
    "HTML": (raw(b"<html>busy</html>"), "no JSON: '<html>busy"),
    "deep JSON": (raw(b"[" * 100_000), "no JSON"),
    "no object": (raw(b"[1]"), "no JSON object"),
    "no choices": (raw(b"{}"), "no choices"),
    "empty choices": (raw(b'{"choices": []}'), "no choices"),
    "an error with 200": (raw(b'{"error": {"message": "overloaded"}}'), "overloaded"),
    "choice without message": (raw(b'{"choices": [{"text": "(a)"}]}'), "without a message"),
    "choices of a wrong type": (raw(b'{"choices": [7]}'), "without a message"),
    "content of a wrong type": (say(7), "not text"),  # type: ignore[arg-type]
    "finish of a wrong type": (say("(a)", 7), "not text"),
    "broken off": (say("(a", "error"), "broken off"),
    "logprobs of a wrong type": (say("(a)", logprobs={"content": 3}), "logprobs"),
    "huge": (lambda e: e.flood(), "larger than 8 MiB"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_hiccup_is_tried_again(server: Misbehaving, make: Make, clock: Clock, name: str) -> None:
    server.script = [UNUSABLE[name][0]] * 2
    assert one(make()).text == "(a)"
    assert len(server.asked) == 3
    assert clock.slept == [1.0, 2.0]


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_stays_broken_is_an_error(server: Misbehaving, make: Make, name: str) -> None:
    server.otherwise, expected = UNUSABLE[name]
    response = one(make(retries=1))
    assert response.status is Status.ERROR
    assert response.text is None
    assert expected in str(response.error)
    assert len(str(response.error)) <= MAX_ERROR
    assert len(server.asked) == 2


def test_a_hung_request_is_tried_again(server: Misbehaving, make: Make) -> None:
    server.script = [lambda e: e.hang()]
    assert one(make(timeout=0.5, retries=20)).status is Status.OK


def test_a_request_that_always_hangs_is_an_error(server: Misbehaving, make: Make) -> None:
    server.otherwise = lambda e: e.hang()
    response = one(make(timeout=0.2, retries=1))
    assert (response.status, response.error) == (Status.ERROR, "No reply within 0.2 s.")


@pytest.mark.parametrize("status", [400, 422, 413, 301])
def test_a_rejection_is_not_tried_again(server: Misbehaving, make: Make, status: int) -> None:
    server.otherwise = error(status, "too large")
    response = one(make())
    assert (response.status, response.error) == (Status.ERROR, f"HTTP {status}: too large")
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b'{"detail": "Not like this"}', "HTTP 400: Not like this"),
        (b'{"detail": [{"loc": ["body"], "msg": "Field required"}]}', "Field required"),
        (b'{"error": "plain"}', "HTTP 400: plain"),
        (b'{"message": "vllm"}', "HTTP 400: vllm"),
        (b"<h1>\n bad   request</h1>", "HTTP 400: <h1> bad request</h1>"),
        (b"", "HTTP 400."),
        (b"[]", "HTTP 400: []"),
        (b"\xff\xfe" * 4000, "…"),
    ],
)
def test_error_texts(server: Misbehaving, make: Make, answer: bytes, expected: str) -> None:
    server.otherwise = raw(answer, 400)
    response = one(make())
    assert expected in str(response.error)
    assert len(str(response.error)) <= MAX_ERROR


# Retry-After


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": formatdate(1_000_030, usegmt=True)}, 30),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-4"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, 1_000_000) == seconds


def test_what_the_server_asks_for_is_waited(server: Misbehaving, make: Make, clock: Clock) -> None:
    server.script = [error(429, headers={"Retry-After": "7"}), error(503, headers={"Retry-After": "86400"})]
    assert one(make()).status is Status.OK
    assert clock.slept == [8.0, 61.0]  # what was asked, capped, and the jitter


def test_backoff_grows_to_a_cap_and_is_fully_jittered() -> None:
    bounds: list[tuple[float, float]] = []

    def jitter(low: float, high: float) -> float:
        bounds.append((low, high))
        return high

    waits = Waits(first=1, longest=10, jitter=jitter)
    for retry in (0, 1, 2, 3, 4, 4000):
        waits.before(retry, None)
    assert bounds == [(0, 1), (0, 2), (0, 4), (0, 8), (0, 10), (0, 10)]


def test_latency_leaves_waits_out(server: Misbehaving, make: Make, clock: Clock) -> None:
    server.script = [error(429, headers={"Retry-After": "50"})] * 3
    assert one(make()).latency_ms < 50_000
    assert clock.now > 150


# What ends a run


def test_nobody_there() -> None:
    with Misbehaving().served() as gone:
        spec = gone.spec
    model = OpenAIModel(spec, ModelOptions(), waits=Waits(sleep=Clock().sleep))
    with pytest.raises(ModelError, match=r"Nothing answers at http://127\.0\.0\.1:\d+/v1"):
        one(model)
    with pytest.raises(ModelError, match="Nothing answers"):
        _ = model.capabilities


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_ends_the_run(server: Misbehaving, make: Make, status: int) -> None:
    server.otherwise = error(status, "bad key")
    with pytest.raises(ModelError, match=r"FACEVALUE_API_KEY.*bad key"):
        one(make())
    with pytest.raises(ModelError, match="FACEVALUE_API_KEY"):
        _ = make().capabilities


def test_an_unknown_model_ends_the_run_with_the_nearest_name(server: Misbehaving, make: Make) -> None:
    server.otherwise = error(404, "no such model")
    with pytest.raises(ModelError, match=r"'tiny-lava'. Did you mean 'tiny-llava'\? Known: other, tiny-llava"):
        one(make(f"{server.url}#tiny-lava"))


@pytest.mark.parametrize("models", [{"data": [{"id": "tiny-llava"}]}, {"data": 3}, [], {"data": [3, {"id": 4}]}])
def test_a_wrong_path_ends_the_run(server: Misbehaving, make: Make, models: object) -> None:
    server.otherwise, server.models = error(404, "no such path"), models
    with pytest.raises(ModelError, match=r"no such path.*end in /v1"):
        one(make())


def test_no_quota_ends_the_run(server: Misbehaving, make: Make) -> None:
    server.otherwise = error(429, "You exceeded your current quota.", code="insufficient_quota")
    with pytest.raises(ModelError, match="quota"):
        one(make())


@pytest.mark.parametrize("status", [401, 404, 500])
def test_an_outage_ends_the_run(server: Misbehaving, make: Make, status: int) -> None:
    server.script, server.otherwise = [fine], error(status, "down")
    got: list[Response] = []
    with pytest.raises(ModelError, match=r"20 requests in a row.*down.*again"):
        collect(make(retries=1).respond(map(ask, range(100))), got)
    assert [response.status for response in got] == [Status.OK] + [Status.ERROR] * 19


@pytest.mark.parametrize("status", [400, 307, 413, 422])
def test_twenty_rejections_in_a_row_end_a_run_that_worked(server: Misbehaving, make: Make, status: int) -> None:
    server.script, server.otherwise = [fine], error(status, "image too large")
    got: list[Response] = []
    with pytest.raises(ModelError, match=r"20 requests in a row.*image too large.*again"):
        collect(make().respond(map(ask, range(120))), got)
    assert [response.status for response in got] == [Status.OK] + [Status.ERROR] * 19


def test_rejections_between_answers_do_not_end_a_run(server: Misbehaving, make: Make) -> None:
    server.script = [fine, *[error(400, "image too large")] * 19] * 3
    server.otherwise = fine
    assert [r.status for r in make().respond(map(ask, range(60)))].count(Status.ERROR) == 57


def test_replies_without_probabilities_end_an_exact_run(server: Misbehaving, make: Make) -> None:
    server.otherwise = fine
    got: list[Response] = []
    with pytest.raises(ModelError, match=r"20 requests in a row.*top_logprobs"):
        collect(make().respond(ask(n)._replace(exact=True) for n in range(120)), got)
    assert len(got) == 19


@pytest.mark.parametrize(
    "usage",
    [{"prompt_tokens": 2**32}, {"completion_tokens": int("9" * 400)}, {"prompt_tokens": 2**63}],
    ids=["33 bits", "400 digits", "64 bits"],
)
def test_a_count_that_no_reply_has_is_an_error_of_that_reply_alone(
    server: Misbehaving, make: Make, usage: dict[str, int]
) -> None:
    poison = {"choices": [{"message": {"content": "(a)"}, "finish_reason": "stop"}], "usage": usage}
    server.script, server.otherwise = [fine, lambda exchange: exchange.json(200, poison)], fine
    got = list(make(retries=0).respond(map(ask, range(5))))
    assert [r.status for r in got].count(Status.ERROR) == 1
    assert "tokens" in next(r.error or "" for r in got if r.status is Status.ERROR)


def test_a_log_probability_of_hundreds_of_digits_is_an_error_of_that_reply_alone(
    server: Misbehaving, make: Make
) -> None:
    entry = {"token": "(a)", "logprob": -int("9" * 400), "top_logprobs": [{"token": "(a)", "logprob": -0.1}]}
    server.script, server.otherwise = [lambda x: x.say("(a)", logprobs={"content": [entry]})], fine
    first, *others = make(retries=0, concurrency=1).respond(map(ask, range(3)))
    assert first.status is Status.ERROR
    assert "log-probability" in (first.error or "")
    assert [r.status for r in others] == [Status.OK] * 2


def test_half_a_surrogate_pair_does_not_hide_the_answer(server: Misbehaving, make: Make) -> None:
    server.otherwise = lambda exchange: exchange.say("(a) \ud83d")
    assert one(make()).text == "(a) "


@pytest.mark.parametrize("finish", ["abort", "cancelled", "error", "engine_dead"])
def test_a_reply_that_was_broken_off_is_no_answer(server: Misbehaving, make: Make, finish: str) -> None:
    server.script, server.otherwise = [fine, lambda exchange: exchange.say("(a)", finish=finish)], fine
    answers = list(make(retries=0, concurrency=1).respond(map(ask, range(3))))
    assert [r.status for r in answers] == [Status.OK, Status.ERROR, Status.OK]
    assert finish in (answers[1].error or "")


def test_who_answered_is_remembered_and_a_change_is_seen(server: Misbehaving, make: Make) -> None:
    def named(name: str) -> Behaviour:
        message = {"choices": [{"message": {"content": "(a)"}, "finish_reason": "stop"}], "model": name}
        return lambda exchange: exchange.json(200, message | {"system_fingerprint": "fp\x1b[2J"})

    server.script, server.otherwise = [named("one"), named("one")], named("two")
    model = make(concurrency=1)
    list(model.respond(map(ask, range(4))))
    assert model.findings() == {"served_by": "one, fp\\x1b[2J; two, fp\\x1b[2J"}


def test_requests_to_this_machine_go_past_a_proxy(
    server: Misbehaving, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY")
    server.otherwise = fine
    assert one(make()).status is Status.OK


def test_a_proxy_of_an_unknown_kind_and_missing_certificates_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from facevalue.servers import server as http_server

    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:9")
    with pytest.raises(ModelError, match="ALL_PROXY"):
        http_server.Server("https://models.invalid/v1", "", 5).connections()
    monkeypatch.setenv("ALL_PROXY", "")
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent/ca.pem")
    http_server._tls.cache_clear()
    with pytest.raises(ModelError, match="SSL_CERT_FILE"):
        http_server.Server("https://models.invalid/v1", "", 5).connections()
    http_server._tls.cache_clear()


@pytest.mark.parametrize("cut", [4096, 4096 - len(KEY) + 1, 4 * 300 - 3])
def test_a_key_at_the_end_of_a_long_page_is_cleaned_before_it_is_cut(
    server: Misbehaving, make: Make, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
    page = (" " * cut + KEY + " " * 100).encode()
    for status in (200, 500):
        server.otherwise = lambda exchange, status=status: exchange.raw(status, page)  # type: ignore[misc]
        said = one(make(retries=0)).error
        assert said
        assert not any(KEY[:n] in said for n in range(4, len(KEY) + 1))


def test_nothing_but_rejections_ends_the_run(server: Misbehaving, make: Make) -> None:
    server.otherwise = error(400, "temperature is not supported")
    got: list[Response] = []
    with pytest.raises(ModelError, match="temperature is not supported"):
        collect(make().respond(map(ask, range(100))), got)
    assert len(got) == 19


def test_a_success_ends_the_count(server: Misbehaving, make: Make) -> None:
    server.script = [fine] + ([error(500)] * 19 + [fine]) * 3
    assert len(list(make(retries=0).respond(map(ask, range(61))))) == 61


# The order that prefix caches live on


def faces(count: int, each: int, exact: bool = False) -> Iterator[Request]:
    """Several questions about each of several pictures, as a run asks them."""
    for i in range(count * each):
        data = f"picture {i // each}".encode()
        shown = stimulus(f"face {i // each}", lambda data=data: (Image(data, "image/png"),))  # type: ignore[misc]
        question = Question(f"Question {i % each}? (a) left (b) right", QUESTION.options, QUESTION.system)
        yield Request(i, 0, i, shown, question, Sampling(), exact)


def before_the_question(body: dict[str, Any]) -> str:
    """What a server reads before anything that tells questions about one picture apart."""
    *others, user = body["messages"]
    *images, text = user["content"]
    assert text["type"] == "text"
    assert {image["type"] for image in images} == {"image_url"}
    return json.dumps([*others, user["role"], *images])


@pytest.mark.parametrize("exact", [False, True])
def test_questions_about_a_picture_are_asked_together_and_the_picture_comes_first(
    server: Misbehaving, make: Make, exact: bool
) -> None:
    server.otherwise = doubtful  # so that those for probabilities are asked twice
    assert len(list(make().respond(faces(4, 5, exact)))) == 20
    prefixes = [before_the_question(body) for body in server.bodies]
    runs = [prefix for i, prefix in enumerate(prefixes) if i == 0 or prefix != prefixes[i - 1]]
    assert len(runs) == len(set(runs)) == 4  # each picture's requests in one go, alike up to the question


def test_many_at_once_stay_close_to_their_picture(server: Misbehaving, make: Make) -> None:
    server.otherwise = doubtful
    assert len(list(make(concurrency=3).respond(faces(6, 10, exact=True)))) == 60
    asked = [before_the_question(body) for body in server.bodies]
    for i, prefix in enumerate(asked):
        assert len(set(asked[: i + 1])) - 1 <= [*dict.fromkeys(asked)].index(prefix) + 1  # at most two pictures at once


# The stream of requests


def test_many_at_once_but_not_more(server: Misbehaving, make: Make) -> None:
    server.otherwise = server.hold(4)
    drawn = yielded = most = 0

    def requests() -> Iterator[Request]:
        nonlocal drawn, most
        for trial in range(40):
            drawn += 1
            most = max(most, drawn - yielded)
            yield ask(trial)

    trials = []
    for response in make(concurrency=4).respond(requests()):
        yielded += 1
        trials.append(response.trial)
    assert sorted(trials) == list(range(40))
    assert server.most_at_once == 4
    assert most <= 4


def test_answers_come_as_they_are_there(server: Misbehaving, make: Make) -> None:
    last = threading.Event()

    def behave(exchange: Exchange) -> None:
        if exchange.body["seed"] == 40:
            last.wait(10)
        fine(exchange)

    server.otherwise = behave
    trials = []
    for response in make(concurrency=2).respond(map(ask, range(5))):
        trials.append(response.trial)
        if len(trials) == 4:
            last.set()
    assert trials == [1, 2, 3, 4, 0]


def test_no_requests(make: Make) -> None:
    assert list(make().respond([])) == []


def test_an_exception_of_the_requests_reaches_the_caller(server: Misbehaving, make: Make) -> None:
    server.script, server.otherwise = [fine], lambda e: e.hang()

    def requests() -> Iterator[Request]:
        yield from map(ask, range(3))
        raise ValueError("the design is broken")

    with pytest.raises(ValueError, match="the design is broken"):
        list(make(concurrency=8).respond(requests()))


@pytest.mark.parametrize("how", ["close", "throw", "forget"])
def test_leaving_early_cancels_what_is_in_flight(server: Misbehaving, make: Make, how: str) -> None:
    server.script, server.otherwise = [fine], lambda e: e.hang()
    responses = make(concurrency=5).respond(map(ask, range(1000)))
    assert next(responses).status is Status.OK
    if how == "close":
        responses.close()
    elif how == "throw":
        with pytest.raises(KeyboardInterrupt):
            responses.throw(KeyboardInterrupt())
    else:
        del responses
    assert not [t for t in threading.enumerate() if t.name == "facevalue-http"]
    assert len(server.asked) <= 6


def test_an_interrupt_reaches_a_caller_who_waits(server: Misbehaving, make: Make) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(exchange: Exchange) -> None:
        signal.raise_signal(signal.SIGINT)
        exchange.hang()

    server.otherwise = interrupt
    try:
        with pytest.raises(KeyboardInterrupt):
            list(make().respond(map(ask, range(3))))
    finally:
        signal.signal(signal.SIGINT, before)


def test_answers_that_were_there_are_not_lost_to_an_error(server: Misbehaving, make: Make) -> None:
    server.otherwise = lambda e: e.error(429, "quota", code="insufficient_quota") if e.body["seed"] == 42 else fine(e)
    got: list[Response] = []
    with pytest.raises(ModelError, match="quota"):
        collect(make().respond(map(ask, range(10))), got)
    assert [response.trial for response in got] == [0, 1]


def test_two_streams_of_one_model(make: Make) -> None:
    model = make()
    with closing(model.respond(map(ask, range(3)))) as first, closing(model.respond(map(ask, range(3)))) as second:
        assert next(first).trial == next(second).trial == 0
        assert [r.trial for r in first] == [r.trial for r in second] == [1, 2]
    model.close()


# Dialects


def test_the_token_limits_other_name(server: Misbehaving, make: Make) -> None:
    def behave(exchange: Exchange) -> None:
        if "max_tokens" in exchange.body:
            exchange.error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        else:
            fine(exchange)

    server.otherwise = behave
    assert [r.status for r in make().respond(map(ask, range(3)))] == [Status.OK] * 3
    assert ["max_tokens" in body for body in server.bodies] == [True, False, False, False]
    assert server.bodies[-1]["max_completion_tokens"] == 16


@pytest.mark.parametrize(
    "complaint",
    [
        "Invalid value for 'top_logprobs': must be less than or equal to 5.",
        "Requested sample logprobs of {}, which is greater than max allowed: 5",
        "1 validation error: top_logprobs: Input should be less than or equal to 5",
    ],
)
def test_fewer_alternatives(server: Misbehaving, make: Make, complaint: str) -> None:
    def behave(exchange: Exchange) -> None:
        asked = exchange.body.get("top_logprobs", 0)
        if asked > 5:
            exchange.error(400, complaint.format(asked))
        else:
            answer(exchange)

    server.otherwise = behave
    responses = list(make(concurrency=4).respond(ask(i, exact=True) for i in range(8)))
    assert [r.status for r in responses] == [Status.OK] * 8
    assert server.bodies[-1]["top_logprobs"] == 5
    assert sum(body["top_logprobs"] == 20 for body in server.bodies) <= 4


@pytest.mark.parametrize("status", [400, 422])
def test_a_seed_that_is_not_taken_is_left_out(server: Misbehaving, make: Make, status: int) -> None:
    server.otherwise = lambda e: (
        e.error(status, "seed: Extra inputs are not permitted") if "seed" in e.body else fine(e)
    )
    model = make()
    assert not model.capabilities.seeds
    assert one(model).status is Status.OK


def test_a_rejection_that_happens_to_name_a_parameter_teaches_nothing(server: Misbehaving, make: Make) -> None:
    model = make()
    assert model.capabilities.seeds
    server.script = [fine, error(422, "image not supported in {'seed': 1, 'max_tokens': 5}")]
    assert [r.status for r in model.respond(map(ask, range(3)))] == [Status.OK, Status.ERROR, Status.OK]
    assert "seed" in server.bodies[-1]


# Probabilities


def answers(first: dict[str, float], second: dict[str, float], drawn: str = "(b)") -> Behaviour:
    """Answer "(a)" with these probabilities of the first tokens where they are asked for, else with another text."""

    def position(token: str, top: dict[str, float]) -> object:
        logs = {token: math.log(share) for token, share in top.items()}
        alternatives = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in logs.items()]
        return {"token": token, "logprob": logs[token], "top_logprobs": alternatives}

    content = [position("(", first), position("a", second), position(")", {")": 1.0})]

    def behave(exchange: Exchange) -> None:
        if exchange.body.get("logprobs"):
            exchange.say("(a)", logprobs={"content": content})
        else:
            exchange.say(drawn)

    return behave


answer = answers({"(": 0.9, "a": 0.05, "I": 0.045}, {"a": 0.6, "b": 0.4})
doubtful = answers({"(": 0.9, "a": 0.05, "I": 0.02}, {"a": 0.6, "b": 0.4})


def test_exact_probabilities(server: Misbehaving, make: Make) -> None:
    server.otherwise = answer
    response = one(make(), ask(exact=True))
    assert (response.status, response.text, response.error) == (Status.OK, "(a)", None)
    assert response.probs == pytest.approx((0.9 * 0.6 + 0.05, 0.9 * 0.4))
    assert len(server.asked) == 1


def test_a_reply_is_drawn_where_too_much_was_not_seen(server: Misbehaving, make: Make) -> None:
    server.otherwise = doubtful
    response = one(make(), ask(exact=True, temperature=1.0, top_p=0.995))
    assert (response.status, response.text, response.probs) == (Status.OK, "(b)", None)
    assert response.error == (
        "Drawn, not read: 2.5% of the probability is on replies that were not listed "
        "(95.5% is on the options, 2.0% on others)."
    )
    read, drawn = server.bodies
    assert read["logprobs"]
    assert "logprobs" not in drawn
    assert (drawn["temperature"], drawn["top_p"], drawn["seed"]) == (1.0, 0.995, read["seed"])
    assert drawn["messages"] == read["messages"]
    assert (response.prompt_tokens, response.completion_tokens) == (14, 4)  # both are paid for


@pytest.mark.parametrize(("share", "drawn"), [(0.0401, False), (0.0399, True)])
def test_a_hundredth_is_too_much(server: Misbehaving, make: Make, share: float, drawn: bool) -> None:
    server.otherwise = answers({"(": 0.9, "a": 0.05, "I": share}, {"a": 0.6, "b": 0.4})
    assert (one(make(), ask(exact=True)).probs is None) == drawn


def test_only_doubtful_requests_are_asked_twice(server: Misbehaving, make: Make) -> None:
    server.otherwise = lambda e: (doubtful if e.body["seed"] % 2 else answer)(e)
    responses = sorted(make(concurrency=4).respond(ask(i, exact=True) for i in range(8)))
    assert [response.probs is None for response in responses] == [False, True] * 4
    assert len(server.asked) == 12


def test_a_reply_that_was_drawn_is_what_it_is(server: Misbehaving, make: Make) -> None:
    def behave(exchange: Exchange) -> None:
        if exchange.body.get("logprobs"):
            doubtful(exchange)
        else:
            exchange.say("I would", "length")

    server.otherwise = behave
    response = one(make(), ask(exact=True))
    assert (response.status, response.text, response.probs) == (Status.TRUNCATED, "I would", None)
    assert "not listed" in str(response.error)


def test_a_drawn_reply_that_fails_is_an_error(server: Misbehaving, make: Make) -> None:
    server.script = [doubtful, error(400, "no more")]
    response = one(make(), ask(exact=True))
    assert (response.status, response.text, response.probs) == (Status.ERROR, None, None)
    assert "no more" in str(response.error)


def test_a_drawn_reply_that_was_withheld_is_refused(server: Misbehaving, make: Make) -> None:
    server.script = [doubtful, say(None, "content_filter")]
    response = one(make(), ask(exact=True))
    assert (response.status, response.probs) == (Status.REFUSED, None)
    assert "filter" in str(response.error)


def test_a_drawn_reply_is_as_free_as_the_probabilities(server: Misbehaving, make: Make) -> None:
    server.otherwise = doubtful
    one(make(), ask(exact=True)._replace(constrain=True))
    assert all("structured_outputs" not in body for body in server.bodies)


def test_a_reply_without_logprobs_is_no_guess(server: Misbehaving, make: Make) -> None:
    response = one(make(), ask(exact=True))
    assert (response.status, response.probs, response.text) == (Status.ERROR, None, "(a)")
    assert "top_logprobs" in str(response.error)


def test_logprobs_of_something_else_are_no_guess(server: Misbehaving, make: Make) -> None:
    entry = {"token": "<think>", "logprob": 0, "top_logprobs": [{"token": "<think>", "logprob": 0}]}
    server.otherwise = say("(a)", logprobs={"content": [entry]})
    response = one(make(), ask(exact=True))
    assert (response.status, response.probs) == (Status.ERROR, None)


def test_an_exact_reply_that_was_refused(server: Misbehaving, make: Make) -> None:
    server.otherwise = say(None, "content_filter")
    assert one(make(), ask(exact=True)).status is Status.REFUSED


# The probe


def test_probe_of_a_server_that_can_everything(server: Misbehaving, make: Make) -> None:
    server.otherwise = answer
    model = make()
    able = model.capabilities
    assert (able.probabilities, able.images_per_request, able.seeds) == ("top-k", 2, True)
    sent = len(server.asked)
    assert model.capabilities is able
    assert len(server.asked) == sent == 2
    assert server.bodies[0]["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


@pytest.mark.parametrize("at", [0, 1])
def test_probe_takes_one_fault_for_an_accident(server: Misbehaving, make: Make, at: int) -> None:
    server.script, server.otherwise = [answer] * at + [error(500)], answer
    able = make().capabilities
    assert (able.probabilities, able.images_per_request) == ("top-k", 2)


def test_probe_of_a_server_that_ignores_logprobs(make: Make) -> None:
    assert make().capabilities.probabilities == "none"


@pytest.mark.parametrize("status", [400, 422, 500, 501])
def test_probe_of_a_server_that_rejects_logprobs(server: Misbehaving, make: Make, status: int) -> None:
    server.otherwise = lambda e: e.error(status, "no logprobs") if "logprobs" in e.body else fine(e)
    able = make().capabilities
    assert (able.probabilities, able.images_per_request) == ("none", 2)


def test_probe_of_a_server_whose_logprobs_are_broken(server: Misbehaving, make: Make) -> None:
    server.otherwise = lambda e: e.say("(a)", logprobs={"content": 3}) if "logprobs" in e.body else fine(e)
    able = make().capabilities
    assert (able.probabilities, able.images_per_request) == ("none", 2)


@pytest.mark.parametrize("status", [400, 415, 500])
def test_probe_of_a_server_without_images(server: Misbehaving, make: Make, status: int) -> None:
    server.otherwise = lambda e: (
        e.error(status, "text only") if isinstance(e.body["messages"][-1]["content"], list) else answer(e)
    )
    able = make().capabilities
    assert (able.probabilities, able.images_per_request) == ("top-k", 0)


def test_probe_of_a_server_for_one_image(server: Misbehaving, make: Make) -> None:
    server.otherwise = lambda e: (
        e.error(400, "At most 1 image(s)") if len(e.body["messages"][-1]["content"]) == 3 else answer(e)
    )
    assert make().capabilities.images_per_request == 1


def test_probe_waits_for_a_model_that_is_loading(server: Misbehaving, make: Make, clock: Clock) -> None:
    server.script = [error(503, "Loading model")] * 3
    assert make().capabilities.images_per_request == 2
    assert clock.slept == [1.0, 2.0, 4.0]


def test_probe_of_a_server_that_rejects_everything(server: Misbehaving, make: Make) -> None:
    server.otherwise = error(400, "not today")
    sent = "Sent besides, and perhaps refused: temperature, top_p, max_tokens, seed"
    with pytest.raises(ModelError, match=rf"does not answer a simple question.*not today.*{sent}"):
        _ = make().capabilities
    server.otherwise = error(503, "overloaded")
    with pytest.raises(ModelError, match="overloaded"):
        _ = make().capabilities


# Budgets


def _spend(budget: Budget, requests: int, tokens: int) -> None:
    async def spend() -> None:
        for _ in range(requests):
            budget.settle(await budget.take(), tokens)

    asyncio.run(spend())


def test_requests_are_spread_over_the_minute(clock: Clock) -> None:
    _spend(Budget(60, None, clock.waits()), 31, 1000)
    assert clock.now == pytest.approx(30)
    assert max(clock.slept) == pytest.approx(1)


def test_tokens_are_spread_and_guesses_put_right(clock: Clock) -> None:
    _spend(Budget(None, 6000, clock.waits()), 101, 50)
    assert clock.now == pytest.approx(100 * 50 / 100, abs=1)


def test_no_budget_no_wait(clock: Clock) -> None:
    _spend(Budget(None, None, clock.waits()), 50, 10**6)
    assert clock.slept == []


def test_an_idle_time_is_not_saved_up(clock: Clock) -> None:
    budget = Budget(60, None, clock.waits())
    _spend(budget, 2, 1)
    clock.now += 100
    start = clock.now
    _spend(budget, 11, 1)
    assert clock.now - start == pytest.approx(10)


def test_a_model_keeps_to_its_budget(server: Misbehaving, make: Make, clock: Clock) -> None:
    assert len(list(make(rpm=120).respond(map(ask, range(11))))) == 11
    assert clock.now == pytest.approx(5)


# Names, addresses and secrets


def test_settings_are_stable_and_the_registry_knows_the_adapter(server: Misbehaving, make: Make) -> None:
    model = load(f"{server.url}/#tiny-llava", ModelOptions())
    before = dict(model.settings())
    list(model.respond([ask()]))
    assert dict(model.settings()) == before
    assert before == {"api": "openai-chat-completions", "endpoint": server.url, "model": "tiny-llava"}
    assert model.name == f"{server.url}/#tiny-llava"


def test_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        OpenAIModel("openai/gpt-x", ModelOptions())
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert OpenAIModel("openai/gpt-x", ModelOptions()).settings()["endpoint"] == "https://api.openai.com/v1"
    with pytest.raises(ModelError, match="No model is named"):
        OpenAIModel("openai/", ModelOptions())
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:hunter2@127.0.0.1/v1")
    with pytest.raises(ModelError, match="OPENAI_BASE_URL holds a user name") as caught:
        OpenAIModel("openai/gpt-x", ModelOptions())
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("http://user:hunter2@127.0.0.1/v1#m", "Put the key into FACEVALUE_API_KEY"),
        ("http://hunter2@127.0.0.1/v1#m", "Put the key into FACEVALUE_API_KEY"),
        ("https://127.0.0.1/v1?key=hunter2#m", "holds a query"),
        ("http://127.0.0.1/v1", "No model is named"),
        ("http://127.0.0.1/v1#", "No model is named"),
        ("http://#m", "not a web address"),
        ("http://127.0.0.1:port/v1#m", "not a web address"),
        ("http://[::1/v1#m", "not a web address"),
    ],
)
def test_addresses_that_cannot_be(spec: str, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        OpenAIModel(spec, ModelOptions())
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_a_key_that_cannot_be(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("FACEVALUE_API_KEY", key)
    with pytest.raises(ModelError, match="FACEVALUE_API_KEY") as caught:
        OpenAIModel("http://127.0.0.1/v1#m", ModelOptions())
    assert key not in str(caught.value)


def _echo(status: int) -> Behaviour:
    return lambda e: e.error(status, "x" * 270 + f" you sent {json.dumps(e.headers)}")


ECHOES: list[Behaviour] = [
    _echo(400),
    _echo(500),
    lambda e: e.raw(200, f"<html>{e.headers['authorization']}".encode()),
    lambda e: e.json(200, {"error": e.headers["authorization"]}),
    lambda e: e.json(400, {"detail": [{"input": e.headers["authorization"]}]}),
]


@pytest.mark.parametrize("number", range(len(ECHOES)))
def test_the_key_appears_nowhere(
    server: Misbehaving,
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number: int,
) -> None:
    monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
    server.otherwise = ECHOES[number]
    model = make(retries=0)
    response = one(model)
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    with pytest.raises(ModelError) as caught:
        _ = model.capabilities
    said = [str(response), repr(model), str(model.settings()), model.name, str(caught.value), caplog.text]
    said += [repr(vars(model)), repr(caught.value.__context__), repr(caught.value.__cause__)]
    for text in said:
        assert "Secret" not in text
        assert "sk-Ve" not in text
    assert response.status is Status.ERROR


@pytest.mark.parametrize("status", [401, 404])
def test_the_key_appears_in_no_fatal_error(
    server: Misbehaving, make: Make, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
    server.otherwise, server.models = _echo(status), {"data": [{"id": KEY}]}
    with pytest.raises(ModelError) as caught:
        one(make())
    assert "Secret" not in str(caught.value)


def test_a_body_just_within_bounds_is_read(server: Misbehaving, make: Make) -> None:
    data = json.dumps({"choices": [{"message": {"content": "(a)"}}]}).encode()
    server.otherwise = raw(data + b" " * (MAX_BODY - len(data)))
    assert one(make()).status is Status.OK


# Sampling that a server does not take, and models that think


def refuses(name: str, message: str = "Unsupported parameter: '{}' is not supported with this model.") -> Behaviour:
    return lambda e: e.error(400, message.format(name)) if name in e.body else fine(e)


def test_the_probe_asks_with_the_runs_own_sampling(server: Misbehaving, make: Make) -> None:
    server.otherwise = lambda e: (
        fine(e)
        if e.body["temperature"] == 0.7
        else e.error(400, "'temperature' does not support 0. Only 0.7 is supported.")
    )
    model = make()
    model.expect(Sampling(0.7, 0.9, 5))
    assert (model.capabilities.probabilities, model.capabilities.images_per_request) == ("none", 2)
    assert {(body["top_p"], body["max_tokens"]) for body in server.bodies if body["temperature"]} == {(0.9, 5)}
    assert "left_out" not in model.settings()
    assert not model.notes


REFUSALS = (
    "Unsupported parameter: '{}' is not supported with this model.",
    "Unsupported value: '{}' does not support this value with this model. Only the default (1) value is supported.",
    "`{}` is deprecated for this model.",
    "Unknown parameter: '{}'.",
    "Completions.create() got an unexpected keyword argument '{}'",
    "{}: Extra inputs are not permitted",
    "{} must be 1 for reasoning models",
)


@pytest.mark.parametrize("message", REFUSALS)
@pytest.mark.parametrize("name", ["temperature", "top_p", "seed", "max_tokens", "reasoning_effort"])
def test_a_parameter_that_is_refused_is_left_out_said_and_kept(
    server: Misbehaving, make: Make, name: str, message: str
) -> None:
    names = ("max_tokens", "max_completion_tokens") if name == "max_tokens" else (name,)

    def behave(e: Exchange) -> None:
        sent = [word for word in names if word in e.body]
        fine(e) if not sent else e.error(400, message.format(sent[0]))

    server.otherwise = behave
    model = make(reasoning_effort="low")
    model.expect(Sampling(0.2, 0.9, 16))
    before = model.settings()
    assert model.capabilities.seeds == (name != "seed")
    assert model.settings() == {**before, "left_out": name}
    (note,) = model.notes
    assert f"takes no {name}, which is not sent" in note
    assert one(model).status is Status.OK
    assert not {*names} & {*server.bodies[-1]}
    assert model_hash("m", model.settings()) != model_hash("m", before)


def test_parameters_that_are_refused_one_after_the_other_are_all_left_out(server: Misbehaving, make: Make) -> None:
    def behave(e: Exchange) -> None:
        sent = [name for name in ("temperature", "top_p", "seed") if name in e.body]
        fine(e) if not sent else e.error(422, f"`{sent[0]}` is deprecated for this model.")

    server.otherwise = behave
    model = make()
    assert not model.capabilities.seeds
    assert model.settings()["left_out"] == "seed, temperature, top_p"
    assert len(model.notes) == 3


def test_a_parameter_that_only_a_field_of_the_error_names_is_left_out(server: Misbehaving, make: Make) -> None:
    said = {"error": {"message": "This parameter cannot be set for this model.", "param": "temperature", "code": None}}
    server.otherwise = lambda e: e.raw(400, json.dumps(said).encode()) if "temperature" in e.body else fine(e)
    model = make()
    assert model.capabilities.seeds
    assert model.settings()["left_out"] == "temperature"


def test_what_a_server_said_first_is_told_where_leaving_out_does_not_help(server: Misbehaving, make: Make) -> None:
    server.otherwise = lambda e: e.error(400, "`temperature` is wrong" if "temperature" in e.body else "bad luck")
    with pytest.raises(ModelError, match=r"does not answer a simple question\. HTTP 400: `temperature` is wrong"):
        _ = make().capabilities


def test_nothing_is_left_out_once_a_run_has_begun(server: Misbehaving, make: Make) -> None:
    model = make()
    assert model.capabilities.seeds
    server.otherwise = refuses("temperature")
    response = one(model)
    assert response.status is Status.ERROR
    assert "Unsupported parameter: 'temperature'" in (response.error or "")


def test_a_budget_for_thinking_is_sent_and_kept(server: Misbehaving, make: Make) -> None:
    model = make(max_tokens=32, reasoning_effort="low", reasoning_tokens=1000)
    assert one(model).status is Status.OK
    assert (server.bodies[-1]["max_tokens"], server.bodies[-1]["reasoning_effort"]) == (1032, "low")
    kept = {"max_tokens": 32, "reasoning_effort": "low", "reasoning_tokens": 1000}
    assert model.settings().items() >= kept.items()
    assert not set(kept) & set(make().settings())
    one(make(reasoning_effort="high"))
    assert server.bodies[-1]["max_tokens"] == 16 + 4096


def test_thinking_is_switched_off_in_chat_templates(server: Misbehaving, make: Make) -> None:
    one(make(reasoning_effort="none"))
    assert server.bodies[-1]["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
    assert server.bodies[-1]["max_tokens"] == 16
    server.otherwise = refuses("chat_template_kwargs", "{}: Extra inputs are not permitted")
    model = make(reasoning_effort="none")
    assert one(model).status is Status.OK
    assert "chat_template_kwargs" not in server.bodies[-1]
    assert server.bodies[-1]["reasoning_effort"] == "none"


@pytest.mark.parametrize(
    ("text", "more", "kept"),
    [
        ("<think>(a), as", {}, "<think>(a), as"),
        ("", {"reasoning_content": "(a), as"}, ""),
        (None, {"reasoning": "(a), as"}, ""),
        ("So (a), as", {}, "<think>So (a), as"),
    ],
)
def test_a_reply_cut_off_while_thinking_is_no_answer(
    server: Misbehaving, make: Make, text: str | None, more: dict[str, Any], kept: str | None
) -> None:
    server.otherwise = say(text, "length", **more)
    response = one(make(reasoning_tokens=100))
    assert (response.status, response.text) == (Status.TRUNCATED, kept)
    assert response.error == "Cut off at the token limit before the model had ended thinking."


@pytest.mark.parametrize(
    ("content", "more", "status", "text", "error"),
    [
        ([{"type": "text", "text": "(a)"}], {}, Status.OK, "(a)", None),
        ([{"type": "output_text", "text": "("}, {"text": "a)"}], {}, Status.OK, "(a)", None),
        (["(a)"], {}, Status.OK, "(a)", None),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "(b)?"}]}, {"type": "text", "text": "(a)"}], {},
         Status.OK, "(a)", None),
        ([{"type": "refusal", "refusal": "No."}], {}, Status.REFUSED, "No.", "The model declined."),
        ([{"type": "reasoning", "text": "so (a)"}], {}, Status.OK, "", "what the model thought (reasoning)"),
        (None, {"reasoning_content": "so (a)"}, Status.OK, "", "what the model thought (reasoning_content)"),
        ("", {"reasoning": "so (a)"}, Status.OK, "", "what the model thought (reasoning)"),
        (None, {"reasoning_details": [{"text": "so (a)"}]}, Status.OK, "", "what the model thought"),
        ("[THINK]so (a)", {}, Status.OK, "[THINK]so (a)", None),
    ],
)  # fmt: skip
def test_contents_in_parts_and_thoughts_alone(
    server: Misbehaving, make: Make, content: Any, more: dict[str, Any], status: Status, text: str, error: str | None
) -> None:
    server.otherwise = say(content, **more)
    response = one(make())
    assert (response.status, response.text) == (status, text)
    assert (error or "") in (response.error or "")
    assert bool(error) == bool(response.error)


@pytest.mark.parametrize(
    ("content", "usage"),
    [(None, {"prompt_tokens": 0, "completion_tokens": 0}), ("", {"completion_tokens": 0}), (None, None)],
)
def test_nothing_at_no_cost_is_a_fault_that_is_asked_again(
    server: Misbehaving, make: Make, content: str | None, usage: dict[str, int] | None
) -> None:
    model = make()
    assert model.capabilities
    empty = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}], "usage": usage}
    server.script += [raw(json.dumps(empty).encode())]
    assert one(model).text == "(a)"
    server.otherwise = raw(json.dumps(empty).encode())
    response = one(model)
    assert (response.status, "no token of it counted" in (response.error or "")) == (Status.ERROR, True)


def test_a_reply_cut_off_after_thinking_is_kept(server: Misbehaving, make: Make) -> None:
    for text, more in (("<think>hm</think>(a), sin", {}), ("(a), sin", {"reasoning_content": "hm"})):
        server.otherwise = say(text, "length", **more)
        response = one(make(reasoning_tokens=100))
        assert (response.status, response.text, response.error) == (Status.TRUNCATED, text, None)
