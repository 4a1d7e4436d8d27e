"""Replies of the reference model to questions about one picture: exact option probabilities, and drawn replies.

Both go along the same tree of replies, all questions one token further at a time; what several questions, options or
repeats need of it is run once.

Fixed sentences and marks of the conversation are tokens of their own and are looked for first; what is left is cut into
words, digits and marks, and spelled out in the learned pieces. A test compares it with the library that wrote the file.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from facevalue.errors import ModelError
from facevalue.models.hf.constraints import ConstrainedReader
from facevalue.models.hf.options import OPEN, OptionReader, OptionStep
from facevalue.models.hf.vocabulary import BYTES, TokenVocabulary
from facevalue.models.reference.network import Branches, softmax
from facevalue.types import Sampling

# Tokenizer of the reference model in plain Python: byte-level BPE, read from its `tokenizer.json`.


_WORD = 64
"""Characters of the longest pieces that are remembered."""


class Tokens:
    """Turns texts into token ids and back, as a `tokenizer.json` says; the `longest` one has so many characters."""

    def __init__(self, path: Path) -> None:
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
            self._ids: dict[str, int] = settings["model"]["vocab"]
            merges = [tuple(pair) for pair in settings["model"]["merges"]]
            self._added = {entry["content"]: entry["id"] for entry in settings["added_tokens"]}
            self._special = {entry["id"] for entry in settings["added_tokens"] if entry["special"]}
            pattern = settings["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise ModelError(f"{path.name} is not a tokenizer of the reference model: {error}.") from error
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        longest = sorted(self._added, key=len, reverse=True)
        self._whole = _any_of(longest)
        self._sentences = _any_of([text for text in longest if self._added[text] not in self._special])
        self._pieces = re.compile(pattern)
        self._bytes = {byte: character for character, byte in BYTES.items()}
        texts = self._ids | self._added
        self._texts = {number: text for text, number in texts.items()}
        self.size = max(texts.values()) + 1
        self.longest = max(map(len, texts))
        self._known = lru_cache(maxsize=65_536)(self._merge_bytes)

    def id(self, text: str) -> int:
        """Return the id of a mark such as "<end>"."""
        return self._added[text]

    def plain(self, text: str) -> tuple[int, ...]:
        """Return the tokens of what people wrote: marks of the conversation are spelled out, and mark nothing."""
        return self._cut(self._sentences, text)

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text as the library does, marks of the conversation included."""
        return self._cut(self._whole, text)

    def _cut(self, at: re.Pattern[str], text: str) -> tuple[int, ...]:
        out: list[int] = []
        for number, fragment in enumerate(at.split(text)):
            if number % 2:
                out.append(self._added[fragment])
            else:
                for piece in self._pieces.findall(fragment):
                    out += self._known(piece) if len(piece) <= _WORD else self._merge_bytes(piece)
        return tuple(out)

    def piece(self, token: int) -> bytes | None:
        """Return the bytes that a token adds to a text; None for marks."""
        text = self._texts.get(token)
        if text is None or token in self._special:
            return None
        if text in self._added:
            return text.encode()
        codes = BYTES
        return bytes(codes[character] for character in text)

    def _merge_bytes(self, piece: str) -> tuple[int, ...]:
        """Merge the bytes of a piece, the pair that was learned first before all others, wherever it stands."""
        pieces = [self._bytes[byte] for byte in piece.encode(errors="replace")]
        while len(pieces) > 1:
            best = min(pairwise(pieces), key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            merged, at = [], 0
            while at < len(pieces):
                is_best = tuple(pieces[at : at + 2]) == best
                merged.append("".join(best) if is_best else pieces[at])
                at += 1 + is_best
            pieces = merged
        return tuple(self._ids[fragment] for fragment in pieces)


def _any_of(texts: Sequence[str]) -> re.Pattern[str]:
    return re.compile("(" + "|".join(map(re.escape, texts)) + ")")


Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

LONGEST = 64
"""Most tokens of a drawn reply."""
MOST_PLACES = 128
"""Beginnings of one question's replies that are followed at most."""


def distribution(logits: Floats, sampling: Sampling) -> Floats:
    """Return how likely each token is to be drawn, as `facevalue.models.hf.token_sampling.distribution`; rows sum to 1.

    Tokens that may not come have a logit of minus infinity.
    """
    if sampling.temperature == 0:
        best = np.zeros(logits.shape, dtype=np.float32)
        best[np.arange(len(logits)), logits.argmax(axis=1)] = 1.0
        return best
    shares = softmax(logits / np.float32(sampling.temperature))
    if sampling.top_p >= 1:
        return shares
    order = np.argsort(-shares, axis=1, kind="stable")
    ordered = np.take_along_axis(shares, order, axis=1)
    ordered[ordered.cumsum(axis=1, dtype=np.float64) - ordered >= sampling.top_p] = 0.0
    np.put_along_axis(shares, order, ordered, axis=1)
    return shares / shares.sum(axis=1, keepdims=True)


class Begun(NamedTuple):
    """A reply that has begun and is no option yet: its share of all replies, its bytes and its tokens."""

    mass: float
    raw: bytes
    length: int


@dataclass(eq=False)
class Weighed:
    """A question whose options are weighed; when `weigh` is done, `probs` and `undecided` of `scoring.OptionScore`."""

    prompt: tuple[int, ...]
    reader: OptionReader
    sampling: Sampling
    probs: Doubles = field(init=False)
    undecided: float = 0.0
    open: dict[int, Begun] = field(init=False, default_factory=dict)
    followed: int = 0

    def __post_init__(self) -> None:
        self.probs = np.zeros(len(self.reader))

    def next(self) -> Iterator[tuple[int, Begun, OptionStep]]:
        """Return the open beginnings, with the effect of each token; those beyond `MOST_PLACES` are put aside."""
        begun, self.open = self.open, {}
        for place, reply in begun.items():
            if self.followed >= MOST_PLACES:
                self.undecided += reply.mass
                continue
            self.followed += 1
            yield place, reply, self.reader.step(reply.raw, self.sampling.max_tokens - reply.length - 1)


def weigh(
    branches: Branches, questions: Sequence[Weighed], vocabulary: TokenVocabulary, guess: Iterable[Sequence[int]] = ()
) -> None:
    """Weigh the options of questions about one picture; fill in their `probs` and `undecided`.

    As `facevalue.models.hf.scoring.score_pack`: every beginning of a reply that is open and at least as likely as the
    reader's `least` is followed; what the others weigh is reported as undecided. Beginnings in `guess` are run at once
    with the prompts; wrong ones cost time and change nothing.
    """
    guess = list(guess)
    ahead = []
    for question in questions:
        root = branches.enter(question.prompt)
        question.open = {root: Begun(1.0, b"", 0)}
        ahead += [branches.enter(reply, root) for reply in guess]
    branches.run([*(place for question in questions for place in question.open), *ahead])
    while frontier := [(at, *next_step) for at, question in enumerate(questions) for next_step in question.next()]:
        branches.run(place for _, place, _, _ in frontier)
        _follow(branches, questions, frontier, vocabulary)


def _follow(
    branches: Branches,
    questions: Sequence[Weighed],
    frontier: Sequence[tuple[int, int, Begun, OptionStep]],
    vocabulary: TokenVocabulary,
) -> None:
    """Enter what may come next at open places, all of them at once."""
    owner = np.repeat([at for at, _, _, _ in frontier], [step.tokens.size for *_, step in frontier])
    origin = np.repeat(np.arange(len(frontier)), [step.tokens.size for *_, step in frontier])
    tokens = np.concatenate([step.tokens for *_, step in frontier])
    verdicts = np.concatenate([step.verdicts for *_, step in frontier]).astype(np.int64)
    masses = np.array([reply.mass for _, _, reply, _ in frontier])[origin] * _shares(branches, questions, frontier)
    widest = max(len(question.reader) for question in questions)
    decided = verdicts >= 0
    won = np.bincount(owner[decided] * widest + verdicts[decided], masses[decided], minlength=len(questions) * widest)
    thresholds = np.array([question.reader.least for question in questions])[owner]
    undecided = verdicts == OPEN
    # Tokens that are no text are not followed.
    likely = undecided & vocabulary.speaking[tokens] & (masses >= thresholds)
    rare = undecided & ~likely
    lost = np.bincount(owner[rare], masses[rare], minlength=len(questions))
    for question, weights, missed in zip(questions, won.reshape(-1, widest), lost.tolist(), strict=True):
        question.probs += weights[: question.probs.size]
        question.undecided += missed
    followed = zip(origin[likely].tolist(), tokens[likely].tolist(), masses[likely].tolist(), strict=True)
    for start, token, mass in followed:
        at, place, reply, _ = frontier[start]
        raw = reply.raw + (vocabulary.pieces[token] or b"")
        questions[at].open[branches.enter([token], place)] = Begun(mass, raw, reply.length + 1)


def _shares(
    branches: Branches, questions: Sequence[Weighed], frontier: Sequence[tuple[int, int, Begun, OptionStep]]
) -> Floats:
    """Return how likely the tokens of each step are, one after the other."""
    out: list[Floats] = [np.zeros(0, dtype=np.float32)] * len(frontier)
    together: dict[Sampling, list[int]] = {}
    for number, (at, place, _, step) in enumerate(frontier):
        question = questions[at]
        if question.reader.alone:  # no other token may come
            out[number] = distribution(branches.logits([place])[:, step.tokens], question.sampling)[0]
        else:
            together.setdefault(question.sampling, []).append(number)
    for sampling, members in together.items():
        table = distribution(branches.logits(frontier[number][1] for number in members), sampling)
        for row, number in zip(table, members, strict=True):
            out[number] = row[frontier[number][3].tokens]
    return np.concatenate(out)


@dataclass(eq=False)
class Written:
    """One reply that is drawn with a number in [0, 1) for each token, and what it is `held` to.

    `place` in the tree; `count` with the token that ended it; `ended` by itself, as opposed to the token limit.
    """

    prompt: tuple[int, ...]
    sampling: Sampling
    uniforms: Doubles
    held: ConstrainedReader | None = None
    place: int = Branches.ROOT
    raw: bytes = b""
    count: int = 0
    ended: bool = False

    @property
    def going(self) -> bool:
        """True if more is to be drawn."""
        return not self.ended and self.count < min(self.sampling.max_tokens, LONGEST)

    def draw(self, shares: Doubles) -> int:
        """Return the place of the first summed probability that exceeds a uniform number."""
        aim = self.uniforms[self.count] * shares[-1]
        return min(int(np.searchsorted(shares, aim, side="right")), shares.size - 1)

    def take(self, token: int, branches: Branches, vocabulary: TokenVocabulary) -> None:
        """Append a token."""
        self.count += 1
        if token in vocabulary.stops:
            self.ended = True
            return
        self.place = branches.enter([token], self.place)
        self.raw += vocabulary.pieces[token] or b""
        # A held reply that can only end has ended.
        self.ended = self.held is not None and vocabulary.stops.issuperset(self.held.step(self.raw).tokens.tolist())


def write(branches: Branches, replies: Sequence[Written], vocabulary: TokenVocabulary) -> None:
    """Draw replies to their ends, all of them one token further at a time."""
    for reply in replies:
        reply.place = branches.enter(reply.prompt)
    while going := [reply for reply in replies if reply.going]:
        branches.run(reply.place for reply in going)
        together: dict[Sampling, list[Written]] = {}
        for reply in going:
            if reply.held is None:
                together.setdefault(reply.sampling, []).append(reply)
                continue
            tokens = reply.held.step(reply.raw).tokens
            shares = distribution(branches.logits([reply.place])[:, tokens], reply.sampling)[0]
            reply.take(int(tokens[reply.draw(shares.cumsum(dtype=np.float64))]), branches, vocabulary)
        for sampling, members in together.items():
            rows = {place: row for row, place in enumerate(dict.fromkeys(reply.place for reply in members))}
            summed = distribution(branches.logits(rows), sampling).cumsum(axis=1, dtype=np.float64)
            for reply in members:
                reply.take(reply.draw(summed[rows[reply.place]]), branches, vocabulary)
        branches.forget()
