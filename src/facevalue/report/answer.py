"""Answer of a page: what was found for each model, and the strongest findings with their intervals."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from facevalue.protocol import blocks
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import POOLED, Estimate
from facevalue.protocol.page import Findings, Page
from facevalue.report import findings
from facevalue.report.blocks import intervals
from facevalue.report.blocks.content import Cell, Content, Facts, Head, Strips, Table
from facevalue.report.blocks.view import View, beyond
from facevalue.report.formatting import DASH, NOT_MEASURABLE
from facevalue.report.headline import Headline, Outcome, detectable, upper

MOST = 5
"""Findings that the answer shows."""
KINDS = ("Compared", "Found different", "Smallest surely found")
"""Columns of `kinds`."""
_NAMED = 3
"""Models up to which the sentence says of each what was found."""
_ORDER = (Outcome.FOUND, Outcome.NOTHING, Outcome.EQUIVALENT, Outcome.DESCRIBED, Outcome.NOT_MEASURABLE)


class Replies(NamedTuple):
    """How many replies a run has, and how many of them are valid answers and refusals."""

    asked: int
    valid: int
    refused: int


def answered(page: Page, view: View) -> Headline:
    """The answer of a page: that of its model, or what was found for how many of its models, each by its name."""
    models = view.numbers.plain
    if len(models) < 2:
        return findings.headline(page, view)
    own = {model: findings.headline(page, view.at(model)) for model in models}
    compared = {model: counted for model in models if (counted := _counted(page, view.at(model)))}
    if not compared:
        outcome = min((one.verdict for one in own.values()), key=_ORDER.index)
        if outcome is Outcome.NOT_MEASURABLE:
            return findings.headline(page, view)
        return Headline(outcome, " ".join(one.sentence for one in own.values()))
    found = [model for model in compared if own[model].verdict is Outcome.FOUND]
    texts = {model: compared[model][1] if model in compared else NOT_MEASURABLE for model in models}
    more = [one.top for model in found if (one := own[model]).top][:MOST]
    if len(models) <= _NAMED:
        sentence = f"{'; '.join(f'{model}: {text}' for model, text in texts.items())}."
    else:
        ends = sorted(found, key=lambda model: compared[model][0])
        sentence = f"A difference was found for {len(found) or 'none'} of {len(models)} models"
        told = [f"{model}: {texts[model]}" for model in dict.fromkeys((*ends[-1:], *ends[:1]))]
        sentence += f"{', from most to fewest' if len(told) > 1 else ''}{': ' if told else ''}{'; '.join(told)}."
    if view.numbers.pooled and (mean := _counted(page, view.at(POOLED))):
        more.append(f"Averaged over the models: {mean[1]}.")
    silent = [model for model in compared if own[model].verdict is Outcome.NOTHING]
    if silent:
        more.append(_silent(page, view, silent))
    outcome = min((own[model].verdict for model in compared), key=_ORDER.index)
    return Headline(outcome, sentence, tuple(more))


def unanswered(replies: Sequence[Replies]) -> Headline | None:
    """The answer of runs without any valid answer, with what there was instead; None for others."""
    asked = sum(run.asked for run in replies)
    if not asked or any(run.valid for run in replies):
        return None
    who = "The model" if len(replies) == 1 else "The models"
    refused = sum(run.refused for run in replies)
    if refused == asked:
        sentence = f"{who} refused every question: all {asked:,} replies are refusals, so nothing can be compared."
        return Headline(Outcome.NO_ANSWER, sentence)
    told = f"{refused / asked:.1%} of the replies are refusals, and the others name no answer"
    sentence = f"{who} gave no valid answer to {asked:,} questions, so nothing can be compared: {told}."
    return Headline(Outcome.NO_ANSWER, sentence)


def _counted(page: Page, view: View) -> tuple[int, str] | None:
    """How many differences were found for a model, and that in words; None where nothing was compared."""
    leads = findings.leading(page, view)
    rows = [e for lead in leads for e in view.known(findings.rows_of(lead, view))]
    if not rows:
        return None
    found = sum(map(view.numbers.moved, rows))
    if len(leads) == 1 and page.lead:
        said = leads[0].found[found != 1]
        return found, f"{found or 'none'} of {findings.of_these(leads[0], rows)} {said}"
    return found, f"{found or 'none'} of {len(rows):,} comparisons found a difference"


def _silent(page: Page, view: View, models: Sequence[str]) -> str:
    """That no finding is no proof, with what could have been missed where that is one number."""
    parts = []
    for model in models[:MOST]:
        own = view.at(model)
        leads = findings.leading(page, own)
        rows = [e for lead in leads for e in own.known(findings.rows_of(lead, own))]
        least = detectable(rows) if len({e.measure for e in rows}) == 1 else None
        if least is not None:
            parts.append(f"for {model}, {findings.missed(leads[0], least, rows[0].unit)} could have been missed")
    return f"{findings.PROOF} where none was found{': ' if parts else ''}{'; '.join(parts)}."


def shown(page: Page, view: View) -> list[Content]:
    """The strongest findings, or what lies farthest from none; as a chart where they share a unit."""
    models = list(view.numbers.plain) or [view.model]
    many = len(models) > 1
    picked: list[tuple[View, Findings, Estimate]] = []
    sizes = 0
    for model in models:
        own = view.at(model)
        rows = [(own, lead, e) for lead in findings.leading(page, own) for e in own.known(findings.rows_of(lead, own))]
        sizes += len(rows)
        if page.together or not page.lead:
            found = [one for one in rows if own.numbers.moved(one[2])]
            picked += _spread(sorted(found, key=lambda one: -beyond(one[2])))
        else:
            rows.sort(key=lambda one: (not one[0].numbers.moved(one[2]), -abs(one[2].value or 0.0)))
            picked += rows[: max(1, MOST // len(models))]
    picked = sorted(picked, key=lambda one: not one[0].numbers.moved(one[2]))[: max(MOST, 2 * len(models))]
    told: list[tuple[Cell, ...]] = [tuple(map(Cell, one)) for one in kinds(page, view)]
    heads = tuple(Head(title, sort=False) for title in KINDS)
    contents: list[Content] = [Table("What was compared, and what was found", heads, told)] if told else []
    if len(picked) < 2:
        return contents
    surely = sum(own.numbers.moved(e) for own, _, e in picked)
    title = "Strongest findings" if surely == len(picked) else "Found ones first, then the largest others"
    title = title if surely else "Farthest from none; no difference was found"
    title += f": {len(picked)} of {sizes:,} comparisons" if sizes > len(picked) else ""
    labels = [
        f"{e.model}: {findings.row(lead, own, e)}" if many else upper(findings.row(lead, own, e))
        for own, lead, e in picked
    ]
    if len({(e.unit, own.signed(e.measure)) for own, _, e in picked}) == 1:
        return [*contents, *_chart(view, picked, labels, title)]
    texts = ((e.model, findings.strongest(lead, own, e)) for own, lead, e in picked)
    return [*contents, Facts(tuple(dict.fromkeys(f"{who}: {text}" if many else upper(text) for who, text in texts)))]


def _spread(ranked: list[tuple[View, Findings, Estimate]]) -> list[tuple[View, Findings, Estimate]]:
    """The clearest of each kind first, then the next of each: one kind alone must not fill the list."""
    seen: dict[str, int] = {}
    place = []
    for one in ranked:
        kind = one[2].measure
        place.append(seen.get(kind, 0))
        seen[kind] = place[-1] + 1
    order = sorted(range(len(ranked)), key=lambda at: (place[at], at))
    return [ranked[at] for at in order[:MOST]]


def _chart(
    view: View, picked: Sequence[tuple[View, Findings, Estimate]], labels: Sequence[str], title: str
) -> list[Content]:
    rows = [(Of(e.measure), e) for _, _, e in picked]
    plot = intervals.plotted(view, rows, blocks.Strips(of=(rows[0][0],), title=title, first=""))
    if plot is None:
        return []
    named: list[Content] = [
        Strips(plot.axis, [replace(one, label=label, note="") for one, label in zip(plot.rows, labels, strict=True)],
               plot.what, plot.judged, plot.margin, plot.title, plot.first)
    ]  # fmt: skip
    return named


def kinds(page: Page, view: View) -> list[tuple[str, str, str]]:
    """Of every kind of comparison what was found of it, and from which size on it would have been."""
    many = len(view.numbers.plain) > 1
    out = []
    for model in (view.numbers.plain or [view.model]) if page.together else ():
        for lead, known, found in findings.by_kind(page, view.at(model)):
            unit = min(e.unit for e in known)  # lengths are in characters and in tokens: one of them will do
            least = detectable([e for e in known if e.unit == unit])
            if least == inf:  # unless some were found: then not all would be missed
                said = DASH if found else "not even the largest"
            else:
                said = DASH if least is None else findings.sized(lead, least, unit)
            name = f"{model}: {lead.noun[1]}" if many else upper(lead.noun[1])
            out.append((name, f"{len(found) or 'none'} of {len(known):,}", said))
    return out
