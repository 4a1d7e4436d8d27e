"""Pairs of a yes-no question and its negation: what equal and differing answers say.

VisBias (section 2.1, II) asks each question twice: once as it is, once with the images swapped and the wording turned
round, which makes it the negation of the first. So a model that ranks the two people answers them *differently*. One
that sees no difference says no to both, and equal yes contradicts itself. The published rate (Table 6) is that of
differing answers; the other two are ours.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facevalue.measures import dyads
from facevalue.measures.cluster_bootstrap import Array, Estimates


@dataclass(frozen=True, slots=True)
class Consistency:
    """Shares of pairs by group, with intervals; each of shape (groups,)."""

    ranked: Estimates
    unranked: Estimates
    contradicted: Estimates
    """Of the pairs with both answers; they sum to one."""
    published: Estimates
    """Differing answers of all pairs asked, as Table 6 counts: a pair without an answer counts as not differing."""


def consistency(
    first: Array,
    second: Array,
    group: npt.NDArray[np.int64] | None = None,
    groups: int = 1,
    people: tuple[dyads.Codes, dyads.Codes] | None = None,
) -> Consistency:
    """Classify pairs of answers.

    Parameters
    ----------
    first, second:
        Shape (pairs,): the answers to the question and to its swapped negation, each the probability of yes, so 0 or 1
        where an answer was sampled; NaN for N/A.
    group:
        Group of each pair (an occupation, an attribute); negative for none. By default all belong to one.
    people:
        Number of the person on either side of each pair; by default nobody stands in two pairs.

    Raises
    ------
    ValueError
        If shapes differ, or a probability lies outside [0, 1].

    Equation
    --------
    With a, b the probabilities of yes: ranked a(1-b) + (1-a)b, unranked (1-a)(1-b), contradicted ab; the two replies
    are drawn independently of each other.

    Examples
    --------
    >>> yes, no = 1.0, 0.0
    >>> found = consistency(np.array([yes, no, no, yes]), np.array([no, no, np.nan, yes]))
    >>> found.ranked.value.round(3).item(), found.published.value.item()
    (0.333, 0.25)
    """
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError("The answers to a question and to its negation need one shape, (pairs,).")
    for answers in (first, second):
        if ((answers < 0) | (answers > 1)).any():
            raise ValueError("The probability of yes lies between 0 and 1.")
    group = np.zeros(first.size, dtype=np.int64) if group is None else np.asarray(group)
    if group.shape != first.shape or (group.size and int(group.max()) >= groups):
        raise ValueError(f"group needs the shape of the answers, and values below {groups}.")
    complete = ~np.isnan(first) & ~np.isnan(second)
    a, b = np.nan_to_num(first), np.nan_to_num(second)
    inside = group >= 0

    if people is None:
        people = (2 * np.arange(a.size), 2 * np.arange(a.size) + 1)
    whose = people

    def share(hits: Array, weight: Array) -> Estimates:
        return dyads.shares(np.where(complete, hits, 0.0), weight, whose, np.where(inside, group, -1), groups)

    valid, all_pairs = complete.astype(np.float64), np.ones(a.size)
    ranked = a * (1 - b) + (1 - a) * b
    return Consistency(
        ranked=share(ranked, valid),
        unranked=share((1 - a) * (1 - b), valid),
        contradicted=share(a * b, valid),
        published=share(ranked, all_pairs),
    )
