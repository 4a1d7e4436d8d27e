r"""Amounts of money as options: "$40,000 ~ $60,000", "< $20,000", and how replies write the same.

An amount is a range between two numbers, or all below or above one. Only the very range of an option names it: a single
number, a range that straddles options, another currency or pay per month does not.
"""

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

_DOLLAR = r"(?:(?:\bus ?)?\\?\$ ?|\busd ?)"
_NUMBER = re.compile(
    rf"(?P<start>{_DOLLAR}?)(?<![\d.,]|[^\W\d_])"
    r"(?P<digits>\d{1,3}(?:(?:[.'_ ]|\{?,\}? ?)\d{3}){1,3}|\d{1,9})(?:\.0{1,2})?"
    r"(?P<scale> ?(?:k|thousand)(?!\w))?(?!\w|[.,]\d)(?: ?(?:\$|usd\b|dollars?\b))?"
)
_BETWEEN = re.compile(r"[\s*]{0,5}(?:-{1,3}|[~\u2013\u2014\u2015\u02dc\u223c\u301c]|\\sim|to|through|and)[\s*]{0,5}")
_AND = re.compile(r"\s*and\s*")
_LESS = r"less than|lower than|under|below|up to|at most|not? more than|<=?|≤|&lt;=?"
_MORE = r"more than|greater than|higher than|over|above|exceeding|at least|not? less than|(?<![-=])>=?|≥|&gt;=?"
_BEFORE = re.compile(
    rf"(?:(?P<between>\bbetween)|(?P<less>(?:\b|(?=\W))(?:{_LESS}))|(?P<more>(?:\b|(?=\W))(?:{_MORE})))\s{{0,3}}\Z"
)
_TAG = re.compile(r"</?[a-z][\w-]{0,20}>\s{0,3}\Z")
_BEHIND = re.compile(
    r"(?P<more>\s?\+|\s(?:or|and) (?:more|above|over|higher|up)\b|\splus\b)"
    r"|(?P<less>\s(?:or|and) (?:less|below|under|lower)\b)"
)
_OTHER_BEFORE = re.compile(r"(?:[€£¥₹₩]|\b(?:eur|euros?|gbp|inr|rs\.?|cny|rmb|jpy)) ?\Z")
_OTHER_BEHIND = re.compile(
    r" ?(?:[€£¥₹₩%]|(?:eur|euros?|gbp|pounds?|inr|rupees?|cny|yuan|rmb|jpy|yen)\b"
    r"|(?:(?:per|an?|each|every) |/ ?)(?:month|week|day|hour)|monthly|weekly|daily|hourly)"
)
_REACH = 24
"""Characters before and behind a number in which words that belong to it are looked for."""
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})")


class NumberRange(NamedTuple):
    """All numbers from `low` to `high`."""

    low: float
    high: float


@lru_cache(maxsize=4096)
def whole(text: str) -> NumberRange | None:
    """The amount that is the whole of a text in plain form, if it is one.

    Examples
    --------
    >>> whole("$40,000 ~ $60,000"), whole("< $20,000"), whole("$50,000")
    (NumberRange(low=40000.0, high=60000.0), NumberRange(low=-inf, high=20000.0), None)
    """
    amounts = list(_found(text))
    return amounts[0][2] if len(amounts) == 1 and not (text[: amounts[0][0]] + text[amounts[0][1] :]).strip() else None


def replaced(text: str, by: Callable[[NumberRange], str | None]) -> str:
    """A text with the amounts that `by` knows replaced by what it says.

    Examples
    --------
    >>> replaced("c $40k–$60k a year", lambda amount: f"[{amount.low:.0f}]")
    'c [40000] a year'
    """
    text = _ESCAPED.sub(lambda m: chr(int(m[1], 16)), text)
    out, end_of_last = [], 0
    for start, end, amount in _found(text):
        replacement = by(amount)
        if replacement is not None:
            out += [text[end_of_last:start], replacement]
            end_of_last = end
    return "".join([*out, text[end_of_last:]])


def _found(text: str) -> Iterator[tuple[int, int, NumberRange]]:
    """Starts and ends of amounts in a text, and the amounts."""
    chain: list[re.Match[str]] = []
    for number in _NUMBER.finditer(text):
        if chain and not _BETWEEN.fullmatch(text[chain[-1].end() : number.start()]):
            yield from _amount(text, chain)
            chain = []
        chain.append(number)
    if chain:
        yield from _amount(text, chain)


def _amount(text: str, chain: list[re.Match[str]]) -> Iterator[tuple[int, int, NumberRange]]:
    """The amount of numbers that stand together: one with a bound, or two; three and more are none."""
    start, end = chain[0].start(), chain[-1].end()
    head = text[max(start - _REACH, 0) : start]
    tail = text[end : end + _REACH]
    if len(chain) > 2 or _OTHER_BEFORE.search(head) or _OTHER_BEHIND.match(tail):
        return
    before = None if _TAG.search(head) else _BEFORE.search(head)
    behind = _BEHIND.match(tail)
    bounds = {bound for match in (before, behind) if match for bound, words in match.groupdict().items() if words}
    values = [_value(number) for number in chain]
    if len(chain) == 2:
        if not chain[0]["scale"] and chain[1]["scale"] and values[0] < 1000:
            values[0] *= 1000
        joined = _AND.fullmatch(text[chain[0].end() : chain[1].start()]) is not None
        if bounds - {"between"} or (joined and "between" not in bounds) or values[0] >= values[1]:
            return
        yield start, end, NumberRange(values[0] or -math.inf, values[1])
    elif len(bounds) == 1 and "between" not in bounds:
        start -= len(before[0]) if before else 0
        end += len(behind[0]) if behind else 0
        below = "less" in bounds
        yield start, end, NumberRange(-math.inf if below else values[0], values[0] if below else math.inf)


def _value(number: re.Match[str]) -> float:
    return float(re.sub(r"\D", "", number["digits"])) * (1000 if number["scale"] else 1)
