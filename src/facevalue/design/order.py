"""Order of asking: whole units in an order drawn by seed, so that comparisons are not confounded with time."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design.blocks import Index
from facevalue.design.design import Design
from facevalue.design.sampling import Permutation, mix

_STIMULI = 2_048  # looked at together
_PLACE = (6, 1)  # of the draws, beside the seed: no sample has drawn these


class Order:
    """The order of asking of one run.

    A server whose answers drift while a run lasts would otherwise move what is asked late against what is asked early.
    So what is compared with each other is asked together, in an order drawn by seed; so are these units among all
    others. Within a unit stimuli take turns, question by question, so that whatever time does to answers it does to all
    of them. What was asked when a run ends early is a random sample of units, and a part of the last one or two.

    Without columns that are asked together a unit is a stimulus, with those of other blocks that have the same axes:
    the same pair with and without its picture, the same picture under each intervention. Whole designs of such units
    are walked by arithmetic. Otherwise, and for samples, two words are kept per stimulus.
    """

    def __init__(self, design: Design, together: Sequence[str], seed: int, chosen: Index | None = None) -> None:
        self._design = design
        self._chosen = chosen
        self._first, self._units = _twins(design)
        self._words = np.random.SeedSequence((seed, *_PLACE)).generate_state(4, np.uint64)
        self._permutation: Permutation | None = None
        self._stimuli: Index | None = None
        if chosen is None and not together:
            self._permutation = Permutation(int(self._units[-1]), (seed, *_PLACE)) if self._units[-1] else None
        else:
            self._stimuli, self._unit = self._sort_stimuli(together)

    def pieces(self, step: int) -> Iterator[Index]:
        """Places of trials among those of the run, in the order of asking, about `step` at a time.

        No unit is cut in two but one that has more than `step` trials.
        """
        for stimuli, unit in self._batches():
            places, ends = self._turns(stimuli, unit)
            at = 0
            while at < places.size:
                inside = np.searchsorted(ends, [at, at + step], side="right")
                upto = int(ends[inside[1] - 1]) if inside[1] > inside[0] else at + step
                yield places[at:upto]
                at = upto

    def _batches(self) -> Iterator[tuple[Index, Index]]:
        """Stimuli in the order of asking, and the unit of each; those of a unit together."""
        if self._stimuli is not None:
            ends = np.append(np.flatnonzero(np.diff(self._unit)) + 1, self._stimuli.size)
            start = 0
            while start < self._stimuli.size:
                stop = int(ends[np.searchsorted(ends, min(start + _STIMULI, self._stimuli.size))])
                yield self._stimuli[start:stop], self._unit[start:stop]
                start = stop
        elif self._permutation is not None:
            total = int(self._units[-1])
            for start in range(0, total, _STIMULI):
                yield self._members(self._permutation(np.arange(start, min(start + _STIMULI, total))))

    def _turns(self, stimuli: Index, unit: Index) -> tuple[Index, Index]:
        """Places of all trials of these stimuli, by unit, question by question; and where each unit ends.

        All stimuli of a unit are asked its first question, in an order drawn anew, then all the next one. The order of
        the questions is drawn for each unit. Those of a stimulus that is asked fewer are spread over the unit.
        """
        design = self._design
        prompts = np.array([block.prompts for block in design.blocks], dtype=np.int64)
        block = np.searchsorted(design.stimulus_offsets, stimuli, side="right") - 1
        first = design.offsets[block] + (stimuli - design.stimulus_offsets[block]) * prompts[block]
        start, stop = first, first + prompts[block]
        if self._chosen is not None:
            start, stop = np.searchsorted(self._chosen, start), np.searchsorted(self._chosen, stop)
        many = stop - start
        places, of = _ranges(start, stop), np.repeat(np.arange(stimuli.size), many)
        question = (places if self._chosen is None else self._chosen[places]) - first[of]
        heads = np.flatnonzero(np.diff(unit, prepend=-1))
        head = stimuli[heads][np.searchsorted(heads, np.arange(stimuli.size), side="right") - 1]
        question_order = np.lexsort((self._random_words(question, 2, partner=head[of]), of))
        begin = np.cumsum(many) - many
        turn = (np.arange(places.size) - begin[of]) / many[of]  # `of` is ascending, also after it was sorted by
        places = places[question_order]
        order = np.lexsort((self._random_words(places, 3), turn, unit[of]))
        ends = np.append(np.flatnonzero(np.diff(unit[of])) + 1, places.size)
        return places[order], ends

    def _members(self, units: Index) -> tuple[Index, Index]:
        """Stimuli of units, in the order of these, and the place of the unit of each."""
        group = np.searchsorted(self._units, units, side="right") - 1
        places, stimuli = [], []
        for block, first in enumerate(self._first):
            members = np.flatnonzero(group == first)
            places.append(members)
            stimuli.append(units[members] - self._units[first] + self._design.stimulus_offsets[block])
        place, stimulus = np.concatenate(places), np.concatenate(stimuli)
        order = np.lexsort((stimulus, place))
        return stimulus[order], place[order]

    def _sort_stimuli(self, together: Sequence[str]) -> tuple[Index, Index]:
        """All stimuli of the run in the order of asking, and the place of the unit of each."""
        design = self._design
        if self._chosen is None:
            stimuli = np.arange(int(design.stimulus_offsets[-1]), dtype=np.int64)
        else:
            stimuli = np.unique(design.stimulus_numbers(self._chosen))
        if not stimuli.size:
            return stimuli, stimuli
        block = np.searchsorted(design.stimulus_offsets, stimuli, side="right") - 1
        prompts = np.array([block.prompts for block in design.blocks], dtype=np.int64)
        trials = design.offsets[block] + (stimuli - design.stimulus_offsets[block]) * prompts[block]
        codes = units(design, together, trials).rank("dense").cast(pl.Int64).to_numpy()
        words = self._random_words(codes, 0)
        order = np.lexsort((stimuli, codes, words))
        return stimuli[order], np.cumsum(np.diff(codes[order], prepend=codes[order[0]]) != 0)

    def _random_words(self, numbers: Index, word: int, partner: Index | None = None) -> npt.NDArray[np.uint64]:
        """A random word for each number (or for it and its partner), another one for each other number."""
        mixed = mix(numbers.astype(np.uint64))
        if partner is not None:
            mixed = mix(mixed ^ mix(mix(partner.astype(np.uint64))))
        return mix(mixed ^ self._words[word])


def _twins(design: Design) -> tuple[list[int], Index]:
    """For each block the first one with the very same axes, and at which unit each block's begin: twins have no own."""
    firsts: dict[tuple[int, ...], int] = {}
    first = [firsts.setdefault(tuple(map(id, block.stimulus)), at) for at, block in enumerate(design.blocks)]
    sizes = [block.stimuli if first[at] == at else 0 for at, block in enumerate(design.blocks)]
    return first, np.cumsum([0, *sizes], dtype=np.int64)


