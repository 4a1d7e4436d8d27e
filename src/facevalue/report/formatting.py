"""Formatting: the one place that decides how a value, an interval and "not measurable" are written."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from markupsafe import Markup, escape

from facevalue.answers import NA
from facevalue.measures.caveats import add_caveat
from facevalue.measures.definitions import APART, SHARES, Measure
from facevalue.measures.intervals import IntervalKind
from facevalue.measures.verdicts import Verdict
from facevalue.printable import names_secret, without_password
from facevalue.protocol.lookup import CROSSED, Estimate
from facevalue.store.files import PLACES

# Sentences of replies in which a marked word stands.


LONGEST = 240
"""Characters of a sentence that are shown."""


def sentence(text: str, word: str) -> str | None:
    """The first sentence of a text with a word, shortened around it where it is long; None if there is none.

    Examples
    --------
    >>> sentence("A man. He wears a Red hat! And more.", "red")
    'He wears a Red hat!'
    """
    pattern = word_pattern(word)
    for candidate in _sentences(text):
        match = pattern.search(candidate)
        if match is None:
            continue
        if len(candidate) <= LONGEST:
            return candidate
        start = max(match.start() - LONGEST // 2, 0)
        cut = candidate[start : start + LONGEST]
        return f"{'…' if start else ''}{cut}{'…' if start + LONGEST < len(candidate) else ''}"
    return None


def _sentences(text: str) -> Iterable[str]:
    return (piece.strip() for piece in re.split(r"(?<=[.!?])\s+", text))


def word_pattern(word: str) -> re.Pattern[str]:
    """A word as such, in any case; a curly apostrophe is as good as a straight one."""
    escaped = re.escape(word).replace("'", "['’]")
    return re.compile(rf"(?<![\w'’-])({escaped})(?![\w-])", re.IGNORECASE)


# HTML and SVG elements as escaped markup.


_OPTION = re.compile(r"--[a-z][a-z-]*")


def html_element(name: str, *children: str | Markup, **attributes: object) -> Markup:
    """Build an element; attributes and text are escaped, attributes that are None left out.

    Examples
    --------
    >>> html_element("a", "1 < 2", class_="x", data_v=3)
    Markup('<a class="x" data-v="3">1 &lt; 2</a>')
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    opening = "".join(f' {key}="{escape(value)}"' for key, value in pairs)
    body = "".join(escape(child) for child in children)
    return Markup(f"<{name}{opening}>{body}</{name}>")  # noqa: S704 names are ours, all else is escaped


def keep_on_line(text: str) -> Markup:
    """A text, escaped, in which options of commands stay on one line.

    Examples
    --------
    >>> keep_on_line("see facevalue plan --detect, <now>")
    Markup('see facevalue plan <span class="nowrap">--detect</span>, &lt;now&gt;')
    """
    return Markup(_OPTION.sub(r'<span class="nowrap">\g<0></span>', str(escape(text))))  # noqa: S704 it was escaped


DASH = "–"
NOT_MEASURABLE = "not measurable"
MINUS = "−"
_OTHER = "other_"
_DIFFERENCES = ("pp", "log odds")
"""Units in which only differences are given."""
_LARGE = 1000.0
_ORDERS: dict[str, tuple[str, ...]] = {
    "age": ("young", "young adult", "middle-aged", "elderly"),
    "gender": ("male", "female"),
    "build": ("thin", "normal", "obese"),
    "body": ("thin", "normal", "obese"),
}


class Writing(NamedTuple):
    """Format of values of a unit: factor, number of digits, and what follows."""

    per: float = 1.0
    digits: int = 2
    sign: str = ""
    """What follows each number at once, those of an interval too."""
    word: str = ""
    """What follows a value; empty for what needs none."""


_WRITING = {
    **dict.fromkeys(SHARES, Writing(100, 1, "%")),
    "%": Writing(1, 1, "%"),
    APART: Writing(100, 1, word="points"),
    "pp": Writing(1, 1, word="points"),
    "points": Writing(word="scale points"),
    "probability^2": Writing(1e4, 1, word="×10⁻⁴"),
    "nat": Writing(word="nats"),
    "nat/1000": Writing(word="thousandths of a nat"),
    "log2": Writing(word="bits"),
    "$": Writing(word="dollars"),
    **dict.fromkeys(("", "1", "score", "1 or 0", "z"), Writing()),
    **{unit: Writing(digits=0, word=unit) for unit in ("variations", "groups")},
}
"""How units are written; one that is missing here has two digits and its own name behind it."""


