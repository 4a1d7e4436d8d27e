"""Exact probabilities: what trying out every reply by plain forward passes gives, whatever is packed with what."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.types import Option, Question, Sampling
from tests.models.hf import planted, tiny

torch: Any = tiny.torch

from facevalue.models.hf import engine as engines  # noqa: E402
from facevalue.models.hf import options as reading  # noqa: E402
from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.decoding import PlainDecoding, SharedDecoding, mask_picture_tokens  # noqa: E402
from facevalue.models.hf.packing import TokenBudget, attempt  # noqa: E402
from facevalue.models.hf.prefix import Branch, Prefix  # noqa: E402
from facevalue.models.hf.reference_pass import plain_logits  # noqa: E402
from facevalue.models.hf.scoring import Habits, OptionScore, ScoreJob  # noqa: E402
from facevalue.models.hf.token_sampling import distribution  # noqa: E402

PICTURE = tiny.picture("one")
LETTERS = (Option("(a)", "competent", "up"), Option("(b)", "honest", "down"))
A_AB = (Option("A", "", "one"), Option("AB", "", "two"))
WORDS = (Option("", "Yes", "yes"), Option("", "No", "no"))


def ask(word: str, options: tuple[Option, ...] = LETTERS) -> Question:
    return Question(prompt=f"Who is more {word}, the left person or the right person?", options=options)


QUESTIONS = [ask(word, options) for options in (LETTERS, A_AB, WORDS) for word in ("competent", "lazy", "warm")]


@pytest.fixture(scope="module", params=["llava", "llava_next"])
def folder(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-level and a SentencePiece-like tokenizer."""
    made: Path = getattr(tiny, request.param)(tmp_path_factory.mktemp(request.param))
    return planted.plant(made)


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted.plant(tiny.llava(tmp_path_factory.mktemp("llava")))


def scores(engine: Any, questions: list[Question], sampling: Sampling) -> list[Any]:
    """Scores in the order of the questions."""
    found = {number: score for number, score, _ in engine.score([PICTURE], questions, sampling)}
    assert sorted(found) == list(range(len(questions)))
    return [found[number] for number in range(len(questions))]


def tried_out(engine: Any, question: Question, sampling: Sampling) -> tuple[list[float], float]:
    """Follow every reply that may still become an option, by plain forward passes; also what was not followed."""
    loaded, spellings = engine.loaded, reading.spellings_of(question.options)
    (group,) = prepare(loaded, [PICTURE], [question])
    inputs = group.full(0)
    probs, left = [0.0] * len(question.options), 0.0
    waiting: list[tuple[list[int], float]] = [([], 1.0)]
    while waiting:
        reply, mass = waiting.pop()
        logits, _ = mask_picture_tokens(loaded, plain_logits(loaded, inputs, reply, [len(reply)]))
        shares = distribution(logits, sampling)[0].double().numpy()
        for token in np.flatnonzero(shares).tolist():
            longer, reached = [*reply, token], mass * float(shares[token])
            text = loaded.tokenizer.decode(longer, skip_special_tokens=True).split("\ufffd")[0]
            ended = token in loaded.stop_ids or len(longer) == sampling.max_tokens
            verdict = reading.match_reply(text, spellings, ended=ended)
            if verdict is None:
                continue
            if verdict >= 0:
                probs[verdict] += reached
            elif reached < 1e-4 or token in loaded.tokenizer.all_special_ids:
                left += reached
            else:
                waiting.append((longer, reached))
    return probs, left


@pytest.mark.parametrize(
    ("options", "sampling"),
    [(LETTERS, Sampling(0.7, 1.0, 4)), (A_AB, Sampling(0.6, 0.95, 8)), (WORDS, Sampling(0.5, 1.0, 3))],
    ids=["letters", "A-AB", "words"],
)
def test_probabilities_are_those_of_trying_out_every_reply(
    llava: Path, options: tuple[Option, ...], sampling: Sampling
) -> None:
    engine = planted.engine(llava)
    (score,) = scores(engine, [ask("honest", options)], sampling)
    probs, left = tried_out(engine, ask("honest", options), sampling)
    for exact, plain in zip(score.probs, probs, strict=True):
        assert exact <= plain + left + 1e-5
        assert exact >= plain - score.undecided - 1e-5
    assert sum(score.probs) > left + score.undecided


