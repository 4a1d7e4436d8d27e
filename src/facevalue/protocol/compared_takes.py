"""Choice of what two runs of a study are compared by, from its takes."""

from collections.abc import Sequence
from dataclasses import replace

from facevalue.protocol.definitions import companions, measure_name
from facevalue.protocol.offers import CellComparison
from facevalue.protocol.takes import FLIP, MEAN, SIMILARITY, UNSIGNED
from facevalue.protocol.tasks import Task

_DESCRIBED = (FLIP, SIMILARITY)


def compared_takes(declared: CellComparison, tasks: Sequence[Task]) -> CellComparison:
    """Return what is declared; else a measure of each score, and besides what has no direction.

    That of a score is its mean, or, where there are means of others alone, the first take of it that has a direction.
    Means of answers on a scale come first. Without any mean nothing is named: the lead of the page is compared.
    """
    if declared.measures:
        return declared
    by_score: dict[str, str] = {}
    means: dict[str, bool] = {}
    also: dict[str, None] = {}
    rows = ((task, take, score) for task in tasks for take in task.takes for score in task.scores_of(take))
    for task, take, score in rows:
        name = measure_name(take, task.breakdown, score)
        if take.measure in (*UNSIGNED, *_DESCRIBED):
            also[name] = None
            if take.measure == SIMILARITY:
                also[companions(take, name)[0]] = None
        elif take.measure == MEAN:
            means.setdefault(name, score.span is None)
            by_score[score.name] = name
        else:
            by_score.setdefault(score.name, name)
    names = [*sorted(means, key=lambda name: means[name]), *by_score.values()] if means else []
    return replace(declared, measures=tuple(dict.fromkeys(names)), also=(*declared.also, *also))
