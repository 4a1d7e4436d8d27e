"""Answer of a page: who was hurt, in which direction, how far and how sure, and what remains undecided."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Described, Findings, Page
from facevalue.report.blocks.view import View, beyond
from facevalue.report.effects import changes_said
from facevalue.report.findings import LeadComparison, compared, control_of, leading, row, rows_of, upper, without_answer
from facevalue.report.formatting import NOT_MEASURABLE, when_declared
from facevalue.report.headline import Headline, HeadlineKind

PROOF = "That is no proof of fairness."
_SUBJECTS, _PHRASES, _PARTS = 3, 3, 3
"""Subjects that are named, what is said of each, and comparisons of which it is said what could have been missed."""
_BRIEF = 3
"""Subjects that are named where nothing was found of them; of more their number is told."""
_MODELS = 3
"""Models up to which each has its own answer."""
_ORDER = (
    HeadlineKind.FOUND,
    HeadlineKind.NOTHING,
    HeadlineKind.TOO_FEW,
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
    """The answer of a page: that of its model, or that of each of its models by name; changes first."""
    models = view.numbers.plain
    if len(models) < 2:
        return _of_model(page, view)
    headlines = {model: _of_model(page, view.at(model), brief=len(models) > 1) for model in models}
    outcome = min((headline.verdict for headline in headlines.values()), key=_ORDER.index)
    if outcome is HeadlineKind.NOT_MEASURABLE:
        return _of_model(page, view)
    more = tuple(dict.fromkeys(line for headline in headlines.values() for line in headline.more))
    if len(models) <= _MODELS:
        return Headline(
            outcome, " ".join(f"{model}: {headline.sentence}" for model, headline in headlines.items()), more
        )
    differing = [model for model, headline in headlines.items() if headline.verdict is HeadlineKind.FOUND]
    sentence = f"A difference was found for {len(differing) or 'none'} of {len(models)} models."
    shown_models = differing[:_MODELS] or list(models)[:1]
    sentence += "".join(f" {model}: {headlines[model].sentence}" for model in shown_models)
    if len(differing) > len(shown_models):
        sentence += f" The other {len(differing) - len(shown_models)} are told below."
    if len(differing) < len(models):
        sentence += f" {PROOF[:-1]} where none was found." if differing else f" {PROOF}"
    return Headline(outcome, sentence, more)


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


def _of_model(page: Page, view: View, *, brief: bool = False) -> Headline:
    """The answer for one model; `brief` where others stand beside it."""
    comparisons = compared(page, view)
    hurt = without_answer(view)
    more = (
        *_margins(comparisons),
        *_unmeasured(page, view, comparisons),
        *_control(page, view),
        *_cautions(page, view),
    )
    changes = changes_said(comparisons)
    if not comparisons and not hurt:
        return _uncompared(page, view)
    telling = [comparison for comparison in (*comparisons, *hurt) if comparison.speaks]
    sentences = list(changes)
    if text := _found(telling, brief):
        sentences.append(f"Without them: {text}" if changes else text)
    silent = [comparison for comparison in comparisons if comparison.coarser is None]
    outcome = _outcome(telling, silent)
    sentences += _undecided(silent, outcome, brief=brief)
    if outcome is HeadlineKind.NOTHING:
        sentences.append(PROOF)
    return Headline(outcome, " ".join(sentences), more)


def _outcome(telling: Sequence[LeadComparison], silent: Sequence[LeadComparison]) -> HeadlineKind:
    if any(comparison.moved for comparison in telling):
        return HeadlineKind.FOUND
    if all(not comparison.undecided for comparison in silent):
        return HeadlineKind.EQUIVALENT
    return HeadlineKind.TOO_FEW if all(comparison.too_few for comparison in silent) else HeadlineKind.NOTHING


def _found(telling: Sequence[LeadComparison], brief: bool) -> str:
    """Say of each subject what was found, the clearest first; empty where nothing was."""
    hits = [(comparison, e) for comparison in telling for e in comparison.moved]
    if not hits:
        return ""
    alike = len({comparison.scale(e) for comparison, e in hits}) == 1
    hits.sort(key=lambda hit: -(abs(hit[1].value or 0.0) if alike else beyond(hit[1])))
    by_subject: dict[str, list[tuple[LeadComparison, Estimate]]] = {}
    for comparison, e in hits:
        by_subject.setdefault(comparison.subject(e), []).append((comparison, e))
    limit = 1 if brief else _SUBJECTS
    texts = [_subject(subject, rows) for subject, rows in list(by_subject.items())[:limit]]
    left = len(by_subject) - len(texts)
    nouns = {comparison.lead.noun for comparison, _ in hits}
    noun = next(iter(nouns))[left != 1] if len(nouns) == 1 else ""
    rest = f"other {noun}" if noun else "other" if left == 1 else "others"
    total = f" Also {left:,} {rest}." if left else ""
    return f"{'; '.join(texts)}.{total}"


def _subject(subject: str, hits: Sequence[tuple[LeadComparison, Estimate]]) -> str:
    """One subject, and the clearest finding of each comparison about it."""
    first: dict[int, tuple[LeadComparison, Estimate]] = {}
    for comparison, e in hits:
        first.setdefault(id(comparison), (comparison, e))
    phrases = [comparison.said(e) for comparison, e in list(first.values())[:_PHRASES]]
    left = len(hits) - len(phrases)
    more = f", and {left:,} more difference{'s' if left > 1 else ''}" if left else ""
    return f"{subject}: {'; '.join(phrases) if any(',' in text for text in phrases) else ', '.join(phrases)}{more}"


def _undecided(silent: Sequence[LeadComparison], outcome: HeadlineKind, *, brief: bool) -> list[str]:
    """Say where nothing was found and what could have been missed, and what is ruled out."""
    if outcome is HeadlineKind.TOO_FEW:
        return [_too_few(silent), *([] if brief else _hint(silent))]
    texts: list[str] = []
    if brief and outcome is HeadlineKind.FOUND:
        return texts
    blank = sorted(
        (comparison for comparison in silent if comparison.undecided), key=lambda comparison: not comparison.moved
    )
    if blank:
        several = len({comparison.lead.quantity for comparison in silent}) > 1
        first = _left(blank[0], several=several)
        texts.append(f"No difference was found for {first}, where {_missed(blank[0])} could have been missed.")
        further = [] if brief or outcome is HeadlineKind.FOUND else blank[1:_PARTS]
        clauses = [f"{_left(comparison, several=several)} ({_missed(comparison)})" for comparison in further]
        if (left := len(blank) - 1 - len(clauses)) and not brief:
            clauses.append(f"{left} other kind{'s' if left > 1 else ''} of comparison, listed below")
        texts += [f"Nor for {listed(clauses)}."] if clauses else []
    for comparison in silent:
        if comparison.same:
            margin = _margin(comparison, comparison.same[0])
            names = _names(comparison, comparison.same, "")
            texts.append(f"For {names} a difference beyond {margin} is ruled out.")
    if outcome is HeadlineKind.NOTHING and not brief:
        texts += _hint(silent)
    return texts


def _left(comparison: LeadComparison, *, several: bool) -> str:
    """Of whom nothing was found, and in what."""
    about = f" in {comparison.lead.quantity}" if several and comparison.lead.quantity else ""
    return f"{_names(comparison, comparison.undecided, 'other ' if comparison.moved else '')}{about}"


def _names(comparison: LeadComparison, rows: Sequence[Estimate], word: str) -> str:
    """The subjects of some rows: by name where they are few, else their number."""
    if len(rows) <= _BRIEF:
        return listed([row(comparison.lead, comparison.view, e) for e in rows])
    subjects = len(set(map(comparison.subject, rows)))
    if subjects < len(rows) and word:
        return f"the {word}{len(rows):,} comparisons"
    return f"the {word}{subjects:,} {comparison.lead.noun[1]}" if subjects > 1 else comparison.subject(rows[0])


def _missed(comparison: LeadComparison) -> str:
    if comparison.missable is None:
        return "differences of unknown size"
    if comparison.missable == inf:
        return "any difference"
    return f"up to about {comparison.scale(comparison.undecided[0]).up_to(comparison.missable)}"


def _too_few(silent: Sequence[LeadComparison]) -> str:
    """Say that nothing can be concluded, as even strong differences could have been missed."""
    comparison = silent[0]
    subjects = len({comparison.subject(e) for e in comparison.rows})
    units = f"{comparison.units:,} {comparison.unit_name if comparison.units != 1 else _singular(comparison.unit_name)}"
    of = f"each of {subjects:,} {comparison.lead.noun[1]}" if subjects > 1 else comparison.subject(comparison.rows[0])
    size = comparison.missable
    missed = (
        "any difference"
        if size is None or size == inf
        else f"even a difference of {comparison.scale(comparison.undecided[0]).up_to(size)}"
    )
    return f"Too little was asked to tell: with {units} for {of}, {missed} could have been missed."


def _singular(plural: str) -> str:
    return plural.removesuffix("s")


def _hint(silent: Sequence[LeadComparison]) -> list[str]:
    """The clearest difference that would count by itself, and among so many may be chance; none without one."""
    alone = [
        (comparison, e) for comparison in silent for e in comparison.undecided
        if e.low is not None and e.high is not None and e.low * e.high > 0 and comparison.view.signed(e.measure)
    ]  # fmt: skip
    if not alone:
        return []
    comparison, e = max(alone, key=lambda pair: beyond(pair[1]))
    return [f"The clearest hint, which may be chance: {comparison.subject(e)}, {comparison.said(e)}."]


def listed(phrases: Sequence[str]) -> str:
    """Parts of a sentence, the last after "and"."""
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _margin(comparison: LeadComparison, e: Estimate) -> str:
    """The margin, and whether it was named beforehand."""
    return f"the margin of {comparison.scale(e).text(e.margin or 0.0)} ({when_declared(e.declared)})"


def _margins(comparisons: Sequence[LeadComparison]) -> list[str]:
    """Which findings are smaller than a margin, and where a margin shows nothing."""
    out = []
    for comparison in comparisons:
        lead, size = comparison.lead, len(comparison.small)
        if size:
            margin, verb = _margin(comparison, comparison.small[0]), "is" if size == 1 else "are"
            effects = f"{len(comparison.moved)} {lead.effect}s found"
            out.append(f"{size} of the {effects} {verb} smaller than {margin}: real, but small.")
        if not comparison.same and comparison.rows[0].margin is not None:
            margin = _margin(comparison, comparison.rows[0])
            out.append(f"For no {lead.noun[0]} a difference beyond {margin} is ruled out.")
    return out


def _unmeasured(page: Page, view: View, comparisons: Sequence[LeadComparison]) -> list[str]:
    """How many comparisons have no value."""
    total = sum(len(rows_of(lead, view)) for lead in leading(page, view))
    left = total - sum(len(comparison.rows) for comparison in comparisons)
    return [f"{left:,} more could not be measured."] if left else []


def _control(page: Page, view: View) -> list[str]:
    return [] if page.control is None else control_of(page.control, view)


def _cautions(page: Page, view: View) -> tuple[str, ...]:
    return () if page.caution is None else tuple(page.caution(view))


def _uncompared(page: Page, view: View) -> Headline:
    """The answer where nothing can be judged: values that are described, or why there is none."""
    if any(isinstance(lead, Findings) and rows_of(lead, view) for lead in page.lead):
        return Headline(HeadlineKind.NOT_MEASURABLE, why_not(page, view), _cautions(page, view))
    for lead in page.lead:
        measurable = view.known(rows_of(lead, view))
        if isinstance(lead, Described) and measurable:
            headline = _described(lead, view, measurable)
            return replace(headline, more=(*headline.more, *_cautions(page, view)))
    return Headline(HeadlineKind.NOT_MEASURABLE, why_not(page, view), _cautions(page, view))


def _described(lead: Described, view: View, measurable: list[Estimate]) -> Headline:
    """Values and their ends, where nothing is compared."""
    ends = sorted(measurable, key=lambda e: e.value or 0.0)
    texts = [f"{view.said(lead.row, e)}{_beside(lead, view, e)}" for e in dict.fromkeys([ends[0], ends[-1]])]
    sentence = f"{' to '.join(texts)} {lead.text}"
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
