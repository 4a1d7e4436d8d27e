"""Cells of a profile: one comparison of a study, whom it is about, and what may be said of it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf

from facevalue.measures.caveats import add_caveat
from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.facets import Facet, GroupName, Kinds, group_name
from facevalue.protocol.lookup import Condition, Estimate
from facevalue.protocol.page import Findings
from facevalue.report.blocks.view import View
from facevalue.report.findings import LeadComparison, negative_of, rows_of
from facevalue.report.sizes import ToldScale, missable_size


class Outcome(StrEnum):
    """Outcome of a comparison in a profile."""

    FOUND = "found"
    ON_PAGE = "found on its page alone"
    EQUIVALENT = "equivalent within the margin"
    UNDECIDED = "not found"
    NOT_ANSWERED = "not answered"
    NOT_MEASURABLE = "not measurable"


@dataclass(frozen=True)
class QuestionColumn:
    """A kind of question of a study: a column of the profile."""

    study: str
    title: str
    kinds: Kinds

    @property
    def name(self) -> str:
        """Name of the quantity among the columns of all studies."""
        return f"{self.study}: {self.title}"


@dataclass(frozen=True)
class ProfileCell:
    """A comparison of one model by a study.

    Attributes
    ----------
    study:
        Name of the study.
    model, intervention:
        Model that was asked, and what was done to the requests; empty for nothing.
    column:
        The kind of question; None for what is about no single group.
    group_name:
        The group, by the name that studies have in common.
    trait, versus:
        Trait that the question is about, and the group that this one is compared with; may be empty.
    estimate:
        Judged at the level of the whole audit: its verdict, what could have been missed, and `page_low`, `page_high`.
    outcome:
        What may be said of it.
    sign, favour:
        Direction of the value, and whether it is in favour of the group (1) or against it (-1); 0 where neither.
    scale:
        Unit in which people are told its size.
    possible:
        Largest possible size in the measure's unit; None where there is none.
    text:
        The difference in words, with its caveat.
    caveat:
        What else could explain what is found of it; empty for nothing.
    mirrored:
        Whether it is the other side of a comparison of two groups: the same test, told of the other group.
    change, is_changed:
        What the intervention changed of the value, on the same trials with and without it, and whether its page finds
        that; None without an intervention, and where the study takes no such change.
    """

    study: str
    model: str
    intervention: str
    column: QuestionColumn | None
    group_name: GroupName
    trait: str
    versus: str
    estimate: Estimate
    outcome: Outcome
    sign: int
    favour: int
    scale: ToldScale
    possible: float | None
    text: str
    caveat: str = ""
    mirrored: bool = False
    change: Estimate | None = None
    is_changed: bool = False

    @property
    def condition(self) -> Condition:
        """The model, with or without something that was done to the requests."""
        return Condition(self.model, self.intervention or None)

    def mirror(self) -> "ProfileCell":
        """The same comparison, told of the one group that this one is compared with."""
        return replace(
            self, group_name=group_name(self.group_name.dimension, self.versus), versus=self.group_name.group,
            sign=-self.sign, favour=-self.favour, estimate=negative_of(self.estimate), mirrored=True,
            change=None if self.change is None else negative_of(self.change),
        )  # fmt: skip

    def as_unanswered(self) -> "ProfileCell":
        """The same of a study that is not answered: that nothing was found says nothing then."""
        open_outcomes = (Outcome.UNDECIDED, Outcome.EQUIVALENT)
        return replace(self, outcome=Outcome.NOT_ANSWERED) if self.outcome in open_outcomes else self

    @property
    def outcome_words(self) -> str:
        """Outcome in words, with its caveat."""
        return add_caveat(self.outcome.value, self.caveat)

    @property
    def size(self) -> str:
        """Size of the value in the protocol's own unit, in the direction of the value."""
        return self.scale.text(self.estimate.value or 0.0, signed=bool(self.sign))

    @property
    def of_possible(self) -> float | None:
        """Size in points of what is possible; None where there is no largest size."""
        size = self.estimate.value
        if size is None or not self.possible or self.scale.curve is not None:
            return None
        return 100 * min(abs(size) / self.possible, 1.0)

    @property
    def missable(self) -> float:
        """Size that could have been missed, in the measure's unit; infinite where any could."""
        return missable_size(inf if self.estimate.mde is None else self.estimate.mde, self.possible)

    @property
    def missed_size(self) -> str:
        """Size that could have been missed, in words."""
        return "any" if self.missable == inf else f"up to {self.scale.up_to(self.missable)}"

    @property
    def interval(self) -> str:
        """95% interval of the comparison by itself, in the protocol's own unit."""
        return self.scale.interval(self.estimate)

    @property
    def change_text(self) -> str:
        """The change by the intervention with its 95% interval, in the protocol's own unit; empty without one."""
        if self.change is None:
            return ""
        if self.change.value is None:
            return "not measurable"
        size = self.scale.text(self.change.value, signed=True)
        return f"{size} {self.scale.interval(self.change)}".strip()

    @property
    def interval_of_audit(self) -> str:
        """The interval among all comparisons of the audit; clear of zero where a difference is found."""
        return self.scale.interval(replace(self.estimate, low=self.estimate.page_low, high=self.estimate.page_high))


