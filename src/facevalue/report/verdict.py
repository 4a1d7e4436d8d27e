"""Verdicts on a page: their short words, signs and meaning in plain language."""

from collections.abc import Mapping
from typing import Any, Final

from facevalue.measures.caveats import add_caveat, caveat_of
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.lookup import Estimate

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
