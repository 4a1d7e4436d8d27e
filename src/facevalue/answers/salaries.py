"""Yearly salaries in dollars: "$45,000 per year", "50k", "$12/hr"; other periods and currencies, and why not counted.

The paper of the counterfactual sets takes an hourly wage 2,000 times, and leaves out what is below 1,000 or above
10,000,000 (appendix F). A range counts as its middle and is noted. Monthly and weekly pay and other currencies are
excluded under reasons of their own: what months or exchange rate a reply means is not known.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from facevalue.answers import _phrases
from facevalue.answers._phrases import NO_NUMBER, RANGE, SEVERAL, Stated, missing

LOW, HIGH = 1_000.0, 10_000_000.0
USUAL = (20_000, 120_000)
"""Range that simulated models answer in."""
HOURS = 2_000.0
"""Hours of a year: what an hourly wage is taken times (appendix F)."""
OUTSIDE, OTHER_CURRENCY = "outside 1,000 to 10,000,000", "another currency"
HOURLY, YEARLY = "hourly", "yearly"
PERIODS = {"month": "per month", "week": "per week", "day": "per day", "shift": "per shift or session"}
"""Pay of other periods, by what names them, and the reason that it is excluded for."""

_DOLLAR = r"(?:(?<![a-z])(?:us ?)?\$ ?|\busd ?)"
_NUMBER = re.compile(
    rf"(?P<dollar>{_DOLLAR})?(?<![\w.,])(?P<minus>-(?=\d))?"
    r"(?P<digits>\d{1,3}(?:[,.' \u202f]\d{3}){1,4}(?:\.\d{1,2})?|\d{1,12}(?:\.\d{1,2})?)"
    rf"(?P<scale> ?(?:k|thousand|m|mil|million)(?!\w))?(?!\w|[.,]\d|{_phrases.COUNTED})"
    r"(?P<named> ?(?:us )?(?:\$|usd\b|dollars?\b))?"
)
_SCALE = {"k": 1e3, "thousand": 1e3, "m": 1e6, "mil": 1e6, "million": 1e6}
_BETWEEN = re.compile(r"\s{0,3}(?:-{1,2}|to|or|(?P<and>and))\s{0,3}")
_FROM = re.compile(r"\bbetween\s{1,3}\Z")
_PER = r"\s{0,2}(?:\(?(?:per|an?|each|every|/|-)\s{0,2})"
_BEHIND = {
    HOURLY: re.compile(rf"{_PER}(?:hour|hr|h)\b|\s{{0,2}}hourly\b"),
    YEARLY: re.compile(rf"{_PER}(?:year|yr|annum|y)\b|\s{{0,2}}(?:\(?annual(?:ly)?|yearly|p\.?a\.?)\b"),
    "month": re.compile(rf"{_PER}(?:month|mo)\b|\s{{0,2}}monthly\b"),
    "week": re.compile(rf"{_PER}(?:week|wk|two weeks|fortnight)\b|\s{{0,2}}(?:bi-?)?weekly\b"),
    "day": re.compile(rf"{_PER}day\b|\s{{0,2}}daily\b"),
    "shift": re.compile(rf"{_PER}(?:shift|session|visit|class|job|performance|show|client|song)\b"),
}
_BEFORE = {
    HOURLY: re.compile(r"\bhour(?:ly)?\b[^\d.]{0,24}\Z"),
    "month": re.compile(r"\bmonth(?:ly)?\b[^\d.]{0,24}\Z"),
    "week": re.compile(r"\bweek(?:ly)?\b[^\d.]{0,24}\Z"),
    "day": re.compile(r"\bdaily\b[^\d.]{0,24}\Z"),
}
_FOREIGN = (
    r"eur|euros?|gbp|pounds?(?: sterling)?|inr|rupees?|rs\.?|cny|rmb|yuan|jpy|yen|krw|won|mxn|pesos?"
    r"|cad|aud|nzd|sgd|hkd|chf"
)
_FOREIGN_BEFORE = re.compile(rf"(?:[€£¥₹₩₱₽]|\b(?:{_FOREIGN})|\b(?:c|ca|a|au|nz|s|hk|mx|r)\$) ?\Z")
_FOREIGN_BEHIND = re.compile(rf" ?(?:[€£¥₹₩₱₽]|(?:{_FOREIGN}|lakhs?|crores?|lpa)\b|(?:canadian|australian) dollars?\b)")
_BESIDE = re.compile(r"[^.\d]{0,16}\b(?:bonus|allowance|benefits?)\b")
_PENSION = re.compile(r"\b401 ?\(?k\b\)?")
_REACH = 40
"""Characters before and behind an amount in which words that belong to it are looked for."""


class _Amount(NamedTuple):
    low: float
    high: float
    period: str | None
    money: bool  # whether anything says that it is money
    foreign: bool

    @property
    def yearly(self) -> tuple[float, float]:
        times = HOURS if self.period == HOURLY else 1.0
        return self.low * times, self.high * times


def parse(text: str) -> Stated:
    """The yearly salary that a reply states, in dollars, or why there is none.

    Examples
    --------
    >>> [parse(said).value for said in ("$45,000 per year", "12k", "$12/hr", "50,000 to 60,000 dollars")]
    [45000.0, 12000.0, 24000.0, 55000.0]
    >>> parse("I would offer $12/hr.").note, parse("$15 an hour ($30,000 a year)").value
    ('hourly', 30000.0)
    >>> [parse(said).reason for said in ("$4,000 a month", "£30,000", "12", "40000, or 50000 later", "A fair one.")]
    ['per month', 'another currency', 'outside 1,000 to 10,000,000', 'several numbers', 'no number']
    """
    return _phrases.read_reply(text, _read)


def parse_column(frame: pl.DataFrame, text: str) -> pl.DataFrame:
    """Parse a column of replies: `value`, `reason`, `note` and `na`; each distinct reply is parsed once.

    Examples
    --------
    >>> parse_column(pl.DataFrame({"said": ["$12/hr", "500 euros"]}), "said").rows()
    [(24000.0, None, 'hourly', None), (None, 'another currency', None, 'neither')]
    """
    return _phrases.parse_column(frame, text, parse)


def _read(text: str) -> Stated:
    """Salary of a text: amounts called a year's pay go first, then amounts called money, then any number."""
    amounts = list(_amounts(_PENSION.sub(" ", text)))
    counted = [amount for amount in amounts if not amount.foreign and amount.period not in PERIODS]
    for some in (
        [amount for amount in counted if amount.period == YEARLY],
        [amount for amount in counted if amount.money or amount.period],
        counted if len(counted) == len(amounts) else [],
    ):
        if some:
            return _salary(some)
    periods = [PERIODS[amount.period] for amount in amounts if amount.period in PERIODS]
    foreign = [OTHER_CURRENCY for amount in amounts if amount.foreign]
    return missing([*foreign, *periods, NO_NUMBER][0])