def cells_of(study: str, leads: list[Findings], page: View, audit: View) -> Iterator[ProfileCell]:
    """Every comparison that a study's page leads with.

    `page`, `audit`: the same estimates as their own page and as the whole audit judges them.
    """
    for model in audit.numbers.models:
        views = page.narrow(model), audit.narrow(model)
        condition = audit.numbers.condition(model)
        for lead in leads:
            plain = replace(lead, of=tuple(replace(of, order="given", most=None) for of in lead.of), order="given")
            rows = [rows_of(plain, view) for view in views]
            comparison = LeadComparison(lead, views[1], tuple(rows[1]))
            for before, estimate in zip(*rows, strict=True):
                cell = _cell(study, comparison, estimate, before, condition.model, condition.intervention or "")
                change = views[0].numbers.companion(before.measure, before.cell_versus(NO_INTERVENTION))
                if change is not None:
                    cell = replace(cell, change=change, is_changed=views[0].numbers.is_found(change))
                yield cell
                if cell.versus and audit.is_signed(estimate):
                    yield cell.mirror()


def _cell(
    study: str, comparison: LeadComparison, estimate: Estimate, before: Estimate, model: str, intervention: str
) -> ProfileCell:
    facet, view = comparison.lead.facet, comparison.view
    column, group, trait, versus = None, GroupName("", ""), "", ""
    if facet is not None:
        column = QuestionColumn(study, facet.title, facet.kinds)
        group = group_name(view.said(facet.dimension, estimate), view.said(facet.group, estimate))
        trait, versus = view.said(facet.trait, estimate), view.said(facet.versus, estimate)
        versus = group_name(group.dimension, versus).group if versus else ""
    caveat = before.caveat or estimate.caveat
    phrase = f"{comparison.subject(estimate)}: {comparison.phrase(estimate, caveat)}"
    return ProfileCell(
        study, model, intervention, column, group, trait, versus, estimate, _outcome(view, estimate, before),
        *_direction(facet, view, estimate), comparison.scale(estimate), comparison.largest(estimate),
        add_caveat(phrase, caveat) if estimate.value is not None else "", caveat, comparison.is_mirror(estimate),
    )  # fmt: skip


def _direction(facet: Facet | None, view: View, estimate: Estimate) -> tuple[int, int]:
    if facet is None or not view.is_signed(estimate):
        return 0, 0
    return facet.sign(estimate), facet.favour(estimate)


def _outcome(view: View, estimate: Estimate, before: Estimate) -> Outcome:
    """Found at the level of the audit only if it is on its own page, too."""
    if estimate.value is None or before.verdict == Verdict.NOT_MEASURABLE:
        return Outcome.NOT_MEASURABLE
    on_page = view.numbers.is_moved(before)
    if on_page and view.numbers.is_moved(estimate):
        return Outcome.FOUND
    if on_page:
        return Outcome.ON_PAGE
    return Outcome.EQUIVALENT if before.verdict == Verdict.EQUIVALENT else Outcome.UNDECIDED
