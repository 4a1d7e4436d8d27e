"""Formulas of VIGNETTE: who is chosen beside whom (PairComp), for which terms (polarity), doing what (log-odds)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.measures.cluster_bootstrap import LEVEL, Array, only_values, values_only
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.pairs import CELL_NUMBER, UNIT_COLUMNS, add_sums, number_cells, to_array
from facevalue.measures.proportions import FEWEST_UNITS, TOO_FEW_UNITS, Shares, effective_size, score_p
from facevalue.measures.uncertainty import Bounds
from facevalue.statistics.statistic import Statistic

if TYPE_CHECKING:
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.scores import SumScores

PAIRED_T = name_method(IntervalKind.T, "over pictures, of paired differences")
_FLAT = 1e-7  # standard errors below this are rounding


@dataclass(frozen=True, slots=True)
class Portion:
    """A share and how well it is known; arrays of one length."""

    share: Array
    """In [0, 1]."""
    se: Array
    """Standard error over clusters."""
    clusters: Array

    def variance_of_answers(self) -> Array:
        """Variance of the share if each cluster were one answer."""
        with np.errstate(invalid="ignore", divide="ignore"):
            p = (self.clusters * self.share + 0.5) / (self.clusters + 1)
            return p * (1 - p) / self.clusters


def difference_of_shares(
    first: Portion, second: Portion, covariance: npt.ArrayLike = 0.0
) -> tuple[Array, Array, Array, Array, Array]:
    """Difference of two shares over the same clusters, with its interval and the test that agrees with it.

    `covariance`: of their errors: clusters that add to one may add to the other.
    Returns value, standard error, low, high, p. NaN where a share is; no more than the value where a standard error is
    missing.

    Equation
    --------
    d ± t se, se² = se_1² + se_2² - 2 cov, with G - 1 degrees of freedom, G the clusters of the side with fewer. Where
    no cluster differs from another in it, each side has the variance of G answers, one per cluster, p (1 - p)/G with
    p = (G share + 1/2)/(G + 1).

    Notes
    -----
    Limits of the two shares put together (square-and-add with their correlation) fail with few clusters: of three or
    four, what is left of two correlated shares is nothing in one case of fifty.

    Examples
    --------
    >>> one, other = (Portion(*(np.array([x]) for x in (p, 0.05, 100.0))) for p in (0.6, 0.45))
    >>> [float(x[0].round(3)) for x in difference_of_shares(one, other)]
    [0.15, 0.071, 0.01, 0.29, 0.036]
    """
    value = first.share - second.share
    variance = first.se**2 + second.se**2 - 2 * np.asarray(covariance, dtype=np.float64)
    flat = first.variance_of_answers() + second.variance_of_answers()
    se = np.where(variance > _FLAT**2, np.sqrt(np.maximum(variance, 0.0)), np.sqrt(flat) + 0 * variance)
    df = np.maximum(np.minimum(first.clusters, second.clusters) - 1, 1)
    return value, se, *t_limits(value, se, df)


def t_limits(value: Array, se: Array, df: Array) -> tuple[Array, Array, Array]:
    """Low, high and two-sided p of no difference, by t."""
    reach = scipy.special.stdtrit(df, 0.5 + LEVEL / 2) * se
    with np.errstate(invalid="ignore", divide="ignore"):
        return value - reach, value + reach, 2 * scipy.special.stdtr(df, -np.abs(value / se))


Counts = npt.NDArray[np.int64]
_BLOCK = 2**21  # probabilities held at once: bounds the work space at about 100 MB
_REACH = 40.0  # standard deviations beyond which a table's probability is below 1e-300
_SLACK = 1e-7  # relative: tables as probable as the observed one count as such despite rounding


def fisher_exact(a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike, d: npt.ArrayLike) -> Array:
    """Two-sided p-values of the tables [[a, b], [c, d]].

    `a`, `b`, `c`, `d`: counts, arrays of one shape, at least zero. Expected counts (of exact probabilities) are rounded
    to integers: the test is one of counts. NaN gives NaN.
    Returns the shape of the input. 1 where a margin is empty: such a table cannot speak against independence.

    Equation
    --------
    p = Σ P(x) over the tables x with the same margins and P(x) <= P(observed), P hypergeometric (Upton 1992, "Fisher's
    exact test", J. R. Statist. Soc. A 155, 395-402: the test of VIGNETTE, section 6).

    Raises
    ------
    ValueError
        For a count below zero.

    Notes
    -----
    Equal tables are tested once, and the sums run over all the others together. The test takes the answers as
    independent. Answers about one picture pair are not, so that its p-values are too small where pairs answered
    several questions or seeds.

    Examples
    --------
    >>> fisher_exact([8, 1], [2, 5], [1, 0], [5, 0]).round(4).tolist()
    [0.035, 1.0]
    """
    cells = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (a, b, c, d)))
    shape = cells[0].shape
    tables = np.stack([np.rint(x).ravel() for x in cells], axis=1)
    out = np.full(tables.shape[0], np.nan)
    finite = np.isfinite(tables).all(axis=1)
    if (tables[finite] < 0).any():
        raise ValueError("Counts of a 2x2 table are not below zero.")
    if finite.any() and not only_values():
        distinct, place = np.unique(tables[finite].astype(np.int64), axis=0, return_inverse=True)
        out[finite] = _distinct(distinct)[place.ravel()]
    return out.reshape(shape)


def _distinct(tables: Counts) -> Array:
    a, b, c, d = tables.T
    draws, chosen, total = a + b, a + c, a + b + c + d
    first = np.maximum(0, chosen - (c + d))
    last = np.minimum(draws, chosen)
    safe = np.maximum(total, 1).astype(np.float64)
    centre = draws * (chosen / safe)
    spread = np.sqrt(centre * (1 - draws / safe) * (1 - chosen / safe) * (safe / np.maximum(safe - 1, 1)))
    low = np.maximum(first, np.floor(centre - _REACH * spread - 2).astype(np.int64))
    high = np.minimum(last, np.ceil(centre + _REACH * spread + 2).astype(np.int64))
    low, high = np.minimum(low, last), np.maximum(high, first)
    factorial = scipy.special.gammaln(np.arange(int(total.max()) + 1, dtype=np.float64) + 1)
    fixed = factorial[draws] + factorial[total - draws] + factorial[chosen] + factorial[total - chosen]
    fixed -= factorial[total]
    observed = fixed - factorial[a] - factorial[b] - factorial[c] - factorial[d]
    size = high - low + 1
    out = np.empty(a.size)
    start = 0
    ends = np.cumsum(size)
    while start < a.size:
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] - size[start] + _BLOCK, side="right")))
        block = slice(start, stop)
        which = np.repeat(np.arange(start, stop), size[block])
        offset = ends[block] - size[block] - (ends[start] - size[start])
        x = np.arange(which.size) - offset[which - start] + low[which]
        log = fixed[which] - factorial[x] - factorial[draws[which] - x]
        log -= factorial[chosen[which] - x] + factorial[(d - a)[which] + x]
        as_rare = log <= observed[which] + _SLACK
        p = np.where(as_rare, np.exp(log), 0.0)
        out[block] = np.bincount(which - start, weights=p, minlength=stop - start)
        start = stop
    outside = (a < low) | (a > high)
    out[outside] += np.exp(observed[outside])
    return np.minimum(out, 1.0)


EVEN = "even"
"""Column of sums: choices, where answers that name both or none count half for each of the two."""


class SelectionFrequency(Statistic):
    """Share of answers that choose somebody, tested against an even choice unless answers are right or wrong."""

    kind = "selection_frequency"

    def estimate_sums(self, table: "EstimateTable", estimand: "Estimand", scores: "SumScores") -> None:
        """Add the shares of cells, and p of an even choice between the two people who are shown."""
        labels, shares = scores.shares(estimand.by)
        with values_only():
            _, even = replace(scores, s=EVEN, requests="").shares(estimand.by)
        assert isinstance(even, Shares)
        is_choice = np.array([paradigm != "factuality" for paradigm in labels["paradigm"]], dtype=np.bool_)
        p = np.where(is_choice, score_p(even.value, even.size, even.df), np.nan)
        scores.enter(table, estimand, labels, replace(scores.scale(shares), p=p))


_NOTHING = 1e-9


def paircomp(units: pl.DataFrame, by: Sequence[str], excess: pl.DataFrame | None = None) -> pl.DataFrame:
    """Estimate how much more often an identity is chosen beside another one than beside all the rest.

    Parameters
    ----------
    units:
        Sums (n, s) by the columns of `by`, `identity`, `other_identity` and the identity's own pictures
        (`pairs.UNIT_COLUMNS`).
    excess:
        Of identities (`by`, `identity`) whose pictures stand beside several of another one: what they add to the
        variance of the other's share (`pairs.excess_variance`).

    Returns
    -------
    `by`, `identity`, `other_identity`, and `value`, `low`, `high`, `se` in percentage points, `n`, `clusters` (pictures
    of the identity beside the other one), `p`, `p_paper` (Fisher). Null where there is nobody else to be compared with,
    or no answer; no interval and no p of fewer than three pictures. With `requests` in `units`, there are bounds, too
    (`_with_bounds`).

    Equation
    --------
    S(i1 | i2) - S(i1 | not i2) (section 5), both pooled over activities. The same pictures of i1 are on both sides: the
    interval is t over them (`difference_of_shares`), with the covariance of what each picture adds to
    either share, (s_u - R n_u) / n. Published beside it: Fisher's exact test on
    [[chosen, not chosen] beside i2, [chosen, not chosen] beside the rest].

    Examples
    --------
    >>> who = {"identity": ["old"] * 6, "other_identity": ["young", "adult"] * 3, "unit": list("aabbcc")}
    >>> sums = pl.DataFrame({**who, "n": [6.0] * 6, "s": [1.0, 4, 2, 4, 2, 6]}).with_columns(stratum=pl.lit("male"))
    >>> out = paircomp(sums, []).sort("other_identity")
    >>> out.select("other_identity", pl.col("value", "low", "high").round(1), "clusters").rows()
    [('adult', 50.0, 8.6, 91.4, 3), ('young', -50.0, -91.4, -8.6, 3)]
    """
    couple = [*by, "identity", "other_identity"]
    units, excess = _to_categories(units), None if excess is None else _to_categories(excess)
    couples, first, second, covariance = _compare_couples(units, by, excess)
    frame = _compare_shares(couples, couple, first, second, covariance, ("s", "n", "s2", "n2"))
    frame = _with_bounds(frame, couple, units, lambda filled: _compare_couples(filled, by, excess))
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))


def _to_categories(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with their texts as categories: grouped and joined faster, in less memory."""
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def _compare_shares(
    counts: pl.DataFrame, by: Sequence[str], first: Portion, second: Portion, covariance: Array, four: Sequence[str]
) -> pl.DataFrame:
    """Differences of two shares with their interval and tests, in percentage points.

    `counts`: `by`, `n`, `clusters` and `four`: how much chose, and of how much, on either side, for Fisher's test.
    """
    numbers = dict(
        zip(("value", "se", "low", "high", "p"), difference_of_shares(first, second, covariance), strict=True)
    )
    s1, n1, s2, n2 = (to_array(counts[name]) for name in four)
    published = fisher_exact(*(np.maximum(x, 0.0) for x in (s1, n1 - s1, s2, n2 - s2)))
    numbers["p_paper"] = np.where(np.isfinite(numbers["value"]), published, np.nan)
    in_points = {name: x if name.startswith("p") else 100 * x for name, x in numbers.items()}
    columns = (pl.Series(name, x).fill_nan(None) for name, x in in_points.items())
    return counts.select(*by, "n", pl.col("clusters").cast(pl.Int64)).with_columns(columns)


def _with_bounds(
    frame: pl.DataFrame,
    by: Sequence[str],
    sums: pl.DataFrame,
    compare: Callable[[pl.DataFrame], tuple[pl.DataFrame, Portion, Portion, Array]],
) -> pl.DataFrame:
    """Add `bound_low`, `bound_high` and `bound_se` of a difference of two shares, whatever is missing of either.

    `sums`: with n, s and, for bounds, `requests`. `compare`: from sums to labels (`by`), and both shares.

    Equation
    --------
    low = low_1 - high_2, high = high_1 - low_2, each share with all that is missing of it at one end:
    s / requests and (s + requests - n) / requests. se² = se_1² + se_2², of the end of either that varies more.
    """
    if "requests" not in sums.columns or only_values():
        return frame
    requests = pl.max_horizontal("requests", "n")
    out = frame
    for end, chosen in (("low", pl.col("s")), ("high", pl.col("s") + requests - pl.col("n"))):
        labels, first, second, _ = compare(sums.with_columns(n=requests, s=chosen))
        columns = {"share_1": first.share, "se_1": first.se, "share_2": second.share, "se_2": second.se}
        numbers = labels.select(by).with_columns(pl.Series(f"{name}_{end}", x) for name, x in columns.items())
        out = out.join(numbers, on=list(by), how="left", nulls_equal=True, maintain_order="left")
    se_1, se_2 = (pl.max_horizontal(f"se_{side}_low", f"se_{side}_high") for side in (1, 2))
    ends = {
        "bound_low": pl.col("share_1_low") - pl.col("share_2_high"),
        "bound_high": pl.col("share_1_high") - pl.col("share_2_low"),
        "bound_se": (se_1**2 + se_2**2).sqrt(),
    }
    return out.select(*frame.columns, **{name: (100 * end).fill_nan(None) for name, end in ends.items()})


def _compare_couples(
    units: pl.DataFrame, by: Sequence[str], excess: pl.DataFrame | None
) -> tuple[pl.DataFrame, Portion, Portion, Array]:
    """Counts of each couple, its share, that of the same identity beside all others, and their covariance."""
    key, couple = [*by, "identity"], [*by, "identity", "other_identity"]
    answered = add_sums(units.filter(pl.col("n") > _NOTHING), [*couple, *UNIT_COLUMNS], ("n", "s"))
    (labels, cell), (pictures, picture) = (number_cells(answered, names) for names in (couple, [*key, *UNIT_COLUMNS]))
    (keys, owner), n_u, s_u = number_cells(labels, key), to_array(answered["n"]), to_array(answered["s"])

    def of_couples(values: Array | None) -> Array:
        return np.bincount(cell, values, labels.height).astype(np.float64)

    all_n, all_s = (np.bincount(picture, x, pictures.height) for x in (n_u, s_u))
    holder = np.zeros(pictures.height, dtype=np.int64)
    holder[picture] = owner[cell]
    # Sums over an identity's pictures, at each of its couples.
    products = (all_n, all_s, all_n**2, all_s * all_n, all_s**2, np.ones_like(all_n))
    total_n, total_s, nn, sn, ss, pictures_n = (np.bincount(holder, x, keys.height)[owner] for x in products)
    n, s = of_couples(n_u), of_couples(s_u)
    n2, s2 = total_n - n, total_s - s
    n2 = np.where(n2 > _NOTHING, n2, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        r1, r2 = s / n, s2 / n2
        rest_n, rest_s = all_n[picture] - n_u, all_s[picture] - s_u
        e1 = (s_u - r1[cell] * n_u) / n[cell]
        e2, at = ((y - r2[cell] * x) / n2[cell] for x, y in ((rest_n, rest_s), (all_n[picture], all_s[picture])))
        everywhere = (ss - 2 * r2 * sn + r2**2 * nn) / n2**2
    clusters, u2 = of_couples(None), pictures_n - of_couples((rest_n <= _NOTHING).astype(np.float64))
    first = _side(r1, of_couples(e1**2), clusters)
    second = _side(r2, np.maximum(of_couples(e2**2 - at**2) + everywhere, 0.0), u2)
    covariance = of_couples(e1 * e2) * np.sqrt(_correction(clusters) * _correction(u2))
    counts = {"n": n, "s": s, "n2": n2, "s2": s2, "all_n": total_n, "clusters": clusters}
    couples = labels.drop(CELL_NUMBER).with_columns(pl.Series(name, x) for name, x in counts.items())
    if excess is not None and excess.height:
        more = _partners(couples, couple, by, excess)
        first, second = (
            Portion(x.share, np.hypot(x.se, y), x.clusters) for x, y in zip((first, second), more, strict=True)
        )
    return couples, first, second, covariance


def _partners(couples: pl.DataFrame, couple: list[str], by: Sequence[str], excess: pl.DataFrame) -> tuple[Array, Array]:
    """Standard errors that the other pictures add to either share."""
    key = [*by, "identity"]
    of_other = excess.select(*by, pl.col("identity").alias("other_identity"), "excess")
    rows = couples.select(*couple, "n", "all_n").join(
        of_other, on=[*by, "other_identity"], how="left", nulls_equal=True, maintain_order="left"
    )
    weighted = pl.col("excess").fill_null(0.0) * pl.col("n") ** 2
    rest = (weighted.sum().over(key) - weighted) / (pl.col("all_n") - pl.col("n")) ** 2
    spread = rows.select(one=pl.col("excess").fill_null(0.0).sqrt(), rest=rest.clip(lower_bound=0.0).sqrt())
    return to_array(spread["one"]), to_array(spread["rest"])


def polarity(sums: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Estimate how much more often an identity is chosen for terms of high than of low valence.

    Returns `by` and `value`, `low`, `high`, `se` in percentage points, `n`, `clusters`, `p`, `p_paper` (Fisher, on the
    counts added up); no interval and no p of fewer than three pictures. With `requests` in `sums`, bounds for missing
    answers (`_with_bounds`), too.

    Parameters
    ----------
    sums:
        A row per picture of the identity and term: `cluster` (of the picture, or person), `pair` (of terms), `valence`
        (high or low), `n`, `s`, and the columns of `by`.
    by:
        What the score is about. Several term pairs within it are averaged, those with answers to both of their terms.

    Equation
    --------
    1/K Σ_k (S_high,k - S_low,k), S the selection frequency (section 5; K = 1 for one term pair). High and low are asked
    of the same pictures: the interval is t over pictures (`difference_of_shares`) with the covariance
    of Σ_k S_high,k and Σ_k S_low,k, which follows from what each picture adds to them, u_g = Σ_k (s_gk - S_k n_gk) /
    n_k.

    Examples
    --------
    >>> sums = pl.DataFrame({"identity": ["old"] * 8, "cluster": [1, 2, 3, 4] * 2, "pair": ["moral-immoral"] * 8,
    ...     "valence": ["high"] * 4 + ["low"] * 4, "n": [1.0] * 8, "s": [1.0, 0, 0, 0, 1, 1, 1, 0]})
    >>> polarity(sums, ["identity"]).select("value", pl.col("low", "high").round(1), "clusters").row(0)
    (-50.0, -141.9, 41.9, 4)
    """
    counts, first, second, covariance = _by_valence(sums, by)
    counts = counts.with_columns(n=pl.col("n_high") + pl.col("n_low"))
    frame = _compare_shares(counts, by, first, second, covariance, ("s_high", "n_high", "s_low", "n_low"))
    cells = sums.select(by).unique(maintain_order=True)
    joined = cells.join(frame, on=list(by), how="left", nulls_equal=True, maintain_order="left")
    joined = joined.with_columns(pl.col("n", "clusters").fill_null(0))
    return _with_bounds(joined, by, sums, lambda filled: _by_valence(filled, by))


def _by_valence(sums: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, Portion, Portion, Array]:
    """Counts of each score, its share for high terms, that for low ones, and their covariance."""
    key = [*by, "pair"]
    rows = sums.filter(pl.col("n") > _NOTHING)
    has_both = pl.col("valence").n_unique().over(key) == 2
    rows = rows.filter(has_both).with_columns(
        _n=pl.col("n").sum().over(*key, "valence"), _s=pl.col("s").sum().over(*key, "valence")
    )
    rows = rows.with_columns(_pairs=pl.col("pair").n_unique().over(by))
    residual = (pl.col("s") - pl.col("_s") / pl.col("_n") * pl.col("n")) / (pl.col("_n") * pl.col("_pairs"))
    rows = rows.with_columns(u=residual, part=pl.col("s") / (pl.col("_n") * pl.col("_pairs")))
    high, low = pl.col("valence") == "high", pl.col("valence") == "low"
    sides = {"high": high, "low": low}
    pairs = rows.group_by(*by, "cluster", maintain_order=True).agg(
        pl.col(name).filter(mask).sum().alias(f"{name}_{side}")
        for name in ("u", "part", "n", "s")
        for side, mask in sides.items()
    )
    counts = pairs.group_by(by, maintain_order=True).agg(
        *(pl.col(f"{name}_{side}").sum() for name in ("part", "n", "s") for side in sides),
        *((pl.col(f"u_{side}") ** 2).sum().alias(f"square_{side}") for side in sides),
        *((pl.col(f"n_{side}") > 0).sum().cast(pl.Float64).alias(f"seen_{side}") for side in sides),
        cross=(pl.col("u_high") * pl.col("u_low")).sum(),
        clusters=pl.len().cast(pl.Int64),
    )
    column = {name: to_array(counts[name]) for name in counts.columns if name not in by}
    first, second = (
        _side(np.clip(column[f"part_{side}"], 0, 1), column[f"square_{side}"], column[f"seen_{side}"]) for side in sides
    )
    both_seen = np.minimum(column["seen_high"], column["seen_low"])
    return counts, first, second, column["cross"] * _correction(both_seen)


def _side(share: Array, squares: Array, units: Array) -> Portion:
    """A share with its standard error over units; none of fewer than three."""
    return Portion(share, np.sqrt(_correction(units) * squares), units)


def _correction(units: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(units >= FEWEST_UNITS, units / (units - 1), np.nan)


T_OF_EFFECTIVE_COUNTS = name_method(IntervalKind.T, "standard error from effective counts over pictures")
T_BETWEEN_ACTIVITIES = name_method(
    IntervalKind.T, "noise between the pictures of the other activities: this one has too few of its own"
)
_FEWEST = 4  # activities from which their scatter says what a single one may differ by


@dataclass(frozen=True, slots=True)
class Tallies:
    """Numbers of choices on one side, with their standard errors; arrays of one length."""

    chosen: Array
    options: Array
    """Expected number of times chosen, and of times it was an option."""
    se: Array
    clusters: Array


def log_odds(inside: Tallies, outside: Tallies) -> tuple[Array, Array, Array, Array, Array]:
    """Log-odds ratio with its interval.

    Returns value, standard error, low, high, p; NaN where a side was not an option, no interval where one has a single
    cluster.

    Equation
    --------
    ln[(x_a + 1)/(n_a - x_a + 1)] - ln[(x_b + 1)/(n_b - x_b + 1)] (section 5: x = n_response, n = n_option). Its se²
    is Σ (m + 1)/m [1/(m p + 1/2) + 1/(m (1 - p) + 1/2)] over both sides, with p = x/n and m =
    `proportions.effective_size`: the usual variance, of as many answers as the clusters are worth (Gart and Zweifel
    1967). Interval: ± t se, with clusters - 1 degrees of freedom of the smaller side; p: the same t.

    Examples
    --------
    >>> side = lambda x, n: Tallies(*(np.array([v]) for v in (x, n, (x / n * (1 - x / n) / n) ** 0.5, n)))
    >>> [round(float(v[0]), 2) for v in log_odds(side(8.0, 10.0), side(5.0, 10.0))]
    [1.1, 0.98, -1.13, 3.33, 0.29]
    """
    value = np.zeros_like(inside.chosen)
    variance = np.zeros_like(value)
    for side, sign in ((inside, 1), (outside, -1)):
        x, n = side.chosen, side.options
        with np.errstate(invalid="ignore", divide="ignore"):
            p = np.where(n > 0, x / n, np.nan)
        value = value + sign * np.where(n > 0, np.log((x + 1) / (np.maximum(n - x, 0) + 1)), np.nan)
        m = effective_size(np.clip(p, 0, 1), side.se, side.clusters)
        variance = variance + (m + 1) / m * (1 / (m * p + 0.5) + 1 / (m * (1 - p) + 0.5))
    se = np.sqrt(variance)
    df = np.maximum(np.minimum(inside.clusters, outside.clusters) - 1, 1)
    return value, se, *t_limits(value, se, df)


def log_odds_between(
    chosen: Array, options: Array, group: npt.NDArray[np.int64], reference: Array | None = None
) -> tuple[Array, ...]:
    """Log-odds ratio of each activity, held against how much the other activities differ among themselves.

    For designs with one picture of each identity in each activity. Such a picture can't be told from the activity: what
    is found is that identity *or picture* stands out.

    `chosen` and `options`: x and n of each activity, as in `Tallies`. `group`: whose they are (identity and question):
    activities of one group are compared. Numbered from 0. `reference`: x of each where it is one of the others.
    Returns value, standard error, low, high, p and degrees of freedom; NaN beside the value where a group has fewer
    than four activities with an answer.

    Equation
    --------
    The value is that of `log_odds`, L_a - M_a, with L_a that of the activity and M_a that of all A - 1 others together.
    se² = s² (1 + 1/(A-1)) + max(b_a - mean b, 0), s² = Σ_{b≠a} (L_b - M_a)² / (A - 2): how far single activities are
    from what the others have together. b = 1/(n p (1 - p)) with the others' p stands for activities that were asked
    less often than they. t with A - 2 degrees of freedom.

    Examples
    --------
    >>> out = log_odds_between(np.array([8.0, 3, 5, 4, 6]), np.full(5, 10.0), np.zeros(5, dtype=np.int64))
    >>> [float(x[0].round(2)) for x in out]
    [1.29, 0.49, -0.29, 2.86, 0.08, 3.0]
    """
    seen = options > 0
    size = int(group.max()) + 1 if group.size else 0
    x, n = np.where(seen, chosen, 0.0), np.where(seen, options, 0.0)
    y = x if reference is None else np.where(seen, reference, 0.0)
    of_group, logits = (np.log((z + 1) / (np.maximum(n - z, 0) + 1)) for z in (x, y))

    def others(values: Array) -> Array:
        values = np.where(seen, values, 0.0)
        return np.bincount(group, values, size)[group] - values

    rest, n_rest, count = others(y), others(n), others(np.ones_like(x))
    together = np.log((rest + 1) / (np.maximum(n_rest - rest, 0) + 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = others(logits**2) - 2 * together * others(logits) + count * together**2
        scatter = np.maximum(squares, 0.0) / (count - 1)
        p = (rest + 1) / (n_rest + 2)
        fewer = (1 / n - others(1 / n) / count) / (p * (1 - p))
        variance = scatter * (1 + 1 / count) + np.maximum(fewer, 0.0)
    defined = seen & (n_rest > 0)
    value = np.where(defined, of_group - together, np.nan)
    se = np.where(defined & (count >= _FEWEST - 1), np.sqrt(variance), np.nan)
    df = np.maximum(count - 1, 1)
    return value, se, *t_limits(value, se, df), df


def log_odds_cells(
    chosen: Array, options: Array, se: Array, df: Array, group: npt.NDArray[np.int64], reference: Array | None = None
) -> tuple[Array, Array, Array, Array, Array, npt.NDArray[np.object_], tuple[Array, ...]]:
    """Log-odds ratio of each cell against all others of its group, from its own clusters where it has enough.

    `chosen`, `options`, `se`, `df`: of each cell: x and n as in `Tallies`, the standard error of x/n and its degrees of
    freedom. `reference`: x of each where it is one of the others, if that is not the same.
    Returns value, standard error, low, high and p, by `log_odds` or, of cells with too few clusters of their own, by
    `log_odds_between`; which of the two; and the table of Fisher's test: chosen and not, inside and outside.
    """
    reference = chosen if reference is None else reference
    value, error, low, high, p, freedom = log_odds_between(chosen, options, group, reference)

    def others(values: Array) -> Array:
        values = np.nan_to_num(values)
        return np.bincount(group, values)[group] - values

    finite_se = np.where(np.isfinite(se), se, np.inf)  # a cell without one leaves the others without
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = (np.nan_to_num(options) * finite_se) ** 2
        rest = others(np.where(np.isfinite(squares), squares, 0.0)) / others(options) ** 2
    rest = np.where(others(np.where(np.isfinite(finite_se), 0.0, 1.0)) > 0, np.nan, np.sqrt(np.maximum(rest, 0.0)))
    inside = Tallies(chosen, options, finite_se, df + 1)
    outside = Tallies(np.maximum(others(reference), 0.0), others(options), rest, others(df) + 1)
    effective = log_odds(inside, outside)
    replicated = np.isfinite(effective[1]) & ((df >= freedom) | ~np.isfinite(error))  # a property of the design
    error, low, high, p = (
        np.where(replicated, a, b) for a, b in zip((*effective[1:4], effective[4]), (error, low, high, p), strict=True)
    )
    way = np.where(replicated, 0, np.where(np.isfinite(error), 1, 2))
    methods = np.array([T_OF_EFFECTIVE_COUNTS, T_BETWEEN_ACTIVITIES, TOO_FEW_UNITS], dtype=object)[way]
    four = (y for side in (inside, outside) for y in (side.chosen, np.maximum(side.options - side.chosen, 0.0)))
    return value, error, low, high, p, methods, tuple(four)


def log_odds_bounds(
    chosen: Array, valid: Array, requests: Array, se: Array, df: Array, group: npt.NDArray[np.int64]
) -> Bounds:
    """Bounds of `log_odds_cells` had the missing answers about one activity and about the others gone opposite ways.

    `chosen`, `valid`, `asked`: how often somebody was chosen, valid answers and answers asked for, of each cell. `se`:
    standard error of the share of either end (`pairs.selection_frequencies`, `bound_se`). `df`, `group`: as for
    `log_odds_cells`.

    Equation
    --------
    low: x_a of the activity with n = answers asked for, and x_b + missing_b of the others; high: x_a + missing_a, and
    x_b. se: of the end that varies more, as that of any log-odds ratio.

    Examples
    --------
    >>> x, n, asked = np.array([8.0, 3, 5, 4, 6]), np.full(5, 10.0), np.array([12.0, 10, 10, 10, 10])
    >>> bounds = log_odds_bounds(x, n, asked, np.full(5, np.nan), np.zeros(5), np.zeros(5, dtype=np.int64))
    >>> bounds.low[0].round(2), bounds.value[0].round(2), bounds.high[0].round(2)
    (np.float64(0.78), np.float64(1.29), np.float64(1.49))
    """
    missing = np.maximum(requests - valid, 0.0)
    full = chosen + missing
    value = log_odds_between(chosen, valid, group)[0]
    low, high = (log_odds_cells(x, valid + missing, se, df, group, y) for x, y in ((chosen, full), (full, chosen)))
    share = np.divide(missing, requests, out=np.full(requests.shape, np.nan), where=requests > 0)
    return Bounds(value, low[0], high[0], share, np.fmax(low[1], high[1]))
