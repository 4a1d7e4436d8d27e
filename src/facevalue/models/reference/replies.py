"""What the reference model replies to questions about one picture: exact probabilities of options, and drawn replies.

Both read the same table: which token follows a reply that has begun. Each place of it is computed once, whichever
question, option or repeat needs it, and all that are needed next are computed together.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from facevalue.models.hf.options import OPEN, OptionReader
from facevalue.models.hf.vocabulary import Vocabulary
from facevalue.models.reference.network import Network, Prefix, softmax
from facevalue.types import Option, Sampling

Floats = npt.NDArray[np.float32]
Reply = tuple[int, ...]

LEAST_MASS = 1e-4
"""A beginning of a reply that is rarer and not decided yet is not followed."""
LONGEST = 64
"""Most tokens of a reply."""
ROWS = 128
"""Rows that are computed at once."""


class Place(NamedTuple):
    """A place in a reply: which prompt is answered, and the reply's tokens so far."""

    prompt: tuple[int, ...]
    reply: Reply


class Following:
    """What follows, by place; over one prefix.

    Parameters
    ----------
    network:
        The model.
    prefix:
        The picture, run.
    """

    def __init__(self, network: Network, prefix: Prefix) -> None:
        self._network = network
        self._prefix = prefix
        self._known: dict[Place, Floats] = {}

    def look_up(self, places: Iterable[Place]) -> None:
        """Compute what is not known yet: one row for each reply that is no beginning of another."""
        new = [place for place in dict.fromkeys(places) if place not in self._known]
        inner = {Place(p.prompt, p.reply[:n]) for p in new for n in range(len(p.reply))}
        ends = sorted((place for place in new if place not in inner), key=lambda p: len(p.prompt) + len(p.reply))
        for start in range(0, len(ends), ROWS):
            part = ends[start : start + ROWS]
            rows = [(*place.prompt, *place.reply) for place in part]
            reads = [
                [n for n in range(len(p.reply) + 1) if Place(p.prompt, p.reply[:n]) not in self._known] for p in part
            ]
            wanted = [[len(p.prompt) - 1 + n for n in own] for p, own in zip(part, reads, strict=True)]
            for place, own, logits in zip(part, reads, self._network.read(self._prefix, rows, wanted), strict=True):
                self._known |= {Place(place.prompt, place.reply[:n]): row for n, row in zip(own, logits, strict=True)}

    def logits(self, place: Place) -> Floats:
        """Return the logits at a place that has been looked up."""
        return self._known[place]


def distribution(logits: Floats, sampling: Sampling) -> npt.NDArray[np.float64]:
    """Return how likely each token is to be drawn: softmax at a temperature, within the nucleus.

    As `facevalue.models.hf.drawing.distribution`, for one place.
    """
    if sampling.temperature == 0:
        best = np.zeros(logits.size)
        best[int(logits.argmax())] = 1.0
        return best
    shares = softmax(logits.astype(np.float64) / sampling.temperature)
    if sampling.top_p >= 1:
        return shares
    order = np.argsort(-shares, kind="stable")
    before = np.cumsum(shares[order]) - shares[order]
    shares[order[before >= sampling.top_p]] = 0.0
    return shares / shares.sum()


@dataclass(eq=False)
class Weighed:
    """One question whose options are weighed.

    Attributes
    ----------
    prompt:
        Its tokens after the picture.
    reader:
        Its options.
    sampling:
        How replies are drawn.
    probs:
        Probability of each option, when `weigh` is done.
    """

    prompt: tuple[int, ...]
    reader: OptionReader
    sampling: Sampling
    probs: npt.NDArray[np.float64] = field(init=False)
    open: dict[Reply, float] = field(init=False)
    raw: dict[Reply, bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.probs, self.open, self.raw = np.zeros(len(self.reader)), {(): 1.0}, {(): b""}

    def follow(self, following: Following, vocabulary: Vocabulary) -> None:
        """Enter what may come next at every open place."""
        for reply, mass in list(self.open.items()):
            del self.open[reply]
            step = self.reader.step(self.raw[reply])
            shares = distribution(following.logits(Place(self.prompt, reply)), self.sampling)[step.tokens]
            decided = step.verdicts != OPEN
            self.probs += mass * np.bincount(step.verdicts[decided], shares[decided], minlength=self.probs.size)
            if len(reply) + 1 >= self.sampling.max_tokens:
                continue
            likely = ~decided & vocabulary.speaking[step.tokens] & (mass * shares >= LEAST_MASS)
            for token, share in zip(step.tokens[likely].tolist(), shares[likely].tolist(), strict=True):
                self.open[(*reply, token)] = mass * share
                self.raw[(*reply, token)] = self.raw[reply] + (vocabulary.pieces[token] or b"")


def weigh(following: Following, questions: Sequence[Weighed], vocabulary: Vocabulary, guess: Sequence[Reply]) -> None:
    """Weigh the options of questions over one picture, exactly but for what is rarer than `LEAST_MASS`.

    Parameters
    ----------
    following:
        What follows what.
    questions:
        The questions; their `probs` are filled in.
    vocabulary:
        The model's tokens.
    guess:
        Beginnings of replies that are computed at once with the prompts. Wrong ones cost time and change nothing.
    """
    following.look_up(Place(q.prompt, reply) for q in questions for reply in ((), *guess))
    while waiting := [q for q in questions if q.open]:
        following.look_up(Place(q.prompt, reply) for q in waiting for reply in q.open)
        for question in waiting:
            question.follow(following, vocabulary)


@dataclass(eq=False)
class Written:
    """One reply that is drawn.

    Attributes
    ----------
    prompt, sampling:
        What is answered, and how the reply is drawn.
    uniforms:
        A number in [0, 1) for each token.
    allowed:
        The replies it is held to; None if it is free.
    reply:
        Its tokens so far.
    ended:
        Whether it ended by itself.
    """

    prompt: tuple[int, ...]
    sampling: Sampling
    uniforms: npt.NDArray[np.float64]
    allowed: Sequence[Reply] | None = None
    reply: Reply = ()
    ended: bool = False

    @property
    def done(self) -> bool:
        """Whether nothing more is drawn."""
        return self.ended or len(self.reply) >= min(self.sampling.max_tokens, LONGEST)

    def go_on(self, logits: Floats, end: int) -> None:
        """Draw the next token."""
        if self.allowed is not None:
            fitting = [way for way in self.allowed if way[: len(self.reply)] == self.reply]
            tokens = [way[len(self.reply)] if len(way) > len(self.reply) else end for way in fitting]
            mask = np.full(logits.shape, -np.inf, dtype=logits.dtype)
            mask[tokens] = 0
            logits = logits + mask
        summed = np.cumsum(distribution(logits, self.sampling))
        aim = self.uniforms[len(self.reply)] * summed[-1]
        token = min(int(np.searchsorted(summed, aim, side="right")), summed.size - 1)
        if token == end:
            self.ended = True
        else:
            self.reply = (*self.reply, token)


def write(following: Following, replies: Sequence[Written], end: int) -> None:
    """Draw replies, all of them one token further at a time."""
    while waiting := [reply for reply in replies if not reply.done]:
        following.look_up(Place(one.prompt, one.reply) for one in waiting)
        for one in waiting:
            one.go_on(following.logits(Place(one.prompt, one.reply)), end)


def ways(options: Sequence[Option], encode: Callable[[str], Sequence[int]]) -> list[Reply]:
    """Return the tokens of each option as a reply is written: its label, or its text if it has none."""
    return [tuple(encode((option.label or option.text).strip())) for option in options]
