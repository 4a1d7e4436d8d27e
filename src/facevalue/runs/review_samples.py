"""Samples for review: as many of each kind as of any other, so that rare kinds are among them, with their sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from facevalue.design.permutation import mix

STRATUM = "stratum"
"""Column of what is sampled that says of which kind a row is."""
_RANK = "_rank"
MOST_STRATA = 24
"""Kinds that are told apart; rarer ones than these are one more together."""
REST = "all others"


@dataclass
class StratifiedSample:
    """Rows of each kind with the least ranks, which follow from their number and a seed: a sample, drawn as rows come.

    Attributes
    ----------
    size:
        Rows wanted in all.
    seed:
        Draws the same ones again.
    counts:
        How many rows came of each kind.
    """

    size: int
    seed: int
    counts: dict[str, int] = field(default_factory=dict)
    _rows: pl.DataFrame | None = None

    def add(self, rows: pl.DataFrame, number: np.ndarray) -> None:
        """Take rows with a column `STRATUM`; `number`: a whole number that tells each from all others."""
        for stratum, count in rows.group_by(STRATUM).len().iter_rows():
            self.counts[stratum] = self.counts.get(stratum, 0) + count
        ranks = mix(number.astype(np.uint64) ^ np.uint64(self.seed * 2_654_435_761 % 2**64))
        ranked = rows.with_columns(pl.Series(_RANK, ranks, pl.UInt64))
        tables = [ranked] if self._rows is None else [self._rows, ranked]
        first = pl.concat(tables).sort(_RANK).group_by(STRATUM, maintain_order=True).head(self.size)
        self._rows = first.sort(_RANK)

    def drawn(self) -> tuple[pl.DataFrame, Mapping[str, int]]:
        """The rows that are drawn, and the number of rows of each kind that there are.

        Each kind has as many as any other, or all that it has; of kinds beyond `MOST_STRATA` the rarest are one kind.
        """
        if self._rows is None:
            return pl.DataFrame(), {}
        frequent = sorted(self.counts, key=lambda stratum: (-self.counts[stratum], stratum))[:MOST_STRATA]
        sizes = {stratum: self.counts[stratum] for stratum in frequent}
        if rest := sum(self.counts.values()) - sum(sizes.values()):
            sizes[REST] = rest
        kind = pl.when(pl.col(STRATUM).is_in(frequent)).then(pl.col(STRATUM)).otherwise(pl.lit(REST)).alias(STRATUM)
        rows = self._rows.with_columns(kind)
        quotas = shares(sizes, self.size)
        pieces = [rows.filter(pl.col(STRATUM) == stratum).head(count) for stratum, count in quotas.items()]
        return pl.concat(pieces).drop(_RANK), sizes


def shares(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """How many to draw of each kind: as many of each as of any other, or all that it has.

    Examples
    --------
    >>> shares({"yes": 900, "no": 500, "refused": 3}, 23)
    {'refused': 3, 'no': 10, 'yes': 10}
    """
    out: dict[str, int] = {}
    ascending = sorted(sizes, key=lambda stratum: (sizes[stratum], stratum))
    for place, stratum in enumerate(ascending):
        left = size - sum(out.values())
        out[stratum] = min(sizes[stratum], left // (len(ascending) - place))
    return out
