"""Models that don't say what they are led to: computed rightly all the same, or refused; and noticed in every run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from facevalue.errors import ModelError
from facevalue.models.hf.chat import prepare
from facevalue.models.hf.engine import Engine, Wish
from facevalue.models.hf.loading import Loaded, load_model
from facevalue.models.hf.reference_pass import plain_logits
from facevalue.models.hf.scoring import OptionScore
from facevalue.types import Option, Question, Sampling
from tests.models.hf import others, tiny

torch: Any = tiny.torch
PICTURE = [tiny.picture("one", (60, 40))]
OPTIONS = (Option("(a)", "competent", "favourable"), Option("(b)", "honest", "unfavourable"))
QUESTIONS = [Question("Who is (a) competent or (b) honest?", OPTIONS), Question("Yes or no?", OPTIONS)]
REPLY = [50, 60, 70]
Generate = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return others.instructblip(tmp_path_factory.mktemp("instructblip"))


@pytest.fixture
def loaded(folder: Path) -> Loaded:
    return load_model(str(folder), device="cpu")


def logits(loaded: Loaded) -> Any:
    """What follows the prompt and each token of a reply."""
    (group,) = prepare(loaded, PICTURE, QUESTIONS)
    return plain_logits(loaded, group.full(0), REPLY, range(len(REPLY) + 1))


def deaf(generate: Generate) -> Generate:
    """A `generate` that passes no processor on."""

    def ignore(*given: Any, logits_processor: Any, **named: Any) -> Any:
        return generate(*given, **named)

    return ignore


def blurred(generate: Generate) -> Generate:
    """One that gives other logits than the model's."""

    def blur(*given: Any, **named: Any) -> Any:
        out = generate(*given, **named)
        out.logits = tuple(each * 0.7 for each in out.logits)
        return out

    return blur


def late(generate: Generate) -> Generate:
    """One that gives each token the logits of the token before."""

    def shift(*given: Any, **named: Any) -> Any:
        out = generate(*given, **named)
        out.logits = (out.logits[0], *out.logits[:-1])
        return out

    return shift


def silent(generate: Generate) -> Generate:
    """One that gives tokens alone."""
    return lambda *given, **named: generate(*given, **named).sequences


def short(generate: Generate) -> Generate:
    """One that stops when it likes."""

    def stop(*given: Any, generation_config: Any, **named: Any) -> Any:
        generation_config.max_new_tokens = 1
        return generate(*given, generation_config=generation_config, **named)

    return stop


def test_who_passes_nothing_on_is_led_all_the_same(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    right = logits(loaded)
    monkeypatch.setattr(loaded.model, "generate", deaf(loaded.model.generate))
    assert torch.equal(logits(loaded), right)


def stubborn(generate: Generate) -> Generate:
    """One that says what it likes."""

    def insist(*given: Any, **named: Any) -> Any:
        out = generate(*given, **named)
        out.sequences[:, -2] = 9
        return out

    return insist


@pytest.mark.parametrize("fault", [silent, short, stubborn])
def test_who_cannot_be_read_is_refused(loaded: Loaded, monkeypatch: pytest.MonkeyPatch, fault: Any) -> None:
    monkeypatch.setattr(loaded.model, "generate", fault(loaded.model.generate))
    with pytest.raises(ModelError, match=r"'instructblip' cannot be asked here: its generate\(\)") as caught:
        logits(loaded)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fault", [blurred, late])
def test_the_self_check_sees_what_every_call_gets_wrong(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, fault: Any
) -> None:
    monkeypatch.setattr(loaded.model, "generate", fault(loaded.model.generate))
    engine = Engine(loaded)
    with pytest.raises(ModelError, match=r"Self-check|cannot be asked here"):
        next(engine.score(PICTURE, QUESTIONS, Sampling()))
    with pytest.raises(ModelError, match=r"Self-check|cannot be asked here"):
        next(engine.generate(PICTURE, [Wish(QUESTIONS[0], Sampling(1.0, 1.0, 4), 1)]))


def test_the_plain_way_is_checked_as_often_as_the_shared_one(loaded: Loaded) -> None:
    engine = Engine(loaded)
    for _ in range(10):
        assert all(isinstance(score, OptionScore) for _, score, _ in engine.score(PICTURE, QUESTIONS, Sampling()))
    list(engine.generate(PICTURE, [Wish(QUESTIONS[0], Sampling(1.0, 1.0, 3), 1)]))
    assert engine.check.checks == 9
    assert 0 < engine.check.difference <= 2e-5


def test_a_fault_in_the_plain_way_is_seen(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    def shifted(*given: Any) -> Any:
        return plain_logits(*given).roll(1, dims=1)

    for module in ("decoding", "check"):
        monkeypatch.setattr(f"facevalue.models.hf.{module}.plain_logits", shifted)
    with pytest.raises(ModelError, match=r"Self-check: .*instructblip read by the plain way differs"):
        next(Engine(loaded).score(PICTURE, QUESTIONS, Sampling()))
