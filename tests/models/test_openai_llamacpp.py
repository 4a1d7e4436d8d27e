"""The HTTP adapter against llama.cpp's server, with a tiny LLaVA that the test writes itself."""

import importlib.util
import io
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path

import PIL.Image
import pytest
import scipy.stats

from facevalue.errors import ModelError
from facevalue.models.openai import OpenAIModel
from facevalue.models.registry import ModelOptions
from facevalue.types import Image, Option, Question, Request, Sampling, Status, Stimulus
from tests.models import tiny_llava

if importlib.util.find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed: pip install 'facevalue[servers]'", allow_module_level=True)

SERVER = Path(__file__).with_name("llama_server.py")
KEY = "sk-local"


@contextmanager
def serving(*arguments: object) -> Iterator[str]:
    """Run the server; yield its base address."""
    command = [sys.executable, str(SERVER), *map(str, arguments)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        if not line.startswith("listening "):
            process.wait(10)
            if process.returncode < 0:
                pytest.skip(f"this machine cannot run llama.cpp's server: signal {-process.returncode}")
            raise RuntimeError(process.stderr.read())
        yield line.split()[1] + "/v1"
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return tiny_llava.write(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture(scope="session")
def url(files: tuple[Path, Path]) -> Iterator[str]:
    with serving(*files, 4) as address:
        yield address


@pytest.fixture
def model(url: str, monkeypatch: pytest.MonkeyPatch) -> OpenAIModel:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("FACEVALUE_API_KEY", raising=False)
    return OpenAIModel(f"{url}#tiny-llava", ModelOptions(concurrency=4, timeout=60))


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


def test_orderings_of_a_question_about_two_pictures(model: OpenAIModel) -> None:
    orders = list(permutations(["kind", "rude", "old"], 2))[:4]
    asked = [
        Request(i, 0, 1, picture(colour), question(*order), Sampling(max_tokens=4), True)
        for i, (colour, order) in enumerate((c, o) for c in ("red", "blue") for o in orders)
    ]
    answers = {response.trial: response for response in model.respond(asked)}
    assert sorted(answers) == list(range(8))
    for answer in answers.values():
        assert answer.status is Status.OK
        assert answer.probs is not None
        assert 0.1 < sum(answer.probs) < 0.5
        assert min(answer.probs) > 0.01
        assert answer.prompt_tokens is not None
        assert answer.prompt_tokens > 40
    again = {response.trial: response for response in model.respond(asked)}
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
def test_exact_probabilities_agree_with_sampled_frequencies(model: OpenAIModel, temperature: float) -> None:
    sampling = Sampling(temperature=temperature, max_tokens=2)
    about = picture("green"), question("kind", "rude"), sampling
    (exact,) = model.respond([Request(0, 0, 0, *about, True)])
    assert exact.probs is not None

    def option(text: str | None) -> str:
        """Say which option a reply is, by those ways of answering that the exact probability covers."""
        found = re.match(r"(?:\(| ?)([ab])", text or "", re.IGNORECASE)
        return found[1].lower() if found else ""

    count = 300
    sampled = Counter(
        option(response.text) for response in model.respond(Request(i, 0, i, *about, False) for i in range(count))
    )
    expected = [*exact.probs, 1 - sum(exact.probs)]
    observed = [sampled["a"], sampled["b"], sampled[""]]
    assert scipy.stats.chisquare(observed, [p * count for p in expected]).pvalue > 0.001


def test_leaving_early_leaves_the_server_usable(model: OpenAIModel) -> None:
    asked = [Request(i, 0, i, picture("red"), question("kind", "rude"), Sampling(), False) for i in range(50)]
    responses = model.respond(asked)
    next(responses)
    responses.close()
    assert len(list(model.respond(asked[:8]))) == 8


def test_a_server_with_a_key_and_without_eyes(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(files[0], "", 1, KEY) as address:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("FACEVALUE_API_KEY", "sk-wrong")
        with pytest.raises(ModelError, match="refuses the key in FACEVALUE_API_KEY"):
            _ = OpenAIModel(f"{address}#tiny", ModelOptions()).capabilities
        monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
        able = OpenAIModel(f"{address}#tiny", ModelOptions()).capabilities
        assert (able.probabilities, able.images_per_request) == ("top-k", 0)
