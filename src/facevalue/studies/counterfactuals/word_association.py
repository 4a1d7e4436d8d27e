"""Words of groups, with intervals of those that are listed.

How much more frequent a word is in the texts about one group than in those about all others: `association_scores` gives
the score of equations 5 to 7 of the paper of the counterfactual sets; `label_tests` asks which words would come up if
the labels of a set's images meant nothing but the length of their texts, and intervals of listed words ask the same of
every other ratio of rates, so that interval and p-value cannot contradict each other.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, cell_means
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.uncertainty import Bounds

SCORE_THRESHOLD = 1.0
"""Published: a word is a group's from s(w) = 1 on, twice the rate (D.3; D.1 has "exceeds")."""
_STEPS = 40
_FARTHEST = 30.0  # logarithm of odds that are certain
_SLACK = 1e-9
_NEAR = 0.5  # standard deviations up to which the normal approximation does


def association_scores(tokens: Array, sizes: Array) -> Array:
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
    >>> association_scores(np.array([[8.0, 2.0], [4.0, 0.0]]), np.array([100.0, 100.0])).tolist()
    [[1.0, inf], [-1.0, nan]]
    """
    counts, size = np.asarray(tokens, dtype=np.float64), np.asarray(sizes, dtype=np.float64)[:, None]
    others, rest = counts.sum(axis=0) - counts, size.sum() - size
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 0, np.log2(counts * rest / (others * size)), np.nan)


def least_scores(tokens: Array, sizes: Array) -> Array:
    """Lower bound of the score of words that no other group's texts have: as if they had it once.

    Parameters
    ----------
    tokens, sizes:
        As in `association_scores`.

    Equation
    --------
    log2( freq(w, C_D) N(C_other) / N(C_D) ) (equation 7 with freq(w, C_other) = 1).

    Examples
    --------
    >>> least_scores(np.array([[8.0], [0.0]]), np.array([100.0, 100.0])).tolist()
    [[3.0], [nan]]
    """
    counts, size = np.asarray(tokens, dtype=np.float64), np.asarray(sizes, dtype=np.float64)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 0, np.log2(counts * (size.sum() - size) / size), np.nan)


Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Presence:
    """Occurrences of words: a row for each pair of set and word that occurs."""

    word: Places
    """The word of each pair, from 0."""
    unit: Places
    """Its set, or image where images are in no sets: a row of `lengths`."""
    mask: npt.NDArray[np.unsignedinteger[Any]]
    """Groups whose texts have it, a bit per group."""
    words: int
    """Number of words."""
    lengths: Array
    """Words of the texts about each group in each set, shape (sets, groups); 0 where there is no text."""
    in_sets: bool
    """True if images are in sets, each with every group; false if each is by itself."""

    @property
    def images(self) -> Array:
        """Number of images of each group that have texts with the word, shape (groups, words)."""
        groups = range(self.lengths.shape[1])
        return np.stack([np.bincount(self.word, self.has(group), self.words) for group in groups]).astype(np.float64)

    @property
    def everywhere(self) -> Array:
        """In how many sets the texts about all images have the word, shape (words,); zero without sets."""
        is_in_all = np.bitwise_count(self.mask) == self.lengths.shape[1]
        return np.bincount(self.word, is_in_all * float(self.in_sets), self.words).astype(np.float64)

    @property
    def units(self) -> Places:
        """In how many sets, or images, the word is, shape (words,)."""
        return np.bincount(self.word, minlength=self.words)

    def has(self, group: int) -> npt.NDArray[np.bool_]:
        """Of each pair, whether the group's texts have the word."""
        return (self.mask >> self.mask.dtype.type(group)) & self.mask.dtype.type(1) > 0


