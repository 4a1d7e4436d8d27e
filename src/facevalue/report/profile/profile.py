"""Profile: what all studies of an audit say, judged at one level, with where they agree and where they do not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import polars as pl

from facevalue.measures.definitions import Measure
from facevalue.measures.families import ALPHA
from facevalue.measures.instrument import sightless
from facevalue.measures.multitest import AUDIT_FAMILY, audit_families
from facevalue.protocol.lookup import Condition
from facevalue.protocol.page import Findings, Page
from facevalue.protocol.study import Study
from facevalue.report.blocks.view import View, page_view
from facevalue.report.profile.cells import (
    Contrast,
    GroupRow,
    Outcome,
    ProfileCell,
    cells_of,
    contrasts_of_models,
    kinds_of_question,
    rows_of_cells,
)
from facevalue.report.sections.findings import leading, rows_of
from facevalue.report.sections.headline import page_of
from facevalue.runs.joined_runs import names_for_people, profile_runs
from facevalue.runs.stored_run import StoredRun


@dataclass(frozen=True)
class ProfiledStudy:
    """A study of a profile.

    Attributes
    ----------
    name, title:
        Of the study.
    note:
        What readers should be prepared to see.
    models:
        Who was asked.
    families:
        Families of tests that its pages compare.
    unmeasured:
        Models that gave no valid answer.
    unanswered:
        Models that were not asked all of it, or of whose replies half cannot be read, each with the reason.
    unseen:
        Models of which nothing shows that they see the pictures.
    """

    name: str
    title: str
    note: str
    models: tuple[str, ...]
    families: int
    unmeasured: tuple[str, ...] = ()
    unanswered: tuple[tuple[str, str], ...] = ()
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """Results of all studies about groups, side by side.

    Attributes
    ----------
    studies:
        The studies, in order.
    cells:
        Every comparison.
    alpha:
        Level of the whole: the chance that an audit without any effect finds one.
    waiting:
        Which studies of an audit have not begun, a sentence for each audit.
    """

    studies: tuple[ProfiledStudy, ...]
    cells: tuple[ProfileCell, ...] = field(repr=False)
    alpha: float = ALPHA
    waiting: tuple[str, ...] = ()

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Models as they are, then what was done to their requests."""
        seen = dict.fromkeys(cell.condition for cell in self.cells)
        return tuple(sorted(seen, key=lambda condition: bool(condition.intervention)))

    @property
    def models(self) -> tuple[Condition, ...]:
        """Models as they are."""
        return tuple(condition for condition in self.conditions if not condition.intervention)

    def rows(self, condition: Condition) -> list[GroupRow]:
        """Groups of a model, each with what every kind of question says of it."""
        return self._rows[condition]

    @cached_property
    def _rows(self) -> Mapping[Condition, list[GroupRow]]:
        by_condition: dict[Condition, list[ProfileCell]] = {condition: [] for condition in self.conditions}
        for cell in self.cells:
            by_condition[cell.condition].append(cell)
        return {condition: rows_of_cells(cells) for condition, cells in by_condition.items()}

    def questions(self, condition: Condition) -> list[Contrast]:
        """Kinds of question side by side, of one model."""
        return kinds_of_question(self.rows(condition))

    @cached_property
    def pairs(self) -> list[Contrast]:
        """The first model beside each other one, and each model beside itself under each intervention."""
        pairs = [(self.models[0], condition) for condition in self.models[1:]]
        pairs += [
            (Condition(condition.model), condition)
            for condition in self.conditions
            if condition.intervention and Condition(condition.model) in self.models
        ]
        contrasts = [
            contrasts_of_models((plain.name, condition.name), self.rows(plain), self.rows(condition))
            for plain, condition in pairs
        ]  # fmt: skip
        return [contrast for contrast in contrasts if contrast.rows]

    @cached_property
    def found_cells(self) -> tuple[ProfileCell, ...]:
        """Differences that hold at the level of the whole audit."""
        return tuple(cell for cell in self.cells if cell.outcome == Outcome.FOUND and not cell.mirrored)

    @cached_property
    def on_page(self) -> tuple[ProfileCell, ...]:
        """Differences that are found on their own page and do not hold among all."""
        return tuple(cell for cell in self.cells if cell.outcome == Outcome.ON_PAGE and not cell.mirrored)