def test_log_probabilities_are_the_products_of_the_tokens(folder: Path) -> None:
    engine = planted.engine(folder)
    written = [question for question in QUESTIONS if question.options != A_AB]
    for question, score in zip(written, scores(engine, written, Sampling(0.3, 0.8, 8)), strict=True):
        (group,) = prepare(engine.loaded, [PICTURE], [question])
        for option, log in zip(question.options, score.logprobs, strict=True):
            text = option.label or option.text
            found: list[list[float]] = []
            for way in (text, " " + text):  # a token before, so that a blank is neither added nor joined
                head = engine.loaded.tokenizer("\n", add_special_tokens=False)["input_ids"]
                ids = engine.loaded.tokenizer("\n" + way, add_special_tokens=False)["input_ids"][len(head) :]
                logits = plain_logits(engine.loaded, group.full(0), ids, range(len(ids)))
                logs = mask_picture_tokens(engine.loaded, logits)[0].log_softmax(1)
                found.append([logs[at, token].item() for at, token in enumerate(ids)])
            likelier = max(found, key=lambda way: way[0])
            assert log == pytest.approx(sum(likelier), abs=1e-4)


def test_format_mass_counts_what_two_options_share_once(llava: Path) -> None:
    letters, pair = scores(planted.engine(llava), [ask("lazy"), ask("lazy", A_AB)], Sampling())
    assert letters.format_mass == pytest.approx(sum(map(math.exp, letters.logprobs)))
    assert pair.format_mass <= sum(map(math.exp, pair.logprobs)) + 1e-9
    assert 0 < letters.format_mass < 1


def test_an_option_that_begins_another_keeps_what_does_not_go_on(llava: Path) -> None:
    """With the longer one gone, the shorter one has no more than before: "AB" is not "A" and something."""
    both, alone = scores(
        planted.engine(llava), [ask("warm", A_AB), ask("warm", (A_AB[0], WORDS[1]))], Sampling(1.0, 1.0, 8)
    )
    assert both.probs[1] > 0
    assert 0 < both.probs[0] == pytest.approx(alone.probs[0], abs=1e-6)


def test_greedy_is_all_or_nothing_and_the_greedy_reply(llava: Path) -> None:
    engine = planted.engine(llava)
    found = scores(engine, QUESTIONS, Sampling(0.0, 1.0, 8))
    wishes = [engines.Wish(question, Sampling(0.0, 1.0, 8)) for question in QUESTIONS]
    replies = {number: reply for number, reply, _ in engine.generate([PICTURE], wishes)}
    for number, (question, score) in enumerate(zip(QUESTIONS, found, strict=True)):
        verdict = read(engine, replies[number], question)
        assert score.probs == tuple(float(at == verdict) for at in range(len(question.options)))


def read(engine: Any, reply: Any, question: Question) -> int | None:
    """Read a reply when it is done."""
    text = engine.loaded.tokenizer.decode(reply.tokens, skip_special_tokens=True)
    return reading.match_reply(text, reading.spellings_of(question.options), ended=True)


def same(one: list[OptionScore], other: list[OptionScore]) -> None:
    for mine, yours in zip(one, other, strict=True):
        assert mine.probs == pytest.approx(yours.probs, abs=2e-5)
        assert mine.logprobs == pytest.approx(yours.logprobs, abs=1e-4)


def test_order_and_company_change_nothing(folder: Path) -> None:
    engine = planted.engine(folder)
    questions = [question for question in QUESTIONS if question.options != A_AB]
    together = scores(engine, questions, Sampling(0.8, 0.95, 8))
    same(scores(engine, questions[::-1], Sampling(0.8, 0.95, 8))[::-1], together)
    same([scores(engine, [question], Sampling(0.8, 0.95, 8))[0] for question in questions], together)
    assert all(score.probs != together[0].probs for score in together[1:])


def test_a_family_that_cannot_share_gives_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [question for question in QUESTIONS if question.options != A_AB]
    together = scores(planted.engine(folder), questions, Sampling(0.8, 0.95, 8))
    engine = planted.untried(planted.engine(folder), shares=False)
    same(scores(engine, questions, Sampling(0.8, 0.95, 8)), together)
    assert engine.check.checks >= 1  # the plain way is compared with what the model says by itself


