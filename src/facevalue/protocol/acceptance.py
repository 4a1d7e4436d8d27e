"""Acceptance of declarations: what a run and its report would come to grief over is refused before anything is asked.

Stored runs are not held to it: what began under older rules is still read.
"""

from collections.abc import Collection, Sequence
from itertools import combinations
from math import prod

from facevalue.answers.sorting import Sorting
from facevalue.errors import DataError, UnknownNameError, error_place
from facevalue.measures.definitions import split_key
from facevalue.prompts.phrases import OPTIONS, slots
from facevalue.protocol.asks import DRAW, ORDERING, Ask
from facevalue.protocol.instrument import INSTRUMENT
from facevalue.protocol.open_answers import outside_of
from facevalue.protocol.replies import Options
from facevalue.protocol.tasks import TASK, Task
from facevalue.statistics.breakdown import DIMENSION, Breakdown
from facevalue.statistics.estimand import Estimand, definitions, margins
from facevalue.statistics.statistic import MOST_GROUPS, MOST_LEVELS, Score

_ANSWERS = frozenset((
    *("mass", "na", "reply", "repeat", "status", "text", "entries", "probs", "weight", "trial", "block", "image"),
    *("path", "identity", "set", "seed", "at", ORDERING, DRAW, TASK),
))  # fmt: skip
"""Columns of answers beside scores and factors."""
COMMON = ("missing_share", "missing_gap", "drift", "wavering")
"""Names of the measures that every study has, whatever its estimands."""
MOST_ESTIMATES = 10_000
"""Estimates of one estimand."""
MOST_REQUESTS = 500_000_000
"""Requests of a study: answers are gathered in arrays of some 30 bytes each."""
MOST_TOKENS = 1_000_000
"""Longest reply that can be asked for, in tokens."""
_SIMULATED = frozenset(("stated", "listed", "form_fields", "keywords", "filled", "asked_about"))
"""Factors by which simulated models are told how to answer."""


def check_whole(tasks: Sequence[Task], most_tokens: int) -> None:
    """Refuse what is wrong with a declaration as a whole."""
    check_tokens(most_tokens)
    for task in tasks:
        ask = task.ask
        for estimand in task.estimands:
            with error_place(estimand.place):
                check_estimand(estimand, task.breakdown)
                check_beside(estimand, task.scores)
                if estimand.margin is not None:
                    check_margin(estimand, task)
        check_names(task.breakdown, task.scores)
        with error_place(ask.where):
            check_wordings(ask)
        if isinstance(ask.reply, Options):
            with error_place(ask.reply.where):
                check_options(ask.reply, [*ask.slot_texts, *task.breakdown.sets.columns])
                check_languages(ask.reply, task.breakdown)
    check_sortings(tasks)
    check_size(tasks)
    check_measures(tasks)
    for task in tasks:
        check_apart(task.estimands, task.breakdown, task.scores)
        check_families(task.estimands)


def check_margin(estimand: Estimand, task: Task) -> None:
    """Refuse a margin that no value can lie beyond."""
    from facevalue.measures.family_tests import check_margins  # noqa: PLC0415 - slow to import

    limits = margins((estimand,), task.breakdown, task.scores)
    check_margins(limits, tuple(definitions((estimand,), task.breakdown, task.scores).values()))


def check_names(breakdown: Breakdown, scores: Sequence[Score]) -> None:
    """Refuse names of factors and scores that mean something else to the simulator or among the measures."""
    for name in breakdown.factors:
        if name in _SIMULATED:
            raise DataError(
                f"No factor can be called {name!r}, by which simulated models are told what to say. Rename it."
            )
    for score in scores:
        if score.name in _ANSWERS:
            raise DataError(
                f"No task or score can be called {score.name!r}, which is a column of the answers. Rename it."
            )
        if score.name in breakdown.factors:
            raise DataError(f"A score and a factor are both called {score.name!r}. Rename one of them.")


def check_wordings(ask: Ask) -> None:
    """Refuse wordings of a question of which one lacks a slot that another has: they would ask different things."""
    slots_by_wording = [{*slots(text), *([OPTIONS.strip("{}")] if OPTIONS in text else [])} for text in ask.prompts]
    for number, slot_names in enumerate(slots_by_wording):
        if missing := sorted(set().union(*slots_by_wording) - slot_names):
            which = "The text of the prompt" if number == 0 else f"Paraphrase {number}"
            raise DataError(f"{which} has no slot {{{missing[0]}}}, which another wording has: write it there, too.")


