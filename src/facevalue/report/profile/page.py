"""Page of a profile: its answer, a table of groups and kinds of question, what stands side by side, every number."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any

from markupsafe import Markup

from facevalue import __version__
from facevalue.measures.caveats import counted_caveats
from facevalue.printable import join_names
from facevalue.protocol.facets import GroupName
from facevalue.protocol.lookup import Condition
from facevalue.report.formatting import quantity
from facevalue.report.html import environment, render_template
from facevalue.report.profile.cells import (
    SIGNS,
    Contrast,
    GroupRow,
    Outcome,
    ProfileCell,
    QuestionColumn,
    Side,
    Square,
    columns_of,
)
from facevalue.report.profile.profile import Profile
from facevalue.store.files import write_whole

# Words of a profile: its answer in a few sentences, what its level means, and what is never pooled.


_MOST_NAMED = 3
"""Findings that the answer puts in words, and groups that it names."""
POOLED = (
    "Nothing is averaged over studies, kinds of question, models, traits or groups, as they measure different things "
    "in different units. A square counts the differences found and names the largest.",
    "An empty square means that the study does not show the group; it is neither a finding nor a zero. Two groups "
    "share a row only where the table of common names says that they are the same.",
    "Directions are compared and sizes are not: a point of one protocol is no point of another. Each size has its own "
    "unit and, where there is a largest possible size, is also given as a share of that.",
)
"""What may be pooled and what may not."""


def profile_answer(profile: Profile) -> list[str]:
    """The profile in a few sentences: what holds among all comparisons, what disagrees, and what waits."""
    compared = [cell.study for cell in profile.cells if not cell.mirrored and cell.estimate.value is not None]
    unmeasured = [study.name for study in profile.studies if study.name not in compared]
    without = (
        f"No comparison was possible for {join_names(unmeasured)}; each run's report gives the reason."
        if unmeasured
        else ""
    )
    open_studies = [*_unseen(profile), *_list_unanswered(profile)]
    if not compared:
        return [*open_studies, without, *profile.waiting]
    scope = f"{len(compared):,} comparisons of {quantity(len({*compared}), 'study', 'studies')}"
    many = quantity(len(profile.models), "model", "models")
    scope += f" and {many}" if len(profile.models) > 1 else ""
    findings = [cell for cell in profile.found_cells if cell.column is not None]
    if not findings:
        sentences = [f"No difference between groups was found among {scope}. That is no proof of fairness."]
    else:
        differences = "difference was" if len(findings) == 1 else "differences were"
        unless = counted_caveats(cell.caveat for cell in findings)
        sentences = [f"{len(findings):,} {differences} found among {scope}: {_by_dimension(findings)}{unless}."]
        sentences.append(f"The largest: {'; '.join(_in_words(cell, profile) for cell in _largest(findings))}.")
    if on_page := len(profile.on_page):
        hold = "difference holds" if on_page == 1 else "differences hold"
        unless = counted_caveats(cell.caveat for cell in profile.on_page)
        sentences.append(f"{on_page:,} more {hold} in one study alone and not among all of them{unless}.")
    return [*open_studies, *filter(None, [*sentences, without]), *_disagreement(profile), *profile.waiting]


def _unseen(profile: Profile) -> list[str]:
    """Models of which nothing shows that they see the pictures, a sentence each."""
    studies: dict[str, list[str]] = {}
    for study in profile.studies:
        for model in study.unseen:
            studies.setdefault(model, []).append(study.name)
    return [
        f"Nothing shows that {model} sees the pictures of {join_names(names)}, so finding no difference there "
        "says nothing about how it judges people."
        for model, names in studies.items()
    ]


def _list_unanswered(profile: Profile) -> list[str]:
    """Unanswered studies with their reasons, a sentence each."""
    many = len(profile.models) > 1
    return [
        f"{study.name}{f' ({model})' if many else ''} is {reason[:1].lower()}{reason[1:]}"
        for study in profile.studies
        for model, reason in study.unanswered
    ]


def level_sentence(profile: Profile) -> str:
    """Sentence on the tests that the level of the whole profile covers."""
    families = sum(study.families for study in profile.studies)
    if not families:
        return "Nothing was tested."
    if families == 1:
        return (
            "There is one family of tests, so the level is that of the study's page: if the model had no bias, at most "
            f"{profile.alpha:.0%} of audits would report a finding."
        )
    return (
        "Each study controls its own rate of false findings; several studies together would find something by chance "
        f"more often. So all {families:,} families of tests that lead a page are corrected together: if no model had "
        f"any bias, at most {profile.alpha:.0%} of audits would report a finding. Each study, model and intervention "
        "has the same share of that level."
    )


def _disagreement(profile: Profile) -> list[str]:
    """Groups about which kinds of question disagree."""
    rows = [row for condition in profile.models for row in profile.rows(condition)]
    names = list(dict.fromkeys(row.name for row in rows if row.disagrees))
    if not names:
        return []
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return [f"Some kinds of question favour and others disfavour {join_names(names[:_MOST_NAMED])}{more}."]


def _by_dimension(cells: Sequence[ProfileCell]) -> str:
    counts = Counter(cell.group_name.dimension for cell in cells)
    return join_names([f"{count:,} of {dimension}" for dimension, count in counts.most_common()])


def _largest(cells: Sequence[ProfileCell]) -> list[ProfileCell]:
    """The largest in points of what is possible, each of another group."""
    of_group: dict[GroupName, ProfileCell] = {}
    for cell in sorted(cells, key=lambda cell: -(cell.of_possible or 0.0)):
        of_group.setdefault(cell.group_name, cell)
    return list(of_group.values())[:_MOST_NAMED]


def _in_words(cell: ProfileCell, profile: Profile) -> str:
    whose = f", {cell.model}" if len(profile.models) > 1 else ""
    change = f" with {cell.intervention}" if cell.intervention else ""
    return f"{cell.text} ({cell.study}{whose}{change})"


def contrast_note(contrast: Contrast) -> str:
    """Note on the rows that a table of two sides shows."""
    groups = "group" if len(contrast.rows) == 1 else "groups"
    return f"{len(contrast.rows):,} {groups} on both sides. {contrast.summary[:1].upper()}{contrast.summary[1:]}."


# Rows of a profile as data: every comparison, and what stands side by side.


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
    """Size that would be found with 80% power at the level of the audit; null where any would have gone unnoticed."""
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
    """Results for one group on two sides: kinds of question, models, or without and with an intervention."""

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


def comparison_rows(profile: Profile) -> list[ComparisonRow]:
    """Rows of all comparisons of a profile, in its order."""
    return [_comparison(cell) for cell in profile.cells]


def contrast_rows(profile: Profile) -> list[ContrastRow]:
    """Rows of all contrasts."""
    out = []
    for condition in profile.models:
        out += [row for contrast in profile.questions(condition) for row in _rows(contrast, condition.name)]
    return out + [row for contrast in profile.pairs for row in _rows(contrast, "")]


def profile_tables(profile: Profile) -> dict[str, list[Any]]:
    """Both as tables of `profile.json`, after what audits have not asked yet."""
    return {
        "waiting": list(profile.waiting),
        "comparisons": [asdict(row) for row in comparison_rows(profile)],
        "side_by_side": [asdict(row) for row in contrast_rows(profile)],
    }


def _rows(contrast: Contrast, model: str) -> list[ContrastRow]:
    return [
        ContrastRow(
            model, contrast.first, contrast.second, row.group,
            _side_readings(row.first), _side_readings(row.second), row.kind, row.change, row.reading,
        )
        for row in contrast.rows
    ]  # fmt: skip


def _side_readings(side: Side) -> tuple[str, ...]:
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


_UNFOLDED = 10
"""Rows up to which groups of which nothing is found stand in a table; of more such groups the rest are folded."""
_MOST_ROWS = 14
"""Comparisons of a square whose numbers are listed: what is found, then the clearest; the rest are in the JSON."""
_MOST_OTHERS = 20
"""Findings about no single group that are listed."""


@dataclass(frozen=True)
class Member:
    """A row of the table: the group, its anchor, and a square or none for each column."""

    row: GroupRow
    anchor: str
    squares: tuple[tuple[QuestionColumn, str, Square | None], ...]


@dataclass(frozen=True)
class GroupTable:
    """Groups of one dimension beside the kinds of question that show any of them."""

    dimension: str
    heads: tuple[tuple[str, tuple[QuestionColumn, ...]], ...]
    members: tuple[Member, ...]
    folded: tuple[Member, ...]


@dataclass(frozen=True)
class ConditionPart:
    """A model, with or without an intervention: its tables, its contrasts, its numbers."""

    condition: Condition
    findings: int
    tables: tuple[GroupTable, ...]
    contrasts: tuple[Contrast, ...]
    others: tuple[ProfileCell, ...]


def render(profile: Profile, generated: datetime | None = None) -> str:
    """Render a profile as a page that needs no network; untrusted texts are escaped.

    `generated`: when it was made, as the page says; now by default.
    """
    return render_template(
        "profile.html.j2",
        further_style="profile.css",
        head=head(profile),
        profile=profile,
        who=_model_names(profile),
        generated=generated or datetime.now(UTC),
        version=__version__,
    )


def head(profile: Profile) -> Markup:
    """A profile as a part of another page, whose style holds `profile.css` and whose script is the report's."""
    html = environment().get_template("profile_head.html.j2").render(
        profile=profile,
        sentences=profile_answer(profile),
        level=level_sentence(profile),
        pooled=POOLED,
        parts=[_part(profile, number, condition) for number, condition in enumerate(profile.conditions)],
        pairs=profile.pairs,
        note=contrast_note,
        signs=[(mark, sign, meaning) for mark, (sign, meaning) in SIGNS.items()],
        sign_of=lambda mark: SIGNS[mark][0],
        clearest=_clearest,
        Outcome=Outcome,
    )  # fmt: skip
    return Markup(html)  # noqa: S704 rendered with escapes


