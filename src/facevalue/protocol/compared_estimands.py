"""Choice of what two runs of a study are compared by, from its estimands."""

from collections.abc import Sequence
from dataclasses import replace

from facevalue.measures.definitions import key_of
from facevalue.protocol.offers import CellComparison
from facevalue.protocol.tasks import Task


def compared_estimands(declared: CellComparison, tasks: Sequence[Task]) -> CellComparison:
    """Return what is declared; else the effects that lead the page, and besides them means and what has no direction.

    Of several estimands of one measure about one factor, such as shifts by cue and shifts by cue and job, the first
    gives the cells, as it is what the page leads with. Without any effect the means are compared, those of answers on a
    scale first. Without means, too, nothing is named.
    """
    if declared.measures:
        return declared
    effects: dict[str, None] = {}
    families: dict[tuple[str, str], str] = {}
    means: dict[str, bool] = {}
    also: dict[str, None] = {}
    for task in tasks:
        for estimand in task.estimands:
            for score in task.scores_of(estimand):
                name = estimand.name_of(task.breakdown)
                key = key_of(name, score.label)
                if estimand.statistic.is_effect and estimand.tested:
                    effects[key] = None
                    families.setdefault((key, estimand.compared_factor), estimand.family_name)
                elif not estimand.statistic.is_level:
                    also[key] = None
                    if estimand.statistic.of_lists:
                        also[key_of(estimand.statistic.companions(name)[0], score.label)] = None
                else:
                    means.setdefault(key, score.span is None)
    ordered = sorted(means, key=lambda key: means[key])
    if not effects:
        return replace(declared, measures=tuple(ordered), also=(*declared.also, *also))
    return replace(
        declared,
        measures=tuple(effects),
        families=tuple(dict.fromkeys(families.values())),
        also=(*declared.also, *ordered, *also),
    )
