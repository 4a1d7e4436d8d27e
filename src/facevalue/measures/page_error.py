"""Correction over all families of a page, so that a page without any effect finds one in at most alpha of cases.

A page shows a dozen families or more, and each on its own is held at alpha: together they would find something in a
fifth of all audits of a model without bias. So one family *leads*, the one that the headline speaks of, and has most of
the page's alpha; the others share what is left, and have all of it as soon as the lead has a finding.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.adjustment import thresholds
from facevalue.measures.cluster_bootstrap import Array

LEAD_SHARE = 0.8
"""Share of alpha at which the lead is tested. The rest is kept so that what stands below can be found without it."""


class PageLevel(NamedTuple):
    """What became of each test on the page."""

    q: Array
    """Adjusted for its family and for the page: below alpha exactly where the page finds something."""
    share: Array
    """Share of alpha that the test's family has, whatever its own tests are."""


def in_family(family: pl.Expr, name: str) -> pl.Expr:
    """Tell which families have this name, or begin with it and go on in brackets."""
    return (family == name) | family.str.starts_with(f"{name} (")


def leads(family: pl.Expr, lead: Sequence[str], tested: pl.DataFrame) -> pl.Expr:
    """Which families lead: those of the first name that was tested, or all that begin with it and go on in brackets.

    `lead`: names in order of preference.

    Examples
    --------
    >>> tested = pl.DataFrame({"family": ["gaps (age)", "gaps (race)", "spreads"]})
    >>> tested.select(leads(pl.col("family"), ("cues", "gaps"), tested))["family"].to_list()
    [True, True, False]
    """
    for name in lead:
        is_of_name = in_family(family, name)
        if tested.select(is_of_name.any()).item():
            return is_of_name
    return family.is_in([])


def leads_page(rows: pl.DataFrame, lead: Sequence[str], tested: pl.DataFrame) -> pl.Expr:
    """Which rows are of families that lead their page: those that were declared before the run, else `leads`.

    `rows`: with `family` and `kind`. `lead`: names in order of preference. `tested`: those rows that were tested.

    Examples
    --------
    >>> rows = pl.DataFrame({"family": ["cues", "gaps"], "kind": ["exploratory", "confirmatory"]})
    >>> rows.filter(leads_page(rows, ("cues",), rows))["family"].to_list()
    ['gaps']
    """
    declared = pl.col("kind") == "confirmatory"
    return declared if rows.select(declared.any()).item() else leads(pl.col("family"), lead, tested)


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
    k_f), k_f of the others found at a / K, a / (K - 1), ... in their order (`adjustment.thresholds`). A test is found
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
    levels = thresholds(smallest, "holm", alpha)
    return levels[code], bool((smallest < levels).all())
