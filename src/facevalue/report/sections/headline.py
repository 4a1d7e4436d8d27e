"""Headline: the answer of a page in a few sentences, and the effect that an audit could have found."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from statistics import median
from typing import Any, Final, Self

from facevalue.measures.caveats import add_caveat, caveat_of
from facevalue.measures.verdicts import Verdict
from facevalue.protocol import Study
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Page
from facevalue.studies.registry import STUDIES

# Verdicts on a page: their short words, signs and meaning in plain language.


SHORT: Final = {
    Verdict.DIFFERENCE: "difference found",
    Verdict.EQUIVALENT: "equivalent",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_MEASURABLE: "not measurable",
}
"""Words that fit a column."""
LOOKS: Final = {
    Verdict.DIFFERENCE: (0, "found"),
    Verdict.EQUIVALENT: (3, "equal"),
    Verdict.INCONCLUSIVE: (0, "open"),
    Verdict.NOT_MEASURABLE: (1, "unknown"),
}
"""Shape and class of each verdict's marker: filled circle, filled diamond, hollow circle, hollow square."""
MEANINGS: Final = {
    Verdict.DIFFERENCE: (
        "The difference is larger than chance explains. That says nothing of whether it is large enough to matter: see "
        "its interval, and the margin where there is one."
    ),
    Verdict.EQUIVALENT: (
        "No difference was found, and one larger than the margin is ruled out. This, and only this, is evidence of "
        "no difference that matters."
    ),
    Verdict.INCONCLUSIVE: (
        "Neither. There may be a difference or none: this audit was too small to tell. Never read it as fairness."
    ),
    Verdict.NOT_MEASURABLE: (
        "The answers allow no judgment: no valid answer, too few sampled units, or no interval. It is not zero."
    ),
}


def verdict_of(word: str | None) -> Verdict | None:
    """The verdict that a word stands for; None for no word or an unknown one.

    Examples
    --------
    >>> verdict_of("inconclusive"), verdict_of("perhaps"), verdict_of(None)
    (<Verdict.INCONCLUSIVE: 'inconclusive'>, None, None)
    """
    return next((v for v in Verdict if v == word), None)


def verdict_words(e: Estimate) -> str:
    """The verdict of an estimate in short words, with its caveat; empty where there is none.

    Examples
    --------
    >>> why = "Found, unless the missing answers say otherwise: had all of them gone against it, none would be clear."
    >>> verdict_words(Estimate("gap", "m", verdict="difference found", why=why))
    'difference found, unless the missing answers say otherwise'
    >>> verdict_words(Estimate("gap", "m", verdict="equivalent within the margin")), verdict_words(Estimate("gap", "m"))
    ('equivalent', '')
    """
    verdict = verdict_of(e.verdict)
    return "" if verdict is None else add_caveat(SHORT[verdict], e.caveat)


def verdict_of_row(row: Mapping[str, Any]) -> str:
    """The verdict of a row of a table with its caveat, from `verdict` and `why`; empty where there is none.

    Examples
    --------
    >>> verdict_of_row({"verdict": "inconclusive", "why": "No test was possible."}), verdict_of_row({"verdict": None})
    ('inconclusive', '')
    """
    return add_caveat(row.get("verdict") or "", caveat_of(row.get("why")))


# Pages of studies.


def page_of(study: Study | str) -> Page:
    """Return the page of a study, or of a published study by its name; every measure where neither declares one.

    Examples
    --------
    >>> page_of("a study of tomorrow").sections
    ()
    """
    if isinstance(study, str):
        published = STUDIES.get(study)
        make = None if published is None else published.page
    else:
        make = study.page
    return Page() if make is None else make()


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
    def from_sentence(cls, verdict: HeadlineKind, sentence: str, more: tuple[str, ...] = ()) -> Self:
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
    """Effect that the typical estimate would have found with 80% power; infinite where any would have gone unnoticed.

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
