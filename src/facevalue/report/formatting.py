"""Formatting: the one place that decides how a value, an interval and "not measurable" are written."""

import re
from collections.abc import Mapping

from facevalue.measures.base import Measure
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.lookup import Estimate

DASH = "–"
NOT_MEASURABLE = "not measurable"
MINUS = "−"
_OTHER = "other_"
CROSSED = " x "
"""Between the names of two labels that are crossed."""
_COUNTS = ("variations",)
_DIFFERENCES = ("pp", "log odds")
"""Units in which only differences are given."""
_TEN_THOUSANDTHS = "×10⁻⁴"
_LARGE = 1000.0
_ORDERS: dict[str, tuple[str, ...]] = {
    "age": ("young", "young adult", "middle-aged", "elderly"),
    "gender": ("male", "female"),
    "build": ("thin", "normal", "obese"),
    "body": ("thin", "normal", "obese"),
}


def number(value: float | None, unit: str, *, signed: bool = False) -> str:
    """Write a value in its unit.

    Examples
    --------
    >>> number(0.1244, "probability", signed=True), number(-0.166, "probability", signed=True)
    ('+0.124', '−0.166')
    >>> number(0.0201, "share"), number(None, "share"), number(18.0, "variations")
    ('2.0%', '–', '18')
    >>> number(61.24, "%"), number(-11.24, "pp", signed=True), number(52148.3, "$"), number(148.3, "$")
    ('61.2%', '−11.2 pp', '52,148', '148.30')

    The sign stays where the digits round to zero, as in the paper:

    >>> number(-0.0002, "probability", signed=True), number(0.0, "probability", signed=True)
    ('−0.000', '0.000')
    """
    if value is None:
        return DASH
    if value == 0:
        value = 0.0  # no sign
    if unit == "share":
        return f"{_fixed(100 * value, 1)}%"
    if unit == "%":
        return f"{_fixed(value, 1)}%"
    if unit == "pp":
        text = f"{_fixed(value, 1)} pp"
        return f"+{text}" if signed and value > 0 else text
    if unit in _COUNTS:
        return _fixed(value, 0 if value == round(value) else 1)
    if unit == "probability^2":
        return f"{_fixed(1e4 * value, 1)}{_TEN_THOUSANDTHS}"
    large = abs(value) >= _LARGE  # what stands behind its point is no news
    text = f"{value:,.0f}".replace("-", MINUS) if large else _fixed(value, 3 if unit == "probability" else 2)
    return f"+{text}" if signed and value > 0 else text


