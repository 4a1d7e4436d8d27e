"""Continuous batching of open replies: full passes, and the same reply to the last bit whatever goes with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facevalue.errors import ModelError
from facevalue.types import Question, Sampling
from tests.models.hf import planted, tiny

torch: Any = tiny.torch

from facevalue.models.hf import attending  # noqa: E402
from facevalue.models.hf.attending import Sequences, Shelf  # noqa: E402
from facevalue.models.hf.chat import after_pictures, prepare  # noqa: E402
from facevalue.models.hf.engine import Failed, Wish  # noqa: E402
from facevalue.models.hf.open_replies import OpenReplies  # noqa: E402
from facevalue.models.hf.reference_pass import plain_logits  # noqa: E402

PROMPTS = [
    "Describe the person in the picture.",
    "Who is warm?",
    "Look at the picture: name five words for the left person, and say why they are honest.",
]
PICTURES = [tiny.picture(name, size) for name, size in (("one", (40, 40)), ("two", (60, 40)), ("three", (40, 56)))]
LONG = Sampling(1.0, 0.98, 80)
Build = Callable[..., Any]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Engines of a family whose replies are of all lengths up to the limit."""
    folders: dict[str, Path] = {}

    def made(family: str = "llava") -> Any:
        if family not in folders:
            folder = tiny.BUILDERS[family](tmp_path_factory.mktemp(family))
            folders[family] = planted.plant(folder, {"</s>": 5.5, "warm": 3.0})
        return planted.engine(folders[family])

    return made


def wishes(seeds: int = 3, sampling: Sampling = LONG) -> list[Wish]:
    return [Wish(Question(prompt, ()), sampling, seed) for prompt in PROMPTS for seed in range(seeds)]


def drawn(engine: Any, asked: list[tuple[int, list[Wish]]]) -> dict[tuple[int, int], Any]:
    """Replies by place among what is asked: pictures by number, with wishes."""
    ready = [engine.to_reply([PICTURES[picture]], some) for picture, some in asked]
    return {key: reply for key, reply, _ in engine.replies(ready)}


def exactly(reply: Any) -> tuple[Any, ...]:
    return reply.text, reply.tokens, reply.logprobs, reply.ended, reply.completion_tokens


@pytest.mark.parametrize(
    "family", ["llava", *(pytest.param(family, marks=pytest.mark.slow) for family in ("gemma3", "qwen2_vl"))]
)
def test_a_seed_gives_the_same_reply_to_the_last_bit_whatever_goes_with_it(build: Build, family: str) -> None:
    """Alone, in any order and passes of any width, with other pictures, and drawn again for lack of memory."""
    engine, some = build(family), wishes(2)
    want = {
        (picture, n): exactly(reply)
        for picture in range(3)
        for (_, n), reply in drawn(engine, [(picture, some)]).items()
    }
    assert len({tokens for _, tokens, *_ in want.values()}) > 12  # of 18
    assert {len(tokens) > 64 for _, tokens, *_ in want.values()} == {False, True}, "rows of several lengths"
    for picture, n in ((0, 0), (2, 5)):
        (alone,) = drawn(engine, [(picture, [some[n]])]).values()
        assert exactly(alone) == want[picture, n]
    rng = np.random.default_rng(7)
    for width, tokens in ((11, 0), (16, 900)):
        other = build(family)
        other.opening.limits.width = width
        other.opening.limits.tokens = tokens
        pictures = rng.permutation(3).tolist()
        orders = [rng.permutation(len(some)).tolist() for _ in pictures]
        asked = [(picture, [some[n] for n in order]) for picture, order in zip(pictures, orders, strict=True)]
        for (at, place), reply in drawn(other, asked).items():
            assert exactly(reply) == want[pictures[at], orders[at][place]]
        assert other.check.checks >= 3
        assert tokens == 0 or other.opening.limits.tokens == tokens


def test_greedy_open_replies_are_those_of_plain_forward_passes(build: Build) -> None:
    engine = build()
    some = [Wish(Question(prompt, ()), Sampling(0.0, 1.0, 40)) for prompt in PROMPTS]
    for (_, n), reply in drawn(engine, [(1, some)]).items():
        (group,) = prepare(engine.loaded, [PICTURES[1]], [some[n].question])
        likeliest = plain_logits(engine.loaded, group.full(0), reply.tokens, range(len(reply.tokens) + 1)).argmax(1)
        assert likeliest[: len(reply.tokens)].tolist() == list(reply.tokens)
        assert reply.ended == (int(likeliest[-1]) in engine.loaded.stop_ids and len(reply.tokens) < 40)


