"""Checks of trust: one card per reason to doubt the numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite

import polars as pl

from facevalue.measures.definitions import SHARES, Measure, key_of
from facevalue.measures.instrument import DRIFT, WAVERING
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.report.data import EditorFacts, RunFacts
from facevalue.report.formatting import NOT_MEASURABLE, count, interval, number
from facevalue.runs.reply_counts import MANY_CUT
from facevalue.runs.reviews.outcomes import FINDING_KINDS
from facevalue.stimuli.base import Kind
from facevalue.types import NOT_SENT

_MANY_FAILED = 0.05
"""Share of failed requests from which on they are a problem."""
_NAMED = 3
_MOST_SAME = 0.2
"""Share of pictures that are the same as another of their unit from which on they are a problem."""
_MOST_CUT = 0.2
"""Share of replies cut off before an answer from which on they are a problem."""
_WELL_READ = 0.95
"""Share of replies that are read as people read them below which estimates may be the parser's."""
FEW, FEWEST = 30, 10
"""Below so many sampled units intervals may be too narrow, and are too few to act on."""
SAMPLED = ("temperature", "top_p", "max_tokens")
"""Settings by which replies are drawn, in the order in which they are told."""
AUDIT = "audit"
"""Folder beside a manifest of made pictures in which a page looks for the audit of their editor."""
KINDS = {
    Kind.ILLUSTRATED: (
        "Illustrated pictures",
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
        "Pictures of real people. Within a comparison only what is named should differ; the report can't check that it "
        "does.",
    ),
    Kind.UNSTATED: (
        "Kind not stated",
        "Nothing states whether these pictures are photographs, synthetic or illustrated, so it is unclear how far the "
        "results apply to photographs of people.",
    ),
}


def kind_cautions(kinds: Iterable[Kind]) -> list[str]:
    """Cautions for results on pictures that are no photographs, a text for each kind of these."""
    return [KINDS[kind][1] for kind in dict.fromkeys(kinds) if kind is not Kind.PHOTOGRAPHS]


class CardStatus(StrEnum):
    """A card's verdict; shown as an icon and a word, never as a colour alone."""

    OK = "fine"
    NOTE = "note"
    CAUTION = "caution"
    PROBLEM = "problem"


_ORDER = (CardStatus.OK, CardStatus.NOTE, CardStatus.CAUTION, CardStatus.PROBLEM)


@dataclass(frozen=True, slots=True)
class Card:
    """A card: one reason to trust a report, or to doubt it."""

    name: str
    """Stable identifier of the card."""
    title: str
    value: str
    note: str
    """Title of the card, its number or word, and what follows from it."""
    status: CardStatus
    """Verdict of the card."""
    lines: tuple[str, ...] = ()
    """One per model, where there are several."""


def worst(statuses: Sequence[CardStatus]) -> CardStatus:
    """Return the gravest status."""
    return max(statuses, key=_ORDER.index, default=CardStatus.NOTE)


def kind_card(kind: Kind, wording: Mapping[str, str] | None = None) -> Card:
    """Make the card on the kind of pictures that was shown."""
    value, note = KINDS[kind]
    texts = (wording or {}).get(kind.value, "|").split("|")
    value, note = texts[0] or value, texts[1] or note
    return Card("kind", "Pictures", value, note, CardStatus.OK if kind is Kind.PHOTOGRAPHS else CardStatus.CAUTION)


def editor_card(facts: EditorFacts) -> Card:
    """Card on what else the editor changed besides the cue, or on nobody knowing it.

    Examples
    --------
    >>> editor_card(EditorFacts(("sim/null",))).value
    'sim/null, not audited'
    """
    title, names = "Editor of the pictures", ", ".join(facts.names)
    if not facts.sentence:
        note = (
            "What else it changed is not known: an editor that lightens skin as it adds a cue makes a "
            "difference of its own. facevalue run editor audits it; its run is looked for in the folder "
            f"{AUDIT} beside the manifest."
        )
        return Card("editor", title, f"{names}, not audited", note, CardStatus.CAUTION)
    rule = "Where it changes more for one group, a difference of the model between groups may be the editor's."
    note = f"Its audit: {facts.sentence} {rule}"
    return Card("editor", title, names, note, CardStatus.CAUTION if facts.found else CardStatus.OK)


