"""Differences of selection frequencies: PairComp and polarity (VIGNETTE, section 5)."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from facevalue.measures import selection
from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.fisher import fisher_exact
from facevalue.measures.proportions import Portion, difference
from facevalue.measures.selection import UNIT, to_array
from facevalue.measures.shares import FEWEST

_NOTHING = 1e-9


def paircomp(units: pl.DataFrame, by: Sequence[str], excess: pl.DataFrame | None = None) -> pl.DataFrame:
    """How much more often an identity is chosen beside another one than beside all the rest.

    Parameters
    ----------
    units:
        Sums (n, s) by the columns of `by`, `identity`, `other_identity` and the identity's own pictures
        (`selection.UNIT`).
    excess:
        Of identities (`by`, `identity`) whose pictures stand beside several of another one: what they add to the
        variance of the other's share (`selection.excess`).

    Returns
    -------
    `by`, `identity`, `other_identity`, and `value`, `low`, `high`, `se` in percentage points, `n`, `clusters` (pictures
    of the identity beside the other one), `p`, `p_paper` (Fisher). Null where there is nobody else to be compared with,
    or no answer; no interval and no p of fewer than three pictures. With `requests` in `units`, there are bounds, too
    (`_with_bounds`).

    Equation
    --------
    S(i1 | i2) - S(i1 | not i2) (section 5), both pooled over activities. The same pictures of i1 are on both sides: the
    interval is t over them (`proportions.difference`), with the covariance of what each picture adds to either share,
    (s_u - R n_u) / n. Published beside it: Fisher's exact test on
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
    units, excess = _coded(units), None if excess is None else _coded(excess)
    couples, first, second, covariance = _beside(units, by, excess)
    frame = _compared(couples, couple, first, second, covariance, ("s", "n", "s2", "n2"))
    frame = _with_bounds(frame, couple, units, lambda filled: _beside(filled, by, excess))
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))


def _coded(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with their texts as categories: grouped and joined faster, in less memory."""
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def _compared(
    counts: pl.DataFrame, by: Sequence[str], first: Portion, second: Portion, covariance: Array, four: Sequence[str]
) -> pl.DataFrame:
    """Differences of two shares with their interval and tests, in percentage points.

    `counts`: `by`, `n`, `clusters` and `four`: how much chose, and of how much, on either side, for Fisher's test.
    """
    numbers = dict(zip(("value", "se", "low", "high", "p"), difference(first, second, covariance), strict=True))
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


def _beside(
    units: pl.DataFrame, by: Sequence[str], excess: pl.DataFrame | None
) -> tuple[pl.DataFrame, Portion, Portion, Array]:
    """Counts of each couple, its share, that of the same identity beside all others, and their covariance."""
    key, couple = [*by, "identity"], [*by, "identity", "other_identity"]
    answered = selection.add(units.filter(pl.col("n") > _NOTHING), [*couple, *UNIT], ("n", "s"))
    (labels, cell), (pictures, picture) = (selection.numbered(answered, names) for names in (couple, [*key, *UNIT]))
    (keys, owner), n_u, s_u = selection.numbered(labels, key), to_array(answered["n"]), to_array(answered["s"])

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
    couples = labels.drop(selection.CELL).with_columns(pl.Series(name, x) for name, x in counts.items())
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
    """How much more often an identity is chosen for terms of high than of low valence.

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
    of the same pictures: the interval is t over pictures (`proportions.difference`) with the covariance of Σ_k S_high,k
    and Σ_k S_low,k, which follows from what each picture adds to them, u_g = Σ_k (s_gk - S_k n_gk) / n_k.

    Examples
    --------
    >>> sums = pl.DataFrame({"identity": ["old"] * 8, "cluster": [1, 2, 3, 4] * 2, "pair": ["moral-immoral"] * 8,
    ...     "valence": ["high"] * 4 + ["low"] * 4, "n": [1.0] * 8, "s": [1.0, 0, 0, 0, 1, 1, 1, 0]})
    >>> polarity(sums, ["identity"]).select("value", pl.col("low", "high").round(1), "clusters").row(0)
    (-50.0, -141.9, 41.9, 4)
    """
    counts, first, second, covariance = _by_valence(sums, by)
    counts = counts.with_columns(n=pl.col("n_high") + pl.col("n_low"))
    frame = _compared(counts, by, first, second, covariance, ("s_high", "n_high", "s_low", "n_low"))
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
        return np.where(units >= FEWEST, units / (units - 1), np.nan)