def label_tests(presence: Presence, tested: npt.NDArray[np.bool_] | None = None) -> Array:
    """Test whether a word is in more of a group's images than under random labels: one-sided p-values.

    Parameters
    ----------
    tested:
        Words that are of interest, shape (groups, words); all by default.

    Returns
    -------
    Shape (groups, words); 1 for words that all images of each set have, or none, which labels cannot move, and NaN
    where nothing is tested.

    Equation
    --------
    A word comes up at some rate r per word of text, so that texts of N words have it with probability 1 - exp(-r N).
    Where k of a set's images have it, these are any k of them, with odds exp(r N_g) - 1 each; r is the one at which k
    are expected. A group's image is among them with probability pi_g(k) = k o_g (1 - pi_g(k - 1)) / sum_h o_h (1 -
    pi_h(k - 1)) (Chen, Dempster and Liu 1994, "Weighted finite population sampling to maximize entropy"): k / n for
    texts of one length. So the number of the group's images is a sum of independent Bernoulli variables, and p = P(X >=
    observed), by the saddlepoint approximation for lattices (Lugannani and Rice 1980; Daniels 1987, "Tail probability
    approximations", the second continuity correction). Without sets, labels are dealt among all images: Fisher's exact
    test, with the odds of the group's lengths against the others'.

    Notes
    -----
    An image counts once, however many of its texts have the word: sixteen mentions of one helicopter are one. Longer
    texts have more words of all kinds, which says nothing of any: given their lengths a word is a group's only if it is
    more frequent.

    Examples
    --------
    >>> word, one = np.zeros(10, dtype=np.int64), np.ones(10, dtype=np.uint64)
    >>> ten = Presence(word, np.arange(10), one, 1, np.full((10, 2), 50.0), in_sets=True)
    >>> label_tests(ten).round(5).tolist(), 0.5**10
    ([[0.00098], [1.0]], 0.0009765625)
    >>> longer = Presence(word, np.arange(10), one, 1, np.tile([90.0, 10.0], (10, 1)), in_sets=True)
    >>> label_tests(longer).round(1).tolist()
    [[0.6], [1.0]]
    """
    cells = np.ones((presence.lengths.shape[1], presence.words), dtype=np.bool_) if tested is None else tested
    out = np.full(cells.shape, np.nan)
    if not presence.in_sets:
        for group, word, seen, (total, has, images), odds in among_all(presence, cells):
            out[group, word] = (
                scipy.stats.hypergeom.sf(seen - 1, total, has, images)
                if odds == 1.0
                else scipy.stats.nchypergeom_fisher.sf(seen - 1, total, has, images, odds)
            )
        return out
    for group, (counts, chance, place) in enumerate(within_sets(presence, cells)):
        out[group] = np.where(cells[group], _upper(counts, chance, place, presence.words), np.nan)
    return out