def planted_bias_card(runs: Sequence[RunFacts], kind: Kind) -> list[Card]:
    """Make the card of models whose bias was planted: they stand for no other model."""
    kinds = {run.model: (run.asked_model or run.model).split("/")[0] for run in runs}
    reference = [name for name, kind in kinds.items() if kind == "reference"]
    simulated = [name for name, kind in kinds.items() if kind == "sim"]
    out = []
    if reference and kind is not Kind.ILLUSTRATED:
        note = (
            "The reference model was trained on FaceValue's own drawings alone. It answers whatever it is shown, but "
            "what it says of other pictures means nothing."
        )
        out.append(Card("planted", "Pictures it does not know", ", ".join(reference), note, CardStatus.PROBLEM))
    elif reference:
        note = (
            "FaceValue's reference model: its bias was drawn at random and is published with it, to check audits by. "
            "It says nothing about anybody, nor about other models."
        )
        out.append(Card("planted", "Bias planted", ", ".join(reference), note, CardStatus.CAUTION))
    if simulated:
        note = "A simulation that sees no pictures: its bias was drawn at random. It says nothing about anybody."
        out.append(Card("simulated", "Simulated", ", ".join(simulated), note, CardStatus.CAUTION))
    return out


def of_runs(runs: Sequence[RunFacts], kind: Kind) -> list[Card]:
    """Make the cards that end every report: which model was asked, how, and whether all of the plan was."""
    return [
        *planted_bias_card(runs, kind),
        mode(runs),
        *same_pictures(runs),
        *record_card(runs),
        *drawn_otherwise(runs),
        *cut_off(runs),
        *failed_requests_card(runs),
        completeness(runs),
    ]


def mode(runs: Sequence[RunFacts]) -> Card:
    """Say whether replies were sampled or probabilities read."""
    title = "How answers were taken"
    words = {
        True: ("Exact", "The model's own probability of each option was read: no sampling noise in the replies."),
        False: ("Sampled", "Replies were drawn, once per seed; the noise of drawing is in every interval."),
        None: ("Not recorded", "The run does not say whether probabilities were read or replies drawn."),
    }
    modes = list(dict.fromkeys(run.exact for run in runs))
    if any(run.drawn for run in runs):
        lines = tuple(
            f"{run.model}: {count(run.drawn)} of {count(run.asked)} replies drawn" for run in runs if run.drawn
        )
        note = (
            "Where too little of the probability could be read, one reply was drawn instead. Means are as good as "
            "with probabilities; shares of zero and of large shifts and measures of spread are inflated."
        )
        return Card("mode", title, "Exact, in part drawn", note, CardStatus.CAUTION, lines)
    if len(modes) == 1:
        value, note = words[modes[0]]
        return Card("mode", title, value, note, CardStatus.CAUTION if modes[0] is None else CardStatus.OK)
    lines = tuple(f"{run.model}: {words[run.exact][0].lower()}" for run in runs)
    note = "Shares of zero and of large shifts are not comparable between exact and sampled runs."
    return Card("mode", title, "Differs between models", note, CardStatus.CAUTION, lines)


def same_pictures(runs: Sequence[RunFacts]) -> list[Card]:
    """Pictures that are the same as another of their unit; no card where none was found."""
    affected_runs = [run for run in runs if run.same_pictures]
    if not affected_runs:
        return []
    worst_run = max(affected_runs, key=lambda run: run.same_pictures / max(run.pictures_compared, 1))
    share = worst_run.same_pictures / max(worst_run.pictures_compared, 1)
    status = CardStatus.PROBLEM if share >= _MOST_SAME else CardStatus.CAUTION
    value = f"{count(worst_run.same_pictures)} of {count(worst_run.pictures_compared)}"
    note = (
        "Pictures that should differ by a cue or a group are the same as another of their set, identity or source: an "
        "edit that changed nothing. Between these no difference can be found; remove them, or have them made again."
    )
    return [Card("same-pictures", "Pictures that are the same", value, note, status)]


def record_card(runs: Sequence[RunFacts]) -> list[Card]:
    """Card on the source of answers that FaceValue did not ask for; none where it asked for all."""
    imported_runs = [run for run in runs if run.recorded_by]
    if not imported_runs:
        return []

    def text(run: RunFacts) -> str:
        files = f"{', '.join(run.records[:_NAMED])}{', ...' if len(run.records) > _NAMED else ''}"
        by = f", by {', '.join(run.served_by[:_NAMED])}" if run.served_by else ""
        return f"{run.recorded_by}: {files or 'no file'}{by}"

    mismatches = sum(run.mismatched for run in imported_runs)
    note = "Another tool asked, and its records were imported. Each answer carries the hash of what was asked."
    if mismatches:
        note = (
            f"{count(mismatches)} of the answers are by another model than the run names, or to other seeds, and were "
            "taken all the same (--allow-mismatch): they may not be this model's."
        )
    many = len(runs) > 1
    lines = tuple(f"{run.model}: {text(run)}" for run in imported_runs) if many else ()
    value = f"{len(imported_runs)} of {len(runs)} runs imported" if many else text(imported_runs[0])
    status = CardStatus.CAUTION if mismatches else CardStatus.NOTE
    return [Card("recorded", "Where answers came from", value, note, status, lines)]


