"""What `vllm serve` sends, takes and refuses, as the adapter meets it."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from facevalue.errors import ModelError
from facevalue.models._chat import exact, read, response_of
from facevalue.models._spelling import HALF, join_texts, spelling
from facevalue.models.base import ModelOptions
from facevalue.models.cached_tokens import cached_share
from facevalue.models.openai import OpenAIModel
from facevalue.models.registry import load
from facevalue.types import Option, Question, Request, Response, Sampling, Status, Stimulus
from tests.models.test_vllm import coloured
from tests.vllm.server import MODEL, ended, serving

AB = (Option("(a)", "left", "l"), Option("(b)", "right", "r"))


def ask(trial: int = 0, prompt: str = "Who? (a) left (b) right", *, exact: bool = False, **sampling: Any) -> Request:
    return Request(trial, 0, 7 + trial, coloured("red"), Question(prompt, AB), Sampling(**sampling), exact)


@pytest.fixture
def model(spec: str) -> OpenAIModel:
    return OpenAIModel(spec, ModelOptions(retries=0))


def chat(address: str, **more: Any) -> Any:
    message = {"role": "user", "content": "Who?"}
    asked = {"model": MODEL, "messages": [message], "temperature": 0, "logprobs": True, "top_logprobs": 20, **more}
    reply = httpx.post(f"{address}/chat/completions", json=asked, timeout=60, trust_env=False)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_what_it_can_do_is_found_out(model: OpenAIModel) -> None:
    able = model.capabilities
    assert (able.probabilities, able.images_per_request, able.seeds) == ("top-k", 2, True)
    assert model.structured()


def test_probabilities_are_those_of_plain_passes_of_transformers(model: OpenAIModel, written: Path) -> None:
    """The same weights through `hf/` in this process."""
    requests = [ask(i, f"Who, of {i}? (a) left (b) right", exact=True, temperature=1.0) for i in range(6)]
    local = load(f"hf/{written}", ModelOptions(device="cpu", threads=1))
    for served, plain in zip(sorted(model.respond(requests)), sorted(local.respond(requests)), strict=True):
        assert served.probs is not None
        assert plain.probs is not None
        assert served.probs == pytest.approx(plain.probs, abs=2e-3)


@pytest.mark.parametrize("said", ["“日本”", "é’x", "🙂ok", "(a)", "né idea"])
def test_tokens_spell_a_text_of_any_characters(address: str, said: str) -> None:
    reply = read(chat(address, structured_outputs={"choice": [said]}, max_tokens=40))
    assert reply.text == said
    assert reply.positions is not None
    found = spelling(reply.positions, said, ended=True)
    assert found is not None
    assert join_texts(*(position.token for position in found.positions)) == f"{said}</s>"
    asked = ask()._replace(question=Question("Who?", (Option("", said, "x"),)), exact=True)
    answer = exact(asked, reply, response_of(asked, reply, 0.0))
    assert not isinstance(answer, str)
    assert answer.probs == pytest.approx((1.0,))


def test_tokens_spell_replies_with_bytes_that_are_no_text(address: str, written: Path) -> None:
    numbers = numbers_of(written, (0xE2, 0x80, 0x99, 0x7A, 0x20, 0xC3, 0xA9))
    broken = 0
    for seed in range(12):
        reply = read(chat(address, temperature=2, seed=seed, max_tokens=16, allowed_token_ids=numbers))
        assert reply.positions is not None
        assert spelling(reply.positions, reply.text or "", ended=False) is not None
        broken += HALF in (reply.text or "")
    assert broken > 3


def numbers_of(folder: Path, raw: Sequence[int]) -> list[int]:
    """Numbers of the tokens that are single bytes."""
    words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    shown = {byte: chr(byte) for byte in plain}
    shown |= {byte: chr(256 + n) for n, byte in enumerate(b for b in range(256) if b not in shown)}
    return [words[shown[byte]] for byte in raw]


def test_numbers_in_place_of_tokens_are_not_read(address: str) -> None:
    with pytest.raises(ValueError, match="numbers"):
        read(chat(address, max_tokens=3, return_tokens_as_token_ids=True))


def test_twenty_alternatives_are_the_likeliest_and_no_more(address: str) -> None:
    reply = read(chat(address, max_tokens=2))
    assert reply.positions is not None
    for position in reply.positions:
        logs = [log for _, log in position.top]
        assert len(logs) == 20
        assert position.logprob == max(logs)
        assert math.fsum(map(math.exp, logs)) <= 1 + 1e-5


def test_a_prompt_beyond_the_context_is_an_error_of_its_own(model: OpenAIModel) -> None:
    responses = sorted(model.respond([ask(), ask(1, "Who? " * 2000), ask(2)]))
    assert [r.status for r in responses] == [Status.OK, Status.ERROR, Status.OK]
    assert "maximum context length" in str(responses[1].error)


def test_a_limit_of_tokens_beyond_the_context_ends_the_run_with_its_words(model: OpenAIModel) -> None:
    with pytest.raises(ModelError, match=r"max_model_len|maximum context length"):
        list(model.respond(ask(i, max_tokens=100_000) for i in range(40)))


def test_more_pictures_than_allowed_are_an_error_in_its_words(model: OpenAIModel) -> None:
    three = Stimulus("three", "three", {}, lambda: coloured("red").load() * 3)
    (response,) = model.respond([ask()._replace(stimulus=three)])
    assert response.status is Status.ERROR
    assert "image" in str(response.error)


def test_an_unknown_name_is_met_with_the_names_there_are(address: str) -> None:
    with pytest.raises(ModelError, match=MODEL):
        list(OpenAIModel(f"{address}#tony", ModelOptions(retries=0)).respond([ask()]))


def test_a_repeated_prompt_comes_from_the_cache(model: OpenAIModel) -> None:
    prompt = "Who is it that we see in this picture, and what of it? " * 8
    list(model.respond([ask(0, prompt)]))
    again = list(model.respond([ask(1, prompt)]))
    assert [r.status for r in again] == [Status.OK]
    share = cached_share([model.findings()])
    assert share is not None
    assert share > 0.4


def test_a_server_killed_in_the_middle_ends_the_run_and_what_was_answered_is_kept(
    weights: Path, tmp_path: Path
) -> None:
    answered: list[Response] = []
    with serving(weights, log=tmp_path / "log") as (url, keeper):
        model = OpenAIModel(f"{url}#{MODEL}", ModelOptions(retries=0, concurrency=2, timeout=60))

        def killed_after_ten() -> None:
            for response in model.respond(map(ask, range(200))):
                answered.append(response)
                if len(answered) == 10:
                    ended(keeper)

        with pytest.raises(ModelError, match="20 requests in a row failed"):
            killed_after_ten()
    assert [r.status for r in answered[:10]] == [Status.OK] * 10
    assert {r.status for r in answered[12:]} == {Status.ERROR}
