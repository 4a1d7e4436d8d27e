"""Findings: how many differences were found, which is the strongest, what could have been missed."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import polars as pl

from facevalue.measures.verdicts import FOUND_SMALL, Verdict
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Described, Findings, Page
from facevalue.report import formatting
from facevalue.report.blocks.view import View, beyond
from facevalue.report.formatting import NOT_MEASURABLE, number, when_declared
from facevalue.report.headline import Headline, HeadlineKind, detectable, upper

PROOF = "That is no proof of fairness"


def headline(page: Page, view: View) -> Headline:
    """The answer of a page: of what its lead names first and was asked, or of all of it together."""
    answer = _answer(page, view)
    return replace(answer, more=(*answer.more, *page.caution(view))) if page.caution else answer


def _answer(page: Page, view: View) -> Headline:
    if not page.lead:
        return _everything(view)
    if page.together:
        return _together(page, view)
    compared = False
    for lead in page.lead:
        rows = rows_of(lead, view)
        measurable = view.known(rows)
        if isinstance(lead, Findings):
            compared = compared or bool(rows)
            if measurable:
                return _counted(lead, view, rows)
        elif measurable and not compared:  # where a comparison was asked and failed, that is the answer
            return _described(lead, view, measurable)
    return Headline(HeadlineKind.NOT_MEASURABLE, why_not(page, view))


def rows_of(lead: Findings | Described, view: View) -> list[Estimate]:
    """Return the estimates that a lead is about, strongest first."""
    if isinstance(lead, Described):
        return view.rows(lead.of)
    rows = [e for of in lead.of for e in view.rows(of)]
    if lead.order == "size":
        return sorted(rows, key=lambda e: (e.value is None, -abs(e.value or 0.0)))
    return rows


def leading(page: Page, view: View) -> list[Findings]:
    """Return the parts of the lead that the answer counts: the first that was asked, or all of them."""
    if not page.lead:
        return [
            Findings(of=(Of(name, _labels(rows), order="found"),),
                title=f"Clearest: {view.measure_title(name).lower()}")
            for name, rows in _by_measure(view).items()
        ]  # fmt: skip
    counted = [lead for lead in page.lead if isinstance(lead, Findings) and rows_of(lead, view)]
    if page.together:
        return counted
    return next(([lead] for lead in counted if view.known(rows_of(lead, view))), counted[:1])


def _labels(rows: Sequence[Estimate]) -> tuple[str, ...]:
    """Every label that any of them has; those that not all have may be missing."""
    sets = [{name for name, level in e.labels.items() if level is not None} for e in rows]
    ordered = dict.fromkeys(name for e in rows for name, level in e.labels.items() if level is not None)
    return tuple(name if all(name in names for names in sets) else f"{name}?" for name in ordered)


def _by_measure(view: View) -> dict[str, list[Estimate]]:
    """Comparisons of a model by measure, those found first, then the clearest."""
    tested = pl.col("p").is_not_null() | pl.col("verdict").is_not_null()
    rows = list(view.numbers.where((pl.col("model") == view.model) & tested))
    rows.sort(key=lambda e: (not view.found(e), -beyond(e)))
    out: dict[str, list[Estimate]] = {}
    for e in rows:
        out.setdefault(e.measure, []).append(e)
    return out


def _everything(view: View) -> Headline:
    """The answer of a page without a lead: all comparisons of all measures."""
    rows = view.known(e for estimates in _by_measure(view).values() for e in estimates)
    rows.sort(key=lambda e: (not view.found(e), -beyond(e)))
    if not rows:
        return Headline(HeadlineKind.NOT_MEASURABLE, "No comparison can be judged: not measurable.")
    moved = [e for e in rows if view.found(e)]
    same = [e for e in rows if e.verdict == Verdict.EQUIVALENT]
    of = f"of {len(rows):,} comparisons" if len(rows) > 1 else "of the one comparison"
    sentence = upper(f"{view.whose}{of}, {len(moved) or 'none'} found a difference")
    more = (f"{len(same)} are equivalent to no difference within their margin.",) if same else ()
    if moved:
        top = view.row_label(Of(moved[0].measure), moved[0])
        value_text = view.said("{value}", moved[0])
        return Headline(HeadlineKind.FOUND, f"{sentence}; the clearest, {top}: {value_text}.", more)
    smallest = detectable(rows) if len({e.measure for e in rows}) == 1 else None
    small = "" if smallest is None else f": {missed(Findings(of=()), smallest, rows[0].written)} could have been missed"
    outcome = HeadlineKind.EQUIVALENT if len(same) == len(rows) else HeadlineKind.NOTHING
    return Headline(outcome, f"{sentence}. {PROOF}{small}.", more)


def sized(lead: Findings, value: float, unit: str) -> str:
    """A size in the unit that people are told."""
    if lead.unit:
        return f"{lead.per * abs(value):.1f} {lead.unit}".replace(" %", "%")
    return number(abs(value), unit)


def missed(lead: Findings, smallest: float, unit: str) -> str:
    """Say which effects could have been missed."""
    if smallest == inf:
        return f"any {lead.effect}"
    return f"a {lead.effect} below about {sized(lead, smallest, unit)}"


def _counted(lead: Findings, view: View, rows: list[Estimate]) -> Headline:
    """Say how many differences were found, are equivalent to none, or remain open; and which is the strongest."""
    measurable = view.known(rows)
    judged = any(e.verdict is not None for e in measurable)
    moved = [e for e in measurable if view.numbers.moved(e)]
    same = [e for e in measurable if e.verdict == Verdict.EQUIVALENT]
    still = [e for e in measurable if e not in moved and e not in same]
    smallest = detectable(still)
    unit = measurable[0].written
    if (
        judged
        and lead.strong is not None
        and not moved
        and not same
        and smallest is not None
        and smallest >= lead.strong
    ):
        return Headline(
            HeadlineKind.NOTHING, _nothing(lead, view, still, smallest), _more(lead, view, rows, measurable)
        )
    size = len(measurable)
    about = f" ({lead.about})" if lead.about else ""
    counts = [f"{len(moved) or 'none'} {lead.found[len(moved) != 1]}{about}"]
    if same:
        counts.append(
            f"{_verb(len(same), size, 'is', 'are')} equivalent to {lead.same} within {_margin(lead, same[0])}"
        )
    if still and judged:
        counts.append(f"{_verb(len(still), size, 'remains', 'remain')} open")
    if size == 1:
        text = lead.found[0] if moved else counts[-1] if judged else f"{lead.unfound} beyond chance"
        sentence = f"{view.whose}the one {lead.noun[0]} that could be judged {text}"
    elif not moved and not judged:
        sentence = f"{view.whose}not one of {of_these(lead, measurable)} {lead.found[0]} beyond chance{about}"
    else:
        sentence = f"{view.whose}of {of_these(lead, measurable)}, {', '.join(counts)}"
    if not judged:
        sentence += " (q < .05 and above the noise floor)"
    if still and smallest is not None and (judged or not moved):
        sentence += f": {missed(lead, smallest, unit)} could have been missed"
    sentence = f"{upper(sentence)}."
    if moved and size == 1:
        sentence = f"{sentence[:-1]}: {strongest(lead, view, moved[0])}."
    elif moved:
        sentence += f" {upper(_strongest(lead, view, moved))}."
    elif still:
        sentence += f" {PROOF}."
    outcome = HeadlineKind.FOUND if moved else HeadlineKind.NOTHING if still else HeadlineKind.EQUIVALENT
    more = (*_margins(lead, measurable, moved, same), *_more(lead, view, rows, measurable))
    start = f"{view.whose}{'' if lead.both else 'the strongest, '}"
    top = f"{upper(start)}{strongest(lead, view, moved[0])}." if moved else ""
    return Headline(outcome, sentence, more, top)


def of_these(lead: Findings, rows: Sequence[Estimate]) -> str:
    """Say how many comparisons there are, and in how many dimensions or questions."""
    cells = len({tuple(e[name] for name in lead.cells) for e in rows}) if lead.cells else len(rows)
    many = f"{cells:,} {lead.noun[cells != 1]}"
    for label, plural in lead.across:
        levels = len({e[label] for e in rows})
        many += f" in {levels} {plural}" if levels > 1 else ""
    return many if cells == len(rows) else f"{len(rows):,} comparisons ({many})"


def _strongest(lead: Findings, view: View, moved: Sequence[Estimate]) -> str:
    if not lead.both:
        return f"the strongest, {strongest(lead, view, moved[0])}"
    ends = [
        max((e for e in moved if ((e.value or 0) > 0) == up), key=lambda e: abs(e.value or 0.0), default=None)
        for up in (True, False)
    ]
    return "; ".join(strongest(lead, view, e) for e in ends if e is not None)


def strongest(lead: Findings, view: View, e: Estimate) -> str:
    """Say a finding in words."""
    form = lead.strongest[0] if (e.value or 0.0) > 0 else lead.strongest[1]
    more = {"size": f"{sized(lead, e.value or 0.0, e.written)}{_range(lead, e)}", "row": row(lead, view, e)}
    if lead.even is not None:
        more["even"] = lead.even(view, e)
    return view.said(form, e, more)


def row(lead: Findings, view: View, e: Estimate) -> str:
    """Name what a finding is of."""
    of = next((of for of in lead.of if e.measure in of.measures), lead.of[0])
    return view.said(lead.row, e) if lead.row else view.row_label(of, e)


def _range(lead: Findings, e: Estimate) -> str:
    """An interval in the unit that people are told; without signs where both ends have the value's."""
    if e.low is None or e.high is None:
        return ""
    ends = sorted((e.low, e.high), key=abs)
    ends = [e.low, e.high] if ends[0] * ends[1] < 0 else [abs(end) for end in ends]
    if lead.unit:
        texts = [f"{lead.per * end:+.1f}" if ends[0] < 0 else f"{lead.per * end:.1f}" for end in ends]
    else:
        texts = [number(end, e.written, bare=True) for end in ends]
    return f" [{', '.join(texts)}]".replace("-", formatting.MINUS)


