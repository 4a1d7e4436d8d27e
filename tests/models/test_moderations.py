"""Moderation endpoints, asked over a real connection: scores by category, and typed failures that are never scores."""

from collections.abc import Iterator

import pytest

from facevalue.annotations.model_scorers import CATEGORIES, load_scorer
from facevalue.errors import ModelError
from facevalue.models.base import ModelOptions
from facevalue.models.classifiers import Moderated, Moderations
from facevalue.servers.server import Waits
from tests.models.misbehaving import Behaviour, Exchange, Misbehaving

FAST = Waits(first=0.001, longest=0.01)
OPTIONS = ModelOptions(concurrency=2, retries=2, timeout=5)


def moderate(exchange: Exchange, **scores: object) -> None:
    """Score a text by its length."""
    given = {name: len(exchange.body["input"]) / 100 for name in CATEGORIES} | scores
    exchange.json(200, {"id": "modr-1", "model": "m", "results": [{"flagged": False, "category_scores": given}]})


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with Misbehaving().served() as found:
        found.otherwise = moderate
        yield found


def asked(server: Misbehaving, *texts: str) -> list[Moderated]:
    return sorted(Moderations(f"{server.url}#m", OPTIONS, waits=FAST).scores(texts, CATEGORIES))


def test_each_text_is_asked_by_itself_and_scored_by_category(server: Misbehaving) -> None:
    found = asked(server, "calm", "What a fool.")
    assert [one.scores["hate/threatening"] for one in found] == [0.04, 0.12]
    assert sorted(body["input"] for body in server.bodies) == ["What a fool.", "calm"]
    assert {body["model"] for body in server.bodies} == {"m"}
    assert {exchange.handler.path for exchange in server.asked} == {"/v1/moderations"}


@pytest.mark.parametrize(
    "behaviour",
    [
        lambda exchange: exchange.error(429, "slow down", {"Retry-After": "0"}),
        lambda exchange: exchange.error(503, "busy"),
        lambda exchange: exchange.reset(),
        lambda exchange: exchange.raw(200, b"<html>"),
        lambda exchange: exchange.json(200, {"results": []}),
        lambda exchange: exchange.json(200, {"results": [{"category_scores": [1]}]}),
        lambda exchange: moderate(exchange, hate=1.2),
        lambda exchange: moderate(exchange, hate=-0.1),
        lambda exchange: moderate(exchange, hate=True),
        lambda exchange: moderate(exchange, violence="high"),
        lambda exchange: moderate(exchange, **{"self-harm/intent": None}),
    ],
)
def test_what_may_pass_is_tried_again_and_else_a_failure_with_its_reason(
    server: Misbehaving, behaviour: Behaviour
) -> None:
    assert asked(server, "calm")[0].scores
    server.script = [behaviour]
    assert asked(server, "calm")[0].scores
    server.script = [behaviour] * 3
    (found,) = asked(server, "calm")
    assert (found.scores, bool(found.why)) == ({}, True)


@pytest.mark.parametrize(
    ("status", "said"), [(401, "refuses the key in FACEVALUE_API_KEY"), (404, "offers no 'm' at /moderations")]
)
def test_what_holds_for_all_requests_ends_it(server: Misbehaving, status: int, said: str) -> None:
    server.otherwise = lambda exchange: exchange.error(status, "no")
    with pytest.raises(ModelError, match=said):
        asked(server, "calm")


def test_a_server_that_is_not_there_ends_it() -> None:
    with pytest.raises(ModelError, match="Nothing answers at"):
        list(Moderations("http://127.0.0.1:9/v1#m", OPTIONS, waits=FAST).scores(["calm"], CATEGORIES))


def test_openai_needs_a_key_which_only_the_environment_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="needs a key: set the environment variable OPENAI_API_KEY"):
        load_scorer("openai-moderation")


def test_the_key_is_sent_to_openais_address(server: Misbehaving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    scorer = load_scorer("openai-moderation", options=OPTIONS)
    assert (scorer.name, scorer.called, scorer.labels) == ("openai-moderation", "openai-moderation", CATEGORIES)
    assert scorer.score(["calm"]).scores["violence"] == [0.04]
    assert server.asked[0].headers["authorization"] == "Bearer sk-secret"
    assert server.bodies[0]["model"] == "omni-moderation-latest"
    assert "sk-secret" not in scorer.digest + scorer.name


def test_a_score_that_is_none_is_named_and_left_for_later(server: Misbehaving) -> None:
    def without(exchange: Exchange) -> None:
        moderate(exchange, hate=1.5)

    server.otherwise = without
    found = load_scorer(f"openai-moderation/{server.url}#m", ["violence"], options=OPTIONS).score(["a"])
    assert found.scores == {"violence": [0.01]}
    server.script = [moderate]
    options = ModelOptions(concurrency=1, retries=0, timeout=5)
    found = load_scorer(f"openai-moderation/{server.url}#m", ["hate", "violence"], options=options).score(["a", "b"])
    assert found.scores == {"hate": [0.01, None], "violence": [0.01, None]}
    assert found.unasked == {1: "The reply has 1.5 as a score of 'hate': it must be from 0 to 1."}


def test_a_text_that_a_server_refuses_has_no_score(server: Misbehaving) -> None:
    server.otherwise = lambda exchange: (
        exchange.error(400, "too long") if exchange.body["input"] == "a" else moderate(exchange)
    )
    found = load_scorer(f"openai-moderation/{server.url}#m", ["hate"], options=OPTIONS).score(["a", "bb"])
    assert found.scores == {"hate": [None, 0.02]}
    assert found.unasked == {0: "HTTP 400: too long"}
