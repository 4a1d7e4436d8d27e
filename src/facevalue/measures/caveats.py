"""Caveats and counts of verdicts.

Caveats of verdicts: what else could explain what was found, in the words in which every surface tells it.

A verdict that something else could explain says so in its reason, which begins with the outcome, then the caveat, then
why: "Found, unless the missing answers say otherwise: had all of them ...". Pages, tables, commands and documents take
the words of a caveat from here, so that none tells a verdict without the caveat of its row.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

MISSING_CAVEAT = "unless the missing answers say otherwise"
"""The caveat of what the missing answers could undo."""
JUDGE_CAVEAT = "unless the judge sorts texts by their group"
"""The caveat of what the errors of a judge of texts could explain."""
_FORM = r"^[^,:.]+, (unless [^:]+):"
_CAVEAT = re.compile(_FORM)
_WORDS = re.compile(r"^(?P<outcome>[^,:.]+), (?P<caveat>unless [^:]+): (?P<reason>.+)$", re.DOTALL)


def caveat_of(reason: str | None) -> str:
    """The caveat of a verdict, from its reason; empty where it has none.

    Examples
    --------
    >>> caveat_of("Found, unless the missing answers say otherwise: had all of them gone against it, none is clear.")
    'unless the missing answers say otherwise'
    >>> caveat_of("The difference is larger than chance explains."), caveat_of(None)
    ('', '')
    """
    match = _CAVEAT.match(reason or "")
    return match[1] if match else ""


def caveat_column() -> pl.Expr:
    """The same of the column of reasons, `why`; null where there is none."""
    return pl.col("why").cast(pl.String).str.extract(_FORM)


def with_caveat(reason: str, outcome: str, caveat: str, sentence: str) -> str:
    """The reason of a verdict with one more caveat, which begins with "unless".

    `outcome`: what the reason begins with where it has no caveat yet, such as "Found". `sentence`: why the caveat
    is made.

    Examples
    --------
    >>> once = with_caveat("The difference is clear.", "Found", "unless the judge errs by group", "It was seen to.")
    >>> once
    'Found, unless the judge errs by group: it was seen to.'
    >>> with_caveat(once, "Found", MISSING_CAVEAT, "They are many.")
    'Found, unless the judge errs by group, or unless the missing answers say otherwise: it was seen to. They are many.'
    """
    earlier = _WORDS.match(reason)
    if earlier is None:
        return f"{outcome}, {caveat}: {sentence[:1].lower()}{sentence[1:]}"
    return f"{earlier['outcome']}, {earlier['caveat']}, or {caveat}: {earlier['reason']} {sentence}"


def add_caveat(text: str, caveat: str) -> str:
    """A text with a caveat at its end; as it is without one.

    Examples
    --------
    >>> add_caveat("difference found", MISSING_CAVEAT), add_caveat("difference found", "")
    ('difference found, unless the missing answers say otherwise', 'difference found')
    """
    return f"{text}, {caveat}" if caveat else text


def shared_caveat(caveats: Iterable[str]) -> str:
    """The caveat that every one of some verdicts has; empty where any has none, or another one.

    Examples
    --------
    >>> shared_caveat([MISSING_CAVEAT, MISSING_CAVEAT]), shared_caveat([MISSING_CAVEAT, ""]), shared_caveat([])
    ('unless the missing answers say otherwise', '', '')
    """
    distinct = set(caveats)
    return distinct.pop() if len(distinct) == 1 else ""


def counted_caveats(caveats: Iterable[str]) -> str:
    """Numbers of findings with each caveat, as the end of a clause that counts the findings; empty where none has one.

    Examples
    --------
    >>> counted_caveats([MISSING_CAVEAT, ""])
    ', 1 of them unless the missing answers say otherwise'
    >>> counted_caveats([MISSING_CAVEAT]), counted_caveats([MISSING_CAVEAT, MISSING_CAVEAT])
    (', unless the missing answers say otherwise', ', each unless the missing answers say otherwise')
    >>> counted_caveats(["", ""])
    ''
    """
    texts = list(caveats)
    if caveat := shared_caveat(texts):
        return f", {caveat}" if len(texts) == 1 else f", each {caveat}"
    counts = Counter(filter(None, texts))
    clauses = [
        f"{count:,}{'' if place else ' of them'} {caveat}" for place, (caveat, count) in enumerate(counts.items())
    ]
    return "".join(f", {clause}" for clause in clauses)


@dataclass(frozen=True, slots=True)
class VerdictCounts:
    """Verdicts of one kind of comparison of one model, counted."""

    model: str
    compared: str
    """Name of what is compared, in words."""
    comparisons: int
    """Those that could be judged."""
    differ: int
    """Of these: "difference found"."""
    caveats: str
    """Numbers of those with each caveat (", each unless the missing answers say otherwise"); empty where none has."""
    equivalent: int
    """Of these: "equivalent within the margin"."""
    undecided: int
    """Of these: neither."""
    found_from: str
    """The size that is typically found with 80% power where nothing was, with its unit; empty if that is not known."""
