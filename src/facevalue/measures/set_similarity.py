"""Similarity of lists: how much of what is named about a picture and its base is the same.

A model that draws its replies names other things about one and the same picture, too. So the similarity stands beside
that of two replies to one picture. What is lost against it is due to the other picture, and not by itself to what was
changed in it. So it is described, and not tested, as flips are.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from facevalue.measures.cluster_bootstrap import Array

Codes = npt.NDArray[np.int64]
_AT_ONCE = 200_000


class Similarities(NamedTuple):
    """Similarity of each changed picture and question, shape (pictures, questions); NaN where not measured.

    `rate`: of the lists about base and change. `floor`: of two lists about either. `beyond`: what the one lacks of the
    other. `chosen`, `valid`, `pairs`: sums of similarities, valid pairs of answers, and pairs asked for.
    """

    rate: Array
    floor: Array
    beyond: Array
    chosen: Array
    valid: Array
    pairs: Array


def similarities(
    lists: Codes, sets: Sequence[frozenset[str]], was_asked: npt.NDArray[np.bool_], base: Codes, varied: Codes
) -> Similarities:
    """Compare lists about changed pictures with those about their bases.

    Parameters
    ----------
    lists:
        Which of the sets each answer names, shape (stimuli, questions, replies); -1 where there is none.
    sets:
        What each list names.
    was_asked:
        Whether an answer was asked for, of the shape of `lists`.
    base, varied:
        Rows of the bases (-1 for none) and of the changed pictures.

    Equation
    --------
    J(a, b) = |a ∩ b| / |a ∪ b|, 1 for two empty lists; rate is its mean over all pairs of a reply about the base and
    one about the change, floor that over pairs of two replies about the base and of two about the change, each picture
    counting alike, and beyond = floor - rate: 0 on average where the change does nothing.

    Examples
    --------
    >>> sets = [frozenset({"nurse", "cook"}), frozenset({"nurse"})]
    >>> codes = np.array([[[0, 0]], [[1, 1]]])
    >>> out = similarities(codes, sets, codes >= 0, np.array([0]), np.array([1]))
    >>> [x.item() for x in out[:3]]
    [0.5, 1.0, 0.5]
    """
    jaccard = _Jaccard(sets)
    replies = lists.shape[-1]
    of_base, of_change = lists[base], lists[varied]
    of_base = np.where((base >= 0)[:, None, None], of_base, -1)
    rate = jaccard.mean(of_base, of_change, [(first, second) for first in range(replies) for second in range(replies)])
    twice = list(combinations(range(replies), 2))
    floor = (jaccard.mean(of_base, of_base, twice) + jaccard.mean(of_change, of_change, twice)) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (lists >= 0).sum(axis=-1) / was_asked.sum(axis=-1)  # NaN where nothing was asked
    valid = np.where(np.isfinite(rate), share[base] * share[varied], 0.0)
    pairs = np.isfinite(share[base]) & np.isfinite(share[varied]) & (base >= 0)[:, None]
    floor = np.where(np.isfinite(rate), floor, np.nan)
    return Similarities(rate, floor, floor - rate, np.nan_to_num(rate) * valid, valid, pairs.astype(np.float64))


class _Jaccard:
    """Similarity of sets by their codes; each pair of sets is compared once in a call."""

    def __init__(self, sets: Sequence[frozenset[str]]) -> None:
        places = {word: at for at, word in enumerate(sorted({word for names in sets for word in names}))}
        rows = np.repeat(np.arange(len(sets)), [len(names) for names in sets])
        columns = [places[word] for names in sets for word in names]
        shape = (len(sets), max(len(places), 1))
        self._has = scipy.sparse.csr_matrix((np.ones(len(columns)), (rows, columns)), shape=shape)
        self._sizes = np.array([len(names) for names in sets], dtype=np.float64)

    def mean(self, first: Codes, second: Codes, pairs: Sequence[tuple[int, int]]) -> Array:
        """Mean over these pairs of replies, the last axis; NaN where none is of two lists."""
        totals, counts = np.zeros(first.shape[:-1]), np.zeros(first.shape[:-1])
        for left, right in pairs:
            codes, rival_codes = first[..., left], second[..., right]
            valid = (codes >= 0) & (rival_codes >= 0)
            totals[valid] += self._of(codes[valid], rival_codes[valid])
            counts += valid
        with np.errstate(invalid="ignore", divide="ignore"):
            return totals / np.where(counts > 0, counts, np.nan)

    def _of(self, first: Codes, second: Codes) -> Array:
        keys, places = np.unique(first * self._sizes.size + second, return_inverse=True)
        out = np.empty(keys.size)
        for start in range(0, keys.size, _AT_ONCE):
            rows, rivals = np.divmod(keys[start : start + _AT_ONCE], self._sizes.size)
            of_both: scipy.sparse.csr_matrix = self._has[rows, :].multiply(self._has[rivals, :])
            shared = np.asarray(of_both.sum(axis=1)).ravel()
            union = self._sizes[rows] + self._sizes[rivals] - shared
            out[start : start + _AT_ONCE] = np.where(union > 0, shared / np.where(union > 0, union, 1), 1.0)
        return out[places]
