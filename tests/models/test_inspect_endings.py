"""Inspect's providers that raise exits and cancellations, or never end: each is a failed request, and no run hangs."""

import asyncio
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest

import facevalue as fv
from facevalue.errors import ModelError, ModelSpecError
from facevalue.models import _server_model
from facevalue.models.base import ModelOptions
from facevalue.models.inspect.adapter import InspectModel
from facevalue.servers import pool
from facevalue.servers.server import Waits
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus
from tests.models.inspect_providers import Batched, Scripted, fine


class StrangeError(BaseException):
    """What no `except Exception` catches."""


ENDINGS = (
    asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), StrangeError("odd"),
    BaseExceptionGroup("several", [SystemExit(1)]),
)  # fmt: skip
QUESTION = Question("Who? (a) left (b) right", (Option("(a)", "left", "l"), Option("(b)", "right", "r")))


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Scripted, Batched):
        monkeypatch.setattr(kind, "asked", [])
        monkeypatch.setattr(kind, "behave", staticmethod(fine))
        monkeypatch.setattr(kind, "script", [])
    monkeypatch.setattr(pool, "_GRACE", 0.5)
    monkeypatch.setattr(pool, "_HEARTBEAT", 0.05)


def raising(error: BaseException) -> Any:
    def behave(*_: object) -> NoReturn:
        raise error

    return behave


def model(spec: str = "inspect/scripted/m", **options: Any) -> InspectModel:
    async def sleep(_: float) -> None:
        return

    return InspectModel(spec, ModelOptions(**{"timeout": 2.0, **options}), waits=Waits(sleep=sleep))


def answers(asked: InspectModel, count: int = 4) -> list[Response]:
    stimulus = Stimulus("0", "d", {}, lambda: (Image(b"\x89PNG not looked at", "image/png"),))
    requests = (Request(i, 0, 11, stimulus, QUESTION, Sampling(0.7, 0.9, 16), exact=False) for i in range(count))
    with closing(asked.respond(requests)) as responses:
        return list(responses)


@pytest.mark.parametrize("ending", ENDINGS, ids=repr)
def test_an_exit_or_a_cancellation_of_a_provider_is_a_failed_request(ending: BaseException) -> None:
    asked = model(retries=1)
    assert asked.capabilities.images_per_request == 2
    Scripted.script = [fine, raising(ending)]
    one = answers(asked)
    failed = 0 if isinstance(ending, asyncio.CancelledError) else 1
    assert [answer.status for answer in one].count(Status.ERROR) == failed, "what was given up is tried again"
    assert all(type(ending).__name__ in (answer.error or "") for answer in one if answer.status is Status.ERROR)
    Scripted.behave = staticmethod(raising(ending))
    assert [answer.status for answer in answers(asked)] == [Status.ERROR] * 4
    Scripted.behave = staticmethod(fine)
    assert [answer.status for answer in answers(asked)] == [Status.OK] * 4, "the model is asked on"


@pytest.mark.parametrize("ending", ENDINGS, ids=repr)
def test_a_run_says_from_the_start_that_a_provider_ends_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: BaseException
) -> None:
    monkeypatch.setattr(Scripted, "behave", staticmethod(raising(ending)))
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
    with pytest.raises(ModelError, match=type(ending).__name__):
        fv.run(study, model(retries=0), tmp_path / "run", progress=False)


@pytest.mark.parametrize(
    "ending", [ending for ending in ENDINGS if not isinstance(ending, KeyboardInterrupt)], ids=repr
)
def test_a_client_that_cannot_be_made_is_one_sentence(monkeypatch: pytest.MonkeyPatch, ending: BaseException) -> None:
    monkeypatch.setattr(Scripted, "__init__", raising(ending))
    with pytest.raises(ModelSpecError, match="cannot be used"):
        model()


@pytest.mark.parametrize("ending", ENDINGS, ids=repr)
def test_tasks_that_a_provider_starts_and_that_end_the_loop_end_the_run(
    monkeypatch: pytest.MonkeyPatch, ending: BaseException
) -> None:
    async def generate(*_: Any, **__: Any) -> NoReturn:
        task = asyncio.get_running_loop().create_task(late())
        await asyncio.sleep(60)
        raise AssertionError(task)

    async def late() -> NoReturn:
        await asyncio.sleep(0)
        raise ending

    asked = model(timeout=1.0, retries=0)
    assert asked.capabilities
    monkeypatch.setattr(Scripted, "generate", generate)
    if isinstance(ending, SystemExit | KeyboardInterrupt):
        with pytest.raises(ModelError, match=type(ending).__name__):
            answers(asked)
    else:
        assert {answer.error for answer in answers(asked)} == {"No reply within 1 s."}


@pytest.mark.parametrize("ending", ENDINGS, ids=repr)
def test_batches_that_end_so_end_the_run(monkeypatch: pytest.MonkeyPatch, ending: BaseException) -> None:
    monkeypatch.setattr(Batched.Answers, "failure", ending)
    with pytest.raises(ModelError, match="A batch could not be sent"):
        answers(model("inspect/batched/m", batch=4))


def test_a_provider_that_refuses_to_be_cancelled_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, released = model(timeout=0.2, retries=0), threading.Event()
    assert asked.capabilities

    async def generate(*_: Any, **__: Any) -> NoReturn:
        while not released.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue
        raise asyncio.CancelledError

    monkeypatch.setattr(Scripted, "generate", generate)
    start = time.monotonic()
    assert {answer.error for answer in answers(asked)} == {"No reply within 0.2 s."}
    assert time.monotonic() - start < 5
    released.set()
    assert_threads_end()


def test_a_provider_that_blocks_the_loop_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, released = model(timeout=0.3, retries=0), threading.Event()
    assert asked.capabilities
    monkeypatch.setattr(_server_model, "_PATIENCE", 0.0)

    def block(*_: object) -> Any:
        released.wait(20)

    Scripted.behave = staticmethod(block)
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"One request holds up all others: nothing moved for 0\.3 s"):
        answers(asked)
    assert time.monotonic() - start < 5
    released.set()
    assert_threads_end()


def assert_threads_end() -> None:
    """What was left to itself ends once it is released, so no later test meets it."""
    for thread in threading.enumerate():
        if thread.name == "facevalue-http":
            thread.join(10)
            assert not thread.is_alive()