def writing(unit: str) -> Writing:
    """Format of values of a unit; see `Estimate.written_unit`.

    Examples
    --------
    >>> writing("words").word, writing("pp").word, writing("share")
    ('words', 'points', Writing(per=100, digits=1, sign='%', word=''))
    """
    return _WRITING.get(unit) or Writing(word=unit)


def number(value: float | None, unit: str, *, signed: bool = False, bare: bool = False) -> str:
    """Write a value with its unit: a share in percent, what lies between two shares in points; all pages do so.

    `bare`: leave the unit's word out, where it stands beside.

    Examples
    --------
    >>> number(0.1244, APART, signed=True), number(-0.166, APART, signed=True), number(0.0244, "probability")
    ('+12.4 points', '−16.6 points', '2.4%')
    >>> number(0.0201, "share"), number(None, "share"), number(18.0, "variations")
    ('2.0%', '–', '18 variations')
    >>> number(1.0, "variations"), number(1.5, "variations"), number(1.0, "words")
    ('1 variation', '1.5 variations', '1.00 words')
    >>> number(61.24, "%"), number(-11.24, "pp", signed=True), number(52148.3, "$"), number(148.3, "$", bare=True)
    ('61.2%', '−11.2 points', '52,148 dollars', '148.30')

    The sign stays where the digits round to zero, as in the paper:

    >>> number(-0.0002, APART, signed=True), number(0.0, APART, signed=True, bare=True)
    ('−0.0 points', '0.0')
    """
    if value is None:
        return DASH
    per, digits, sign, word = writing(unit)
    size = per * value if value else 0.0  # no sign
    if not digits and size != round(size):
        digits = 1
    large = abs(size) >= _LARGE  # what stands behind its point is no news
    text = f"{size:,.{0 if large else digits}f}".replace("-", MINUS) + sign
    text = f"+{text}" if signed and size > 0 else text
    if not digits and abs(size) == 1:
        word = word.removesuffix("s")
    return text if bare or not word else f"{text} {word}"


def tick(value: float, unit: str, *, signed: bool = False) -> str:
    """Write a value on an axis: as many digits as it has, without the unit's word.

    Examples
    --------
    >>> tick(0.25, "share"), tick(-0.05, APART, signed=True), tick(12500.0, "$")
    ('25%', '−5', '12,500')
    """
    text = f"{writing(unit).per * value:,.10g}{writing(unit).sign}".replace("-", MINUS)
    return f"+{text}" if signed and value > 0 else text


def in_unit(title: str, units: Iterable[str]) -> str:
    """A title of values with their unit's word, where all have the same one.

    Examples
    --------
    >>> in_unit("Shift", [APART]), in_unit("Shift", ["words", APART]), in_unit("Share", ["share"])
    ('Shift, points', 'Shift', 'Share')
    """
    word = common_word(units)
    return f"{title}, {word}" if word and word != title.lower() else title


def common_word(units: Iterable[str]) -> str:
    """The word of all these units; empty where they have several or none."""
    words = {writing(unit).word for unit in units}
    return words.pop() if len(words) == 1 else ""


def unit_of(measure: Measure) -> str:
    """A measure's unit, and that of the page where it is another one.

    Examples
    --------
    >>> unit_of(Measure("gap", "Gap", "p - q", "share", "image", "", limits=(-1, 1)))
    'share (from 0 to 1; on this page in points of a hundred)'
    """
    if measure.unit not in SHARES:
        return measure.unit
    written = "points of a hundred" if measure.is_distance else "percent"
    return f"{measure.unit} (from 0 to 1; on this page in {written})"


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


def chance_with_sign(value: float) -> str:
    """Write a p- or q-value behind its letter.

    Examples
    --------
    >>> chance_with_sign(0.00002), chance_with_sign(0.0312)
    ('< .001', '= .031')
    """
    text = share_of_chance(value)
    return text if text.startswith("<") else f"= {text}"


def count(value: int | None) -> str:
    """Write a whole number with thin groups."""
    return DASH if value is None else f"{value:,}"


