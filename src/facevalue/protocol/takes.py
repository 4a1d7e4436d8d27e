"""Takes: what is measured of the answers, broken down by what, tested in which family."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import combinations
from math import inf, prod
from operator import mul

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Factor
from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.slicing import Labels, Slicing
from facevalue.protocol.sets import Sets

Codes = npt.NDArray[np.int64]
SHIFT, MEAN, GAP, SPREAD, PREFERENCE, TALLY = "shift", "mean", "gap", "spread", "preference", "tally"
FLIP, LEAN, RANGE, SIMILARITY = "flip", "lean", "range", "similarity"
KINDS = (SHIFT, MEAN, LEAN, GAP, SPREAD, PREFERENCE, TALLY, FLIP, RANGE, SIMILARITY)
BESIDE_FLOOR = (FLIP, SIMILARITY)
"""What compares replies about a picture and its base, beside two replies about one picture; it is not tested."""
BETWEEN = (SPREAD, TALLY)
"""What says that groups of units differ, over all of them."""
UNSIGNED = (*BETWEEN, RANGE)
"""What is never below zero, so that it stands beside a noise floor."""
METHODS = ("holm", "bh", "by")
CONTRAST, DIMENSION, GROUP, OTHER_GROUP = "contrast", "dimension", "group", "other_group"
MOST_LEVELS, MOST_GROUPS = 1_000, 100
"""Levels of a factor by which answers are broken down, and groups whose spread is estimated: of more the memory and the
page would grow beyond what anybody can read."""
OTHERS, LEVELS_MEAN, EACH_OTHER, ALIKE = "(others)", "(mean)", "(each other)", "(alike)"
"""What a gap may be versus, beside a level: all that have another one, the mean of the unit's levels, each of them, and
the unit's levels that are alike, whichever these are."""


