"""How far the numbers can be trusted: one card per reason to doubt them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from facevalue.report.data import ReportData, RunFacts, StudyFacts
from facevalue.report.headline import cues, detectable
from facevalue.report.numbers import Estimate, Numbers
from facevalue.report.words import NOT_MEASURABLE, Titles, count, interval, is_signed, number, points, worst_case
from facevalue.stimuli.base import Kind

FEW_FACES = 30
KINDS = {
    Kind.ILLUSTRATED: (
        "Illustrated portraits",
        "Drawings say nothing about photographs, and no real model is called biased on their strength alone. They show "
        "that the instrument works, and where to look with photographs.",
    ),
    Kind.SYNTHETIC: (
        "Synthetic photographs",
        "Photorealistic pictures made by a model carry that model's own associations. Results on synthetic "
        "pictures are test data: supplementary to results on photographs.",
    ),
    Kind.PHOTOGRAPHS: (
        "Photographs",
        "Pictures of real people. Between a base face and its variation only the named cue should differ; the report "
        "can't check that it does.",
    ),
    Kind.UNSTATED: (
        "Kind not stated",
        "Whoever made this run did not say what kind of pictures these are. How far the results carry can't be said.",
    ),
}


class Status(StrEnum):
    """A card's verdict; shown as an icon and a word, never as a colour alone."""

    OK = "fine"
    NOTE = "note"
    CAUTION = "caution"
    PROBLEM = "problem"


_ORDER = (Status.OK, Status.NOTE, Status.CAUTION, Status.PROBLEM)


@dataclass(frozen=True, slots=True)
class Card:
    """One reason to trust or doubt.

    Attributes
    ----------
    name:
        Stable identifier.
    title, value, note:
        What it is about, its number or word, and what follows.
    status:
        The verdict.
    lines:
        One per model, where there are several.
    """

    name: str
    title: str
    value: str
    note: str
    status: Status
    lines: tuple[str, ...] = ()


def cards(data: ReportData, numbers: Numbers, titles: Titles) -> list[Card]:
    """All cards, in the order in which they are shown."""
    signed = {m.name: is_signed(m) for m in data.study.measures}
    return [
        _per_model(
            numbers, "na_rate", "Replies without an answer", _rate,
            "Replies in which no valid choice could be read. They are left out, never counted as zero. "
            "Worrying: 5% or more, or more for one group than for another (see Answers missing).", signed,
        ),
        _refusals(data.runs, _per_model(
            numbers, "refusal_rate", "Refusals", _rate, "Of all replies. Worrying: 5% or more, or one group "
            "refused more often than another (see Answers missing).", signed,
        )),
        _per_model(
            numbers, "position_bias", "Preference for the first option", _bias,
            "Share of choices of the option shown first, less one half. All orderings are asked, so it cancels in "
            "shifts. Worrying: beyond ±0.05; from ±0.15 the place leaves the pictures little room to matter.", signed,
        ),
        _per_model(
            numbers, "letter_bias", "Preference for the letter (a)", _bias,
            "Share of choices of the option lettered (a), less one half. Worrying: beyond ±0.05; from ±0.15 the letter "
            "may decide more than the picture.", signed,
        ),
        *_bounds(numbers, titles),
        *_considered(data.study),
        _floor(numbers),
        _faces(numbers),
        _kind(data.kind),
        _mode(data.runs),
        _completeness(data.runs),
    ]  # fmt: skip


def _worst(statuses: Sequence[Status]) -> Status:
    return max(statuses, key=_ORDER.index, default=Status.NOTE)


def _rate(e: Estimate) -> Status:
    value = e.value or 0.0
    return Status.OK if value < 0.05 else Status.CAUTION if value < 0.2 else Status.PROBLEM


def _bias(e: Estimate) -> Status:
    value = abs(e.value or 0.0)
    return Status.OK if value < 0.05 else Status.CAUTION if value < 0.15 else Status.PROBLEM


def _per_model(
    numbers: Numbers, measure: str, title: str, judge: Callable[[Estimate], Status], note: str, signed: dict[str, bool]
) -> Card:
    rows = [(model, numbers.one(measure, model)) for model in numbers.models]
    known = [(model, e) for model, e in rows if e is not None and e.value is not None]
    sign = signed.get(measure, measure.endswith("_bias"))

    def text(e: Estimate | None) -> str:
        if e is None or e.value is None:
            return NOT_MEASURABLE
        return f"{number(e.value, e.unit, signed=sign)} {interval(e, signed=sign) or '(no interval)'}"

    if not known:
        return Card(measure, title, NOT_MEASURABLE, note, Status.PROBLEM)
    lines = tuple(f"{model}: {text(e)}" for model, e in rows) if len(rows) > 1 else ()
    worst = max((e for _, e in known), key=lambda e: abs(e.value or 0.0))
    status = _worst([judge(e) for _, e in known] + [Status.PROBLEM] * (len(rows) - len(known)))
    return Card(measure, title, text(worst) + (" at worst" if lines else ""), note, status, lines)


def _refusals(runs: Sequence[RunFacts], card: Card) -> Card:
    """Exact runs don't measure refusals, and that is no fault of theirs."""
    if not any(run.exact for run in runs) or card.status is not Status.PROBLEM:
        return card
    note = "Where probabilities of the options were read, what the other replies would have been is not known."
    return replace(card, status=Status.NOTE if card.value == NOT_MEASURABLE else Status.CAUTION, note=note)


