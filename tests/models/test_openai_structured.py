"""Replies held to a question's options: which way the server honours is found out, once, and never claimed."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facevalue.errors import ModelError, RunError
from facevalue.hashing import conditions_hash
from facevalue.models._chat import JSON_TOKENS, Way
from facevalue.models.base import ModelOptions
from facevalue.models.openai import OpenAIModel
from facevalue.runs import run
from facevalue.servers.server import Waits
from facevalue.store import scan_responses
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus
from tests.models.misbehaving import Behaviour, Exchange, Json, Misbehaving
from tests.runs.tiny import TinyModel, tiny_study

LABELLED = (Option("(a)", "kind", "up"), Option("(b)", "rude", "down"))
BARE = (Option("", "kind", "up"), Option("", 'so-called "rude"', "down"))
FACE = Stimulus("face", "digest", {}, lambda: (Image(b"png", "image/png"),))


async def no_wait(seconds: float) -> None:
    """Wait for nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Misbehaving]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("FACEVALUE_API_KEY", raising=False)
    with Misbehaving().served() as served:
        served.otherwise = free
        yield served


def make(server: Misbehaving, **options: Any) -> OpenAIModel:
    options = {"concurrency": 1, "timeout": 20.0, "retries": 3} | options
    return OpenAIModel(server.spec, ModelOptions(**options), waits=Waits(sleep=no_wait))


def ask(
    trial: int = 0, options: tuple[Option, ...] = LABELLED, *, exact: bool = False, constrain: bool = True
) -> Request:
    return Request(trial, 0, trial, FACE, Question("Who?", options), Sampling(), exact, constrain)


def free(exchange: Exchange) -> None:
    """Answer as a model does that is not held to anything."""
    exchange.say("The sky is blue.")