def _nothing(lead: Findings, view: View, still: list[Estimate], smallest: float) -> str:
    """Say that nothing can be concluded, and why: not even strong effects would surely be found."""
    many = f"these {len(still)} {lead.noun[1]}" if len(still) > 1 else f"this {lead.noun[0]}"
    units = min((e.clusters for e in still if e.clusters is not None), default=0)
    sentence = upper(
        f"{view.whose}nothing can be concluded about {many} from so few {lead.unit_name or view.unit_name} "
        f"({units} for each): {missed(lead, smallest, still[0].written)} could have been missed."
    )
    alone = [e for e in still if e.low is not None and e.high is not None and e.low * e.high > 0]
    if alone:
        top = max(alone, key=lambda e: abs(e.value or 0.0))
        leave = "One interval leaves" if len(alone) == 1 else f"{len(alone)} intervals leave"
        sentence += f" {leave} zero out, but not surely among so many tests: {strongest(lead, view, top)}."
    return sentence


def _verb(count: int, size: int, singular: str, plural: str) -> str:
    return singular if size == 1 else f"{count} {singular if count == 1 else plural}"


def _margin(lead: Findings, e: Estimate) -> str:
    """The margin, and whether it was named beforehand."""
    size = f"{lead.per * (e.margin or 0.0):.6g} {lead.unit}" if lead.unit else number(e.margin, e.written)
    return f"the margin of {size} ({when_declared(e.declared)})"