def within_sets(presence: Presence, tested: npt.NDArray[np.bool_]) -> Iterator[tuple[Array, Array, Places]]:
    """For each group, in how many of its images each word is that labels could move, and who might have it.

    Then the probability, for each image of a tested word, that it is among its set's with the word; and which word.
    """
    groups = presence.lengths.shape[1]
    size = np.bitwise_count(presence.mask).astype(np.int64)
    some = np.flatnonzero(tested.sum(axis=0))
    rows = np.flatnonzero((size < groups) & np.isin(presence.word, some))
    coded = np.unique(presence.unit[rows] * groups + size[rows], return_inverse=True)
    cases, case = coded[0], coded[1]
    chances = _inclusion_probability(presence.lengths[cases // groups], cases % groups)
    for group in range(groups):
        is_tested = tested[group][presence.word[rows]]
        word, has = presence.word[rows][is_tested], presence.has(group)[rows][is_tested]
        yield np.bincount(word, has, presence.words).astype(np.float64), chances[case[is_tested], group], word


def _inclusion_probability(lengths: Array, size: Places) -> Array:
    """Probability that each image is among so many of its set that have a word, shape (cases, groups)."""
    low, high = np.full(size.shape, -30.0), np.full(size.shape, 5.0)
    scaled = lengths / lengths.mean(axis=1, keepdims=True)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        few = -np.expm1(-np.exp(middle)[:, None] * scaled).sum(axis=1) < size
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    odds = np.expm1(np.minimum(np.exp(low)[:, None] * scaled, _FARTHEST))
    out = np.zeros(lengths.shape)
    for count in range(1, int(size.max(initial=0)) + 1):
        more = np.flatnonzero(size >= count)
        left = odds[more] * (1 - out[more])
        out[more] = np.clip(count * left / left.sum(axis=1, keepdims=True), 0.0, 1.0)
    return out


def among_all(
    presence: Presence, tested: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, int, int, tuple[int, int, int], float]]:
    """For each tested group and word: the places of both, and how many of the group's images have it.

    Then how many images there are, have it, and are the group's; and the odds that lengths of texts alone would give.
    """
    images, pictures = presence.images, (presence.lengths > 0).sum(axis=0)
    has, total = images.sum(axis=0), int(pictures.sum())
    mean_length = cell_means(presence.lengths.sum(axis=0), pictures.astype(np.float64))
    others = cell_means(presence.lengths.sum() - presence.lengths.sum(axis=0), (total - pictures).astype(np.float64))
    for group, word in zip(*(x.tolist() for x in np.nonzero(tested)), strict=True):
        ends = (
            np.array([mean_length[group], others[group]])
            / presence.lengths.sum()
            * has[word]
            * total
            / max(total - has[word], 1)
        )
        odds = float(np.divide(*np.expm1(np.minimum(ends, _FARTHEST))))
        alike = abs(odds - 1) < _SLACK or not np.isfinite(odds)
        sides = (total, int(has[word]), int(pictures[group]))
        yield group, word, int(images[group, word]), sides, 1.0 if alike else odds


def _upper(seen: Array, chance: Array, word: Places, words: int) -> Array:
    """P(X >= seen) of sums of Bernoulli variables, each of some word."""

    def total(values: Array) -> Array:
        return np.bincount(word, values, words).astype(np.float64)

    possible, mean, variance = total(np.ones(chance.shape)), total(chance), total(chance * (1 - chance))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (seen - 0.5 - mean) / np.sqrt(variance)
        out = np.where(seen > 0, scipy.special.ndtr(-z), 1.0)  # far from any finding this will do
        product = np.exp(total(np.log(chance)))
    is_high = (z > _NEAR) & (seen < possible)
    if is_high.any():
        at, rows = np.flatnonzero(is_high), is_high[word]
        place = np.cumsum(is_high) - 1
        out[at] = _tail(seen[at], chance[rows], place[word[rows]])
    out = np.where(seen >= possible, product, out)
    return np.clip(np.where(possible > 0, out, 1.0), 0.0, 1.0)


def _tail(seen: Array, chance: Array, word: Places) -> Array:
    """The same above the mean and below the most, where the saddlepoint is: K'(t) = seen - 1/2."""
    goal, logit = seen - 0.5, scipy.special.logit(chance)

    def total(values: Array) -> Array:
        return np.bincount(word, values, seen.size).astype(np.float64)

    low, high = np.zeros(seen.shape), np.full(seen.shape, 40.0)
    for _ in range(_STEPS):
        t = (low + high) / 2
        less = total(scipy.special.expit(logit + t[word])) < goal
        low, high = np.where(less, t, low), np.where(less, high, t)
    t = (low + high) / 2
    p = scipy.special.expit(logit + t[word])
    curve, cumulant = total(p * (1 - p)), total(np.log1p(chance * np.expm1(t[word])))
    w = np.sqrt(np.maximum(2 * (t * goal - cumulant), 0.0))
    u = 2 * np.sinh(t / 2) * np.sqrt(curve)
    with np.errstate(divide="ignore", invalid="ignore"):
        area = scipy.special.ndtr(-w) + np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * (1 / u - 1 / w)
    return np.maximum(area, 0.0)


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Sums over images of how often their texts have words, shape (groups, words)."""

    tokens: Array
    """Number of occurrences in those about each group."""
    squares: Array
    """Of the squares of an image's."""
    crossed: Array
    """Of the products of an image's and those of the other images of its set."""
    images: Array
    """Images whose texts have the word at all."""


def standard_errors(words: Occurrences, shown: Array | None = None) -> Array:
    """Standard error of each word's score over sets, in log2; or over images, where these are in no sets.

    Parameters
    ----------
    words:
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
    counts, others = words.tokens, words.tokens.sum(axis=0) - words.tokens
    total_squares = (words.squares + words.crossed).sum(axis=0)  # squares of a set's occurrences
    with np.errstate(divide="ignore", invalid="ignore"):
        square = words.squares / counts**2 - 2 * words.crossed / (counts * others)
        square = square + (total_squares - words.squares - 2 * words.crossed) / others**2
        if shown is not None:
            square = square - (1 / shown + 1 / (shown.sum() - shown))[:, None]
        is_known = (words.images > 1) & (words.images.sum(axis=0) - words.images > 1)
        return np.where(is_known, np.sqrt(np.maximum(square, 0.0)) / np.log(2), np.nan)


def selected_limits(value: Array, se: Array, df: Array, candidates: int) -> tuple[Array, Array]:
    """Intervals of scores of listed words, that know how these were chosen.

    Of many words those with the largest scores are listed, so that plain intervals lie too high: nearly none of them
    holds the word's own rate.

    Parameters
    ----------
    value, se, df:
        Scores of the R listed words, standard errors and degrees of freedom.
    candidates:
        From how many pairs of group and word they were chosen, m.

    Equation
    --------
    value ± t(1 - R (1 - LEVEL) / (2 m); df) se: of all intervals of listed words a share of LEVEL holds on average
    (Benjamini and Yekutieli 2005, "False discovery rate-adjusted multiple confidence intervals for selected
    parameters").

    Examples
    --------
    >>> low, high = selected_limits(np.array([2.0]), np.array([0.5]), np.array([30.0]), 100)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.05], [3.95])
    """
    tail = min(value.size / max(candidates, 1), 1.0) * (1 - LEVEL) / 2
    reach = -scipy.special.stdtrit(np.maximum(df, 1.0), tail) * se
    return value - reach, value + reach


LISTED_INVERSION = name_method(IntervalKind.INVERSION, "of the test by dealt labels, adjusted for the choice of words")
BELOW = 0.8
"""Share of an interval's errors on the side of zero, as only words above it are listed."""
_LIMIT_STEPS = 50
_FARTHEST_LIMIT = 60.0  # tilt of log odds that no word comes near
_LEAST = 1e-12


