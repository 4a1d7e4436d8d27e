"""Selections of estimates, and what the texts of a page may ask of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from facevalue.measures.definitions import split_key
from facevalue.protocol.lookup import Estimate

Levels = Mapping[str, str | None]
"""A level for each label; None where the label must be missing."""


@dataclass(frozen=True, slots=True)
class Of:
    """Estimates of a measure.

    Attributes
    ----------
    measure:
        Which one, with its score where it is of one ("mean.warmth"); of several, all of the first, then of the next.
    by:
        Labels that are set. One that ends with "?" may be missing. All other labels are missing.
    where:
        Labels fixed at a level, or at any of several; None for missing.
    without:
        Labels that must not have a level.
    label, note:
        Forms of a row's text and of the smaller text beside it; all labels by default.
    order:
        "given" as in the table; "value" from the highest down; "size" whatever the sign; "clearest" farthest beyond its
        own noise first; "found" findings first, then the clearest; "labels" by the wording of the labels.
    most:
        Rows shown; all by default.
    intervention:
        Those under an intervention instead of those of the requests as they are.
    crossed:
        Whether levels that cross two dimensions ("race x gender") are among them.

    Examples
    --------
    >>> of = Of("shift", ("variation",), order="size", most=10)
    >>> of.measures
    ('shift',)
    """

    measure: str | tuple[str, ...]
    by: tuple[str, ...] = ()
    where: Mapping[str, str | tuple[str | None, ...] | None] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    note: str = ""
    order: str = "given"
    most: int | None = None
    intervention: str = ""
    crossed: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.measure, str):
            name, score = split_key(self.measure)
            object.__setattr__(self, "measure", name)
            object.__setattr__(self, "where", {**self.where, "score": score} if score else self.where)

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
        return (self.measure,) if isinstance(self.measure, str) else self.measure

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that may be set, fixed ones but the score included.

        Examples
        --------
        >>> Of("gap", ("identity", "question?"), {"dimension": "age", "group": None}).labels
        ('identity', 'question', 'dimension')
        """
        fixed = (name for name, level in self.where.items() if level is not None and name != "score")
        return tuple(dict.fromkeys([*(name.removesuffix("?") for name in self.by), *fixed]))


class Look(Protocol):
    """Interface for a page's own texts: estimates of one model, and their wording."""

    @property
    def model(self) -> str:
        """Model that these estimates are of."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """Models that were asked."""
        ...

    @property
    def interventions(self) -> Sequence[str]:
        """Names of what was done to the requests of this model."""
        ...

    def rows(self, of: Of) -> list[Estimate]:
        """The estimates of a selection, in its order."""
        ...

    def find(self, measure: str, **levels: str | None) -> Estimate | None:
        """The estimate at these levels, over everything else; None if there is none."""
        ...

    def of_model(self, model: str) -> "Look":
        """The same for another model."""
        ...

    def beside(self, measure: str, estimate: Estimate) -> Estimate | None:
        """Another measure of the same cell."""
        ...

    def found(self, estimate: Estimate) -> bool:
        """Return whether a difference was found."""
        ...

    def value(self, estimate: Estimate | None, *, bare: bool = False) -> str:
        """A value in words; `bare` without its unit's word."""
        ...

    def interval(self, estimate: Estimate | None) -> str:
        """An interval, or why there is none."""
        ...

    def floor(self, estimate: Estimate | None) -> str:
        """Noise floor in words: mean and upper end of what chance alone shows; a dash if unknown."""
        ...

    def said(self, form: str, estimate: Estimate) -> str:
        """A form filled in."""
        ...

    def title(self, column: str, level: str | None) -> str:
        """The wording of a level."""
        ...

    def raw(self, column: str, level: str | None) -> str:
        """A level as the study writes it; empty for none."""
        ...
