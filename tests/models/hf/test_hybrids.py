"""Layers with a recurrent state: prompts go on from copies of what was kept of their common beginning."""

from collections.abc import Callable
from typing import Any

import pytest

from facevalue.types import Option, Question, Sampling
from tests.models.hf import hybrids, planted, tiny

torch: Any = tiny.torch

from facevalue.models.hf import resumption  # noqa: E402
from facevalue.models.hf.chat import Group, prepare  # noqa: E402
from facevalue.models.hf.decoding import CopiedDecoding  # noqa: E402
from facevalue.models.hf.engine import Engine, Wish  # noqa: E402
from facevalue.models.hf.loading import Loaded  # noqa: E402
from facevalue.models.hf.reference_pass import gap, plain_logits  # noqa: E402
from facevalue.models.hf.resumption import ModelState, Path  # noqa: E402
from facevalue.models.hf.scoring import DrawnReply, OptionScore  # noqa: E402
from facevalue.models.hf.trial import COPIES, STEPS, TREE  # noqa: E402

OPTIONS = (Option("(a)", "competent", "favourable"), Option("(b)", "honest", "unfavourable"))
WORDS = ["competent", "warm", "kind and lazy", "", "friendly, honest"]
QUESTIONS = [Question(f"Who is (a) honest or (b) {word}?", OPTIONS) for word in WORDS]
EXACT = 1e-5
"""A tenth of what the self-check lets pass in float32."""
STEPPED = {"jamba", "zamba", "mamba"}
"""Mamba's first form: where it reads several tokens it begins with an empty state."""
Load = Callable[..., Loaded]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    return tiny.loader(tmp_path_factory, hybrids.BUILDERS)


def read(loaded: Loaded, group: Group, calls: list[list[Path]], *, steps: bool) -> list[Any]:
    """What follows beginnings of replies after prompts of several lengths, over one state."""
    decoding = CopiedDecoding([ModelState.after(loaded, group.inputs or {})], group.suffixes, steps=steps)
    return [decoding.read(paths) for paths in calls]


@pytest.mark.parametrize("name", hybrids.BUILDERS)
def test_prompts_and_replies_after_a_copied_state_are_those_of_plain_passes(load: Load, name: str) -> None:
    loaded = load(name)
    (group,) = prepare(loaded, [], QUESTIONS)
    assert len({len(suffix) for suffix in group.suffixes}) > 2, "lengths differ"
    calls: list[list[Path]] = [
        [(0, ()), (1, ()), (2, ()), (1, (50,))],
        [(3, ()), (1, (50, 60)), (4, ()), (1, (50, 61))],
        [(0, ()), (1, (50, 61, 70))],
    ]
    found = read(loaded, group, calls, steps=name in STEPPED)
    for paths, rows in zip(calls, found, strict=True):
        for (member, reply), row in zip(paths, rows, strict=True):
            want = plain_logits(loaded, group.full(member), reply, [len(reply)])
            assert gap(row[None], want) <= EXACT, (member, reply)


@pytest.mark.parametrize("name", sorted(STEPPED))
def test_what_forgets_its_state_in_a_pass_of_several_tokens_is_seen_to(load: Load, name: str) -> None:
    loaded = load(name)
    (group,) = prepare(loaded, [], QUESTIONS)
    (once,), (stepped,) = (read(loaded, group, [[(0, ())]], steps=steps) for steps in (False, True))
    assert gap(once, stepped) > loaded.tolerance


def scored(engine: Engine, questions: list[Question]) -> list[float]:
    found = {n: score for n, score, _ in engine.score([], questions, Sampling(0.7))}
    assert all(isinstance(score, OptionScore) for score in found.values()), found
    return [prob for n in range(len(questions)) for prob in found[n].probs]  # type: ignore[union-attr]


def drawn(engine: Engine, wishes: list[Wish]) -> dict[int, tuple[int, ...]]:
    replies = {n: reply for n, reply, _ in engine.generate([], wishes)}
    return {n: reply.tokens for n, reply in replies.items() if isinstance(reply, DrawnReply)}


@pytest.fixture
def lfm2(load: Load) -> Engine:
    return Engine(load("lfm2"))


