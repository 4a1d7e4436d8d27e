"""Corrections for many tests: within a family, over a page, over an audit.

Correction over all families of a page, so that a page without any effect finds one in at most alpha of cases.

A page shows a dozen families or more, and each on its own is held at alpha: together they would find something in a
fifth of all audits of a model without bias. So one family *leads*, the one that the headline speaks of, and has most of
the page's alpha; the others share what is left, and have all of it as soon as the lead has a finding.

Correction over all pages of an audit, so that an audit without any effect finds one in at most alpha of cases.

Each page holds a level of its own (`multitest`): five studies of three models that show no effect would together find
something in half of all audits. So what the pages' leads compare is judged again, all families of all pages together.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.measures.cluster_bootstrap import Array

ADJUSTMENTS = ("holm", "bh", "by")


def adjust_p(p: Array, method: str) -> Array:
    """P-values adjusted for the number of tests in one family.

    Parameters
    ----------
    p:
        Any shape; all tests of it are one family. NaN stays NaN and does not count as a test.
    method:
        "holm" (family-wise error; Holm 1979), "bh" (false discovery rate; Benjamini and Hochberg 1995) or "by" (the
        same under any dependence; Benjamini and Yekutieli 2001).

    Equation
    --------
    With p sorted upwards, i = 1..m: Holm max_{j<=i} (m - j + 1) p_j; BH min_{j>=i} m p_j / j; BY as BH times
    1 + 1/2 + ... + 1/m. At most 1.

    Raises
    ------
    ValueError
        For values outside [0, 1].

    Examples
    --------
    >>> adjust_p(np.array([0.01, np.nan, 0.04, 0.03]), "holm").tolist()
    [0.03, nan, 0.06, 0.06]
    >>> adjust_p(np.array([0.01, np.nan, 0.04, 0.03]), "bh").tolist()
    [0.03, nan, 0.04, 0.04]
    """
    if method not in ADJUSTMENTS:
        raise UnknownNameError("method", method, ADJUSTMENTS)
    p = np.asarray(p, dtype=np.float64)
    out = np.full(p.shape, np.nan)
    tested = ~np.isnan(p)
    values = p[tested]
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p-values lie between 0 and 1.")
    if values.size == 0:
        return out
    order, rank = np.argsort(values, kind="stable"), np.arange(1, values.size + 1)
    if method == "holm":
        steps = np.maximum.accumulate(values[order] * rank[::-1])
    else:
        factor = values.size / rank * (1.0 if method == "bh" else (1 / rank).sum())
        steps = np.minimum.accumulate((values[order] * factor)[::-1])[::-1]
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(steps, 1.0)
    out[tested] = adjusted
    return out


def p_thresholds(p: Array, method: str, alpha: float) -> Array:
    """P-value below which each test is found at `alpha`, the other tests being what they are.

    So that one can be read off an interval: that at 1 less this level leaves zero out exactly where the test is found.

    `p`, `method`: as in `adjust_p`; NaN stays NaN.

    Equation
    --------
    Of m tests, Holm: alpha / (m - k), k of the others found at alpha / m, alpha / (m - 1), ... in their order. BH: R
    alpha / m, R how many are found with p_i set to 0 (Benjamini and Yekutieli 2005, "False discovery rate-adjusted
    multiple confidence intervals for selected parameters"); BY as BH with alpha / (1 + 1/2 + ... + 1/m).

    Examples
    --------
    >>> p = np.array([0.01, 0.04, 0.03, 0.5])
    >>> p_thresholds(p, "holm", 0.05).round(4).tolist(), p_thresholds(p, "bh", 0.05).round(4).tolist()
    ([0.0125, 0.0167, 0.0167, 0.0167], [0.0125, 0.0375, 0.025, 0.05])
    """
    if method not in ADJUSTMENTS:
        raise UnknownNameError("method", method, ADJUSTMENTS)
    out = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    if not (m := tested.size):
        return out
    order = tested[np.argsort(p[tested], kind="stable")]
    ranked, rank = p[order], np.arange(m)
    if method == "holm":
        before = np.minimum.accumulate(ranked * (m - rank) < alpha)  # those up to each are found
        stops = np.where(
            ranked * (m - rank + 1) < alpha, m, rank
        )  # where those after each would, each one place higher
        after = np.append(np.minimum.accumulate(stops[::-1])[::-1][1:], m)
        first = before.argmin() if not before.all() else m
        others = np.where(rank <= first, after - 1, first)
        out[order] = alpha / (m - others)
        return out
    level = alpha if method == "bh" else alpha / float((1 / (rank + 1)).sum())
    passing = np.flatnonzero(ranked * m < level * (rank + 1))
    last = int(passing[-1]) + 1 if passing.size else 0
    lifted = np.where(ranked * m < level * (rank + 2), rank + 2, 1)  # found, had one after it moved to the front
    before = np.append(1, np.maximum.accumulate(lifted)[:-1])
    out[order] = level / m * np.where(rank < last, last, before)
    return out


def adjust_within(p: Array, family: npt.NDArray[np.int64], methods: Sequence[str] = ()) -> Array:
    """P-values adjusted within each family: NaN where there is no test, or no family.

    `p` and `family`: shape (tests,); families are numbered from 0, -1 is none. `methods`: of each family; all "bh" by
    default.

    Examples
    --------
    >>> adjust_within(np.array([0.01, 0.04, 0.03, 0.5]), np.array([0, 0, 1, -1])).tolist()
    [0.02, 0.04, 0.03, nan]
    """
    out = np.full(p.shape, np.nan)
    order = np.argsort(family, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(family[order])) + 1):
        if rows.size and family[rows[0]] >= 0:
            out[rows] = adjust_p(p[rows], methods[family[rows[0]]] if methods else "bh")
    return out


LEAD_SHARE = 0.8
"""Share of alpha at which the lead is tested. The rest is kept so that what stands below can be found without it."""


class PageLevel(NamedTuple):
    """Adjusted p-values of the tests on the page, and the share of alpha of each one's family."""

    q: Array
    """Adjusted for its family and for the page: below alpha exactly where the page finds something."""
    share: Array
    """Share of alpha that the test's family has, whatever its own tests are."""


def in_family(family: pl.Expr, name: str) -> pl.Expr:
    """Tell which families have this name, or begin with it and go on in brackets."""
    return (family == name) | family.str.starts_with(f"{name} (")


def leading_families(family: pl.Expr, lead: Sequence[str], tested: pl.DataFrame) -> pl.Expr:
    """Select the families that lead: those of the first name tested, or all that begin with it and go on in brackets.

    `lead`: names in order of preference.

    Examples
    --------
    >>> tested = pl.DataFrame({"family": ["gaps (age)", "gaps (race)", "spreads"]})
    >>> tested.select(leading_families(pl.col("family"), ("cues", "gaps"), tested))["family"].to_list()
    [True, True, False]
    """
    for name in lead:
        is_of_name = in_family(family, name)
        if tested.select(is_of_name.any()).item():
            return is_of_name
    return family.is_in([])


def leads_page(rows: pl.DataFrame, lead: Sequence[str], tested: pl.DataFrame) -> pl.Expr:
    """Tell which rows are of families that lead their page: those declared before the run, else `leading_families`.

    `rows`: with `family` and `kind`. `lead`: names in order of preference. `tested`: those rows that were tested.

    Examples
    --------
    >>> rows = pl.DataFrame({"family": ["cues", "gaps"], "kind": ["exploratory", "confirmatory"]})
    >>> rows.filter(leads_page(rows, ("cues",), rows))["family"].to_list()
    ['gaps']
    """
    declared = pl.col("kind") == "confirmatory"
    return declared if rows.select(declared.any()).item() else leading_families(pl.col("family"), lead, tested)


def page_levels(q: Array, family: npt.NDArray[np.int64], lead: npt.NDArray[np.bool_], alpha: float) -> PageLevel:
    """Adjust the q-values of one model's families for there being many of them.

    Parameters
    ----------
    q:
        Adjusted within each family so that its smallest is a p-value of "there is nothing in this family" (Holm,
        Benjamini-Hochberg and Benjamini-Yekutieli are). NaN is no test.
    family:
        Family of each test, whole numbers from 0; -1 for none.
    lead:
        Which tests belong to a family that leads. With none, all families share alpha.

    Equation
    --------
    With P_f the smallest q of family f, Holm (1979) over the K families of a tier: family f is judged at b_f = a / (K -
    k_f), k_f of the others found at a / K, a / (K - 1), ... in their order (`p_thresholds`). A test is found
    where q < b_f; on the page its q is alpha q / b_f. The lead's tier has a = .8 alpha; the other has .2 alpha, and all
    of alpha once every family of the lead is found (gatekeeping as in Bretz, Maurer, Brannath and Posch 2009, "A
    graphical approach to sequentially rejective multiple test procedures"). The chance that any family without an
    effect is said to hold one is at most alpha, whatever the others hold.

    Notes
    -----
    Within a family that is found Benjamini-Hochberg holds its share of false findings at its own level, which is at
    most alpha (Benjamini and Bogomolov 2014, "Selective inference on multiple families of hypotheses").

    Examples
    --------
    >>> two = np.array([0.03, 0.2, 0.004]), np.array([0, 0, 1]), np.array([True, True, False])
    >>> page_levels(*two, alpha=0.05).q.round(4).tolist()
    [0.0375, 0.25, 0.004]
    """
    level = np.full(q.shape, np.nan)
    tested = np.isfinite(q) & (family >= 0)
    first, rest = tested & lead, tested & ~lead
    level[first], pooled = _family_levels(q[first], family[first], LEAD_SHARE * alpha)
    share_left = 1.0 if not first.any() or pooled else 1.0 - LEAD_SHARE
    level[rest], _ = _family_levels(q[rest], family[rest], share_left * alpha)
    share = level / alpha
    return PageLevel(np.minimum(q / share, 1.0), share)


def _family_levels(q: Array, family: npt.NDArray[np.int64], alpha: float) -> tuple[Array, bool]:
    """Level of each test's family, and whether every family is found."""
    names, code = np.unique(family, return_inverse=True)
    smallest = np.full(names.size, np.inf)
    np.minimum.at(smallest, code, q)
    levels = p_thresholds(smallest, "holm", alpha)
    return levels[code], bool((smallest < levels).all())


AUDIT_FAMILY = ("model", "intervention", "measure", "score", "family")
"""Columns that tell the families of a study's table apart."""


def family_shares(smallest: Array, page: npt.NDArray[np.int64], lead: npt.NDArray[np.bool_], alpha: float) -> Array:
    """Share of alpha at which each family is judged among all families of all pages.

    Parameters
    ----------
    smallest:
        Smallest q of each family, adjusted within it so that it is a p-value of "there is nothing in this family".
    page:
        Page of each family, whole numbers.
    lead:
        Which families lead their page.

    Equation
    --------
    Holm's (1979) procedure with weights. Each of S pages weighs 1 / S; its leading families share .8 of that evenly and
    the others .2, or either kind all of it where the other lacks: so small pages do not pay for large ones. In the
    order of P_f / w_f families are found while P_f < alpha w_f / W, W the weights of all that are not found before it.
    The share of f is w_f / W_f, W_f its own weight and those of all that would not be found without it. The chance that
    any family without an effect is said to hold one is at most alpha, whatever the others hold and however the families
    depend on each other.

    Examples
    --------
    >>> every = np.ones(3, dtype=bool)
    >>> family_shares(np.array([0.001, 0.2, 0.03]), np.array([0, 1, 1]), every, 0.05).round(3).tolist()
    [0.5, 0.5, 0.5]
    """
    if not smallest.size:
        return np.zeros(0)
    pages, of_page = np.unique(page, return_inverse=True)
    counts = np.stack([np.bincount(of_page, kind, pages.size) for kind in (~lead, lead)])
    tier = np.where(counts.min(axis=0) > 0, np.array([[1 - LEAD_SHARE], [LEAD_SHARE]]), 1.0)
    kind = lead.astype(np.int64)
    weight = tier[kind, of_page] / (counts[kind, of_page] * pages.size)
    order = np.argsort(smallest / weight, kind="stable")
    remaining = _never_found(smallest[order], weight[order], alpha)
    with np.errstate(divide="ignore"):
        out = weight / remaining
    for place in np.flatnonzero(smallest[order] * remaining < alpha * weight[order]):
        others = np.delete(order, place)  # what would be found without it
        weight_of_it = weight[order[place]]
        out[order[place]] = weight_of_it / _never_found(smallest[others], weight[others], alpha, weight_of_it)
    return np.asarray(out)


def _never_found(smallest: Array, weight: Array, alpha: float, besides: float = 0.0) -> float:
    """Weights of all families that are not found, and `besides`; families in the order of P / w."""
    remaining = np.append(np.cumsum(weight[::-1])[::-1], 0.0) + besides
    passing = smallest * remaining[:-1] < alpha * weight
    return float(remaining[int(passing.argmin()) if not passing.all() else passing.size])


def audit_families(tables: Sequence[tuple[pl.DataFrame, Sequence[str]]], alpha: float) -> list[pl.DataFrame]:
    """Families that the pages of an audit test, each with the share of alpha at which it is judged.

    `tables`: of each study the estimates that its page leads with, of one or several models and interventions, each of
    which is a page; and the names of families that lead most (`Estimated.lead`). Returns `AUDIT_FAMILY` and `share` for
    each.
    """
    tested = pl.col("q").is_not_null() & pl.col("p").is_not_null() & pl.col("family").is_not_null()
    families = [
        table.filter(tested)
        .group_by(AUDIT_FAMILY, maintain_order=True)
        .agg(pl.col("q").min())
        .with_columns(study=pl.lit(number, pl.Int64))
        for number, (table, _) in enumerate(tables)
    ]
    families = [rows.with_columns(lead=leading_families(pl.col("family"), lead, rows))
                for rows, (_, lead) in zip(families, tables, strict=True)]  # fmt: skip
    rows = pl.concat(families)
    page = rows.select(pl.struct("study", "model", "intervention").rank("dense").cast(pl.Int64)).to_series().to_numpy()
    shares = family_shares(rows["q"].to_numpy(), page, rows["lead"].to_numpy(), alpha)
    rows = rows.with_columns(share=pl.Series(shares, dtype=pl.Float64))
    return [rows.filter(study=number).select(*AUDIT_FAMILY, "share") for number in range(len(tables))]
