"""Words of groups: how much more frequent a word is in the texts about one group than in those about all others.

Equations 5 to 7 of the paper of the counterfactual sets. `association` gives the published score; `label_tests` asks
which words would come up if the labels of a set's images meant nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from facevalue.measures.cluster_bootstrap import Array

THRESHOLD = 1.0
"""Published: a word is a group's from s(w) = 1 on, twice the rate (D.3; D.1 has "exceeds")."""
MINIMUM = 10
"""Published: fewest occurrences of a word in the texts about a group."""
_STEPS = 40
_NEAR = 0.5  # standard deviations up to which the normal approximation does


def association(tokens: Array, sizes: Array) -> Array:
    """Score of each word in each group, against all other groups together.

    Parameters
    ----------
    tokens:
        How often each word stands in the texts about each group, shape (groups, words).
    sizes:
        All words of these texts, shape (groups,).

    Returns
    -------
    Shape (groups, words); infinite where no other group's texts have the word, NaN where the group's own have not.

    Equation
    --------
    s(w) = PMI(w, C_D) - PMI(w, C_other) = log2( freq(w, C_D) N(C_other) / (freq(w, C_other) N(C_D)) ) (equations 5 to
    7).

    Examples
    --------
    >>> association(np.array([[8.0, 2.0], [4.0, 0.0]]), np.array([100.0, 100.0])).tolist()
    [[1.0, inf], [-1.0, nan]]
    """
    own, size = np.asarray(tokens, dtype=np.float64), np.asarray(sizes, dtype=np.float64)[:, None]
    others, rest = own.sum(axis=0) - own, size.sum() - size
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(own > 0, np.log2(own * rest / (others * size)), np.nan)


def least(tokens: Array, sizes: Array) -> Array:
    """Lower bound of the score of words that no other group's texts have: as if they had it once.

    Parameters
    ----------
    tokens, sizes:
        As in `association`.

    Equation
    --------
    log2( freq(w, C_D) N(C_other) / N(C_D) ) (equation 7 with freq(w, C_other) = 1).

    Examples
    --------
    >>> least(np.array([[8.0], [0.0]]), np.array([100.0, 100.0])).tolist()
    [[3.0], [nan]]
    """
    own, size = np.asarray(tokens, dtype=np.float64), np.asarray(sizes, dtype=np.float64)[:, None]
    with np.errstate(divide="ignore"):
        return np.where(own > 0, np.log2(own * (size.sum() - size) / size), np.nan)


@dataclass(frozen=True, slots=True)
class Presence:
    """In how many images' texts words stand; words are the last axis."""

    images: Array
    """Of each group, whose texts have the word, shape (groups, words)."""
    sets: Array | None
    """How many sets there are of which k images have it, shape (groups + 1, words), k from 0; None where images are in
    no sets."""
    together: Array
    """Sum over the sets in which the group's image has it of how many have, shape (groups, words)."""
    shown: Array
    """Images of each group with a text, shape (groups,)."""


def presence(
    word: npt.NDArray[np.integer[Any]], mask: npt.NDArray[np.unsignedinteger[Any]], words: int, shown: Array, *,
    in_sets: bool,
) -> Presence:  # fmt: skip
    """Count images by word from sets and words.

    Parameters
    ----------
    word:
        The word of each pair of set and word, each pair once.
    mask:
        Whose texts have it, a bit per group.
    words:
        How many words there are.
    shown:
        See `Presence`.
    in_sets:
        Whether images are in sets, or each by itself.

    Examples
    --------
    >>> found = presence(np.array([0, 0, 1]), np.array([1, 3, 2], np.uint64), 2, np.array([2.0, 2.0]), in_sets=True)
    >>> found.images.tolist(), found.sets.tolist()
    ([[2.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    """
    groups = shown.size
    size = np.bitwise_count(mask)
    images, together = np.zeros((groups, words)), np.zeros((groups, words))
    for group in range(groups):
        has = (mask >> mask.dtype.type(group)) & mask.dtype.type(1) > 0
        images[group] = np.bincount(word[has], minlength=words)
        together[group] = np.bincount(word[has], size[has], words)
    if not in_sets:
        return Presence(images, None, together, shown)
    sets = np.bincount(size.astype(np.int64) * words + word, minlength=(groups + 1) * words).astype(np.float64)
    return Presence(images, sets.reshape(groups + 1, words), together, shown)