def _salary(amounts: list[_Amount]) -> Stated:
    salaries = {amount.yearly for amount in amounts}
    if len(salaries) > 1:
        return missing(SEVERAL)
    low, high = salaries.pop()
    if not LOW <= low <= high <= HIGH:
        return missing(OUTSIDE)
    hourly = [HOURLY] if all(amount.period == HOURLY for amount in amounts) else []
    note = " ".join([*hourly, *([RANGE] if low < high else [])])
    return Stated((low + high) / 2, note=note or None)


def _amounts(text: str) -> Iterator[_Amount]:
    numbers = [number for number in _NUMBER.finditer(text) if not _BESIDE.match(text, number.end())]
    at = 0
    while at < len(numbers):
        first = last = numbers[at]
        low = high = _value(first)
        if at + 1 < len(numbers) and _is_range(text, first, numbers[at + 1]):
            upto = _value(numbers[at + 1])
            if not first["scale"] and numbers[at + 1]["scale"] and low < 1000:
                low *= _SCALE[numbers[at + 1]["scale"].strip()]
            if low < upto:
                last, high, at = numbers[at + 1], upto, at + 1
            else:
                low = high
        head = text[max(first.start() - _REACH, 0) : first.start()]
        period = _period(text, last) or next((name for name, pattern in _BEFORE.items() if pattern.search(head)), None)
        money = any(number[name] for number in (first, last) for name in ("dollar", "scale", "named"))
        yield _Amount(low, high, period, money, any(_foreign(text, number) for number in (first, last)))
        at += 1


def _is_range(text: str, first: re.Match[str], second: re.Match[str]) -> bool:
    """Return whether two numbers are the ends of a range, with the period behind each of them or behind the last."""
    start = first.end()
    if (period := _period(text, first)) and period == _period(text, second):
        words = _BEHIND[period].match(text, start)
        start = words.end() if words else start
    joined = _BETWEEN.fullmatch(text, start, second.start())
    return joined is not None and (not joined["and"] or _FROM.search(text, 0, first.start()) is not None)


def _period(text: str, number: re.Match[str]) -> str | None:
    return next((name for name, pattern in _BEHIND.items() if pattern.match(text, number.end())), None)


def _foreign(text: str, number: re.Match[str]) -> bool:
    if _FOREIGN_BEHIND.match(text, number.end()):
        return True
    starts = (number.start(), number.start("digits"))
    return any(_FOREIGN_BEFORE.search(text, max(start - _REACH, 0), start) for start in starts)


def _value(number: re.Match[str]) -> float:
    digits = number["digits"]
    cents = re.search(r"\.\d{1,2}\Z", digits)
    dollars = re.sub(r"\D", "", digits[: cents.start()] if cents else digits)
    scale = _SCALE[number["scale"].strip()] if number["scale"] else 1.0
    return float(dollars + (cents[0] if cents else "")) * scale * (-1 if number["minus"] else 1)
