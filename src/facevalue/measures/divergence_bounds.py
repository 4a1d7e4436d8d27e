"""Bounds of divergences between groups' choices: what the missing answers could have made of them."""

import numpy as np

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.divergence import Choices, jsd
from facevalue.measures.uncertainty import Bounds

_ITERATIONS = 1000


def divergence_bounds(choices: Choices) -> Bounds:
    """Smallest and largest divergence of each group at each question, wherever the missing answers had gone.

    Returns arrays of shape (groups x questions,), groups outermost, in nats times 1000. The missing answers of each
    group may have been any of the choices that somebody made.

    Equation
    --------
    low = min JSD_g over P_h = (v_h + m_h a_h) / (Σ v_h + m_h), v_h the valid answers of group h, m_h how many are
    missing, a_h any distribution: a convex problem, by exponentiated gradients (Kivinen and Warmuth 1997). high: the
    largest with all missing answers of g at one choice, and all those of the others at one.

    Examples
    --------
    >>> weights = np.array([[[3.0, 1.0]], [[1.0, 3.0]]])
    >>> whole, partly = (Choices(weights, np.full((2, 1), asked), np.arange(2), 2) for asked in (4.0, 8.0))
    >>> [divergence_bounds(one).low.round(1).tolist() for one in (whole, partly)]
    [[33.8, 33.8], [0.0, 0.0]]
    """
    shape = (choices.groups, *choices.weights.shape[1:])
    counts, requests = np.zeros(shape), np.zeros(shape[:2])
    inside = choices.group >= 0
    np.add.at(counts, choices.group[inside], choices.weights[inside])
    np.add.at(requests, choices.group[inside], choices.asked[inside])
    missing = np.maximum(requests - counts.sum(axis=2), 0.0)
    ends = np.array([_ends(counts[:, at], missing[:, at]) for at in range(shape[1])]).reshape(shape[1], 2, shape[0])
    value = np.swapaxes(jsd(np.swapaxes(counts, 0, 1)), 0, 1).ravel()
    low, high = np.fmin(ends[:, 0].T.ravel(), value), np.fmax(ends[:, 1].T.ravel(), value)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Bounds(value, low, high, (missing / requests).ravel(), np.full(value.shape, np.nan))


def _ends(counts: Array, missing: Array) -> tuple[Array, Array]:
    """Smallest and largest divergence of each group at one question; `counts`: shape (groups, choices)."""
    chosen, groups = np.flatnonzero(counts.sum(axis=0) > 0), len(counts)
    if not chosen.size or not missing.any():
        value = jsd(counts)
        return value, value
    observed = counts[:, chosen]
    itself_mask = np.eye(groups, dtype=np.bool_)[:, None, None, :, None]
    # Of each group: its own missing answers at one choice, and those of all others at one.
    corners = np.eye(chosen.size)
    moved = np.where(itself_mask, corners[None, :, None, None, :], corners[None, None, :, None, :]) * missing[:, None]
    largest = np.diagonal(jsd(observed + moved), axis1=0, axis2=3)
    return _least(observed, missing), np.fmax.reduce(largest, axis=(0, 1))


def _least(counts: Array, missing: Array) -> Array:
    groups = len(counts)
    total = counts.sum(axis=1) + missing
    answered = total > 0
    share = np.where(answered, missing / np.maximum(total, 1e-300), 0.0)[:, None]
    fixed = counts / np.maximum(total, 1e-300)[:, None]
    start = (counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True)
    placed = np.tile(start, (groups, 1, 1))  # of each group's problem: where all groups' missing answers go
    itself = np.eye(groups)[:, :, None]
    weight = answered / max(answered.sum(), 1)
    for _ in range(_ITERATIONS):
        shares = fixed + share * placed + 1e-12
        of_all = (weight[:, None] * shares).sum(axis=1)
        of_itself = (itself * shares).sum(axis=1)
        middle = (of_itself + of_all) / 2
        slope = itself * np.log(of_itself / middle)[:, None] + weight[:, None] * np.log(of_all / middle)[:, None]
        placed = placed * np.exp(-2 * slope)  # four times the gradient over the share that may move: no step overshoots
        placed /= placed.sum(axis=2, keepdims=True)
    moved = jsd(counts + missing[:, None] * placed)
    return np.asarray(np.diagonal(moved))
