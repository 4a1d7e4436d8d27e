"""Answer of a page: who was hurt, in which direction, how far and how sure, and what remains undecided."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from facevalue.measures.caveats import counted_caveats, shared_caveat
from facevalue.measures.instrument import sightless
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Described, Findings, Page
from facevalue.report.blocks.view import View
from facevalue.report.effects import changes_said
from facevalue.report.findings import LeadComparison, PageComparisons, control_of, leading, rows_of, upper
from facevalue.report.formatting import NOT_MEASURABLE
from facevalue.report.headline import Headline, HeadlineKind, Passage
from facevalue.report.sight import sentences
from facevalue.report.strongest import Finding, findings, hint, most_named, strongest
from facevalue.report.undecided import margin_of, missed, not_found, too_few
from facevalue.runs.reply_counts import ReplyCounts, counts_together

PROOF = "That is no proof of fairness."
_MODELS = 3
"""Models of which the answer is told by name."""
_ALMOST_ALL = 0.9
"""Share of replies without an answer from which on nothing else is said of why nothing can be judged."""
_ORDER = (
    HeadlineKind.FOUND,
    HeadlineKind.NOT_ANSWERED,
    HeadlineKind.NOTHING,
    HeadlineKind.TOO_FEW,
    HeadlineKind.EQUIVALENT,
    HeadlineKind.DESCRIBED,
    HeadlineKind.ALMOST_NONE,
    HeadlineKind.NOT_MEASURABLE,
)

_OF_SEEN = (
    HeadlineKind.NOTHING,
    HeadlineKind.TOO_FEW,
    HeadlineKind.EQUIVALENT,
    HeadlineKind.DESCRIBED,
    HeadlineKind.NOT_MEASURABLE,
)
"""Kinds of answer that say nothing where nothing shows that any model sees the pictures."""


def answered(comparisons: PageComparisons, counts: Mapping[str, ReplyCounts] | None = None) -> Headline:
    """The answer of a page: what opens it, then that of its model, or of each of its models by name; changes first.

    `counts`: questions and replies of each model, where they are known; a model that was not asked all of them, or of
    which half cannot be read, is told as not answered.
    """
    headline, opens = _of_models(comparisons, counts or {}), comparisons.page.opening
    opening = () if opens is None else tuple(map(Passage, opens(comparisons.view)))
    numbers = comparisons.view.numbers
    passages = (*map(Passage, sentences(numbers)), *opening, *headline.passages)
    is_unseen = bool(numbers.plain) and {*numbers.plain} <= {*sightless(numbers.frame)}
    verdict = HeadlineKind.UNSEEN if is_unseen and headline.verdict in _OF_SEEN else headline.verdict
    return replace(headline, verdict=verdict, passages=passages)


def _of_models(comparisons: PageComparisons, counts: Mapping[str, ReplyCounts]) -> Headline:
    view, models = comparisons.view, comparisons.view.numbers.plain
    reasons = {model: of_model.why_not_answered for model, of_model in counts.items()}
    if len(models) < 2:
        return _so_far(_of_model(comparisons, view.model), reasons.get(view.model, ""))
    headlines = {model: _so_far(_of_model(comparisons, model), reasons.get(model, "")) for model in models}
    outcome = min((headline.verdict for headline in headlines.values()), key=_ORDER.index)
    if outcome in (HeadlineKind.ALMOST_NONE, HeadlineKind.NOT_MEASURABLE):
        return _of_model(comparisons, view.model)
    more = tuple(dict.fromkeys(line for headline in headlines.values() for line in headline.more))
    if not view.interventions and (text := _of_none([comparisons.of(model) for model in models], outcome)):
        return Headline.of(outcome, text, more)
    differing = [model for model, headline in headlines.items() if headline.verdict is HeadlineKind.FOUND]
    telling = list(models) if len(models) <= _MODELS else differing[:_MODELS] or list(models)[:1]
    passages = [passage for model in telling for passage in _named(model, headlines[model])]
    if len(models) > _MODELS:
        text = f"A difference was found for {len(differing) or 'none'} of {len(models)} models"
        passages.insert(0, Passage(f"{text}{counted_caveats(headlines[model].caveat for model in differing)}."))
        if (left := len(differing) - len(telling)) > 0:
            passages.append(Passage(f"The other {left} are told below."))
        open_models = sum(headline.verdict is HeadlineKind.NOT_ANSWERED for headline in headlines.values())
        if open_models and outcome is not HeadlineKind.NOT_ANSWERED:
            passages.append(Passage(f"{open_models} of {len(models)} models are not answered."))
    if len(differing) < len(models):
        passages.append(Passage(f"{PROOF[:-1]} where none was found." if differing else PROOF))
    return Headline(outcome, tuple(passages), more, _shared(headlines.values(), outcome))


def _so_far(headline: Headline, reason: str) -> Headline:
    """The answer of a model that was not asked everything, or of which half cannot be read: why, and what there is."""
    if not reason:
        return headline
    first, *rest = [passage for passage in headline.passages if passage.text != PROOF] or [Passage("")]
    passages = [replace(first, text=f"From the answers there are: {first.text}"), *rest] if first.text else []
    return Headline(HeadlineKind.NOT_ANSWERED, (Passage(reason), *passages), headline.more)


def _shared(headlines: Iterable[Headline], outcome: HeadlineKind) -> str:
    """The caveat that all answers of one kind have."""
    return shared_caveat(headline.caveat for headline in headlines if headline.verdict is outcome)


def _named(model: str, headline: Headline) -> list[Passage]:
    """The answer of one model among several, with its name."""
    first, *others = (passage for passage in headline.passages if passage.text != PROOF)
    return [replace(first, text=f"{model}: {first.text}"), *others]


def _of_none(by_model: Sequence[Sequence[LeadComparison]], outcome: HeadlineKind) -> str:
    """One answer for several models of which nothing was found; empty where something was, or they differ in kind."""
    if outcome not in (HeadlineKind.NOTHING, HeadlineKind.TOO_FEW) or not all(by_model):
        return ""
    models = f"{'either' if len(by_model) == 2 else 'any'} of {len(by_model)} models"
    if outcome is HeadlineKind.TOO_FEW:
        lead = by_model[0][0].lead
        return too_few([of_model[0] for of_model in by_model if of_model[0].lead == lead], f" of {models}")
    silent = [comparison for of_model in by_model for comparison in of_model if comparison.coarser is None]
    if any(comparison.same for comparison in silent):
        return ""
    return f"No difference was found for {models}, {missed(silent)}. {PROOF}"


def unanswered(replies: Sequence[ReplyCounts]) -> Headline | None:
    """The answer of runs without any valid answer, with what there was instead; None for others."""
    total = sum(run.replies for run in replies)
    if not total or any(run.valid for run in replies):
        return None
    subject = "The model" if len(replies) == 1 else "The models"
    refused = sum(run.refused for run in replies)
    breakdown = f"{refused / total:.1%} of the replies are refusals, and the others name no answer"
    sentence = f"{subject} gave no valid answer to {total:,} questions, so nothing can be compared: {breakdown}."
    if refused == total:
        sentence = f"{subject} refused every question: all {total:,} replies are refusals, so nothing can be compared."
    if any(run.not_asked for run in replies):
        reason = replace(counts_together(replies), refused=total, valid=0).why_not_answered
        return Headline.of(HeadlineKind.NOT_ANSWERED, f"{reason} {sentence}")
    return Headline.of(HeadlineKind.NO_ANSWER, sentence)


def _of_model(page_comparisons: PageComparisons, model: str) -> Headline:
    """The answer for one model."""
    page, view = page_comparisons.page, page_comparisons.view.at(model)
    comparisons, hurt = page_comparisons.of(model), page_comparisons.without_answer(model)
    more = (
        *_margins(comparisons),
        *_unmeasured(page, view, comparisons),
        *([] if page.control is None else control_of(page.control, view)),
        *_cautions(page, view),
    )
    if not comparisons and not hurt:
        return _uncompared(page, view)
    everything = [*comparisons, *hurt]
    silent = [comparison for comparison in comparisons if comparison.coarser is None]
    outcome = _outcome(everything, silent)
    is_alone = len(view.numbers.plain) < 2
    passages = [Passage(text) for text in changes_said(comparisons)]
    if leading_findings := strongest(everything, most_named(view)):
        without = {0: "", 1: "Without it: "}.get(len(view.interventions), "Without them: ")
        passages.append(Passage(f"{without}{_said(leading_findings)}."))
        passages += _left(findings(everything), leading_findings, "" if is_alone else f" for {view.model}")
    if outcome is HeadlineKind.TOO_FEW:
        passages.append(Passage(too_few(silent[:1])))
    elif is_alone or outcome is not HeadlineKind.FOUND:
        passages += map(Passage, not_found(silent))
    if is_alone and outcome in (HeadlineKind.NOTHING, HeadlineKind.TOO_FEW) and (clearest := hint(silent)):
        comparison, e = clearest
        text = f"{comparison.subject(e)}, {comparison.said(e)}"
        passages.append(Passage(f"The clearest hint, which may be chance: {text}."))
    if outcome is HeadlineKind.NOTHING:
        passages.append(Passage(PROOF))
    decisive = {
        HeadlineKind.FOUND: [e for _, e in findings(everything)],
        HeadlineKind.EQUIVALENT: [e for comparison in silent for e in comparison.same],
    }.get(outcome, [])
    return Headline(outcome, tuple(passages), more, shared_caveat(e.caveat for e in decisive))


def _outcome(everything: Sequence[LeadComparison], silent: Sequence[LeadComparison]) -> HeadlineKind:
    if findings(everything):
        return HeadlineKind.FOUND
    if all(not comparison.undecided for comparison in silent):
        return HeadlineKind.EQUIVALENT
    return HeadlineKind.TOO_FEW if all(comparison.too_few for comparison in silent) else HeadlineKind.NOTHING


def _said(selected: Sequence[Finding]) -> str:
    """Of each subject what was found; a caveat that all of it shares once, at the end."""
    caveats = [e.caveat for _, e in selected]
    is_shared = len(selected) > 1 and bool(shared_caveat(caveats))
    by_subject: dict[str, list[str]] = {}
    for comparison, e in selected:
        phrase = comparison.phrase(e, e.caveat) if is_shared else comparison.said(e)
        by_subject.setdefault(comparison.subject(e), []).append(phrase)
    text = "; ".join(f"{subject}: {', '.join(phrases)}" for subject, phrases in by_subject.items())
    return f"{text}{counted_caveats(caveats)}" if is_shared else text


def _left(everything: Sequence[Finding], selected: Sequence[Finding], whom: str) -> list[Passage]:
    """How many findings are not named, and of what they are; `whom`: of which of several models."""
    selected_rows = {id(e) for _, e in selected}
    rest = [finding for finding in everything if id(finding[1]) not in selected_rows]
    if not rest:
        return []
    measures = tuple(dict.fromkeys(e.measure for _, e in rest))
    text = f"{len(rest):,} more difference{'s were' if len(rest) > 1 else ' was'} found{whom}"
    return [Passage(f"{text}{counted_caveats(e.caveat for _, e in rest)}.", measures)]


def _margins(comparisons: Sequence[LeadComparison]) -> list[str]:
    """Which findings are smaller than a margin, and where a margin shows nothing."""
    out = []
    open_margins: dict[str, list[str]] = {}
    for comparison in comparisons:
        lead, size = comparison.lead, len(comparison.small)
        if size:
            margin, verb = margin_of(comparison, comparison.small[0]), "is" if size == 1 else "are"
            effects = f"{len(comparison.moved)} {lead.effect}s found"
            out.append(f"{size} of the {effects} {verb} smaller than {margin}: real, but small.")
        if not comparison.same and comparison.rows[0].margin is not None:
            open_margins.setdefault(lead.noun[0], []).append(margin_of(comparison, comparison.rows[0]))
    for noun, margins in open_margins.items():
        beyond = margins[0] if len(set(margins)) == 1 else "its margin"
        out.append(f"For no {noun} a difference beyond {beyond} is ruled out.")
    return out


def _unmeasured(page: Page, view: View, comparisons: Sequence[LeadComparison]) -> list[str]:
    """How many comparisons have no value."""
    total = sum(len(rows_of(lead, view)) for lead in leading(page, view))
    left = total - sum(len(comparison.rows) for comparison in comparisons)
    return [f"{left:,} more could not be measured."] if left else []


def _cautions(page: Page, view: View) -> tuple[str, ...]:
    return () if page.caution is None else tuple(page.caution(view))


def _uncompared(page: Page, view: View) -> Headline:
    """The answer where nothing can be judged: values that are described, or why there is none."""
    left_out = _without_answer(page, view)
    if left_out and _ALMOST_ALL <= min(left_out) < 1:
        share = f"{min(left_out):.1%} of the replies have no valid answer"
        return Headline.of(
            HeadlineKind.ALMOST_NONE, f"{share}: too few are left to compare anything.", _cautions(page, view)
        )
    if any(isinstance(lead, Findings) and rows_of(lead, view) for lead in page.lead):
        return Headline.of(HeadlineKind.NOT_MEASURABLE, why_not(page, view), _cautions(page, view))
    for lead in page.lead:
        measurable = view.known(rows_of(lead, view))
        if isinstance(lead, Described) and measurable:
            headline = _described(lead, view, measurable)
            return replace(headline, more=(*headline.more, *_cautions(page, view)))
    return Headline.of(HeadlineKind.NOT_MEASURABLE, why_not(page, view), _cautions(page, view))


def _described(lead: Described, view: View, measurable: list[Estimate]) -> Headline:
    """Values and their ends, where nothing is compared."""
    ends = sorted(measurable, key=lambda e: e.value or 0.0)
    texts = [f"{view.said(lead.row, e)}{_beside(lead, view, e)}" for e in dict.fromkeys([ends[0], ends[-1]])]
    sentence = f"{' to '.join(texts)} {lead.text}"
    finer = sorted(view.known(view.rows(lead.ends)), key=lambda e: e.value or 0.0) if lead.ends else []
    if lead.ends and len(finer) > 1:
        sentence += f": {lead.most} {view.row_label(lead.ends, finer[-1])}, {view.said('{value}', finer[-1])}"
        sentence += f"; {lead.least} {view.row_label(lead.ends, finer[0])}, {view.said('{value}', finer[0])}"
    return Headline.of(HeadlineKind.DESCRIBED, f"{upper(sentence)}.", (lead.more,) if lead.more else ())


def _beside(lead: Described, view: View, e: Estimate) -> str:
    """What stands beside a value, in brackets; nothing where it was not measured."""
    values = {text: view.beside(measure, e) for measure, text in lead.beside.items()}
    texts = [f"{text} {view.said('{value}', v)}" for text, v in values.items() if v is not None and v.value is not None]
    return f" ({', '.join(texts)})" if texts else ""


def _without_answer(page: Page, view: View) -> list[float]:
    """Shares of replies without a valid answer, as the page tells them first."""
    rates = [e for rate in page.rates[:1] for model in view.models for e in view.at(model).rows(rate.of)]
    return [(e.value or 0.0) / (100 if e.unit == "%" else 1) for e in rates if e.value is not None]


def why_not(page: Page, view: View) -> str:
    """Say why nothing can be judged: no answers, no comparison, or what the estimates say."""
    values = _without_answer(page, view)
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