def test_the_engine_finds_the_way_that_is_right_and_reads_the_beginning_once(lfm2: Engine, load: Load) -> None:
    alone = planted.untried(Engine(load("lfm2")), shares=False)
    assert scored(lfm2, QUESTIONS) == pytest.approx(scored(alone, QUESTIONS), abs=EXACT)
    (verdict,) = lfm2.trials.verdicts.values()
    assert verdict.way == COPIES
    assert str(verdict).startswith("by copies of a state, places in the tree ")
    assert lfm2.trials.notes == ()
    assert lfm2.check.checks >= 1
    assert lfm2.check.difference <= EXACT
    tokens: list[int] = []

    def look(_: Any, given: Any) -> None:
        rows, length = given[0].shape
        tokens.append(rows * length if length > 1 else 0)  # replies are read token by token

    for engine in (lfm2, alone):
        engine._schedules["score"].stimuli = 8
        hook = engine.loaded.model.get_input_embeddings().register_forward_pre_hook(look)
        tokens.clear()
        scored(engine, QUESTIONS)
        hook.remove()
        (group,) = prepare(engine.loaded, [], QUESTIONS)
        prefix, rest = len(group.prefix_ids), sum(map(len, group.suffixes))
        whole = prefix + rest if engine is lfm2 else len(QUESTIONS) * prefix + rest
        assert sum(tokens) == whole


def test_replies_are_drawn_from_copies_however_long(lfm2: Engine, load: Load) -> None:
    wishes = [Wish(question, Sampling(1.0, 0.9, most), 1) for question in QUESTIONS[:2] for most in (3, 40)]
    alone = planted.untried(Engine(load("lfm2")), shares=False)
    replies = [drawn(engine, wishes) for engine in (lfm2, alone)]
    assert replies[0] == replies[1]
    assert lfm2.trials.way("text alone, replies drawn") == COPIES


def test_copies_that_memory_does_not_hold_are_made_some_at_a_time(
    lfm2: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    wishes = [Wish(question, Sampling(1.0, 1.0, 4), seed) for question in QUESTIONS[:2] for seed in range(5)]
    right = drawn(lfm2, wishes)
    made, grown = list[int](), ModelState.extend_rows
    (group,) = prepare(lfm2.loaded, [], QUESTIONS[:2])
    size = ModelState.after(lfm2.loaded, group.inputs or {}).size
    assert size > 1000
    monkeypatch.setattr(ModelState, "extend_rows", lambda *given: made.append(len(given[1])) or grown(*given))  # type: ignore[func-returns-value]
    most = []
    for room in (100, 6.5):
        monkeypatch.setattr("facevalue.models.hf.joint.kept_bytes", lambda _, room=room: room * size)
        made.clear()
        assert drawn(lfm2, wishes) == right
        most.append(max(made))
    assert most[0] > 2 >= most[1]


def test_a_question_by_itself_is_not_copied_for(lfm2: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    scored(lfm2, QUESTIONS)
    monkeypatch.delattr("facevalue.models.hf.joint.CopiedDecoding")
    assert scored(lfm2, QUESTIONS[1:2]) == pytest.approx(scored(lfm2, QUESTIONS[1:2]), abs=EXACT)


def test_a_state_that_is_not_copied_is_noticed_and_answers_are_right(
    lfm2: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, taken = scored(lfm2, QUESTIONS), resumption._copy_rows

    def shared(name: str, value: Any, at: Any, rows: int) -> Any:
        if hasattr(value, "reorder_cache"):
            value.reorder_cache(at)
            return value
        return taken(name, value, at, rows)

    monkeypatch.setattr(resumption, "_copy_rows", shared)
    lfm2.loaded.at_once.clear()
    engine = Engine(lfm2.loaded)
    assert scored(engine, QUESTIONS) == pytest.approx(right, abs=EXACT)
    (verdict,) = engine.trials.verdicts.values()
    assert verdict.failed
    assert engine.trials.notes


@pytest.mark.parametrize(("count", "shares"), [(3, False), (40, True)])
def test_steps_are_taken_where_they_are_fewer_than_prompts(
    load: Load, monkeypatch: pytest.MonkeyPatch, count: int, shares: bool
) -> None:
    engine = Engine(load("mamba"))
    questions = [Question(f"{WORDS[at % 5]} {at} Yes?", OPTIONS) for at in range(count)]
    ways = monkeypatch.setattr
    ways(engine.trials, "allow", lambda *_: True)
    ways(engine.trials, "way", lambda _: STEPS)
    stepped: list[bool] = []

    class Noted(CopiedDecoding):
        def __init__(self, *given: Any, **how: Any) -> None:
            stepped.append(how["steps"])
            super().__init__(*given, **how)

    monkeypatch.setattr("facevalue.models.hf.joint.CopiedDecoding", Noted)
    found = scored(engine, questions)
    assert stepped == [True] * len(stepped)
    assert bool(stepped) == shares
    ways(engine.trials, "allow", lambda *_: False)
    ways(engine.trials, "way", lambda _: TREE)
    assert scored(engine, questions) == pytest.approx(found, abs=EXACT)
