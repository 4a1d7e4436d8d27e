"""Choice of what a declared study plans for: the first of its tests that a planner can say something of."""

from collections.abc import Sequence
from dataclasses import replace

from facevalue.design import Design
from facevalue.protocol.expected_precision import Precision
from facevalue.protocol.planning import of_direction
from facevalue.protocol.takes import FLIP, RANGE, SIMILARITY, SPREAD, TALLY, Take
from facevalue.protocol.tasks import Task
from facevalue.protocol.unsigned_precision import of_range, of_tally

_DESCRIBED = {SIMILARITY: "similarities", FLIP: "flips"}
_ONLY_DESCRIBED = "it takes nothing that is tested: {} have intervals, and no effect that is detected"
_NO_ENDS = "its scores have no lowest and highest value, or its only tests are spreads, or ranges of one reply each"


def precision(tasks: Sequence[Task], design: Design) -> tuple[Precision | None, str]:
    """Describe the first test that can be planned for to the planner; and say why none is, or what else there is."""
    takes = [(task, take) for task in tasks for take in task.takes]
    tested = [(task, take) for task, take in takes if take.tested]
    described = [name for kind, name in _DESCRIBED.items() if any(take.measure == kind for _, take in takes)]
    if not tested:
        return None, _ONLY_DESCRIBED.format(" and ".join(["means", *described]))
    for task, take in tested:
        plan = _of_take(task, take, design)
        if plan is not None:
            return replace(plan, unplanned=_unplanned(take, [other for _, other in tested], described)), ""
    return None, _NO_ENDS


def _of_take(task: Task, take: Take, design: Design) -> Precision | None:
    if take.measure == SPREAD:
        return None
    describe = {RANGE: of_range, TALLY: of_tally}.get(take.measure, of_direction)
    return describe(task, take, task.scores_of(take)[0], design)


def _unplanned(planned: Take, tested: Sequence[Take], described: Sequence[str]) -> str:
    families = dict.fromkeys(take.named() for take in tested if take.named() != planned.named())
    sentences = []
    if families:
        names = ", ".join(repr(name) for name in families)
        sentences.append(f"That is of the tests called {planned.named()!r}; of {names} it says nothing.")
    if described:
        text = " and ".join(described)
        sentences.append(f"{text[:1].upper()}{text[1:]} are described and not tested: no effect of them is detected.")
    return " ".join(sentences)