def write(path: Path, profile: Profile) -> None:
    """Write the page, whole or not at all; an older one there is replaced."""
    write_whole(path, render(profile).encode())


def _part(profile: Profile, number: int, condition: Condition) -> ConditionPart:
    findings = [cell for cell in profile.found_cells if cell.condition == condition]
    on_page = [cell for cell in profile.on_page if cell.condition == condition]
    others = [cell for cell in (*findings, *on_page) if cell.column is None]
    anchored = [(f"g{number}-{place}", row) for place, row in enumerate(profile.rows(condition))]
    tables = [
        _table(dimension, list(rows)) for dimension, rows in groupby(anchored, key=lambda pair: pair[1].dimension)
    ]
    return ConditionPart(
        condition, len(findings), tuple(tables), tuple(profile.questions(condition)), tuple(others[:_MOST_OTHERS])
    )


def _table(dimension: str, anchored: Sequence[tuple[str, GroupRow]]) -> GroupTable:
    """Groups of one dimension, each with its anchor; most of those of which nothing is found are folded."""
    columns = columns_of(row for _, row in anchored)
    members = [
        Member(
            row, anchor,
            tuple((column, f"{anchor}-{place}", row.squares.get(column)) for place, column in enumerate(columns)),
        )
        for anchor, row in anchored
    ]  # fmt: skip
    silent = [member.anchor for member in members if not any(s.found_cells for s in member.row.squares.values())]
    unfolded = max(_UNFOLDED - (len(members) - len(silent)), 0)
    folded = set(silent[unfolded:] if len(silent) > _UNFOLDED else [])
    return GroupTable(
        dimension,
        tuple((study, tuple(of_study)) for study, of_study in groupby(columns, key=lambda column: column.study)),
        tuple(member for member in members if member.anchor not in folded),
        tuple(member for member in members if member.anchor in folded),
    )


def _clearest(square: Square) -> tuple[Sequence[ProfileCell], int]:
    """Comparisons of a square whose numbers are shown, and how many more there are."""
    order = list(Outcome)

    def place(cell: ProfileCell) -> tuple[int, float]:
        return order.index(cell.outcome), 1.0 if cell.estimate.p is None else cell.estimate.p

    ordered = sorted(square.cells, key=place)
    return ordered[:_MOST_ROWS], max(len(ordered) - _MOST_ROWS, 0)


def _model_names(profile: Profile) -> str:
    names = [condition.name for condition in profile.models]
    return names[0] if len(names) == 1 else f"{len(names)} models"