def _fixed(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", MINUS)


def share_of_chance(value: float | None) -> str:
    """Write a p- or q-value.

    Examples
    --------
    >>> share_of_chance(0.00002), share_of_chance(0.0312), share_of_chance(None)
    ('< .001', '.031', '–')
    """
    if value is None:
        return DASH
    if value < 0.001:
        return "< .001"
    return "1.000" if value >= 0.9995 else f"{value:.3f}".lstrip("0")


def count(value: int | None) -> str:
    """Write a whole number with thin groups."""
    return DASH if value is None else f"{value:,}"


def is_signed(measure: Measure | None) -> bool:
    """Return whether values of a measure are written with their sign."""
    if measure is None or not measure.signed or measure.limits[0] >= 0:
        return False
    compared = measure.paired or measure.comparison or measure.unit in _DIFFERENCES
    return compared or measure.name.endswith("_bias")


def interval(estimate: Estimate, *, signed: bool = False) -> str:
    """Write an interval, or an empty text where there is none."""
    return _ends(estimate, estimate.low, estimate.high, signed=signed)


def page_interval(estimate: Estimate, *, signed: bool = False) -> str:
    """Write the interval at the level at which the page judges an estimate; an empty text where it tests nothing."""
    return _ends(estimate, estimate.page_low, estimate.page_high, signed=signed)


def _ends(estimate: Estimate, low: float | None, high: float | None, *, signed: bool) -> str:
    if low is None or high is None:
        return ""
    ends = (number(v, estimate.unit, signed=signed) for v in (low, high))
    if estimate.unit == "probability^2":
        return f"[{', '.join(end.removesuffix(_TEN_THOUSANDTHS) for end in ends)}]{_TEN_THOUSANDTHS}"
    if estimate.unit == "pp":  # the value beside it says so
        return f"[{', '.join(end.removesuffix(' pp') for end in ends)}]"
    return f"[{', '.join(ends)}]"


def why_no_interval(estimate: Estimate) -> str:
    """Say why a value stands alone; empty where it has an interval."""
    if estimate.value is None:
        return NOT_MEASURABLE
    if estimate.has_interval:
        return ""
    reason = estimate.method or "the method gives none"
    return reason if reason.startswith("no interval") else f"no interval: {reason}"


def detail(
    estimate: Estimate,
    *,
    signed: bool = False,
    unit_name: str = "faces",
    floor: Estimate | None = None,
    corrected: Estimate | None = None,
    brief: bool = False,
) -> str:
    """Everything about an estimate in one line, for tooltips.

    `estimate`: what it is about. `signed`: whether values are written with their sign. `unit_name`: what clusters are
    called. `floor`: the estimate that has its noise floor, if it is another one. `corrected`: its size without the part
    that chance adds. `brief`: leave out how the interval was made, why the verdict, and what missing answers could have
    changed.
    """
    value = NOT_MEASURABLE if estimate.value is None else number(estimate.value, estimate.unit, signed=signed)
    clauses = [value]
    if estimate.has_interval:
        clauses[0] += f" {interval(estimate, signed=signed)} ({100 * (estimate.level or 0.95):g}%)"
    if estimate.verdict is not None and estimate.value is not None:
        clauses.append(
            estimate.verdict if brief or not estimate.why else f"{estimate.verdict}: {_clause(estimate.why)}"
        )
    if at_page := page_interval(estimate, signed=signed):
        clauses.append(f"{at_page} at the page's level")
    clauses.append(f"n = {count(estimate.n)} in {count(estimate.clusters)} {unit_name}")
    if estimate.q is not None:
        clauses.append(f"q {_equal(estimate.q)}")
    elif estimate.p is not None:
        clauses.append(f"p {_equal(estimate.p)}")
    noise = floor or estimate
    if noise.floor_high is not None:
        mean, high = (number(v, noise.unit) for v in (noise.floor, noise.floor_high))
        clauses.append(f"noise floor {mean}, 95% below {high}")
    if corrected is not None and corrected.value is not None and not brief:
        clauses.append(f"size without what chance adds {number(corrected.value, corrected.unit)}")
    if estimate.mde is not None:
        clauses.append(f"found with 80% power from {number(estimate.mde, estimate.unit)} up")
    elif any_missed(estimate):
        clauses.append("any difference could have been missed")
    if estimate.margin is not None and not brief:
        clauses.append(f"margin ±{number(estimate.margin, estimate.unit)}, {when_declared(estimate.declared)}")
    if estimate.has_bounds and not brief:
        clauses.append(f"with missing answers counted worst-case {worst_case(estimate, signed=signed)}")
    if not estimate.has_interval and estimate.value is not None:
        clauses.append(why_no_interval(estimate))
    elif estimate.method and not brief:
        clauses.append(estimate.method)
    return "; ".join(clauses)


def any_missed(estimate: Estimate) -> bool:
    """Return whether an estimate is inconclusive, and not even the largest possible difference was sure to be found.

    Examples
    --------
    >>> any_missed(Estimate("gap", "m", value=3.0, verdict="inconclusive")), any_missed(Estimate("gap", "m", value=3.0))
    (True, False)
    """
    return estimate.mde is None and estimate.value is not None and estimate.verdict == Verdict.INCONCLUSIVE


def worst_case(estimate: Estimate, *, signed: bool = False) -> str:
    """Write what a value would be had all missing answers gone one way or the other."""
    if not estimate.has_bounds:
        return DASH
    ends = (number(v, estimate.unit, signed=signed) for v in (estimate.bound_low, estimate.bound_high))
    return " to ".join(ends)


def when_declared(declared: bool | None) -> str:
    """Say whether a margin was named before the answers were seen."""
    return "declared before the run" if declared else "chosen after the run"


def _clause(sentence: str) -> str:
    """A sentence as the end of another one."""
    text = sentence.rstrip(".")
    return text[:1].lower() + text[1:]


def _equal(value: float) -> str:
    text = share_of_chance(value)
    return text if text.startswith("<") else f"= {text}"


class Titles:
    """Wording of factor levels for people.

    `published`: the wording of a study's levels, by factor column. `own`: wording that goes first; see
    `ReportData.titles`.
    """

    def __init__(
        self,
        published: Mapping[str, Mapping[str, str]] | None = None,
        titles: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._own = titles or {}
        self._study = published or {}

    def known(self, column: str, level: str) -> str | None:
        """The wording that someone gave, if anyone did; of another group, that of the group."""
        wording = self._own.get(column, {}).get(level) or self._study.get(column, {}).get(level)
        return wording or (self.known(column.removeprefix(_OTHER), level) if column.startswith(_OTHER) else None)

    def get(self, column: str, level: str | None) -> str:
        """The wording of a level; made from its name if nobody gave one."""
        if level is None:
            return DASH
        if CROSSED in level and column == "dimension" and not self.known(column, level):
            first, *rest = (self.get(column, name) for name in level.split(CROSSED))
            return " × ".join([first, *(name.lower() for name in rest)])
        return self.known(column, level) or _humanise(level)

    def levels(self, column: str) -> list[str]:
        """Levels whose wording is known, in the order in which it was given."""
        return list({**self._study.get(column, {}), **self._own.get(column, {})})

    def variation(self, attribute: str | None, name: str | None) -> str:
        """The wording of a variation."""
        if name is None:
            return DASH
        return self.known("variation", f"{attribute}/{name}") or self.get("variation", name)

    def cue(self, attribute: str | None, name: str | None) -> str:
        """A variation within a sentence: "worn / distressed clothing (fashion)"."""
        return f"{self.variation(attribute, name).lower()} ({self.get('attribute', attribute).lower()})"

    def poles(self, scenario: str | None) -> str:
        """Both poles of a scenario, the favourable one first."""
        opposite = None if scenario is None else self.known("pole", scenario)
        title = self.get("scenario", scenario)
        return f"{title} or {opposite}" if opposite else title

    def category_of(self, scenario: str | None) -> str | None:
        """The category that a scenario belongs to."""
        return None if scenario is None else self.known("scenario_category", scenario)


def _humanise(level: str) -> str:
    text = re.sub(r"[_\s]+", " ", level).strip()
    text = re.sub(r"^monk-(\d+)$", r"Monk \1", text)
    return text[:1].upper() + text[1:] if text else level


def group_key(dimension: str, group: str) -> tuple[object, ...]:
    """Sort key that puts groups into the order people expect."""
    order = _ORDERS.get(dimension, ())
    place = order.index(group) if group in order else len(order)
    return (place, [int(piece) if piece.isdigit() else 0 for piece in re.findall(r"\d+|\D+", group)], group)


_SECRET = re.compile(r"api_?key|secret|passw|authori[sz]ation|credential|cookie|(^|[_-])token$|bearer", re.IGNORECASE)


def shown_setting(name: str, value: object) -> str:
    """A setting's value for people; never that of a secret."""
    if _SECRET.search(name):
        return "(not shown)"
    if value is None or value in ("", []):
        return DASH
    if isinstance(value, Mapping):
        return "; ".join(f"{k} = {shown_setting(str(k), v)}" for k, v in value.items())
    text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return re.sub(r"(?<=://)[^/@\s]+@", "", text)  # a name and password in an address


def label_of(e: Estimate, titles: Titles) -> str:
    """Name what an estimate is of, from all its labels."""
    levels = [titles.get(name, level) for name, level in e.labels.items() if level is not None]
    return ", ".join(levels) or "everything"
