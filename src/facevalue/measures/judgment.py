"""From estimates to what may be said of them: families, detectable effects, margins, verdicts."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.base import Measure
from facevalue.measures.change import degrees_of_freedom
from facevalue.measures.estimates import NOT_MEASURABLE
from facevalue.measures.families import ALPHA, Family, apply
from facevalue.measures.largest import largest_of
from facevalue.measures.power import family_level, minimum_detectable
from facevalue.measures.preregistration import Preregistration
from facevalue.measures.verdicts import tost, trusted_error, verdicts


def judge(
    estimates: pl.DataFrame,
    measures: Sequence[Measure],
    declared: Preregistration | None = None,
    margins: Mapping[str, float] | None = None,
) -> pl.DataFrame:
    """Complete a table of estimates: q by declared families, minimum detectable effect, margin, verdict and why.

    Parameters
    ----------
    estimates:
        As the measures give them. Rows of a family have its name and q already; declared families go first.
    measures:
        Definitions; only comparisons (`Measure.comparison`) get a verdict.
    declared:
        Families and margins declared before the run.
    margins:
        Margins chosen after it, by measure: their verdicts are marked as not declared. A declared margin stands.

    Raises
    ------
    UnknownNameError
        A margin for a measure that there isn't.
    DataError
        A margin that is not above zero; a declared family that selects nothing.

    Notes
    -----
    The minimum detectable effect is null where any at all could have been missed: if not even the largest possible
    value (`largest.largest_of`) would be detected, or if there is no standard error that says anything
    (`verdicts.trusted_error`): none, one of zero, one of a single unit.
    """
    known = {m.name: m for m in measures}
    chosen = dict(margins or {})
    for name, margin in chosen.items():
        if name not in known:
            raise UnknownNameError("measure", name, known)
        if not (np.isfinite(margin) and margin > 0):
            raise DataError(f"The margin of {name} is {margin:g}: it must be above zero, or nothing can be equivalent.")
    out = estimates.with_columns(
        pl.when(pl.col("family").is_not_null()).then(pl.lit("exploratory")).otherwise(pl.col("kind")).alias("kind")
    )
    if declared is not None:
        out = apply(declared.families, out)
    declared_margins = declared.margins if declared is not None else {}
    limit = {**chosen, **declared_margins}
    out = out.with_columns(
        pl.col("measure").replace_strict(limit, default=None, return_dtype=pl.Float64).alias("margin"),
        pl.when(pl.col("measure").is_in(list(limit)))
        .then(pl.col("measure").is_in(list(declared_margins)))
        .alias("declared"),
    )
    compared = out["measure"].is_in([m.name for m in measures if m.comparison]).to_numpy()
    column = {name: out[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in _NUMBERS}
    df = degrees_of_freedom(out)
    level = _levels(out, declared.families if declared is not None else ())
    unsigned = out["measure"].is_in([m.name for m in measures if not m.signed]).to_numpy()
    column["se"] = trusted_error(column["value"], column["se"])
    effect = minimum_detectable(column["se"], np.where(df > 0, df, np.nan), level)
    effect = np.where(effect < largest_of(out, measures), effect, np.nan)
    equivalence = _equivalence(column, df)
    found = verdicts(
        column["value"],
        column["low"],
        column["high"],
        column["q"],
        column["margin"],
        equivalence,
        _alphas(out, declared.families if declared is not None else ()),
        column["floor_high"],
        unsigned=unsigned,
        n=column["n"],
        clusters=column["clusters"],
    )
    judged = pl.DataFrame(
        {
            "mde": np.where(compared, effect, np.nan),
            "verdict": pl.Series(
                [str(v) if c else None for v, c in zip(found.verdict, compared, strict=True)], dtype=pl.String
            ),
            "why": pl.Series(
                [str(w) if c else None for w, c in zip(found.why, compared, strict=True)], dtype=pl.String
            ),
        }
    )
    judged = judged.with_columns(pl.when(compared).then(_stated(out["method"])).fill_null(pl.col("why")).alias("why"))
    return out.with_columns(judged.with_columns(pl.col("mde").fill_nan(None))).select(estimates.columns)


_NUMBERS = ("value", "low", "high", "q", "se", "n", "clusters", "floor_high", "margin")


def _stated(method: pl.Series) -> pl.Series:
    """The reason that the study itself gave for what could not be measured; null where it gave none."""
    reason = method.str.extract(f"^{NOT_MEASURABLE}: (.+)$")
    return "Not measurable: " + reason + "."


def _equivalence(column: Mapping[str, np.ndarray], df: np.ndarray) -> np.ndarray:
    out = np.full(df.shape, np.nan)
    has = np.isfinite(column["margin"]) & (df > 0)
    if has.any():
        out[has] = tost(column["value"][has], column["se"][has], df[has], column["margin"][has])
    return out


def _alphas(estimates: pl.DataFrame, families: Sequence[Family]) -> np.ndarray:
    own = {family.name: family.alpha for family in families}
    return estimates["family"].replace_strict(own, default=ALPHA, return_dtype=pl.Float64).fill_null(ALPHA).to_numpy()


def _levels(estimates: pl.DataFrame, families: Sequence[Family]) -> np.ndarray:
    """Level at which a single test of each row's family is surely made; alpha itself outside families."""
    alpha = _alphas(estimates, families)
    tests = estimates.select(pl.col("p").is_not_null().sum().over("model", "measure", "family"))["p"].to_numpy()
    grouped = estimates["family"].is_not_null().to_numpy()
    out = alpha.copy()
    for size in np.unique(tests[grouped & (tests > 0)]):
        rows = grouped & (tests == size)
        out[rows] = [family_level(float(a), int(size), "holm").guaranteed for a in alpha[rows]]
    return out
