"""What interventions change besides estimates (`paired_changes`): missing answers, and how ciphers are read."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.base import Measure, change_of
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import shares
from facevalue.measures.interval_method import IntervalKind, name_method
from facevalue.measures.missing_answers import SHARE
from facevalue.measures.paired_changes import GROUPS, RANDOM_GROUPS, Change, interval
from facevalue.measures.selection import to_array

Codes = npt.NDArray[np.int64]


def degrees_of_freedom(estimates: pl.DataFrame) -> Array:
    """Degrees of freedom of each estimate's standard error; NaN where clusters are not counted.

    One less than its clusters. Changes by the delete-a-group jackknife have those that their intervals are made with:
    half the width is t(df) se, so that the two say df. The longer side counts, as a limit of the measure may have cut
    the other.
    """
    value, low, high, se, clusters = (to_array(estimates[name]) for name in ("value", "low", "high", "se", "clusters"))
    by_group = estimates["detail"].str.contains(RANDOM_GROUPS, literal=True).fill_null(value=False).to_numpy()
    possible = np.arange(1, 2 * GROUPS)
    with np.errstate(invalid="ignore", divide="ignore"):
        reach = np.fmax(high - value, value - low) / se
    nearest = np.abs(-scipy.special.stdtrit(possible, 0.5 - LEVEL / 2) - reach[:, None]).argmin(axis=1)
    groups = np.where(np.isfinite(reach), possible[nearest], np.nan)
    return np.where(by_group, np.fmin(groups, clusters - 1), clusters - 1)


def add_missing_change(table: EstimateTable, totals: pl.DataFrame, unit: str, versus: str) -> None:
    """Add the change in the share of replies without a valid answer.

    Parameters
    ----------
    totals:
        A row per pair of clusters that replies are about: `unit_1` and `unit_2`, their codes, the same where it is one;
        `replies` and `missing`, how many came and how many of them have no valid answer (expected where probabilities
        were read), in the first condition; `replies_other` and `missing_other`, in the second.
    versus:
        What the first condition is.

    Equation
    --------
    d = r_1 - r_0, r = Σ missing / Σ replies; e_p = (missing_1p - r_1 replies_1p) / Σ replies_1 - the same of the plain
    condition (linearisation of a difference of two ratios: Cochran, Sampling Techniques, 1977, sections 6.4 and 6.13).
    V = G/(G-1) Σ_g (Σ_{p with g} e_p)² over clusters, V_P = P/(P-1) Σ e_p² over pairs of two; se² = max(V - V_P, V_P),
    as a pair falls with either side (Aronow, Samii and Assenova 2015; `paired_changes`). t with min(G, P) - 1 degrees
    of freedom; without pairs V and G - 1.
    """
    totals = totals.filter((pl.col("replies") > 0) | (pl.col("replies_other") > 0))
    first, second = (totals[name].cast(pl.Int64).to_numpy() for name in ("unit_1", "unit_2"))
    replies, missing = (np.stack([to_array(totals[f"{name}{end}"]) for end in ("", "_other")])
                        for name in ("replies", "missing"))  # fmt: skip
    size, apart = int(np.unique(np.concatenate([first, second])).size), first != second
    total = replies.sum(axis=1)
    value = se = np.nan
    if total.min() > 0:
        rates = missing.sum(axis=1) / total
        value = rates[1] - rates[0]
        errors = (missing - rates[:, None] * replies) / total[:, None]
        if size > 1:
            se = float(np.sqrt(_dyadic(errors[1] - errors[0], first, second)))
    groups = min(size, int(apart.sum())) if apart.any() else size
    of_all = Change(*(np.array([float(x)]) for x in (value, se, max(groups - 1, 1), groups)))
    definition = replace(change_of(SHARE), cluster=unit, source=SHARE.source)
    estimate, p = interval(of_all, np.array([int(total.sum())]), np.array([size]), definition)
    method = name_method(IntervalKind.T, "over clusters, both conditions of each")
    estimate = replace(estimate, method=np.where(se > 0, method, estimate.method).astype(object))
    table.add(definition, {"versus": versus}, replace(estimate, p=p), "change in missing answers")


def _dyadic(error: Array, first: Codes, second: Codes) -> float:
    """Variance of a sum of errors of pairs that share clusters; see `add_missing_change`."""
    apart = first != second
    sides = np.concatenate([first, second[apart]])
    of_cluster = np.bincount(sides, np.concatenate([error, error[apart]]))
    clusters, pairs = np.unique(sides).size, int(apart.sum())
    of_clusters = clusters / (clusters - 1) * float((of_cluster**2).sum())
    if not pairs:
        return of_clusters
    of_pairs = pairs / max(pairs - 1, 1) * float((error[apart] ** 2).sum())
    return max(of_clusters - of_pairs, of_pairs)


def reading_share(unit: str) -> Measure:
    """How often replies to a ciphered question were written in what, clusters being of this unit."""
    return Measure(
        name="reading_share",
        title="What replies to ciphered questions are written in",
        equation="100 n_kind / N; kinds: decoded, plain, mixed, unable, unreadable",
        unit="%",
        cluster=unit,
        source="FaceValue; cipher of VisBias (Huang et al.), section 2.1",
        signed=False,
        limits=(0.0, 100.0),
    )


def add_readings(table: EstimateTable, counts: Array, kinds: Sequence[str], unit: str) -> None:
    """Add the share of each kind, with Wilson's intervals over clusters.

    `counts`: replies by cluster and kind, shape (clusters, kinds).
    """
    replies = np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape)
    table.add(reading_share(unit), {"reading": list(kinds)}, shares(counts, replies).times(100))
