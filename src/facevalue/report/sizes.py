"""Sizes on the first screen: one unit for each measure, the interval in the direction of what is said, and how sure."""

from dataclasses import dataclass
from math import ceil, floor, isfinite

from facevalue.measures.base import Measure
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Findings
from facevalue.report.formatting import MINUS, writing

POINTS = "points"
_PERCENT = ("share", "probability")
_LARGE = 1000.0
_MORE = 3
"""Digits that are tried, so that a size which is surely exceeded is not rounded to none."""


@dataclass(frozen=True, slots=True)
class ToldScale:
    """The unit in which people are told a measure: how many of it one unit of the measure is, and its name."""

    per: float
    unit: str

    def number(self, value: float, like: float | None = None, *, signed: bool = False) -> str:
        """Write a value of the measure in this unit, with as few digits as tell it, or as many as `like` has.

        Examples
        --------
        >>> points = ToldScale(100, "points")
        >>> points.number(0.0861), points.number(0.319), points.number(-0.0157, like=0.319, signed=True)
        ('8.6', '32', '−2')
        """
        size = self.per * value
        digits = _digits(self.per * (value if like is None else like))
        text = f"{size:,.0f}" if abs(size) >= _LARGE else f"{size:.{digits}f}"
        text = text.removeprefix("-") if float(text.replace(",", "")) == 0 else text
        return f"{'+' if signed and size > 0 else ''}{text}".replace("-", MINUS)

    def text(self, value: float, like: float | None = None, *, signed: bool = False) -> str:
        """The same with the unit.

        Examples
        --------
        >>> ToldScale(1, "of 10").text(1.71), ToldScale(100, "points").text(0.01), ToldScale(1, "").text(3)
        ('1.7 of 10', '1.0 point', '3.0')
        """
        number = self.number(value, like, signed=signed)
        is_one = self.unit == POINTS and number.strip(f"+{MINUS}") in ("1", "1.0")
        return f"{number} {'point' if is_one else self.unit}".strip()

    def interval(self, e: Estimate, *, turned: bool = False) -> str:
        """An interval without its unit; `turned`: in the direction of the value, so that a fall of 5 is 5.

        Examples
        --------
        >>> fall = Estimate("shift", "m", value=-0.1, low=-0.15, high=0.02)
        >>> ToldScale(100, "points").interval(fall), ToldScale(100, "points").interval(fall, turned=True)
        ('[−15, +2]', '[−2, 15]')
        """
        if e.value is None or e.low is None or e.high is None:
            return ""
        ends = sorted((-e.high, -e.low) if turned and e.value < 0 else (e.low, e.high))
        texts = (self.number(end, as_precise(e), signed=not turned) for end in ends)
        return f"[{', '.join(texts)}]"

    def passage(self, change: Estimate, first: float, second: float, *, signed: bool) -> tuple[str, str]:
        """What a value was and what it became, and by how much, with the interval of the change.

        Examples
        --------
        >>> fall = Estimate("change: shift", "m", value=-0.39, low=-0.44, high=-0.34)
        >>> ToldScale(100, "points").passage(fall, 0.53, 0.14, signed=True)
        ('+53 to +14', '−39 points [−44, −34]')
        """
        like, size = as_precise(change), change.value or 0.0
        ends = " to ".join(self.number(end, like, signed=signed) for end in (first, second))
        return ends, f"{self.text(size, like, signed=True)} {self.interval(change)}".strip()

    def surely(self, e: Estimate) -> str:
        """The size that a difference surely exceeds, at the level of everything on the page; empty if that is none.

        Rounded toward none, so that nothing is claimed which the interval does not hold.

        Examples
        --------
        >>> rise = Estimate("shift", "m", value=0.086, page_low=0.0189, page_high=0.2)
        >>> ToldScale(100, "points").surely(rise), ToldScale(100, "points").surely(Estimate("shift", "m", value=0.086))
        ('1.8', '')
        """
        if e.value is None or e.page_low is None or e.page_high is None:
            return ""
        nearest = e.page_low if e.value > 0 else -e.page_high
        if nearest <= 0:
            return ""
        fewest = _digits(self.per * as_precise(e))
        for digits in range(fewest, fewest + _MORE):
            step = 10.0**-digits
            if size := floor(self.per * nearest / step + 1e-9):
                return f"{size * step:.{digits}f}".removesuffix(".0")
        return ""

    def up_to(self, value: float) -> str:
        """A size that could have been missed, rounded up.

        Examples
        --------
        >>> ToldScale(100, "points").up_to(0.1043)
        '11 points'
        """
        size = self.per * value
        step = 10.0 ** -_digits(size)
        return self.text(ceil(size / step - 1e-9) * step / self.per, value)


def _digits(size: float) -> int:
    """Digits behind the point that a size is told with."""
    size = abs(size)
    return 0 if size >= 9.95 else 1 if size >= 0.95 else 2 if size >= 0.0095 else 3


def as_precise(e: Estimate) -> float:
    """What decides how many digits an estimate and its interval are told with: its value, or half the interval.

    Examples
    --------
    >>> as_precise(Estimate("shift", "m", value=0.0002, low=-0.06, high=0.06))
    0.06
    """
    half = 0.0 if e.low is None or e.high is None else (e.high - e.low) / 2
    return max(abs(e.value or 0.0), half)


def scale_of(lead: Findings, e: Estimate, measure: Measure | None) -> ToldScale:
    """The unit in which a comparison is told: the one that it declares, points of a hundred, or the measure's own."""
    if lead.unit:
        return ToldScale(lead.per, lead.unit)
    if e.unit in _PERCENT:
        return ToldScale(100.0, POINTS)
    if e.unit in ("pp", "%"):
        return ToldScale(1.0, POINTS)
    if e.unit == "1" and measure is not None and max(map(abs, measure.limits)) <= 1:
        return ToldScale(100.0, POINTS)
    return ToldScale(1.0, writing(e.unit).word)


def possible(lead: Findings, measure: Measure | None) -> float | None:
    """The largest possible size of a comparison, in the measure's unit; None where there is none."""
    if lead.largest is not None:
        return lead.largest
    largest = max(map(abs, measure.limits)) if measure is not None else float("inf")
    return largest if isfinite(largest) else None
