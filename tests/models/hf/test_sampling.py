"""Replies drawn: as the logits say, the same for the same seed, no longer than allowed, held to options if asked."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from facevalue.answers import NA, parse
from facevalue.errors import DependencyError
from facevalue.models._chat import constrained_texts
from facevalue.types import Option, Question, Sampling
from tests.models.hf import planted, tiny
from tests.models.hf.test_scoring import A_AB, LETTERS, PICTURE, QUESTIONS, ask, read, scores

torch: Any = tiny.torch

from facevalue.models.hf import options as reading  # noqa: E402
from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.check import SelfCheck  # noqa: E402
from facevalue.models.hf.constraints import ConstrainedReader  # noqa: E402
from facevalue.models.hf.decoding import SharedDecoding  # noqa: E402
from facevalue.models.hf.engine import Failed, Wish  # noqa: E402
from facevalue.models.hf.prefix import Branch  # noqa: E402
from facevalue.models.hf.reference_pass import plain_logits  # noqa: E402
from facevalue.models.hf.token_sampling import pick, uniforms  # noqa: E402


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
    plain = planted.untried(planted.engine(llava), shares=False)
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


def agree(observed: list[int], shares: list[float]) -> int:
    """Chi-square of counts against shares, rare ones taken together; return how many kinds were told apart."""
    total = sum(observed)
    kept = [place for place, share in enumerate(shares) if share * total >= 5]  # where chi-square holds
    rare = [place for place in range(len(shares)) if place not in kept]
    expected = [total * shares[place] for place in kept] + [total * sum(shares[place] for place in rare)]
    found = [observed[place] for place in kept] + [sum(observed[place] for place in rare)]
    if expected[-1] < 1:  # too rare to test; nearly never seen
        assert found.pop() <= 5
        expected = [share * sum(found) / sum(expected[:-1]) for share in expected[:-1]]
    if len(found) > 1:
        assert chisquare(found, np.array(expected) * sum(found) / sum(expected)).pvalue > 0.001, (found, expected)
    return len(found)


# What a reply begins with, what comes second, and what comes then: letters, and what makes other words of them.
FIRST = {"A": 9.5, "B": 8.5, "(": 9.0, "a": 8.0, "b": 8.0, "N": 8.0}
SECOND = {"A": 8.0, "B": 8.0, "\u0120right": 8.5, ".": 8.5, "</s>": 9.5, "a": 9.0, "b": 8.5, ")": 8.0, "\u010a": 7.5}
THEN = {"</s>": 10.0, ".": 8.0, "\u0120right": 8.0, ")": 9.0}
NAMES = {"(": 11.0}, {"a": 10.0, "b": 9.5}, {")": 11.0}
OTHER = {"/": 17.5, "</s>": 9.5}, {"(": 11.0}, {"b": 11.0}, {")": 11.0}, {"</s>": 11.0}


def said(engine: Any, monkeypatch: pytest.MonkeyPatch, *liked: dict[str, float]) -> None:
    """Let a model like some tokens in each place of a reply; the self-check doesn't know of it."""
    words, size = engine.loaded.tokenizer, engine._vocabulary.size
    bias = torch.zeros(len(liked), size)
    for place, each in enumerate(liked):
        for text, much in each.items():
            bias[place, words.get_vocab()[text]] = much
    before = SharedDecoding.read

    def read(self: SharedDecoding, paths: Any) -> Any:
        places = [min(len(reply), len(liked) - 1) for _, reply in paths]
        return before(self, paths) + bias[places]

    monkeypatch.setattr(SharedDecoding, "read", read)
    monkeypatch.setattr(engine.trials, "allow", lambda *_: True)
    monkeypatch.setattr(SelfCheck, "compare", lambda *_: None)


def begun(reply: Any, question: Question) -> int | None:
    return reading.match_reply(reply.text, reading.spellings_of(question.options), ended=True)


@pytest.mark.parametrize("question", [ask("lazy"), ask("warm", A_AB)], ids=["letters", "A-AB"])
@pytest.mark.parametrize("most", [1, 2, 6])
def test_sampled_replies_read_by_the_parser_agree_with_exact_over_2000_draws(
    engine: Any, monkeypatch: pytest.MonkeyPatch, question: Question, most: int
) -> None:
    said(engine, monkeypatch, FIRST, SECOND, THEN)
    sampling = Sampling(0.9, 0.995, most)
    (score,) = scores(engine, [question], sampling)
    drawn = replies(engine, [Wish(question, sampling, seed) for seed in range(2000)])
    read = [parse(reply.text, question.options, truncated=not reply.ended).choice for reply in drawn]
    if most > 1:  # words that go on after a letter are no option
        assert sum(choice is None and reply.text[:1] in "AB" for choice, reply in zip(read, drawn, strict=True)) > 100
    agree([read.count(option) for option in [*range(len(score.probs)), None]], [*score.probs, 1 - sum(score.probs)])