def _margins(
    lead: Findings, measurable: Sequence[Estimate], moved: Sequence[Estimate], same: Sequence[Estimate]
) -> list[str]:
    small = [e for e in moved if e.margin is not None and e.why == FOUND_SMALL]
    out = []
    if small:
        out.append(
            f"{len(small)} of the {len(moved)} {lead.effect}s found {'is' if len(small) == 1 else 'are'} smaller than "
            f"{_margin(lead, small[0])}: real, but small."
        )
    if not same and measurable[0].margin is not None:
        out.append(f"No {lead.noun[0]} is shown to be equivalent to {lead.same} within {_margin(lead, measurable[0])}.")
    return out


def _more(lead: Findings, view: View, rows: Sequence[Estimate], measurable: Sequence[Estimate]) -> tuple[str, ...]:
    more = []
    moved = [e for e in measurable if view.numbers.moved(e)]
    up = sum((e.value or 0) > 0 for e in moved)
    if moved and lead.toward:
        more.append(f"{up} {lead.toward[0]}, {len(moved) - up} {lead.toward[1]}.")
    if len(rows) > len(measurable):
        more.append(f"{len(rows) - len(measurable)} more could not be measured.")
    if lead.each is not None:
        levels = [level for level in view.numbers.levels(lead.each) if any(e[lead.each] == level for e in rows)]
        more += [_level(lead, view, [e for e in measurable if e[lead.each or ""] == level]) for level in levels]
    return tuple(filter(None, more))