def units(design: Design, together: Sequence[str], trials: Index) -> pl.Series:
    """The unit of each trial: a name where columns say what is asked together, else a number.

    It is the level of the first of the columns that the trial has; without any, its stimulus is one by itself.
    """
    stimuli = design.stimulus_numbers(trials)
    if not together:
        first, starts = _twins(design)
        block = np.searchsorted(design.stimulus_offsets, stimuli, side="right") - 1
        return pl.Series(starts[np.array(first)[block]] + stimuli - design.stimulus_offsets[block])
    columns = [name for name in together if name in design.columns]
    frame = design.trials(trials, columns).select(*columns, pl.Series("stimulus", stimuli))
    start = find_changes(frame)
    levels = (pl.concat_str(pl.lit(f"{c}\x1f"), pl.col(c).cast(pl.String)) for c in (*columns, "stimulus"))
    names = frame[start].select(pl.coalesce(levels)).to_series()
    return names[np.repeat(np.arange(start.size), np.diff(start, append=frame.height))]


def find_changes(frame: pl.DataFrame) -> Index:
    """Rows that differ from the row before them, the very first among them.

    Examples
    --------
    >>> find_changes(pl.DataFrame({"unit": ["a", "a", "b", None, None], "question": [1, 1, 1, 1, 2]})).tolist()
    [0, 2, 3, 4]
    """
    is_first = pl.int_range(pl.len()) == 0
    changes = frame.select(pl.any_horizontal(is_first, pl.all().ne_missing(pl.all().shift())))
    return np.flatnonzero(changes.to_series())


def _ranges(start: Index, stop: Index) -> Index:
    """Numbers of several ranges, one range after another."""
    sizes = stop - start
    shift = start - np.cumsum(sizes) + sizes
    return np.repeat(shift, sizes) + np.arange(int(sizes.sum()), dtype=np.int64)
