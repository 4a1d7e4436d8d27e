"""Exact probabilities of options: which share of all replies that could be drawn is each of them.

Beside them: what an engine is asked for (wishes, questions made ready for the model), and the replies that it draws.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from facevalue.models.hf.chat import Group
from facevalue.models.hf.decoding import Decoding
from facevalue.models.hf.options import OPEN, OptionReader, OptionStep
from facevalue.models.hf.resumption import Path
from facevalue.models.hf.token_sampling import distribution, log_probabilities
from facevalue.models.hf.vocabulary import Ints, TokenVocabulary
from facevalue.types import Question, Sampling

if TYPE_CHECKING:
    from torch import Tensor

_MOST_PLACES = 128
"""Beginnings of one question's replies that are followed at most."""
_MOST_NEW = 32
"""Where so many places of a question are read with its prompt, none is added that no question has needed before."""
_WORTH = 0.1
"""A place that fewer questions needed is not worth its arithmetic, though a pass of its own costs more."""
_MOST_HABITS = 50_000
_TOP = 8

Floats = npt.NDArray[np.float64]
Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Natural-log probability, at temperature 1, of one token after a reply's beginning."""

    reply: Tokens
    token: int
    logprob: float


@dataclass(frozen=True, slots=True)
class OptionScore:
    """The options of one question, weighed.

    `probs`: that a reply, drawn as the question's sampling says, is each option; their sum is at most 1. `undecided`:
    share of replies that begin in a way that may become an option but is too rare to be followed. `logprobs`:
    natural-log probability, at temperature 1, that a reply begins with each option as the prompt writes it ("(a)", or
    the text of an option without a label), over all of its tokens; of the two ways to begin, with or without a blank,
    that of the likelier first token. `format_mass`: probability, at temperature 1, that a reply begins with any option
    so written.
    """

    probs: tuple[float, ...]
    undecided: float
    logprobs: tuple[float, ...]
    format_mass: float
    prompt_tokens: int
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ScoreJob:
    """One question to be scored: a member by its place in the group, its options as `tokenise_options` gives them."""

    member: int
    reader: OptionReader
    written: Sequence[Sequence[Tokens]]
    sampling: Sampling
    prompt_tokens: int