def choices(way: Way, body: Json) -> list[str]:
    """Read the texts that a request allows, as a server would; none if it doesn't ask in this way."""
    value = body.get(way.value)
    if value is None:
        return []
    if way is Way.STRUCTURED_OUTPUTS:
        return list(value["choice"])
    if way is Way.GUIDED_CHOICE:
        return list(value)
    if way is Way.RESPONSE_FORMAT:
        assert value["type"] == "json_schema"
        assert value["json_schema"]["strict"] is True
        schema = value["json_schema"]["schema"]
        assert schema["required"] == ["answer"]
        assert schema["additionalProperties"] is False
        return list(schema["properties"]["answer"]["enum"])
    head, _, rest = value.partition(" ::= ")
    assert head == "root"
    return [json.loads(f'"{literal}"') for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', rest)]


def honouring(way: Way, *, strict: bool = False) -> Behaviour:
    """Hold replies to the last of the choices; reject parameters that are not known if strict, else ignore them."""

    def behave(exchange: Exchange) -> None:
        unknown = [each.value for each in Way if each is not way and each.value in exchange.body]
        if strict and unknown:
            exchange.error(400, f"Unrecognized request argument supplied: {unknown[0]}")
        elif allowed := choices(way, exchange.body):
            exchange.say(json.dumps({"answer": allowed[-1]}) if way is Way.RESPONSE_FORMAT else allowed[-1])
        else:
            free(exchange)

    return behave


def used(bodies: list[Json]) -> list[str]:
    """Name the way in which each request was constrained."""
    return ["".join(way.value for way in Way if way.value in body) for body in bodies]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("way", list(Way))
def test_the_way_that_is_honoured_is_used(server: Misbehaving, way: Way, strict: bool) -> None:
    server.otherwise = honouring(way, strict=strict)
    model = make(server)
    said = [response.text for response in model.respond([ask(0), ask(1, BARE), ask(2)])]
    expected = ["(b)", 'so-called "rude"', "(b)"]
    assert said == ([json.dumps({"answer": text}) for text in expected] if way is Way.RESPONSE_FORMAT else expected)
    assert model.structured()
    probes = [each.value for each in Way][: list(Way).index(way)] + [way.value] * 2
    assert used(server.bodies) == probes + [way.value] * 3
    assert "messages" in server.bodies[0]
    assert choices(way, server.bodies[-1]) == ["(a)", "(b)"]
    assert choices(way, server.bodies[-2]) == ["kind", 'so-called "rude"']
    first, second = (set(choices(way, body)) for body in server.bodies[len(probes) - 2 : len(probes)])
    assert not first & second
    extra = JSON_TOKENS if way is Way.RESPONSE_FORMAT else 0
    assert server.bodies[-1]["max_tokens"] == Sampling().max_tokens + extra


@pytest.mark.parametrize("strict", [True, False])
def test_a_server_that_offers_none_is_asked_freely_and_that_is_said(server: Misbehaving, strict: bool) -> None:
    def none(exchange: Exchange) -> None:
        if strict and used([exchange.body])[0]:
            exchange.error(422, "Extra inputs are not permitted")
        else:
            free(exchange)

    server.otherwise = none
    model = make(server)
    assert [response.status for response in model.respond([ask(0), ask(1)])] == [Status.OK] * 2
    assert used(server.bodies) == [*(way.value for way in Way), "", ""]
    assert not model.structured()
    assert not model.capabilities.structured


def test_only_who_asks_for_it_makes_the_server_be_tried(server: Misbehaving) -> None:
    server.otherwise = honouring(Way.GUIDED_CHOICE)
    model = make(server)
    assert not model.capabilities.structured
    asked = [ask(0, constrain=False), ask(1, ())]
    assert [response.text for response in model.respond(asked)] == ["The sky is blue."] * 2
    assert not any(used(server.bodies))
    assert [response.text for response in model.respond([ask(2)])] == ["(b)"]
    assert model.capabilities.structured


def test_probabilities_are_those_of_free_replies(server: Misbehaving) -> None:
    server.otherwise = honouring(Way.STRUCTURED_OUTPUTS)
    list(make(server).respond([ask(exact=True)]))
    assert used(server.bodies) == [""]


def test_it_is_found_out_once_whatever_the_concurrency(server: Misbehaving) -> None:
    server.otherwise = honouring(Way.GRAMMAR)
    model = make(server, concurrency=8)
    for _ in range(2):
        assert {response.text for response in model.respond(map(ask, range(20)))} == {"(b)"}
    assert used(server.bodies) == ["structured_outputs", "guided_choice"] + ["grammar"] * 42


def echo(exchange: Exchange) -> None:
    """Repeat what is not understood, as proxies and test servers do."""
    exchange.say(json.dumps(exchange.body))


def first_only(exchange: Exchange) -> None:
    """Hold the first reply to its choices by accident, and no other."""
    allowed = choices(Way.STRUCTURED_OUTPUTS, exchange.body)
    exchange.say("qzx-7" if "qzx-7" in allowed else "The sky is blue.")


def always(text: str | None) -> Behaviour:
    """Say the same, whatever is asked."""
    return lambda exchange: exchange.say(text)


BEHAVIOURS: dict[str, Behaviour] = {
    "echo": echo,
    "the first probe only": first_only,
    "always the same": always("qzx-7"),
    "names both": always("qzx-7 or wvk-3"),
    "a choice in a sentence": lambda e: e.say(f"I say {next(iter(choices(Way.GUIDED_CHOICE, e.body)), 'blue')}."),
    "JSON of another shape": always('{"colour": "qzx-7"}'),
    "JSON with more": always('{"answer": "qzx-7", "why": 1}'),
    "JSON in a fence": lambda e: e.say('```json\n{"answer": "qzx-7"}\n```'),
    "JSON of another type": always('{"answer": ["qzx-7"]}'),
    "nothing": always(None),
    "deep": always("[" * 50_000),
    "faults": lambda e: e.error(500, "unknown field") if used([e.body])[0] else free(e),
    "broken": lambda e: e.raw(200, b"{}") if used([e.body])[0] else free(e),
}


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_what_is_not_held_to_is_not_claimed(server: Misbehaving, name: str) -> None:
    server.otherwise = BEHAVIOURS[name]
    model = make(server)
    assert not model.structured()
    assert next(model.respond([ask()])).status is Status.OK


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_hiccup_is_no_answer(server: Misbehaving, status: int) -> None:
    server.script = [lambda e: e.error(status, "busy")]
    server.otherwise = honouring(Way.STRUCTURED_OUTPUTS)
    assert make(server).structured()


def test_a_server_that_fails_says_nothing_about_what_it_can(server: Misbehaving) -> None:
    server.otherwise = lambda e: e.error(503, "overloaded")
    with pytest.raises(ModelError, match=r"could not be found out.*overloaded"):
        make(server).structured()
    server.otherwise = lambda e: e.error(401, "bad key")
    with pytest.raises(ModelError, match=r"FACEVALUE_API_KEY.*bad key"):
        list(make(server).respond([ask()]))


def test_a_rejected_constraint_is_an_error_and_no_free_reply(server: Misbehaving) -> None:
    held = honouring(Way.GUIDED_CHOICE)

    def behave(exchange: Exchange) -> None:
        if "kind" in choices(Way.GUIDED_CHOICE, exchange.body):
            exchange.error(400, "too many choices")
        else:
            held(exchange)

    server.otherwise = behave
    one: Callable[[Request], Response] = lambda request: next(model.respond([request]))  # noqa: E731
    model = make(server)
    assert one(ask(0)).text == "(b)"
    rejected = one(ask(1, BARE))
    assert (rejected.status, rejected.text, rejected.error) == (Status.ERROR, None, "HTTP 400: too many choices")


def test_settings_stay_the_same(server: Misbehaving) -> None:
    server.otherwise = honouring(Way.GUIDED_CHOICE)
    model = make(server)
    before = dict(model.settings())
    list(model.respond([ask()]))
    assert dict(model.settings()) == before


def test_a_study_that_constrains_asks_so_and_its_answers_are_no_others(tmp_path: Path) -> None:
    study, model = tiny_study(), TinyModel()
    run(study, model, tmp_path / "free")
    run(
        replace(
            study,
            draws=replace(study.draws, constrain=True),
        ),
        model,
        tmp_path / "held",
    )
    assert [request.constrain for request in model.asked] == [False] * 12 + [True] * 12
    free, held = (set(scan_responses(tmp_path / name).collect()["request"]) for name in ("free", "held"))
    assert len(free) == len(held) == 12
    assert not free & held
    with pytest.raises(RunError, match=r"changed|other settings"):
        run(
            replace(
                study,
                draws=replace(study.draws, constrain=True),
            ),
            model,
            tmp_path / "free",
        )
    assert conditions_hash(Sampling(), 1, False, False) == conditions_hash(Sampling(), 1, False)
