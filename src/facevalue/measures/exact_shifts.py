"""Exact p-values of shifts in forms: how often a random choice of as many forms shows one as large.

Thousands of pairs of a choice and an attribute are looked at, so that a finding needs p-values of a millionth, which no
affordable number of shuffles gives. But without any association the forms that meet a condition are any n of all forms,
their votes are multivariate hypergeometric, and the divergence of Algorithm 1 is a sum over categories: its
distribution follows by adding them one by one.
"""

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import Array

_FINE = 20.0  # steps of the sum per nat and form, a fraction of what it varies by without any association
_FAR = 30.0  # sums are followed up to 30 ln(1 + n) / n, which random forms hardly ever pass
_CLOSE = 2.5
_SMALLEST = 1e-13  # p-values below are lost in rounding


def exact_p(base: Array, condition: Array, amount: float = 1.0) -> float:
    """P-value of the divergence under one condition, had its forms been any of all.

    Parameters
    ----------
    base, condition:
        Votes for each category of all forms, and of those that meet the condition: whole numbers.
    amount:
        Pseudo-forms that answer as all forms do.

    Equation
    --------
    KL = Σ_k h_k(x_k), h_k(x) = P_k ln(P_k (n + s) / (x + s P_k)) + (x + s P_k) / (n + s) - P_k >= 0 (what follows the
    logarithm adds up to zero). p = P(Σ_k h_k(X_k) >= KL | Σ_k X_k = n), X_k ~ binomial(N_k, n/N) and independent but
    for their sum: the multivariate hypergeometric distribution. Each h_k is rounded to a step, for the observed votes,
    too, so that p is exact for the sum of what was rounded.

    Examples
    --------
    >>> everyone, those = np.array([6.0, 4.0]), np.array([0.0, 4.0])
    >>> round(float(exact_p(everyone, those) * scipy.special.comb(10, 4)), 3)
    1.0
    """
    held = np.argsort(base)[np.count_nonzero(base == 0) :]  # the rarest first: sums stay short for longest
    sizes, votes = np.rint(base[held]).astype(np.int64), np.rint(condition[held]).astype(np.int64)
    n, total = int(votes.sum()), int(sizes.sum())
    share, rate = sizes / total, n / total
    farthest = int(np.ceil(_FINE * n * np.log1p(n / amount) * min(1.0, _FAR / n)))
    chances, steps = [], []
    for size, fraction in zip(sizes, share, strict=True):
        x = np.arange(min(size, n) + 1)
        ratio = (x + amount * fraction) / (n + amount)
        terms = fraction * np.log(fraction / ratio) + ratio - fraction
        steps.append(np.rint(_FINE * n * terms).astype(np.int64))
        chances.append(_binomial(x, size, rate))
    seen = sum(int(step[vote]) for step, vote in zip(steps, votes, strict=True))
    nearer = min(seen, farthest)  # sums below this are counted: p is the rest
    below = np.ones((1, 1))
    for step, chance in zip(steps, chances, strict=True):
        rows = min(below.shape[0] - 1 + chance.size - 1, n) + 1
        longer = np.zeros((rows, min(below.shape[1] - 1 + int(step.max()) + 1, nearer)))
        for more in np.flatnonzero(step < nearer).tolist():
            high, wide = min(below.shape[0], rows - more), min(below.shape[1], longer.shape[1] - step[more])
            longer[more : more + high, step[more] : step[more] + wide] += chance[more] * below[:high, :wide]
        below = longer
    p_of_total = _binomial(np.array([n]), total, rate).item()
    inside = below[n].sum() if below.shape[0] > n else 0.0
    return float(np.clip(1 - inside / p_of_total, _SMALLEST, 1.0))


def category_p(base: Array, counts: Array) -> Array:
    """P-value that any category is as much more or less frequent under a condition as the one that stands out most.

    KL(P || Q) weighs what is lacking under the condition more than what is frequent there, so that one likely value
    shows in its category long before.

    Returns shape (conditions,). `counts`: votes under each condition, shape (conditions, categories), whole numbers.

    Equation
    --------
    p = min(1, K min_k 2 min(P(X_k >= x_k), P(X_k <= x_k))), X_k hypergeometric (Fisher's exact test of each of the K
    categories that there are, with Bonferroni's correction). Categories within 2.5 standard errors are left out.

    Examples
    --------
    >>> bool(category_p(np.array([10.0, 10, 80]), np.array([[8.0, 0, 2]])) < 1e-6)
    True
    """
    total, n = base.sum(), counts.sum(axis=1, keepdims=True)
    rate = base / total
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (counts - n * rate) / np.sqrt(n * rate * (1 - rate) * (total - n) / (total - 1))
    row, at = np.nonzero(np.abs(z) > _CLOSE)
    law = scipy.stats.hypergeom(np.rint(total), np.rint(base[at]), np.rint(n[row, 0]))
    x = np.rint(counts[row, at])
    out = np.full(len(counts), 1.0)
    np.minimum.at(out, row, 2 * np.count_nonzero(base) * np.fmin(law.sf(x - 1), law.cdf(x)))
    return out


def least_p(base: Array, n: npt.ArrayLike) -> Array:
    """Smallest p-value of conditions of n forms: with as many of one category as there can be.

    Examples
    --------
    >>> least_p(np.array([6.0, 4.0]), [4, 5]).round(4).tolist()
    [0.0048, 0.0238]
    """
    sizes, total, forms = base[base > 0], base.sum(), np.asarray(n, dtype=np.float64)[..., None]
    largest = np.minimum(sizes, forms)
    ways = _choose(sizes, largest) + _choose(total - sizes, forms - largest) - _choose(total, forms)
    return np.asarray(np.exp(ways.min(axis=-1)))


def _binomial(x: npt.NDArray[np.int64], size: int, rate: float) -> Array:
    return np.asarray(np.exp(_choose(size, x) + scipy.special.xlogy(x, rate) + scipy.special.xlog1py(size - x, -rate)))


def _choose(size: npt.ArrayLike, x: npt.ArrayLike) -> Array:
    """Logarithm of the binomial coefficient."""
    n, k = np.asarray(size, dtype=np.float64), np.asarray(x, dtype=np.float64)
    return np.asarray(scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1))
