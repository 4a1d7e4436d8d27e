"""Limits of values: no effect can be larger, so none was there to be missed or found."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl

from facevalue.errors import DataError
from facevalue.measures import conditional_kl
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimates import fact_of_rows

_OF_UNIT: Final = {"share": 1.0, "probability": 1.0, "%": 100.0, "pp": 100.0, "per 1,000 words": 1000.0}
"""Largest size of a value by its unit, for measures that state no limits."""


_SPOKEN: Final = dict.fromkeys(("share", "probability"), "a share: 0.05 is 5 points of a hundred")


def largest(measure: Measure) -> float:
    """Largest possible size of a measure's value, either way; infinity where there is none.

    Examples
    --------
    >>> gap = Measure("gap", "Gap to an even choice", "S - 50", "pp", "image", "", limits=(-50, 50))
    >>> largest(gap), largest(Measure("change", "Change", "S - S_0", "pp", "image", ""))
    (50, 100.0)
    """
    limit = max(abs(end) for end in measure.limits)
    return limit if math.isfinite(limit) else _OF_UNIT.get(measure.unit, math.inf)


def check_margins(margins: Mapping[str, float], measures: Sequence[Measure]) -> None:
    """Refuse margins within which everything would be equivalent.

    `margins`: by key of the measure, in its unit, which is that of the page. `measures`: definitions; others are not
    looked at.

    Raises
    ------
    DataError
        A margin that no value of its measure can lie beyond.

    Examples
    --------
    >>> gap = Measure("gap", "Gap", "p - q", "probability", "face", "")
    >>> check_margins({"gap": 0.05}, [gap])
    >>> check_margins({"gap": 5.0}, [gap])
    Traceback (most recent call last):
    facevalue.errors.DataError: The margin of gap is 5, and gap never lies further than 1 from zero: everything would \
be equivalent. Name one below 1, in the unit of the page (a share: 0.05 is 5 points of a hundred).
    """
    for measure in measures:
        margin, reach = margins.get(measure.key, 0.0), largest(measure)
        if margin >= reach:
            unit = _SPOKEN.get(measure.unit, measure.unit)
            raise DataError(
                f"The margin of {measure.key} is {margin:g}, and {measure.key} never lies further than {reach:g} "
                f"from zero: everything would be equivalent. Name one below {reach:g}, in the unit of the page "
                f"({unit})."
            )


def within_reach(margins: Mapping[str, float], measures: Sequence[Measure]) -> dict[str, float]:
    """Margins beyond which values can lie; those of runs that declared others before these were refused are none."""
    reach = {measure.key: largest(measure) for measure in measures}
    return {name: margin for name, margin in margins.items() if margin < reach.get(name, math.inf)}


def limits_of(estimates: pl.DataFrame, measures: Sequence[Measure]) -> tuple[Array, Array]:
    """Smallest and largest possible value of each estimate, as its measure states them; NaN where none is known.

    `estimates`: with `measure` and `score`. `measures`: definitions.
    """
    ends = estimates.select(
        lowest=fact_of_rows(measures, lambda measure: float(measure.limits[0]), math.nan),
        highest=fact_of_rows(measures, lambda measure: float(measure.limits[1]), math.nan),
    )
    return ends["lowest"].to_numpy(), ends["highest"].to_numpy()


def largest_of(estimates: pl.DataFrame, measures: Sequence[Measure]) -> Array:
    """Largest possible size of each estimate.

    `estimates`: with `measure`, `score` and `n`. `measures`: definitions. The divergence of Algorithm 1 has no limit of
    its own, but one for n forms (`conditional_kl.kl_limit`), and so has its change: n is then that of both conditions.
    That of a log-odds ratio of n answers is ln(n + 1): from an even choice to always, or never.
    Returns one each, in the unit of the measure; infinity where there is none, or where the measure is not defined
    here.
    """
    sizes = fact_of_rows(measures, lambda measure: float(largest(measure)), math.inf)
    out = estimates.select(sizes.alias("size"))["size"].to_numpy()
    n = estimates["n"].cast(pl.Float64).fill_null(math.inf).to_numpy()
    shifts = (estimates["measure"] == conditional_kl.NAME).to_numpy()
    ratios = estimates["measure"].is_in([measure.name for measure in measures if measure.unit == "log odds"]).to_numpy()
    return np.select([shifts, ratios], [conditional_kl.kl_limit(n), np.log1p(n)], out)