Limits = tuple[Array, Array, Array]
"""Limits of words' scores, low and high, and p-values; shape (groups, words), NaN where a word is not listed."""


def listed_limits(presence: Presence, listed: npt.NDArray[np.bool_], tests: int) -> Limits:
    """Intervals at `LEVEL` of the log2 ratio of a word's rate in a group's texts to that in all others.

    Parameters
    ----------
    listed:
        Words that were chosen for being above zero, shape (groups, words), R in all.
    tests:
        From how many pairs of group and word they were chosen, m.

    Equation
    --------
    A rate 2^θ times that of the others multiplies the odds of the group's images by e^t = (exp(2^θ r) - 1) / (exp(r) -
    1), r = -ln(1 - k / (n + 1)) where k of the n images of other groups have the word: the logit of each probability of
    `label_tests` grows by t. Limits: t with P_t(X >= observed) = .8 a and P_t(X <= observed) = .2 a, where
    a = (1 - LEVEL) R / m (Benjamini and Yekutieli 2005, "False discovery rate-adjusted multiple confidence intervals
    for selected parameters"). p = P_0(X >= observed) m / (.8 R): below 1 - LEVEL exactly where low > 0; Benjamini and
    Hochberg's q over the listed is that over all m at .8 of their level. Where all images that could be another
    group's are the group's, the upper limit is as if one more had been another's.

    Examples
    --------
    >>> word, one = np.zeros(10, dtype=np.int64), np.ones(10, dtype=np.uint64)
    >>> ten = Presence(word, np.arange(10), one, 1, np.full((10, 2), 50.0), in_sets=True)
    >>> low, high, p = listed_limits(ten, np.array([[True], [False]]), 2)
    >>> low[0].round(2).tolist(), high[0].round(2).tolist(), p[0].round(4).tolist()
    ([1.06], [10.72], [0.0024])
    """
    chosen = max(int(listed.sum()), 1)
    tail = (1 - LEVEL) * chosen / max(tests, chosen)
    low, high = np.full(listed.shape, np.nan), np.full(listed.shape, np.nan)
    tilts = _within_sets if presence.in_sets else _among_all
    for group, words, lowest, highest in tilts(presence, listed, BELOW * tail, (1 - BELOW) * tail):
        low[group, words], high[group, words] = lowest, highest
    images, described = presence.images, (presence.lengths > 0).sum(axis=0)
    rate = -np.log1p(-(images.sum(axis=0) - images) / (described.sum() - described + 1)[:, None])
    p = np.minimum(label_tests(presence, listed) * max(tests, chosen) / (BELOW * chosen), 1.0)
    return _ratio(low, rate), _ratio(high, rate), p


