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
from facevalue.report.blocks.content import Content, Facts, StripsContent, TableCell, TableContent, TableHead
from facevalue.report.blocks.view import View, beyond
from facevalue.report.formatting import DASH, NOT_MEASURABLE
from facevalue.report.headline import Headline, HeadlineKind, detectable, upper

MOST = 5
"""Findings that the answer shows."""
KINDS = ("Compared", "Found different", "Smallest surely found")
"""Columns of `kinds`."""
_NAMED = 3
"""Models up to which the sentence says of each what was found."""
_ORDER = (
    HeadlineKind.FOUND,
    HeadlineKind.NOTHING,
    HeadlineKind.EQUIVALENT,
    HeadlineKind.DESCRIBED,
    HeadlineKind.NOT_MEASURABLE,
)


class ReplyCounts(NamedTuple):
    """Numbers of a run's replies, of the valid answers and of the refusals among them."""

    asked: int
    valid: int
    refused: int


def answered(page: Page, view: View) -> Headline:
    """The answer of a page: that of its model, or what was found for how many of its models, each by its name."""
    models = view.numbers.plain
    if len(models) < 2:
        return findings.headline(page, view)
    headlines = {model: findings.headline(page, view.at(model)) for model in models}
    compared = {model: counted for model in models if (counted := _counted(page, view.at(model)))}
    if not compared:
        outcome = min((headline.verdict for headline in headlines.values()), key=_ORDER.index)
        if outcome is HeadlineKind.NOT_MEASURABLE:
            return findings.headline(page, view)
        return Headline(outcome, " ".join(headline.sentence for headline in headlines.values()))
    differing = [model for model in compared if headlines[model].verdict is HeadlineKind.FOUND]
    texts = {model: compared[model][1] if model in compared else NOT_MEASURABLE for model in models}
    more = [headline.top for model in differing if (headline := headlines[model]).top][:MOST]
    if len(models) <= _NAMED:
        sentence = f"{'; '.join(f'{model}: {text}' for model, text in texts.items())}."
    else:
        ends = sorted(differing, key=lambda model: compared[model][0])
        sentence = f"A difference was found for {len(differing) or 'none'} of {len(models)} models"
        extremes = [f"{model}: {texts[model]}" for model in dict.fromkeys((*ends[-1:], *ends[:1]))]
        sentence += (
            f"{', from most to fewest' if len(extremes) > 1 else ''}{': ' if extremes else ''}{'; '.join(extremes)}."
        )
    if view.numbers.pooled and (mean := _counted(page, view.at(POOLED))):
        more.append(f"Averaged over the models: {mean[1]}.")
    silent = [model for model in compared if headlines[model].verdict is HeadlineKind.NOTHING]
    if silent:
        more.append(_silent(page, view, silent))
    outcome = min((headlines[model].verdict for model in compared), key=_ORDER.index)
    return Headline(outcome, sentence, tuple(more))


def unanswered(replies: Sequence[ReplyCounts]) -> Headline | None:
    """The answer of runs without any valid answer, with what there was instead; None for others."""
    total = sum(run.asked for run in replies)
    if not total or any(run.valid for run in replies):
        return None
    subject = "The model" if len(replies) == 1 else "The models"
    refused = sum(run.refused for run in replies)
    if refused == total:
        sentence = f"{subject} refused every question: all {total:,} replies are refusals, so nothing can be compared."
        return Headline(HeadlineKind.NO_ANSWER, sentence)
    breakdown = f"{refused / total:.1%} of the replies are refusals, and the others name no answer"
    sentence = f"{subject} gave no valid answer to {total:,} questions, so nothing can be compared: {breakdown}."
    return Headline(HeadlineKind.NO_ANSWER, sentence)


def _counted(page: Page, view: View) -> tuple[int, str] | None:
    """Count the differences found for a model, and say so in words; None where nothing was compared."""
    leads = findings.leading(page, view)
    rows = [e for lead in leads for e in view.known(findings.rows_of(lead, view))]
    if not rows:
        return None
    moved = sum(map(view.numbers.moved, rows))
    if len(leads) == 1 and page.lead:
        verb = leads[0].found[moved != 1]
        return moved, f"{moved or 'none'} of {findings.of_these(leads[0], rows)} {verb}"
    return moved, f"{moved or 'none'} of {len(rows):,} comparisons found a difference"


def _silent(page: Page, view: View, models: Sequence[str]) -> str:
    """Say that no finding is no proof, with the size that could have been missed where that is one number."""
    limits = []
    for model in models[:MOST]:
        model_view = view.at(model)
        leads = findings.leading(page, model_view)
        rows = [e for lead in leads for e in model_view.known(findings.rows_of(lead, model_view))]
        smallest = detectable(rows) if len({e.measure for e in rows}) == 1 else None
        if smallest is not None:
            limits.append(f"for {model}, {findings.missed(leads[0], smallest, rows[0].written)} could have been missed")
    return f"{findings.PROOF} where none was found{': ' if limits else ''}{'; '.join(limits)}."


