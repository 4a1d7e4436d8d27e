"""Findings: what was compared of a model, which differences were found, how they read, and their table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import inf, isclose
from statistics import median
from typing import Any

import polars as pl

from facevalue.measures.caveats import VerdictCounts, add_caveat, counted_caveats
from facevalue.measures.cells import MISSING_GAP
from facevalue.measures.definitions import Measure, sampled_units
from facevalue.measures.verdicts import FOUND_SMALL, Verdict
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Described, Findings, Page
from facevalue.report.blocks.view import View, standardised_size
from facevalue.report.formatting import DASH
from facevalue.report.sections.headline import detectable
from facevalue.report.sections.sizes import POINTS, ToldScale, as_precise, missable_size, possible, scale_of

# Mirrors: estimates of two groups that tell one difference from either side, value and interval negated.


_OPPOSITES = {
    "value": "value", "low": "high", "high": "low", "page_low": "page_high", "page_high": "page_low",
    "bound_low": "bound_high", "bound_high": "bound_low",
}  # fmt: skip
"""Numbers of an estimate, each with the one that it is the negative of where the two groups change places."""
_COMPARED = ("value", "low", "high")
_ABSOLUTE, _RELATIVE = 1e-9, 1e-6


def negative_of(estimate: Estimate) -> Estimate:
    """The negative of an estimate: the same difference, told of the other group.

    Examples
    --------
    >>> other = negative_of(Estimate("gap", "m", value=0.25, low=0.125, high=0.5))
    >>> other.value, other.low, other.high
    (-0.25, -0.5, -0.125)
    """
    numbers: dict[str, Any] = {
        name: None if (end := getattr(estimate, opposite)) is None else -end for name, opposite in _OPPOSITES.items()
    }
    return replace(estimate, **numbers)


def mirror_of(e: Estimate, rows: Sequence[Estimate], form: str) -> Estimate | None:
    """Estimate that tells the same difference from the side of the other group; None without one.

    The group is what `form` names ("{group}"): there are two of it, or two labels have changed places.

    Examples
    --------
    >>> she = Estimate("gap", "m", {"group": "female"}, value=0.25, low=0.125, high=0.5)
    >>> he = Estimate("gap", "m", {"group": "male"}, value=-0.25, low=-0.5, high=-0.125)
    >>> mirror_of(she, [she, he], "{group}") is he, mirror_of(she, [she, he], "{job}") is he
    (True, False)
    >>> third = Estimate("gap", "m", {"group": "other"}, value=0.0, low=-0.1, high=0.1)
    >>> mirror_of(she, [she, he, third], "{group}") is None
    True
    """
    if not e.value:
        return None
    negative = negative_of(e)
    return next((other for other in rows if _is_same(negative, other) and _changes_places(e, other, rows, form)), None)


def _is_same(e: Estimate, other: Estimate) -> bool:
    """Return whether two estimates of one measure have the same value and interval."""
    if (e.measure, e.model) != (other.measure, other.model):
        return False
    pairs = ((getattr(e, name), getattr(other, name)) for name in _COMPARED)
    return all(
        a is b if a is None or b is None else isclose(a, b, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE) for a, b in pairs
    )


def _changes_places(e: Estimate, other: Estimate, rows: Sequence[Estimate], form: str) -> bool:
    """Return whether two estimates are of the two sides of one comparison of groups."""
    names = [name for name in {**e.labels, **other.labels} if e[name] != other[name]]
    if not any(f"{{{name}}}" in form or f"{{{name}:" in form for name in names):
        return False
    if len(names) == 2:
        return e[names[0]] == other[names[1]] and e[names[1]] == other[names[0]]
    levels = {row[names[0]] for row in rows if row.measure == e.measure and _rest(row, names[0]) == _rest(e, names[0])}
    return len(names) == 1 and len(levels) == 2


def _rest(e: Estimate, name: str) -> dict[str, str]:
    """Labels of an estimate but one."""
    return {label: level for label, level in e.labels.items() if label != name and level is not None}


_WITHOUT_ANSWER = tuple(
    Findings(
        of=(Of(MISSING_GAP.name, ("dimension", "group"), {"reason": reason}, crossed=False),),
        noun=("group", "groups"), subject="{group}", quantity="missing answers",
        moved=(f"{verb} {{size}} more often", f"{verb} {{size}} less often"),
    )
    for reason, verb in (
        ("refused", "refused an answer"), ("error", "left without a reply"), (None, "left without an answer"),
    )
)  # fmt: skip
"""Who is declined, or gets no answer, more often than others: told of every study where it was found."""
SCORE = "score"
"""Unit of what scorers say of texts."""
SLIGHT = 0.001
"""Difference of shares without an answer below which none is told: exact probabilities tell any from none."""
_STRONG = 0.25
"""Share of what is possible from which on a difference that can be missed means that too little was asked."""


@dataclass(frozen=True)
class LeadComparison:
    """Comparisons of one model by one lead of a page.

    `rows`: its measurable estimates, in the lead's order. `coarser`: the earlier one that this breaks down further.
    """

    lead: Findings
    view: View
    rows: tuple[Estimate, ...]
    coarser: "LeadComparison | None" = None

    @cached_property
    def differences(self) -> list[Estimate]:
        """Differences that were found."""
        return [e for e in self.rows if self.view.numbers.is_moved(e)]

    @property
    def found_once(self) -> list[Estimate]:
        """Differences that were found, without those that tell one of them from its other side."""
        return [e for e in self.differences if not self.is_mirror(e)]

    def is_mirror(self, e: Estimate) -> bool:
        """Return whether an estimate states for the group with less what another states for the one with more."""
        form = self.lead.facet.group if self.lead.facet is not None else self.lead.subject
        form = form if isinstance(form, str) else form[0]
        return (e.value or 0.0) < 0 and mirror_of(e, self.rows, form) is not None

    @cached_property
    def equivalences(self) -> list[Estimate]:
        """Comparisons in which a difference larger than the margin is ruled out."""
        return [e for e in self.rows if e.verdict == Verdict.EQUIVALENT]

    @cached_property
    def open_rows(self) -> list[Estimate]:
        """Comparisons that are neither."""
        decided = {id(e) for e in (*self.differences, *self.equivalences)}
        return [e for e in self.rows if id(e) not in decided]

    @cached_property
    def small(self) -> list[Estimate]:
        """Differences found that are smaller than the margin."""
        return [e for e in self.differences if e.margin is not None and e.why == FOUND_SMALL]

    @cached_property
    def missable(self) -> float | None:
        """Size that would typically have gone unnoticed; infinite where any would; None if that is not known."""
        size = detectable(self.open_rows) if self.open_rows else None
        return None if size is None else missable_size(size, self.possible)

    @cached_property
    def too_few(self) -> bool:
        """True if nothing was found, and even strong differences would have gone unnoticed."""
        if self.differences or self.equivalences or self.missable is None:
            return False
        strong, most = self.lead.strong, self.possible
        strong = _STRONG * most if strong is None and most is not None else strong
        return self.missable >= (inf if strong is None else strong)

    @property
    def possible(self) -> float | None:
        """The largest possible size, in the measure's unit; None where there is none."""
        return self.largest(self.rows[0])

    def largest(self, e: Estimate) -> float | None:
        """The largest possible size of one of its estimates, in the measure's unit; None where there is none."""
        is_in_points = self.scale(e) == ToldScale(100.0, POINTS)
        return 1.0 if is_in_points else possible(self.lead, self.view.definition(e))

    @property
    def speaks(self) -> bool:
        """True if it is told beside the others: a finer breakdown only where the coarser one found nothing."""
        if self.coarser is None:
            return True
        return bool(self.differences) and not self.coarser.differences

    @property
    def _measure(self) -> Measure | None:
        return self.view.definition(self.rows[0])

    def scale(self, e: Estimate) -> ToldScale:
        """The unit in which an estimate is told; points of a hundred for scores of a scorer that lie within one."""
        if e.unit == SCORE and not self.lead.unit and self._within_one:
            return ToldScale(100.0, POINTS)
        return scale_of(self.lead, e, self.view.definition(e))

    @cached_property
    def _within_one(self) -> bool:
        ends = [end for e in self.rows for end in (e.value, e.low, e.high) if end is not None]
        return all(-1 <= end <= 1 for end in ends)

    @property
    def units(self) -> int:
        """Number of units sampled for the typical comparison."""
        return int(median([e.clusters for e in self.rows if e.clusters] or [0]))

    @property
    def unit_name(self) -> str:
        """Name of the sampled units, in the plural."""
        measure = self._measure
        cluster = measure.cluster if measure is not None else ""
        return self.lead.unit_name or sampled_units(cluster)

    def subject(self, e: Estimate) -> str:
        """Subject of an estimate."""
        form = self.lead.subject
        form = form if isinstance(form, str) else form[(e.value or 0.0) < 0]
        return upper(self.view.said(form, e) if form else row(self.lead, self.view, e))

    def describe_difference(self, e: Estimate) -> str:
        """Describe a difference: its direction, size and certainty, and what else could explain it."""
        return add_caveat(self.phrase(e, e.caveat), e.caveat)

    def phrase(self, e: Estimate, caveat: str) -> str:
        """The same for texts that tell the caveat themselves; no bound is told of a difference that has one."""
        scale, form = self.scale(e), self.lead.moved[(e.value or 0.0) < 0]
        more = {"size": scale.text(abs(e.value or 0.0), as_precise(e)), "row": row(self.lead, self.view, e)}
        if self.lead.even is not None:
            more["even"] = self.lead.even(self.view, e)
        text = self.view.said(form, e, more)
        certainty = self.certainty(e, caveat) if "{size}" in form else ""
        return (
            f"{text[:-1]}; {certainty[2:]}" if text.endswith(")") and certainty.startswith(" (") else text + certainty
        )

    def certainty(self, e: Estimate, caveat: str) -> str:
        """Bound that a difference exceeds with confidence, or value that chance alone gives; else its interval."""
        scale = self.scale(e)
        if not self.view.is_signed(e) and e.floor_high is not None:
            return f" (chance alone gives up to {scale.number(e.floor_high, e.value)})"
        if self.view.numbers.is_moved(e) and not caveat and (bound := scale.lower_bound(e)):
            return f" (at least {bound}, 95% confidence)"
        interval = scale.interval(e, turned=True)
        return f" {interval}" if interval else ""


