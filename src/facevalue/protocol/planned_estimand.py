"""Choice of what a declared study plans for: the first of its tests that a planner can say something of."""

from collections.abc import Sequence
from dataclasses import replace

from facevalue.design import Design
from facevalue.protocol.tasks import Task
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.precision import Precision

_ONLY_DESCRIBED = "it estimates nothing that is tested: {} have intervals, and no effect that is detected"
_NO_ENDS = "its scores have no lowest and highest value, or its only tests are spreads, or ranges of one reply each"


def precision(tasks: Sequence[Task], design: Design) -> tuple[Precision | None, str]:
    """Describe the first test that can be planned for to the planner; and say why none is, or what else there is."""
    estimands = [(task, estimand) for task in tasks for estimand in task.estimands]
    tested = [(task, estimand) for task, estimand in estimands if estimand.tested]
    statistics = [estimand.statistic for _, estimand in estimands]
    levels = [statistic for statistic in statistics if not (statistic.says_difference or statistic.is_level)]
    described = list(dict.fromkeys(statistic.plural or f"{statistic.kind}s" for statistic in levels))
    if not tested:
        return None, _ONLY_DESCRIBED.format(" and ".join(["means", *described]))
    for task, estimand in tested:
        plan = estimand.statistic.precision(estimand, task, task.scores_of(estimand)[0], design)
        if plan is not None:
            return replace(plan, unplanned=_unplanned(estimand, [rival for _, rival in tested], described)), ""
    return None, _NO_ENDS


def _unplanned(planned: Estimand, tested: Sequence[Estimand], described: Sequence[str]) -> str:
    families = dict.fromkeys(rival.family_name for rival in tested if rival.family_name != planned.family_name)
    sentences = []
    if families:
        names = ", ".join(repr(name) for name in families)
        sentences.append(f"That is of the tests called {planned.family_name!r}; of {names} it says nothing.")
    if described:
        text = " and ".join(described)
        sentences.append(f"{text[:1].upper()}{text[1:]} are described and not tested: no effect of them is detected.")
    return " ".join(sentences)