def quantity(number: int, singular: str, plural: str) -> str:
    """Write how many there are of something, in the form that goes with it.

    Examples
    --------
    >>> quantity(1, "study", "studies"), quantity(1200, "study", "studies")
    ('1 study', '1,200 studies')
    """
    return f"{number:,} {singular if number == 1 else plural}"


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
    ends = (
        number(v, estimate.written_unit, signed=signed, bare=True) for v in (low, high)
    )  # the value beside has a unit
    return f"[{', '.join(ends)}]"


def why_no_interval(estimate: Estimate) -> str:
    """Reason why a value has no interval; empty where it has one."""
    if estimate.value is None:
        return NOT_MEASURABLE
    if estimate.has_interval:
        return ""
    reason = estimate.method_words or "the method gives none"
    return reason if estimate.method == IntervalKind.NONE else f"no interval: {reason}"


def detail(
    estimate: Estimate,
    *,
    signed: bool = False,
    unit_name: str = "units",
    floor: Estimate | None = None,
    corrected: Estimate | None = None,
    brief: bool = False,
) -> str:
    """Details of an estimate in one line, for tooltips.

    `estimate`: what it is about. `signed`: whether values are written with their sign. `unit_name`: what clusters are
    called. `floor`: the estimate that has its noise floor, if it is another one. `corrected`: its size without the part
    that chance adds. `brief`: leave out how the interval was made, why the verdict, and what missing answers could have
    changed.
    """
    value = NOT_MEASURABLE if estimate.value is None else number(estimate.value, estimate.written_unit, signed=signed)
    clauses = [value]
    if estimate.has_interval:
        clauses[0] += f" {interval(estimate, signed=signed)} ({100 * (estimate.level or 0.95):g}%)"
    if estimate.verdict is not None and estimate.value is not None:
        clauses.append(
            add_caveat(estimate.verdict, estimate.caveat)
            if brief or not estimate.why
            else f"{estimate.verdict}: {_clause(estimate.why)}"
        )
    if at_page := page_interval(estimate, signed=signed):
        clauses.append(f"{at_page} at the page's level")
    clauses.append(f"n = {count(estimate.n)} in {count(estimate.clusters)} {unit_name}")
    if estimate.verdict_q is not None:
        clauses.append(f"q {chance_with_sign(estimate.verdict_q)}")
    elif estimate.p is not None:
        clauses.append(f"p {chance_with_sign(estimate.p)}")
    noise = floor or estimate
    if noise.floor_high is not None:
        mean = number(noise.floor, noise.written_unit, bare=True)
        high = number(noise.floor_high, noise.written_unit)
        clauses.append(f"noise floor {mean}, 95% below {high}")
    if corrected is not None and corrected.value is not None and not brief:
        clauses.append(f"size without what chance adds {number(corrected.value, corrected.written_unit)}")
    if estimate.mde is not None:
        clauses.append(f"found with 80% power from {number(estimate.mde, estimate.written_unit)} up")
    elif any_missed(estimate):
        clauses.append("any difference would have gone unnoticed")
    if estimate.margin is not None and not brief:
        clauses.append(f"margin ±{number(estimate.margin, estimate.written_unit)}, {when_declared(estimate.declared)}")
    if estimate.has_bounds and not brief:
        clauses.append(f"with missing answers counted worst-case {worst_case(estimate, signed=signed)}")
    if not estimate.has_interval and estimate.value is not None:
        clauses.append(why_no_interval(estimate))
    elif estimate.method_words and not brief:
        clauses.append(estimate.method_words)
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
    low = number(estimate.bound_low, estimate.written_unit, signed=signed, bare=True)
    return f"{low} to {number(estimate.bound_high, estimate.written_unit, signed=signed)}"


def when_declared(declared: bool | None) -> str:
    """Say whether a margin was named before the answers were seen."""
    return "declared before the run" if declared else "chosen after the run"


def _clause(sentence: str) -> str:
    """A sentence as the end of another one."""
    text = sentence.rstrip(".")
    return text[:1].lower() + text[1:]