def _bounds(numbers: Numbers, titles: Titles) -> list[Card]:
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
        f"{model + ': ' if many else ''}{titles.cue(e.attribute, e.variation)}: "
        f"{worst_case(e, signed=True)}" for model, e in turned
    )  # fmt: skip
    note = (
        f"{rule} The direction of the shifts named here is not certain: a difference found may be due to who answered."
    )
    return [Card("bounds", title, f"{len(turned)} of {len(found)} signs not certain", note, Status.CAUTION, lines)]


def _considered(study: StudyFacts) -> list[Card]:
    """Audits of the instrument that do not apply to the protocol, so that an auditor sees they were considered."""
    names = {m.name for m in study.measures}
    out = []
    if not any("paraphrase" in name for name in names):
        note = (
            "Each question is asked in one wording. How far the results hang on it cannot be told from this run; "
            "worrying would be shifts that change sign between wordings."
        )
        out.append(Card("paraphrases", "Other wordings", "No paraphrases in this protocol", note, Status.NOTE))
    if not any("scorer" in name for name in names):
        note = (
            "No second model and no word list scores the answers, so none can bring a bias of its own into the "
            "numbers. Worrying would be scores that change when only the group words of a sentence are swapped."
        )
        out.append(Card("scorer", "Scores", "No scores by another model", note, Status.OK))
    return out


def _floor(numbers: Numbers) -> Card:
    rows = cues(numbers, numbers.primary)
    floors = [f for f in map(numbers.floor, rows) if f is not None]
    title = "Noise floor"
    if not floors:
        return Card("floor", title, NOT_MEASURABLE, "Nothing to set a floor by.", Status.PROBLEM)
    if numbers.judged:
        note = "Without any effect, the typical cue's shift stays within this in 95 of 100 audits."
        least = detectable(rows)
        if least is not None:
            note += f" For the typical cue, a shift is found with 80% power from about {points(least)} points up."
        return Card("floor", title, f"±{points(median(floors))} points", note, Status.NOTE)
    above = sum(1 for e in rows if e.value is not None and abs(e.value) > (numbers.floor(e) or 0.0))
    note = (
        f"Without any effect, the typical cue's shift stays below this in 95 of 100 audits. {above} of {len(rows)} "
        "cues are above their own floor."
    )
    least = detectable(rows)
    if least is not None:
        note += f" A shift of about {points(least)} points is found with 80% power (uncorrected, normal approximation)."
    return Card("floor", title, f"±{points(median(floors))} points", note, Status.NOTE)


def _faces(numbers: Numbers) -> Card:
    overall = numbers.one("sbs", numbers.primary)
    faces = None if overall is None else overall.clusters
    title = "Faces"
    if not faces:
        return Card("faces", title, NOT_MEASURABLE, "No face has an answer with and without a cue.", Status.PROBLEM)
    if faces < FEW_FACES:
        note = (
            f"Fewer than {FEW_FACES}: intervals may be too narrow, groups are small. Take the results as a trial, "
            "not as a finding."
        )
        status = Status.CAUTION if faces >= 10 else Status.PROBLEM
        return Card("faces", title, count(faces), note, status)
    note = "The unit that was sampled. Intervals are taken over faces, not over replies."
    return Card("faces", title, count(faces), note, Status.OK)


def _kind(kind: Kind) -> Card:
    value, note = KINDS[kind]
    return Card("kind", "Pictures", value, note, Status.OK if kind is Kind.PHOTOGRAPHS else Status.CAUTION)


def _mode(runs: Sequence[RunFacts]) -> Card:
    title = "How answers were taken"
    words = {
        True: ("Exact", "The model's own probability of each option was read: no sampling noise in the replies."),
        False: ("Sampled", "Replies were drawn, once per seed; the noise of drawing is in every interval."),
        None: ("Not recorded", "The run does not say whether probabilities were read or replies drawn."),
    }
    modes = list(dict.fromkeys(run.exact for run in runs))
    if len(modes) == 1:
        value, note = words[modes[0]]
        return Card("mode", title, value, note, Status.CAUTION if modes[0] is None else Status.OK)
    lines = tuple(f"{run.model}: {words[run.exact][0].lower()}" for run in runs)
    note = "Shares of zero and of large shifts are not comparable between exact and sampled runs."
    return Card("mode", title, "Differs between models", note, Status.CAUTION, lines)


def _completeness(runs: Sequence[RunFacts]) -> Card:
    title = "Is the run complete?"

    def text(run: RunFacts) -> str:
        if run.complete is None:
            return "not recorded"
        if run.complete:
            return "complete"
        asked = max((run.asked or 0) - (run.errors or 0), 0)
        return f"{count(asked)} of {count(run.planned)} requests"

    failed = sum(run.errors or 0 for run in runs)
    sampled = any(run.sample for run in runs)
    texts = [text(run) for run in runs]
    status = _worst([
        Status.OK if run.complete else Status.CAUTION if run.complete is None else Status.PROBLEM for run in runs
    ])  # fmt: skip
    note = f"{count(failed)} requests failed for good." if failed else "No request failed for good."
    if any(run.complete is False for run in runs):
        note += " Resume the run with the same command; the estimates cover what is there."
    if sampled:
        note += " The trials asked are a sample of the design."
    value = texts[0] if len(set(texts)) == 1 else "differs between models"
    lines = tuple(f"{run.model}: {t}" for run, t in zip(runs, texts, strict=True)) if len(set(texts)) > 1 else ()
    return Card("complete", title, value[:1].upper() + value[1:], note, status, lines)