def test_probabilities_and_what_is_undecided_are_at_most_one(llava: Path) -> None:
    for sampling in (Sampling(1.0), Sampling(2.0, 1.0, 3), Sampling(0.1, 0.5, 8)):
        for score in scores(planted.engine(llava), QUESTIONS, sampling):
            assert sum(score.probs) + score.undecided <= 1 + 1e-5
            assert min(score.probs) >= 0


def test_options_nobody_can_give_and_prompts_that_do_not_fit_fail_alone(llava: Path) -> None:
    engine = planted.engine(llava)
    long = Question(prompt="person " * 2000, options=LETTERS)
    empty = ask("warm", (LETTERS[0], Option("", "", "none")))
    first, second, third = scores(engine, [long, ask("warm"), empty], Sampling())
    assert "context of 1024" in first.reason
    assert isinstance(second, OptionScore)
    assert "Option 2 of 2 is empty" in third.reason


# Memory.


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[int]]:
    """Let the model run out of memory above so many tokens; note what went through."""
    grow = Branch.grow

    def limited(most: int) -> list[int]:
        sizes: list[int] = []

        def grown(self: Branch, ids: Any, parents: Any, read: Any) -> Any:
            sizes.append(len(ids))
            if len(ids) > most:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
            return grow(self, ids, parents, read)

        monkeypatch.setattr(Branch, "grow", grown)
        return sizes

    return limited


def test_out_of_memory_halves_the_packs_and_is_remembered(llava: Path, narrow: Callable[[int], list[int]]) -> None:
    together = scores(planted.engine(llava), QUESTIONS, Sampling(0.3, 1.0, 4))
    engine = planted.untried(planted.engine(llava))
    sizes = narrow(50)
    same(scores(engine, QUESTIONS, Sampling(0.3, 1.0, 4)), together)
    assert max(sizes) > 50
    sizes.clear()
    same(scores(engine, QUESTIONS, Sampling(0.3, 1.0, 4)), together)
    assert 0 < max(sizes) <= 50


def test_what_does_not_fit_even_alone_fails_and_the_rest_goes_on(
    llava: Path, narrow: Callable[[int], list[int]]
) -> None:
    narrow(50)
    long = Question(prompt="Who is honest? " * 30, options=LETTERS)
    first, second = scores(planted.untried(planted.engine(llava)), [long, ask("warm")], Sampling(1.0, 1.0, 4))
    assert "out of memory" in first.reason
    assert isinstance(second, OptionScore)


def test_other_errors_are_no_lack_of_memory() -> None:
    def broken(_: int) -> int:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        attempt(broken, 0)


def test_a_pack_stays_as_small_as_memory_made_it(llava: Path) -> None:
    budget = TokenBudget(planted.engine(llava).loaded)
    assert budget.tokens(10) == budget.tokens(3000) > 100
    budget.halve(200)
    assert budget.tokens(10) == budget.tokens(3000) == 100


# What it is built of.


@settings(max_examples=15)
@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(5, 8)), max_size=4), min_size=1, max_size=4))
def test_growth_over_a_prefix_reads_what_plain_passes_read(calls: list[list[tuple[int, int]]]) -> None:
    engine, group, prefix = _grown()
    shared, plain = SharedDecoding(prefix, group.suffixes), PlainDecoding(engine.loaded, group)
    known: list[tuple[int, tuple[int, ...]]] = []
    paths: list[tuple[int, tuple[int, ...]]] = [(member, ()) for member in range(3)]
    for call in [[], *calls]:
        for member, token in call:
            longest = max((reply for m, reply in known if m == member), key=len)
            paths.append((member, (*longest, token)))
        paths = [path for path in dict.fromkeys(paths) if path not in known]
        if paths:
            assert (shared.read(paths) - plain.read(paths)).abs().max() < 2e-4
        known, paths = [*known, *paths], []


_GROWN: list[Any] = []


def _grown() -> Any:
    """An engine, a group and its prefix, made once: Hypothesis takes no fixtures that change."""
    if not _GROWN:
        import tempfile

        with tempfile.TemporaryDirectory() as name:
            engine = planted.engine(tiny.llava(Path(name)))
        (group,) = prepare(engine.loaded, [PICTURE], QUESTIONS[:2] + QUESTIONS[:1])  # two of three are the same
        assert group.inputs is not None
        _GROWN.extend((engine, group, Prefix.read_prefixes(engine.loaded, group.inputs)))
    return _GROWN


