"""The HTTP adapter against llama.cpp's server, with a tiny LLaVA that the test writes itself."""

import importlib.util
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import httpx
import PIL.Image
import pytest
import scipy.stats

from facevalue.errors import ModelError
from facevalue.models._chat import Dialect, Way, body, constrained_choice
from facevalue.models.base import ModelOptions
from facevalue.models.openai import OpenAIModel
from facevalue.types import Image, Option, Question, Request, Sampling, Status, Stimulus
from tests.models import tiny_llava
from tests.models.llama_server import serving

if importlib.util.find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed: pip install '.[servers]'", allow_module_level=True)

KEY = "sk-local"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return tiny_llava.write(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture(scope="session")
def url(files: tuple[Path, Path]) -> Iterator[str]:
    with serving(*files, 4) as address:
        yield address


@pytest.fixture(scope="session")
def url_of_sure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(*tiny_llava.write(tmp_path_factory.mktemp("sure"), tiny_llava.SURE), 4) as address:
        yield address


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("FACEVALUE_API_KEY", raising=False)


@pytest.fixture
def model(url: str) -> OpenAIModel:
    """A model of whose replies much is not among the likeliest tokens."""
    return OpenAIModel(f"{url}#tiny-llava", ModelOptions(concurrency=4, timeout=60))


@pytest.fixture
def sure(url_of_sure: str) -> OpenAIModel:
    """A model of whose replies nearly all is seen."""
    return OpenAIModel(f"{url_of_sure}#tiny-llava", ModelOptions(concurrency=4, timeout=60))


def picture(colour: str) -> Stimulus:
    def load() -> tuple[Image, ...]:
        file = io.BytesIO()
        PIL.Image.new("RGB", (28, 28), colour).save(file, "PNG")
        return (Image(file.getvalue(), "image/png"),)

    return Stimulus(colour, colour, {"colour": colour}, load)


def question(*texts: str) -> Question:
    options = tuple(Option(f"({letter})", text, text) for letter, text in zip("ab", texts, strict=False))
    shown = " ".join(f"{option.label} {option.text}" for option in options)
    return Question(f"Is this person {shown}?", options, system="Answer briefly.")


def test_probe(model: OpenAIModel) -> None:
    able = model.capabilities
    assert (able.probabilities, able.images_per_request, able.seeds) == ("top-k", 2, True)


def test_orderings_of_a_question_about_two_pictures(sure: OpenAIModel) -> None:
    orders = list(permutations(["kind", "rude", "old"], 2))[:4]
    asked = [
        Request(i, 0, 1, picture(colour), question(*order), Sampling(max_tokens=4), True)
        for i, (colour, order) in enumerate((c, o) for c in ("red", "blue") for o in orders)
    ]
    answers = {response.trial: response for response in sure.respond(asked)}
    assert sorted(answers) == list(range(8))
    for answer in answers.values():
        assert answer.status is Status.OK
        assert answer.probs is not None
        assert 0.5 < sum(answer.probs) < 0.99
        assert min(answer.probs) > 0.01
        assert answer.prompt_tokens is not None
        assert answer.prompt_tokens > 40
    again = {response.trial: response for response in sure.respond(asked)}
    for trial, answer in answers.items():
        assert again[trial].probs == pytest.approx(answer.probs, abs=1e-4)
    red, blue = answers[0].probs, answers[4].probs
    assert red != pytest.approx(blue, abs=1e-4)  # the picture is seen


def test_a_seed_reproduces_a_reply(model: OpenAIModel) -> None:
    asked = [Request(i, 0, i % 2, picture("red"), question("kind", "rude"), Sampling(), False) for i in range(4)]
    texts = {response.trial: response.text for response in model.respond(asked)}
    assert texts[0] == texts[2]
    assert texts[1] == texts[3]


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_exact_probabilities_agree_with_sampled_frequencies(sure: OpenAIModel, temperature: float) -> None:
    sampling = Sampling(temperature=temperature, max_tokens=2)
    about = picture("green"), question("kind", "rude"), sampling
    (exact,) = sure.respond([Request(0, 0, 0, *about, True)])
    assert exact.probs is not None

    def option(text: str | None) -> str:
        """Say which option a reply is, by those ways of answering that the exact probability covers."""
        found = re.match(r"(?:\(| ?)([ab])", text or "", re.IGNORECASE)
        return found[1].lower() if found else ""

    count = 300
    sampled = Counter(
        option(response.text) for response in sure.respond(Request(i, 0, i, *about, False) for i in range(count))
    )
    expected = [*exact.probs, 1 - sum(exact.probs)]
    observed = [sampled["a"], sampled["b"], sampled[""]]
    assert scipy.stats.chisquare(observed, [p * count for p in expected]).pvalue > 0.001


def test_where_too_little_is_seen_the_reply_is_one_that_a_sampled_run_would_get(model: OpenAIModel) -> None:
    asked = [Request(i, 0, i, picture("green"), question("kind", "rude"), Sampling(), True) for i in range(8)]
    drawn = {response.trial: response for response in model.respond(asked)}
    free = {response.trial: response for response in model.respond(r._replace(exact=False) for r in asked)}
    assert {response.probs for response in drawn.values()} == {None}
    assert [drawn[i].text for i in range(8)] == [free[i].text for i in range(8)]
    assert len({response.text for response in drawn.values()}) > 1
    assert all("not listed" in str(response.error) for response in drawn.values())


def test_leaving_early_leaves_the_server_usable(model: OpenAIModel) -> None:
    asked = [Request(i, 0, i, picture("red"), question("kind", "rude"), Sampling(), False) for i in range(50)]
    responses = model.respond(asked)
    next(responses)
    responses.close()
    assert len(list(model.respond(asked[:8]))) == 8


def test_a_server_with_a_key_and_without_eyes(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(files[0], "", 1, KEY) as address:
        monkeypatch.setenv("FACEVALUE_API_KEY", "sk-wrong")
        with pytest.raises(ModelError, match="refuses the key in FACEVALUE_API_KEY"):
            _ = OpenAIModel(f"{address}#tiny", ModelOptions()).capabilities
        monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
        able = OpenAIModel(f"{address}#tiny", ModelOptions()).capabilities
        assert (able.probabilities, able.images_per_request) == ("top-k", 0)


def held(*texts: str, labels: bool = False) -> Question:
    options = tuple(Option(f"({n})" if labels else "", text, text) for n, text in enumerate(texts))
    return Question("What colour is the sky?", options)


@pytest.mark.parametrize("labels", [True, False])
def test_replies_are_held_to_the_options(model: OpenAIModel, labels: bool) -> None:
    question = held("quokka", "wombat", labels=labels)
    asked = [Request(i, 0, i, picture("red"), question, Sampling(), False, True) for i in range(24)]
    texts = {response.text for response in model.respond(asked)}
    assert texts == ({"(0)", "(1)"} if labels else {"quokka", "wombat"})
    assert model.capabilities.structured
    free = {r.text for r in model.respond(request._replace(constrain=False) for request in asked)}
    assert not free & texts


@pytest.mark.parametrize(
    "text",
    ['say "no"', "back\\slash", "two\nlines\tand\ra tab", "naïve 日本 🙂", "[a-z]* ::= (x) | #", "soft\u00adhyphen"],
)
def test_any_text_can_be_an_option(model: OpenAIModel, text: str) -> None:
    (response,) = model.respond([Request(0, 0, 3, picture("red"), held(text), Sampling(max_tokens=64), False, True)])
    assert (response.status, response.text) == (Status.OK, text)


@pytest.mark.parametrize(("way", "honoured"), [(way, way in (Way.GRAMMAR, Way.RESPONSE_FORMAT)) for way in Way])
def test_which_ways_are_honoured(model: OpenAIModel, url: str, way: Way, honoured: bool) -> None:
    sent = body("tiny", [], held("quokka"), Sampling(max_tokens=32), 1, dialect=Dialect(), logprobs=False, way=way)
    with httpx.Client(trust_env=False, timeout=60) as client:
        text = client.post(f"{url}/chat/completions", content=sent).raise_for_status().json()["choices"][0]["message"]
    assert (constrained_choice(way, text["content"]) == "quokka") == honoured
