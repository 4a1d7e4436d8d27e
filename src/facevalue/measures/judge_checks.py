"""Checks of a judge that sorts texts: how far people agree with it, and how far group words alone move it."""

import numpy as np

from facevalue.measures import cluster_bootstrap
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimators import shares
from facevalue.measures.interval_method import name_unmeasured
from facevalue.measures.judge_measures import ALPHAS, RAW
from facevalue.measures.proportions import wilson
from facevalue.measures.rater_agreement import alpha
from facevalue.measures.uncertainty import Estimates, Floor


def agreement(judge: Array, people: Array, metric: str, seed: int) -> dict[str, Estimates]:
    """How far the judge agrees with people, and people with each other.

    Parameters
    ----------
    judge:
        Category of each text as a number, shape (texts,); NaN where it names none.
    people:
        The same of each rater, shape (raters, texts); NaN where a rater did not sort a text.
    metric:
        Of alpha, "nominal" or "interval".

    Returns
    -------
    By the kind of measure; of people with each other only where there are several.

    Examples
    --------
    >>> judge, people = np.array([0.0, 1, 0, 1]), np.array([[0.0, 1, 0, 1], [0.0, 1, 0, 0]])
    >>> checks = agreement(judge, people, "nominal", 1)
    >>> checks["judge_agreement"].value.tolist(), checks["judge_alpha"].value.tolist()
    ([0.875], [1.0])
    """
    out = {ALPHAS[0]: alpha(np.stack([judge, majority(people)]), seed, metric)}
    same = np.where(np.isfinite(people) & np.isfinite(judge), people == judge, np.nan)
    out[RAW[0]] = _share(np.nansum(same, axis=0), np.isfinite(same).sum(axis=0), seed)
    if people.shape[0] > 1:
        out[ALPHAS[1]] = alpha(people, seed, metric)
        pairs = [
            np.where(np.isfinite(first) & np.isfinite(second), first == second, np.nan)
            for at, first in enumerate(people) for second in people[at + 1 :]
        ]  # fmt: skip
        alike = np.stack(pairs)
        out[RAW[1]] = _share(np.nansum(alike, axis=0), np.isfinite(alike).sum(axis=0), seed)
    return out


def majority(people: Array) -> Array:
    """Category that most raters give each text; NaN where none did, or two categories tie.

    Examples
    --------
    >>> majority(np.array([[0.0, 1.0], [0.0, 2.0], [1.0, np.nan]])).tolist()
    [0.0, nan]
    """
    out = np.full(people.shape[1], np.nan)
    for text in range(people.shape[1]):
        values, counts = np.unique(people[np.isfinite(people[:, text]), text], return_counts=True)
        if counts.size and (counts == counts.max()).sum() == 1:
            out[text] = values[counts.argmax()]
    return out


def moved(before: Array, after: Array, again: Array) -> tuple[Estimates, Floor]:
    """Share of texts that are sorted otherwise once something is done to them, and where nothing is.

    Parameters
    ----------
    before, after, again:
        Category of each text as it is, changed, and as it is once more; shape (texts,), -1 where the judge names none,
        NaN where it was not asked. Texts of which all three are there count.

    Returns
    -------
    The share, with Wilson's interval over texts; and as its floor the share that is sorted otherwise when it is asked
    again, with the end of its one-sided interval. Its p is one-sided, that of a sign test of texts that only one of
    the two moves (McNemar 1947): texts are moved no more than by asking again.

    Examples
    --------
    >>> share, floor = moved(np.zeros(10), np.array([1.0] * 5 + [0.0] * 5), np.zeros(10))
    >>> share.value.tolist(), floor.mean.tolist(), floor.p.round(3).tolist()
    ([0.5], [0.0], [0.031])
    """
    from scipy.stats import binom  # noqa: PLC0415 - it takes a second to import

    is_known = np.isfinite(before) & np.isfinite(after) & np.isfinite(again)
    n = int(is_known.sum())
    if not n:
        none = np.full(1, np.nan)
        method = np.array([name_unmeasured("no text with words for groups")], dtype=object)
        return Estimates(none, none, none, np.zeros(1, int), np.zeros(1, int), method, none), Floor(none, none, none)
    is_moved, flips = (after != before)[is_known], (again != before)[is_known]
    flipped, columns = np.array([flips.mean()]), is_moved[:, None].astype(np.float64)
    more, fewer = int((is_moved & ~flips).sum()), int((flips & ~is_moved).sum())
    p = float(binom.sf(more - 1, more + fewer, 0.5)) if more + fewer else np.nan
    upper = wilson(flipped, [n], [n - 1], 0.9)[1]
    return shares(columns, np.ones_like(columns)), Floor(flipped, upper, np.array([p]))


def _share(sums: Array, counts: Array, seed: int) -> Estimates:
    return cluster_bootstrap.means(sums[:, None], counts[:, None].astype(np.float64), seed, level=True)