def drawn_otherwise(runs: Sequence[RunFacts]) -> list[Card]:
    """Card on models whose replies were not drawn as the study says, or not alike; none where all were."""
    sampled = [run for run in runs if run.sent_sampling and not run.exact]
    refused = [name for run in sampled for name, value in run.sent_sampling.items() if value == NOT_SENT]
    differing = [name for name in SAMPLED if len({run.sent_sampling[name] for run in sampled}) > 1]
    if not refused and not differing:
        return []
    names = [name for name in SAMPLED if name in {*refused, *differing}]

    def text(run: RunFacts) -> str:
        values = ((name, run.sent_sampling[name]) for name in names)
        return ", ".join(f"{name} {value if isinstance(value, str) else f'{value:g}'}" for name, value in values)

    setting_names = " and ".join(names)
    note = (
        f"Where a model refuses a setting, its own default applies, which is not known here ({setting_names}). "
        * bool(refused)
    )
    if differing:
        note += (
            f"The models were drawn with another {setting_names}: a difference between them may be one of that, too."
        )
    lines = tuple(f"{run.model}: {text(run)}" for run in sampled)
    value = "Differs between models" if differing else text(sampled[0])
    return [
        Card("drawn", "How replies were drawn", value[:1].upper() + value[1:], note.strip(), CardStatus.CAUTION, lines)
    ]


def cut_off(runs: Sequence[RunFacts]) -> list[Card]:
    """Replies that were cut off before an answer; no card where none was."""
    cut_runs = [run for run in runs if run.cut]
    if not cut_runs:
        return []

    def share(run: RunFacts) -> float:
        return run.cut / max((run.asked or 0) - (run.errors or 0), 1)

    def text(run: RunFacts) -> str:
        return f"{number(share(run), 'share')} ({count(run.cut)} of {count((run.asked or 0) - (run.errors or 0))})"

    largest_share = max(map(share, cut_runs))
    status = (
        CardStatus.PROBLEM
        if largest_share >= _MOST_CUT
        else CardStatus.CAUTION
        if largest_share >= MANY_CUT
        else CardStatus.NOTE
    )
    note = (
        "They reached the token limit before they named an answer, such as models that think first: they count as "
        "missing. More tokens (--max-tokens, --reasoning-tokens) may give answers of another kind."
    )
    many = len(runs) > 1
    lines = tuple(f"{run.model}: {text(run)}" for run in cut_runs) if many else ()
    value = text(max(cut_runs, key=share)) + (" at worst" if many else "")
    return [Card("cut-off", "Replies cut off before an answer", value, note, status, lines)]


def failed_requests_card(runs: Sequence[RunFacts]) -> list[Card]:
    """Requests without any reply: missing answers that may still come. No card where none failed."""
    failing = [run for run in runs if run.errors]
    if not failing:
        return []

    def text(run: RunFacts) -> str:
        return f"{number((run.errors or 0) / (run.asked or 1), 'share')} ({count(run.errors)} of {count(run.asked)})"

    def failure_text(run: RunFacts) -> str:
        return (f", most often with {run.failure}" if run.failure else "") + (f"; {odd(run)}" if run.odd else "")

    def odd(run: RunFacts) -> str:
        such = f", such as {run.oddity}" if run.oddity != run.failure else ""
        return f"{count(run.odd)} {'reply' if run.odd == 1 else 'replies'} came but cannot count{such}"

    gravest = max(failing, key=lambda run: (run.errors or 0) / (run.asked or 1))
    many = len(runs) > 1
    lines = tuple(f"{run.model}: {text(run)}{failure_text(run)}" for run in failing) if many else ()
    note = f"Most often with {gravest.failure}. " if gravest.failure and not many else ""
    note += f"{odd(gravest)}. " if gravest.odd and not many else ""
    note += (
        "They are missing answers, whatever the reason: in every rate of these, compared by group, and in every worst "
        "case. The run's command, given again, asks them again."
    )
    grave = (gravest.errors or 0) / (gravest.asked or 1) >= _MANY_FAILED
    value = text(gravest) + (" at worst" if many else "")
    return [
        Card("failed", "Requests that failed", value, note, CardStatus.PROBLEM if grave else CardStatus.CAUTION, lines)
    ]


