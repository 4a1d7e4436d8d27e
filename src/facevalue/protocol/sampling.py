"""Samples of whole units: everything that is compared with each other is asked, or nothing of it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facevalue.design import Design, Permutation
from facevalue.errors import DataError
from facevalue.statistics.sets import Sets

Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WholeUnits:
    """Whole (unit, item) pairs: all stimuli of a unit, asked one item in all orderings.

    A shift needs its base, and all variations of a unit share it; so this is the cheapest pair that measures every
    variation. Units take turns, so that a small sample still has as many clusters as it can; so do items, so that all
    are asked about as often.
    """

    design: Design
    """Its blocks have one stimulus axis `image`; the last prompt axes hold the orderings and draws."""
    sets: Sets
    """Units of its stimuli."""
    questions: Mapping[str, tuple[int, int]]
    """Items of each task, and requests of one about one picture; a study of one task has one without a name."""
    what: str
    mend: str
    """Sentence on the smallest sample, and on what would make it smaller, for people."""

    def __call__(self, size: int, seed: int, repeats: int) -> Index:
        """Trial numbers of as many whole pairs as fit into so many requests, ascending."""
        units, tasks = len(self.sets.identities), list(self.questions)
        rows = dict(zip(self.sets.manifest["image"].to_list(), self.sets.identity.tolist(), strict=True))
        units_of_images = [
            np.array([rows[str(name)] for name in block.stimulus[0].columns()[0].values], dtype=np.int64)
            for block in self.design.blocks
        ]
        task_of_block = [tasks.index(block.constants.get("task", "")) for block in self.design.blocks]
        pictures = np.zeros((len(tasks), units), dtype=np.int64)
        for task, of_block in zip(task_of_block, units_of_images, strict=True):
            pictures[task] += np.bincount(of_block, minlength=units)
        many, prompts_of_task = np.array(list(self.questions.values()), dtype=np.int64).T
        task_of_item = np.repeat(np.arange(len(tasks)), many)
        requests = pictures * prompts_of_task[:, None] * repeats
        items = task_of_item.size
        smallest = int(requests[requests > 0].min())
        turns = Permutation(units, seed)(np.arange(units))
        item_order = Permutation(items, seed + 1)(np.arange(items))
        is_asked = np.zeros((units, items), dtype=np.bool_)
        left = size
        for turn in range(items):
            item = item_order[(np.arange(units) + turn) % items]
            costs = requests[task_of_item[item], turns]
            possible = np.flatnonzero(costs)
            fits = possible[fitting(costs[possible], left)]
            is_asked[turns[fits], item[fits]] = True
            left -= int(costs[fits].sum())
            if left < smallest:
                break
        if not is_asked.any():
            mend = f" {self.mend}" if self.mend else ""
            raise DataError(f"A sample of {size:,} is too small: {self.what} takes {smallest:,} requests.{mend}")
        numbers = []
        for task, of_block, offset in zip(task_of_block, units_of_images, self.design.offsets, strict=False):
            image, question = np.nonzero(is_asked[:, task_of_item == task][of_block])
            first = offset + (image * many[task] + question) * prompts_of_task[task]
            numbers.append((first[:, None] + np.arange(prompts_of_task[task])).ravel())
        return np.sort(np.concatenate(numbers))


def fitting(costs: Index, size: int) -> Index:
    """Select things, first come first served, whose costs do not exceed `size` together.

    Examples
    --------
    >>> fitting(np.array([5, 3, 4, 2, 1]), 11).tolist()
    [0, 1, 3, 4]
    """
    left, taken = size, []
    open_ = np.flatnonzero(costs <= left)
    while open_.size:
        spent = np.cumsum(costs[open_])
        stop = int(np.searchsorted(spent, left, side="right"))
        taken.append(open_[:stop])
        left -= int(spent[stop - 1]) if stop else 0
        open_ = open_[stop:]
        open_ = open_[costs[open_] <= left]
    return np.concatenate(taken) if taken else np.zeros(0, dtype=np.int64)