def label_tests(found: Presence) -> Array:
    """Whether more of a group's images have a word than labels dealt out by chance would give: one-sided p-values.

    Returns
    -------
    Shape (groups, words); 1 for words that all images of each set have, or none, which labels cannot move.

    Equation
    --------
    Where k of a set's n images have the word, labels dealt out anew give it to a group's image with probability k / n,
    in each set by itself. So their number is a sum of independent Bernoulli variables, and p = P(X >= observed), by the
    saddlepoint approximation for lattices (Lugannani and Rice 1980; Daniels 1987, "Tail probability approximations",
    the second continuity correction). Without sets, labels are dealt among all images: Fisher's exact test.

    Notes
    -----
    An image counts once, however many of its texts have the word: sixteen mentions of one helicopter are one.

    Examples
    --------
    >>> sets = np.zeros((3, 1))
    >>> sets[1] = 10.0
    >>> ten = Presence(np.array([[10.0], [0.0]]), sets, np.array([[10.0], [0.0]]), np.array([20.0, 20.0]))
    >>> label_tests(ten).round(5).tolist(), 0.5**10
    ([[0.00098], [1.0]], 0.0009765625)
    """
    if found.sets is None:
        total, drawn = found.shown.sum(), found.shown[:, None]
        has = found.images.sum(axis=0)[None, :]
        return np.asarray(stats.hypergeom.sf(found.images - 1, total, has, drawn))
    groups = found.images.shape[0]
    many = found.sets[1:groups]  # in which labels move anything
    odds = (np.arange(1, groups) / groups)[:, None]
    sure, most = found.sets[groups], many.sum(axis=0)
    return np.stack([_upper(own - sure, many, odds, most) for own in found.images])


def _upper(seen: Array, many: Array, odds: Array, most: Array) -> Array:
    """P(X >= seen) of sums of `many` Bernoulli variables with each of some probabilities, by word."""
    mean, variance = (many * odds).sum(axis=0), (many * odds * (1 - odds)).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (seen - 0.5 - mean) / np.sqrt(variance)
        out = np.where(seen > 0, special.ndtr(-z), 1.0)  # far from any finding this will do
        every = np.exp((many * np.log(odds)).sum(axis=0))
    at = np.flatnonzero((z > _NEAR) & (seen < most))
    if at.size:
        out[at] = _tail(seen[at], many[:, at], odds)
    out = np.where(seen >= most, every, out)
    return np.clip(np.where(most > 0, out, 1.0), 0.0, 1.0)


def _tail(seen: Array, many: Array, odds: Array) -> Array:
    """The same above the mean and below the most, where the saddlepoint is: K'(t) = seen - 1/2."""
    goal = seen - 0.5
    low, high = np.zeros(seen.shape), np.full(seen.shape, 40.0)
    for _ in range(_STEPS):
        t = (low + high) / 2
        less = (many * _tilted(odds, t)).sum(axis=0) < goal
        low, high = np.where(less, t, low), np.where(less, high, t)
    t = (low + high) / 2
    p = _tilted(odds, t)
    curve = (many * p * (1 - p)).sum(axis=0)
    cumulant = (many * np.log1p(odds * np.expm1(t))).sum(axis=0)
    w = np.sqrt(np.maximum(2 * (t * goal - cumulant), 0.0))
    u = 2 * np.sinh(t / 2) * np.sqrt(curve)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = special.ndtr(-w) + np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * (1 / u - 1 / w)
    return np.maximum(found, 0.0)


def _tilted(odds: Array, t: Array) -> Array:
    return np.asarray(special.expit(special.logit(odds) + t))


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Sums over images of how often their texts have words, shape (groups, words)."""

    tokens: Array
    """How often those about each group do."""
    squares: Array
    """Of the squares of an image's."""
    crossed: Array
    """Of the products of an image's and those of the other images of its set."""
    images: Array
    """Images whose texts have the word at all."""


def standard_errors(found: Occurrences, shown: Array | None = None) -> Array:
    """Standard error of each word's score over sets, in log2; or over images, where these are in no sets.

    Parameters
    ----------
    found:
        Occurrences of the words.
    shown:
        Images of each group with a text, shape (groups,), where images are in no sets.

    Returns
    -------
    Shape (groups, words); NaN where the group or all others have the word in one image or none.

    Equation
    --------
    se² = sum_c (x_c / X - y_c / Y)² / log(2)², with x_c how often the texts about the group's image of set c have the
    word, y_c how often those about the others, and X and Y their sums: the linearised logarithm of X / Y. Without sets,
    sums of squares of x / X and y / Y, less one over the images shown. Occurrences of one image belong together.

    Examples
    --------
    >>> alike = Occurrences(*(np.array([[x], [x]]) for x in (8.0, 20.0, 20.0, 4.0)))
    >>> standard_errors(alike).tolist()
    [[0.0], [0.0]]
    """
    own, others = found.tokens, found.tokens.sum(axis=0) - found.tokens
    every = (found.squares + found.crossed).sum(axis=0)  # squares of a set's occurrences
    with np.errstate(divide="ignore", invalid="ignore"):
        square = found.squares / own**2 - 2 * found.crossed / (own * others)
        square = square + (every - found.squares - 2 * found.crossed) / others**2
        if shown is not None:
            square = square - (1 / shown + 1 / (shown.sum() - shown))[:, None]
        known = (found.images > 1) & (found.images.sum(axis=0) - found.images > 1)
        return np.where(known, np.sqrt(np.maximum(square, 0.0)) / np.log(2), np.nan)