class JudgedTogether(Protocol):
    """Estimates of one study that are judged with those of others, such as `StudyRuns`."""

    @property
    def study(self) -> Study:
        """The study."""
        ...

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Definitions of what is in the estimates."""
        ...

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that were asked."""
        ...

    @property
    def unmeasured_models(self) -> tuple[str, ...]:
        """Models without a valid answer."""
        ...

    @property
    def unanswered_models(self) -> Mapping[str, str]:
        """Models that did not answer the study, with the reason (`StudyRuns.unanswered_models`)."""
        ...

    def stack_estimates(self) -> pl.DataFrame:
        """The estimates of all models, with the verdicts of their own pages."""
        ...

    def judge_estimates(self, shares: pl.DataFrame) -> pl.DataFrame:
        """The same, judged at the level of a whole audit."""
        ...


def profile_of(runs: Sequence[StoredRun], waiting: Sequence[str] = ()) -> Profile:
    """Make the profile of runs of any studies, and of one or several models.

    `waiting`: what audits among them have not begun, a sentence for each (`audit_folder.describe_unasked`).

    Raises
    ------
    RunError
        As for `profile_runs`.
    """
    studies = profile_runs(runs)
    profile = judged_profile(studies, names_for_people([run for study in studies for run in study.runs]))
    return replace(profile, waiting=tuple(waiting))


def judged_profile(studies: Sequence[JudgedTogether], names: Mapping[str, str]) -> Profile:
    """Judge what the pages of studies compare at one level, and gather it; `names`: of models, for people."""
    pages = [page_of(study.study) for study in studies]
    tables = [study.stack_estimates() for study in studies]
    views = [_view(study, page, table) for study, page, table in zip(studies, pages, tables, strict=True)]
    leads = [_leads(page, view) for page, view in zip(pages, views, strict=True)]
    families = [_families(of_page, view) for of_page, view in zip(leads, views, strict=True)]
    tested = [
        (table.join(rows, on=AUDIT_FAMILY, how="semi", nulls_equal=True), study.study.estimates.lead)
        for study, table, rows in zip(studies, tables, families, strict=True)
    ]
    out: list[ProfiledStudy] = []
    cells: list[ProfileCell] = []
    for study, page, view, of_page, share in zip(
        studies, pages, views, leads, audit_families(tested, ALPHA), strict=True
    ):
        judged = _view(study, page, study.judge_estimates(share))
        cells += [
            cell.as_unanswered() if cell.model in study.unanswered_models else cell
            for cell in cells_of(study.study.name, of_page, view, judged)
        ]
        about = study.study.about
        unseen = [model for model in sightless(view.numbers.frame) if model in study.models]
        models, unmeasured, blind = (
            tuple(names.get(m, m) for m in of) for of in (study.models, study.unmeasured_models, unseen)
        )
        unanswered = tuple((names.get(model, model), reason) for model, reason in study.unanswered_models.items())
        facts = (study.study.name, about.title, about.content_note, models, share.height, unmeasured, unanswered, blind)
        out.append(ProfiledStudy(*facts))
    return Profile(tuple(out), tuple(replace(cell, model=names.get(cell.model, cell.model)) for cell in cells), ALPHA)


def _view(study: JudgedTogether, page: Page, table: pl.DataFrame) -> View:
    return page_view(page, table, study.measures, study.study.about.titles)


def _leads(page: Page, view: View) -> list[Findings]:
    """Comparisons of a page, of any model and under any intervention."""
    of_models = [lead for model in view.numbers.models for lead in leading(page, view.narrow(model))]
    return list({str(lead.of): lead for lead in of_models}.values())


def _families(leads: Sequence[Findings], view: View) -> pl.DataFrame:
    """Families of the tests that these leads are about."""
    keys = dict.fromkeys(
        (condition.model, condition.intervention, e.measure, e["score"], e.family)
        for model in view.numbers.models
        for condition in [view.numbers.condition(model)]
        for lead in leads
        for e in rows_of(lead, view.narrow(model))
        if e.family is not None
    )
    return pl.DataFrame(list(keys), schema=dict.fromkeys(AUDIT_FAMILY, pl.String), orient="row")
