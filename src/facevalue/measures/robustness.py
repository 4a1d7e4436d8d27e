"""Robustness to paraphrase: match rates over three wordings of a question (VIGNETTE, Table 11)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from facevalue.measures.cluster_bootstrap import Array

WORDINGS = 3
_SLACK = 1e-6


class MatchRates(NamedTuple):
    """How probable it is that three wordings get one answer, two answers, or three; arrays of one shape, sum 1."""

    full: Array
    partial: Array
    different: Array


def match_rates(shares: Array) -> MatchRates:
    """Match rates of each trial over its three wordings.

    `shares`: shape (..., 3, options): the answer to each wording, as 0 and 1 where it was sampled, or as the
    probabilities of the options. NaN where a wording has no valid answer.
    Returns arrays of shape (...): 0 and 1 for sampled answers; else what independent draws give on average. NaN where a
    wording has no valid answer.

    Equation
    --------
    With s_w the shares of wording w: full Σ_o s_1o s_2o s_3o; all different 1 - Σ_{v<w} Σ_o s_vo s_wo + 2 full; partial
    (exactly two the same) the rest (VIGNETTE, section A.3, Table 11).

    Raises
    ------
    ValueError
        Not three wordings, or shares that are not between 0 and 1 or don't sum to 1.

    Notes
    -----
    With two options three answers cannot all differ: `different` is 0 for whatever is answered.

    Examples
    --------
    >>> sampled = np.eye(3)[[[0, 0, 0], [0, 1, 0], [2, 1, 0]]]
    >>> [rate.tolist() for rate in match_rates(sampled)]
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    shares = np.asarray(shares, dtype=np.float64)
    if shares.ndim < 2 or shares.shape[-2] != WORDINGS:
        raise ValueError(f"shares needs the shape (..., {WORDINGS}, options).")
    is_known = ~np.isnan(shares).any(axis=(-1, -2))
    inside = (shares >= -_SLACK) & (shares <= 1 + _SLACK)
    is_whole = np.abs(shares.sum(axis=-1) - 1) <= _SLACK
    if not (inside.all(axis=(-1, -2)) & is_whole.all(axis=-1))[is_known].all():
        raise ValueError("Shares lie between 0 and 1 and sum to 1 over the options.")
    a, b, c = (shares[..., w, :] for w in range(WORDINGS))
    full = (a * b * c).sum(axis=-1)
    pairs = (a * b + a * c + b * c).sum(axis=-1)
    different = np.clip(1 - pairs + 2 * full, 0.0, 1.0)
    return MatchRates(full, np.clip(1 - full - different, 0.0, 1.0) + 0.0 * full, different)


def chance(options: Sequence[float]) -> MatchRates:
    """Match rates of answers drawn without regard to the question.

    `options`: how probable each option is, the same for all wordings.

    Examples
    --------
    >>> [float(rate) for rate in chance([0.5, 0.5])]
    [0.25, 0.75, 0.0]
    >>> [float(rate) for rate in chance([0.25] * 4)]
    [0.0625, 0.5625, 0.375]
    """
    return match_rates(np.tile(np.asarray(options, dtype=np.float64), (WORDINGS, 1)))
