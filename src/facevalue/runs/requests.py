"""Requests of trials: what is shown and asked, their hashes, and what to do about those that failed."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from facevalue.design import mix
from facevalue.errors import DataError
from facevalue.hashing import Hashes, combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.printable import printable
from facevalue.protocol.study import Study
from facevalue.store.reader import commonest_failure
from facevalue.types import Question, Response, Stimulus

# Trial numbers of a run in ascending order, as a range if possible.


Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TrialNumbers:
    """Trial numbers and their positions in the run."""

    size: int
    """How many."""
    chosen: Index | None = None
    """The numbers in ascending order; None for 0 .. size - 1, which costs no memory whatever the size."""

    @classmethod
    def select(cls, numbers: Index) -> "TrialNumbers":
        """Take the numbers of a sample, in any order."""
        chosen = np.unique(np.asarray(numbers, dtype=np.int64))
        return cls(chosen.size, chosen)

    def numbers_at(self, start: int, stop: int) -> Index:
        """Numbers at a range of positions."""
        stop = min(stop, self.size)
        return np.arange(start, stop, dtype=np.int64) if self.chosen is None else self.chosen[start:stop]

    def take(self, positions: Index) -> Index:
        """Numbers at these positions."""
        return positions if self.chosen is None else self.chosen[positions]

    def positions(self, numbers: Index) -> tuple[Index, npt.NDArray[np.bool_]]:
        """Positions of numbers, and which of them are of the run at all; the others get position 0."""
        if self.chosen is None:
            in_sample = (numbers >= 0) & (numbers < self.size)
            return np.where(in_sample, numbers, 0), in_sample
        if not self.size:
            return np.zeros(numbers.size, dtype=np.int64), np.zeros(numbers.size, dtype=np.bool_)
        places = np.minimum(np.searchsorted(self.chosen, numbers), self.size - 1)
        in_sample = self.chosen[places] == numbers
        return np.where(in_sample, places, 0), in_sample


_STIMULI = 4_096  # that are remembered, without their pictures: more than a unit has
_KEPT = 16_384  # questions whose hashes are remembered


@dataclass(slots=True)
class Chunk:
    """Trials on their way to the model."""

    trials: Index
    """Trial numbers in the order of asking."""
    wanted: npt.NDArray[np.bool_]
    """Trials x repeats: which requests are to be made."""
    questions: list[Question]
    """What is said, one per trial."""
    shown: list[tuple[int, int, int, Mapping[str, str | None]]]
    """(first row, row after the last, stimulus number, levels) of neighbours about one stimulus."""
    question_hashes: Hashes
    stimulus_hashes: Hashes
    """One per trial; the latter are known once the stimulus has been made."""
    order: Index = field(init=False)
    """Rows by ascending trial number."""
    picture_shares: dict[int, Callable[[], float]] = field(default_factory=dict)
    """By trial, what returns the share of the height that its picture takes above a text (`Stimulus`)."""

    def __post_init__(self) -> None:
        self.order = np.argsort(self.trials, kind="stable")

    def rows(self, trials: Index) -> tuple[Index, npt.NDArray[np.bool_]]:
        """Rows of trials, and which of them are here at all."""
        place = np.minimum(np.searchsorted(self.trials, trials, sorter=self.order), self.trials.size - 1)
        row = self.order[place]
        return row, self.trials[row] == trials


class RequestBuilder:
    """Builds what the trials of one study show and tell.

    Stimuli are made one at a time and only when their turn comes; those of a unit, which take turns, are made once.
    """

    def __init__(self, study: Study, exact: bool, asked_of: int = 0) -> None:
        self._study = study
        self.exact = exact
        self.repeats = 1 if exact else study.repeats
        self.rounds = 0 if exact else study.draws.reasks
        self.seeds = [
            reask_seed(study.draws.seeds[repeat], again)
            for again in range(self.rounds + 1)
            for repeat in range(self.repeats)
        ]
        self._conditions = np.array(
            [
                conditions_hash(study.draws.sampling, seed, exact, study.draws.constrain, asked_of)
                for seed in self.seeds
            ],
            dtype=np.uint64,
        )
        self._columns = stimulus_columns(study)
        self._made: dict[int, tuple[Stimulus, int]] = {}
        self._question_hashes: dict[int, int] = {}
        self._kept: list[Question] = []

    def chunk(self, trials: Index, requested: npt.NDArray[np.bool_]) -> Chunk:
        """Decode trials, in the order of asking, and say what each is told."""
        frame = self._study.design.trials(trials)
        questions = self._study.ask(frame)
        stimuli = self._study.design.stimulus_numbers(trials)
        _, rows, numbers = np.unique(stimuli, return_index=True, return_inverse=True)
        columns = [frame[name].gather(rows).to_list() for name in self._columns]
        of_stimuli: list[dict[str, str | None]] = [
            dict(zip(self._columns, row, strict=True)) for row in zip(*columns, strict=True)
        ]
        firsts = np.flatnonzero(np.diff(stimuli, prepend=-1))
        levels = [of_stimuli[number] for number in numbers[firsts].tolist()]
        bounds = [*firsts.tolist(), len(questions)]
        stimulus_rows: list[tuple[int, int, int, Mapping[str, str | None]]] = list(
            zip(bounds, bounds[1:], stimuli[firsts].tolist(), levels, strict=False)
        )
        return Chunk(
            trials,
            requested,
            questions,
            stimulus_rows,
            self._hashes(questions),
            np.zeros(len(questions), dtype=np.uint64),
        )

    def stimuli(self, chunk: Chunk) -> Iterator[tuple[int, int, Stimulus]]:
        """Make the stimuli of a chunk, one by one: (first row, row after the last, stimulus)."""
        cache, hashes = self._made, chunk.stimulus_hashes
        if len(cache) > _STIMULI:
            cache.clear()
        for first, stop, number, levels in chunk.shown:
            entry = cache.get(number)
            if entry is None:
                stimulus = self._study.source.stimulus(number, levels)
                entry = cache[number] = (stimulus, stimulus_hash(stimulus))
            if stop - first == 1:
                hashes[first] = entry[1]  # three times as fast as a slice
            else:
                hashes[first:stop] = entry[1]
            share = entry[0].picture_share
            if share is not None:
                chunk.picture_shares.update(dict.fromkeys(chunk.trials[first:stop].tolist(), share))
            yield first, stop, entry[0]

    def request_hashes(self, stimuli: Hashes, questions: Hashes, repeats: Index) -> Hashes:
        """Hashes of whole requests."""
        return combined_hash(stimuli, questions, self._conditions[repeats])

    def _hashes(self, questions: list[Question]) -> Hashes:
        # By identity: hashing a prompt of a thousand characters per trial would cost more than all the rest. The
        # question is kept as long as its hash, as an identity may be given again once its owner is gone.
        hashes, questions_kept = self._question_hashes, self._kept
        if len(hashes) > _KEPT:
            hashes.clear()
            questions_kept.clear()
        for question in questions:
            if id(question) not in hashes:
                hashes[id(question)] = question_hash(question)
                questions_kept.append(question)
        return np.array([hashes[id(question)] for question in questions], dtype=np.uint64)


def picture_share(response: Response, share: Callable[[], float] | None) -> float | None:
    """Return the share of the height that a response's picture took above a text.

    None where nothing was written below the picture, where the response holds no number, as places have, and where the
    picture cannot be read.
    """
    if share is None or response.text is None or not any(letter.isdigit() for letter in response.text):
        return None
    try:
        return share()
    except DataError:
        return None


def reask_seed(seed: int, again: int) -> int:
    """Seed of a re-ask: another one each time, or a model that honours seeds would only repeat itself.

    Examples
    --------
    >>> reask_seed(42, 0)
    42
    >>> reask_seed(42, 1) == reask_seed(42, 2)
    False
    """
    return _another(seed, again) if again else seed


@lru_cache(maxsize=4096)
def draw_seed(seed: int, draw: int) -> int:
    """Seed of one of several draws of a question: other draws have others, and no re-ask has it.

    Examples
    --------
    >>> draw_seed(42, 0)
    42
    >>> len({draw_seed(42, draw) for draw in range(16)} | {reask_seed(42, again) for again in range(16)})
    31
    """
    return _another(seed, 2**32 + draw) if draw else seed


def _another(seed: int, number: int) -> int:
    with np.errstate(over="ignore"):
        word = mix(mix(np.array([seed & (2**64 - 1)], dtype=np.uint64)) ^ np.uint64(number))
    return int(word[0] >> np.uint64(33))  # 31 bits, which every server takes


def stimulus_columns(study: Study) -> list[str]:
    """Columns of the trial frame that say what is shown: those of stimulus axes, constants, and the block."""
    names: dict[str, None] = {"block": None}
    for block in study.design.blocks:
        names.update(dict.fromkeys(block.constants))
        names.update(dict.fromkeys(column.name for axis in block.stimulus for column in axis.columns()))
    return list(names)


_MOST = 300  # characters of an error that are quoted: run folders may come from strangers


def quote_line(text: str, most: int = _MOST) -> str:
    """An error, or another text of strangers, as a quotation of one line of so many characters."""
    line = " ".join(printable(text[: 4 * most]).split())
    return f"“{line if len(line) <= most and len(text) <= 4 * most else line[: most - 1] + '…'}”"


AGAIN = "`facevalue run` asks them again."
"""What is to be done about requests that failed."""
_REJECTED = re.compile(r"HTTP 4(?!01|02|04|08|13|29)\d\d\b")
"""Errors by which a server may decline to answer: not those of keys, money, addresses, sizes and rates."""
_DECLINED = "If that is how it declines to answer, give words of it with --refusal-words: then they count as refusals."


def failures(failed: int, requests: int, error: str, again: str = AGAIN) -> str:
    """Sentence on the requests that failed: their number, the most frequent error, and what to do about it.

    Examples
    --------
    >>> failures(3, 4, "HTTP 503")
    '3 of 4 requests failed (75.0%), most often with “HTTP 503”. `facevalue run` asks them again.'
    """
    often = f", most often with {quote_line(error)}" if error else ""
    hint = f" {_DECLINED}" if _REJECTED.match(error) else ""
    return f"{failed:,} of {requests:,} requests failed ({failed / requests:.1%}){often}. {again}{hint}"


def failures_of(folder: Path, failed: int, requests: int) -> str:
    """The sentence on failed requests of a run folder."""
    return failures(failed, requests, commonest_failure(folder))
