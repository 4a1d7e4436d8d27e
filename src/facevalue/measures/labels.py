"""Permutations of group labels: among people, or among the pictures of a person who is in several groups."""

import numpy as np
import numpy.typing as npt

from facevalue.measures.resampled import distinct

Codes = npt.NDArray[np.int64]


class Deals:
    """Labels of items under the null that they mean nothing.

    People whose items are all of one group exchange labels with other such people of their stratum, all items of one
    person together. The items of a person who has several groups exchange labels with each other: what is special about
    the person is the same in all of them.

    Parameters
    ----------
    unit:
        Who it is about; by default each item is about somebody else.
    stratum:
        Labels move only within one. All are one by default.

    Examples
    --------
    >>> deals = Deals(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    >>> deals.distinct, deals.drawn(100, np.random.default_rng(0)).mean(axis=1).tolist() == [0.5] * 100
    (2.0, True)
    """

    def __init__(self, label: Codes, unit: Codes | None = None, stratum: Codes | None = None) -> None:
        label = np.asarray(label, dtype=np.int64)
        items = np.arange(label.size)
        unit = items if unit is None else np.unique(unit, return_inverse=True)[1]
        stratum = np.zeros(label.size, dtype=np.int64) if stratum is None else np.asarray(stratum, dtype=np.int64)
        people = int(unit.max(initial=-1)) + 1
        lowest, highest = np.full(people, np.iinfo(np.int64).max), np.full(people, -1)
        np.minimum.at(lowest, unit, label)
        np.maximum.at(highest, unit, label)
        crossed = (lowest != highest)[unit]
        # What is dealt to: a person, or one item of a person of several groups.
        element = np.where(crossed, people + items, unit)
        _, first, self._of_item = np.unique(element, return_index=True, return_inverse=True)
        block = np.where(crossed, int(stratum.max(initial=0)) + 1 + unit, stratum)[first]
        self._label, self._block = label[first], np.unique(block, return_inverse=True)[1].astype(np.float64)
        self._places = np.argsort(self._block, kind="stable")
        self.distinct = distinct(self._label, self._block.astype(np.int64))

    def drawn(self, size: int, rng: np.random.Generator) -> Codes:
        """So many deals, shape (size, items)."""
        order = np.argsort(self._block + rng.random((size, self._label.size)), axis=1)
        out = np.empty((size, self._label.size), dtype=np.int64)
        out[:, self._places] = self._label[order]
        return out[:, self._of_item]