REASONS: Mapping[str, str] = {
    NA.REFUSED: "Refused",
    NA.BOTH: "Several options named",
    NA.NEITHER: "No option named",
    NA.HEDGED: "No option settled on",
    NA.EMPTY: "Empty reply",
    NA.CONTRADICTION: "Letter of one option with the text of another",
    NA.TRUNCATED: "Cut off",
    NA.ERROR: "Request failed",
    NA.LOW_MASS: "Too little probability on the options",
    NA.UNMEASURED: "Place on the picture unknown",
}
"""Wording of reasons why there is no valid answer."""


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

    def given_wording(self, column: str, level: str) -> str | None:
        """The wording that someone gave, if anyone did; of another group, that of the group."""
        wording = self._own.get(column, {}).get(level) or self._study.get(column, {}).get(level)
        return wording or (
            self.given_wording(column.removeprefix(_OTHER), level) if column.startswith(_OTHER) else None
        )

    def get(self, column: str, level: str | None) -> str:
        """The wording of a level; made from its name if nobody gave one."""
        if level is None:
            return DASH
        if CROSSED in level and column == "dimension" and not self.given_wording(column, level):
            first, *rest = (self.get(column, name) for name in level.split(CROSSED))
            return " × ".join([first, *(name.lower() for name in rest)])
        wording = self.given_wording(column, level) or (REASONS.get(level) if column == "reason" else None)
        return wording or _humanise(level)

    def levels(self, column: str) -> list[str]:
        """Levels whose wording is known, in the order in which it was given."""
        return list({**self._study.get(column, {}), **self._own.get(column, {})})

    def variation(self, attribute: str | None, name: str | None) -> str:
        """The wording of a variation."""
        if name is None:
            return DASH
        return self.given_wording("variation", f"{attribute}/{name}") or self.get("variation", name)

    def cue(self, attribute: str | None, name: str | None) -> str:
        """A variation within a sentence: "worn / distressed clothing (fashion)"."""
        return f"{self.variation(attribute, name).lower()} ({self.get('attribute', attribute).lower()})"

    def poles(self, scenario: str | None) -> str:
        """Both poles of a scenario, the favourable one first."""
        opposite = None if scenario is None else self.given_wording("pole", scenario)
        title = self.get("scenario", scenario)
        return f"{title} or {opposite}" if opposite else title

    def category_of(self, scenario: str | None) -> str | None:
        """The category that a scenario belongs to."""
        return None if scenario is None else self.given_wording("scenario_category", scenario)


def _humanise(level: str) -> str:
    text = re.sub(r"[_\s]+", " ", level).strip()
    text = re.sub(r"^monk-(\d+)$", r"Monk \1", text)
    return text[:1].upper() + text[1:] if text else level


def group_key(dimension: str, group: str) -> tuple[object, ...]:
    """Sort key that puts groups into the order people expect."""
    order = _ORDERS.get(dimension, ())
    place = order.index(group) if group in order else len(order)
    return (place, [int(piece) if piece.isdigit() else 0 for piece in re.findall(r"\d+|\D+", group)], group)


_FOLDERS = re.compile(r'^(\w+/|\w+=")?(?:[A-Za-z]:|~|\.\.?)?[\\/].*[\\/](?=[^\\/"]+[\\/]?"?$)')
"""Folders before a name, in a path that is one or stands behind the kind of a model or the name of a setting."""


def shown_setting(name: str, value: object) -> str:
    """A setting's value for people: never that of a secret, and of a file or folder its name alone.

    Examples
    --------
    >>> shown_setting("manifest", "../ann/faces/list.csv"), shown_setting("path", "/home/ann/faces/")
    ('list.csv', 'faces/')
    >>> shown_setting("made", ["sets=3", 'list="/ann/list.csv"']), shown_setting("model", "hf//home/ann/gemma")
    ('sets=3, list="list.csv"', 'hf/gemma')
    >>> shown_setting("url", "https://ann:pass@host/v1"), shown_setting("activity", "cooking/eating")
    ('https://host/v1', 'cooking/eating')
    """
    if names_secret(name):
        return "(not shown)"
    if value is None or value in ("", []):
        return DASH
    if isinstance(value, Mapping):
        return "; ".join(f"{k} = {shown_setting(str(k), v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(shown_setting(name, v) for v in value)
    text = str(value)
    if name in PLACES:
        return PurePath(text.replace("\\", "/")).name
    return without_password(_FOLDERS.sub(r"\1", text))


def shown_settings(settings: Mapping[str, Sequence[object]]) -> dict[str, list[str]]:
    """Settings in which runs differ, each with its value in every run, for people."""
    return {name: [shown_setting(name, value) for value in values] for name, values in settings.items()}


def label_of(e: Estimate, titles: Titles) -> str:
    """Name what an estimate is of, from all its labels; the title of its measure says that it is a difference."""
    levels = [titles.get(name, level) for name, level in e.labels.items() if level is not None and name != "versus"]
    return ", ".join(levels) or "everything"
