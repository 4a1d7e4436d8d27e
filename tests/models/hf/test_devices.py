"""Several devices give what one gives, end with their run, and lose nothing when one of them dies."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facevalue.errors import DataError, ModelError
from facevalue.models import base, load
from facevalue.models.base import ModelOptions
from facevalue.types import Image, Question, Request, Sampling, Status, Stimulus
from tests.models.hf import planted, tiny
from tests.models.hf.test_adapter import CPU, LETTERS, answers, png, requests, shown

torch: Any = tiny.torch

from facevalue.models.hf import devices  # noqa: E402
from facevalue.models.hf.devices import HFDevices, _question, _question_as_json  # noqa: E402

TWO = ModelOptions(device="cpu, cpu", threads=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted.plant(tiny.llava(tmp_path_factory.mktemp("llava")))


@pytest.fixture(scope="module")
def started(folder: Path) -> Iterator[list[HFDevices]]:
    """Those that were started: a process takes seconds to begin."""
    models: list[HFDevices] = []
    yield models
    for model in models:
        model.close()


@pytest.fixture
def two(folder: Path, started: list[HFDevices]) -> Any:
    """Two devices, the same for all tests until one of their processes ends."""
    if not started or any(process._popen.poll() is not None for process in started[-1]._processes):
        model = load(f"hf/{folder}", TWO)
        assert isinstance(model, HFDevices)
        started.append(model)
    return started[-1]


def everything() -> list[Request]:
    """Exact and drawn, two pictures in one, none, and one that cannot be read."""

    def missing() -> tuple[Image, ...]:
        raise DataError("face.png is not there")

    stimuli = [shown(key) for key in ("one", "two", "three", "four")]
    stimuli.append(shown("both", png(tiny.picture("one")), png(tiny.picture("two"))))
    stimuli += [Stimulus("none", "nothing", {}, lambda: ()), Stimulus("gone", "gone", {}, missing)]
    wanted = [
        r
        for at, one in enumerate(stimuli)
        for exact in (1, 0)
        for r in requests(one, 20 * at + 5 * exact, exact=bool(exact))
    ]
    turns = Question("And who is warm?", LETTERS, "Be brief.", {"a": "b"}, (("user", "Hi"), ("assistant", "Yes.")))
    return [*wanted, Request(900, 2, 7, stimuli[-2], turns, Sampling(0.5, 0.9, 3), False)]


def test_two_devices_answer_as_one(folder: Path, two: Any) -> None:
    one = load(f"hf/{folder}", CPU)
    alone, together = answers(one, everything()), answers(two, everything())
    for trial, response in alone.items():
        other = together[trial]
        assert other._replace(latency_ms=0, probs=None) == response._replace(latency_ms=0, probs=None)
        assert other.probs == (None if response.probs is None else pytest.approx(response.probs, abs=2e-5))
    assert {response.status for response in alone.values()} == {Status.OK, Status.TRUNCATED, Status.ERROR}
    assert two.settings() == one.settings()
    assert two.notes == one.notes  # type: ignore[attr-defined]
    assert two.capabilities == one.capabilities


def test_both_work_and_what_they_found_is_put_together(two: Any) -> None:
    answers(two, everything())
    found = [process.findings for process in two._processes]
    assert all(each["self_checks"] >= 1 for each in found)
    merged = two.findings()
    assert merged["self_checks"] == sum(each["self_checks"] for each in found)
    for name in ("largest_difference", "tolerance"):
        assert merged[name] == max(each[name] for each in found)


def test_a_stream_that_is_given_up_leaves_nothing_for_the_next(two: Any) -> None:
    stream = two.respond(iter(everything()))
    next(stream)
    stream.close()
    assert sorted(answers(two, requests(shown("one"), 500))) == [500, 501, 502]


def test_no_more_is_taken_than_can_be_worked_on(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_WAITING", 2)
    monkeypatch.setattr(base, "_GATHERED", 1)
    taken: list[int] = []

    def stream() -> Iterator[Request]:
        for at in range(12):
            taken.append(at)
            yield from requests(shown(f"picture {at}"), 10 * at, count=1)

    responses = two.respond(stream())
    next(responses)
    assert max(taken) <= 6  # two each, one in hand, and the one by which its end is known
    assert len(list(responses)) == 11


def test_questions_cross_the_pipe_whole() -> None:
    question = Question("Who?", LETTERS, "Be brief.", {}, (("user", "Hi"),), Sampling(0.1, 0.2, 3), 4)
    assert _question(_question_as_json(question)) == question
    assert _question(_question_as_json(replace(question, sampling=None, system=None))) == replace(
        question, sampling=None, system=None
    )


def test_a_process_that_dies_ends_the_run_and_what_came_is_kept(two: Any) -> None:
    seen = []
    stream = (r for at in range(200) for r in requests(shown(str(at)), 10 * at, count=2))
    responses = two.respond(stream)
    seen += [next(responses) for _ in range(4)]
    two._processes[1]._popen.kill()
    with pytest.raises(ModelError, match=r"process of cpu ended \(killed by signal 9\)"):
        seen.extend(responses)
    assert len(seen) >= 4
    two.close()
    assert [process._popen.poll() is not None for process in two._processes] == [True, True]


@pytest.mark.parametrize(
    ("device", "says"),
    [("cpu,", "is not a list of devices"), ("cpu,auto", "not a list"), ("cpu,cuda:77", "cuda:77: torch sees")],
)
def test_devices_that_cannot_be_are_one_message(folder: Path, device: str, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        load(f"hf/{folder}", replace(TWO, device=device))


SCRIPT = """
import sys, time
from facevalue.models import load
from facevalue.models.base import ModelOptions
model = load(sys.argv[1], ModelOptions(device="cpu,cpu", threads=1))
print("loaded", flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_no_process_outlives_a_run_that_is_killed(folder: Path) -> None:
    """All of them hold the standard error that was given to the first: it ends when the last of them does."""
    run = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, f"hf/{folder}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"loaded\n"
    run.kill()
    run.communicate(timeout=60)  # raises if one is left
