"""Answer of a page: who was hurt, in which direction, how far and how sure, and what remains undecided."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf

from facevalue.measures.caveats import counted_caveats, shared_caveat
from facevalue.measures.cells import MISSING_SHARE
from facevalue.measures.definitions import NO_INTERVENTION, count_nouns
from facevalue.measures.instrument import sightless
from facevalue.printable import join_names
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Described, Findings, Page
from facevalue.report.blocks.view import View
from facevalue.report.formatting import NOT_MEASURABLE, when_declared
from facevalue.report.sections.findings import (
    Finding,
    LeadComparison,
    PageComparisons,
    clearest_hint,
    control_of,
    findings,
    leading,
    most_named,
    row,
    rows_of,
    strongest,
    upper,
)
from facevalue.report.sections.headline import Headline, HeadlineKind, Passage, detectable
from facevalue.report.sections.missing import sentences
from facevalue.report.sections.sizes import ToldScale, scale_of
from facevalue.runs.reply_counts import ReplyCounts, counts_together

# What was not found: of whom, and how large a difference would have gone unnoticed.


_BRIEF = 3
"""Subjects that are named where nothing was found of them; of more their number is told."""
_UNITS = 2
"""Units in which is told how large a difference would have gone unnoticed."""


def not_found(comparisons: Sequence[LeadComparison]) -> list[str]:
    """Sentences on where no difference was found, how large one may be there, and where one is ruled out."""
    blank = [comparison for comparison in comparisons if comparison.open_rows]
    texts = [f"No difference was found {_undecided_scope(blank, comparisons)}; {missed_sizes(blank)}."] if blank else []
    same: dict[str, list[LeadComparison]] = {}
    for comparison in comparisons:
        if comparison.equivalences:
            same.setdefault(margin_of(comparison, comparison.equivalences[0]), []).append(comparison)
    for margin, equal in same.items():
        count = sum(len(comparison.equivalences) for comparison in equal)
        whom = _names(equal[0], equal[0].equivalences, "") if len(equal) == 1 else f"{count:,} comparisons"
        unless = counted_caveats(e.caveat for comparison in equal for e in comparison.equivalences)
        texts.append(f"For {whom}, a difference larger than {margin} is ruled out{unless}.")
    return texts


def _undecided_scope(blank: Sequence[LeadComparison], comparisons: Sequence[LeadComparison]) -> str:
    """Groups and quantities for which nothing was found."""
    is_rest = any(comparison.differences or comparison.equivalences for comparison in comparisons)
    if len(blank) == 1:
        several = len({comparison.lead.quantity for comparison in comparisons}) > 1
        about = f" in {blank[0].lead.quantity}" if several and blank[0].lead.quantity else ""
        others = "other " if blank[0].differences else ""
        return f"for {_names(blank[0], blank[0].open_rows, others)}{about}"
    names = [[row(comparison.lead, comparison.view, e) for e in comparison.open_rows] for comparison in blank]
    if len(names[0]) <= _BRIEF and all(set(of) == set(names[0]) for of in names):
        return f"for {join_names(names[0])} in {'' if is_rest else 'any of '}{len(blank)} kinds of comparison"
    total = sum(len(comparison.open_rows) for comparison in blank)
    return f"in the other {total:,} comparisons" if is_rest else f"in any of {total:,} comparisons"


def _names(comparison: LeadComparison, rows: Sequence[Estimate], word: str) -> str:
    """The subjects of some rows: by name where they are few, else their number."""
    if len(rows) <= _BRIEF:
        return join_names([row(comparison.lead, comparison.view, e) for e in rows])
    subjects = len(set(map(comparison.subject, rows)))
    if subjects < len(rows) and word:
        return f"the {word}{len(rows):,} comparisons"
    return f"the {word}{subjects:,} {comparison.lead.noun[1]}" if subjects > 1 else comparison.subject(rows[0])


def missed_sizes(blank: Sequence[LeadComparison]) -> str:
    """Clause on the differences that would have gone unnoticed: the least and the most of each unit."""
    sizes: dict[str, list[tuple[float, str]]] = {}
    unsure = False
    for comparison in blank:
        scale = comparison.scale(comparison.open_rows[0])
        if comparison.missable is None or comparison.missable == inf:
            unsure = True
        else:
            text = scale.up_to(comparison.missable)
            sizes.setdefault(scale.unit, []).append((scale.size(comparison.missable), text))
    if not sizes:
        return "any difference would have gone unnoticed"
    texts = [_size_range(min(ends)[1], max(ends)[1], unit) for unit, ends in list(sizes.items())[:_UNITS]]
    rest = " (other units are listed below)" if len(sizes) > _UNITS else ""
    rest += ", and in some comparisons any difference" if unsure else ""
    return f"differences of up to about {' or '.join(texts)} would have gone unnoticed{rest}"


def _size_range(least: str, most: str, unit: str) -> str:
    """Two sizes with their unit once; one where they are the same.

    >>> _size_range("6.6 points", "11 points", "points"), _size_range("1.0 point", "1.0 point", "points")
    ('6.6 to 11 points', '1.0 point')
    """
    return most if least == most else f"{least.removesuffix(unit).removesuffix('point').strip()} to {most}"


def too_few(comparisons: Sequence[LeadComparison], of: str = "") -> str:
    """Sentence saying that nothing can be concluded, as even strong differences would have gone unnoticed.

    `comparisons`: by the same lead of one model, or of each of several, `of` these.
    """
    comparison = min(comparisons, key=lambda candidate: inf if candidate.missable is None else candidate.missable)
    subjects = len({comparison.subject(e) for e in comparison.rows})
    units = count_nouns(f"{comparison.units:,}", comparison.unit_name)
    only = upper(row(comparison.lead, comparison.view, comparison.rows[0]))
    whom = f"each of {subjects:,} {comparison.lead.noun[1]}" if subjects > 1 else only
    size = comparison.missable
    difference = (
        "any difference"
        if size is None or size == inf
        else f"even a difference of {comparison.scale(comparison.open_rows[0]).up_to(size)}"
    )
    return f"Too little was asked{of} to tell: with {units} for {whom}, {difference} would have gone unnoticed."


def margin_of(comparison: LeadComparison, e: Estimate) -> str:
    """The margin, and whether it was named beforehand."""
    return f"the margin of {comparison.scale(e).text(e.margin or 0.0)} ({when_declared(e.declared)})"


# Effects in words: what each intervention changed, before and after, and how the models of a report differ.


_INTERVENTIONS, _SUBJECTS = 3, 2
"""Interventions that are told, and subjects of which the change is told: of each one where there are several."""


def changes_said(comparisons: Sequence[LeadComparison]) -> list[str]:
    """Sentences on what each intervention changed in the answers of a model."""
    if not comparisons:
        return []
    names = comparisons[0].view.interventions
    texts = [_change(name, comparisons) for name in names[:_INTERVENTIONS]]
    left = len(names) - len(texts)
    return [*texts, *([f"{left} more intervention{'s' if left > 1 else ''} below."] if left else [])]


def changes_of(name: str, comparison: LeadComparison) -> list[Estimate]:
    """Changes that an intervention made in what a lead compares."""
    selections = (
        replace(of, where={**of.where, "versus": NO_INTERVENTION}, intervention=name) for of in comparison.lead.of
    )
    return [e for of in selections for e in comparison.view.rows(of) if e.value is not None]


def _change(name: str, comparisons: Sequence[LeadComparison]) -> str:
    view = comparisons[0].view
    title = view.titles.get("intervention", name)
    rows = [
        (comparison, e)
        for comparison in comparisons
        if comparison.coarser is None
        for e in changes_of(name, comparison)
    ]
    moved = [(comparison, e) for comparison, e in rows if view.numbers.is_found(e)]
    moved.sort(key=lambda row: (not _found_before(*row), -abs(row[1].value or 0.0) * row[0].scale(row[1]).per))
    model = view.numbers.under(view.model, name) or ""
    missing = view.numbers.find(MISSING_SHARE.name, model, versus=NO_INTERVENTION)
    lost = ""
    if missing is not None and missing.value and view.numbers.is_found(missing):
        size = scale_of(Findings(of=()), missing, None).text(abs(missing.value))
        lost = f"; missing answers {'rose' if missing.value > 0 else 'fell'} by {size}"
    if not moved:
        return f"{title}: no change was found{_missable_size(rows)}{lost}."
    texts = [
        _before_and_after(comparison, e) for comparison, e in moved[: 1 if len(view.interventions) > 1 else _SUBJECTS]
    ]
    left = len(moved) - len(texts)
    return f"{title}: {'; '.join(texts)}{f'; {left:,} more changed' if left else ''}{lost}."


def _missable_size(rows: Sequence[tuple[LeadComparison, Estimate]]) -> str:
    """Size of a change that would have gone unnoticed, where all have one unit; empty where that is not known."""
    smallest = detectable([e for _, e in rows])
    smallest = None if smallest is None else abs(smallest)
    if smallest is None or len({e.unit for _, e in rows}) > 1:
        return ""
    scale = _scale(*rows[0])
    return (
        " (any change would have gone unnoticed)"
        if smallest == inf
        else f" (changes of up to about {scale.up_to(smallest)} would have gone unnoticed)"
    )


def _scale(comparison: LeadComparison, e: Estimate) -> ToldScale:
    return comparison.scale(e.cell_versus(None))


def _plain(comparison: LeadComparison, e: Estimate) -> Estimate | None:
    """The estimate without the intervention."""
    return comparison.view.numbers.companion(e.measure, replace(e.cell_versus(None), model=comparison.view.model))


def _found_before(comparison: LeadComparison, e: Estimate) -> bool:
    plain = _plain(comparison, e)
    return plain is not None and comparison.view.numbers.is_moved(plain)


def _before_and_after(comparison: LeadComparison, e: Estimate) -> str:
    """A change, with what it is a change from and to."""
    plain, changed = _plain(comparison, e), comparison.view.numbers.companion(e.measure, e.cell_versus(None))
    first, second = (None if estimate is None else estimate.value for estimate in (plain, changed))
    signed = plain is not None and comparison.view.is_signed(plain)
    ends, by = _scale(comparison, e).passage(e, first or 0.0, second or 0.0, signed=signed)
    subject = comparison.subject(plain or e)
    return f"{subject} by {by}" if first is None or second is None else f"{subject} from {ends}: {by}"


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


def answer_of_page(comparisons: PageComparisons, counts: Mapping[str, ReplyCounts] | None = None) -> Headline:
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
    if not view.interventions and (text := _of_none([comparisons.of_model(model) for model in models], outcome)):
        return Headline.from_sentence(outcome, text, more)
    differing = [model for model, headline in headlines.items() if headline.verdict is HeadlineKind.FOUND]
    telling = list(models) if len(models) <= _MODELS else differing[:_MODELS] or list(models)[:1]
    passages = [passage for model in telling for passage in _name_model(model, headlines[model])]
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
    return Headline(outcome, tuple(passages), more, _shared_caveat(headlines.values(), outcome))


def _so_far(headline: Headline, reason: str) -> Headline:
    """The answer of a model that was not asked everything, or of which half cannot be read: why, and what there is."""
    if not reason:
        return headline
    first, *rest = [passage for passage in headline.passages if passage.text != PROOF] or [Passage("")]
    passages = [replace(first, text=f"From the answers there are: {first.text}"), *rest] if first.text else []
    return Headline(HeadlineKind.NOT_ANSWERED, (Passage(reason), *passages), headline.more)


def _shared_caveat(headlines: Iterable[Headline], outcome: HeadlineKind) -> str:
    """The caveat that all answers of one kind have."""
    return shared_caveat(headline.caveat for headline in headlines if headline.verdict is outcome)


def _name_model(model: str, headline: Headline) -> list[Passage]:
    """The answer of one model among several, with its name."""
    first, *others = (passage for passage in headline.passages if passage.text != PROOF)
    return [replace(first, text=f"{model}: {first.text}"), *others]


def _of_none(by_model: Sequence[Sequence[LeadComparison]], outcome: HeadlineKind) -> str:
    """Answer for several models of which nothing was found; empty where something was, or they differ in kind."""
    if outcome not in (HeadlineKind.NOTHING, HeadlineKind.TOO_FEW) or not all(by_model):
        return ""
    models = f"{'either' if len(by_model) == 2 else 'any'} of {len(by_model)} models"
    if outcome is HeadlineKind.TOO_FEW:
        lead = by_model[0][0].lead
        return too_few([of_model[0] for of_model in by_model if of_model[0].lead == lead], f" of {models}")
    silent = [comparison for of_model in by_model for comparison in of_model if comparison.coarser is None]
    if any(comparison.equivalences for comparison in silent):
        return ""
    return f"No difference was found for {models}; {missed_sizes(silent)}. {PROOF}"


def unanswered_headline(replies: Sequence[ReplyCounts]) -> Headline | None:
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
        return Headline.from_sentence(HeadlineKind.NOT_ANSWERED, f"{reason} {sentence}")
    return Headline.from_sentence(HeadlineKind.NO_ANSWER, sentence)


def _of_model(page_comparisons: PageComparisons, model: str) -> Headline:
    """The answer for one model."""
    page, view = page_comparisons.page, page_comparisons.view.narrow(model)
    comparisons, hurt = page_comparisons.of_model(model), page_comparisons.without_answer(model)
    more = (
        *_margins(comparisons),
        *_count_unmeasured(page, view, comparisons),
        *([] if page.control is None else control_of(page.control, view)),
        *_cautions(page, view),
    )
    if not comparisons and not hurt:
        return _uncompared_headline(page, view)
    everything = [*comparisons, *hurt]
    silent = [comparison for comparison in comparisons if comparison.coarser is None]
    outcome = _outcome(everything, silent)
    is_alone = len(view.numbers.plain) < 2
    passages = [Passage(text) for text in changes_said(comparisons)]
    if leading_findings := strongest(everything, most_named(view)):
        without = {0: "", 1: "Without it: "}.get(len(view.interventions), "Without them: ")
        passages.append(Passage(f"{without}{_describe_findings(leading_findings)}."))
        passages += _left(findings(everything), leading_findings, "" if is_alone else f" for {view.model}")
    if outcome is HeadlineKind.TOO_FEW:
        passages.append(Passage(too_few(silent[:1])))
    elif is_alone or outcome is not HeadlineKind.FOUND:
        passages += map(Passage, not_found(silent))
    if is_alone and outcome in (HeadlineKind.NOTHING, HeadlineKind.TOO_FEW) and (clearest := clearest_hint(silent)):
        comparison, e = clearest
        text = f"{comparison.subject(e)}, {comparison.describe_difference(e)}"
        passages.append(Passage(f"The clearest hint, which may be chance: {text}."))
    if outcome is HeadlineKind.NOTHING:
        passages.append(Passage(PROOF))
    decisive = {
        HeadlineKind.FOUND: [e for _, e in findings(everything)],
        HeadlineKind.EQUIVALENT: [e for comparison in silent for e in comparison.equivalences],
    }.get(outcome, [])
    return Headline(outcome, tuple(passages), more, shared_caveat(e.caveat for e in decisive))


def _outcome(everything: Sequence[LeadComparison], silent: Sequence[LeadComparison]) -> HeadlineKind:
    if findings(everything):
        return HeadlineKind.FOUND
    if all(not comparison.open_rows for comparison in silent):
        return HeadlineKind.EQUIVALENT
    return HeadlineKind.TOO_FEW if all(comparison.too_few for comparison in silent) else HeadlineKind.NOTHING


def _describe_findings(selected: Sequence[Finding]) -> str:
    """Findings of each subject; a caveat that all of them share is stated once, at the end."""
    caveats = [e.caveat for _, e in selected]
    is_shared = len(selected) > 1 and bool(shared_caveat(caveats))
    by_subject: dict[str, list[str]] = {}
    for comparison, e in selected:
        phrase = comparison.phrase(e, e.caveat) if is_shared else comparison.describe_difference(e)
        by_subject.setdefault(comparison.subject(e), []).append(phrase)
    text = "; ".join(f"{subject}: {', '.join(phrases)}" for subject, phrases in by_subject.items())
    return f"{text}{counted_caveats(caveats)}" if is_shared else text


def _left(everything: Sequence[Finding], selected: Sequence[Finding], whom: str) -> list[Passage]:
    """Number and kinds of the findings that are not named; `whom`: the models they are of, where there are several."""
    selected_rows = {id(e) for _, e in selected}
    rest = [finding for finding in everything if id(finding[1]) not in selected_rows]
    if not rest:
        return []
    measures = tuple(dict.fromkeys(e.measure for _, e in rest))
    text = f"{len(rest):,} more difference{'s were' if len(rest) > 1 else ' was'} found{whom}"
    return [Passage(f"{text}{counted_caveats(e.caveat for _, e in rest)}.", measures)]


def _margins(comparisons: Sequence[LeadComparison]) -> list[str]:
    """Sentences on the findings smaller than a margin, and on margins that show nothing."""
    out = []
    open_margins: dict[str, list[str]] = {}
    for comparison in comparisons:
        lead, size = comparison.lead, len(comparison.small)
        if size:
            margin, verb = margin_of(comparison, comparison.small[0]), "is" if size == 1 else "are"
            effects = f"{len(comparison.differences)} {lead.effect}s found"
            out.append(f"{size} of the {effects} {verb} smaller than {margin}: real, but small.")
        if not comparison.equivalences and comparison.rows[0].margin is not None:
            open_margins.setdefault(lead.noun[0], []).append(margin_of(comparison, comparison.rows[0]))
    for noun, margins in open_margins.items():
        beyond = margins[0] if len(set(margins)) == 1 else "its margin"
        out.append(f"Differences larger than {beyond} cannot be ruled out for any {noun}.")
    return out


def _count_unmeasured(page: Page, view: View, comparisons: Sequence[LeadComparison]) -> list[str]:
    """Number of comparisons that have no value."""
    total = sum(len(rows_of(lead, view)) for lead in leading(page, view))
    left = total - sum(len(comparison.rows) for comparison in comparisons)
    return [f"{left:,} more could not be measured."] if left else []


def _cautions(page: Page, view: View) -> tuple[str, ...]:
    return () if page.caution is None else tuple(page.caution(view))


def _uncompared_headline(page: Page, view: View) -> Headline:
    """The answer where nothing can be judged: values that are described, or why there is none."""
    left_out = _without_answer(page, view)
    if left_out and _ALMOST_ALL <= min(left_out) < 1:
        share = f"{min(left_out):.1%} of the replies have no valid answer"
        return Headline.from_sentence(
            HeadlineKind.ALMOST_NONE, f"{share}: too few are left to compare anything.", _cautions(page, view)
        )
    if any(isinstance(lead, Findings) and rows_of(lead, view) for lead in page.lead):
        return Headline.from_sentence(HeadlineKind.NOT_MEASURABLE, why_not(page, view), _cautions(page, view))
    for lead in page.lead:
        measurable = view.judgeable_estimates(rows_of(lead, view))
        if isinstance(lead, Described) and measurable:
            headline = _described_headline(lead, view, measurable)
            return replace(headline, more=(*headline.more, *_cautions(page, view)))
    return Headline.from_sentence(HeadlineKind.NOT_MEASURABLE, why_not(page, view), _cautions(page, view))


def _described_headline(lead: Described, view: View, measurable: list[Estimate]) -> Headline:
    """Values and their ends, where nothing is compared."""
    ends = sorted(measurable, key=lambda e: e.value or 0.0)
    texts = [f"{view.said(lead.row, e)}{_companion_values(lead, view, e)}" for e in dict.fromkeys([ends[0], ends[-1]])]
    sentence = f"{' to '.join(texts)} {lead.text}"
    finer = sorted(view.judgeable_estimates(view.rows(lead.ends)), key=lambda e: e.value or 0.0) if lead.ends else []
    if lead.ends and len(finer) > 1:
        sentence += f": {lead.most} {view.row_label(lead.ends, finer[-1])}, {view.said('{value}', finer[-1])}"
        sentence += f"; {lead.least} {view.row_label(lead.ends, finer[0])}, {view.said('{value}', finer[0])}"
    return Headline.from_sentence(HeadlineKind.DESCRIBED, f"{upper(sentence)}.", (lead.more,) if lead.more else ())


def _companion_values(lead: Described, view: View, e: Estimate) -> str:
    """Values to print beside a value, in brackets; empty where they were not measured."""
    values = {text: view.beside(measure, e) for measure, text in lead.beside.items()}
    texts = [f"{text} {view.said('{value}', v)}" for text, v in values.items() if v is not None and v.value is not None]
    return f" ({', '.join(texts)})" if texts else ""


def _without_answer(page: Page, view: View) -> list[float]:
    """Shares of replies without a valid answer, as the page tells them first."""
    rates = [e for rate in page.rates[:1] for model in view.models for e in view.narrow(model).rows(rate.of)]
    return [(e.value or 0.0) / (100 if e.unit == "%" else 1) for e in rates if e.value is not None]


def why_not(page: Page, view: View) -> str:
    """Reason why nothing can be judged: no answers, no comparison, or what the estimates say."""
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
        return "These questions compare nothing, so there is no difference to judge. The answers are described below."
    reasons = list(dict.fromkeys(e.why for e in rows if e.why))[:3]
    noun = next(
        (lead.noun[0] for lead in page.lead if isinstance(lead, Findings) and rows_of(lead, view)), "comparison"
    )
    return " ".join([f"No {noun} can be judged: {NOT_MEASURABLE}.", *reasons])
