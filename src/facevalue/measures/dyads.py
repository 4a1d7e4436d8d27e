"""Shares over pairs of people, where one person stands in several pairs.

Two pairs that share a person are not independent: who looks rich in one comparison does in the next. So the sampled
unit is the person, on either side of a pair, and more pairs of the same people say ever less.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures import proportions
from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.shares import FEWEST, NOTHING, Codes, Shares, of_variance
from facevalue.measures.terms import Terms, record, terms_of

METHOD = name_method(IntervalKind.WILSON, "dyadic-robust over people")
FEW = name_method(IntervalKind.NONE, "too few people for a standard error over people")


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


def p_least(shares: Shares, null: npt.ArrayLike) -> Array:
    """P-values against a share that these people would give if all pairs said the same."""
    assert shares.units is not None
    extreme = np.where(np.asarray(null) > 0.5, 0.0, 1.0) + 0 * shares.units
    freedom = tail_df(shares.units - 1, shares.units)
    return np.where(np.isfinite(shares.low), proportions.score_p(extreme, shares.units, freedom, null), np.nan)


def shares(
    hits: Array, weight: Array, people: tuple[Codes, Codes], cell: Codes, cells: int, stratum: Codes | None = None
) -> Shares:
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
    stratum:
        Part of the sample that both people of each pair are from.

    Returns
    -------
    Shares of which `n` counts pairs, as far as they weigh; `units` is the effective number of units of `of_sums`, and
    `clusters` that number rounded: half that of people, so the pairs themselves where they share nobody.

    Examples
    --------
    >>> one = np.array([1.0, 0.0, 1.0, 1.0])
    >>> apart, together = ((np.arange(4), 4 + np.arange(4)), (np.zeros(4, int), 1 + np.arange(4)))
    >>> [shares(one, np.ones(4), who, np.zeros(4, int), 1).units.round(1).item() for who in (apart, together)]
    [4.0, 1.6]
    """
    used = (weight > 0) & (cell >= 0)
    hits, weight, cell = hits[used], weight[used], cell[used]
    strata = np.zeros_like(cell) if stratum is None else stratum[used]
    first, second = (np.asarray(side)[used] for side in people)
    alone = first == second
    sides = np.concatenate([np.arange(first.size), np.flatnonzero(~alone)])
    person = np.concatenate([first, second[~alone]])
    of_people = _added((cell[sides], strata[sides], person), weight[sides], hits[sides])
    span = int(max(first.max(initial=0), second.max(initial=0))) + 1
    couple = np.minimum(first, second) * span + np.maximum(first, second)
    (owner, layer, code), (w, h) = _added((cell, strata, couple), weight, hits)
    moments = np.array([w, h, w * w, h * w, h * h])
    out = of_sums(*of_people, (owner, layer, (code // span != code % span).astype(np.int64)), moments, cells)
    assert out.units is not None
    effective = np.rint(np.nan_to_num(out.units)).astype(np.int64)
    return replace(out, clusters=effective, terms=_terms(hits, weight, first, second, cell, cells))


def of_sums(
    unit_codes: tuple[Codes, ...], unit_sums: Array, pair_codes: tuple[Codes, ...], pair_sums: Array, cells: int
) -> Shares:
    """Shares over pairs from sums by unit and moments of pairs, which add up as answers come.

    Parameters
    ----------
    unit_codes:
        Cell, stratum and unit, shape (units,) each: a pair counts with the unit on either side, with one of which it
        has two pictures once.
    unit_sums:
        n and s of each, shape (2, units).
    pair_codes:
        Cell, stratum, and 1 for pairs of two units, 0 for those of one, shape (rows,) each.
    pair_sums:
        Σ n, Σ s, Σ n², Σ s n and Σ s² over pairs, those of the same two units added up, shape (5, rows).

    Equation
    --------
    p = Σ s / Σ n, e_d = (s_d - p n_d) / Σ n. A unit's pairs sum to S_u = Σ_{d with u} e_d, those of two units to S_uv.
    V = max(Σ_u S_u² - Σ_{u≠v} S_uv², Σ S_uv²): the first is the dyadic cluster-robust variance (Fafchamps and Gubert
    2007; Aronow, Samii and Assenova 2015, "Cluster-robust variance estimation for dyadic data"), the second takes the
    pairs as independent and is right where units don't matter. S_u is divided by one minus its unit's share of the
    weight, so that it is what the share moves by if it is left out (jackknife); S_uv by one minus the mean share,
    Σ n_uv² / (Σ n)². The effective units are m = Σ_u w_u / Σ_u w_u², w_u the share of the weight in which unit u
    stands: half their number, or all of it where nobody has a second unit beside them; for pairs that share nobody, as
    many as there are.

    With strata h, W_h their shares of the weight: V = Σ W_h² V_h and m = 1 / Σ (W_h² / m_h); degrees of freedom
    m⁻² / Σ ((W_h² / m_h)² / (m_h - 1)), m - 1 of one stratum; where a stratum has fewer than two effective units there
    is one. They are more where pairs are a yes or a no (`tail_df`). The interval is Wilson's with p (1 - p) / V answers
    (`proportions.wilson`), from three units on; where all pairs say the same there is no variance to go by, and each
    effective unit counts as one answer.

    Examples
    --------
    >>> none, two = np.zeros(3, int), np.ones(1, int)
    >>> of_three = np.array([[2.0, 2.0, 2.0], [1.0, 2.0, 1.0]])  # three units, three pairs, two of them hits
    >>> out = of_sums((none, none, np.arange(3)), of_three, (two - 1, two - 1, two), np.array([[3.0, 2, 3, 2, 2]]).T, 1)
    >>> out.value.round(2).item(), out.units.item(), out.clusters.item()
    (0.67, 1.5, 3)
    """
    (owner, _, _), (n_u, _), (at, _, _), (n, s, *_) = unit_codes, unit_sums, pair_codes, pair_sums
    total, hits = (np.bincount(at, x, cells).astype(np.float64) for x in (n, s))
    clusters = np.bincount(owner[n_u > NOTHING], minlength=cells).astype(np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.clip(np.where(total > NOTHING, hits / total, np.nan), 0.0, 1.0)
    single = [
        tuple(np.zeros_like(x) if place == 1 else x for place, x in enumerate(c)) for c in (unit_codes, pair_codes)
    ]
    variance, units, df = _between_strata(single[0], unit_sums, single[1], pair_sums, cells)
    in_strata = _between_strata(unit_codes, unit_sums, pair_codes, pair_sums, cells)
    enough = np.isfinite(in_strata[2])
    variance, units, df = (np.where(enough, x, y) for x, y in zip(in_strata, (variance, units, df), strict=True))
    variance = np.where((clusters >= FEWEST) & (units > 1) & (not only_values()), variance, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = proportions.effective_size(value, np.sqrt(variance), units)
        df = tail_df(df, size)
        low, high = proportions.wilson(value, size, df)
    shares_of_cells = of_variance(value, variance, df, total, clusters)
    method = np.where(np.isfinite(variance), METHOD, FEW).astype(object)
    return replace(shares_of_cells, low=low, high=high, size=size, units=units, method=method)


def _between_strata(
    unit_codes: tuple[Codes, ...], unit_sums: Array, pair_codes: tuple[Codes, ...], pair_sums: Array, cells: int
) -> tuple[Array, Array, Array]:
    """Variance of each cell's share, effective units, and degrees of freedom; NaN where a stratum has too few units."""
    strata = int(max(unit_codes[1].max(initial=0), pair_codes[1].max(initial=0))) + 1
    layers = cells * strata
    of_unit, of_pair = (cell * strata + stratum for cell, stratum, _ in (unit_codes, pair_codes))
    n_u, s_u = unit_sums
    n, s, nn, sn, ss = (np.bincount(of_pair, x, layers) for x in pair_sums)
    two = pair_codes[2] > 0
    nn_2, sn_2, ss_2 = (np.bincount(of_pair[two], x[two], layers) for x in pair_sums[2:])
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = s / n
        leverage = n_u / n[of_unit]
        moves = (s_u - rate[of_unit] * n_u) / n[of_unit] / np.maximum(1 - leverage, _LEAST_REST)
        squares, weights, squared_weights = (np.bincount(of_unit, x, layers) for x in (moves**2, leverage, leverage**2))
        rest = np.maximum(1 - nn / n**2, _LEAST_REST) * n
        pairs, shared = (
            np.maximum(x - 2 * rate * y + rate**2 * z, 0.0) / rest**2 for x, y, z in ((ss, sn, nn), (ss_2, sn_2, nn_2))
        )
        variance, units = np.maximum(squares - shared, pairs), weights / squared_weights
        owner = np.repeat(np.arange(cells), strata)
        total = np.bincount(owner, n, cells)
        weight = (n / total[owner]) ** 2
        seen = n > NOTHING
        lost = np.bincount(owner, seen & (strata > 1) & (units < 2), cells) > 0
        spread, expected, squared = (
            np.bincount(owner, np.where(seen, x, 0.0), cells).astype(np.float64)
            for x in (weight * variance, weight / units, (weight / units) ** 2 / np.maximum(units - 1, NOTHING))
        )
        df = np.where(lost | (total <= NOTHING), np.nan, expected**2 / squared)
        return spread, np.where(total > NOTHING, 1 / expected, np.nan), df


def _added(codes: tuple[Codes, ...], *numbers: Array) -> tuple[tuple[Codes, ...], Array]:
    """Numbers added up by what the codes say together, and the codes of each sum."""
    spans = [int(code.max(initial=0)) + 1 for code in codes]
    joint = np.ravel_multi_index(codes, spans) if codes[0].size else codes[0]
    names, at = np.unique(joint, return_inverse=True)
    sums = np.array([np.bincount(at, x, names.size) for x in numbers], dtype=np.float64)
    return tuple(code.astype(np.int64) for code in np.unravel_index(names, spans)), sums


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
    Returns shape (cells, cells), with no negative eigenvalue and the variances of `shares`; each couple has the
    leverage of its own.

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
    summing = scipy.sparse.csr_matrix((np.ones(pairs.size), (at, pairs)), shape=(names.size, error.shape[0]))
    moves, weight_shares = (np.asarray(summing @ x) for x in (error, weight_share))
    return moves / np.maximum(1.0 - weight_shares, _LEAST_REST)


_LEAST_REST = 0.2
"""A person who is in all pairs cannot be left out: what is left is taken as this share at least."""