def _ratio(tilt: Array, rate: Array) -> Array:
    """Log2 of the ratio of rates that multiplies odds by exp(tilt)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        larger = np.logaddexp(0.0, tilt + np.log(np.expm1(rate)))  # ln(1 + e^t (e^r - 1))
        return np.where(rate > 0, np.log2(larger / rate), tilt / np.log(2))


def _within_sets(
    presence: Presence, listed: npt.NDArray[np.bool_], below: float, above: float
) -> Iterator[tuple[int, Places, Array, Array]]:
    """Limits of the tilts of listed words, of one group at a time."""
    share = 1 / presence.lengths.shape[1]
    for group, (observed, chance, word) in enumerate(within_sets(presence, listed)):
        words = np.flatnonzero(listed[group])
        if words.size:
            place = np.searchsorted(words, word)
            others = np.bincount(place, minlength=words.size) - observed[words]
            low = _lower(observed[words], chance, place, below, share)
            yield group, words, low, -_lower(others, 1 - chance, place, above, 1 - share)


def _lower(observed: Array, chance: Array, word: Places, tail: float, more: float) -> Array:
    """Tilt t with P_t(X >= observed) = `tail` of sums X of Bernoulli variables, by the saddlepoint of the test.

    `chance` and `word`: of each variable, before it is tilted. Where none was observed, as if one more had been, of
    probability `more`.
    """
    none = np.flatnonzero(observed == 0)
    word, chance = np.append(word, none), np.append(chance, np.full(none.size, more))
    observed = np.maximum(observed, 1.0)
    logit = scipy.special.logit(np.clip(chance, _LEAST, 1 - _LEAST))

    def total(values: Array) -> Array:
        return np.bincount(word, values, observed.size).astype(np.float64)

    def cumulant(t: Array) -> Array:
        return total(np.logaddexp(0.0, logit + t[word]))

    is_every = observed >= total(np.ones(word.size))
    goal = np.where(is_every, observed / 2, observed - 0.5)
    far = np.full(observed.shape, _FARTHEST_LIMIT)
    top = _bisect(lambda t: total(scipy.special.expit(logit + t[word])) < goal, -far, far)
    p = scipy.special.expit(logit + top[word])
    scale, end = np.sqrt(total(p * (1 - p))), cumulant(top)

    def is_less(tilt: Array) -> npt.NDArray[np.bool_]:
        t = np.maximum(top - tilt, _LEAST)
        w = np.sqrt(np.maximum(2 * (t * goal - end + cumulant(tilt)), _LEAST))
        density = np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi)
        beyond = scipy.special.ndtr(-w) + density * (1 / (2 * np.sinh(t / 2) * scale) - 1 / w)
        chance_of_all = np.exp(-total(np.logaddexp(0.0, -logit - tilt[word])))
        return np.asarray(np.where(is_every, chance_of_all, beyond) < tail)

    return _bisect(is_less, np.where(is_every, -far, top - far), np.where(is_every, far, top))


def _among_all(
    presence: Presence, listed: npt.NDArray[np.bool_], below: float, above: float
) -> Iterator[tuple[int, Places, Array, Array]]:
    """The same of words of images in no sets, one at a time."""
    for group, word, observed, (total, has, images), odds in among_all(presence, listed):
        low = _hypergeometric(observed, total, has, images, odds, below)
        high = -_hypergeometric(has - observed, total, has, total - images, 1 / odds, above)
        yield group, np.array([word]), np.array([low]), np.array([high])


def _hypergeometric(observed: int, total: int, has: int, images: int, odds: float, tail: float) -> float:
    """Tilt t with P_t(X >= observed) = `tail`, X how many of so many images are among those that have a word."""
    if observed == max(0, has + images - total):  # as if one more had, and one more of the rest had not
        observed, total, has, images = observed + 1, total + 2, has + 1, images + 1
    x = np.arange(max(0, has + images - total), min(has, images) + 1)
    law = (
        x * np.log(odds)
        - scipy.special.betaln(has - x + 1, x + 1)
        - scipy.special.betaln(total - has - images + x + 1, images - x + 1)
    )

    above, low, high = x >= observed, -_FARTHEST_LIMIT, _FARTHEST_LIMIT
    for _ in range(_LIMIT_STEPS):
        tilt = (low + high) / 2
        tilted = law + tilt * x
        weight = np.exp(tilted - tilted.max())
        low, high = (tilt, high) if weight[above].sum() < tail * weight.sum() else (low, tilt)
    return (low + high) / 2


def _bisect(is_less: Callable[[Array], npt.NDArray[np.bool_]], low: Array, high: Array) -> Array:
    """Find the point at which a condition that holds at first ceases to hold, by bisection."""
    for _ in range(_LIMIT_STEPS):
        middle = (low + high) / 2
        below = is_less(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def association_bounds(score: Array, tokens: Array, sizes: Array, images: Array, texts: tuple[Array, Array]) -> Bounds:
    """Bounds of scores (`association_scores`, or `least`), shape (groups, words).

    Parameters
    ----------
    score, tokens, images:
        Scores, mentions, and images whose texts have the word, shape (groups, words).
    sizes:
        All words of the texts about each group, shape (groups,).
    texts:
        Texts about each group that there are, and that are missing, of the same shape.

    Equation
    --------
    log2( x N_o / (max(y, 1) N_g) ), N_g and N_o with m L more words each, L words a text, m texts missing; low: y with
    m_o k more mentions, high: x with m_g k more, k mentions of an image that has the word.

    Examples
    --------
    >>> counts, score, texts = np.array([[8.0], [4.0]]), np.array([[1.0], [-1.0]]), np.array([10.0, 10.0])
    >>> bounds = association_bounds(score, counts, texts * 10, counts, (texts, np.array([0.0, 4.0])))
    >>> bounds.low.round(2).tolist(), bounds.high.round(2).tolist()
    ([[0.49], [-1.49]], [[1.49], [-0.49]])
    """
    answered, missing = texts
    length, mentions = sizes.sum() / max(answered.sum(), 1.0), cell_means(tokens.sum(axis=0), images.sum(axis=0))
    lost, lost_others = missing[:, None], (missing.sum() - missing)[:, None]
    others = np.maximum(tokens.sum(axis=0) - tokens, 1.0)
    room = ((sizes.sum() - sizes)[:, None] + lost_others * length) / (sizes[:, None] + lost * length)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.log2(tokens * room / (others + lost_others * mentions))
        high = np.log2((tokens + lost * mentions) * room / others)
    unknown = np.full(score.shape, np.nan)
    return Bounds(score, np.fmin(low, score), np.fmax(high, score), unknown, unknown)
