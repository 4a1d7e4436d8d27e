"""Shares of audits and of their tests, with Monte-Carlo intervals: how far they are known from so many repetitions."""

from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import special

from facevalue.measures.cluster_bootstrap import LEVEL

_TAIL = (1 - LEVEL) / 2


class Share(NamedTuple):
    """A share and its Monte-Carlo interval; NaN where there is nothing to take it of."""

    value: float
    low: float
    high: float

    def named(self, name: str) -> dict[str, float]:
        """Return the share and its interval as columns of a table."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


NONE = Share(np.nan, np.nan, np.nan)


def share(rows: pl.DataFrame, column: str, *, crossed: bool = False) -> Share:
    """Share of rows in which a flag is set; tests of one audit go together.

    Parameters
    ----------
    rows:
        A row per test or audit: `audit`, the flag (null where it says nothing), and where `crossed`, `row`: which
        estimate it is. What it should be has an error that is the same in all audits.

    Equation
    --------
    s = Σ x / N, Var(s) = G/(G - 1) Σ_g (Σ_{i in g} (x_i - s))² / N² over audits g; where `crossed`,
    that over estimates is added. The interval is Clopper and Pearson's of n = s (1 - s) / Var(s) draws, N at most,
    times (t_{N-1} / t_{G-1})² (Korn and Graubard 1998); where all or none are set, of as many as there are audits.

    Examples
    --------
    >>> one = share(pl.DataFrame({"audit": range(40), "any": [False] * 40}), "any")
    >>> [round(end, 3) for end in one]
    [0.0, 0.0, 0.088]
    """
    measured = rows.drop_nulls(column).with_columns(pl.col(column).cast(pl.Float64))
    many, audits = measured.height, measured["audit"].n_unique()
    if not many:
        return NONE
    value = float(measured[column].to_numpy().mean())
    if audits < 2:
        return Share(value, 0.0, 1.0)
    apart = measured.with_columns(apart=pl.col(column) - value)
    variance = sum(_variance(apart, key) for key in ("audit", *(["row"] if crossed else [])))
    draws = min(value * (1 - value) / variance, many) if variance > 0 else audits
    size = draws * float((special.stdtrit(many - 1, 1 - _TAIL) / special.stdtrit(audits - 1, 1 - _TAIL)) ** 2)
    hits = value * size
    return Share(value, *clopper_pearson(hits, size))


def clopper_pearson(hits: float, size: float) -> tuple[float, float]:
    """Clopper and Pearson's 95% interval of a share of so many independent draws, which need not be whole numbers.

    Examples
    --------
    >>> [round(end, 3) for end in clopper_pearson(0, 40)]
    [0.0, 0.088]
    """
    low = float(special.betaincinv(hits, size - hits + 1, _TAIL)) if hits > 0 else 0.0
    high = float(special.betaincinv(hits + 1, size - hits, 1 - _TAIL)) if hits < size else 1.0
    return low, high


def _variance(apart: pl.DataFrame, key: str) -> float:
    """Variance of the mean where rows of one key go together; 0 of a single key, which says nothing of it."""
    sums = apart.group_by(key).agg(pl.col("apart").sum())["apart"].to_numpy()
    return float(sums.size / (sums.size - 1) * (sums**2).sum() / apart.height**2) if sums.size > 1 else 0.0


def shortfall(rows: pl.DataFrame, fraction: float) -> Share:
    """Share that a test finds (`finds`) less `least` of a rival's (`rival`), of the same effects, and t over audits.

    Two audits are added, one in which both find everything and one in which the rival alone does, so that few audits
    that agree are no certainty.

    Examples
    --------
    >>> two = pl.DataFrame({"audit": [1, 2], "finds": [False, False], "rival": [True, True]})
    >>> shortfall(two, 0.8).high > 0
    True
    """
    if rows.is_empty():
        return NONE
    ahead = pl.col("finds").cast(pl.Float64) - fraction * pl.col("rival").cast(pl.Float64)
    differences = np.append(
        rows.group_by("audit").agg(ahead.mean().alias("ahead"))["ahead"].to_numpy(), [1 - fraction, -fraction]
    )
    wide = special.stdtrit(differences.size - 1, 1 - _TAIL) * differences.std(ddof=1) / np.sqrt(differences.size)
    return Share(float(differences.mean()), float(differences.mean() - wide), float(differences.mean() + wide))
