"""Sizes on the first screen: one unit for each measure, the interval in the direction of what is said, and how sure."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, floor, inf, isfinite, log, log10, sqrt

from facevalue.measures.definitions import Measure
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Findings
from facevalue.report.formatting import MINUS, writing

POINTS = "points"
_PERCENT = ("share", "probability")
_LARGE = 1000.0
_FARTHEST = 700.0
"""Logarithm beyond which odds are told no more exactly."""
_NEARLY_ALL = 0.99
"""Share of what is possible from which on any difference can be missed."""
_MORE = 3
"""Digits that are tried, so that a size that is exceeded is not rounded to none."""


@dataclass(frozen=True, slots=True)
class ToldScale:
    """The unit in which people are told a measure: how many of it one unit of the measure is, and its name.

    `curve`: from so many of the measure's own to what is told, where that is no multiple: odds of their logarithm.
    `note`: what a chart in this unit says of it. `step`: of its ticks, in the measure's own unit, where they stand at
    equal steps of that (odds at equal steps of their logarithm).
    """

    per: float
    unit: str
    curve: Callable[[float], float] | None = None
    note: str = ""
    step: float = 0.0

    def size(self, value: float) -> float:
        """A value of the measure in this unit."""
        return self.per * value if self.curve is None else self.curve(self.per * value)

    def place(self, value: float) -> float:
        """Place where a chart draws a value: its size, or, where ticks have a step, the measure's own value."""
        return self.per * value if self.step else self.size(value)

    def number(self, value: float, like: float | None = None, *, signed: bool = False) -> str:
        """Write a value of the measure in this unit, with as few digits as tell it, or as many as `like` has.

        Examples
        --------
        >>> points = ToldScale(100, "points")
        >>> points.number(0.0861), points.number(0.319), points.number(-0.0157, like=0.319, signed=True)
        ('8.6', '32', '−2')
        >>> ODDS.text(0.47), ODDS.interval(Estimate("log_odds", "m", value=0.47, low=0.26, high=0.69))
        ('1.6 times the odds', '[1.3, 2.0]')
        """
        size = self.size(value)
        digits = _digits(self.size(value if like is None else like))
        signed = signed and self.curve is None
        text = f"{size:,.0f}" if abs(size) >= _LARGE else f"{size:.{digits}f}"
        text = text.removeprefix("-") if float(text.replace(",", "")) == 0 else text
        return f"{'+' if signed and size > 0 else ''}{text}".replace("-", MINUS)

    def text(self, value: float, like: float | None = None, *, signed: bool = False) -> str:
        """The same with the unit.

        Examples
        --------
        >>> ToldScale(1, "of 10 points").text(1.71), ToldScale(100, "points").text(0.01), ToldScale(1, "").text(3)
        ('1.7 of 10 points', '1.0 point', '3.0')
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
        """Values before and after a change, and its size, with the interval of the change.

        Examples
        --------
        >>> fall = Estimate("change: shift", "m", value=-0.39, low=-0.44, high=-0.34)
        >>> ToldScale(100, "points").passage(fall, 0.53, 0.14, signed=True)
        ('+53 to +14', '−39 points [−44, −34]')
        """
        like, size = as_precise(change), change.value or 0.0
        ends = " to ".join(self.number(end, like, signed=signed) for end in (first, second))
        return ends, f"{self.text(size, like, signed=True)} {self.interval(change)}".strip()

    def lower_bound(self, e: Estimate) -> str:
        """Size that a difference exceeds at the confidence of the whole page; empty where it exceeds none.

        Rounded toward none, so that nothing is claimed which the interval does not hold.

        Examples
        --------
        >>> rise = Estimate("shift", "m", value=0.086, page_low=0.0189, page_high=0.2)
        >>> ToldScale(100, "points").lower_bound(rise)
        '1.8'
        >>> ToldScale(100, "points").lower_bound(Estimate("shift", "m", value=0.086))
        ''
        """
        if e.value is None or e.page_low is None or e.page_high is None:
            return ""
        nearest = e.page_low if e.value > 0 else -e.page_high
        if nearest <= 0:
            return ""
        fewest = _digits(self.size(as_precise(e)))
        for digits in range(fewest, fewest + _MORE):
            step = 10.0**-digits
            if size := floor(self.size(nearest) / step + 1e-9):
                return f"{size * step:.{digits}f}".removesuffix(".0")
        return ""

    def up_to(self, value: float) -> str:
        """Size that would have gone unnoticed, rounded up.

        Examples
        --------
        >>> ToldScale(100, "points").up_to(0.1043)
        '11 points'
        >>> ToldScale(1, "dollars").up_to(47_365)
        '48,000 dollars'
        """
        size = self.size(value)
        step = 10.0 ** (floor(log10(size)) - 1 if size >= _LARGE else -_digits(size))
        return ToldScale(1.0, self.unit).text(ceil(size / step - 1e-9) * step, size)


def _digits(size: float) -> int:
    """Digits behind the point that a size is told with."""
    size = abs(size)
    return 0 if size >= 9.95 else 1 if size >= 0.95 else 2 if size >= 0.0095 else 3


def as_precise(e: Estimate) -> float:
    """Number that decides the digits of an estimate and its interval: its value, or half the interval.

    Examples
    --------
    >>> as_precise(Estimate("shift", "m", value=0.0002, low=-0.06, high=0.06))
    0.06
    """
    half = 0.0 if e.low is None or e.high is None else (e.high - e.low) / 2
    return max(abs(e.value or 0.0), half)


def _odds(logarithm: float) -> float:
    return exp(min(logarithm, _FARTHEST))


def _farthest_share(nats: float) -> float:
    """Points by which any share of two distributions differs at most: Pinsker's inequality, `100 sqrt(KL / 2)`."""
    return min(100.0 * sqrt(max(nats, 0.0) / 2.0), 100.0)


ODDS = ToldScale(1.0, "times the odds", _odds, "1 times the odds: equally likely for both", log(2.0))
SHARES_MOVED = ToldScale(1.0, POINTS, _farthest_share, "points: the most by which the share of any choice differs")
_CURVED = {"log odds": ODDS, "nat": SHARES_MOVED}
"""Units that people do not know: of a logarithm its odds are told, of a divergence how far shares lie apart at most."""


def scale_of(lead: Findings, e: Estimate, measure: Measure | None) -> ToldScale:
    """The unit in which a comparison is told: the one that it declares, points of a hundred, or the measure's own."""
    if lead.unit:
        return ToldScale(lead.per, lead.unit)
    if e.unit in _CURVED:
        return _CURVED[e.unit]
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


def missable_size(detectable: float, largest: float | None) -> float:
    """Size that would have gone unnoticed: what is detectable, or infinite where that is nearly all that is possible.

    Examples
    --------
    >>> missable_size(0.3, 1.0), missable_size(0.3, None), missable_size(1.2, 1.0)
    (0.3, 0.3, inf)
    """
    return inf if largest is not None and detectable >= _NEARLY_ALL * largest else detectable