def _level(lead: Findings, view: View, rows: Sequence[Estimate]) -> str:
    """One level of a breakdown: how many were found, which most, and how far all are apart."""
    if not rows:
        return ""
    first = tuple(map(rows[0].labels.get, lead.spread_by))
    rows = [e for e in rows if tuple(map(e.labels.get, lead.spread_by)) == first]
    moved = [e for e in rows if view.numbers.moved(e)]
    title = view.said(lead.level or "{measure}", rows[0])
    clauses = [f"{title}: {len(moved) or 'none'} of {len(rows)} found different"]
    for up, word in ((True, lead.ends[0]), (False, lead.ends[1])):
        side = sorted((e for e in moved if ((e.value or 0) > 0) == up), key=lambda e: -abs(e.value or 0.0))[:2]
        if side:
            clauses.append(f"{word} {' and '.join(view.said(lead.short, e) for e in side)}")
    within = view.at(bound=dict(zip(lead.spread_by, first, strict=True)))
    e = next(iter(within.rows(lead.spread)), None) if lead.spread else None
    if e is not None and e.value is not None:
        text = f"spread {view.value(e)} {formatting.interval(e)}".strip()
        if e.floor is not None:
            text += (
                f" where chance alone gives {number(e.floor, e.written)} (95% below {number(e.floor_high, e.written)})"
            )
        clauses.append(text)
    return "; ".join(clauses) + "."


def _described(lead: Described, view: View, measurable: list[Estimate]) -> Headline:
    """Values and their ends, where nothing is compared."""
    ends = sorted(measurable, key=lambda e: e.value or 0.0)
    texts = [f"{view.said(lead.row, e)}{_beside(lead, view, e)}" for e in dict.fromkeys([ends[0], ends[-1]])]
    sentence = f"{view.whose}{' to '.join(texts)} {lead.text}"
    finer = sorted(view.known(view.rows(lead.ends)), key=lambda e: e.value or 0.0) if lead.ends else []
    if lead.ends and len(finer) > 1:
        sentence += f": {lead.most} {view.row_label(lead.ends, finer[-1])}, {view.said('{value}', finer[-1])}"
        sentence += f"; {lead.least} {view.row_label(lead.ends, finer[0])}, {view.said('{value}', finer[0])}"
    return Headline(HeadlineKind.DESCRIBED, f"{upper(sentence)}.", (lead.more,) if lead.more else ())


def _beside(lead: Described, view: View, e: Estimate) -> str:
    """What stands beside a value, in brackets; nothing where it was not measured."""
    values = {text: view.beside(measure, e) for measure, text in lead.beside.items()}
    texts = [f"{text} {view.said('{value}', v)}" for text, v in values.items() if v is not None and v.value is not None]
    return f" ({', '.join(texts)})" if texts else ""