def check_options(reply: Options, filled: Sequence[str]) -> None:
    """Refuse slots of options that nothing fills: their braces would reach the model."""
    for text in reply.all_texts:
        for name in (*slots(text), *(["options"] if OPTIONS in text else [])):
            if name not in filled:
                raise UnknownNameError("slot of the options", name, filled)
    for name in reply.keys:
        if name not in filled:
            raise UnknownNameError("column that names an option", name, filled)


def check_languages(reply: Options, breakdown: Breakdown) -> None:
    """Refuse languages of a factor that there isn't, or of levels that a factor of the prompt hasn't."""
    factor, names = reply.by_language, [*breakdown.of_prompt, *breakdown.sets.columns]
    if factor and factor not in names:
        raise UnknownNameError("factor of languages", factor, names)
    for name in reply.languages if breakdown.is_of_prompt(factor) else ():
        if name not in breakdown.levels(factor):
            raise UnknownNameError(f"level of {factor}", name, breakdown.levels(factor))


def check_tokens(tokens: int) -> None:
    """Refuse a limit of replies within which nothing can be said."""
    if not 1 <= tokens <= MOST_TOKENS:
        raise DataError(f"max_tokens is the longest reply, 1 to {MOST_TOKENS:,} tokens, not {tokens:,}.")


def check_size(tasks: Sequence[Task]) -> None:
    """Refuse a study whose answers no memory holds."""
    size = sum(
        len(task.axes.images)
        * prod(len(factor) for factor in task.ask.question_factors)
        * len(task.axes.orderings)
        * task.axes.repeats
        for task in tasks
    )
    if size > MOST_REQUESTS:
        raise DataError(
            f"The study asks {size:,} requests; {MOST_REQUESTS:,} are the most. Show fewer pictures, or ask fewer "
            "levels, wordings or seeds."
        )


def check_estimand(estimand: Estimand, breakdown: Breakdown) -> None:
    """Refuse an estimand that compares nothing, or makes more estimates than a page can show."""
    statistic, factor, kind = estimand.statistic, estimand.compared_factor, estimand.statistic.kind
    if factor and not estimand.optional and (finer := next((n for n in estimand.by if breakdown.nests(factor, n)), "")):
        raise DataError(
            f"Each {finer!r} has one level of {factor!r}, so that a {kind} by {finer} compares nothing: leave it out "
            "of `by`."
        )
    counts = {name: len(breakdown.levels(name)) for name in (*estimand.by, factor) if name}
    for name, many in counts.items():
        if many > MOST_LEVELS:
            raise DataError(
                f"The factor {name!r} has {many:,} levels; a {kind} tells {MOST_LEVELS:,} apart at most. Group them by "
                "another factor."
            )
    if statistic.is_between_groups and counts.get(factor, 0) > MOST_GROUPS:
        raise DataError(
            f"The factor {factor!r} has {counts[factor]:,} levels; a {kind} is between {MOST_GROUPS} groups at most. "
            "Group them by another factor."
        )
    cue = [name for name in breakdown.sets.cue if name in estimand.by]  # its columns go together and are not crossed
    cues = breakdown.sets.manifest.select(cue).n_unique() if cue else 1
    compared = len(statistic.contrasts(breakdown)) if statistic.compares else 1
    if (many := cues * compared * prod(counts[name] for name in estimand.by if name not in cue)) > MOST_ESTIMATES:
        raise DataError(
            f"A {kind} by {', '.join(counts)} makes {many:,} estimates; {MOST_ESTIMATES:,} are the most. Break it down "
            "by fewer factors."
        )


def check_beside(estimand: Estimand, scores: Sequence[Score]) -> None:
    """Refuse an estimand that takes another score which there isn't, or which is no share."""
    by_name = {score.name: score for score in scores}
    for name in estimand.statistic.scores_beside:
        if name not in by_name:
            raise UnknownNameError("score", name, by_name)
        if not by_name[name].is_share:
            raise DataError(f"`accuracy` is a share, and the score {name!r} is none.")


