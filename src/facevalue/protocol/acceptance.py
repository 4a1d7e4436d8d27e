"""Acceptance of declarations: what a run and its report would come to grief over is refused before anything is asked.

Stored runs are not held to it: what began under older rules is still read.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod

from facevalue.answers.sorting import Sorting
from facevalue.errors import DataError, UnknownNameError, placed
from facevalue.protocol.asks import ORDERING, Ask
from facevalue.protocol.definitions import INSTRUMENT, companions, kind_of, margins, measure_name, measures
from facevalue.protocol.replies import Options, Score
from facevalue.protocol.slots import OPTIONS, slots
from facevalue.protocol.takes import (
    BESIDE_FLOOR,
    GAP,
    MOST_GROUPS,
    MOST_LEVELS,
    RANGE,
    SHIFT,
    SIMILARITY,
    UNSIGNED,
    Breakdown,
    Take,
)
from facevalue.protocol.tasks import TASK, Task
from facevalue.protocol.written import outside_of

_ANSWERS = frozenset((
    *("mass", "na", "reply", "repeat", "status", "text", "entries", "probs", "weight", "trial", "block", "image"),
    *("path", "identity", "set", "seed", "at", ORDERING, TASK),
))  # fmt: skip
"""Columns of answers beside scores and factors."""
MOST_ESTIMATES = 10_000
"""Estimates of one take."""
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
        for take in task.takes:
            with placed(take.where):
                check_take(take, task.breakdown)
                if take.margin is not None:
                    check_margin(take, task)
        check_names(task.breakdown, task.scores)
        with placed(ask.where):
            check_wordings(ask)
        if isinstance(ask.reply, Options):
            with placed(ask.reply.where):
                check_options(ask.reply, [*ask.slot_texts, *task.breakdown.sets.columns])
    check_sortings(tasks)
    check_size(tasks)
    check_measures(tasks)
    for task in tasks:
        check_apart(task.takes, task.breakdown, task.scores)
        check_families(task.takes)


def check_margin(take: Take, task: Task) -> None:
    """Refuse a margin that no value can lie beyond."""
    from facevalue.measures.value_limits import check_margins  # noqa: PLC0415 - slow to import

    limits = margins((take,), task.breakdown, task.scores)
    check_margins(limits, tuple(measures((take,), task.breakdown, task.scores).values()))


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
    for text in reply.texts.values():
        for name in (*slots(text), *(["options"] if OPTIONS in text else [])):
            if name not in filled:
                raise UnknownNameError("slot of the options", name, filled)
    for name in reply.keys:
        if name not in filled:
            raise UnknownNameError("column that names an option", name, filled)


def check_tokens(tokens: int) -> None:
    """Refuse a limit of replies within which nothing can be said."""
    if not 1 <= tokens <= MOST_TOKENS:
        raise DataError(f"max_tokens is the longest reply, 1 to {MOST_TOKENS:,} tokens, not {tokens:,}.")


def check_size(tasks: Sequence[Task]) -> None:
    """Refuse a study whose answers no memory holds."""
    prompts = sum(prod(len(factor) for factor in task.ask.factors()) for task in tasks)
    size = len(tasks[0].axes.images) * prompts * tasks[0].axes.repeats
    if size > MOST_REQUESTS:
        raise DataError(
            f"The study asks {size:,} requests; {MOST_REQUESTS:,} are the most. Show fewer pictures, or ask fewer "
            "levels, wordings or seeds."
        )


def check_take(take: Take, breakdown: Breakdown) -> None:
    """Refuse a take that says what is not looked at, or makes more estimates than a page can show."""
    if take.on == SHIFT and take.measure != GAP:
        raise DataError(f'A {take.measure} is not "on" shifts, gaps are: leave out on = "shift", or take a gap.')
    if take.of and not take.optional and (finer := next((n for n in take.by if breakdown.nests(take.of, n)), "")):
        raise DataError(
            f"Each {finer!r} has one level of {take.of!r}, so that a {take.measure} by {finer} compares nothing: leave "
            "it out of `by`."
        )
    counts = {name: len(breakdown.levels(name)) for name in (*take.by, take.of) if name}
    for name, many in counts.items():
        if many > MOST_LEVELS:
            raise DataError(
                f"The factor {name!r} has {many:,} levels; a {take.measure} tells {MOST_LEVELS:,} apart at most. Group "
                "them by another factor."
            )
    if take.measure in (*UNSIGNED, SIMILARITY) and counts.get(take.of, 0) > MOST_GROUPS:
        raise DataError(
            f"The factor {take.of!r} has {counts[take.of]:,} levels; a {take.measure} is between {MOST_GROUPS} "
            "groups at most. Group them by another factor."
        )
    cue = [name for name in breakdown.sets.cue if name in take.by]  # its columns go together and are not crossed
    cues = breakdown.sets.manifest.select(cue).n_unique() if cue else 1
    compared = len(breakdown.contrasts(take)) if take.compares else 1
    if (many := cues * compared * prod(counts[name] for name in take.by if name not in cue)) > MOST_ESTIMATES:
        raise DataError(
            f"A {take.measure} by {', '.join(counts)} makes {many:,} estimates; {MOST_ESTIMATES:,} are the most. Break "
            "it down by fewer factors."
        )


def check_apart(takes: Sequence[Take], breakdown: Breakdown, scores: Sequence[Score]) -> None:
    """Refuse two takes of which some estimates would have the same labels, so that nothing told them apart."""
    for (first, take), (second, rival) in combinations(enumerate(takes, start=1), 2):
        for score in _both(take, rival, scores):
            if measure_name(take, breakdown, score) != measure_name(rival, breakdown, score):
                continue
            if shared := _shared(take, rival, breakdown):
                of = f" of {score.name!r}" if len(scores) > 1 else ""
                with placed(rival.where):
                    raise DataError(f"Takes {first} and {second} make the same estimates{of}: {shared}")


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
    kinds: dict[str, tuple[str, str]] = {}
    taken = ((task.breakdown, take, score) for task in tasks for take in task.takes for score in task.scores_of(take))
    checks = {*INSTRUMENT, *(name for task in tasks for name in outside_of(task.ask.reply).statuses)}
    for breakdown, take, score in taken:
        name, kind = measure_name(take, breakdown, score), kind_of(take, breakdown)
        for label in (name, *companions(take, name)):
            suffix = "tail" if take.measure == RANGE else "size"
            noun = label.rpartition("_")[2] if take.measure in BESIDE_FLOOR else suffix
            entry = (kind if label == name else f"{noun} of a {kind}", score.name)
            if label in checks or kinds.setdefault(label, entry)[0] != entry[0]:
                holder = "check of the instrument" if label in checks else kinds[label][0]
                with placed(take.where):
                    raise DataError(f"A {entry[0]} and a {holder} would both be called {label!r}. Rename one.")
            if kinds[label] != entry:
                raise DataError(
                    f"The scores {kinds[label][1]!r} and {score.name!r} both have a measure {label!r}. Rename one."
                )
    for task in tasks:
        margins(task.takes, task.breakdown, task.scores)


def check_families(takes: Sequence[Take]) -> None:
    """Refuse two confirmatory takes of one family: each has its own correction."""
    first_takes: dict[str, int] = {}
    for number, take in enumerate(takes, start=1):
        if take.confirmatory and take.tested and (first := first_takes.setdefault(take.named(), number)) != number:
            with placed(take.where):
                raise DataError(
                    f"Takes {first} and {number} are both confirmatory and of the family {take.named()!r}: give one of "
                    "them another family."
                )


def _both(take: Take, rival: Take, scores: Sequence[Score]) -> Iterator[Score]:
    return (s for s in scores if all(not t.scores or s.name in t.scores for t in (take, rival)))


def _shared(take: Take, rival: Take, breakdown: Breakdown) -> str:
    """What is to be done about two takes of one measure; empty where their labels differ."""
    by = ({*take.by}, {*rival.by})
    if not take.compares:
        same = by[0] == by[1] and (take.measure not in UNSIGNED or take.of == rival.of)
        return "leave one of them out." if same else ""
    if {*take.by, take.of} != {*rival.by, rival.of}:
        return ""
    if take.of == rival.of:
        return "leave one of them out." if set(breakdown.contrasts(take)) & set(breakdown.contrasts(rival)) else ""
    rivals = [{level for _, level in breakdown.contrasts(t)} for t in (take, rival)]
    if not rivals[0] & rivals[1]:
        return ""
    return (
        f"each breaks the gap of the other's factor down, and both compare with {sorted(rivals[0] & rivals[1])[0]!r}. "
        f"Leave one out, or name different levels by `versus`."
    )
