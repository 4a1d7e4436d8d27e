"""The HTTP adapter against `transformers serve`, which takes logprobs and ignores them.

Needs an installation of torch and transformers of its own, so it runs only where FACEVALUE_TRANSFORMERS_SERVE is the
path of its `transformers` program. The environment takes: torch, transformers, accelerate, fastapi, uvicorn, openai.
"""

import io
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import PIL.Image
import pytest

from facevalue.errors import ModelError
from facevalue.models.base import ModelOptions
from facevalue.models.openai import OpenAIModel
from facevalue.types import Image, Option, Question, Request, Sampling, Status, Stimulus

PROGRAM = os.environ.get("FACEVALUE_TRANSFORMERS_SERVE", "")

pytestmark = pytest.mark.skipif(
    not PROGRAM, reason="FACEVALUE_TRANSFORMERS_SERVE is not the path of a `transformers` program"
)

WRITER = Path(__file__).with_name("transformers_tiny.py")
QUESTION = Question(
    "Who? (a) left (b) right", (Option("(a)", "left", "l"), Option("(b)", "right", "r")), system="Be brief."
)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a model with random weights; yield its spec."""
    folder = tmp_path_factory.mktemp("tiny-llava")
    program = Path(PROGRAM)
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "NO_PROXY": "127.0.0.1"}
    subprocess.run([program.with_name("python"), WRITER, folder], env=environment, check=True, timeout=120)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [PROGRAM, "serve", str(folder), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    log = folder / "serve.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            until = time.monotonic() + 120
            while not _answers(f"http://127.0.0.1:{port}/health"):
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(log.read_text()[-4000:])
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1#{folder}"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=5).is_success
    except httpx.HTTPError:
        return False


@pytest.fixture
def model(spec: str, monkeypatch: pytest.MonkeyPatch) -> OpenAIModel:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return OpenAIModel(spec, ModelOptions(concurrency=2, timeout=60))


def ask(trial: int, *, exact: bool) -> Request:
    file = io.BytesIO()
    PIL.Image.new("RGB", (28, 28), "red").save(file, "PNG")
    stimulus = Stimulus("red", "red", {}, lambda: (Image(file.getvalue(), "image/png"),))
    return Request(trial, 0, trial, stimulus, QUESTION, Sampling(max_tokens=4), exact)


def test_logprobs_that_are_ignored_are_noticed(model: OpenAIModel) -> None:
    able = model.capabilities
    assert (able.probabilities, able.images_per_request) == ("none", 2)


def test_replies_to_pictures(model: OpenAIModel) -> None:
    answers = list(model.respond(ask(i, exact=False) for i in range(6)))
    assert sorted(answer.trial for answer in answers) == list(range(6))
    assert {answer.status for answer in answers} <= {Status.OK, Status.TRUNCATED}
    assert all(answer.text is not None and answer.prompt_tokens for answer in answers)


def test_an_exact_request_is_an_error_and_no_guess(model: OpenAIModel) -> None:
    (answer,) = model.respond([ask(0, exact=True)])
    assert (answer.status, answer.probs) == (Status.ERROR, None)
    assert "no top_logprobs" in str(answer.error)


def test_a_model_that_is_not_served(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    other = OpenAIModel(spec.partition("#")[0] + "#another", ModelOptions(timeout=60))
    with pytest.raises(ModelError, match="pinned to"):
        _ = other.capabilities
