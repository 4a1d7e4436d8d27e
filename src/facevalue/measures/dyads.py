"""Shares over pairs of people, where one person stands in several pairs.

Two pairs that share a person are not independent: who looks rich in one comparison does in the next. So the sampled
unit is the person, on either side of a pair, and more pairs of the same people say ever less.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facevalue.measures import proportions
from facevalue.measures.cluster_bootstrap import Array, Estimates

Codes = npt.NDArray[np.int64]

METHOD = "Wilson, dyadic-robust over people"
FEW = "no interval: too few people for a standard error over people"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairShares(Estimates):
    """Shares with their uncertainty over people.

    `n` counts pairs, as far as they weigh; `clusters` is half the effective number of people, rounded: the pairs
    themselves where they share nobody.
    """

    se: Array
    size: Array
    df: Array
    """Effective number of independent pairs and degrees of freedom, with which `p` and the interval are made."""
    most: Array
    """The same number where people don't matter."""

    def p(self, null: float) -> Array:
        """Two-sided p-values against a share: below .05 exactly where the interval leaves it out."""
        return np.where(np.isfinite(self.low), proportions.score_p(self.value, self.size, self.df, null), np.nan)

    def p_least(self, null: float) -> Array:
        """P-values that these people would give if all pairs said the same."""
        extreme = np.full(self.df.shape, 0.0 if null > 0.5 else 1.0)
        return np.where(np.isfinite(self.low), proportions.score_p(extreme, self.most, self.df, null), np.nan)


def shares(hits: Array, weight: Array, people: tuple[Codes, Codes], cell: Codes, cells: int) -> PairShares:
    """Share of hits in each cell, with an interval over people.

    Parameters
    ----------
    hits, weight:
        Shape (pairs,): how much of a pair is a hit, and how much of it counts, 0 <= hits <= weight. Zero weight leaves
        a pair out.
    people:
        Number of the person on either side of each pair, from 0. A pair of two pictures of one person has that person
        twice.
    cell:
        Cell of each pair; negative for none.

    Equation
    --------
    p = Σ hits / Σ weight, e_d = (hits_d - p weight_d) / Σ weight. A person's pairs sum to S_u = Σ_{d with u} e_d, those
    of two people to S_uv. se² = max(Σ_u S_u² - Σ_{u≠v} S_uv², Σ S_uv²): the first is the dyadic cluster-robust variance
    (Fafchamps and Gubert 2007; Aronow, Samii and Assenova 2015, "Cluster-robust variance estimation for dyadic data"),
    the second takes the pairs as independent and is right where people don't matter. Each sum is divided by one minus
    its share of the weight, so that it is what the share moves by if it is left out (jackknife). The degrees of freedom
    are K/2 - 1, K = (Σ_u w_u)² / Σ_u w_u² the effective number of people by their weight: for pairs that share nobody,
    one less than there are. The interval is Wilson's with p (1 - p) / se² pairs (`proportions.wilson`); where all pairs
    say the same there is no variance to go by, and two people count as one pair.

    Examples
    --------
    >>> one = np.array([1.0, 0.0, 1.0, 1.0])
    >>> apart, together = ((np.arange(4), 4 + np.arange(4)), (np.zeros(4, int), 1 + np.arange(4)))
    >>> [shares(one, np.ones(4), who, np.zeros(4, int), 1).df.round(1).item() for who in (apart, together)]
    [3.0, 0.6]
    """
    used = (weight > 0) & (cell >= 0)
    hits, weight, cell = hits[used], weight[used], cell[used]
    first, second = (np.asarray(side)[used] for side in people)
    alone = first == second
    total = np.bincount(cell, weights=weight, minlength=cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(np.where(total > 0, np.bincount(cell, weights=hits, minlength=cells) / total, np.nan), 0.0, 1.0)
    part = weight / total[cell]
    error = part * (np.divide(hits, weight) - share[cell])

    sides = np.concatenate([np.arange(first.size), np.flatnonzero(~alone)])
    who = np.concatenate([first, second[~alone]])
    squares, parts, parts_squared = _summed(error[sides], part[sides], cell[sides], who, cells)
    low, high = np.minimum(first, second), np.maximum(first, second)
    span = int(high.max(initial=0)) + 1
    both, _, _ = _summed(error, part, cell, low * span + high, cells)
    shared, _, _ = _summed(error[~alone], part[~alone], cell[~alone], (low * span + high)[~alone], cells)
    se = np.sqrt(np.fmax(squares - shared, both))
    with np.errstate(invalid="ignore", divide="ignore"):
        people_counted = parts**2 / parts_squared
    df = people_counted / 2 - 1
    se = np.where(df > 0, se, np.nan)
    size = proportions.effective_size(share, se, people_counted / 2)
    lower, upper = proportions.wilson(share, size, df)
    method = np.where(df > 0, METHOD, FEW).astype(object)
    return PairShares(
        value=share, low=lower, high=upper, n=np.rint(total).astype(np.int64),
        clusters=np.rint(np.nan_to_num(people_counted / 2)).astype(np.int64), method=method, se=se, size=size, df=df,
        most=people_counted / 2,
    )  # fmt: skip


def _summed(error: Array, part: Array, cell: Codes, key: Codes, cells: int) -> tuple[Array, Array, Array]:
    """Sum over the keys of each cell: squared jackknife moves, parts, and squared parts."""
    span = int(key.max(initial=0)) + 1
    names, at = np.unique(cell * span + key, return_inverse=True)
    moves, parts = (np.bincount(at, weights=x, minlength=names.size) for x in (error, part))
    moved = moves / np.maximum(1.0 - parts, _LEAST_REST)
    owner = names // span
    out = np.array([np.bincount(owner, weights=x, minlength=cells) for x in (moved**2, parts, parts**2)])
    return out[0], out[1], out[2]


_LEAST_REST = 0.2
"""A person who is in all pairs cannot be left out: what is left is taken as this share at least."""
