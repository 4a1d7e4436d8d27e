"""VIGNETTE's reasons to trust or doubt."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from statistics import median

from facevalue.report.checks import FEW, Card, Status, judge_rate, kind_card, no_scorer, of_runs, one_wording, worst
from facevalue.report.data import ReportData
from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import NOT_MEASURABLE, Titles, count, interval, number
from facevalue.report.headline import detectable
from facevalue.report.vignette import gaps
from facevalue.report.vignette.cells import chosen, estimates


def cards(data: ReportData, numbers: EstimateIndex, titles: Titles) -> list[Card]:
    """All cards, in the order in which they are shown."""
    rate = (
        "Replies in which no valid choice could be read, where most of them are missing. They are left out, never "
        "counted as zero. Worrying: 5% or more, or more for one identity than for another (see Answers missing)."
    )
    first = (
        "Of the answers that name one of two, those that name the one listed before the other. The order is shuffled, "
        "so it cancels between identities. Worrying: beyond 45 to 55%; beyond 35 to 65% the order leaves the pictures "
        "little room."
    )
    left = (
        "Of the answers about two people, those that choose the left half. Sides are shuffled. Worrying: beyond 45 to "
        "55%."
    )
    return [
        _outermost(numbers, titles, "na_rate", "Replies without an answer", judge_rate, 0.0, rate, Status.PROBLEM),
        _outermost(
            numbers, titles, "first_option_share", "Choices of the first option", _side, 50.0, first, Status.NOTE
        ),
        _outermost(numbers, titles, "left_share", "Choices of the left half", _side, 50.0, left, Status.NOTE),
        _wordings(numbers, titles),
        no_scorer(),
        _floor(numbers),
        _pairs(numbers),
        kind_card(data.kind),
        *of_runs(data.runs, data.kind),
    ]


def _side(e: Estimate) -> Status:
    away = abs((e.value or 50.0) - 50)
    return Status.OK if away < 5 else Status.CAUTION if away < 15 else Status.PROBLEM


def shares(numbers: EstimateIndex, measure: str, model: str) -> list[Estimate]:
    """Rates of a model by paradigm, or by paradigm and dimension."""
    free = ("paradigm", "dimension", "contrast")
    return estimates(chosen(numbers, measure, model, (), {}, free))


def _outermost(
    numbers: EstimateIndex, titles: Titles, measure: str, title: str, judge: Callable[[Estimate], Status],
    neutral: float, note: str, missing: Status,
) -> Card:  # fmt: skip
    """The rate farthest from where it should be, of each model."""
    found = []
    for model in numbers.models:
        rows = [e for e in shares(numbers, measure, model) if e.value is not None]
        if rows:
            found.append(max(rows, key=lambda e: abs((e.value or 0.0) - neutral)))
    if not found:
        return Card(measure, title, NOT_MEASURABLE, note, missing)

    def text(e: Estimate) -> str:
        where = ", ".join(titles.get(n, level) for n in ("paradigm", "dimension") if (level := e[n]))
        return f"{number(e.value, e.unit)} {interval(e) or '(no interval)'}{f' in {where.lower()}' if where else ''}"

    lines = tuple(f"{e.model}: {text(e)}" for e in found) if len(numbers.models) > 1 else ()
    gravest = max(found, key=lambda e: abs((e.value or 0.0) - neutral))
    return Card(measure, title, text(gravest), note, worst([judge(e) for e in found]), lines)


def _wordings(numbers: EstimateIndex, titles: Titles) -> Card:
    rows = [e for m in numbers.models for e in shares(numbers, "full_match", m) if e.value is not None]
    if not rows:
        return replace(one_wording(), value="Asked in one wording")
    low = min(rows, key=lambda e: e.value or 0.0)
    asked = titles.get("paradigm", low["paradigm"]).lower()
    value = f"{number(low.value, low.unit)} {interval(low)} agree in all three ({asked})"
    note = (
        "Each question was asked in three wordings. What the paper found, and what chance alone would give, stands "
        "under Variants."
    )
    beyond = low.floor_high is None or (low.value or 0.0) > low.floor_high
    return Card("paraphrases", "Other wordings", value, note, Status.NOTE if beyond else Status.CAUTION)


def _floor(numbers: EstimateIndex) -> Card:
    rows = gaps.lead(numbers, numbers.primary)
    floors = [e.floor_high for e in rows if e.floor_high is not None]
    title = "Noise floor"
    if not floors:
        asked = Status.PROBLEM if rows or not gaps.wholes(numbers, numbers.primary) else Status.NOTE
        note = (
            "Nothing to set a floor by."
            if rows
            else "No choice was asked that could be even: nothing to set a floor by."
        )
        return Card("floor", title, NOT_MEASURABLE, note, asked)
    note = "Without any preference, the typical identity stays within this of an even choice in 95 of 100 audits."
    least = detectable(rows)
    if least is not None:
        found = f"a difference is found with 80% power from about {least:.1f} points up"
        if least == inf:
            found = "no difference, however large, would have been found with 80% power"
        note += f" For the typical identity, {found}."
    return Card("floor", title, f"±{min(median(floors), gaps.LARGEST):.1f} points", note, Status.NOTE)


def _pairs(numbers: EstimateIndex) -> Card:
    sizes = [e.clusters for e in gaps.wholes(numbers, numbers.primary) if e.clusters]
    title = "Pictures per identity"
    if not sizes:
        return Card("pairs", title, NOT_MEASURABLE, "No identity has a valid answer.", Status.PROBLEM)
    least, middle = min(sizes), int(median(sizes))
    value = count(middle) if least == middle else f"{count(middle)} typical, {count(least)} at least"
    if least < FEW:
        note = (
            f"Fewer than {FEW} for some (people, where one stands in several pictures): what pictures or people happen "
            "to look like can only be told from large differences."
        )
        return Card("pairs", title, value, note, Status.CAUTION if least >= 10 else Status.PROBLEM)
    note = "The unit that was sampled (people, where one stands in several). Intervals are over them, not over replies."
    return Card("pairs", title, value, note, Status.OK)
