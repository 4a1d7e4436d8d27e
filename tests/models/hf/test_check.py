"""The self-check: it passes what is right, and what is wrong stops the run."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facevalue.errors import ModelError
from facevalue.types import Sampling
from tests.models.hf import planted, tiny
from tests.models.hf.test_scoring import PICTURE, QUESTIONS, scores

torch: Any = tiny.torch

from facevalue.models.hf import engine as engines  # noqa: E402
from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.check import TOLERANCES, SelfCheck  # noqa: E402
from facevalue.models.hf.engine import Wish  # noqa: E402
from facevalue.models.hf.prefix import Prefix  # noqa: E402
from facevalue.models.hf.scoring import Evidence  # noqa: E402


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted.plant(tiny.llava(tmp_path_factory.mktemp("llava")))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_what_is_right_passes_in_each_number_format(llava: Path, dtype: str) -> None:
    engine = planted.engine(llava, dtype=dtype)
    scores(engine, QUESTIONS, Sampling(0.2))
    list(engine.generate([PICTURE], [Wish(QUESTIONS[0], Sampling(1.0, 1.0, 6), seed) for seed in range(3)]))
    assert engine.check.checks == 2
    assert engine.check.tolerance == TOLERANCES[dtype]
    assert engine.check.difference <= TOLERANCES[dtype] / 2  # with room to spare
    assert (engine.check.log_difference > 0) == (engine.check.difference > 0)


def test_wrong_positions_stop_the_run(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = Prefix.of

    def shifted(*args: Any) -> Prefix:
        prefix = of(*args)
        return replace(prefix, next_position=prefix.next_position + 3)

    monkeypatch.setattr(Prefix, "of", shifted)
    engine = planted.engine(llava)
    with pytest.raises(ModelError, match=r"Self-check: .*llava.*--dtype float32"):
        scores(engine, QUESTIONS, Sampling())
    assert engine.check.difference > 1e-4
    engine = planted.engine(llava)
    with pytest.raises(ModelError, match="Self-check"):
        list(engine.generate([PICTURE], [Wish(QUESTIONS[0], Sampling(1.0, 1.0, 8), 3)]))


def test_nothing_is_believed_before_the_first_check(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise ModelError("wrong")

    monkeypatch.setattr(SelfCheck, "compare", fail)
    with pytest.raises(ModelError, match="wrong"):
        next(planted.engine(llava).score([PICTURE], QUESTIONS, Sampling()))


def test_tokens_that_are_not_the_processors_stop_the_run(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*args: Any) -> Any:
        return [replace(group, suffixes=[[*suffix[:-1], 7] for suffix in group.suffixes]) for group in prepare(*args)]

    monkeypatch.setattr(engines, "prepare", other)
    with pytest.raises(ModelError, match="does not give the tokens"):
        scores(planted.engine(llava), QUESTIONS, Sampling())


def test_checks_grow_rarer(llava: Path) -> None:
    engine = planted.engine(llava)
    for _ in range(9):
        scores(engine, QUESTIONS[:2], Sampling())
    assert engine.check.checks == 4  # of stimuli 1, 2, 4, 8


def test_a_difference_is_of_probabilities_and_no_number_is_the_largest(llava: Path) -> None:
    engine = planted.engine(llava)
    (score,) = scores(engine, QUESTIONS[:1], Sampling())
    (group,) = prepare(engine.loaded, [PICTURE], QUESTIONS[:1])
    likeliest = max(score.evidence, key=lambda each: each.logprob)
    check = SelfCheck(0.5)
    half = math.log(math.exp(likeliest.logprob) / 2)
    check.compare(engine.loaded, group, 0, [*score.evidence, replace(likeliest, logprob=half)])
    assert check.difference == pytest.approx(math.exp(likeliest.logprob) / 2, abs=1e-5)
    assert check.log_difference == pytest.approx(math.log(2), abs=1e-4)
    with pytest.raises(ModelError, match="inf"):
        check.compare(engine.loaded, group, 0, [Evidence((), 5, math.nan)])
