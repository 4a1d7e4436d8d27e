"""Missing answers by group and prompt, and whether models see the pictures: cards and sections."""

import polars as pl

from facevalue.answers import NA
from facevalue.measures.cells import MISSING_GAP, MISSING_SHARE
from facevalue.measures.definitions import APART
from facevalue.measures.instrument import (
    SIGHT_ALPHA,
    SIGHT_DEPENDENCE,
    SIGHT_MEASURES,
    SIGHT_QUESTIONS,
    SIGHT_TOKENS,
    UNSEEN_PICTURES,
    sightless,
)
from facevalue.protocol.blocks import Strips
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.protocol.page import Section
from facevalue.report.blocks.view import View
from facevalue.report.formatting import NOT_MEASURABLE, chance_with_sign, interval, number
from facevalue.report.sections.checks import Card, CardStatus
from facevalue.report.sections.findings import SLIGHT, readable

_TITLE = "Who was left without an answer"
_NOTE = (
    "Each group with each prompt is compared with all other groups, whoever withheld the answer; refusals and requests "
    "that failed are also looked at by themselves. Differences are tested with everything else on this page."
)
_SHOWN, _LINES, _TABLE = 30, 5, 400
_BY = ("dimension", "group", "prompt?")


_REASONS = {NA.REFUSED.value: "refusals", NA.ERROR.value: "failed requests"}
"""Reasons that are looked at by themselves, too."""


def _gaps(reason: str | None) -> Of:
    alone = f" ({_REASONS[reason]} alone)" if reason else ""
    note = f"{{dimension}}, {{prompt|all prompts}}{alone}"
    by_reason = {"reason": reason}
    return Of(MISSING_GAP.name, _BY, by_reason, label="{group}", note=note, order="found", most=_SHOWN)


def _rows(measure: str, reason: str | None) -> Of:
    return Of(measure, _BY, {"reason": reason}, label="{dimension}|{group}|{prompt|all}", most=_TABLE)


_HEADS = ("Between", "Group", "Prompt")
_ALL = {"reason": None}
GAPS = Section(
    "unanswered",
    _TITLE,
    (
        Strips(
            of=(_gaps(None), *map(_gaps, _REASONS)),
            first="Group",
            what="Missing, from all others",
            title="Missing answers by group and prompt",
            rows=tuple(_rows(MISSING_GAP.name, reason) for reason in (None, *_REASONS)),
            heads=_HEADS,
            empty="No two groups could be compared.",
        ),
        Strips(
            of=(
                Of(
                    MISSING_SHARE.name, ("dimension", "group"), _ALL, label="{group}", note="{dimension}", order="value"
                ),
            ),
            first="Group",
            what="Share missing",
            title="Questions without a valid answer by group",
            rows=(_rows(MISSING_SHARE.name, None),),
            heads=_HEADS,
        ),
    ),
    each_model=True,
    lead="A missing answer is never counted as zero. Who gets none is a finding by itself.",
)


def sections(view: View) -> tuple[Section, ...]:
    """The section, where the estimates have it and any reply is missing."""
    return (GAPS,) if any(_missing_gaps(view, model) for model in view.models) else ()


def missing_card(view: View) -> list[Card]:
    """Card on who was declined more often, for each model, and on which prompt."""
    measured = [model for model in view.models if view.narrow(model).find(MISSING_SHARE.name) is not None]
    if not measured:
        return []
    findings = {model: [e for e in _missing_gaps(view, model) if view.found(e)] for model in measured}
    many = len(measured) > 1
    lines = []
    for model in measured:
        worst = sorted(findings[model], key=lambda e: -abs(e.value or 0.0))[:_LINES]
        for e in worst or _missing_gaps(view, model)[:1]:
            verdict = "" if e in worst else "; no difference found"
            lines.append(f"{model + ': ' if many else ''}{_cell(view, e)}{verdict}")
    clear = [model for model in measured if any(map(readable, findings[model]))]
    count = sum(map(len, findings.values()))
    lost = any((view.narrow(model).find(MISSING_SHARE.name) or Estimate("", "")).value for model in measured)
    if clear:
        value = f"{count:,} found" + (f": {', '.join(clear)}" if many else "")
    elif count:
        value = f"{count:,} found, each below {number(SLIGHT, APART)}"
    elif not lost:
        value = "Every question has an answer"
    else:
        value = "No group more often than others" if lines else NOT_MEASURABLE
    status = CardStatus.CAUTION if clear else CardStatus.OK if lines or not lost else CardStatus.NOTE
    return [Card("unanswered", _TITLE, value[:1].upper() + value[1:], _NOTE if lost else "", status, tuple(lines))]


def _missing_gaps(view: View, model: str) -> list[Estimate]:
    """Gaps of a model, the clearest first."""
    rows = view.narrow(model).rows(Of(MISSING_GAP.name, (*_BY, "reason?")))
    return sorted((e for e in rows if e.value is not None), key=lambda e: (e.q or 1.0, e.p or 1.0))


