"""Rows of a profile as data: every comparison, and what stands side by side."""

from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from facevalue.report.profile.cells import ProfileCell
from facevalue.report.profile.contrasts import Contrast, Side
from facevalue.report.profile.profile import Profile


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A comparison of one model by a study. Null is not measurable, or not known; never zero."""

    model: str
    intervention: str
    """What was done to the requests; empty for nothing."""
    study: str
    question: str
    """Kind of question; empty for what is about no single group."""
    directness: str
    medium: str
    people: str
    about: str
    """Kinds that the question is of, such as "explicit", "pictures", "one person", "decision"; may be empty."""
    dimension: str
    group: str
    """Common names of the group; docs/how-to/profile.md."""
    trait: str
    versus: str
    """The one group that it is compared with; empty for all others or an even choice."""
    mirrored: bool
    """Whether it is another comparison told of its other group: the same test, not a second one."""
    measure: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    """Interval of this comparison alone."""
    audit_low: float | None
    audit_high: float | None
    """Interval among all comparisons of the audit: clear of zero where a difference is found."""
    direction: int
    """1 upward, -1 downward, 0 for none."""
    favour: int
    """1 in favour of the group, -1 against it, 0 where it is neither or not known."""
    points_of_possible: float | None
    """Size in points of the largest possible; null where there is no largest."""
    verdict: str
    """"found", "found on its page alone", "equivalent within the margin", "not found", "not answered" or "not
    measurable"."""
    caveat: str
    """What else could explain what is found ("unless the missing answers say otherwise"); empty for nothing."""
    missable: float | None
    """Size that would be found with 80% power at the level of the audit; null where any could have been missed."""
    q_audit: float | None
    """Adjusted for all families of the audit."""
    n: int | None
    clusters: int | None
    """Units that were sampled."""
    change: float | None
    change_low: float | None
    change_high: float | None
    """What the intervention changed of the value, of the same trials with and without it, with the 95% interval of this
    change alone; null without an intervention."""
    is_changed: bool
    """Whether the study's page finds that change."""
    text: str
    """The difference in words."""
    reason: str
    """Reason of the verdict."""


@dataclass(frozen=True, slots=True)
class ContrastRow:
    """What two kinds of question, two models, or a request with and without an intervention say of one group."""

    model: str
    """Whose answers; empty where models stand side by side."""
    first: str
    second: str
    group: str
    said_first: tuple[str, ...]
    said_second: tuple[str, ...]
    agreement: str
    """"agree", "opposite", "first" or "second" alone, "unlike" (directions that do not compare) or "neither"."""
    change: str
    """What the intervention changed, of the same trials with and without it; empty between models and questions."""
    text: str


def comparisons(profile: Profile) -> list[ComparisonRow]:
    """Every comparison of a profile, in its order."""
    return [_comparison(cell) for cell in profile.cells]


def contrast_rows(profile: Profile) -> list[ContrastRow]:
    """Everything that stands side by side."""
    out = []
    for condition in profile.models:
        out += [row for contrast in profile.questions(condition) for row in _rows(contrast, condition.name)]
    return out + [row for contrast in profile.pairs for row in _rows(contrast, "")]


def tables(profile: Profile) -> dict[str, list[Any]]:
    """Both as tables of `profile.json`, after what audits have not asked yet."""
    return {
        "waiting": list(profile.waiting),
        "comparisons": [asdict(row) for row in comparisons(profile)],
        "side_by_side": [asdict(row) for row in contrast_rows(profile)],
    }


def _rows(contrast: Contrast, model: str) -> list[ContrastRow]:
    return [
        ContrastRow(
            model, contrast.first, contrast.second, row.group,
            _said(row.first), _said(row.second), row.kind, row.change, row.reading,
        )
        for row in contrast.rows
    ]  # fmt: skip


def _said(side: Side) -> tuple[str, ...]:
    return tuple(f"{name}: {square.reading}" for name, square in side)


def _comparison(cell: ProfileCell) -> ComparisonRow:
    e, column = cell.estimate, cell.column
    kinds = None if column is None else column.kinds
    return ComparisonRow(
        model=cell.model,
        intervention=cell.intervention,
        study=cell.study,
        question="" if column is None else column.title,
        directness="" if kinds is None else kinds.directness,
        medium="" if kinds is None else kinds.medium,
        people="" if kinds is None else kinds.people,
        about="" if kinds is None else kinds.about,
        dimension=cell.group_name.dimension,
        group=cell.group_name.group,
        trait=cell.trait,
        versus=cell.versus,
        mirrored=cell.mirrored,
        measure=e.measure,
        unit=e.unit,
        value=e.value,
        low=e.low,
        high=e.high,
        audit_low=e.page_low,
        audit_high=e.page_high,
        direction=cell.sign,
        favour=cell.favour,
        points_of_possible=cell.of_possible,
        verdict=cell.outcome.value,
        caveat=cell.caveat,
        missable=None if cell.missable == inf else cell.missable,
        q_audit=e.q_page,
        n=e.n,
        clusters=e.clusters,
        change=None if cell.change is None else cell.change.value,
        change_low=None if cell.change is None else cell.change.low,
        change_high=None if cell.change is None else cell.change.high,
        is_changed=cell.is_changed,
        text=cell.text,
        reason=e.why or "",
    )
