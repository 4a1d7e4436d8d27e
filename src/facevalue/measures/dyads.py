"""Shares over pairs of people, where one person stands in several pairs.

Two pairs that share a person are not independent: who looks rich in one comparison does in the next. So the sampled
unit is the person, on either side of a pair, and more pairs of the same people say ever less.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from facevalue.measures import proportions
from facevalue.measures.cluster_bootstrap import Array, Estimates, only_values
from facevalue.measures.terms import Terms, record, terms_of

Codes = npt.NDArray[np.int64]

METHOD = "Wilson, dyadic-robust over people"
FEW = "no interval: too few people for a standard error over people"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairShares(Estimates):
    """Shares with their uncertainty over people.

    `n` counts pairs, as far as they weigh; `clusters` is the effective number of units, rounded: half that of people,
    so the pairs themselves where they share nobody.
    """

    se: Array
    size: Array
    df: Array
    """Effective number of independent answers, and degrees of freedom of the standard error (`tail_df`), with which `p`
    and the interval are made."""
    most: Array
    """Effective number of independent pairs where people don't matter."""

    def p(self, null: npt.ArrayLike) -> Array:
        """Two-sided p-values against a share: below .05 exactly where the interval leaves it out."""
        return np.where(np.isfinite(self.low), proportions.score_p(self.value, self.size, self.df, null), np.nan)

    def p_least(self, null: npt.ArrayLike) -> Array:
        """P-values that these people would give if all pairs said the same."""
        extreme = np.where(np.asarray(null) > 0.5, 0.0, 1.0) + 0 * self.most
        freedom = tail_df(self.most - 1, self.most)
        return np.where(np.isfinite(self.low), proportions.score_p(extreme, self.most, freedom, null), np.nan)