def shown(page: Page, view: View) -> list[Content]:
    """The strongest findings, or what lies farthest from none; as a chart where they share a unit."""
    models = list(view.numbers.plain) or [view.model]
    many = len(models) > 1
    picked: list[tuple[View, Findings, Estimate]] = []
    sizes = 0
    for model in models:
        model_view = view.at(model)
        rows = [
            (model_view, lead, e)
            for lead in findings.leading(page, model_view)
            for e in model_view.known(findings.rows_of(lead, model_view))
        ]
        sizes += len(rows)
        if page.together or not page.lead:
            moved = [row for row in rows if model_view.numbers.moved(row[2])]
            picked += _spread(sorted(moved, key=lambda row: -beyond(row[2])))
        else:
            rows.sort(key=lambda row: (not row[0].numbers.moved(row[2]), -abs(row[2].value or 0.0)))
            picked += rows[: max(1, MOST // len(models))]
    picked = sorted(picked, key=lambda row: not row[0].numbers.moved(row[2]))[: max(MOST, 2 * len(models))]
    kind_rows: list[tuple[TableCell, ...]] = [tuple(map(TableCell, cells)) for cells in kinds(page, view)]
    heads = tuple(TableHead(title, sort=False) for title in KINDS)
    contents: list[Content] = (
        [TableContent("What was compared, and what was found", heads, kind_rows)] if kind_rows else []
    )
    if len(picked) < 2:
        return contents
    surely = sum(model_view.numbers.moved(e) for model_view, _, e in picked)
    title = "Strongest findings" if surely == len(picked) else "Found ones first, then the largest others"
    title = title if surely else "Farthest from none; no difference was found"
    title += f": {len(picked)} of {sizes:,} comparisons" if sizes > len(picked) else ""
    labels = [
        f"{e.model}: {findings.row(lead, model_view, e)}" if many else upper(findings.row(lead, model_view, e))
        for model_view, lead, e in picked
    ]
    if len({(e.written, model_view.signed(e.measure)) for model_view, _, e in picked}) == 1:
        return [*contents, *_chart(view, picked, labels, title)]
    cells = ((e.model, findings.strongest(lead, model_view, e)) for model_view, lead, e in picked)
    return [
        *contents,
        Facts(tuple(dict.fromkeys(f"{model}: {text}" if many else upper(text) for model, text in cells))),
    ]


def _spread(ranked: list[tuple[View, Findings, Estimate]]) -> list[tuple[View, Findings, Estimate]]:
    """The clearest of each kind first, then the next of each: one kind alone must not fill the list."""
    seen: dict[str, int] = {}
    place = []
    for row in ranked:
        kind = row[2].measure
        place.append(seen.get(kind, 0))
        seen[kind] = place[-1] + 1
    order = sorted(range(len(ranked)), key=lambda index: (place[index], index))
    return [ranked[index] for index in order[:MOST]]


def _chart(
    view: View, picked: Sequence[tuple[View, Findings, Estimate]], labels: Sequence[str], title: str
) -> list[Content]:
    rows = [(Of(e.measure), e) for _, _, e in picked]
    plot = intervals.plotted(view, rows, blocks.Strips(of=(rows[0][0],), title=title, first=""))
    if plot is None:
        return []
    relabelled = [replace(row, label=label, note="") for row, label in zip(plot.rows, labels, strict=True)]
    return [StripsContent(plot.axis, relabelled, plot.what, plot.judged, plot.margin, plot.title, plot.first)]


def kinds(page: Page, view: View) -> list[tuple[str, str, str]]:
    """List every kind of comparison, how many differences it found, and the size from which it would find one."""
    many = len(view.numbers.plain) > 1
    out = []
    for model in (view.numbers.plain or [view.model]) if page.together else ():
        for lead, measurable, moved in findings.by_kind(page, view.at(model)):
            unit = min(e.written for e in measurable)  # lengths are in characters and in tokens: one of them will do
            smallest = detectable([e for e in measurable if e.written == unit])
            if smallest == inf:  # unless some were found: then not all would be missed
                size = DASH if moved else "not even the largest"
            else:
                size = DASH if smallest is None else findings.sized(lead, smallest, unit)
            name = f"{model}: {lead.noun[1]}" if many else upper(lead.noun[1])
            out.append((name, f"{len(moved) or 'none'} of {len(measurable):,}", size))
    return out
