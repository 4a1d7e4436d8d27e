"""The self-check: it passes what is right, and what is wrong stops the run."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from facevalue.errors import DataError, ModelError
from facevalue.types import Sampling
from tests.models.hf import planted, tiny
from tests.models.hf.test_scoring import PICTURE, QUESTIONS, scores

torch: Any = tiny.torch

from facevalue.models.hf.calls import Rejected  # noqa: E402
from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.check import Schedule, SelfCheck  # noqa: E402
from facevalue.models.hf.engine import Wish  # noqa: E402
from facevalue.models.hf.loading import TOLERANCES  # noqa: E402
from facevalue.models.hf.prefix import Branch, Prefix  # noqa: E402
from facevalue.models.hf.prompts import Prompts  # noqa: E402
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


def trusting(folder: Path) -> Any:
    """An engine that shares without a trial, so that the self-check is the first to look."""
    return planted.untried(planted.engine(folder))


def test_wrong_positions_stop_the_run(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = Prefix.read_prefixes

    def shifted(*args: Any) -> Prefix:
        prefix = of(*args)
        return replace(prefix, next_positions=(prefix.next_positions[0] + 3,))

    monkeypatch.setattr(Prefix, "read_prefixes", shifted)
    engine = trusting(llava)
    with pytest.raises(ModelError, match=r"Self-check: .*llava.*--dtype float32"):
        scores(engine, QUESTIONS, Sampling())
    assert engine.check.difference > 1e-4
    engine = trusting(llava)
    with pytest.raises(ModelError, match="Self-check"):
        list(engine.generate([PICTURE], [Wish(QUESTIONS[0], Sampling(1.0, 1.0, 8), 3)]))


def test_nothing_is_believed_before_the_first_check(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise ModelError("wrong")

    monkeypatch.setattr(SelfCheck, "compare", fail)
    with pytest.raises(ModelError, match="wrong"):
        next(trusting(llava).score([PICTURE], QUESTIONS, Sampling()))


def test_tokens_that_are_not_the_processors_stop_the_run(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Prompts.groups

    def other(*args: Any) -> Any:
        return [replace(group, suffixes=[[*suffix[:-1], 7] for suffix in group.suffixes]) for group in own(*args)]

    monkeypatch.setattr(Prompts, "groups", other)
    with pytest.raises(ModelError, match="does not give the tokens"):
        scores(trusting(llava), QUESTIONS, Sampling())


def test_checks_grow_rarer_and_never_end(llava: Path) -> None:
    engine = trusting(llava)
    for _ in range(12):
        scores(engine, QUESTIONS[:2], Sampling())
    assert engine.check.checks == 8
    due = [n for n in range(1, 1001) if Schedule(n).draw([0]) is not None]
    assert max(after - before for before, after in pairwise(due)) == 50
    assert len(due) < 40
    assert {Schedule(n).draw([3, 4, 5]) for n in due} == {3, 4, 5}


def test_the_last_question_is_checked_whenever_packs_have_grown_twice_as_large() -> None:
    schedule = Schedule()

    def chosen(pack: list[int], *drawn: int) -> list[int]:
        return sorted(n for _, n in schedule.choose([(0, n) for n in pack], {(0, n) for n in drawn}))

    assert chosen([5]) == [5]
    assert chosen([4, 2, 9]) == [9]
    assert chosen([4, 2, 9, 7]) == []
    assert chosen([4, 2, 9, 7], 2) == [2]
    assert chosen([4, 2, 9, 7], 8) == []  # of another pack
    assert chosen([1, 2, 3, 4, 5, 6], 1) == [6]


def test_the_first_and_the_last_picture_are_checked_whenever_twice_as_many_go_together() -> None:
    schedule = Schedule(largest=100)
    three = [(stimulus, n) for stimulus in (4, 5, 6) for n in range(2)]
    assert schedule.choose(three, {(4, 1), (5, 1), (7, 0)}) == {(4, 0), (5, 1), (6, 1)}
    assert schedule.choose(three, set()) == set()
    assert schedule.choose([(stimulus, 0) for stimulus in range(6)], set()) == {(0, 0), (5, 0)}


def test_what_is_longer_than_all_before_it_is_checked() -> None:
    schedule = Schedule()
    assert schedule.longest_question({(0, 0): 20, (0, 1): 30}) == set(), (
        "the first pack's end is checked, and a trial was made"
    )
    assert schedule.longest_question({(1, 0): 30, (1, 1): 20}) == set()
    assert schedule.longest_question({(2, 0): 31, (2, 1): 33, (2, 2): 32}) == {(2, 1)}
    assert schedule.longest_question({(3, 0): 33}) == set()
    assert schedule.longest_question({}) == set()


def test_a_fault_of_long_prompts_alone_stops_the_run_at_the_first(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of positions that are stretched beyond so many tokens: for all that is in a pack with one that is there."""
    engine, grow = trusting(llava), Branch.grow
    for _ in range(10):  # few are drawn to be checked by now
        known = max(score.prompt_tokens for score in scores(engine, QUESTIONS, Sampling(max_tokens=2)))

    def stretched(self: Any, *given: Any) -> Any:
        made = grow(self, *given)
        return made.roll(1, dims=1) if self.prefix.length + self.tree.depths.max() > known + 10 else made

    monkeypatch.setattr(Branch, "grow", stretched)
    scores(engine, QUESTIONS, Sampling(max_tokens=2))
    longer = replace(QUESTIONS[0], prompt=f"{QUESTIONS[0].prompt} {' Who is warm, who is honest?' * 3}")
    with pytest.raises(ModelError, match="Self-check"):
        scores(engine, [*QUESTIONS, longer], Sampling(max_tokens=2))


