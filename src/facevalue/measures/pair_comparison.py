"""Differences of selection frequencies: PairComp and polarity (VIGNETTE, section 5)."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from facevalue.measures import selection
from facevalue.measures.fisher import fisher_exact
from facevalue.measures.inference import Array
from facevalue.measures.proportions import effective_size, square_and_add, wilson
from facevalue.measures.selection import MOMENTS, to_array

_NOTHING = 1e-9


def paircomp(pairs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """How much more often an identity is chosen beside another one than beside all the rest.

    Parameters
    ----------
    pairs:
        Moments of `selection` by the columns of `by`, `identity` and `other_identity`.
    by:
        What is compared within.

    Returns
    -------
    `by`, `identity`, `other_identity`, and `value`, `low`, `high`, `se` in percentage points, `n`, `clusters` (beside
    the other one), `p` (Fisher). Null where there is nobody else to be compared with, or no answer.

    Equation
    --------
    S(i1 | i2) - S(i1 | not i2) (section 5), both pooled over activities. The pairs of both sides differ, so that the
    interval is square-and-add without correlation (`proportions.square_and_add`). Fisher's exact test on
    [[chosen, not chosen] beside i2, [chosen, not chosen] beside the rest].

    Examples
    --------
    >>> same = {name: [2.0, 6.0] for name in ("s", "sn", "ss")} | {name: [10.0] * 2 for name in ("n", "nn", "clusters")}
    >>> who = {"identity": ["old"] * 2, "other_identity": ["young", "adult"]}
    >>> out = paircomp(pl.DataFrame({**who, **same, "asked": [10.0] * 2}), []).sort("other_identity")
    >>> out.select("other_identity", pl.col("value", "low", "high").round(1)).rows()
    [('adult', 40.0, -10.0, 70.4), ('young', -40.0, -70.4, 10.0)]
    """
    key = [*by, "identity"]
    own = selection.add(pairs, [*key, "other_identity"])
    total = own.group_by(key, maintain_order=True).agg(pl.col(MOMENTS).sum().name.prefix("all_"))
    both = own.join(total, on=key, nulls_equal=True, maintain_order="left")
    beside = {name: to_array(both[name]) for name in MOMENTS}
    rest = {name: np.maximum(to_array(both[f"all_{name}"]) - beside[name], 0.0) for name in MOMENTS}
    first, second = _share(beside), _share(rest)
    value, low, high = square_and_add(_limits(first), _limits(second))
    tables = [x for side in (beside, rest) for x in (side["s"], np.maximum(side["n"] - side["s"], 0.0))]
    p = np.where(np.isfinite(value), fisher_exact(*tables), np.nan)
    numbers = {"value": 100 * value, "low": 100 * low, "high": 100 * high, "p": p}
    numbers["se"] = 100 * np.hypot(first["se"], second["se"])
    frame = both.select(*key, "other_identity", "n", pl.col("clusters").cast(pl.Int64))
    return frame.with_columns(*(pl.Series(name, x).fill_nan(None) for name, x in numbers.items()))


def polarity(sums: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """How much more often an identity is chosen for terms of high than of low valence.

    Parameters
    ----------
    sums:
        A row per picture pair and term: `cluster` (of the pair), `pair` (of terms), `valence` (high or low), `n`, `s`,
        and the columns of `by`.
    by:
        What the score is about. Several term pairs within it are averaged, those with answers to both of their terms.

    Returns
    -------
    `by` and `value`, `low`, `high`, `se` in percentage points, `n`, `clusters`, `p` (Fisher, on the counts added up).

    Equation
    --------
    1/K Σ_k (S_high,k - S_low,k), S the selection frequency (section 5; K = 1 for one term pair). High and low are asked
    of the same picture pairs: the interval is square-and-add with the correlation of Σ_k S_high,k and Σ_k S_low,k,
    which follows from what each picture pair adds to them, u_g = Σ_k (s_gk - S_k n_gk) / n_k.

    Examples
    --------
    >>> sums = pl.DataFrame({"identity": ["old"] * 8, "cluster": [1, 2, 3, 4] * 2, "pair": ["moral-immoral"] * 8,
    ...     "valence": ["high"] * 4 + ["low"] * 4, "n": [1.0] * 8, "s": [1.0, 0, 0, 0, 1, 1, 1, 0]})
    >>> polarity(sums, ["identity"]).select("value", pl.col("low", "high").round(1), "clusters").row(0)
    (-50.0, -77.0, 21.5, 4)
    """
    key = [*by, "pair"]
    rows = sums.filter(pl.col("n") > _NOTHING)
    whole = pl.col("valence").n_unique().over(key) == 2
    rows = rows.filter(whole).with_columns(
        _n=pl.col("n").sum().over(*key, "valence"), _s=pl.col("s").sum().over(*key, "valence")
    )
    rows = rows.with_columns(_pairs=pl.col("pair").n_unique().over(by))
    residual = (pl.col("s") - pl.col("_s") / pl.col("_n") * pl.col("n")) / (pl.col("_n") * pl.col("_pairs"))
    rows = rows.with_columns(u=residual, part=pl.col("s") / (pl.col("_n") * pl.col("_pairs")))
    high, low = pl.col("valence") == "high", pl.col("valence") == "low"
    sides = {"high": high, "low": low}
    pairs = rows.group_by(*by, "cluster", maintain_order=True).agg(
        pl.col(name).filter(where).sum().alias(f"{name}_{side}")
        for name in ("u", "part", "n", "s")
        for side, where in sides.items()
    )
    products = {"cross": pl.col("u_high") * pl.col("u_low")}
    found = pairs.group_by(by, maintain_order=True).agg(
        *(pl.col(f"{name}_{side}").sum() for name in ("part", "n", "s") for side in sides),
        *((pl.col(f"u_{side}") ** 2).sum().alias(f"square_{side}") for side in sides),
        *((pl.col(f"n_{side}") > 0).sum().cast(pl.Float64).alias(f"seen_{side}") for side in sides),
        *(product.sum().alias(name) for name, product in products.items()),
        clusters=pl.len().cast(pl.Int64),
    )
    column = {name: to_array(found[name]) for name in found.columns if name not in by}
    side_of = {}
    for side in sides:
        groups = column[f"seen_{side}"]
        with np.errstate(invalid="ignore", divide="ignore"):
            se = np.sqrt(np.where(groups > 1, groups / (groups - 1), np.nan) * column[f"square_{side}"])
        side_of[side] = {"share": np.clip(column[f"part_{side}"], 0, 1), "se": se, "clusters": groups}
    with np.errstate(invalid="ignore", divide="ignore"):
        together = column["cross"] / np.sqrt(column["square_high"] * column["square_low"])
    related = np.where(np.isfinite(together), together, 0.0)
    first, second = side_of["high"], side_of["low"]
    value, bottom, top = square_and_add(_limits(first), _limits(second), related)
    variance = first["se"] ** 2 + second["se"] ** 2 - 2 * related * first["se"] * second["se"]
    tables = [
        column[f"s_{side}"] if chosen else column[f"n_{side}"] - column[f"s_{side}"]
        for side in sides
        for chosen in (True, False)
    ]
    p = fisher_exact(*(np.maximum(x, 0.0) for x in tables))
    numbers = {"value": value, "low": bottom, "high": top, "se": np.sqrt(np.maximum(variance, 0.0))}
    frame = found.select(*by, "clusters", n=pl.col("n_high") + pl.col("n_low"))
    asked = sums.select(by).unique(maintain_order=True)
    frame = frame.with_columns(*(pl.Series(k, 100 * x).fill_nan(None) for k, x in numbers.items()), pl.Series("p", p))
    both = asked.join(frame, on=list(by), how="left", nulls_equal=True, maintain_order="left")
    return both.with_columns(pl.col("n", "clusters").fill_null(0))


def _share(moments: dict[str, Array]) -> dict[str, Array]:
    share, se = selection.ratio(moments)
    return {"share": share, "se": se, "clusters": moments["clusters"]}


def _limits(side: dict[str, Array]) -> tuple[Array, Array, Array]:
    size = effective_size(side["share"], side["se"], side["clusters"])
    return side["share"], *wilson(side["share"], size, side["clusters"] - 1)
