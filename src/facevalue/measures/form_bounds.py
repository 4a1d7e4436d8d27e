"""Bounds of shifts in forms: what fields without a category, and forms without a reply, could have made of them."""

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.conditional_kl import DEFAULT, Forms, kl_limit, members_and_votes
from facevalue.measures.distance_bounds import kl_bounds, share_ranges
from facevalue.measures.uncertainty import Bounds, unbounded


def form_bounds(forms: Forms, shifts: pl.DataFrame, conditions: str) -> Bounds:
    """Between what each shift would lie, whatever the missing fields are.

    Parameters
    ----------
    shifts, conditions:
        Rows of `conditional_kl.graph`, and the conditions that they were taken with, smoothed as by default.

    Equation
    --------
    `distance_bounds.kl_bounds`. Votes of the outcome are missing where a form has no category in it; they count for the
    condition if the form meets it, and may if nobody knows whether it does: if it has no category there either, or no
    reply. Votes of a form with an outcome, and without a category in the condition, may count for the condition.

    Examples
    --------
    >>> from facevalue.measures.conditional_kl import graph
    >>> names, eye = (("a1", "a2"), ("b1", "b2")), np.eye(2)[[0] * 10 + [1] * 10]
    >>> whole, few = (Forms(("a", "b"), names, (eye, eye), np.zeros((20, 2), bool), lost) for lost in (0, 1))
    >>> [form_bounds(x, graph(x, 0), "completed").low.round(2).tolist() for x in (whole, few)]
    [[0.88, 0.88, 0.88, 0.88], [0.36, 0.36, 0.36, 0.36]]
    """
    members = list(members_and_votes(forms, conditions))
    absent = np.stack([weights.sum(axis=1) == 0 for weights in forms.weights], axis=1) & ~forms.prefilled
    place = {name: at for at, name in enumerate(forms.attributes)}
    order, bounds = [np.empty(0, np.int64)], []
    for outcome, rows in shifts.with_row_index("row").group_by("outcome", maintain_order=True):
        at = place[str(outcome[0])]
        owner = np.array([place[name] for name in rows["attribute"]], dtype=np.int64)
        choice = [forms.choices[i].index(name) for i, name in zip(owner, rows["choice"], strict=True)]
        met = np.stack([members[i][0][:, c] for i, c in zip(owner, choice, strict=True)], axis=1)
        unknown = np.where(conditions == "prefilled", 0.0, absent[:, owner].astype(np.float64))
        bounds.append(_of_outcome(rows["value"].to_numpy(), members[at][1], absent[:, at], met, unknown, forms.lost))
        order.append(rows["row"].to_numpy().astype(np.int64))
    return Bounds.concatenate(bounds).at(np.argsort(np.concatenate(order))) if bounds else unbounded(np.empty(0))


def _of_outcome(
    value: Array, votes: Array, without: npt.NDArray[np.bool_], met: Array, unknown: Array, lost: int
) -> Bounds:
    """Bounds of shifts of one outcome.

    Parameters
    ----------
    votes, without:
        Votes of each form for its categories, shape (forms, categories), and which forms have none and should.
    met, unknown:
        Which forms meet each condition, and of which nobody knows, shape (forms, conditions).
    """
    counts, possible = met.T @ votes, unknown.T @ votes
    more = (met + unknown)[without].sum(axis=0) + lost
    base = share_ranges(votes.sum(axis=0), without.sum() + lost)
    condition = share_ranges(counts, more, possible, base, DEFAULT.amount)
    bounds = kl_bounds(value, base, condition)
    limit = np.fmax(kl_limit((counts + possible).sum(axis=1) + more), value)
    return Bounds(bounds.value, bounds.low, np.fmin(bounds.high, limit), bounds.missing, bounds.se)
