"""Replies drawn: as the logits say, the same for the same seed, no longer than allowed, held to options if asked."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from facevalue.errors import DependencyError
from facevalue.types import Option, Question, Sampling
from tests.models.hf import planted, tiny
from tests.models.hf.test_scoring import A_AB, LETTERS, PICTURE, QUESTIONS, ask, read, scores, unshared

torch: Any = tiny.torch

from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.drawing import pick, uniforms  # noqa: E402
from facevalue.models.hf.engine import Failed, Wish  # noqa: E402
from facevalue.models.hf.plain import plain_logits  # noqa: E402
from facevalue.models.hf.prefix import Branch  # noqa: E402


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    liked = {token: 1.3 * much for token, much in planted.LIKED.items()}  # fewer replies whose option stays undecided
    return planted.plant(tiny.llava(tmp_path_factory.mktemp("llava")), liked)


@pytest.fixture(scope="module")
def engine(llava: Path) -> Any:
    return planted.engine(llava)


def replies(engine: Any, wishes: list[Wish]) -> list[Any]:
    """Replies in the order of the wishes."""
    found = {number: reply for number, reply, _ in engine.generate([PICTURE], wishes)}
    assert sorted(found) == list(range(len(wishes)))
    return [found[number] for number in range(len(wishes))]


def test_greedy_replies_are_those_of_plain_forward_passes(engine: Any) -> None:
    wishes = [Wish(question, Sampling(0.0, 1.0, 6)) for question in QUESTIONS]
    for wish, reply in zip(wishes, replies(engine, wishes), strict=True):
        (group,) = prepare(engine.loaded, [PICTURE], [wish.question])
        tokens: list[int] = []
        while len(tokens) < 6:
            token = int(plain_logits(engine.loaded, group.full(0), tokens, [len(tokens)])[0].argmax())
            if token in engine.loaded.stop_ids:
                break
            tokens.append(token)
        assert list(reply.tokens) == tokens
        assert reply.ended == (len(tokens) < 6)
        assert reply.completion_tokens == len(tokens) + reply.ended
        assert reply.prompt_tokens == group.full(0)["input_ids"].shape[1]


def test_a_seed_gives_the_same_reply_whatever_else_is_asked(engine: Any) -> None:
    wishes = [Wish(question, Sampling(1.0, 0.95, 7), seed) for question in QUESTIONS for seed in (1, 2, 3)]
    together = [reply.tokens for reply in replies(engine, wishes)]
    order = np.random.default_rng(5).permutation(len(wishes)).tolist()
    shuffled = replies(engine, [wishes[at] for at in order])
    assert [shuffled[order.index(at)].tokens for at in range(len(wishes))] == together
    assert [replies(engine, [wish])[0].tokens for wish in wishes[:6]] == together[:6]
    assert len(set(together)) > 5  # of nine: three prompts, three seeds


def test_a_family_that_cannot_share_draws_the_same(llava: Path, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wishes = [Wish(question, Sampling(1.0, 0.95, 5), 7) for question in QUESTIONS]
    together = [reply.tokens for reply in replies(engine, wishes)]
    plain = unshared(planted.engine(llava), monkeypatch)
    assert [reply.tokens for reply in replies(plain, wishes)] == together


def test_the_token_limit_is_kept_and_told(engine: Any) -> None:
    for most in (1, 3):
        for reply in replies(engine, [Wish(ask("warm"), Sampling(1.0, 1.0, most), seed) for seed in range(20)]):
            assert reply.completion_tokens <= most
            assert reply.ended or reply.completion_tokens == most
            assert len(reply.tokens) == reply.completion_tokens - reply.ended


def test_replies_to_one_question_share_its_tokens(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    grow, sizes = Branch.grow, []

    def counted(self: Branch, ids: Any, parents: Any, read: Any) -> Any:
        sizes.append(len(ids))
        return grow(self, ids, parents, read)

    monkeypatch.setattr(Branch, "grow", counted)
    replies(engine, [Wish(ask("warm"), Sampling(1.0, 1.0, 4))])
    alone = sizes[0]
    sizes.clear()
    replies(engine, [Wish(ask("warm"), Sampling(1.0, 1.0, 4), seed) for seed in range(8)])
    assert sizes[0] == alone
    assert max(sizes[1:]) <= 8


@pytest.mark.parametrize("sampling", [Sampling(0.8, 0.9, 6), Sampling(0.7, 1.0, 6)])
def test_sampled_and_exact_agree_over_2000_trials(engine: Any, sampling: Sampling) -> None:
    """Chi-square of the counts of each option and of no option, for each of four questions."""
    questions = [ask("lazy"), ask("warm"), ask("lazy", A_AB), ask("honest")]
    wishes = [Wish(question, sampling, seed) for seed in range(500) for question in questions]
    drawn = replies(engine, wishes)
    tested = 0
    for at, (question, score) in enumerate(zip(questions, scores(engine, questions, sampling), strict=True)):
        counts = Counter(read(engine, reply, question) for reply in drawn[at::4])
        assert score.undecided < 0.005
        shares = [*score.probs, 1 - sum(score.probs)]
        observed = [counts[option] for option in range(len(score.probs))] + [counts[None]]
        kept = [place for place, share in enumerate(shares) if share * 500 >= 5]  # where chi-square holds
        rare = [place for place in range(len(shares)) if place not in kept]
        expected = [500 * shares[place] for place in kept] + ([500 * sum(shares[p] for p in rare)] if rare else [])
        found = [observed[place] for place in kept] + ([sum(observed[p] for p in rare)] if rare else [])
        if rare and expected[-1] < 1:  # too rare to test; nearly never seen
            assert found.pop() <= 5
            expected = [e * sum(found) / sum(expected[:-1]) for e in expected[:-1]]
        if len(found) > 1:
            tested += 1
            assert chisquare(found, expected).pvalue > 0.001, (question.prompt, found, expected)
    assert tested >= 3


def test_every_trial_has_numbers_of_its_own() -> None:
    first, second = uniforms(1, 1000), uniforms(2, 1000)
    assert (uniforms(1, 5) == first[:5]).all()
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1
    assert abs(first.mean() - 0.5) < 0.05


def test_tokens_of_no_probability_are_never_picked() -> None:
    shares = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]] * 4)
    found = pick(shares, np.array([0.0, 0.49, 0.5, np.nextafter(1, 0)]))
    assert found.tolist() == [1, 1, 3, 3]


# Held to options.

ODD = ("(a)", 'say "x"', "50% [y]\\z", "été\nné", "a.b*c+d?", "{#&~-/^$|}", "A", "AB")


def test_constrained_replies_are_always_one_of_the_options(engine: Any) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install 'facevalue[hf]'")
    question = Question(prompt="Which?", options=tuple(Option("", text, text) for text in ODD))
    drawn = replies(engine, [Wish(question, Sampling(2.5, 1.0, 20), seed, constrain=True) for seed in range(100)])
    assert {reply.text for reply in drawn} <= set(ODD)
    assert len({reply.text for reply in drawn}) > 4
    assert all(reply.ended for reply in drawn)


@pytest.mark.parametrize("text", ODD)
def test_any_text_can_be_an_option(engine: Any, text: str) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install 'facevalue[hf]'")
    question = Question(prompt="Which?", options=(Option("", text, "only"),))
    (reply,) = replies(engine, [Wish(question, Sampling(1.0, 1.0, 24), 1, constrain=True)])
    assert (reply.text, reply.ended) == (text, True)


def test_a_constrained_reply_is_drawn_from_what_is_left_of_the_same_logits(engine: Any) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install 'facevalue[hf]'")
    question = ask("honest", (Option("", "A", "one"), Option("", "B", "two")))
    (group,) = prepare(engine.loaded, [PICTURE], [question])
    words, inputs = engine.loaded.tokenizer, group.full(0)
    shares = plain_logits(engine.loaded, inputs, [], [0]).softmax(1)[0]

    def share(text: str, after: list[int]) -> float:
        row = shares if not after else plain_logits(engine.loaded, inputs, after, [len(after)]).softmax(1)[0]
        return float(row[words.convert_tokens_to_ids(text)])

    blank = [words.convert_tokens_to_ids("\u0120")]
    first = {text: share(text, []) for text in ("A", "B", "\u0120", "\u0120A", "\u0120B")}
    later = {text: share(text, blank) for text in ("A", "B")}
    whole = sum(value for text, value in first.items() if words.convert_tokens_to_ids(text) != words.unk_token_id)
    joined = first["\u0120A"] if words.convert_tokens_to_ids("\u0120A") != words.unk_token_id else 0.0
    likely = (first["A"] + joined + first["\u0120"] * later["A"] / (later["A"] + later["B"])) / whole
    drawn = replies(engine, [Wish(question, Sampling(1.0, 1.0, 6), seed, constrain=True) for seed in range(1000)])
    count = sum(reply.text == "A" for reply in drawn)
    assert chisquare([count, 1000 - count], [1000 * likely, 1000 * (1 - likely)]).pvalue > 0.001


def test_a_reply_cannot_be_held_to_nothing(engine: Any) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install 'facevalue[hf]'")
    empty = ask("warm", (LETTERS[0], Option("", " ", "none")))
    first, second = replies(engine, [Wish(empty, Sampling(), 1, True), Wish(ask("warm"), Sampling(), 1, True)])
    assert isinstance(first, Failed)
    assert "empty" in first.reason
    assert second.text in ("(a)", "(b)")


def test_without_the_grammar_library_the_message_says_what_to_install(
    llava: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    engine = planted.engine(llava)
    assert replies(engine, [Wish(ask("warm"), Sampling(1.0, 1.0, 2))])
    with pytest.raises(DependencyError, match=r"facevalue\[hf\]"):
        replies(engine, [Wish(ask("warm"), Sampling(1.0, 1.0, 2), constrain=True)])