@dataclass(frozen=True)
class Take:
    """Something that is measured.

    Attributes
    ----------
    measure:
        `shift`: how far each picture lies from its base, within its unit. `mean`: the score itself. `lean`: how far it
        lies from the middle of its scale. `gap`: the difference between levels of a factor. `spread`: how far the
        groups of a factor lie apart. `preference`: how far pairs lean to the picture beside the base, or of any two
        pictures to that with a level of `of`. `tally`: share of questions in which groups of a factor differ, or in
        which the cue moves the answer. `flip`: how often the answer differs from that about the base, beyond a picture
        asked twice. `range`: how far the levels of a factor lie apart within a unit, the highest score less the lowest.
        `similarity`: how much of the lists about a picture and its base is the same.
    by:
        Factors, of pictures or of the prompt, that it is broken down by.
    of:
        The factor of a gap, spread, tally or range; of a preference where any two pictures of a unit are a pair, and of
        a similarity of any two pictures of a unit.
    versus:
        Level that all others are compared with, or "(others)": each level with the rest; "(mean)": with the mean of the
        unit's levels; "(each other)": all pairs; "(alike)": with the majority of the unit's levels that is alike,
        whichever these are. By default two levels are compared with each other, and each of more with the rest.
    ends:
        All levels of the factor of a gap in their order: of those shown, the last alone is compared with the first.
    on:
        Gaps are those of scores, or of shifts ("shift").
    scores:
        Of which scores; all by default.
    family:
        Name of the family of tests, and title of their section; made up if empty. Of means, of the section alone.
    confirmatory, method:
        Whether the family is declared to be judged strictly, and how: "holm", "bh" or "by".
    margin:
        Largest difference that would not matter.
    tested:
        Whether it says that things differ, in a family of tests; a mean never does, nor do flips and similarities:
        another picture of the same kind would change answers, too.
    name:
        Of the measure; by default that of what is measured.
    size:
        Whether the size of a shift stands beside it, without its sign, and again without what chance adds.
    rank_test:
        Whether a test of ranks stands beside it, as papers print: Wilcoxon's for shifts, for spreads that of
        Mann and Whitney, or of Kruskal and Wallis.
    welch:
        Whether groups of faces are of about one size, so that Welch's test alone judges their gap.
    any:
        Factors of the prompt of whose levels one with a finding is enough, such as "wording".
    optional:
        Whether it is left out where the pictures lack its factors.
    only:
        Levels of factors in `by`: estimates of others are left out.
    where:
        Place of the take in a file, for people.

    Examples
    --------
    >>> Take("shift", by=("variation",), family="cues", margin=0.05).measure
    'shift'
    """

    measure: str
    by: tuple[str, ...] = ()
    of: str = ""
    versus: str = ""
    on: str = "score"
    scores: tuple[str, ...] = ()
    family: str = ""
    confirmatory: bool = False
    method: str = "holm"
    margin: float | None = None
    ends: tuple[str, ...] = ()
    tested: bool = True
    name: str = ""
    size: bool = False
    rank_test: bool = False
    welch: bool = False
    any: tuple[str, ...] = ()
    optional: bool = False
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    where: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.measure not in KINDS:
            raise UnknownNameError("measure", self.measure, KINDS)
        if self.method not in METHODS:
            raise UnknownNameError("method", self.method, METHODS)
        if self.on not in ("score", SHIFT):
            raise UnknownNameError("what a gap is on", self.on, ("score", SHIFT))
        if self.measure not in (PREFERENCE, SIMILARITY) and (self.measure in (GAP, *UNSIGNED)) != bool(self.of):
            lack = "needs a factor" if not self.of else "has no factor"
            raise DataError(f"A {self.measure} {lack} of its own: `of` is for gaps, spreads, tallies and ranges.")
        if (self.versus or self.ends) and not self.compares:
            raise DataError(f"A {self.measure} is not versus a level: only a gap is.")
        if self.ends and (self.versus or len(set(self.ends)) < len(self.ends)):
            raise DataError("`ends` names all levels of a factor in their order, each once, and stands for `versus`.")
        titled = self.family and self.measure != MEAN  # of means it is what their section is called
        if not self.tested and (titled or self.confirmatory or self.margin is not None):
            raise DataError(f"A {self.measure} that is not tested has no family and no margin.")
        if self.measure in (MEAN, *BESIDE_FLOOR):
            object.__setattr__(self, "tested", False)
        if not re.fullmatch("([a-z][a-z0-9_]{0,39})?", self.name):
            raise DataError(f"The measure's name {self.name!r} is not made of small letters, digits and underscores.")
        for key, kinds in (("size", (SHIFT,)), ("rank_test", (SHIFT, SPREAD)), ("welch", (GAP,)), ("any", (TALLY,))):
            if getattr(self, key) and self.measure not in kinds:
                raise DataError(f"A {self.measure} has no {key!r}: only a {' or a '.join(kinds)} has.")
        strays = {"on": self.on == SHIFT, "welch": self.welch, "confirmatory": self.confirmatory}
        if self.versus == ALIKE and any(strays.values()):
            stray = next(key for key, is_set in strays.items() if is_set)
            raise DataError(f"A gap versus {ALIKE} has no {stray!r}: it is between scores, by a test of its own.")
        if self.of in (*self.by, *self.any) or len({*self.by, *self.any}) != len(self.by) + len(self.any):
            raise DataError(f"The {self.measure} names a factor twice.")
        if stray := next((name for name in self.only if name not in self.by), ""):
            raise DataError(f"`only` names levels of the factors in `by`; {stray!r} is none of them.")
        if self.only and self.measure in UNSIGNED:
            raise DataError(f"A {self.measure} is over all of its levels: `only` is for other measures.")
        if self.margin is not None and not 0 < self.margin < inf:
            raise DataError(f"The margin of the {self.measure} is {self.margin:g}: it must be above zero.")

    @property
    def compares(self) -> bool:
        """Whether it compares levels of `of` with each other, in one direction."""
        return self.measure == GAP or bool(self.measure == PREFERENCE and self.of)

    def named(self) -> str:
        """Name of its family."""
        if self.family or not self.tested:
            return self.family
        plural = "tallies" if self.measure == TALLY else f"{self.measure}s"
        text = f"{plural} of {self.of}" if self.of else plural
        text = f"{text} on shifts" if self.on == SHIFT else text
        return f"{text} by {', '.join(self.by)}" if self.by else text

    def holds(self, labels: Labels, size: int) -> npt.NDArray[np.bool_]:
        """Whether estimates with these labels are of the levels that it is for.

        Examples
        --------
        >>> Take("mean", by=("place",), only={"place": ("shop",)}).holds({"place": ["shop", "home"]}, 2).tolist()
        [True, False]
        """
        out = np.ones(size, dtype=np.bool_)
        for name, levels in self.only.items():
            out &= np.array([level in levels for level in labels[name]], dtype=np.bool_)
        return out


