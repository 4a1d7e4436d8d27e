"""Units: what a run in object storage is cut into, and what driver and workers tell each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from facevalue.design import Order
from facevalue.models.base import Capabilities, ModelOptions
from facevalue.protocol.study import Study
from facevalue.runs.reply_counts import UnparsedReplies
from facevalue.runs.requests import Index, RequestBuilder, TrialNumbers
from facevalue.runs.settings import RunSettings
from facevalue.store.files import RESPONSES_FOLDER
from facevalue.store.remote import UnitFacts
from facevalue.store.sight import Sight
from facevalue.types import OptionValue

if TYPE_CHECKING:
    from facevalue.runs.makings.generators import MakingJob

Fact = str | int | float | bool
STEP = 2_048
"""Trials decoded at once."""
_FEWEST, _MOST, _UNITS = 1_024, 16_384, 1_000


@dataclass(frozen=True, slots=True)
class Unit:
    """Requests that one worker makes and stores as one object."""

    key: str
    """Of the object, below the run's URL."""
    trials: Index
    """Trial numbers in the order of asking."""
    wanted: npt.NDArray[np.bool_]
    """Trials x repeats, those of re-asks included: which requests are to be made."""
    again: int = 0
    """0 for the protocol's own requests, else which round of re-asks."""
    generation: int = 0
    """How many units were stored for the same trials before."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Outcome of a unit: counts, never answers."""

    key: str
    facts: UnitFacts | None
    """What the stored object says of itself; None if nothing was stored, as the worker was stopped before an answer."""
    stored: bool
    """Whether this worker wrote it; False if it was there already."""
    seconds: float
    node: str
    """Where it was worked on."""
    failure: str = ""
    """What most of its failed requests failed with."""
    findings: Mapping[str, Fact] = field(default_factory=dict)
    """What the model found out about itself so far."""
    interrupted: bool = False
    """Whether Ctrl-C ended it in this process; what had come is stored."""
    notes: tuple[str, ...] = ()
    """What people should know of replies that cannot count."""
    unparsed: UnparsedReplies = field(default_factory=UnparsedReplies)
    """Which of its replies could not be read."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A unit whose worker died or raised; another one may take it."""

    unit: Unit
    why: str
    node: str
    given_up: bool = False
    """Whether it was tried often enough: the rest of the run goes on without it."""
    fatal: bool = False
    """Whether no worker can do it, as the model fails for good."""


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker needs to build study and model."""

    url: str
    study: str
    options: Mapping[str, OptionValue]
    model: str
    model_options: ModelOptions = field(default_factory=ModelOptions)
    exact: bool = False
    sample: int | None = None
    seed: int = 0
    check: bool = True
    watched: bool = False
    """Whether workers end their first unit where most of its replies cannot be read."""
    making: "MakingJob | None" = None
    """Who makes pictures, of a run that makes them; `model` then is only their name."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts that a worker states about its model before it is asked anything."""

    name: str
    settings: Mapping[str, Fact]
    """What changes what it says; a part of every request's hash."""
    capabilities: Capabilities
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    """Of FaceValue, Python and the libraries, where the worker runs."""


class Workers(Protocol):
    """Workers as the driver sees them."""

    def facts(self) -> ModelFacts:
        """Wait for a first worker with its model loaded; raises as loading and `check_limits` do."""
        ...

    def sight(self) -> Sight:
        """Have one worker ask its model about pictures made on the spot."""
        ...

    def room(self) -> int:
        """Number of units that can be taken now."""
        ...

    def submit(self, unit: Unit) -> None:
        """Submit a unit."""
        ...

    def wait(self, seconds: float) -> list[Receipt | Lost]:
        """Units that have ended; waits so long at most for the first."""
        ...

    def answer_count(self) -> int:
        """Answers to units on their way, as far as is known."""
        ...

    def alive(self) -> Mapping[str, int]:
        """Workers by node."""
        ...

    def stop(self) -> None:
        """Cut short what is on its way: what came is stored, the rest asked by the next session."""
        ...

    def close(self, *, now: bool = False) -> None:
        """Release all workers; `now` without waiting for what is on its way."""
        ...


class Piece(NamedTuple):
    """Trials that are asked together: a range of places in the order of asking."""

    first: int
    last: int
    trials: Index


