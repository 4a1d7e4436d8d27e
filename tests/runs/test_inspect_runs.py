"""Runs of Inspect's providers: killed and resumed, and beside the same model asked by our own adapter."""

import importlib.util
import multiprocessing
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from facevalue.hashing import model_hash
from facevalue.models import load
from facevalue.models.replay import RequestHashes
from facevalue.runs import RunSettings, run
from facevalue.store import read_manifest, read_responses
from facevalue.types import Request, Response
from tests.models.misbehaving import Exchange, Misbehaving
from tests.runs import slow_inspect
from tests.runs.tiny import tiny_study

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.runs.slow_inspect"])
ANSWERS = ["trial", "repeat", "status", "text", "probs", "prompt_tokens", "completion_tokens", "error"]


def lines(folder: Path) -> list[str]:
    log = folder.with_suffix(".log")
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.slow
@pytest.mark.parametrize("batch", [None, 10], ids=["one by one", "in batches"])
def test_a_run_that_was_killed_ends_with_the_same_table(batch: int | None, tmp_path: Path) -> None:
    folder, straight = tmp_path / "run", tmp_path / "at once"
    process = PROCESSES.Process(target=slow_inspect.main, args=(folder, batch, 0.01), daemon=True)
    process.start()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.exitcode is None:
        if (folder / "responses").is_dir() and len(read_responses(folder)) > 8:
            break
        time.sleep(0.01)
    process.kill()
    process.join()
    stored, sent = len(read_responses(folder)), len(lines(folder))
    assert 8 < stored < 48
    slow_inspect.main(folder, batch)
    slow_inspect.main(straight, batch)
    assert read_responses(folder).select(ANSWERS).equals(read_responses(straight).select(ANSWERS))
    manifest = read_manifest(folder)
    assert manifest.counts.ok == 48
    assert manifest.sessions[-1].findings["inspect_ai"]
    assert "inspect_ai" not in manifest.model_settings, "another version of Inspect resumes the run"
    if batch is None:  # what was stored, or is in the journal, is not asked again
        probes = len(lines(straight)) - 48
        assert len(lines(folder)) - sent - probes <= 48 - stored


def answer(exchange: Exchange) -> None:
    """Answer by the prompt, with the alternatives of each token if they are asked for."""
    text = "(a)" if "s1" in str(exchange.body["messages"][-1]) else "(b)"
    tops = [[("(", -0.1), ("Sorry", -2.4)], [(text[1], -0.3), ("c", -1.36)], [(")", 0.0)]]
    content = [
        {"token": top[0][0], "logprob": top[0][1], "bytes": None,
         "top_logprobs": [{"token": token, "logprob": log, "bytes": None} for token, log in top]}
        for top in tops
    ]  # fmt: skip
    listed = {"content": content} if exchange.body.get("logprobs") else None
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": listed}
    counts = {"prompt_tokens": 70, "completion_tokens": 3, "total_tokens": 73}
    usage = {**counts, "prompt_tokens_details": {"cached_tokens": 60}}
    body = {"id": "x", "created": 1, "object": "chat.completion", "model": exchange.body["model"]}
    exchange.json(200, {**body, "choices": [choice], "usage": usage})


@pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="openai is not installed: pip install openai")
@pytest.mark.parametrize("exact", [False, True], ids=["drawn", "exact"])
def test_the_answers_are_those_of_our_own_adapter(exact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-End/To+End==")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    hashes: list[list[int]] = []
    study = tiny_study(faces=3)
    with Misbehaving().served() as server:
        server.otherwise = answer
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for number, spec in enumerate(("openai/gpt-4o", "inspect/openai/gpt-4o")):
            model, requests = load(spec), list[Request]()
            respond = model.respond

            def noting(stream: Iterable[Request], noted: list[Request] = requests) -> Iterator[Response]:
                return respond(noted.append(request) or request for request in stream)  # type: ignore[func-returns-value] # noqa: B023

            monkeypatch.setattr(model, "respond", noting)
            run(study, model, tmp_path / str(number), RunSettings(exact=exact))
            stored = read_responses(tmp_path / str(number))
            requests.sort(key=lambda request: (request.trial, request.repeat))
            asked_of = model_hash(spec, model.settings())
            ours = RequestHashes(study.draws.sampling, study.draws.seeds, asked_of).hash_requests(requests)
            assert [number % 2**64 for number in ours] == stored["request"].to_list()
            hashes.append(RequestHashes(study.draws.sampling, study.draws.seeds).hash_requests(requests))
            found = read_manifest(tmp_path / str(number)).sessions[-1].findings
            assert (found["prompt_tokens_cached"], found["prompt_tokens_counted"]) == (540, 630)
            model.close()
    first, second = (read_responses(tmp_path / name).select(ANSWERS) for name in "01")
    assert first.equals(second)
    assert first["probs"].null_count() == (0 if exact else 9)
    assert hashes[0] == hashes[1], "but for who is asked"
    texts = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in texts if b"sk-End" in text]
