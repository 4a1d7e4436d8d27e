"""Options that replies are held to: all ways to write them are read as one tree, and weighed as a plain walk weighs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from facevalue.types import Option, Question, Sampling
from tests.models.hf import planted, tiny
from tests.models.hf.test_scoring import PICTURE

torch = pytest.importorskip("torch")

from facevalue.models.hf.constraints import ConstrainedReader  # noqa: E402
from facevalue.models.hf.scoring import Habits, ScoreJob, score_pack  # noqa: E402
from facevalue.models.hf.vocabulary import TokenVocabulary  # noqa: E402

PIECES = [None, b"", *(piece.encode() for piece in (" ", "a", "b", "ab", "ba", "aa", " a", "b ", " ab", "a b", "c"))]
STOP = 1
VOCABULARY = TokenVocabulary(PIECES, [STOP])
TEXTS = st.lists(
    st.text("ab ", min_size=1, max_size=5).map(str.strip).filter(bool), min_size=1, max_size=4, unique=True
)


class Noise:
    """A model of noise: what follows a beginning of a reply depends on all of it. Counts its passes."""

    passes = 0

    def logits(self, reply: Sequence[int]) -> Any:
        return 3 * np.random.default_rng([7, *reply]).standard_normal(len(PIECES))

    def read(self, paths: Sequence[Any]) -> Any:
        self.passes += 1
        assert len(set(paths)) == len(paths)
        return torch.tensor(np.array([self.logits(reply) for _, reply in paths]), dtype=torch.float32)


def walked(texts: list[str], sampling: Sampling) -> dict[str, float]:
    """Follow every sequence of tokens that spells an option, with or without a blank before it, to its end."""
    whole = {f"{blank}{text}".encode(): text for text in texts for blank in ("", " ")}
    found = dict.fromkeys(texts, 0.0)
    waiting: list[tuple[list[int], bytes, float]] = [([], b"", 1.0)]
    while waiting:
        reply, raw, mass = waiting.pop()
        allowed = [t for t, piece in enumerate(PIECES) if piece and any(w.startswith(raw + piece) for w in whole)]
        allowed += [STOP] if raw in whole else []
        if allowed == [STOP]:
            found[whole[raw]] += mass
            continue
        powers = np.exp(Noise().logits(reply)[allowed] / sampling.temperature)
        shares = dict(zip(allowed, powers / powers.sum(), strict=True))
        kept: dict[int, float] = {}
        for token in sorted(shares, key=lambda t: -shares[t]):
            if sum(kept.values()) < sampling.top_p:
                kept[token] = shares[token]
        for token, share in kept.items():
            reached = mass * share / sum(kept.values())
            if token == STOP:
                found[whole[raw]] += reached
            elif reached > 1e-9:
                waiting.append(([*reply, token], raw + (PIECES[token] or b""), reached))
    return found


def spelt(text: str) -> tuple[int, ...]:
    """Write a text with the longest token that fits, again and again."""
    tokens, rest = [], text.encode()
    while rest:
        token = max((t for t, piece in enumerate(PIECES) if piece and rest.startswith(piece)),
                    key=lambda t: len(PIECES[t] or b""))  # fmt: skip
        tokens.append(token)
        rest = rest[len(PIECES[token] or b"") :]
    return tuple(tokens)


@settings(max_examples=60)
@given(TEXTS, st.sampled_from([Sampling(1.0, 1.0, 64), Sampling(0.7, 0.95, 64), Sampling(2.0, 0.5, 64)]))
@example(["a", "ab", "aba", "abab"], Sampling(1.0, 1.0, 64))
@example(["a b", "a ba", "a bb"], Sampling(0.7, 0.95, 64))
def test_options_weigh_what_a_walk_over_all_their_spellings_gives_in_one_pass_once_met(
    texts: list[str], sampling: Sampling
) -> None:
    reader = ConstrainedReader([Option("", text, text) for text in texts], VOCABULARY)
    wanted = ScoreJob(0, reader, [[spelt(text), spelt(f" {text}")] for text in texts], sampling, 1)
    first, again, habits = Noise(), Noise(), Habits()
    (score,) = score_pack(first, [wanted], VOCABULARY, habits)
    expected = walked(texts, sampling)
    assert score.probs == pytest.approx([expected[text] for text in texts], abs=score.undecided + 1e-5)
    assert sum(score.probs) + score.undecided == pytest.approx(1, abs=1e-5)
    (second,) = score_pack(again, [wanted], VOCABULARY, habits)
    assert second == score
    assert again.passes == 1 <= first.passes


HELD = [
    Question(f"What is the {who} doing?", tuple(Option("", text, text) for text in texts))
    for who in ("person", "left person")
    for texts in (("playing golf", "playing chess", "praying"), ("man", "man and woman", "woman"), ("(a)", "(b)"))
]


def test_options_read_as_one_tree_weigh_what_plain_passes_give(tmp_path: Path) -> None:
    engine, sampling = planted.engine(tiny.llava(tmp_path)), Sampling(0.7, 0.95, 32)

    def asked() -> list[Any]:
        found = {number: score for number, score, _ in engine.score([PICTURE], HELD, sampling, constrain=True)}
        return [found[number] for number in range(len(HELD))]

    together = [asked(), asked()]  # before and after it is known what replies begin with
    plain = (planted.untried(engine, shares=False), asked())[1]
    for scores in together:
        for score, other in zip(scores, plain, strict=True):
            assert score.probs == pytest.approx(other.probs, abs=2e-5)
            assert score.logprobs == pytest.approx(other.logprobs, abs=1e-4)