class UnitPlan:
    """Cuts a run into units: always the same ones, whatever was stored before.

    A unit is a range in the run's order of asking, which is drawn by seed, rather than one of trial numbers: those of
    one unit would be of one group or condition, and a server that drifts would move one against the other. Of a run
    that grew, what each larger sample added (`grown`: the smaller ones) is cut by itself, after what was cut before.
    """

    def __init__(
        self, study: Study, settings: RunSettings, run: str, asked_of: int, answers: int, grown: Sequence[int] = ()
    ) -> None:
        self.study = study
        self.numbers = run_numbers(study, settings.sample, settings.seed, settings.exact)
        self.asking = RequestBuilder(study, settings.exact, asked_of)
        self.requests = self.numbers.size * self.asking.repeats
        self._parts = list(_parts(study, settings, self.numbers, grown))
        self._orders = [
            Order(study.design, study.asked_together, settings.seed, numbers.chosen) for numbers in self._parts
        ]
        self._run = run
        self._step = max(answers // self.asking.repeats, 1)

    def pieces(self) -> Iterator[Piece]:
        """All pieces of the run; nothing that is asked together is cut in two, unless it alone is more than a piece."""
        first = 0
        for numbers, order in zip(self._parts, self._orders, strict=True):
            held: list[Index] = []
            size = 0
            for positions in order.pieces(self._step):
                if size and size + positions.size > self._step:
                    yield _piece(first, numbers, held)
                    first, held, size = first + size, [], 0
                held.append(positions)
                size += positions.size
            if size:
                yield _piece(first, numbers, held)
                first += size

    def plain_unit(self, piece: Piece) -> Unit:
        """The protocol's own requests about a piece."""
        requested = np.zeros((piece.trials.size, len(self.asking.seeds)), dtype=np.bool_)
        requested[:, : self.asking.repeats] = True
        return self.unit(piece, requested, 0, 0)

    def unit(self, piece: Piece, requested: npt.NDArray[np.bool_], again: int, generation: int) -> Unit:
        """A unit of what is wanted of a piece: trials x repeats."""
        rows = np.flatnonzero(requested.any(axis=1))
        trials, requested = piece.trials[rows], requested[rows]
        place = f"{piece.first:012d}-{piece.last:012d}"
        name = unit_hash(self.asking, self._run, trials, requested, generation)
        return Unit(f"{RESPONSES_FOLDER}/{place}-{name}.parquet", trials, requested, again, generation)


def _piece(first: int, numbers: TrialNumbers, held: list[Index]) -> Piece:
    positions = np.concatenate(held)
    return Piece(first, first + positions.size - 1, numbers.take(positions))


def _parts(study: Study, settings: RunSettings, numbers: TrialNumbers, grown: Sequence[int]) -> Iterator[TrialNumbers]:
    """Trials of a run's first sample, then those that each larger sample added."""
    samples = [run_numbers(study, size, settings.seed, settings.exact) for size in grown]
    first, *larger = [*samples, numbers]
    yield first
    for before, after in pairwise([first, *larger]):
        added = np.setdiff1d(after.numbers_at(0, after.size), before.numbers_at(0, before.size), assume_unique=True)
        yield TrialNumbers.select(added)


def unit_hash(
    asking: RequestBuilder, run: str, trials: Index, requested: npt.NDArray[np.bool_], generation: int
) -> str:
    """Hash what a unit asks: run, every request (prompt, picture, sampling, seed, model and settings), generation."""
    state = blake2b(f"{run} {generation} {int(requested.sum())}".encode(), digest_size=8)
    for start, stop in steps(trials):
        chunk = asking.chunk(trials[start:stop], requested[start:stop])
        for _ in asking.stimuli(chunk):
            pass
        row, repeat = np.nonzero(chunk.wanted)
        hashes = asking.request_hashes(chunk.stimulus_hashes[row], chunk.question_hashes[row], repeat)
        state.update(trials[start:stop][row].astype("<i8").tobytes())
        state.update(hashes.astype("<u8").tobytes())
    return state.hexdigest()


def steps(trials: Index) -> Iterator[tuple[int, int]]:
    """Ranges of a few thousand trials each; what is decoded at once is bounded."""
    for start in range(0, trials.size, STEP):
        yield start, min(start + STEP, trials.size)


def run_numbers(study: Study, sample: int | None, seed: int, exact: bool) -> TrialNumbers:
    """Trials of a run."""
    if sample is None:
        return TrialNumbers(study.design.size)
    return TrialNumbers.select(study.sample(sample, seed, 1 if exact else study.repeats))


def answers_per_unit(requests: int) -> int:
    """Requests per unit: about a thousand units, as far as that makes them neither tiny nor too much to lose.

    Examples
    --------
    >>> answers_per_unit(5_000), answers_per_unit(4_000_000), answers_per_unit(57_000_000)
    (1024, 4000, 16384)
    """
    return min(max(requests // _UNITS, _FEWEST), _MOST)