def tail_df(df: Array, size: Array) -> Array:
    """Degrees of freedom of a share's standard error, more of them the nearer its units are to a yes or a no.

    `df`: of the units. `size`: effective number of independent answers.

    Equation
    --------
    df (1 + 2r) / (1 - r), r = min(df / size, df / (df + 1)): r is the variance of units as a part of p (1 - p), which
    units of a mere yes or no have; s² of n values has the variance 2 σ⁴/n (1 + excess/2), and the excess kurtosis of a
    symmetric beta distribution is -6r / (1 + 2r). Shares of graded units keep df, those of yes and no have nearly the
    normal's: what they vary by follows from the share itself.

    Examples
    --------
    >>> tail_df(np.array([19.0, 19.0]), np.array([19.0, 1900.0])).round(1).tolist()
    [1102.0, 19.6]
    """
    fraction = np.minimum(df / size, df / (df + 1))
    return df * (1 + 2 * fraction) / (1 - fraction)


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
    its share of the weight, so that it is what the share moves by if it is left out (jackknife). The units are
    Σ_u w_u / Σ_u w_u², w_u the share of the weight in which person u stands: half the effective number of people, or
    all of it where nobody has a second person beside them; for pairs that share nobody, as many as there are. Their
    degrees of freedom are one less, and more where pairs are a yes or a no (`tail_df`). The interval is Wilson's with
    p (1 - p) / se² pairs (`proportions.wilson`); where all pairs say the same there is no variance to go by, and each
    unit counts as one answer.

    Examples
    --------
    >>> one = np.array([1.0, 0.0, 1.0, 1.0])
    >>> apart, together = ((np.arange(4), 4 + np.arange(4)), (np.zeros(4, int), 1 + np.arange(4)))
    >>> [shares(one, np.ones(4), who, np.zeros(4, int), 1).most.round(1).item() for who in (apart, together)]
    [4.0, 1.6]
    """
    used = (weight > 0) & (cell >= 0)
    hits, weight, cell = hits[used], weight[used], cell[used]
    first, second = (np.asarray(side)[used] for side in people)
    alone = first == second
    total = np.bincount(cell, weights=weight, minlength=cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(np.where(total > 0, np.bincount(cell, weights=hits, minlength=cells) / total, np.nan), 0.0, 1.0)
    weight_share = weight / total[cell]
    error = weight_share * (np.divide(hits, weight) - share[cell])

    sides = np.concatenate([np.arange(first.size), np.flatnonzero(~alone)])
    person = np.concatenate([first, second[~alone]])
    terms = _terms(hits, weight, first, second, cell, cells)
    squares, weight_shares, parts_squared = _summed(error[sides], weight_share[sides], cell[sides], person, cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        units = weight_shares / parts_squared
    n, clusters = np.rint(total).astype(np.int64), np.rint(np.nan_to_num(units)).astype(np.int64)
    if only_values():
        none, methods = np.full(cells, np.nan), np.full(cells, FEW, dtype=object)
        return PairShares(
            value=share, low=none, high=none, n=n, clusters=clusters, method=methods, se=none, size=none, df=none,
            most=none, terms=terms,
        )  # fmt: skip
    low, high = np.minimum(first, second), np.maximum(first, second)
    span = int(high.max(initial=0)) + 1
    of_couples, _, _ = _summed(error, weight_share, cell, low * span + high, cells)
    shared, _, _ = _summed(error[~alone], weight_share[~alone], cell[~alone], (low * span + high)[~alone], cells)
    se = np.sqrt(np.fmax(squares - shared, of_couples))
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.where(units > 1, se, np.nan)
        size = proportions.effective_size(share, se, units)
        df = tail_df(units - 1, size)
        lower, upper = proportions.wilson(share, size, df)
    method = np.where(units > 1, METHOD, FEW).astype(object)
    return PairShares(
        value=share,
        low=lower,
        high=upper,
        n=n,
        clusters=clusters,
        method=method,
        se=se,
        size=size,
        df=df,
        most=units,
        terms=terms,
    )


def _terms(hits: Array, weight: Array, first: Codes, second: Codes, cell: Codes, cells: int) -> Terms | None:
    """What shares are made of: the pairs of each person, so that a pair of two people is among those of both."""
    if record() is None:
        return None
    people, apart = int(max(first.max(initial=-1), second.max(initial=-1))) + 1, first != second

    def by_person(values: Array) -> Array:
        size = people * cells
        alone = np.bincount(first * cells + cell, values, size) + np.bincount(
            (second * cells + cell)[apart], values[apart], size
        )
        return alone.reshape(people, cells).astype(np.float64)

    s, n = (np.bincount(cell, values, cells).astype(np.float64) for values in (hits, weight))
    plural = "people" if apart.any() else ""
    return terms_of(by_person(hits), by_person(weight), totals=(s, n), plural=plural)


def units(weight_share: Array, people: tuple[Codes, Codes]) -> float:
    """Effective number of independent units of pairs with these parts of the weight, as `shares` counts them."""
    first, second = people
    alone = first == second
    weights = np.bincount(np.concatenate([first, second[~alone]]), np.concatenate([weight_share, weight_share[~alone]]))
    return float(weights.sum() / (weights**2).sum())


def covariance(error: Array, weight_share: Array, people: tuple[Codes, Codes]) -> Array:
    """Covariance of the shares of several cells over the same pairs, by `shares`' rule.

    `error`, `part`: shape (pairs, cells): what each pair adds to a share's error, and its part of the cell's weight.
    Returns shape (cells, cells), with the variances of `shares` and no negative eigenvalue.

    Examples
    --------
    >>> two = np.array([[0.25], [-0.25]]), np.full((2, 1), 0.5)
    >>> covariance(*two, (np.array([0, 1]), np.array([2, 3]))).item()
    0.5
    """
    first, second = people
    pairs, span = np.arange(first.size), int(max(first.max(initial=0), second.max(initial=0))) + 1
    couple = np.minimum(first, second) * span + np.maximum(first, second)
    alone = first == second
    sides = np.concatenate([pairs, pairs[~alone]])
    by_person = _moves(np.concatenate([first, second[~alone]]), sides, error, weight_share)
    by_couple = _moves(couple, pairs, error, weight_share)
    shared = _moves(couple[~alone], pairs[~alone], error, weight_share)
    values, vectors = np.linalg.eigh(by_person.T @ by_person - shared.T @ shared)
    covariances = vectors * np.maximum(values, 0.0) @ vectors.T
    smallest = (by_couple**2).sum(axis=0)
    variances = np.diag(covariances)
    wider = np.sqrt(
        np.divide(np.maximum(variances, smallest), variances, out=np.ones_like(variances), where=variances > 0)
    )
    return covariances * np.outer(wider, wider) + np.diag(np.where(variances > 0, 0.0, smallest))


def _moves(key: Codes, pairs: Codes, error: Array, weight_share: Array) -> Array:
    """What leaving out each key's pairs moves each cell by, shape (keys, cells)."""
    names, at = np.unique(key, return_inverse=True)
    summing = sparse.csr_matrix((np.ones(pairs.size), (at, pairs)), shape=(names.size, error.shape[0]))
    moves, weight_shares = (np.asarray(summing @ x) for x in (error, weight_share))
    return moves / np.maximum(1.0 - weight_shares, _LEAST_REST)


def _summed(error: Array, weight_share: Array, cell: Codes, key: Codes, cells: int) -> tuple[Array, Array, Array]:
    """Sum over the keys of each cell: squared jackknife moves, parts, and squared parts."""
    span = int(key.max(initial=0)) + 1
    names, at = np.unique(cell * span + key, return_inverse=True)
    moves, weight_shares = (np.bincount(at, weights=x, minlength=names.size) for x in (error, weight_share))
    moved = moves / np.maximum(1.0 - weight_shares, _LEAST_REST)
    owner = names // span
    out = np.array(
        [np.bincount(owner, weights=x, minlength=cells) for x in (moved**2, weight_shares, weight_shares**2)]
    )
    return out[0], out[1], out[2]


_LEAST_REST = 0.2
"""A person who is in all pairs cannot be left out: what is left is taken as this share at least."""