class Counted:
    """Tokens of each pass, of them those of replies, and whether more waited."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passes: list[tuple[int, int]] = []
        read = Sequences.read

        def counted(inner: Sequences, asked: Any, wanted: Any) -> Any:
            total = sum(len(tokens) for _, tokens in asked)
            self.passes.append((total, sum(not sequence.shelf.prompt for sequence, _ in asked)))
            return read(inner, asked, wanted)

        monkeypatch.setattr(Sequences, "read", counted)


def test_passes_are_full_until_the_tail_and_a_token_goes_through_the_model_once(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, width = build(), 12
    engine.opening.limits.width = width
    drawn(engine, [(0, wishes(1))])  # trials and limits
    counted = Counted(monkeypatch)
    with_seeds = [(picture % 3, wishes(3)) for picture in range(6)]
    session = OpenReplies[int](engine.opening)
    for tag, (picture, some) in enumerate(with_seeds):
        session.add(tag, engine.to_reply([PICTURES[picture]], some))
    replies: list[Any] = [reply for *_, reply, _ in session.replies(to_the_end=True)]
    session.close()
    assert len(replies) == 6 * 9
    tally = session.batch.tally
    totals = [total for total, _ in counted.passes]
    tail = max(n for n, total in enumerate(totals) if total == width)
    assert sum(totals[: tail + 1]) >= 0.9 * width * (tail + 1)
    assert tail > 0.7 * len(totals)
    assert tally.full_tokens >= 0.98 * width * tally.full_passes
    assert (tally.passes, tally.tokens) == (len(totals), sum(totals))
    # Each prompt once for all its replies, and of each reply all tokens but the last, which nothing follows.
    of_replies = sum(reply.completion_tokens - 1 for reply in replies)
    assert tally.drawn == sum(mine for _, mine in counted.passes) == of_replies
    groups = [engine.to_reply([PICTURES[picture]], wishes(1)).groups[0][0] for picture, _ in with_seeds]
    read = sum(len(suffix) for group in groups for suffix in after_pictures(engine.loaded, group).suffixes)
    assert tally.tokens - tally.drawn == read


def test_rows_are_refilled_across_pictures_as_they_come(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = build()
    engine.opening.limits.width = 16
    some = [(picture, wishes(2)) for picture in (0, 1, 2, 1)]
    drawn(engine, [(0, wishes(1))])
    counted = Counted(monkeypatch)
    session = OpenReplies[int](engine.opening)
    early = []
    for tag, (picture, each) in enumerate(some):
        session.add(tag, engine.to_reply([PICTURES[picture]], each))
        early += list(session.replies(to_the_end=False))
        assert session.hungry
    while_more_came = len(counted.passes)
    rest = list(session.replies(to_the_end=True))
    session.close()
    assert sorted((tag, n) for tag, n, *_ in [*early, *rest]) == [(tag, n) for tag in range(4) for n in range(6)]
    assert early
    assert [total for total, _ in counted.passes[:while_more_came]] == [16] * while_more_came
    assert while_more_came > 20


def test_short_memory_sends_replies_back_and_loses_none(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that runs out of memory is shrunk until it fits; what doesn't fit alone is an error by itself."""
    engine, some = build(), wishes(2)
    want = {key: exactly(reply) for key, reply in drawn(engine, [(0, some), (1, some)]).items()}
    other, read = build(), Sequences.read
    drawn(other, [(0, wishes(1))])
    refused: list[int] = []

    def limited(inner: Sequences, asked: Any, wanted: Any) -> Any:
        if inner.shelves.tokens > limit:
            refused.append(len(asked))
            raise MemoryError("out of memory")
        return read(inner, asked, wanted)

    monkeypatch.setattr(Sequences, "read", limited)
    limit = 640
    found = {key: exactly(reply) for key, reply in drawn(other, [(0, some), (1, some)]).items()}
    assert found == want
    assert refused
    limit = -1
    failed = drawn(build_like(other), [(0, some[:1])])
    assert [isinstance(reply, Failed) for reply in failed.values()] == [True]


def build_like(engine: Any) -> Any:
    """Another engine of the same model, which takes what it is asked without a trial."""
    from facevalue.models.hf.engine import Engine

    return planted.untried_openings(Engine(engine.loaded))


def test_where_sequences_fail_their_trial_replies_are_drawn_in_packs(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = build()
    want = {key: reply.tokens for key, reply in drawn(right, [(0, wishes())]).items()}
    attend = attending.Pass.attend

    def wrong(inner: Any, layer: int, given: Any, *more: Any) -> Any:
        return attend(inner, layer, (given[0] * 1.01, *given[1:]), *more)

    monkeypatch.setattr(attending.Pass, "attend", wrong)
    engine = build()
    assert {key: reply.tokens for key, reply in drawn(engine, [(0, wishes())]).items()} == want
    (verdict,) = engine.opening.trials.verdicts.values()
    assert "differs" in verdict.failed


@pytest.mark.parametrize("fault", ["neighbour", "stale"])
def test_faults_that_come_later_end_the_run(build: Build, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Keys of another row, and keys that were left behind."""
    engine = build()
    drawn(engine, [(0, wishes(1))])
    if fault == "neighbour":
        add = Shelf.add

        def crossed(self: Shelf, sequence: Any) -> None:
            add(self, sequence)
            for keys in self.keys:
                keys[sequence.row] = keys[0]

        monkeypatch.setattr(Shelf, "add", crossed)
    else:

        def left(self: Shelf, row: int) -> None:
            last = self.sequences.pop()
            if row < len(self.sequences):
                self.sequences[row], last.row = last, row

        monkeypatch.setattr(Shelf, "remove", left)
    with pytest.raises(ModelError, match="Self-check"):
        drawn(engine, [(1, wishes(3)), (0, wishes(3))])


def test_a_model_whose_pass_fails_is_an_error_of_what_was_in_it(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = build()
    drawn(engine, [(0, wishes(1))])
    read, calls = Sequences.read, [0]

    def failing(inner: Sequences, asked: Any, wanted: Any) -> Any:
        calls[0] += 1
        if calls[0] == 5:
            raise NotImplementedError("nothing like it")
        return read(inner, asked, wanted)

    monkeypatch.setattr(Sequences, "read", failing)
    found = drawn(engine, [(0, wishes(3)), (1, wishes(3))])
    assert len(found) == 18
    failed = [reply for reply in found.values() if isinstance(reply, Failed)]
    assert 0 < len(failed) < 18 or calls[0] == 5
    assert {reply.reason for reply in failed} == {"nothing like it"}
