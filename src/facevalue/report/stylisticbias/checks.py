"""StylisticBias's reasons to trust or doubt."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from statistics import median

from facevalue.report.checks import (
    FEW,
    Card,
    Status,
    judge_bias,
    judge_rate,
    kind_card,
    no_scorer,
    of_runs,
    one_wording,
    per_model,
)
from facevalue.report.data import ReportData, RunFacts, StudyFacts
from facevalue.report.estimates import EstimateIndex
from facevalue.report.formatting import NOT_MEASURABLE, Titles, count, is_signed, points, worst_case
from facevalue.report.headline import detectable
from facevalue.report.stylisticbias.headline import cues
from facevalue.stimuli.base import Kind


def cards(data: ReportData, numbers: EstimateIndex, titles: Titles) -> list[Card]:
    """All cards, in the order in which they are shown."""
    signed = {m.name: is_signed(m) for m in data.study.measures}
    return [
        per_model(
            numbers, "na_rate", "Replies without an answer", judge_rate,
            "Replies in which no valid choice could be read. They are left out, never counted as zero. "
            "Worrying: 5% or more, or more for one group than for another (see Answers missing).", signed,
        ),
        _refusals(data.runs, per_model(
            numbers, "refusal_rate", "Refusals", judge_rate, "Of all replies. Worrying: 5% or more, or one group "
            "refused more often than another (see Answers missing).", signed,
        )),
        per_model(
            numbers, "position_bias", "Preference for the first option", judge_bias,
            "Share of choices of the option shown first, less one half. All orderings are asked, so it cancels in "
            "shifts. Worrying: beyond ±0.05; from ±0.15 the place leaves the pictures little room to matter.", signed,
        ),
        per_model(
            numbers, "letter_bias", "Preference for the letter (a)", judge_bias,
            "Share of choices of the option lettered (a), less one half. Worrying: beyond ±0.05; from ±0.15 the letter "
            "may decide more than the picture.", signed,
        ),
        *_bounds(numbers, titles),
        *_considered(data.study),
        _floor(numbers),
        _faces(numbers),
        _kind(data.kind),
        *of_runs(data.runs, data.kind),
    ]  # fmt: skip


def _refusals(runs: Sequence[RunFacts], card: Card) -> Card:
    """Exact runs don't measure refusals, and that is no fault of theirs."""
    if not any(run.exact for run in runs) or card.status is not Status.PROBLEM:
        return card
    note = "Where probabilities of the options were read, what the other replies would have been is not known."
    return replace(card, status=Status.NOTE if card.value == NOT_MEASURABLE else Status.CAUTION, note=note)


def _bounds(numbers: EstimateIndex, titles: Titles) -> list[Card]:
    """Cues whose sign hangs on what the missing answers were; no card where that is not known."""
    rows = [(model, e) for model in numbers.models for e in cues(numbers, model) if e.has_bounds]
    if not rows:
        return []
    title = "If missing answers went one way"
    found = [(model, e) for model, e in rows if numbers.moved(e)]
    turned = [(model, e) for model, e in found if e.sign_open]
    rule = "Worst case: every missing answer one way on the base faces and the other way on the variations."
    if not found:
        return [Card("bounds", title, "No difference to check", rule, Status.NOTE)]
    if not turned:
        note = f"{rule} Each shift found keeps its sign, whatever the missing answers were."
        return [Card("bounds", title, "Every sign holds", note, Status.OK)]
    many = len(numbers.models) > 1
    lines = tuple(
        f"{model + ': ' if many else ''}{titles.cue(e['attribute'], e['variation'])}: "
        f"{worst_case(e, signed=True)}" for model, e in turned
    )  # fmt: skip
    note = (
        f"{rule} The direction of the shifts named here is not certain: a difference found may be due to who answered."
    )
    return [Card("bounds", title, f"{len(turned)} of {len(found)} signs not certain", note, Status.CAUTION, lines)]


def _floor(numbers: EstimateIndex) -> Card:
    rows = cues(numbers, numbers.primary)
    floors = [f for f in map(numbers.floor, rows) if f is not None]
    title = "Noise floor"
    if not floors:
        return Card("floor", title, NOT_MEASURABLE, "Nothing to set a floor by.", Status.PROBLEM)
    if numbers.judged:
        note = "Without any effect, the typical cue's shift stays within this in 95 of 100 audits."
        least = detectable(rows)
        if least is not None:
            found = f"a shift is found with 80% power from about {points(least)} points up"
            if least == inf:
                found = "no shift, however large, would have been found with 80% power"
            note += f" For the typical cue, {found}."
        return Card("floor", title, f"±{points(median(floors))} points", note, Status.NOTE)
    above = sum(1 for e in rows if e.value is not None and abs(e.value) > (numbers.floor(e) or 0.0))
    note = (
        f"Without any effect, the typical cue's shift stays below this in 95 of 100 audits. {above} of {len(rows)} "
        "cues are above their own floor."
    )
    least = detectable(rows)
    if least is not None and least < inf:
        note += f" A shift of about {points(least)} points is found with 80% power (uncorrected, normal approximation)."
    return Card("floor", title, f"±{points(median(floors))} points", note, Status.NOTE)


def _faces(numbers: EstimateIndex) -> Card:
    overall = numbers.one("sbs", numbers.primary)
    faces = None if overall is None else overall.clusters
    title = "Faces"
    if not faces:
        return Card("faces", title, NOT_MEASURABLE, "No face has an answer with and without a cue.", Status.PROBLEM)
    if faces < FEW:
        note = (
            f"Fewer than {FEW}: intervals may be too narrow, groups are small. Take the results as a trial, "
            "not as a finding."
        )
        status = Status.CAUTION if faces >= 10 else Status.PROBLEM
        return Card("faces", title, count(faces), note, status)
    note = "The unit that was sampled. Intervals are taken over faces, not over replies."
    return Card("faces", title, count(faces), note, Status.OK)


def _considered(study: StudyFacts) -> list[Card]:
    """Audits of the instrument that do not apply to the protocol, so that an auditor sees they were considered."""
    names = {m.name for m in study.measures}
    out = []
    if not any("paraphrase" in name for name in names):
        out.append(one_wording())
    if not any("scorer" in name for name in names):
        out.append(no_scorer())
    return out


def _kind(kind: Kind) -> Card:
    card = kind_card(kind)
    if kind is Kind.ILLUSTRATED:
        return replace(card, value="Illustrated portraits")
    if kind is Kind.PHOTOGRAPHS:
        note = (
            "Pictures of real people. Between a base face and its variation only the named cue should differ; the "
            "report can't check that it does."
        )
        return replace(card, note=note)
    return card