@dataclass(frozen=True)
class Breakdown:
    """What a study's answers can be broken down by.

    Attributes
    ----------
    sets:
        The stimuli.
    items:
        Factors of the prompt; their attributes are coarser factors, such as the category of a scenario.
    shared:
        Whether groups of all dimensions share the labels `dimension`, `group` and `other_group`; else each factor of
        the stimuli is a label of its own.
    """

    sets: Sets
    items: tuple[Factor, ...]
    shared: bool = False

    @property
    def factors(self) -> list[str]:
        """Factors of the stimuli and of the prompt, coarser ones included."""
        cue = [name for name in self.sets.cue if name not in self.sets.factors]
        return [*cue, *self.sets.factors, *self.of_prompt]

    @property
    def asked(self) -> list[str]:
        """Factors of the prompt."""
        return [factor.name for factor in self.items]

    @property
    def of_prompt(self) -> list[str]:
        """Factors of the prompt, each with its coarser ones."""
        return list(self._of_items)

    def _why_none(self, name: str) -> str:
        """Why a column of the list is no factor, if it is that all that is shown has one level of it."""
        levels = self.sets.levels(name) if name in self.sets.columns else []
        return f"All that is shown has one level of {name!r}, {levels[0]!r}." if len(levels) == 1 else ""

    def check(self, take: Take) -> None:
        """Refuse a take on what there isn't."""
        for name in (*take.by, *take.any, *filter(None, [take.of])):
            if name not in self.factors:
                raise UnknownNameError(f"factor in a {take.measure}", name, self.factors, self._why_none(name))
        for name, only in take.only.items():
            for level in only:
                if level not in self.levels(name):
                    raise UnknownNameError(f"level of {name}", level, self.levels(name))
        if take.measure == SIMILARITY and take.of:
            self._check_similarity(take)
        elif take.measure in (SHIFT, *BESIDE_FLOOR) or take.on == SHIFT:
            if not self.sets.cue:
                kind = take.measure if take.measure in BESIDE_FLOOR else SHIFT
                raise DataError(f"A {kind} needs a base: say what differs, and which level is the base.")
            if take.of in self.sets.cue:
                raise DataError(f"Shifts are those of {take.of!r}: break them down by it, or compare scores.")
        if take.measure == PREFERENCE and bool(take.of) != self.any_two:
            lack = "of any two pictures needs `of`" if self.any_two else "for the picture beside the base has no `of`"
            raise DataError(f"A preference {lack}: the factor whose levels stand beside each other.")
        if take.measure == PREFERENCE and take.of and take.of not in self.sets.of_both:
            raise DataError(f"The pictures of a pair do not differ in {take.of!r}: there is nothing to prefer.")
        if take.measure == PREFERENCE and (differ := self.sets.of_pairs & {*take.by}):
            raise DataError(
                f"A preference is of two pictures, which differ in {min(differ)!r}: break it down by what both show."
            )
        if self.is_of_cue(take):
            if (many := len(self.levels(take.of)) - (self.sets.base_level is not None)) != 1:
                raise DataError(f"A tally of {take.of!r} needs one level beside the base, and there are {many}.")
        elif take.measure in BETWEEN and take.of not in self.sets.dimensions and not self.is_within(take):
            raise DataError(
                f"A {take.measure} is between groups of units; {take.of!r} is not a factor in which units differ."
            )
        if take.measure == RANGE:
            self._check_range(take)
        if take.measure == TALLY and (stray := next((n for n in take.by if n not in self.of_prompt), "")):
            raise DataError(f"A tally is a share of questions, and {stray!r} is no factor of the questions.")
        if stray := next((name for name in take.any if name not in self.asked), ""):
            raise UnknownNameError("factor of the questions", stray, self.asked)
        if take.rank_test and self.is_within(take):
            raise DataError(f"A spread of {take.of!r}, of which a unit has several levels, has no 'rank_test'.")
        if take.measure == SPREAD and not self.is_within(take) and set(take.by) not in (set(), set(self.asked)):
            raise DataError("A spread is over all questions, or by all factors of the prompt.")
        levels = [*self.levels(take.of), OTHERS, LEVELS_MEAN, EACH_OTHER, ALIKE] if take.versus else []
        if take.versus and take.versus not in levels:
            raise UnknownNameError(f"level of {take.of}", take.versus, levels)
        if take.versus in (LEVELS_MEAN, ALIKE) and (take.measure == PREFERENCE or not self.paired(take.of)):
            lack = "there is no mean of its levels" if take.versus == LEVELS_MEAN else "it has none that are alike"
            alone = "A preference is for one of two pictures" if take.measure == PREFERENCE else (
                f"A unit has one level of {take.of!r}"
            )  # fmt: skip
            raise DataError(f"{alone}, so that {lack}: compare with {OTHERS}.")
        for level in self.levels(take.of) if take.ends else ():
            if level not in take.ends:
                raise DataError(f"`ends` names all levels of {take.of} in their order, and lacks {level!r}.")
        if take.of and not self.is_of_cue(take) and len(self.levels(take.of)) < 2:
            raise DataError(f"The factor {take.of!r} has one level only: there is nothing to compare.")

    def _check_similarity(self, take: Take) -> None:
        if take.of in self._of_items or not self.sets.varies(take.of):
            raise DataError(f"Lists about pictures of one unit are compared, and no unit has several of {take.of!r}.")
        for name in take.by:
            if name not in self._of_items and self.sets.varies(name):
                raise DataError(
                    f"A similarity of {take.of!r} is of two pictures of a unit, which differ in {name!r}, too."
                )

    def pairs(self, name: str) -> tuple[Codes, Codes]:
        """Rows of any two pictures of one unit that have different levels of a factor."""
        frame = pl.DataFrame({"unit": self.sets.identity, "level": self.sets.manifest[name]}).with_row_index("row")
        frame = frame.drop_nulls()
        joined = frame.join(frame, on="unit", suffix=" of the second", maintain_order="left_right")
        rival = pl.col("row") < pl.col("row of the second")
        rows = joined.filter(rival, pl.col("level") != pl.col("level of the second"))
        return tuple(rows[column].cast(pl.Int64).to_numpy() for column in ("row", "row of the second"))  # type: ignore[return-value]

    def _check_range(self, take: Take) -> None:
        if take.of in self._of_items or not self.sets.varies(take.of):
            raise DataError(
                f"A range is over the levels that the pictures of one unit have; no unit has several of {take.of!r}."
            )
        cell = [self.sets.key, *(name for name in take.by if name not in self._of_items), take.of]
        counted = self.sets.manifest[self.shown(take)].drop_nulls(cell)
        if counted.select(cell).is_duplicated().any():
            raise DataError(
                f"A unit shows a level of {take.of!r} in several pictures, so that a range would be of more of them in "
                "some units than in others: break the range down by what tells these pictures apart."
            )

    def is_within(self, take: Take) -> bool:
        """Whether a spread is of levels of which each unit has several, so that they are compared within units."""
        of_sets = take.of in self.sets.factors and take.of not in self.sets.cue
        return take.measure == SPREAD and of_sets and self.sets.varies(take.of)

    def is_of_cue(self, take: Take) -> bool:
        """Whether a tally is of questions in which the cue moves the answer, within units."""
        return take.measure == TALLY and take.of in self.sets.cue

    def levels(self, name: str) -> list[str]:
        """Levels of a factor."""
        if name in self._of_items:
            return list(dict.fromkeys(map(str, self._of_items[name][1])))
        return self.sets.levels(name)

    def codes(self, at: Codes, name: str) -> Codes:
        """Place of each of these stimuli among the levels of a factor of theirs; -1 for none."""
        place = {level: number for number, level in enumerate(self.levels(name))}
        return np.array([place.get(level, -1) for level in self.sets.manifest[name][at]], dtype=np.int64)

    @property
    def any_two(self) -> bool:
        """Whether any two pictures of a unit are a pair, not the base and another."""
        return bool(self.sets.of_both)

    def paired(self, name: str) -> bool:
        """Whether a unit has several levels of a factor."""
        return name in self._of_items or self.sets.varies(name)

    def nests(self, coarse: str, fine: str) -> bool:
        """Whether each level of one factor has a single level of another, as scenarios have one category."""
        at_coarse, at_fine = self._of_items.get(coarse), self._of_items.get(fine)
        if at_coarse and at_fine and at_coarse[0] == at_fine[0]:
            pairs = pl.DataFrame({"coarse": at_coarse[1], "fine": at_fine[1]})
        elif at_coarse or at_fine:
            return False
        else:
            pairs = self.sets.manifest.select(coarse=coarse, fine=fine)
        levels = pairs.drop_nulls().group_by("fine").agg(pl.col("coarse").n_unique())["coarse"]
        return levels.len() > 0 and levels.max() == 1

    def columns(self, names: Sequence[str]) -> Slicing:
        """Partition the items by factors of the prompt, in the order named."""
        sizes = [len(factor) for factor in self.items]
        digits = np.unravel_index(np.arange(prod(sizes)), sizes) if sizes else ()
        out = Slicing.whole(prod(sizes))
        for name in names:
            if name in self._of_items:
                axis, values = self._of_items[name]
                levels = list(dict.fromkeys(values))
                places = np.array([levels.index(value) for value in values], dtype=np.int64)
                out = out * Slicing(places[digits[axis]], {name: levels})
        return out

    @cached_property
    def _of_items(self) -> dict[str, tuple[int, tuple[str | None, ...]]]:
        """Place among the items, and value of each level there, of factors of the prompt and their attributes."""
        columns = ((axis, column) for axis, factor in enumerate(self.items) for column in factor.columns())
        return {column.name: (axis, column.values) for axis, column in columns}

    def rows(self, at: Codes, names: Sequence[str]) -> Slicing:
        """Partition stimuli by those of the factors that are theirs, the cue outermost."""
        of_stimuli = [name for name in names if name not in self._of_items]
        cue = [name for name in of_stimuli if name in self.sets.cue]
        slicings = [
            self.sets.slicing(at, *joint)
            for joint in (cue, *([name] for name in of_stimuli if name not in cue))
            if joint
        ]
        return reduce(mul, slicings).present() if slicings else Slicing.whole(at.size)

    def labelled(self, labels: Labels) -> Labels:
        """Labels of estimates, from levels of factors."""
        if not self.shared:
            return labels
        out: dict[str, Sequence[str | None]] = {}
        for name, levels in labels.items():
            if name in self.sets.dimensions:
                out |= {DIMENSION: [name] * len(levels), GROUP: levels}
            else:
                out[OTHER_GROUP if name == CONTRAST else name] = levels
        return out

    def shown(self, take: Take) -> Codes:
        """Stimuli that means, gaps and spreads are of: bases where there are any, unless the cue is looked at."""
        if self.sets.cue and not set(self.sets.cue) & {*take.by, take.of}:
            return self.sets.base[self.sets.base >= 0]
        return np.arange(self.sets.manifest.height)

    def contrasts(self, take: Take) -> list[tuple[str, str]]:
        """Which levels are compared with which."""
        levels = self.levels(take.of)
        if take.ends:
            ordered = [level for level in take.ends if level in levels]
            return [(ordered[-1], ordered[0])]
        if take.versus == EACH_OTHER:
            return [(level, rival) for rival, level in combinations(levels, 2)]
        if take.versus:
            return [(level, take.versus) for level in levels if level != take.versus]
        return [(levels[1], levels[0])] if len(levels) == 2 else [(level, OTHERS) for level in levels]