def completeness(runs: Sequence[RunFacts]) -> Card:
    """Make the card on how much of the plan was asked."""
    title = "Is the run complete?"

    def text(run: RunFacts) -> str:
        if run.complete is None:
            return "not recorded"
        if run.complete:
            return "stopped as enough was known" if run.enough else "complete"
        answered = max((run.asked or 0) - (run.errors or 0), 0)
        return f"{count(answered)} of {count(run.planned)} requests"

    errors = sum(run.errors or 0 for run in runs)
    sampled = any(run.sample for run in runs)
    texts = [text(run) for run in runs]
    of_complete = {True: CardStatus.OK, None: CardStatus.CAUTION, False: CardStatus.PROBLEM}
    status = worst([of_complete[run.complete] for run in runs])
    note = f"{count(errors)} requests failed." if errors else "No request failed."
    if any(run.complete is False for run in runs):
        note += " Resume the run with the same command; the estimates cover what is there."
    note += "".join(f" {run.enough}" for run in runs if run.enough)
    if sampled:
        note += " The trials asked are a sample of the design."
    value = texts[0] if len(set(texts)) == 1 else "differs between models"
    lines = tuple(f"{run.model}: {t}" for run, t in zip(runs, texts, strict=True)) if len(set(texts)) > 1 else ()
    return Card("complete", title, value[:1].upper() + value[1:], note, status, lines)


def self_check(runs: Sequence[RunFacts]) -> list[Card]:
    """Card on the difference of local models' probabilities from plain forward passes; none where none was checked."""
    checked = [(run.model, run.self_check) for run in runs if run.self_check is not None]
    if not checked:
        return []
    lines = tuple(
        f"{model}: {check.difference:.2g}; tolerance {check.tolerance:g}; questions: {count(check.questions)}"
        for model, check in checked
    )
    _, top = max(checked, key=lambda pair: pair[1].difference / pair[1].tolerance)
    questions = sum(check.questions for _, check in checked)
    note = (
        f"Questions about one picture share its computation. {count(questions)} drawn at random were also asked "
        "without sharing, one forward pass each; this is the largest difference of a probability. Rounding explains up "
        f"to {top.tolerance:g} in this number format; a session ends above it."
    )
    status = worst([
        CardStatus.OK if check.difference <= check.tolerance else CardStatus.PROBLEM for _, check in checked
    ])  # fmt: skip
    value = f"{top.difference:.2g}, tolerance {top.tolerance:g}" + (" at worst" if len(checked) > 1 else "")
    return [Card("self-check", "Self-check of the local model", value, note, status, lines if len(checked) > 1 else ())]


def review_card(runs: Sequence[RunFacts]) -> list[Card]:
    """Card on the agreement of the parser with most people; none where nobody reviewed replies."""
    reviewed = [(run.model, run.reviewed) for run in runs if run.reviewed is not None]
    if not reviewed:
        return []
    texts = [f"{review.value:.1%} [{review.low:.1%}, {review.high:.1%}]" for _, review in reviewed]
    raters = max(review.raters for _, review in reviewed)
    people = "One person" if raters == 1 else f"{raters} people"
    note = (
        f"{people} who did not know how replies were read said what {sum(review.replies for _, review in reviewed):,} "
        "of them mean, rare answers and missing ones among them. This is the share of all replies that is read as most "
        "people read them; facevalue review says which are not."
    )
    lowest, highest = (min(end) for end in zip(*((review.low, review.high) for _, review in reviewed), strict=True))
    well_read = CardStatus.CAUTION if highest < _WELL_READ else CardStatus.NOTE
    status = CardStatus.OK if lowest >= _WELL_READ else well_read
    lines = tuple(f"{model}: {text}" for (model, _), text in zip(reviewed, texts, strict=True))
    value = texts[0] if len(texts) == 1 else "by model"
    return [Card("review", "How replies are read", value, note, status, lines if len(texts) > 1 else ())]


def findings_card(runs: Sequence[RunFacts]) -> list[Card]:
    """Card on people's judgments of findings; none where nobody judged any."""
    judged = [(run.model, run.judged_findings) for run in runs if run.judged_findings is not None]
    if not judged:
        return []
    lines, counts = [], dict.fromkeys((*FINDING_KINDS, "undecided"), 0)
    for model, findings in judged:
        for row in findings.iter_rows(named=True):
            votes = ", ".join(f"{kind.lower()} {row[kind]}" for kind in FINDING_KINDS if row[kind])
            lines.append(f"{f'{model}: ' if len(judged) > 1 else ''}{row['statement']}: {votes}")
            counts[row["most"] or "undecided"] += 1
    of_all = sum(counts.values())
    value = ", ".join(f"{kind.lower()}: {size}" for kind, size in counts.items() if size)
    raters = max(max(findings["raters"].to_list(), default=0) for _, findings in judged)
    note = (
        f"{'1 association' if of_all == 1 else f'{count(of_all)} associations'} found here, put to "
        f"{'1 person' if raters == 1 else f'{raters} people'} who were told neither size nor model. Counted is what "
        "most of them say; each line has how many said what."
    )
    return [Card("findings-judged", "Findings, judged by people", value, note, CardStatus.NOTE, tuple(lines))]