LOGITS = st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=12)


@given(LOGITS, st.floats(0.1, 3), st.floats(0.05, 1))
def test_the_distribution_is_softmax_and_nucleus_as_defined(logits: list[float], temperature: float, p: float) -> None:
    found = distribution(torch.tensor([logits]), Sampling(temperature, p))[0].double().numpy()
    powers = np.exp(np.array(logits, np.float32).astype(float) / temperature - max(logits) / temperature)
    shares = powers / powers.sum()
    kept, mass = [], 0.0
    for token in sorted(range(len(logits)), key=lambda t: (-shares[t], t)):
        if mass >= p - 1e-5:
            break
        kept.append(token)
        mass += shares[token]
    if abs(mass - p) < 1e-4 or len({round(s, 5) for s in shares}) < len(shares):
        return  # on the edge rounding decides
    expected = np.where(np.isin(np.arange(len(logits)), kept), shares, 0) / mass
    assert found == pytest.approx(expected, abs=1e-5)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.01, 1.0, 8.0]),
    st.floats(0.05, 0.9999),
    st.sampled_from([1, 255, 256, 257, 2000]),
    st.booleans(),
)
def test_a_nucleus_found_among_the_likeliest_is_that_of_the_sorted_vocabulary(
    seed: int, spread: float, p: float, size: int, coarse: bool
) -> None:
    """Peaked rows and flat ones, with and without ties, together: the flat ones reach beyond the likeliest tokens."""
    draws = np.random.default_rng(seed)
    logits = draws.standard_normal((4, size)) * np.array([[spread], [0.0], [1.0], [4.0]])
    logits = np.round(logits) if coarse else logits
    found = distribution(torch.tensor(logits, dtype=torch.float32), Sampling(1.0, p)).numpy()
    shares = torch.softmax(torch.tensor(logits, dtype=torch.float32), dim=1).numpy()
    for row, share in zip(found, shares, strict=True):
        order = np.lexsort((np.arange(size), -share))
        sums = np.cumsum(share[order].astype(float))
        kept = order[sums - share[order].astype(float) < p]
        nucleus = np.zeros_like(share)
        nucleus[kept] = share[kept]
        assert np.flatnonzero(row).tolist() == np.flatnonzero(nucleus).tolist()
        assert row == pytest.approx(nucleus / nucleus.sum(), rel=1e-5)


def test_temperature_zero_takes_the_likeliest() -> None:
    found = distribution(torch.tensor([[0.0, 2.0, 1.0], [5.0, 2.0, 1.0]]), Sampling(0.0, 0.3))
    assert found.tolist() == [[0, 1, 0], [1, 0, 0]]


def test_a_guess_comes_with_its_beginnings(llava: Path) -> None:
    """An option that goes on from a beginning that was not worth guessing is read in its turn, not ahead of it."""
    habits = Habits()
    reader, _ = planted.engine(llava)._options(LETTERS)
    wanted = ScoreJob(0, reader, [[(5, 6, 7)], [(8, 9)]], Sampling(), 10)
    assert habits.guess(wanted) == [(), (5,), (5, 6), (8,)]
    habits.learn(wanted, [(5,)], [])
    assert habits.guess(wanted) == [(), (8,)]
    habits.learn(wanted, [], [(5,)])
    assert habits.guess(wanted) == [(), (5,), (5, 6), (8,)]


def test_options_that_go_on_from_a_beginning_of_no_use_are_scored(llava: Path) -> None:
    engine = planted.engine(llava)
    short = ask("warm", (Option("", "xy", "one"), Option("", "Yes", "two")))
    long = ask("warm", (Option("", "xyz", "one"), Option("", "xyq", "two")))
    engine._habits.learn = lambda _, guessed, needed: engine._habits._counts.update(
        dict.fromkeys([(False, reply) for reply in guessed], (1, 0))
    )
    scores(engine, [short], Sampling(1.0))
    again = planted.engine(llava)
    (first,), (second,) = scores(engine, [long], Sampling(1.0)), scores(again, [long], Sampling(1.0))
    assert first.probs == pytest.approx(second.probs, abs=1e-5)