def _cell(view: View, e: Estimate) -> str:
    share = next(iter(view.narrow(e.model).rows(Of(MISSING_SHARE.name, (), _gap_labels(e)))), None)
    of = (
        f" ({number(share.value, share.written_unit)} of its questions)"
        if share is not None and share.value is not None
        else ""
    )
    form = "{group} ({dimension:lower}), {prompt|all prompts}" + (f", {_REASONS[e['reason']]}" if e["reason"] else "")
    return f"{view.said(form, e)}: {number(e.value, e.written_unit, signed=True)} {interval(e, signed=True)}{of}"


def _gap_labels(e: Estimate) -> dict[str, str | tuple[str | None, ...] | None]:
    return {name: e[name] for name in ("dimension", "group", "prompt", "reason")}


_CARD = "sight"
_SIGHT_TITLE = "Does the model see the pictures?"
_RULE = (
    "One sign is enough: right answers to questions about pictures made on the spot (colour, count, place; before the "
    f"run), tokens that a picture adds to a prompt, or answers that depend on which picture is shown "
    f"(p below {SIGHT_ALPHA})."
)
STEP = (
    "Find out first whether the pictures reach the model: whether it takes any, and whether the server passes them on. "
    "Until then more answers say nothing of how it judges people."
)
"""What to do before anything else where nothing shows that a model sees."""
_WITHDRAWN = "So nothing here is called equivalent."


def sentences(numbers: EstimateIndex) -> list[str]:
    """Sentences that open the answer where nothing shows that a model sees, one for each such model."""
    unseen = sightless(numbers.frame)
    many = numbers.frame["model"].n_unique() > 1
    return [
        f"{_subject(model, many=many)}: {_signs(_sight_estimates(numbers, model))}. {_WITHDRAWN}" for model in unseen
    ]


def sight_card(numbers: EstimateIndex) -> list[Card]:
    """Card on the signs by which each model sees; none where that is no question."""
    rows_by_model = {
        model: rows
        for model in numbers.frame["model"].unique(maintain_order=True).to_list()
        if (rows := _sight_estimates(numbers, model))
    }
    if not rows_by_model:
        return []
    unseen = sightless(numbers.frame)
    doubtful = [model for model, rows in rows_by_model.items() if model not in unseen and _has_failed(rows)]
    many = len(rows_by_model) > 1
    lines = [f"{f'{model}: ' if many else ''}{_signs(rows)}" for model, rows in rows_by_model.items()]
    note = _RULE
    if unseen:
        value, status = "Nothing shows it" + (f": {', '.join(unseen)}" if many else ""), CardStatus.PROBLEM
        note = f"{UNSEEN_PICTURES} {_WITHDRAWN} {_RULE}"
    elif doubtful:
        value, status = "Tokens alone say so", CardStatus.CAUTION
        note = f"A picture takes tokens, but questions about simple ones were answered no better than by chance. {note}"
    else:
        value, status = "Yes", CardStatus.OK
    return [Card(_CARD, _SIGHT_TITLE, value, note, status, tuple(lines))]


def is_problem(card: Card) -> bool:
    """Return whether a card says that nothing shows that a model sees."""
    return card.name == _CARD and card.status is CardStatus.PROBLEM


def _sight_estimates(numbers: EstimateIndex, model: str) -> dict[str, Estimate]:
    names = [measure.name for measure in SIGHT_MEASURES]
    rows = numbers.filter_estimates(pl.col("measure").is_in(names) & (pl.col("model") == model))
    return {estimate.measure: estimate for estimate in rows}


def _has_failed(rows: dict[str, Estimate]) -> bool:
    """Return whether questions were answered as by chance, and the run's answers do not make up for it."""
    questions, depends = rows.get(SIGHT_QUESTIONS.name), rows.get(SIGHT_DEPENDENCE.name)
    return questions is not None and questions.p is not None and questions.p > SIGHT_ALPHA and not _is_below(depends)


def _is_below(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.p is not None and estimate.p <= SIGHT_ALPHA


def _subject(model: str, *, many: bool) -> str:
    return f"Nothing shows that {model if many else 'the model'} sees the pictures"


def _signs(rows: dict[str, Estimate]) -> str:
    """The three signs in one clause each."""
    return ", ".join(filter(None, (_describe_questions(rows), _tokens(rows), _dependence(rows))))


def _describe_questions(rows: dict[str, Estimate]) -> str:
    e = rows.get(SIGHT_QUESTIONS.name)
    if e is None or e.value is None or not e.n:
        return "no question about pictures made on the spot was asked"
    return f"{round(e.value * e.n)} of {e.n} questions about pictures made on the spot were answered rightly"


def _tokens(rows: dict[str, Estimate]) -> str:
    e = rows.get(SIGHT_TOKENS.name)
    if e is None or e.value is None:
        return "what a picture adds to the tokens of a prompt is not known"
    return f"a picture adds {'no' if round(e.value) == 0 else f'{e.value:,.0f}'} tokens to a prompt"


def _dependence(rows: dict[str, Estimate]) -> str:
    e = rows.get(SIGHT_DEPENDENCE.name)
    if e is None or e.p is None:
        return "whether answers depend on the picture cannot be told from so few"
    depend = "answers depend" if _is_below(e) else "nothing shows that answers depend"
    return f"{depend} on which picture is shown (p {chance_with_sign(e.p)})"
