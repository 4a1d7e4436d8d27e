"""Headline: the answer of a page in a few sentences, and the effect that an audit could have found."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf
from statistics import median
from typing import Self

from facevalue.measures.caveats import add_caveat
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.lookup import Estimate

_DETECTABLE = (1.959964 + 0.841621) / 1.959964
"""Half a 95% interval times this is the effect found with 80% power, on the normal approximation."""


class HeadlineKind(StrEnum):
    """Kind of answer that an audit came to."""

    FOUND = "difference found"
    EQUIVALENT = "equivalent within the margin"
    NOTHING = "no difference found"
    TOO_FEW = "too little asked to tell"
    DESCRIBED = "measured, and not compared"
    ALMOST_NONE = "almost no valid answer"
    NOT_ANSWERED = "not answered"
    NOT_MEASURABLE = "not measurable"
    NO_ANSWER = "no valid answer"
    UNSEEN = "nothing shows that the pictures are seen"


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of the answer, or a few.

    `measures`: what it counts without naming it; a page links it to the section about these. Empty for none.
    """

    text: str
    measures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer of a page, in a few sentences."""

    verdict: HeadlineKind
    """Kind of answer."""
    passages: tuple[Passage, ...]
    """The answer in plain words: what changed first, where something was varied; who was hurt; what is undecided."""
    more: tuple[str, ...] = ()
    """Sentences to be read with the answer; may be empty."""
    caveat: str = ""
    """What else could explain every difference that was found; empty where nothing could, or not all of them."""

    @classmethod
    def of(cls, verdict: HeadlineKind, sentence: str, more: tuple[str, ...] = ()) -> Self:
        """An answer without anything that it only counts."""
        return cls(verdict, (Passage(sentence),), more)

    @property
    def title(self) -> str:
        """The kind of answer with the caveat of all that was found."""
        return add_caveat(self.verdict.value, self.caveat)

    @property
    def sentence(self) -> str:
        """The passages as one text."""
        return " ".join(passage.text for passage in self.passages)


def detectable(estimates: list[Estimate]) -> float | None:
    """The effect that the typical estimate would have found with 80% power; infinity where any could have been missed.

    At the level of its family where the estimates were judged, else before correction, on the normal approximation.

    Examples
    --------
    >>> judged = Estimate("gap", "m", value=1.0, verdict="inconclusive")
    >>> detectable([judged]), detectable([Estimate("gap", "m", value=1.0)])
    (inf, None)
    """
    judged = [e for e in estimates if e.value is not None and e.verdict not in (None, Verdict.NOT_MEASURABLE)]
    if judged or any(e.mde is not None for e in estimates):
        return median(inf if e.mde is None else e.mde for e in judged or estimates)
    halves = [(e.high - e.low) / 2 for e in estimates if e.low is not None and e.high is not None]
    return _DETECTABLE * median(halves) or inf if halves else None