def by_kind(page: Page, view: View) -> list[tuple[Findings, list[Estimate], list[Estimate]]]:
    """Every kind of comparison that was made: its estimates, and those of them that found a difference."""
    out = []
    for lead in page.lead:
        rows = view.known(rows_of(lead, view)) if isinstance(lead, Findings) else []
        if rows and isinstance(lead, Findings):
            out.append((lead, rows, [e for e in rows if view.found(e)]))
    return out


def _together(page: Page, view: View) -> Headline:
    """Say in how many kinds of comparison a difference was found, and the clearest of each."""
    kinds = by_kind(page, view)
    if not kinds:
        return Headline(HeadlineKind.NOT_MEASURABLE, why_not(page, view))
    size = sum(len(rows) for _, rows, _ in kinds)
    amount = f"{size:,} {kinds[0][0].noun[1]}"
    many = f"{len(kinds)} kinds of comparison ({size:,} in all)" if len(kinds) > 1 else amount
    clear = [(lead, rows, moved) for lead, rows, moved in kinds if moved]
    control = [] if page.control is None else _control(page.control, view)
    if clear:
        counts = listed([f"{lead.noun[1]} ({len(moved)} of {len(rows):,})" for lead, rows, moved in clear])
        place = f"{len(clear)} of {many}: {counts}" if len(kinds) > 1 else f"{len(clear[0][2])} of {amount}"
        sentence = f"{view.whose}a difference was found in {place}."
        first = max(clear, key=lambda kind: max(map(beyond, kind[2])))
        top = f"{strongest(first[0], view, first[2][0])}."
        others = [f"{upper(strongest(lead, view, moved[0]))}." for lead, _, moved in clear]
        return Headline(HeadlineKind.FOUND, upper(sentence), (*others, *control), f"{upper(view.whose)}{top}")
    if all(e.verdict == Verdict.EQUIVALENT for _, rows, _ in kinds for e in rows):
        sentence = f"{view.whose}no difference that matters in {many}."
        return Headline(HeadlineKind.EQUIVALENT, upper(sentence), tuple(control))
    sentence = f"{view.whose}no difference was found in {many}. {PROOF}: smaller ones than could be found are possible."
    return Headline(HeadlineKind.NOTHING, upper(sentence), tuple(control))


def _control(lead: Findings, view: View) -> list[str]:
    """Say what the negative control found, in which there is nothing to find."""
    rows = view.known(rows_of(lead, view))
    if not rows:
        return []
    moved = [e for e in rows if view.found(e)]
    text = f"Negative control: {len(moved) or 'none'} of {len(rows)} {lead.noun[1]}"
    return [f"{text}; clearest {strongest(lead, view, moved[0])}." if moved else f"{text} were found beyond chance."]


def listed(phrases: Sequence[str]) -> str:
    """Parts of a sentence, the last after "and"."""
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def why_not(page: Page, view: View) -> str:
    """Say why nothing can be judged: no answers, no comparison, or what the estimates say."""
    rates = [e for rate in page.rates[:1] for model in view.models for e in view.at(model).rows(rate.of)]
    values = [(e.value or 0.0) / (100 if e.unit == "%" else 1) for e in rates if e.value is not None]
    subject = "The model" if len(view.models) == 1 else "The models"
    reason = page.missing(view) if page.missing is not None else ""
    if reason:
        return reason
    if values and min(values) >= 1:
        return f"{subject} gave no valid answer, so nothing can be compared: {NOT_MEASURABLE}."
    if not view.numbers.frame.height:
        return f"There are no answers yet: {NOT_MEASURABLE}."
    if not view.numbers.frame["value"].is_not_null().any():
        return f"There are no valid answers: {NOT_MEASURABLE}."
    rows = [e for lead in page.lead for e in rows_of(lead, view)]
    if not rows:
        return "Nothing that was asked compares anything: there is no difference to judge. What was answered is below."
    reasons = list(dict.fromkeys(e.why for e in rows if e.why))[:3]
    noun = next(
        (lead.noun[0] for lead in page.lead if isinstance(lead, Findings) and rows_of(lead, view)), "comparison"
    )
    return " ".join([f"No {noun} can be judged: {NOT_MEASURABLE}.", *reasons])
