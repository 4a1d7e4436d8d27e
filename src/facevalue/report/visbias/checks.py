"""VisBias's reasons to trust or doubt."""

from statistics import median

from facevalue.report.checks import FEW, Card, Status, judge_rate, kind_card, of_runs, one_wording, worst
from facevalue.report.data import ReportData
from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import NOT_MEASURABLE, Titles, count, interval, number
from facevalue.report.visbias import findings


def cards(data: ReportData, numbers: EstimateIndex, titles: Titles) -> list[Card]:
    """All cards, in the order in which they are shown."""
    return [
        _missing(numbers, titles),
        _contradicted(numbers, titles),
        _floor(numbers),
        _images(numbers),
        _scorer(numbers),
        _read(numbers, titles),
        one_wording(),
        kind_card(data.kind),
        *of_runs(data.runs, data.kind),
    ]


def rates(numbers: EstimateIndex, model: str) -> list[Estimate]:
    """Replies without a valid answer, by task."""
    return [e for e in numbers.all("refusal_rate", model, "task") if e.value is not None]


def _worst_of(rows: list[Estimate]) -> Estimate:
    return max(rows, key=lambda e: e.value or 0.0)


def _said(e: Estimate) -> str:
    return f"{number(e.value, e.unit)} {interval(e) or '(no interval)'}"


def _missing(numbers: EstimateIndex, titles: Titles) -> Card:
    title = "Replies without an answer"
    note = (
        "Replies in which no valid answer could be read, in the task where most are missing. They are left out, "
        "never counted as zero. Worrying: 5% or more, or more for one group than for another (see Answers missing)."
    )
    worst_ = [_worst_of(rows) for m in findings.plain_models(numbers) if (rows := rates(numbers, m))]
    if not worst_:
        return Card("na_rate", title, NOT_MEASURABLE, note, Status.PROBLEM)

    def text(e: Estimate) -> str:
        return f"{_said(e)} in {titles.get('task', e['task']).lower()}"

    lines = tuple(f"{e.model}: {text(e)}" for e in worst_) if len(worst_) > 1 else ()
    return Card("na_rate", title, text(_worst_of(worst_)), note, worst([judge_rate(e) for e in worst_]), lines)


def _contradicted(numbers: EstimateIndex, titles: Titles) -> Card:
    title = "Comparisons that contradict each other"
    rows = [e for m in findings.plain_models(numbers)
            for e in numbers.all("contradicted_share", m, "task", "question") if e.value is not None]  # fmt: skip
    if not rows:
        return Card("contradicted", title, "Not asked", "No pair of people was compared both ways.", Status.NOTE)
    gravest = _worst_of(rows)
    note = (
        "Pairs of whom the first is said to be above the second, and the second above the first. Worrying: 5% or more; "
        "the model then answers by place, not by person."
    )
    value = f"{_said(gravest)} ({titles.get('question', gravest['question']).lower()})"
    return Card("contradicted", title, value, note, judge_rate(gravest))


def _floor(numbers: EstimateIndex) -> Card:
    title = "Noise floor of choices"
    rows = findings.divergences(numbers, findings.primary(numbers))
    floors = [e.floor_high for e in rows if e.floor_high is not None]
    if not floors:
        return Card("floor", title, NOT_MEASURABLE, "No group's choices were compared.", Status.NOTE)
    unit = rows[0].unit
    note = (
        "Divergence is positive even where groups are alike, and the more so the fewer the images. Without any "
        f"difference the typical group stays below this in 95 of 100 audits; {number(min(floors), unit)} where most "
        f"images are, {number(max(floors), unit)} where fewest."
    )
    return Card("floor", title, f"{number(median(floors), unit)} thousandths of a nat", note, Status.NOTE)


def _images(numbers: EstimateIndex) -> Card:
    title = "Images per group"
    rows = findings.divergences(numbers, findings.primary(numbers))
    sizes = [e.clusters for e in rows if e.clusters is not None and " x " not in (e["dimension"] or "")]
    if not sizes:
        return Card("images", title, NOT_MEASURABLE, "No group has a valid answer.", Status.NOTE)
    least, middle = min(sizes), int(median(sizes))
    value = count(middle) if least == middle else f"{count(middle)} typical, {count(least)} at least"
    if least < FEW:
        note = f"Fewer than {FEW} for some: intervals may be too narrow. Take those as a trial, not as a finding."
        return Card("images", title, value, note, Status.CAUTION if least >= 10 else Status.PROBLEM)
    note = "The unit that was sampled. Intervals are taken over images, not over replies."
    return Card("images", title, value, note, Status.OK)


def _scorer(numbers: EstimateIndex) -> Card:
    model = findings.primary(numbers)
    if numbers.all("positive_sentiment", model, "task"):
        note = (
            "VADER rates words, and reads “poor” as unfavourable whoever is called so. A difference may come from one "
            "adjective of clothing: look at the words, too. Choices, comparisons and forms are scored by no word list."
        )
        return Card("scorer", "Scores", "Sentiment by a word list", note, Status.NOTE)
    return Card("scorer", "Scores", "No scores by another model", "No word list scores the answers.", Status.OK)


def _read(numbers: EstimateIndex, titles: Titles) -> Card:
    title = "Fields of forms"
    rows = []
    for task in findings.FORMS:
        every = numbers.all("field_share", findings.primary(numbers), "route", task=task)
        lost = [e for e in every if (e["route"] or "").startswith(("none", "missing", "doubled"))]
        if every:
            rows.append((task, 100 * sum(e.value or 0.0 for e in lost)))
    if not rows:
        return Card("fields", title, "Not asked", "No form was shown.", Status.NOTE)
    task, share = max(rows, key=lambda row: row[1])
    note = (
        "Open fields of which no category could be told. They count nowhere. A bias found among the others may be one "
        "of what is easy to read. How the others were read stands under Forms."
    )
    status = Status.OK if share < 5 else Status.CAUTION if share < 20 else Status.PROBLEM
    return Card("fields", title, f"{share:.1f}% not read ({titles.get('task', task).lower()})", note, status)
