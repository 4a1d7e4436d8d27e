"""Replies that go on from copies of what `generate` keeps: one prefill a question, and the numbers of plain passes."""

from collections.abc import Callable
from typing import Any

import pytest

from facevalue.types import Option, Question, Sampling
from tests.models.hf import grids, others, planted, tiny

torch: Any = tiny.torch

from facevalue.models.hf import resumption  # noqa: E402
from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.engine import Engine, Wish  # noqa: E402
from facevalue.models.hf.loading import Loaded  # noqa: E402
from facevalue.models.hf.reference_pass import plain_logits  # noqa: E402
from facevalue.models.hf.resumption import ModelState, Resumed  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # PaliGemma's processor
OPTIONS = (Option("(a)", "competent", "favourable"), Option("(b)", "honest", "unfavourable"))
QUESTIONS = [Question(f"Who is (a) {word} or (b) honest?", OPTIONS) for word in ("competent", "warm")]
PICTURE = [tiny.picture("one", (60, 40))]
KINDS = ["qwen2_vl", "paligemma", "blip_2_t5", "qwen3_5", "kosmos2"]
"""Positions by grids, prompts that look ahead, an encoder, recurrent states, a language model within."""
Load = Callable[..., Loaded]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    return tiny.loader(tmp_path_factory, vars(tiny) | others.BUILDERS | grids.BUILDERS)


def plainly(loaded: Loaded) -> Any:
    """An engine that shares nothing, and tries anew whether replies resume."""
    loaded.at_once.clear()
    return planted.untried(Engine(loaded), shares=False)


def answers(engine: Any) -> list[float]:
    """Probabilities of options, and tokens of drawn replies."""
    scores = {n: score.probs for n, score, _ in engine.score(PICTURE, QUESTIONS, Sampling(0.7))}
    wishes = [Wish(question, Sampling(1.0, 0.9, 3), seed) for question in QUESTIONS for seed in range(2)]
    replies = {n: reply.tokens for n, reply, _ in engine.generate(PICTURE, wishes)}
    return [
        *(prob for n in range(len(QUESTIONS)) for prob in scores[n]),
        *(float(token) for n in range(len(wishes)) for token in replies[n]),
    ]


@pytest.mark.parametrize("name", KINDS)
def test_a_question_is_read_once_and_answered_as_by_plain_passes(
    load: Load, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(name)
    engine = plainly(loaded)
    answers(engine)
    assert {known for form, known in loaded.at_once.items() if form[0] == "resumed"} == {True}
    read: list[int] = []
    after = ModelState.after
    monkeypatch.setattr(ModelState, "after", lambda *given: read.append(1) or after(*given))  # type: ignore[func-returns-value]
    found = answers(engine)
    assert len(read) == 2 * len(QUESTIONS), "once to be weighed, once for all replies that are drawn"
    monkeypatch.setattr("facevalue.models.hf.decoding.resumes", lambda *_: False)
    assert answers(plainly(loaded)) == pytest.approx(found, abs=1e-5)
    assert len(read) == 2 * len(QUESTIONS)


def test_replies_take_a_pass_for_each_token_whatever_their_number(load: Load) -> None:
    loaded = load("paligemma")
    passes: list[int] = []
    hook = loaded.model.get_decoder().register_forward_hook(lambda *_: passes.append(1))
    engine = plainly(loaded)
    wishes = [Wish(QUESTIONS[0], Sampling(1.0, 1.0, 6), seed) for seed in range(10)]
    list(engine.generate(PICTURE, wishes))
    engine._schedules["generate"].stimuli = 8
    passes.clear()
    list(engine.generate(PICTURE, wishes))
    assert len(passes) == 6
    hook.remove()


def shared(name: str, value: Any, at: Any, rows: int) -> Any:
    """Copies that are none: what one branch enters, the others have."""
    if hasattr(value, "reorder_cache"):
        value.reorder_cache(at)
        return value
    return TAKEN(name, value, at, rows)


def crossed(name: str, value: Any, at: Any, rows: int) -> Any:
    """The states of another branch."""
    return TAKEN(name, value, at.flip(0) if hasattr(value, "reorder_cache") else at, rows)


def unextended(name: str, value: Any, at: Any, rows: int) -> Any:
    """Positions that don't go on."""
    taken = TAKEN(name, value, at, rows)
    return taken - 1 if name == "position_ids" else taken


TAKEN = resumption._copy_rows


@pytest.mark.parametrize(
    ("name", "fault"), [("paligemma", shared), ("qwen3_5", shared), ("llava", crossed), ("qwen2_vl", unextended)]
)
def test_copies_that_are_wrong_are_noticed_and_answers_are_right(
    load: Load, name: str, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(name)
    right = answers(plainly(loaded))
    monkeypatch.setattr(resumption, "_copy_rows", fault)
    assert answers(plainly(loaded)) == pytest.approx(right, abs=1e-5)
    assert {known for form, known in loaded.at_once.items() if form[0] == "resumed"} == {False}


def test_beginnings_may_be_read_in_any_order(load: Load) -> None:
    loaded = load("llava")
    inputs = prepare(loaded, PICTURE, QUESTIONS)[0].full(0)
    replies = Resumed(ModelState.after(loaded, inputs))
    calls: list[list[tuple[int, ...]]] = [
        [(), (50,)],
        [(50, 60), (50, 61)],
        [(50, 61, 70)],
        [(51,), (50, 60, 71)],
        [(51, 52), (51, 53, 54)],
    ]
    for asked in calls:
        for reply, row in zip(asked, replies.read([(0, reply) for reply in asked]), strict=True):
            want = plain_logits(loaded, inputs, reply, [len(reply)])[0]
            assert float((row.log_softmax(0) - want.log_softmax(0)).abs().max()) <= 1e-4
