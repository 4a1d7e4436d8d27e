"""Estimand: what is estimated, broken down by what, of which scores, tested in which family."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
import numpy.typing as npt

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cells import SliceLabels
from facevalue.measures.definitions import Measure, key_of
from facevalue.statistics.breakdown import Breakdown
from facevalue.statistics.rivals import ALIKE
from facevalue.statistics.statistic import Score, Statistic, Unsigned, check_names

CORRECTIONS = ("holm", "bh", "by")


@dataclass(frozen=True)
class Estimand:
    """Quantity that is estimated: a statistic, of some scores, by labels.

    Attributes
    ----------
    statistic:
        What is computed: `Shift()`, `Gap(factor="gender")`.
    by:
        Factors, of pictures or of the prompt, that it is broken down by.
    scores:
        Of which scores; all by default.
    family:
        Name of the family of tests, and title of their section; made up if empty. Of means, of the section alone. Of
        sums it may hold labels in braces, each of whose levels is a family of its own: "choices ({question})".
    confirmatory, correction:
        Whether the family is declared to be judged strictly, and how: "holm", "bh" or "by".
    margin:
        Largest difference that would not matter.
    tested:
        Whether it says that things differ, in a family of tests; a mean never does, nor do flips and similarities:
        another picture of the same kind would change answers, too.
    measure:
        Name of the measure; by default that of what is measured.
    optional:
        Whether it is left out where the pictures lack its factors.
    only:
        Levels of factors in `by`: estimates of others are left out.
    place:
        Place of the estimand in a file, for people.

    Examples
    --------
    >>> from facevalue.statistics.contrasts import Shift
    >>> Estimand(Shift(), by=("variation",), margin=0.05).family_name
    'shifts by variation'
    """

    statistic: Statistic
    by: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    family: str = ""
    confirmatory: bool = False
    correction: str = "holm"
    margin: float | None = None
    tested: bool = True
    measure: str = ""
    optional: bool = False
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    place: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        self._check_types()
        object.__setattr__(self, "by", check_names(self.by, "by"))
        object.__setattr__(self, "scores", check_names(self.scores, "scores"))
        object.__setattr__(self, "only", {name: check_names(self.only[name], "only") for name in self.only})
        kind, says_difference = self.statistic.kind, self.statistic.says_difference
        if self.correction not in CORRECTIONS:
            raise UnknownNameError("correction", self.correction, CORRECTIONS)
        titled = self.family and says_difference  # of levels it is what their section is called
        if not self.tested and (titled or self.confirmatory or self.margin is not None):
            raise DataError(f"A {kind} that is not tested has no family and no margin.")
        if self.margin is not None and not says_difference:
            raise DataError(f"A {kind} is never tested, so that it has no margin.")
        if self.correction != "holm" and not self.confirmatory:
            raise DataError("`correction` is that of a confirmatory family: add `confirmatory`, or leave it out.")
        if self.confirmatory and self.statistic.corrects_itself:
            raise DataError(f"A {kind} versus {ALIKE} has no 'confirmatory': it is judged by a test of its own.")
        if not says_difference:
            object.__setattr__(self, "tested", False)
        if not re.fullmatch("([a-z][a-z0-9_]{0,39})?", self.measure):
            raise DataError(
                f"The measure's name {self.measure!r} is not made of small letters, digits and underscores."
            )
        names = (*self.by, *self.statistic.factors)
        if len({*names}) < len(names):
            raise DataError(f"The {kind} names a factor twice.")
        if stray := next((name for name in self.only if name not in self.by), ""):
            raise DataError(f"`only` names levels of the factors in `by`; {stray!r} is none of them.")
        if stray := next((name for name, levels in self.only.items() if not levels), ""):
            raise DataError(f"`only` names no level of {stray!r}: leave it out for all of them.")
        if self.only and isinstance(self.statistic, Unsigned):
            raise DataError(f"A {kind} is over all of its levels: `only` is for other statistics.")
        if self.margin is not None and not 0 < self.margin < inf:
            raise DataError(f"The margin of the {kind} is {self.margin:g}: it must be above zero.")

    def _check_types(self) -> None:
        """Refuse values of another type than the field's."""
        if not isinstance(self.statistic, Statistic):
            raise DataError(f"The statistic of an estimand is one such as Mean(), not {self.statistic!r}.")
        for name in ("confirmatory", "tested", "optional"):
            if not isinstance(getattr(self, name), bool):
                raise DataError(f"`{name}` of an estimand is True or False, not {getattr(self, name)!r}.")
        for name in ("family", "correction", "measure"):
            if not isinstance(getattr(self, name), str):
                raise DataError(f"`{name}` of an estimand is a text, not {getattr(self, name)!r}.")
        if self.margin is not None and (isinstance(self.margin, bool) or not isinstance(self.margin, int | float)):
            raise DataError(f"`margin` of an estimand is a number, not {self.margin!r}.")
        if not isinstance(self.only, Mapping):
            raise DataError(
                f"`only` of an estimand has levels by factor, such as {{'job': ('cook',)}}, not {self.only!r}."
            )

    @property
    def factors(self) -> tuple[str, ...]:
        """All factors that it names."""
        return (*self.by, *self.statistic.factors)

    @property
    def compared_factor(self) -> str:
        """The factor whose levels it compares; empty where it is of none."""
        return next(iter(self.statistic.factors), "")

    @property
    def family_name(self) -> str:
        """Name of its family; empty where it is in none."""
        if self.family or not self.tested:
            return self.family
        statistic, factor = self.statistic, self.compared_factor
        text = statistic.plural or f"{statistic.kind}s"
        text = f"{text} of {factor}" if factor else text
        text = f"{text} on shifts" if getattr(statistic, "of_shifts", False) else text
        return f"{text} by {', '.join(self.by)}" if self.by else text

    def is_of(self, score: Score) -> bool:
        """Return whether it is of a score."""
        return not self.scores or score.name in self.scores

    def name_of(self, breakdown: Breakdown) -> str:
        """Name of its measure."""
        return self.measure or self.statistic.quantity(breakdown)

    def names_of(self, breakdown: Breakdown) -> tuple[str, ...]:
        """Names of its measure and of those that stand beside it."""
        name = self.name_of(breakdown)
        return name, *self.statistic.companions(name)

    def holds(self, labels: SliceLabels, size: int) -> npt.NDArray[np.bool_]:
        """Flag estimates with these labels that are of the levels it is for.

        Examples
        --------
        >>> from facevalue.statistics.levels import Mean
        >>> shops = Estimand(Mean(), by=("place",), only={"place": ("shop",)})
        >>> shops.holds({"place": ["shop", "home"]}, 2).tolist()
        [True, False]
        """
        out = np.ones(size, dtype=np.bool_)
        for name, levels in self.only.items():
            out &= np.array([level in levels for level in labels[name]], dtype=np.bool_)
        return out

    def check(self, breakdown: Breakdown) -> None:
        """Refuse an estimand of what there isn't.

        Raises
        ------
        DataError, UnknownNameError
            A factor or level that the study has not, or nothing to compare.
        """
        kind, factor = self.statistic.kind, self.compared_factor
        for name in self.factors:
            if name not in breakdown.factors:
                raise UnknownNameError(f"factor in a {kind}", name, breakdown.factors, breakdown.why_none(name))
        for name, only in self.only.items():
            for level in only:
                if level not in breakdown.levels(name):
                    raise UnknownNameError(f"level of {name}", level, breakdown.levels(name))
                if self.statistic.from_base and name in breakdown.sets.cue and level == breakdown.sets.base_level:
                    raise DataError(f"A {kind} is from the base, {level!r}, which has none: `only` names other levels.")
        self.statistic.check(self.by, breakdown)
        if factor and self.statistic.needs_levels(breakdown) and len(breakdown.levels(factor)) < 2:
            raise DataError(f"The factor {factor!r} has one level only: there is nothing to compare.")


def definitions(estimands: Sequence[Estimand], breakdown: Breakdown, scores: Sequence[Score]) -> dict[str, Measure]:
    """Definitions of what estimands measure, by key."""
    return {
        measure.key: measure
        for estimand in estimands
        for score in filter(estimand.is_of, scores)
        for measure in estimand.statistic.measures(estimand.name_of(breakdown), breakdown, score).values()
    }


def margins(estimands: Sequence[Estimand], breakdown: Breakdown, scores: Sequence[Score]) -> dict[str, float]:
    """Margins by key of the measure."""
    out: dict[str, float] = {}
    for estimand in estimands:
        for score in filter(estimand.is_of, scores):
            if estimand.margin is None:
                continue
            key = key_of(estimand.name_of(breakdown), score.label)
            if out.setdefault(key, estimand.margin) != estimand.margin:
                raise DataError(f"The measure {key!r} has two margins: {out[key]:g} and {estimand.margin:g}.")
    return out
