"""Missing answers by group and prompt: a card and a section that every page has."""

from facevalue.answers import NA
from facevalue.measures.definitions import APART
from facevalue.measures.missing_answers import MISSING_GAP, MISSING_SHARE
from facevalue.protocol.blocks import Strips
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Section
from facevalue.report.blocks.view import View
from facevalue.report.checks import Card, CardStatus
from facevalue.report.findings import SLIGHT, readable
from facevalue.report.formatting import NOT_MEASURABLE, interval, number

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
