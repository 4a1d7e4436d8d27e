"""The answer in one sentence, computed from the numbers."""

from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from facevalue.report.numbers import POOLED, Estimate, Numbers
from facevalue.report.words import Titles, points

_DETECTABLE = (1.959964 + 0.841621) / 1.959964
"""Half a 95% interval times this is the effect found with 80% power, on the normal approximation."""


class Verdict(StrEnum):
    """What an audit came to."""

    FOUND = "difference found"
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

    verdict: Verdict
    sentence: str
    more: tuple[str, ...] = ()


def cues(numbers: Numbers, model: str) -> list[Estimate]:
    """Each variation's signed shift, strongest first; those that are not measurable last."""
    rows = numbers.all("sbs", model, "attribute", "variation")
    return sorted(rows, key=lambda e: (e.value is None, -abs(e.value or 0)))


def detectable(estimates: list[Estimate]) -> float | None:
    """The shift that the typical estimate would have found with 80% power; None without intervals."""
    halves = [(e.high - e.low) / 2 for e in estimates if e.low is not None and e.high is not None]
    return _DETECTABLE * median(halves) if halves else None


def headline(numbers: Numbers, titles: Titles, model: str) -> Headline:
    """Answer whether any cue moved the judgment, and which one most.

    Parameters
    ----------
    numbers:
        The estimates.
    titles:
        Wording of the cues.
    model:
        Whose answer; the mean over models has its own name.
    """
    rows = cues(numbers, model)
    known = [row for row in rows if row.value is not None]
    if not known:
        return Headline(Verdict.NOT_MEASURABLE, _why_not(numbers, model))
    moved = [row for row in known if numbers.moved(row)]
    whose = f"averaged over {len(numbers.models)} models, " if model == POOLED else ""
    cue_word = "visual cue" if len(known) == 1 else "visual cues"
    more = _aside(numbers, rows, known, model)
    if not moved:
        start = (
            f"{whose}none of {len(known)} {cue_word}" if len(known) > 1 else f"{whose}the one {cue_word} asked about"
        )
        verb = "moved" if len(known) > 1 else "did not move"
        sentence = f"{_upper(start)} {verb} the judgment beyond chance (q < .05 and above the noise floor)."
        least = detectable(known)
        if least is not None:
            missed = f"a shift of less than about {points(least)} points could have been missed"
            sentence += f" That is no proof of fairness: {missed}."
        return Headline(Verdict.NOTHING, sentence, more)
    top = moved[0]
    value = top.value or 0.0
    sentence = (
        f"{_upper(f'{whose}of {len(known)} {cue_word}')}, {len(moved)} moved the judgment "
        f"(q < .05 and above the noise floor); the strongest, {titles.cue(top.attribute, top.variation)}, "
        f"{'raised' if value > 0 else 'lowered'} it by {points(value)} points{_range(top, value)}."
    )
    return Headline(Verdict.FOUND, sentence, more)


def _range(top: Estimate, value: float) -> str:
    if top.low is None or top.high is None:
        return ""
    ends = sorted((top.low, top.high), key=abs)
    if ends[0] * ends[1] < 0:
        return f" [{points(top.low, signed=True)}, {points(top.high, signed=True)}]"
    return f" [{points(ends[0])}, {points(ends[1])}]" if value else ""


def _aside(numbers: Numbers, rows: list[Estimate], known: list[Estimate], model: str) -> tuple[str, ...]:
    more = []
    up = sum(1 for row in known if numbers.moved(row) and (row.value or 0) > 0)
    down = sum(1 for row in known if numbers.moved(row) and (row.value or 0) < 0)
    if up + down:
        more.append(f"{up} toward the favourable pole, {down} toward the unfavourable one.")
    if len(rows) > len(known):
        more.append(f"{len(rows) - len(known)} more could not be measured.")
    if model == POOLED:
        counts = []
        for name in numbers.models:
            own = cues(numbers, name)
            measured = [row for row in own if row.value is not None]
            found = sum(numbers.moved(row) for row in measured)
            counts.append(f"{name}: {found} of {len(measured)}" if measured else f"{name}: not measurable")
        more.append("Model by model: " + "; ".join(counts) + ".")
    return tuple(more)


def _why_not(numbers: Numbers, model: str) -> str:
    models = numbers.models if model == POOLED else (model,)
    rates = [numbers.one("na_rate", name) for name in models]
    whose = "The model" if len(models) == 1 else "The models"
    if rates and all(rate is not None and rate.value is not None and rate.value >= 1 for rate in rates):
        return f"{whose} gave no valid answer: not measurable."
    if not any(rate is not None and rate.value is not None for rate in rates):
        return "There are no answers yet: not measurable."
    return "No picture and its base face both have a valid answer to the same question: not measurable."


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
