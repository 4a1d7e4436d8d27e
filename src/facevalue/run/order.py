"""In which order trials are asked: whole units in an order drawn by seed, so that nothing compared is a time of day."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design, Permutation, mix
from facevalue.run.numbers import Index, TrialNumbers
from facevalue.studies.base import Study

_STIMULI = 2_048  # looked at together
_PLACE = (6, 1)  # of the draws, beside the seed: no sample has drawn these


class Order:
    """The order of asking of one run.

    A server whose answers drift while a run lasts would otherwise move what is asked late against what is asked early.
    So what is compared with each other is asked together (`Study.asked_together`), in an order drawn by seed; so are
    these units among all others. All prompts about one stimulus are neighbours. What was asked when a run ends early is
    a random sample of units, and a part of the last one or two.

    Without columns that are asked together a unit is a stimulus, with those of other blocks that have the same axes:
    the same pair with and without its picture, the same picture under each intervention. Whole designs of such units
    are walked by arithmetic. Otherwise, and for samples, two words are kept per stimulus.

    Parameters
    ----------
    study:
        What is asked.
    numbers:
        Trials of the run.
    seed:
        Which order.
    """

    def __init__(self, study: Study, numbers: TrialNumbers, seed: int) -> None:
        self._design = study.design
        self._numbers = numbers
        self._first, self._units = _twins(study.design)
        state = np.random.SeedSequence((seed, *_PLACE)).generate_state(2, np.uint64)
        self._words: tuple[np.uint64, np.uint64] = (state[0], state[1])
        self._permutation: Permutation | None = None
        self._stimuli: Index | None = None
        if numbers.chosen is None and not study.asked_together:
            self._permutation = Permutation(int(self._units[-1]), (seed, *_PLACE)) if self._units[-1] else None
        else:
            self._stimuli = self._sorted(study)

    def pieces(self, step: int) -> Iterator[Index]:
        """Positions of the run's trials in the order of asking, about `step` at a time; no stimulus is cut in two."""
        design = self._design
        prompts = np.array([block.prompts for block in design.blocks], dtype=np.int64)
        for stimuli in self._batches():
            block = np.searchsorted(design.stimulus_offsets, stimuli, side="right") - 1
            first = design.offsets[block] + (stimuli - design.stimulus_offsets[block]) * prompts[block]
            start, stop = self._numbers.ranges(first, first + prompts[block])
            ends = np.cumsum(stop - start)
            at = 0
            while at < stimuli.size:
                before = int(ends[at - 1]) if at else 0
                upto = max(int(np.searchsorted(ends, before + step, side="right")), at + 1)
                yield _ranges(start[at:upto], stop[at:upto])
                at = upto

    def _batches(self) -> Iterator[Index]:
        """Stimuli in the order of asking."""
        if self._stimuli is not None:
            for start in range(0, self._stimuli.size, _STIMULI):
                yield self._stimuli[start : start + _STIMULI]
        elif self._permutation is not None:
            total = int(self._units[-1])
            for start in range(0, total, _STIMULI):
                yield self._members(self._permutation(np.arange(start, min(start + _STIMULI, total))))

    def _members(self, units: Index) -> Index:
        """Stimuli of units, in the order of these; within a unit drawn by seed."""
        group = np.searchsorted(self._units, units, side="right") - 1
        places, stimuli = [], []
        for block, first in enumerate(self._first):
            mine = np.flatnonzero(group == first)
            places.append(mine)
            stimuli.append(units[mine] - self._units[first] + self._design.stimulus_offsets[block])
        place, stimulus = np.concatenate(places), np.concatenate(stimuli)
        return stimulus[np.lexsort((self._drawn(stimulus, 1), place))]

    def _sorted(self, study: Study) -> Index:
        """All stimuli of the run in the order of asking."""
        design = study.design
        if self._numbers.chosen is None:
            stimuli = np.arange(int(design.stimulus_offsets[-1]), dtype=np.int64)
        else:
            stimuli = np.unique(design.stimulus_numbers(self._numbers.chosen))
        if not stimuli.size:
            return stimuli
        units = _named(study, stimuli) if study.asked_together else self._unit(stimuli)
        return stimuli[np.lexsort((self._drawn(stimuli, 1), self._drawn(units, 0)))]

    def _unit(self, stimuli: Index) -> Index:
        block = np.searchsorted(self._design.stimulus_offsets, stimuli, side="right") - 1
        return self._units[np.array(self._first)[block]] + stimuli - self._design.stimulus_offsets[block]

    def _drawn(self, numbers: Index, word: int) -> npt.NDArray[np.uint64]:
        """A random word for each number, another one for each other number."""
        return mix(mix(numbers.astype(np.uint64)) ^ self._words[word])


def _twins(design: Design) -> tuple[list[int], Index]:
    """For each block the first one with the very same axes, and at which unit each block's begin: twins have no own."""
    known: dict[tuple[int, ...], int] = {}
    first = [known.setdefault(tuple(map(id, block.stimulus)), at) for at, block in enumerate(design.blocks)]
    sizes = [block.stimuli if first[at] == at else 0 for at, block in enumerate(design.blocks)]
    return first, np.cumsum([0, *sizes], dtype=np.int64)


def _named(study: Study, stimuli: Index) -> Index:
    """The unit of each stimulus: its level of the first of the columns that it has; without any it is one itself."""
    design = study.design
    block = np.searchsorted(design.stimulus_offsets, stimuli, side="right") - 1
    prompts = np.array([one.prompts for one in design.blocks], dtype=np.int64)
    trials = design.offsets[block] + (stimuli - design.stimulus_offsets[block]) * prompts[block]
    known = [name for name in study.asked_together if name in design.columns]
    frame = design.trials(trials, known).with_columns(pl.Series("stimulus", stimuli))
    levels = pl.coalesce(
        pl.concat_str(pl.lit(f"{name}\x1f"), pl.col(name).cast(pl.String)) for name in (*known, "stimulus")
    )
    return frame.select(levels.rank("dense").cast(pl.Int64)).to_series().to_numpy()


def _ranges(start: Index, stop: Index) -> Index:
    """Numbers of several ranges, one range after another."""
    sizes = stop - start
    shift = start - np.cumsum(sizes) + sizes
    return np.repeat(shift, sizes) + np.arange(int(sizes.sum()), dtype=np.int64)