def check_apart(estimands: Sequence[Estimand], breakdown: Breakdown, scores: Sequence[Score]) -> None:
    """Refuse two estimands of which some estimates would have the same labels, so that nothing told them apart."""
    for score in scores:
        of_score = [
            (number, estimand, definitions((estimand,), breakdown, (score,)).keys())
            for number, estimand in enumerate(estimands, start=1)
            if estimand.is_of(score)
        ]
        for (first, estimand, keys), (second, rival, other_keys) in combinations(of_score, 2):
            if not keys & other_keys:
                continue
            if shared := _compare_estimands(estimand, rival, breakdown):
                of = f" of {score.name!r}" if len(scores) > 1 else ""
                with error_place(rival.place):
                    raise DataError(f"Estimands {first} and {second} make the same estimates{of}: {shared}")


def check_sortings(tasks: Sequence[Task]) -> None:
    """Refuse one name for two questions to a judge, whose judgments are found by it."""
    sortings: dict[str, tuple[str, Sorting]] = {}
    for task in tasks:
        for sorting in outside_of(task.ask.reply).judged:
            first, same = sortings.setdefault(sorting.name, (task.name, sorting))
            if sorting != same:
                raise DataError(
                    f"{sorting.name!r} of the tasks {first!r} and {task.name!r} asks a judge different things. Rename "
                    "one of them."
                )


def check_measures(tasks: Sequence[Task]) -> None:
    """Refuse names that two measures would have."""
    kinds: dict[str, str] = {}
    outside = (split_key(key)[0] for task in tasks for key in outside_of(task.ask.reply).statuses)
    checks = {*INSTRUMENT, *COMMON, *outside}
    for task in tasks:
        for estimand in task.estimands:
            if not {*definitions((estimand,), task.breakdown, task.scores)} <= {*task.published}:
                check_measure(estimand, task.breakdown, kinds, checks)
    for task in tasks:
        margins(task.estimands, task.breakdown, task.scores)


def check_measure(estimand: Estimand, breakdown: Breakdown, kinds: dict[str, str], checks: Collection[str]) -> None:
    """Refuse a name of an estimand's measures that another has; `kinds`: of those so far, which it adds to."""
    name, kind = estimand.name_of(breakdown), estimand.statistic.quantity(breakdown)
    for label in estimand.names_of(breakdown):
        noun = label.removeprefix(f"{name}_") if label.startswith(f"{name}_") else "size"
        of_label = kind if label == name else f"{noun} of a {kind}"
        if label in checks or kinds.setdefault(label, of_label) != of_label:
            holder = "check of the instrument" if label in checks else kinds[label]
            with error_place(estimand.place):
                raise DataError(f"A {of_label} and a {holder} would both be called {label!r}. Rename one.")


def check_families(estimands: Sequence[Estimand]) -> None:
    """Refuse two confirmatory estimands of one family: each has its own correction."""
    numbers: dict[str, int] = {}
    for number, estimand in enumerate(estimands, start=1):
        name = estimand.family_name
        if estimand.confirmatory and estimand.tested and (first := numbers.setdefault(name, number)) != number:
            with error_place(estimand.place):
                raise DataError(
                    f"Estimands {first} and {number} are both confirmatory and of the family {name!r}: give one of "
                    "them another family."
                )


def _compare_estimands(estimand: Estimand, rival: Estimand, breakdown: Breakdown) -> str:
    """Advice about two estimands of one measure; empty where their labels differ."""
    factors = estimand.compared_factor, rival.compared_factor
    if not estimand.statistic.compares:
        labels = estimand.statistic.labels(estimand.by)
        is_same = {*estimand.by} == {*rival.by} and (DIMENSION not in labels or factors[0] == factors[1])
        return "leave one of them out." if is_same else ""
    if {*estimand.factors} != {*rival.factors}:
        return ""
    contrasts = [set(compared.statistic.contrasts(breakdown)) for compared in (estimand, rival)]
    if factors[0] == factors[1]:
        return "leave one of them out." if contrasts[0] & contrasts[1] else ""
    rivals = [{level for _, level in of_one} for of_one in contrasts]
    if not rivals[0] & rivals[1]:
        return ""
    return (
        f"each breaks the gap of the other's factor down, and both compare with {sorted(rivals[0] & rivals[1])[0]!r}. "
        f"Leave one out, or name different levels by `versus`."
    )
