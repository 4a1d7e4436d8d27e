"""Contents of each block of the design: subset, prompts, and the set, group and occupation of each image."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Block, Design, Factor
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimators import Codes, Sums, code_levels

BY_OCCUPATION = "characteristics"
"""The prompt that occupations are told for (section 4.3, Figures 5 and 7); the first where it was not asked."""
Number = TypeVar("Number", np.float64, np.bool_)


@dataclass(frozen=True)
class Part:
    """One block as its measures need it.

    Attributes
    ----------
    start:
        Number of its first trial.
    group, occupation:
        Of each image, as numbers in `groups` and `occupations`; -1 where the occupation is not known.
    cluster:
        Of each image: its set, or the image itself where it is in none.
    set_names:
        What sets are called, in the order of their numbers.
    sets:
        Images of the sets that have each group once, shape (sets, groups).
    """

    subset: str
    task: str
    start: int
    prompts: tuple[str, ...]
    draws: int
    groups: tuple[str, ...]
    occupations: tuple[str, ...]
    group: Codes = field(repr=False)
    occupation: Codes = field(repr=False)
    cluster: Codes = field(repr=False)
    sets: Codes = field(repr=False)
    set_names: tuple[str, ...] = field(repr=False)

    @property
    def images(self) -> int:
        """Number of images."""
        return self.group.size

    @property
    def clusters(self) -> int:
        """Number of sets, and of images in none."""
        return int(self.cluster.max()) + 1

    @property
    def trials(self) -> slice:
        """Its trials in the design."""
        return slice(self.start, self.start + self.images * len(self.prompts) * self.draws)

    @property
    def cells(self) -> int:
        """Pairs of image and prompt."""
        return self.images * len(self.prompts)

    @cached_property
    def set_occupation(self) -> Codes:
        """Occupation of each set that is whole; -1 where its images do not agree."""
        occupations = self.occupation[self.sets]
        return (
            np.where((occupations == occupations[:, :1]).all(axis=1), occupations[:, 0], -1)
            if occupations.size
            else np.zeros(0, dtype=np.int64)
        )

    def of_prompt(self, values: Array, prompt: int) -> Array:
        """Values of trials about one prompt, shape (images, draws)."""
        return values.reshape(self.images, len(self.prompts), self.draws)[:, prompt]

    def told_prompt(self, answered: Sequence[int]) -> int:
        """Number of the prompt that occupations are told for, of those with an answer."""
        return next((at for at in answered if self.prompts[at] == BY_OCCUPATION), answered[0])

    def by_image(self, numbers: Mapping[str, Array]) -> Sums:
        """Numbers of images as sums by set and group."""
        return Sums(numbers, {"unit": self.cluster}, {"group": (self.groups, self.group)}, self.set_names)

    def in_sets(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Values by image in whole sets: shape (sets, groups, ...)."""
        return values[self.sets]


def parts(design: Design, partial: Mapping[str, Sequence[str]] | None = None) -> list[Part]:
    """Contents of each block of a design; `partial` names sets of subsets that lack a group, whichever occur."""
    lacking = partial or {}
    return [
        _part(block, int(start), lacking.get(block.constants["subset"], ()))
        for block, start in zip(design.blocks, design.offsets, strict=False)
    ]


def _part(block: Block, start: int, lacking: Sequence[str]) -> Part:
    images, levels = len(block.stimulus[0]), block.stimulus[0].choices()
    prompts, *draws = block.prompt
    assert isinstance(prompts, Factor)
    columns = (levels["group"], levels.get("occupation", (None,) * images), levels["set"])
    coded_columns = (code_levels(pl.Series(column, dtype=pl.String)) for column in columns)
    (groups, group), (occupations, occupation), (names, cluster) = coded_columns
    sets = _whole_sets(cluster, group, len(groups), np.isin(names, list(lacking)))
    facts, per_prompt = block.constants, len(draws[0]) if draws else 1
    return Part(
        facts["subset"], facts["task"], start, prompts.levels, per_prompt, groups, occupations,
        group, occupation, cluster, sets, names,
    )  # fmt: skip


def _whole_sets(cluster: Codes, group: Codes, groups: int, lacking: npt.NDArray[np.bool_]) -> Codes:
    """Images of sets that have each group once."""
    count = int(cluster.max()) + 1
    size = np.bincount(cluster, minlength=count)
    pairs = np.unique(cluster * groups + group)
    distinct = np.bincount(pairs // groups, minlength=count)
    is_whole = (size == groups) & (distinct == groups) & (groups > 1) & ~lacking
    images = np.flatnonzero(is_whole[cluster])
    images = images[np.lexsort((group[images], cluster[images]))]
    return images.reshape(-1, groups)
