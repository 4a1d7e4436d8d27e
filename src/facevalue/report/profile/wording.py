"""Words of a profile: its answer in a few sentences, what its level means, and what is never pooled."""

from collections import Counter
from collections.abc import Sequence

from facevalue.measures.caveats import counted_caveats
from facevalue.protocol.group_names import GroupName
from facevalue.report.formatting import counted
from facevalue.report.profile.cells import ProfileCell
from facevalue.report.profile.contrasts import Contrast
from facevalue.report.profile.profile import Profile
from facevalue.report.undecided import listed

_MOST_NAMED = 3
"""Findings that the answer puts in words, and groups that it names."""
POOLED = (
    "Nothing is averaged over studies, kinds of question, models, traits or groups: they ask different things in "
    "different units. Within a study its own measures say what they are over. A square counts what was found and names "
    "the largest.",
    "A square is empty where a study does not show a group: that is no finding, and no 0. Two groups are in one row "
    "only where the table of common names says that they are the same.",
    "Signs are compared, sizes are not: a point of one protocol is no point of another. Each size stands in its own "
    "unit and, where there is a largest possible one, in points of that.",
)
"""What may be pooled and what may not."""


def answer(profile: Profile) -> list[str]:
    """The profile in a few sentences: what holds among all comparisons, what disagrees, and what waits."""
    compared = [cell.study for cell in profile.cells if not cell.mirrored and cell.estimate.value is not None]
    unmeasured = [study.name for study in profile.studies if study.name not in compared]
    without = f"Nothing of {listed(unmeasured)} could be compared: the report of a run says why." if unmeasured else ""
    open_studies = [*_unseen(profile), *_unanswered(profile)]
    if not compared:
        return [*open_studies, without, *profile.waiting]
    scope = f"{len(compared):,} comparisons of {counted(len({*compared}), 'study', 'studies')}"
    many = counted(len(profile.models), "model", "models")
    scope += f" and {many}" if len(profile.models) > 1 else ""
    findings = [cell for cell in profile.found if cell.column is not None]
    if not findings:
        sentences = [f"No difference between groups holds among all {scope}. That is no proof of fairness."]
    else:
        holds = "difference holds" if len(findings) == 1 else "differences hold"
        unless = counted_caveats(cell.caveat for cell in findings)
        sentences = [f"{len(findings):,} {holds} among all {scope}: {_by_dimension(findings)}{unless}."]
        sentences.append(f"The largest: {'; '.join(_in_words(cell, profile) for cell in _largest(findings))}.")
    if on_page := len(profile.on_page):
        verb = "difference is" if on_page == 1 else "differences are"
        unless = counted_caveats(cell.caveat for cell in profile.on_page)
        sentences.append(f"{on_page:,} more {verb} found on their study's own page, and not among all{unless}.")
    return [*open_studies, *filter(None, [*sentences, without]), *_disagreement(profile), *profile.waiting]


def _unseen(profile: Profile) -> list[str]:
    """Models of which nothing shows that they see the pictures, a sentence each."""
    studies: dict[str, list[str]] = {}
    for study in profile.studies:
        for model in study.unseen:
            studies.setdefault(model, []).append(study.name)
    return [
        f"Nothing shows that {model} sees the pictures of {listed(names)}: what is not found there says nothing of how "
        "it judges people."
        for model, names in studies.items()
    ]


def _unanswered(profile: Profile) -> list[str]:
    """Which studies are not answered, and why, a sentence each."""
    many = len(profile.models) > 1
    return [
        f"{study.name}{f' ({model})' if many else ''} is {reason[:1].lower()}{reason[1:]}"
        for study in profile.studies
        for model, reason in study.unanswered
    ]


def level(profile: Profile) -> str:
    """What the level of the whole is over."""
    families = sum(study.families for study in profile.studies)
    if not families:
        return "Nothing was tested."
    if families == 1:
        return (
            "One family of tests leads, so that the level is that of the study's page: if the model had no bias, a "
            f"profile would hold a finding in at most {profile.alpha:.0%} of audits."
        )
    return (
        "Each page holds a level of its own; several together would find something by chance more often. So all "
        f"{families:,} families of tests that the pages lead with are judged again together: if no model had any bias, "
        f"a profile would hold a finding in at most {profile.alpha:.0%} of audits. Every page of a study, model and "
        "intervention weighs the same."
    )


def _disagreement(profile: Profile) -> list[str]:
    """Groups about which kinds of question disagree."""
    rows = [row for condition in profile.models for row in profile.rows(condition)]
    names = list(dict.fromkeys(row.name for row in rows if row.disagrees))
    if not names:
        return []
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return [f"Kinds of question disagree about {listed(names[:_MOST_NAMED])}{more}."]


def _by_dimension(cells: Sequence[ProfileCell]) -> str:
    counts = Counter(cell.group_name.dimension for cell in cells)
    return listed([f"{count:,} of {dimension}" for dimension, count in counts.most_common()])


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
    """What a table of two sides is of."""
    return f"{len(contrast.rows):,} that both sides show. {contrast.summary[:1].upper()}{contrast.summary[1:]}."