def test_one_question_that_sees_another_stops_the_run(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Branch._mask

    def leaking(self: Any, tree: Any, first: int) -> Any:
        mask: Any = own(self, tree, first)
        before = torch.ones(mask.shape[-2:], dtype=torch.bool).tril(mask.shape[-1] - mask.shape[-2])
        return mask | before

    right = {n: score.probs for n, score in enumerate(scores(trusting(llava), QUESTIONS, Sampling()))}
    monkeypatch.setattr(Branch, "_mask", leaking)
    believed: list[int] = []
    with pytest.raises(ModelError, match="Self-check"):
        believed.extend(number for number, _, _ in trusting(llava).score([PICTURE], QUESTIONS, Sampling()))
    assert not believed
    with monkeypatch.context() as patch:
        patch.setattr(SelfCheck, "compare", lambda *_: None)
        wrong = scores(trusting(llava), QUESTIONS, Sampling())
    errors = [abs(a - b) for n, score in enumerate(wrong) for a, b in zip(score.probs, right[n], strict=True)]
    assert max(errors) > 10 * TOLERANCES["float32"]  # a fault that matters, not one that only the check can see
    wishes = [Wish(question, Sampling(1.0, 1.0, 8), 3) for question in QUESTIONS]
    with pytest.raises(ModelError, match="Self-check"):
        next(trusting(llava).generate([PICTURE], wishes))


def test_a_prefix_of_another_picture_stops_the_run(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of, made = Prefix.read_prefixes, list[Prefix]()

    def stale(*args: Any) -> Prefix:
        made.append(of(*args))
        return made[1] if len(made) == 3 else made[-1]

    monkeypatch.setattr(Prefix, "read_prefixes", stale)
    engine = trusting(llava)
    for key in ("one", "two"):
        assert len(list(engine.score([tiny.picture(key)], QUESTIONS, Sampling()))) == len(QUESTIONS)
    with pytest.raises(ModelError, match="Self-check"):
        list(engine.score([tiny.picture("three")], QUESTIONS, Sampling()))


def test_scores_and_replies_are_checked_each_in_turn(llava: Path) -> None:
    engine = trusting(llava)
    for _ in range(3):
        scores(engine, QUESTIONS[:2], Sampling())
        list(engine.generate([PICTURE], [Wish(QUESTIONS[0], Sampling(1.0, 1.0, 4), 1)]))
    assert engine.check.checks == 6


@pytest.mark.parametrize("error", [DataError("too small"), Rejected("too large"), RuntimeError("out of memory")])
def test_a_check_that_fails_stops_the_run(llava: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(*args: Any) -> Any:
        raise error

    monkeypatch.setattr("facevalue.models.hf.check.plain_logits", fails)
    with pytest.raises(ModelError, match=rf"Self-check: .*{error}"):
        scores(trusting(llava), QUESTIONS, Sampling())


def test_a_difference_is_of_probabilities_and_no_number_is_the_largest(llava: Path) -> None:
    engine = trusting(llava)
    (score,) = scores(engine, QUESTIONS[:1], Sampling())
    (group,) = prepare(engine.loaded, [PICTURE], QUESTIONS[:1])
    likeliest = max(score.evidence, key=lambda each: each.logprob)
    check = SelfCheck(0.5)
    half = math.log(math.exp(likeliest.logprob) / 2)
    check.compare(engine.loaded, group, 0, [*score.evidence, replace(likeliest, logprob=half)])
    assert check.difference == pytest.approx(math.exp(likeliest.logprob) / 2, abs=1e-5)
    assert check.log_difference == pytest.approx(math.log(2), abs=1e-4)
    with pytest.raises(ModelError, match=r"no number \(NaN\)"):
        check.compare(engine.loaded, group, 0, [Evidence((), 5, math.nan)])
