"""What interventions change besides estimates (`paired_changes`): missing answers, and how ciphers are read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import scipy

from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import LEVEL, Array, means
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.paired_changes import GROUPS, PREFIX, Change, interval
from facevalue.measures.selection import to_array

MISSING = f"{PREFIX}missing answers"
"""Name of the change in the share of replies without a valid answer."""


def missing_change(unit: str) -> Measure:
    """The change in the share of replies without a valid answer, clusters being of this unit."""
    return Measure(
        name=MISSING,
        title="Replies without a valid answer: change",
        equation="sum(1 - mass) / N with the intervention - sum(1 - mass) / N without it, on the same trials",
        unit="pp",
        cluster=unit,
        source="FaceValue",
        paired=True,
        comparison=True,
        limits=(-100.0, 100.0),
    )


def degrees_of_freedom(estimates: pl.DataFrame) -> Array:
    """Degrees of freedom of each estimate's standard error; NaN where clusters are not counted.

    One less than its clusters. Changes by the delete-a-group jackknife have those that their intervals are made with:
    half the width is t(df) se, so that the two say df. The longer side counts, as a limit of the measure may have cut
    the other.
    """
    value, low, high, se, clusters = (to_array(estimates[name]) for name in ("value", "low", "high", "se", "clusters"))
    names = estimates["measure"]
    by_group = (names.str.starts_with(PREFIX) & (names != MISSING)).to_numpy()
    possible = np.arange(1, 2 * GROUPS)
    with np.errstate(invalid="ignore", divide="ignore"):
        reach = np.fmax(high - value, value - low) / se
    nearest = np.abs(scipy.stats.t.ppf(0.5 + LEVEL / 2, possible) - reach[:, None]).argmin(axis=1)
    groups = np.where(np.isfinite(reach), possible[nearest], np.nan)
    return np.where(by_group, np.fmin(groups, clusters - 1), clusters - 1)


@dataclass(frozen=True, slots=True)
class Asked:
    """Replies of one condition by cluster; arrays of one length."""

    replies: Array
    missing: Array
    """How many of them have no valid answer, expected where probabilities were read."""


def add_missing_change(table: EstimateTable, plain: Asked, other: Asked, unit: str) -> None:
    """Add the change in the share of replies without a valid answer.

    Equation
    --------
    d = r_1 - r_0, r = Σ missing / Σ replies; e_g = (missing_1g - r_1 replies_1g) / Σ replies_1 - the same of the plain
    condition; se² = G/(G-1) Σ_g e_g²; t with G - 1 degrees of freedom (linearisation of a difference of two ratios over
    the same clusters: Cochran, Sampling Techniques, 1977, sections 6.4 and 6.13).
    """
    asked = (plain.replies > 0) | (other.replies > 0)
    size = int(asked.sum())
    totals = [one.replies.sum() for one in (plain, other)]
    value = se = np.nan
    if min(totals) > 0:
        rates = [one.missing.sum() / total for one, total in zip((plain, other), totals, strict=True)]
        value = 100 * (rates[1] - rates[0])
        parts = [
            (one.missing - rate * one.replies) / total
            for one, rate, total in zip((plain, other), rates, totals, strict=True)
        ]
        if size > 1:
            se = 100 * float(np.sqrt(size / (size - 1) * ((parts[1] - parts[0]) ** 2).sum()))
    of_all = Change(*(np.array([float(x)]) for x in (value, se, max(size - 1, 1), size)))
    estimate, p = interval(of_all, np.array([int(sum(totals))]), np.array([size]), missing_change(unit))
    method = "t over clusters, both conditions of each"
    estimate = replace(estimate, method=np.where(se > 0, method, estimate.method).astype(object))
    table.add(missing_change(unit), {}, estimate, p=p, family="change in missing answers")


def reading_share(unit: str) -> Measure:
    """How often replies to a ciphered question were written in what, clusters being of this unit."""
    return Measure(
        name="reading_share",
        title="What replies to ciphered questions are written in",
        equation="100 n_kind / N; kinds: decoded, plain, mixed, unable, unreadable",
        unit="%",
        cluster=unit,
        source="FaceValue; cipher of VisBias (003_4c8bf5711757ffbf), section 2.1",
        signed=False,
        limits=(0.0, 100.0),
    )


def add_readings(table: EstimateTable, counts: Array, kinds: Sequence[str], unit: str, seed: int) -> None:
    """Add the share of each kind, with cluster intervals.

    `counts`: replies by cluster and kind, shape (clusters, kinds).
    """
    replies = np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape)
    shares = means(100 * counts, replies, seed, level=True)
    table.add(reading_share(unit), {"reading": list(kinds)}, shares)
