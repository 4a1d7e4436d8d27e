"""The answer in one sentence: its parts, and the effect that an audit could have found."""

from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from facevalue.report.numbers import Estimate

_DETECTABLE = (1.959964 + 0.841621) / 1.959964
"""Half a 95% interval times this is the effect found with 80% power, on the normal approximation."""


class Outcome(StrEnum):
    """What an audit came to."""

    FOUND = "difference found"
    EQUIVALENT = "equivalent within the margin"
    NOTHING = "no difference found"
    NOT_MEASURABLE = "not measurable"


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer.

    Attributes
    ----------
    verdict:
        What the audit came to.
    sentence:
        In plain words.
    more:
        What should be known beside it; may be empty.
    """

    verdict: Outcome
    sentence: str
    more: tuple[str, ...] = ()


def detectable(estimates: list[Estimate]) -> float | None:
    """The effect that the typical estimate would have found with 80% power; None without intervals.

    At the level of its family where the table says so, else before correction, on the normal approximation.
    """
    known = [e.mde for e in estimates if e.mde is not None]
    if known:
        return median(known)
    halves = [(e.high - e.low) / 2 for e in estimates if e.low is not None and e.high is not None]
    return _DETECTABLE * median(halves) if halves else None


def upper(text: str) -> str:
    """A sentence's beginning."""
    return text[:1].upper() + text[1:]
