"""Verdicts on a page: their short words, signs and meaning in plain language."""

from typing import Final

from facevalue.measures.verdicts import Verdict

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