def test_a_reply_that_goes_on_to_name_another_option_counts_for_the_first(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one known difference: "(a)/(b)" is decided at "(a)", and the parser reads on to find both."""
    said(engine, monkeypatch, *NAMES, *OTHER)
    question, sampling = ask("lazy"), Sampling(0.9, 0.995, 8)
    (score,) = scores(engine, [question], sampling)
    drawn = replies(engine, [Wish(question, sampling, seed) for seed in range(2000)])
    first = [begun(reply, question) for reply in drawn]
    agree([first.count(option) for option in (0, 1, None)], [*score.probs, 1 - sum(score.probs)])
    read = [parse(reply.text, question.options, truncated=not reply.ended) for reply in drawn]
    others = [parsed.reason for parsed, option in zip(read, first, strict=True) if parsed.choice != option]
    assert 0.1 < len(others) / len(drawn) < 0.4  # so much mass was planted there
    assert {*others} <= {NA.BOTH, NA.HEDGED}


@pytest.mark.parametrize("sampling", [Sampling(0.8, 0.9, 6), Sampling(0.7, 1.0, 6)])
def test_sampled_and_exact_agree_over_2000_trials(engine: Any, sampling: Sampling) -> None:
    """For each of four questions, replies read from their beginning."""
    questions = [ask("lazy"), ask("warm"), ask("lazy", A_AB), ask("honest")]
    wishes = [Wish(question, sampling, seed) for seed in range(500) for question in questions]
    drawn = replies(engine, wishes)
    told = []
    for at, (question, score) in enumerate(zip(questions, scores(engine, questions, sampling), strict=True)):
        counts = Counter(read(engine, reply, question) for reply in drawn[at::4])
        assert score.undecided < 0.01
        shares = [*score.probs, 1 - sum(score.probs)]
        told.append(agree([counts[option] for option in [*range(len(score.probs)), None]], shares))
    assert sum(kinds > 1 for kinds in told) >= 3


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
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install '.[hf]'")
    question = Question(prompt="Which?", options=tuple(Option("", text, text) for text in ODD))
    drawn = replies(engine, [Wish(question, Sampling(2.5, 1.0, 20), seed, constrain=True) for seed in range(100)])
    assert {reply.text for reply in drawn} <= set(ODD)
    assert len({reply.text for reply in drawn}) > 4
    assert all(reply.ended for reply in drawn)


@pytest.mark.parametrize("text", ODD)
def test_any_text_can_be_an_option(engine: Any, text: str) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install '.[hf]'")
    question = Question(prompt="Which?", options=(Option("", text, "only"),))
    (reply,) = replies(engine, [Wish(question, Sampling(1.0, 1.0, 24), 1, constrain=True)])
    assert (reply.text, reply.ended) == (text, True)


def test_a_constrained_reply_is_drawn_from_what_is_left_of_the_same_logits(engine: Any) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install '.[hf]'")
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


HELD = [
    ask("warm"),
    ask("lazy", A_AB),
    ask("warm", (Option("", "yes", "one"), Option("", "no", "two"), Option("", "yes no", "three"))),
]


@pytest.mark.parametrize("sampling", [Sampling(1.0, 1.0, 8), Sampling(1.6, 0.8, 8), Sampling(0.7, 0.9, 2)])
def test_constrained_replies_and_their_exact_probabilities_agree_over_2000_draws(
    engine: Any, sampling: Sampling
) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install '.[hf]'")
    found = {number: score for number, score, _ in engine.score([PICTURE], HELD, sampling, constrain=True)}
    each = 2000 // len(HELD) + 1
    drawn = replies(engine, [Wish(question, sampling, seed, True) for seed in range(each) for question in HELD])
    for at, question in enumerate(HELD):
        score, mine = found[at], drawn[at :: len(HELD)]
        shares = [*score.probs, 1 - sum(score.probs)]
        if sampling.max_tokens > 2:
            assert shares[-1] == pytest.approx(0, abs=1e-4)
        read = Counter(parse(reply.text, question.options, truncated=not reply.ended).choice for reply in mine)
        agree([read[option] for option in [*range(len(score.probs)), None]], shares)


def test_what_may_come_next_is_the_same_for_drawn_and_for_exact(engine: Any) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install '.[hf]'")
    vocabulary = engine._vocabulary
    odd = tuple(Option("", text, text) for text in ODD[:5]) + A_AB
    for options in (LETTERS, A_AB, odd):
        reader = ConstrainedReader(options, vocabulary)
        waiting: list[tuple[tuple[int, ...], Any]] = [((), engine._constraints.start(constrained_texts(options)))]
        seen = set()
        while waiting:
            tokens, constraint = waiting.pop()
            step = reader.step(vocabulary.raw(tokens), left=0)
            assert np.flatnonzero(constraint.allowed_tokens()).tolist() == step.tokens.tolist()
            for token in step.tokens.tolist():
                raw = vocabulary.raw((*tokens, token))
                if token not in vocabulary.stops and raw not in seen:
                    seen.add(raw)
                    further = engine._constraints.start(constrained_texts(options))
                    for each in (*tokens, token):
                        further.take(each)
                    if not further.complete:
                        waiting.append(((*tokens, token), further))
        assert len(seen) > 4


def test_a_reply_cannot_be_held_to_nothing(engine: Any) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install '.[hf]'")
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
    with pytest.raises(DependencyError, match=r"pip install '.\[hf\]'"):
        replies(engine, [Wish(ask("warm"), Sampling(1.0, 1.0, 2), constrain=True)])