# Drift card: whether the model changed during the run, in one direction or to and fro.


ALPHA = 0.05
_SCALES = (*SHARES, "", "1", "score", "points", "1 or 0")
"""Units of scales, of which a drift is told in points of a hundred."""
_TITLE = "Drift while the run lasted"
_ORDER_OF_CARDS = (
    "What is compared was asked together, question by question and in an order drawn by seed, so that a change with "
    "time adds noise to every number and moves none of them to one side."
)
_WITHIN = "Change from the first to the last answer, and SD of slow waves beyond chance, within the same questions."


def drift_card(
    numbers: EstimateIndex, runs: Sequence[RunFacts], measures: Mapping[str, Measure] | None = None
) -> list[Card]:
    """Card on whether each model's answers drifted, or why that can't be told.

    `measures`: their definitions, by which numbers with a unit are told in it.
    """
    rows_by_model = {run.model: [in_own_unit(e, measures or {}) for e in _rows(numbers, run.model)] for run in runs}
    if not any(rows_by_model.values()):
        return []
    moved = {
        model: [e for e in rows if e.p is not None and e.p * sum(o.p is not None for o in rows) < ALPHA]
        for model, rows in rows_by_model.items()
    }
    unknown = [run for run in runs if not any(e.value is not None for e in rows_by_model[run.model])]
    many = len(runs) > 1
    lines = [
        f"{model + ': ' if many else ''}{_score_name(e)} {number(e.value, e.written_unit, signed=_is_signed(e))} "
        f"{interval(e, signed=_is_signed(e))}"
        for model, rows in rows_by_model.items() for e in rows if e.value is not None
    ]  # fmt: skip
    lines += [f"{run.model + ': ' if many else ''}{_drift_reason(rows_by_model[run.model])}" for run in unknown]
    note = f"{_WITHIN} {_ORDER_OF_CARDS}"
    if sum(run.replayed for run in unknown) == len(runs):
        note = "Recorded answers are replayed: when each was given, and in which order, is not known."
    clear = [model for model, rows in moved.items() if rows]
    if clear:
        value = "Found" + (f": {', '.join(clear)}" if many else "")
    else:
        value = NOT_MEASURABLE if len(unknown) == len(runs) else "None found"
    status = CardStatus.CAUTION if clear else CardStatus.NOTE if unknown else CardStatus.OK
    return [Card("drift", _TITLE, value[:1].upper() + value[1:], note, status, tuple(lines))]


def _rows(numbers: EstimateIndex, model: str) -> list[Estimate]:
    return list(
        numbers.filter_estimates(pl.col("measure").is_in([DRIFT.name, WAVERING.name]) & (pl.col("model") == model))
    )


def in_own_unit(e: Estimate, measures: Mapping[str, Measure]) -> Estimate:
    """Drift of a number with a unit, in it: it is measured as a share of the scale. Of others, as it is.

    Examples
    --------
    >>> age = Measure("mean", "Perceived age", "mean", "years", "image", "", limits=(0.0, 120.0), score="age")
    >>> drift = Estimate(DRIFT.name, "m", {"score": "age"}, value=0.01, low=-0.01, high=0.03)
    >>> in_own_unit(drift, {age.key: age}).value
    1.2
    """
    measure = measures.get(key_of("mean", e["score"]))
    if measure is None or measure.unit in _SCALES or not all(map(isfinite, measure.limits)):
        return e
    span = measure.limits[1] - measure.limits[0]
    value, low, high = (None if number is None else span * number for number in (e.value, e.low, e.high))
    return replace(e, value=value, low=low, high=high, unit=measure.unit)


def _score_name(e: Estimate) -> str:
    name = (e["score"] or "answers").replace("_", " ")
    return name if _is_signed(e) else f"{name}, to and fro"


def _is_signed(e: Estimate) -> bool:
    return e.measure == DRIFT.name


def _drift_reason(rows: Sequence[Estimate]) -> str:
    """The reason that was given for the answers themselves."""
    detail = next((e.detail for e in rows if e.detail), NOT_MEASURABLE)
    return detail.removeprefix(f"{NOT_MEASURABLE}: ")
