"""Tests of a table by family, and q of other p-values of the same tests, which is never below the one that there is."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.adjustment import within
from facevalue.measures.audit_level import FAMILY
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.selection import to_array

_SAME = 1e-9  # relative: q as close to Benjamini and Hochberg's is theirs


@dataclass(frozen=True, slots=True)
class FamilyTests:
    """Tests of a table of estimates; arrays of one length, an entry for each row.

    Attributes
    ----------
    tested:
        Which rows have a p, a q and a family.
    family:
        Number of each row's family, of one model, intervention, measure and score; -1 where nothing is tested.
    p:
        P-value that a correction starts from. Where a family is judged by its largest statistic (max-T), q lies below
        Benjamini and Hochberg's, and it is q / tests: what a test among so many would have to show to be found so.
    q:
        As the table has it.
    """

    tested: npt.NDArray[np.bool_]
    family: npt.NDArray[np.int64]
    p: Array
    q: Array

    @classmethod
    def of(cls, estimates: pl.DataFrame) -> "FamilyTests":
        """Tests of a table.

        Examples
        --------
        >>> table = pl.DataFrame({"model": "m", "intervention": None, "measure": "sbs", "score": None,
        ...                       "family": "cues", "p": [0.01, 0.04], "q": [0.012, 0.04]})
        >>> FamilyTests.of(table).p.tolist()
        [0.006, 0.04]
        """
        p, q = to_array(estimates["p"]), to_array(estimates["q"])
        of = estimates.select(pl.struct(FAMILY).rank("dense").cast(pl.Int64))
        tested = np.isfinite(p) & np.isfinite(q) & estimates["family"].is_not_null().to_numpy()
        family = np.where(tested, of["model"].to_numpy() - 1, -1)
        tests = np.bincount(family[tested], minlength=1)[family]
        by_largest = q < within(p, family) * (1 - _SAME)
        return cls(tested, family, np.where(by_largest, np.fmin(p, q / np.maximum(tests, 1)), p), q)

    def q_of(self, p: Array) -> Array:
        """Benjamini and Hochberg's q of other p-values within each family, at least the one that there is."""
        return np.where(self.tested, np.fmax(within(p, self.family), self.q), self.q)
