"""Bounds of words: what texts that are missing could have made of scores and log-odds ratios.

Nobody knows whether a missing text had a word. Else it counts as a text like those that are there: as long as they are
on average, and if it had the word, with as many mentions as those that have it.
"""

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotations.counts import WordCounts
from facevalue.measures.cluster_bootstrap import Array, ratio
from facevalue.measures.marked_words import log_odds
from facevalue.measures.uncertainty import Bounds

Codes = npt.NDArray[np.int64]


def association_bounds(score: Array, tokens: Array, sizes: Array, images: Array, texts: tuple[Array, Array]) -> Bounds:
    """Bounds of scores (`word_association.association`, or `least`), shape (groups, words).

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
    length, mentions = sizes.sum() / max(answered.sum(), 1.0), ratio(tokens.sum(axis=0), images.sum(axis=0))
    lost, lost_others = missing[:, None], (missing.sum() - missing)[:, None]
    others = np.maximum(tokens.sum(axis=0) - tokens, 1.0)
    room = ((sizes.sum() - sizes)[:, None] + lost_others * length) / (sizes[:, None] + lost * length)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.log2(tokens * room / (others + lost_others * mentions))
        high = np.log2((tokens + lost * mentions) * room / others)
    unknown = np.full(score.shape, np.nan)
    return Bounds(score, np.fmin(low, score), np.fmax(high, score), unknown, unknown)


def odds_bounds(
    marked: pl.DataFrame, counts: WordCounts, groups: Sequence[str | None], missing: Codes, masked: Collection[str] = ()
) -> Bounds:
    """Bounds of log-odds ratios between groups.

    Parameters
    ----------
    marked:
        Rows of `marked_words.strict`.
    counts, groups, masked:
        As there.
    missing:
        How many texts of each unit are missing, shape (units,).

    Equation
    --------
    `marked_words.log_odds` with m L more words in each group, and as many in the prior as in all groups. low: all
    missing texts of the other group have the word, k mentions each, and none of the group itself; high: the other way
    round. Those of further groups, which are in the prior alone, have it where that goes farther.
    """
    label, units = np.array(groups, dtype=object), counts.texts
    free = ~counts.words.is_in(list(masked)).to_numpy()
    prior = np.asarray(counts.tokens.sum(axis=0), dtype=np.float64).ravel()
    documents = np.asarray(counts.documents.sum(axis=0), dtype=np.float64).ravel()
    sizes = np.asarray(counts.tokens @ free.astype(np.float64))
    length = sizes.sum() / max(units.sum(), 1)
    place = {word: at for at, word in enumerate(counts.words)}
    at = np.array([place[word] for word in marked["word"]], dtype=np.int64)
    sums = {name: (sizes[label == name].sum(), missing[label == name].sum()) for name in set(groups)}
    (size, lost), (size_against, lost_against) = (
        np.array([sums[name] for name in marked[side]], dtype=np.float64).reshape(-1, 2).T
        for side in ("group", "against")
    )
    mentions, further = prior[at] / documents[at], missing.sum() - lost - lost_against
    y, y_against = (marked[name].to_numpy().astype(np.float64) for name in ("tokens", "tokens_against"))
    total_size = sizes.sum() + missing.sum() * length

    def moved(count: Array, rival: Array, rest: Array) -> Array:
        added = (count * lost * mentions, rival * lost_against * mentions)
        added_prior = prior[at] + sum(added) + rest * further * mentions
        total = size + lost * length + total_size, size_against + lost_against * length + total_size
        return log_odds(y + added[0], y_against + added[1], added_prior, total).delta

    no, yes = np.zeros(at.size), np.ones(at.size)
    value = marked["log_odds"].to_numpy()
    low = np.fmin(np.fmin(moved(no, yes, no), moved(no, yes, yes)), value)
    high = np.fmax(np.fmax(moved(yes, no, no), moved(yes, no, yes)), value)
    unknown = np.full(at.size, np.nan)
    return Bounds(value, low, high, unknown, unknown)