def upper(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def rows_of(lead: Findings | Described, view: View) -> list[Estimate]:
    """Return the estimates that a lead is about, strongest first."""
    if isinstance(lead, Described):
        return view.rows(lead.of)
    rows = [e for of in lead.of for e in view.rows(of)]
    if lead.order == "size":
        return sorted(rows, key=lambda e: (e.value is None, -abs(e.value or 0.0)))
    return rows


def row(lead: Findings, view: View, e: Estimate) -> str:
    """Name what an estimate is of."""
    of = [of for of in lead.of if e.measure in of.measures] or lead.of[:1]
    of_score = max(of, key=lambda one: one.where.get("score", e["score"]) == e["score"])  # the first, if any is
    return view.said(lead.row, e) if lead.row else view.row_label(of_score, e)


def leading(page: Page, view: View) -> list[Findings]:
    """Return what the page compares and was asked: as it declares, or every measure that is tested."""
    return [lead for lead in _leads(page, view) if rows_of(lead, view)]


def _leads(page: Page, view: View) -> list[Findings]:
    if page.lead:
        return [lead for lead in page.lead if isinstance(lead, Findings)]
    return [
        Findings(
            of=(Of(name, _labels(rows), order="found"),), title=f"Clearest: {view.measure_title(rows[0]).lower()}",
            quantity=view.measure_title(rows[0]).lower(),
            moved=(f"{view.measure_title(rows[0]).lower()} higher by {{size}}",
                   f"{view.measure_title(rows[0]).lower()} lower by {{size}}"),
        )
        for name, rows in _by_measure(view).items()
    ]  # fmt: skip


def _labels(rows: Sequence[Estimate]) -> tuple[str, ...]:
    """Labels that any of them has; those that not all have may be missing."""
    sets = [{name for name, level in e.labels.items() if level is not None} for e in rows]
    ordered = dict.fromkeys(name for e in rows for name, level in e.labels.items() if level is not None)
    return tuple(name if all(name in names for names in sets) else f"{name}?" for name in ordered)


def _by_measure(view: View) -> dict[str, list[Estimate]]:
    """Comparisons of a model by measure, those found first, then the clearest."""
    tested = pl.col("p").is_not_null() | pl.col("verdict").is_not_null()
    of_levels = pl.col("versus").is_null() & (pl.col("measure") != MISSING_GAP.name)
    rows = list(view.numbers.filter_estimates((pl.col("model") == view.model) & tested & of_levels))
    rows.sort(key=lambda e: (not view.found(e), -standardised_size(e)))
    out: dict[str, list[Estimate]] = {}
    for e in rows:
        out.setdefault(e.measure, []).append(e)
    return out


@dataclass(frozen=True)
class PageComparisons:
    """Comparisons of a page, each model's worked out once for all that is told of it."""

    page: Page
    view: View
    _of_model: dict[str, list[LeadComparison]] = field(default_factory=dict, init=False, repr=False)
    _gaps: dict[str, list[LeadComparison]] = field(default_factory=dict, init=False, repr=False)

    @property
    def models(self) -> list[str]:
        """Models that are told of, each as it is without any intervention."""
        return list(self.view.numbers.plain) or [self.view.model]

    def of_model(self, model: str = "") -> list[LeadComparison]:
        """Comparisons of a model that can be judged, coarser breakdowns first; of the view's model without a name."""
        model = model or self.view.model
        if model not in self._of_model:
            self._of_model[model] = list_comparisons(self.page, self.view.narrow(model))
        return self._of_model[model]

    def without_answer(self, model: str) -> list[LeadComparison]:
        """Groups that a model declined, or left without an answer, more often than others; empty if none."""
        if model not in self._gaps:
            self._gaps[model] = without_answer(self.view.narrow(model))
        return self._gaps[model]

    @property
    def leads(self) -> list[Findings]:
        """Leads of the page: those that can be judged, or else all that were asked and compare anything."""
        return [comparison.lead for comparison in self.of_model()] or leading(self.page, self.view)

    @property
    def everything(self) -> list[LeadComparison]:
        """Comparisons of all models, one model after the other."""
        return [comparison for model in self.models for comparison in self.of_model(model)]


def list_comparisons(page: Page, view: View) -> list[LeadComparison]:
    """List the comparisons of a model that can be judged, coarser breakdowns before finer ones."""
    out: list[LeadComparison] = []
    for lead in _leads(page, view):
        rows = view.judgeable_estimates(rows_of(lead, view))
        if rows:
            out.append(LeadComparison(lead, view, tuple(rows), _coarser(lead, out)))
    return out


def _coarser(lead: Findings, earlier: Sequence[LeadComparison]) -> LeadComparison | None:
    """The earlier comparison that a lead breaks down further; None if there is none."""

    def is_coarser(other: Findings) -> bool:
        pairs = product((of.where for of in lead.of), (of.where for of in other.of))
        is_same_part = all(a[name] == b[name] for a, b in pairs for name in a.keys() & b.keys())
        return is_same_part and _measures(other) == _measures(lead) and {*other.by} < {*lead.by}

    return next((comparison for comparison in earlier if is_coarser(comparison.lead)), None)


def _measures(lead: Findings) -> set[object]:
    """Measures of a comparison, each with its score."""
    return {(of.measures, of.where.get("score")) for of in lead.of}


def without_answer(view: View) -> list[LeadComparison]:
    """Groups that were declined, or else left without an answer, more often than others; empty if none."""
    for lead in _WITHOUT_ANSWER:
        comparison = LeadComparison(lead, view, tuple(view.judgeable_estimates(rows_of(lead, view))))
        if any(map(readable, comparison.differences)):
            return [comparison]
    return []


def readable(gap: Estimate) -> bool:
    """Return whether a difference in missing answers is large enough to be told on a page."""
    return abs(gap.value or 0.0) >= SLIGHT


def control_of(lead: Findings, view: View) -> list[str]:
    """Result of the negative control, in which there is nothing to find."""
    rows = view.judgeable_estimates(rows_of(lead, view))
    if not rows:
        return []
    comparison = LeadComparison(lead, view, tuple(rows))
    text = f"Negative control: {len(comparison.differences) or 'none'} of {len(rows)} {lead.noun[1]}"
    text += counted_caveats(e.caveat for e in comparison.differences)
    if not comparison.differences:
        return [f"{text} were found beyond measurement noise."]
    clearest = comparison.differences[0]
    return [f"{text}; clearest {comparison.subject(clearest)}: {comparison.describe_difference(clearest)}."]


# Strongest findings of a model: those that the first screen names, in its sentence and in its chart.


Finding = tuple[LeadComparison, Estimate]
_NAMED = 3


def most_named(view: View) -> int:
    """Number of findings of each model named on the first screen: one beside other models or interventions."""
    return 1 if len(view.numbers.plain) > 1 or view.interventions else _NAMED


def findings(comparisons: Sequence[LeadComparison]) -> list[Finding]:
    """Differences that were found, the largest first; the clearest first where they have no common unit.

    A difference between two groups is told once, of the one that has more.
    """
    out = [(comparison, e) for comparison in comparisons if comparison.speaks for e in comparison.found_once]
    alike = len({comparison.scale(e) for comparison, e in out}) == 1
    return sorted(out, key=lambda finding: -(abs(finding[1].value or 0.0) if alike else standardised_size(finding[1])))


def strongest(comparisons: Sequence[LeadComparison], limit: int) -> list[Finding]:
    """The strongest findings, of as many subjects as there are; those of one subject follow one another."""
    by_subject: dict[str, list[Finding]] = {}
    for comparison, e in findings(comparisons):
        by_subject.setdefault(comparison.subject(e), []).append((comparison, e))
    groups = list(by_subject.values())[:limit]
    longest = max(map(len, groups), default=0)
    in_turns = [(turn, group) for turn in range(longest) for group in range(len(groups)) if turn < len(groups[group])]
    return [groups[group][turn] for group, turn in sorted((group, turn) for turn, group in in_turns[:limit])]


def clearest_hint(comparisons: Sequence[LeadComparison]) -> Finding | None:
    """The clearest difference that would count by itself, and among so many may be chance; None without one."""
    alone = [
        (comparison, e) for comparison in comparisons if comparison.coarser is None
        for e in comparison.open_rows
        if e.low is not None and e.high is not None and e.low * e.high > 0 and comparison.view.is_signed(e)
    ]  # fmt: skip
    return max(alone, key=lambda finding: standardised_size(finding[1]), default=None)


HEADS = ("Compared", "Comparisons", "Differ", "No difference beyond the margin", "Undecided", "Typically found from")
"""Columns of the table."""
_CLEAREST = "Clearest: "
"""Beginning of a title in the terminal, where the clearest rows are listed below it."""


def compared_kinds(of_page: PageComparisons) -> list[VerdictCounts]:
    """Each kind of comparison of each model."""
    kinds = []
    for model in of_page.models:
        comparisons = of_page.of_model(model)
        counted = Counter(map(_name, comparisons))
        for comparison in comparisons:
            name = _name(comparison)
            name = comparison.lead.title.removeprefix(_CLEAREST) if counted[name] > 1 else name
            kinds.append(
                VerdictCounts(
                    model=model,
                    compared=name,
                    comparisons=len(comparison.rows),
                    differ=len(comparison.differences),
                    caveats=counted_caveats(e.caveat for e in comparison.differences),
                    equivalent=len(comparison.equivalences),
                    undecided=len(comparison.open_rows),
                    found_from=_found_from(comparison),
                )
            )
    return kinds


def table_rows(of_page: PageComparisons) -> list[tuple[str, ...]]:
    """A row for each kind of comparison of each model."""
    many = len(of_page.models) > 1
    return [
        (
            f"{kind.model}: {kind.compared}" if many else upper(kind.compared),
            f"{kind.comparisons:,}",
            f"{kind.differ:,}{kind.caveats}",
            *(f"{count:,}" for count in (kind.equivalent, kind.undecided)),
            kind.found_from or DASH,
        )
        for kind in compared_kinds(of_page)
    ]


def _name(comparison: LeadComparison) -> str:
    """Name of a comparison: its quantity, and the breakdown where another has the same name otherwise."""
    name = comparison.lead.quantity or comparison.lead.noun[1]
    by = ", ".join(label.removesuffix("?").replace("_", " ") for label in comparison.lead.by)
    return f"{name} by {by}" if comparison.coarser is not None else name


def _found_from(comparison: LeadComparison) -> str:
    smallest = comparison.missable
    if smallest is None:
        return ""
    return "not even the largest" if smallest == inf else comparison.scale(comparison.open_rows[0]).up_to(smallest)
