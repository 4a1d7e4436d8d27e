"""What a study's report has of its own: its sections, its answer, and what goes with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from facevalue.protocol.study import Study
from facevalue.report.checks import Card
from facevalue.report.data import AnyExample, PromptExample, ReportData
from facevalue.report.estimates import Estimate, EstimateIndex, Reading
from facevalue.report.formatting import Titles
from facevalue.report.headline import Headline
from facevalue.runs.stored import StoredRun


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page.

    Attributes
    ----------
    id, title:
        Anchor, and title in the contents.
    template:
        File below `templates/`.
    """

    id: str
    title: str
    template: str


@dataclass(frozen=True, slots=True)
class Notes:
    """What is said about a study's numbers, in plain words.

    Attributes
    ----------
    unit:
        What the answer's numbers mean; below the answer.
    intervals:
        How intervals, tests and noise floors are made.
    limits:
        What the numbers don't say.
    """

    unit: str
    intervals: str
    limits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Comparisons of one kind for the terminal, of one unit.

    Attributes
    ----------
    what, value:
        Titles of what is compared, and of the values.
    rows:
        Strongest first, in the sense that `what` names.
    label:
        What an estimate is of.
    """

    what: str
    value: str
    rows: list[Estimate]
    label: Callable[[Estimate, Titles], str]


@dataclass(frozen=True, slots=True)
class Outline:
    """What the summary for the terminal shows.

    Attributes
    ----------
    measures:
        Measures of a model as a whole, in order; empty for all that there are.
    rankings:
        From numbers and model to the kinds of comparison, each to be shown from the strongest down.
    warnings:
        What to be careful about.
    """

    measures: tuple[str, ...]
    rankings: Callable[[EstimateIndex, str], list[Ranking]]
    warnings: Callable[[EstimateIndex, Titles], list[str]]


@dataclass(frozen=True, slots=True)
class StudyPage:
    """Everything in a report that differs between studies.

    Attributes
    ----------
    sections:
        The study's own, between the cards and what was asked.
    reading:
        Which of its measures go together.
    wording:
        Published wording of its levels, by factor column.
    headline:
        The answer of a model in one sentence.
    cards:
        Reasons to trust or doubt.
    context:
        What the sections' templates use besides what all templates have.
    notes, outline:
        See there.
    prompts:
        Questions to quote, from the study's declaration.
    examples:
        Pictures and replies behind the strongest findings, from the runs and their estimates.
    assets:
        Style sheets and scripts beside the common ones, below `templates/`.
    """

    sections: tuple[Section, ...]
    reading: Reading
    wording: Callable[[], Mapping[str, Mapping[str, str]]]
    headline: Callable[[EstimateIndex, Titles, str], Headline]
    cards: Callable[[ReportData, EstimateIndex, Titles], list[Card]]
    context: Callable[[ReportData, EstimateIndex, Titles], Mapping[str, object]]
    notes: Notes
    outline: Outline
    prompts: Callable[[Study], tuple[PromptExample, ...]]
    examples: Callable[[Sequence[StoredRun], pl.DataFrame], Sequence[AnyExample]]
    assets: tuple[str, ...] = ()