class Habits:
    """Record of the beginnings of replies that were worth computing: they join the next questions' prompts.

    What is guessed wrong costs a little time and changes no result. Free replies and those held to options are known
    apart: they begin in other ways.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[bool, Tokens], tuple[int, int]] = {}  # how often asked about, and needed
        self._next: dict[tuple[bool, Tokens], set[int]] = {}

    def guess(self, job: ScoreJob) -> list[Tokens]:
        """Return places to read at once with the prompt, the prompt's end first; of each also its beginnings.

        They are those on the way of each option as it is written, and those where a reply is still open: of replies
        held to the options all that can be, of free ones what was met before. A beginning on the way to a guess would
        be computed without being read, and couldn't be read later.
        """
        ways = [way for ways in job.written for way in ways]
        inner = {way[:n] for way in ways for n in range(1, len(way) + (job.reader.after(way) == OPEN))}
        held = job.reader.alone
        places: dict[Tokens, None] = {(): None}
        for reply in sorted(inner):
            if reply[:-1] in places and self._worth(held, reply):
                places[reply] = None
        waiting: deque[Tokens] = deque([()])
        while waiting:
            reply = waiting.popleft()
            guesses = self._next.get((held, reply), set())
            if not (guesses or held) or len(places) >= _MOST_PLACES:
                continue
            going = job.reader.going(reply, job.sampling.max_tokens - len(reply) - 1)
            new = going - guesses if held and len(places) < _MOST_NEW else set()
            longer = [(*reply, token) for token in sorted(guesses & going | new) if self._worth(held, (*reply, token))]
            places |= dict.fromkeys(longer)
            waiting.extend(longer)
        return list(places)

    def _worth(self, held: bool, reply: Tokens) -> bool:
        times_asked, needed = self._counts.get((held, reply), (0, 0))
        return needed >= _WORTH * times_asked

    def learn(self, job: ScoreJob, guessed: Iterable[Tokens], needed: Iterable[Tokens]) -> None:
        """Record which guesses were needed for a question, and what was needed without having been guessed."""
        needed, held = set(needed), job.reader.alone
        if len(self._counts) > _MOST_HABITS:
            self._counts.clear()
            self._next.clear()
        for reply in needed.union(guessed) - {()}:
            times_asked, before = self._counts.get((held, reply), (0, 0))
            self._counts[held, reply] = times_asked + 1, before + (reply in needed)
            if reply in needed:
                self._next.setdefault((held, reply[:-1]), set()).add(reply[-1])


class _Known:
    """Logits by the place at which they were read."""

    def __init__(self) -> None:
        self._logits: list[Tensor] = []
        self._shares: dict[tuple[int, Sampling], Tensor] = {}
        self._normal: list[Tensor] = []
        self._where: dict[Path, tuple[int, int]] = {}

    def add(self, paths: Sequence[Path], logits: "Tensor") -> None:
        """Record what one forward pass gave."""
        self._where |= {path: (len(self._logits), row) for row, path in enumerate(paths)}
        self._logits.append(logits)
        self._normal.append(logits.logsumexp(dim=1))

    def __contains__(self, path: Path) -> bool:
        return path in self._where

    def shares(self, steps: Sequence[tuple[Path, Sampling, Ints, bool]]) -> list[Floats]:
        """Probabilities of tokens at places, under a sampling; and whether no other token may come there."""
        out: list[Floats] = [np.zeros(0)] * len(steps)
        groups: dict[tuple[int, Sampling, bool], list[int]] = {}
        for at, (path, sampling, _, alone) in enumerate(steps):
            groups.setdefault((self._where[path][0], sampling, alone), []).append(at)
        for (table, sampling, alone), members in groups.items():
            rows = [self._where[steps[at][0]][1] for at in members]
            tokens = [steps[at][2] for at in members]
            tables = (self._shares_of_tokens if alone else self._free)(table, sampling, rows, tokens)
            for at, values in zip(members, tables, strict=True):
                out[at] = values
        return out

    def _free(self, table: int, sampling: Sampling, rows: Sequence[int], tokens: Sequence[Ints]) -> list[Floats]:
        import torch  # noqa: PLC0415

        if (table, sampling) not in self._shares:
            self._shares[table, sampling] = distribution(self._logits[table], sampling)
        shares, lengths = self._shares[table, sampling], [tokens_of_step.size for tokens_of_step in tokens]
        index = np.repeat(rows, lengths) * shares.shape[1] + np.concatenate(tokens)
        values: Floats = shares.reshape(-1)[torch.as_tensor(index, device=shares.device)].double().cpu().numpy()
        return np.split(values, np.cumsum(lengths)[:-1])

    def _shares_of_tokens(
        self, table: int, sampling: Sampling, rows: Sequence[int], tokens: Sequence[Ints]
    ) -> list[Floats]:
        """Return the shares of tokens among themselves; rows are filled up with what cannot come."""
        import torch  # noqa: PLC0415

        logits, lengths = self._logits[table], np.array([tokens_of_step.size for tokens_of_step in tokens])
        is_inside = np.arange(lengths.max()) < lengths[:, None]
        index = np.zeros(is_inside.shape, dtype=np.int64)
        index[is_inside] = np.concatenate(tokens)
        device = logits.device
        chosen_logits = logits[torch.as_tensor(rows, device=device)[:, None], torch.as_tensor(index, device=device)]
        chosen_logits = chosen_logits.masked_fill(torch.as_tensor(~is_inside, device=device), -torch.inf)
        values = distribution(chosen_logits, sampling).double().cpu().numpy()
        return [row[:length] for row, length in zip(values, lengths.tolist(), strict=True)]

    def logs(self, steps: Sequence[tuple[Path, int]]) -> list[float]:
        """Natural-log probabilities of tokens at places, at temperature 1."""
        out = [0.0] * len(steps)
        groups: dict[int, list[int]] = {}
        for at, (path, _) in enumerate(steps):
            groups.setdefault(self._where[path][0], []).append(at)
        for table, members in groups.items():
            rows = [self._where[steps[at][0]][1] for at in members]
            tokens = [steps[at][1] for at in members]
            values = log_probabilities(self._logits[table], rows, tokens, self._normal[table])
            for at, value in zip(members, values.tolist(), strict=True):
                out[at] = value
        return out

    def logs_of_each(self, steps_of_each: Sequence[Sequence[tuple[Path, int]]]) -> list[list[float]]:
        """Return the same as `logs` for several questions at once, as each call waits for the GPU."""
        logs = iter(self.logs([place for steps in steps_of_each for place in steps]))
        return [list(islice(logs, len(steps))) for steps in steps_of_each]

    def likeliest(self, paths: Sequence[Path]) -> list[list[int]]:
        """Return the likeliest tokens at some places."""
        out: list[list[int]] = [[]] * len(paths)
        groups: dict[int, list[int]] = {}
        for at, path in enumerate(paths):
            groups.setdefault(self._where[path][0], []).append(at)
        for table, members in groups.items():
            logits = self._logits[table][[self._where[paths[at]][1] for at in members]]
            likeliest = logits.topk(min(_TOP, logits.shape[1])).indices.tolist()
            for at, tokens in zip(members, likeliest, strict=True):
                out[at] = tokens
        return out


class _Weighing:
    """One question while it is being scored."""

    def __init__(self, job: ScoreJob) -> None:
        self.wanted = job
        self.member = job.member
        self.probs = np.zeros(len(job.reader))
        self.open: dict[Tokens, float] = {(): 1.0}
        self.needed: set[Tokens] = set()
        self.undecided = 0.0
        self.ways: list[Tokens] = []
        self._raw: dict[Tokens, bytes] = {(): b""}

    @property
    def root(self) -> Path:
        """Path to the beginning of the reply."""
        return self.member, ()

    def firsts(self) -> list[tuple[Path, int]]:
        """Return the first tokens of all ways to write the options."""
        return [(self.root, way[0]) for ways in self.wanted.written for way in ways]

    def choose_ways(self, logs: Sequence[float]) -> None:
        """Settle how each option is written: of its ways, the one whose first token is likeliest."""
        rest = iter(logs)
        self.ways = [max(zip(islice(rest, len(w)), w, strict=True), key=itemgetter(0))[1] for w in self.wanted.written]
        self.needed |= {way[:n] for way in self.ways for n in range(len(way))}

    def next(self, seen_steps: _Known) -> list[Tokens]:
        """Return open beginnings that can be looked at now; those too rare are put aside."""
        for reply, mass in list(self.open.items()):
            if mass < self.wanted.reader.least or len(self.needed) >= _MOST_PLACES:
                self.undecided += self.open.pop(reply)
        self.needed |= set(self.open)
        return [reply for reply in self.open if (self.member, reply) in seen_steps]

    def step(self, reply: Tokens) -> OptionStep:
        """Return the tokens that decide a reply or leave it open."""
        return self.wanted.reader.step(self._raw[reply], self.wanted.sampling.max_tokens - len(reply) - 1)

    def look(self, reply: Tokens, shares: Floats, vocabulary: TokenVocabulary) -> None:
        """Enter what may follow a beginning."""
        step, mass = self.step(reply), self.open.pop(reply)
        decided, undecided = step.verdicts >= 0, step.verdicts == OPEN
        self.probs += mass * np.bincount(step.verdicts[decided], shares[decided], minlength=self.probs.size)
        # Tokens that are no text are not followed.
        likely = undecided & vocabulary.speaking[step.tokens] & (mass * shares >= self.wanted.reader.least)
        self.undecided += mass * float(shares[undecided & ~likely].sum())
        for token, share in zip(step.tokens[likely].tolist(), shares[likely].tolist(), strict=True):
            self.open[(*reply, token)] = mass * share
            self._raw[(*reply, token)] = self._raw[reply] + (vocabulary.pieces[token] or b"")

    def reported_tokens(self, likeliest: Sequence[int]) -> list[tuple[Path, int]]:
        """Return the tokens that a score tells of, with their places: of options, and the likeliest first ones."""
        ways = dict.fromkeys(self.ways)
        places = [((self.member, way[:n]), way[n]) for way in ways for n in range(len(way))]
        return [*places, *((self.root, token) for token in likeliest)]

    def score(self, path: Sequence[tuple[Path, int]], logs: Sequence[float]) -> OptionScore:
        """Return the score, when everything needed is known."""
        ways = list(dict.fromkeys(self.ways))
        by_place = {(reply, token): log for ((_, reply), token), log in zip(path, logs, strict=True)}
        sums = {way: math.fsum(by_place[way[:n], way[n]] for n in range(len(way))) for way in ways}
        apart = [way for way in ways if not any(way[: len(w)] == w for w in ways if w != way)]
        return OptionScore(
            probs=tuple((self.probs / max(1.0, self.probs.sum())).tolist()),
            undecided=self.undecided,
            logprobs=tuple(sums[way] for way in self.ways),
            format_mass=min(1.0, math.fsum(math.exp(sums[way]) for way in apart)),
            prompt_tokens=self.wanted.prompt_tokens,
            evidence=tuple(Evidence(reply, token, log) for (reply, token), log in by_place.items()),
        )


def score_pack(
    decoding: Decoding, pack: Sequence[ScoreJob], vocabulary: TokenVocabulary, habits: Habits
) -> list[OptionScore]:
    r"""Score questions of one group together; learn from them which beginnings were worth computing.

    Let :math:`x` be a beginning of a reply that is still open, :math:`q(x)` the probability of its tokens, and
    :math:`q(t \mid x)` that of the next token under the request's sampling (`distribution`). Then

    .. math:: P(o) = \sum_{x\ \text{open}} q(x) \sum_{t:\ xt \to o} q(t \mid x),

    over the whole vocabulary at each :math:`x`; which option :math:`xt` is, the question's reader says. With a
    `ConstrainedReader`, :math:`q(t \mid x)` is over the tokens that may come there, as replies held to the options are
    drawn. The empty beginning is followed, and every open one of text that is at least as likely as the reader's
    `least`; the mass of the others is reported as undecided.
    """
    weighings = [_Weighing(job) for job in pack]
    guesses = [habits.guess(job) for job in pack]
    seen_steps = _Known()
    paths: list[Path] = [(s.member, reply) for s, guess in zip(weighings, guesses, strict=True) for reply in guess]
    while paths:
        seen_steps.add(paths, decoding.read(paths))
        new = [state for state in weighings if not state.ways]
        for state, firsts in zip(new, seen_steps.logs_of_each([state.firsts() for state in new]), strict=True):
            state.choose_ways(firsts)
        while frontier := [(state, reply) for state in weighings for reply in state.next(seen_steps)]:
            steps = [((s.member, reply), s.wanted.sampling, s.step(reply).tokens, s.wanted.reader.alone)
                     for s, reply in frontier]  # fmt: skip
            for (state, reply), shares in zip(frontier, seen_steps.shares(steps), strict=True):
                state.look(reply, shares, vocabulary)
        paths = [(s.member, r) for s in weighings for r in sorted(s.needed) if (s.member, r) not in seen_steps]
    for state, guess in zip(weighings, guesses, strict=True):
        habits.learn(state.wanted, guess, state.needed)
    likeliest = seen_steps.likeliest([state.root for state in weighings])
    told_paths = [state.reported_tokens(tokens) for state, tokens in zip(weighings, likeliest, strict=True)]
    logs = seen_steps.logs_of_each(told_paths)
    return [state.score(places, its) for state, places, its in zip(weighings, told_paths, logs, strict=True)]


Job = TypeVar("Job", ScoreJob, "Wish")


@dataclass(frozen=True, slots=True)
class Wish:
    """A reply that is wanted. The same seed, 0 to 2**64 - 1, gives the same random numbers, whatever else is asked."""

    question: Question
    sampling: Sampling
    seed: int = 0
    constrain: bool = False


@dataclass(frozen=True, slots=True)
class DrawnReply:
    """A reply that was drawn, verbatim but for the blanks around it if it was constrained.

    `prompt_tokens` has pictures expanded, and `completion_tokens` the end of the reply; `tokens` doesn't have the one
    that ended it. `logprobs` are natural logs at temperature 1, before any constraint.
    """

    text: str
    ended: bool
    prompt_tokens: int
    completion_tokens: int
    tokens: Tokens
    logprobs: tuple[float, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Log-probability that the model gave each token."""
        return tuple(Evidence(self.tokens[:n], self.tokens[n], log) for n, log in enumerate(self.logprobs))


@dataclass(frozen=True, slots=True)
class Failed:
    """A question that could not be asked, and why, for people."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class PreparedPrompts(Generic[Job]):
    """Questions about one stimulus, ready for the model: by their numbers, groups with places, and why some can't be.

    It is made without the model, so that it can be while the model works on others.
    """

    jobs: Mapping[int, Job]
    groups: Sequence[tuple[Group, dict[int, int]]]
    refused: Mapping[int, str]

    @property
    def tokens(self) -> int:
        """Tokens of the prefixes."""
        return sum(len(group.prefix_ids) for group, _ in self.groups)
