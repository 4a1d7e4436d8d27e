"""Effects of interventions: estimates with minus estimates without, on the same trials, paired by cluster.

Any measure can be compared so, since nothing is asked of it but to be taken again without some of the clusters. Both
conditions lose the same clusters, so that whatever a cluster brings to both of them cancels.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import LEVEL, Array, Estimates, means, single
from facevalue.measures.estimates import TYPED, EstimateTable, label_columns
from facevalue.measures.selection import to_array

PREFIX = "change: "
"""How the name of a change begins; the name of its measure follows."""
MISSING = f"{PREFIX}missing answers"
"""Name of the change in the share of replies without a valid answer."""
GROUPS = 20
"""Groups of clusters that are left out in turn: with 15 or more, t has nearly its normal width (Kott 2001)."""
NO_GROUPS = "no interval: fewer than two groups of clusters"
UNDEFINED = "no interval: not measurable without some of the clusters"
NONE_ITSELF = "no interval: the estimate itself has none"
NO_VARIANCE = "no interval: the same change whichever group is left out"
_TAKEN = ("value", "n", "clusters", "(bare)")
_OTHER = " (other)"
_ROUNDING = 1e-10  # relative: smaller changes are differences of equal numbers
_SOURCE = "FaceValue; interval by the delete-a-group jackknife (Kott 2001)"


def change_of(measure: Measure) -> Measure:
    """The change in a measure, as a measure.

    Examples
    --------
    >>> change_of(Measure("share", "Share chosen", "n / N", "%", "image", "", limits=(0, 100))).limits
    (-100, 100)
    """
    low, high = measure.limits
    return Measure(
        name=f"{PREFIX}{measure.name}",
        title=f"{measure.title}: change",
        equation=f"{measure.name} with the intervention - {measure.name} without it, on the same trials",
        unit=_unit(measure.unit),
        cluster=measure.cluster,
        source=_SOURCE,
        paired=True,
        comparison=True,
        limits=(low - high, high - low),
    )


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


def _unit(unit: str) -> str:
    return "pp" if unit == "%" else unit


def deal(clusters: int, groups: int, seed: int) -> npt.NDArray[np.int64]:
    """Deal clusters into random groups of equal size, give or take one.

    Returns the group of each cluster, 0 .. min(groups, clusters) - 1.

    Examples
    --------
    >>> np.bincount(deal(7, 3, seed=1)).tolist()
    [3, 2, 2]
    """
    out = np.empty(clusters, dtype=np.int64)
    out[np.random.default_rng(seed).permutation(clusters)] = np.arange(clusters) % max(min(groups, clusters), 1)
    return out


def reduced(estimates: pl.DataFrame) -> pl.DataFrame:
    """What is needed of the estimates of one model and condition: labels, value, n, clusters; if bare; if floored.

    Bare: without an interval of its own. Floored: beside a noise floor. Both are asked of whole samples alone, so that
    what is left of them without a group may have been taken with `cluster_bootstrap.values_only`.
    """
    floored = pl.col("floor").is_not_null() | pl.col("floor_high").is_not_null()
    marked = estimates.with_columns(floored.alias("(floored)"), pl.col("low").is_null().alias("(bare)"))
    keys = ["measure", *(name for name in label_columns(estimates) if name != "intervention")]
    kept = marked.select(*keys, *_TAKEN, "(floored)")
    return kept.unique(keys, keep="first", maintain_order=True)


def changes(
    plain: pl.DataFrame,
    other: pl.DataFrame,
    without: Iterable[tuple[pl.DataFrame, pl.DataFrame]],
    measures: Sequence[Measure],
    *,
    study: str,
    model: str,
    intervention: str,
) -> pl.DataFrame:
    """Paired change of every estimate.

    Parameters
    ----------
    plain, other:
        Estimates without and with the intervention, as `reduced` gives them, from the same trials.
    without:
        The same two, for each group of clusters taken again without the clusters of that group.
    measures:
        Definitions of the measures; estimates of others are left out.

    Returns
    -------
    A row per estimate of `plain` (`measures.estimates`), with the measure `change_of`. A change is not measurable where
    either estimate is, and has no interval where either has none of its own (too few clusters; a correlation over three
    identities; a tally of tests). q is adjusted within each measure (Benjamini-Hochberg). Unsigned estimates that stand
    beside a noise floor have an interval and no p: the floor moves with the number of valid answers, and would be found
    to.

    Equation
    --------
    d = x_1 - x_0; se² = (m - 1)/m Σ_g (d_(g) - d)² over the m groups that hold any cluster of the estimate, d_(g) being
    the change without group g; d ± t(m - 1) se (Kott 2001, "The delete-a-group jackknife", Journal of Official
    Statistics 17, 521-526). In Kott's estimator m is the number of all groups, as it is here unless an estimate has few
    clusters.

    Notes
    -----
    The jackknife is for estimates that move little with any one cluster: means, ratios, correlations. For a maximum, or
    a count of steps, its interval is a rough one.
    """
    whole = _joined(plain, other)
    names = _keys(whole)
    keys = whole.select(names)
    pairs = [whole]
    for part in without:
        pairs.append(keys.join(_joined(*part), on=names, how="left", nulls_equal=True, maintain_order="left"))
    known = {m.name: m for m in measures}
    units = [known[name].cluster if name in known else "" for name in whole["measure"]]
    found = _jackknife({name: np.stack([to_array(pair[name]) for pair in pairs]) for name in _COLUMNS}, units)
    labels = names[1:]
    table = EstimateTable(study, model, [name for name in labels if name not in TYPED], intervention)
    measured = whole["measure"]
    for name in measured.unique(maintain_order=True):
        if name not in known:
            continue
        rows = np.flatnonzero((measured == name).to_numpy())
        own = found.at(rows)
        untested = whole["(floored)"].to_numpy()[rows] & (not known[name].signed)
        assert own.p_zero is not None
        p = np.where(untested, np.nan, own.p_zero)
        own_labels = {label: whole[label].gather(rows).to_list() for label in labels}
        table.add(change_of(known[name]), own_labels, own, p=p, family=f"changes in {name}")
    return table.frame()


_COLUMNS = tuple(name + end for name in _TAKEN for end in ("", _OTHER))
_NO_LABELS = (*_COLUMNS, "(floored)")


def _joined(plain: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    keys = _keys(plain)
    return plain.join(
        other.select(*keys, *_TAKEN), on=keys, how="left", nulls_equal=True, suffix=_OTHER, maintain_order="left"
    )


def _keys(reduced: pl.DataFrame) -> list[str]:
    """What pairs estimates of two conditions: their measure and labels."""
    return ["measure", *(name for name in label_columns(reduced) if name not in _NO_LABELS)]


def _jackknife(x: Mapping[str, Array], units: Sequence[str]) -> Estimates:
    """From estimates of shape (1 + groups, rows), the whole sample first, to changes over clusters of these units."""
    value, other = x["value"], x[f"value{_OTHER}"]
    d = other - value
    least = _ROUNDING * np.maximum(np.abs(value[0]), np.abs(other[0]))
    d[0] = np.where(np.abs(d[0]) <= least, 0.0, d[0])
    same = [_equal(x[name][1:], x[name][:1]) for name in _COLUMNS if not name.startswith("(bare)")]
    held = ~np.logical_and.reduce(same)
    m = held.sum(axis=0)
    moved = np.where(held, d[1:] - d[:1], 0.0)
    moved = np.where(np.abs(moved) <= least, 0.0, moved)
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.sqrt((m - 1) / m * (moved**2).sum(axis=0))
    why = np.full(m.size, None, dtype=object)
    why[se == 0] = NO_VARIANCE  # none at all is no certainty
    why[np.isnan(moved).any(axis=0)] = UNDEFINED
    why[m < 2] = NO_GROUPS
    why[(x["(bare)"][0] == 1) | (x[f"(bare){_OTHER}"][0] == 1)] = NONE_ITSELF
    se = np.where([one is None for one in why], se, np.nan)
    n = np.nansum([x["n"][0], x[f"n{_OTHER}"][0]], axis=0)
    clusters = np.nan_to_num(np.fmin(x["clusters"][0], x[f"clusters{_OTHER}"][0]))
    df = np.maximum(m - 1, 1)
    half = scipy.stats.t.ppf(0.5 + LEVEL / 2, df) * se
    made = (
        f"delete-a-group jackknife, {groups} random groups by {unit}" for groups, unit in zip(m, units, strict=True)
    )
    method = np.array([reason or how for reason, how in zip(why, made, strict=True)], dtype=object)
    p = np.asarray(2 * scipy.stats.t.sf(np.abs(d[0]) / se, df), dtype=np.float64)
    return Estimates(d[0], d[0] - half, d[0] + half, n.astype(np.int64), clusters.astype(np.int64), method, se, p)


def _equal(one: Array, other: Array) -> npt.NDArray[np.bool_]:
    return np.isclose(one, other, rtol=_ROUNDING, atol=0.0, equal_nan=True)


def degrees_of_freedom(estimates: pl.DataFrame) -> Array:
    """Degrees of freedom of each estimate's standard error; NaN where clusters are not counted.

    One less than its clusters. Changes by the delete-a-group jackknife have one less than their groups, which is what
    their intervals are made with: half the width is t(m - 1) se, so that the two say m. The longer side counts, as a
    limit of the measure may have cut the other.
    """
    value, low, high, se, clusters = (to_array(estimates[name]) for name in ("value", "low", "high", "se", "clusters"))
    names = estimates["measure"]
    by_group = (names.str.starts_with(PREFIX) & (names != MISSING)).to_numpy()
    possible = np.arange(1, GROUPS)
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
    half = scipy.stats.t.ppf(0.5 + LEVEL / 2, max(size - 1, 1)) * se
    method = "t over clusters, both conditions of each" if np.isfinite(se) else "no interval: fewer than two clusters"
    p = np.array([2 * scipy.stats.t.sf(abs(value) / se, size - 1) if se > 0 else np.nan])
    found = single(value, value - half, value + half, se, int(sum(totals)), size, method)
    table.add(missing_change(unit), {}, found, p=p, family="change in missing answers")


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
