"""Trials of counterfactual sets: images x prompts x replies, a block of open prompts and one of ratings per subset."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Block, Design, Factor, Permutation
from facevalue.errors import DataError
from facevalue.protocol.sampling import fitting
from facevalue.studies.counterfactuals.settings import Selection

Index = npt.NDArray[np.int64]
OPEN, RATING = "open", "rating"
_NOT_CARRIED = ("image", "path", "subset")


@dataclass(frozen=True)
class SetLayout:
    """A design of images in counterfactual sets, and how it is sampled."""

    design: Design

    @cached_property
    def _sets(self) -> list[Index]:
        """Number of each image's set in the whole design, by block; the blocks of a subset have the same images."""
        counts: dict[tuple[str, str], int] = {}
        out = []
        for block in self.design.blocks:
            names = block.stimulus[0].choices()["set"]
            subset = block.constants["subset"]
            out.append(
                np.array([counts.setdefault((subset, str(name)), len(counts)) for name in names], dtype=np.int64)
            )
        return out

    def sample(self, size: int, seed: int, repeats: int) -> Index:
        """Draw whole sets asked one prompt, with all replies; sets take turns, and so do prompts."""
        prompts = [len(block.prompt[0]) for block in self.design.blocks]
        replies = [block.prompts // count for block, count in zip(self.design.blocks, prompts, strict=True)]
        cells = []  # (set, prompt counted over the blocks of its subset, requests)
        before: dict[str, int] = {}
        for sets, count, draws, block in zip(self._sets, prompts, replies, self.design.blocks, strict=True):
            names, images = np.unique(sets, return_counts=True)
            first = before.get(block.constants["subset"], 0)
            before[block.constants["subset"]] = first + count
            at = np.arange(first, first + count)
            costs = np.repeat(images * draws * repeats, count)
            cells.append(np.stack([np.repeat(names, count), np.tile(at, names.size), costs]))
        sets_of_cells, prompt, cost = np.concatenate(cells, axis=1)
        many = np.bincount(sets_of_cells)  # prompts of each set
        place = Permutation(many.size, seed)(np.arange(many.size))
        rank = np.argsort(place)[sets_of_cells]  # its turn among the sets
        turn = (prompt - rank - seed) % many[sets_of_cells]
        order = np.lexsort((rank, turn))
        taken = order[fitting(cost[order], size)]
        if not taken.size:
            raise DataError(
                f"A sample of {size:,} requests is too small: one set asked one prompt takes {int(cost.min()):,}."
            )
        is_wanted = np.zeros((many.size, int(many.max())), dtype=np.bool_)
        is_wanted[sets_of_cells[taken], prompt[taken]] = True
        return np.sort(np.concatenate(list(self._trials(is_wanted, prompts, replies))))

    def _trials(self, is_wanted: npt.NDArray[np.bool_], prompts: list[int], replies: list[int]) -> Iterator[Index]:
        before: dict[str, int] = {}
        for at, block in enumerate(self.design.blocks):
            first = before.get(block.constants["subset"], 0)
            before[block.constants["subset"]] = first + prompts[at]
            image, prompt = np.nonzero(is_wanted[self._sets[at], first : first + prompts[at]])
            start = int(self.design.offsets[at]) + (image * prompts[at] + prompt) * replies[at]
            yield (start[:, None] + np.arange(replies[at])).ravel()


def layout(frame: pl.DataFrame, chosen: Selection) -> SetLayout:
    """Lay the blocks out. An image of no set is one by itself; of an unknown occupation no rating is asked.

    Raises
    ------
    DataError
        Nothing is left to ask.
    """
    blocks = []
    draws = Factor("draw", tuple(map(str, range(chosen.replies))))
    for (subset,), images in frame.group_by("subset", maintain_order=True):
        for task, prompts, rows in (
            (OPEN, chosen.open_prompts, images),
            (RATING, chosen.ratings, images.filter(pl.col("occupation").is_not_null())),
        ):
            if prompts and rows.height:
                prompt_factors = (Factor("prompt", prompts), *([draws] if task == OPEN else []))
                facts = {"subset": str(subset), "task": task, "shown": chosen.shown}
                blocks.append(Block(f"{subset} {task}", (_images(rows),), prompt_factors, facts))
    if not blocks:
        raise DataError("Nothing is left to ask: ratings name an occupation, and no picture has one.")
    return SetLayout(Design(tuple(blocks)))


def _images(rows: pl.DataFrame) -> Factor:
    named_sets = rows.with_columns(pl.coalesce("set", "image").alias("set"))
    carried = [
        name
        for name in named_sets.columns
        if name not in _NOT_CARRIED and named_sets[name].null_count() < named_sets.height
    ]
    return Factor("image", tuple(named_sets["image"]), {name: tuple(named_sets[name]) for name in carried})
