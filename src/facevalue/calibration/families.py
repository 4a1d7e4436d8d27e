"""Results of repeated audits: by family, by page and by comparison.

A promise is broken, and marked, only where the Monte-Carlo interval excludes it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.measures.caveats import caveat_column
from facevalue.measures.cluster_bootstrap import LEVEL
from facevalue.measures.definitions import key_of, rows_of
from facevalue.measures.verdicts import Verdict

# Promises on numbers of a calibration: where they have to lie, and which of them are broken.


CERTAIN = "all replies are the same"
"""Name of the condition without any chance, in which intervals are not promised to cover."""
ALPHA = 0.05
LEAST_POWER = 0.8
"""Share of the rival's power below which a family's is a defect."""
MOST_FALSE, MOST_UNEXPLAINED = 0.06, 0.05
"""Promised shares of audits with a false finding: any, and where answers are withheld one without "unless"."""
COVERED, DETECTED = (0.93, 0.97), (0.75, 0.90)
"""Promised shares of intervals that hold what should be found, and of effects found that are said to be."""
Cells = dict[str, str | float | int | None]
"""A row of a table, by column."""


class Promise(NamedTuple):
    """A promise on numbers of a table."""

    table: str
    text: str
    columns: tuple[str, ...]
    """The numbers; their intervals are columns ending in `_low` and `_high`."""
    low: float
    high: float
    below: str = ""
    above: str = ""
    """Marks of a number whose interval ends below, or begins above."""
    about: Callable[[Mapping[str, Any]], bool] = lambda _: True
    """From a row to whether the promise is made of it."""

    def broken_end(self, row: Mapping[str, Any]) -> tuple[str, str]:
        """Mark and column of the first number that breaks it; empty where none does."""
        for column in self.columns if self.about(row) else ():
            low, high = row[f"{column}_low"], row[f"{column}_high"]
            if high is not None and high < self.low:
                return self.below, column
            if low is not None and low > self.high:
                return self.above, column
        return "", ""

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return whether all numbers lie within with their intervals; an unknown number doesn't lie beyond."""
        ends = [(row[f"{column}_low"], row[f"{column}_high"]) for column in self.columns]
        return all((low is None or low >= self.low) and (high is None or high <= self.high) for low, high in ends)


def _withheld(row: Mapping[str, Any]) -> bool:
    return "withheld" in row["condition"]


def _is_answered(row: Mapping[str, Any]) -> bool:
    return not _withheld(row)


def _by_chance(row: Mapping[str, Any]) -> bool:
    return _is_answered(row) and row["condition"] != CERTAIN


_FALSE = (0.0, MOST_FALSE, "", "false findings")
_COVERS = (*COVERED, "covers too little", "covers too much")
PROMISES = (
    Promise("families", "false findings in a family, .06 at most", ("false",), *_FALSE),
    Promise("families", "coverage of a family, .93 to .97", ("coverage", "coverage_effects"), *_COVERS),
    Promise("families", f"power of a family, {LEAST_POWER:g} of a rival's at least", ("ahead",), 0.0, 1.0, "power"),
    Promise("conditions", "false findings on a page, .06 at most", ("page",), *_FALSE, _is_answered),
    Promise(
        "conditions", 'the same without "unless", answers withheld, .05 at most', ("page_without_unless",), 0.0,
        MOST_UNEXPLAINED, "", "false findings", _withheld,
    ),
    Promise("conditions", "coverage of a page, .93 to .97", ("coverage",), *_COVERS, _by_chance),
    Promise(
        "detectable", "effects that are said to be found, .75 to .90 are", ("found",), *DETECTED, "finds less",
        "finds more",
    ),
    Promise(
        "detectable", "what few people make, called equivalent, .05 at most", ("equivalent",), 0.0, ALPHA, "",
        "equivalent",
    ),
    Promise("comparisons", "two models alike that differ, .06 at most", ("any",), *_FALSE),
    Promise("comparisons", "coverage of their differences, .93 to .97", ("coverage",), *_COVERS),
)  # fmt: skip


def mark_row(table: str, cells: Cells, *unmarked: str) -> Cells:
    """A row with the marks of the promises that it breaks (`defect`), but for those that say nothing of it."""
    marks = (promise.broken_end(cells)[0] for promise in PROMISES if promise.table == table)
    return {**cells, "defect": "; ".join(mark for mark in marks if mark and mark not in unmarked)}


def broken_promise(row: Mapping[str, Any], promise: Promise) -> str:
    """Return the column by which a row of a table breaks a promise, and is marked so; empty if it does not."""
    mark, column = promise.broken_end(row)
    return column if mark and mark in row["defect"].split("; ") else ""


# Shares of audits and of their tests, with Monte-Carlo intervals: how far they are known from so many repetitions.


_TAIL = (1 - LEVEL) / 2


class Share(NamedTuple):
    """A share and its Monte-Carlo interval; NaN where there is nothing to take it of."""

    value: float
    low: float
    high: float

    def to_columns(self, name: str) -> dict[str, float]:
        """Return the share and its interval as columns of a table."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


NONE = Share(np.nan, np.nan, np.nan)


def share(rows: pl.DataFrame, column: str, *, crossed: bool = False) -> Share:
    """Share of rows in which a flag is set; tests of one audit go together.

    Parameters
    ----------
    rows:
        A row per test or audit: `audit`, the flag (null where it says nothing), and where `crossed`, `row`: which
        estimate it is. What it should be has an error that is the same in all audits.

    Equation
    --------
    s = Σ x / N, Var(s) = G/(G - 1) Σ_g (Σ_{i in g} (x_i - s))² / N² over audits g; where `crossed`,
    that over estimates is added. The interval is Clopper and Pearson's of n = s (1 - s) / Var(s) draws, N at most,
    times (t_{N-1} / t_{G-1})² (Korn and Graubard 1998); where all or none are set, of as many as there are audits.

    Examples
    --------
    >>> one = share(pl.DataFrame({"audit": range(40), "any": [False] * 40}), "any")
    >>> [round(end, 3) for end in one]
    [0.0, 0.0, 0.088]
    """
    measured = rows.drop_nulls(column).with_columns(pl.col(column).cast(pl.Float64))
    many, audits = measured.height, measured["audit"].n_unique()
    if not many:
        return NONE
    value = float(measured[column].to_numpy().mean())
    if audits < 2:
        return Share(value, 0.0, 1.0)
    apart = measured.with_columns(apart=pl.col(column) - value)
    variance = sum(_variance(apart, key) for key in ("audit", *(["row"] if crossed else [])))
    draws = min(value * (1 - value) / variance, many) if variance > 0 else audits
    size = draws * float((special.stdtrit(many - 1, 1 - _TAIL) / special.stdtrit(audits - 1, 1 - _TAIL)) ** 2)
    hits = value * size
    return Share(value, *clopper_pearson(hits, size))


def clopper_pearson(hits: float, size: float) -> tuple[float, float]:
    """Clopper and Pearson's 95% interval of a share of so many independent draws, which need not be whole numbers.

    Examples
    --------
    >>> [round(end, 3) for end in clopper_pearson(0, 40)]
    [0.0, 0.088]
    """
    low = float(special.betaincinv(hits, size - hits + 1, _TAIL)) if hits > 0 else 0.0
    high = float(special.betaincinv(hits + 1, size - hits, 1 - _TAIL)) if hits < size else 1.0
    return low, high


def _variance(apart: pl.DataFrame, key: str) -> float:
    """Variance of the mean where rows of one key go together; 0 of a single key, which says nothing of it."""
    sums = apart.group_by(key).agg(pl.col("apart").sum())["apart"].to_numpy()
    return float(sums.size / (sums.size - 1) * (sums**2).sum() / apart.height**2) if sums.size > 1 else 0.0


def shortfall(rows: pl.DataFrame, fraction: float) -> Share:
    """Share that a test finds (`finds`) less `least` of a rival's (`rival`), of the same effects, and t over audits.

    Two audits are added, one in which both find everything and one in which the rival alone does, so that few audits
    that agree are no certainty.

    Examples
    --------
    >>> two = pl.DataFrame({"audit": [1, 2], "finds": [False, False], "rival": [True, True]})
    >>> shortfall(two, 0.8).high > 0
    True
    """
    if rows.is_empty():
        return NONE
    ahead = pl.col("finds").cast(pl.Float64) - fraction * pl.col("rival").cast(pl.Float64)
    differences = np.append(
        rows.group_by("audit").agg(ahead.mean().alias("ahead"))["ahead"].to_numpy(), [1 - fraction, -fraction]
    )
    wide = special.stdtrit(differences.size - 1, 1 - _TAIL) * differences.std(ddof=1) / np.sqrt(differences.size)
    return Share(float(differences.mean()), float(differences.mean() - wide), float(differences.mean() + wide))


NOT_TESTED = "(not tested)"
"""Family of what is described."""
EVEN = 1e-6
"""Widths and distances below it are rounding."""
_STEM = pl.col("family").str.extract(r"^(.*?)(?: \(|, | by |$)")
_FOUND = (pl.col("verdict") == Verdict.DIFFERENCE.value).fill_null(value=False)
_SURE = _FOUND & caveat_column().is_null()
_MOVED = ((pl.col("true_low") > EVEN) | (pl.col("true_high") < -EVEN)).fill_null(value=False)
"""Estimates that have an effect, by the large audit that says what should be found."""
TESTED = pl.col("p").is_not_null() & pl.col("family").is_not_null()
_DESCRIBED = pl.col("family").is_null()
"""Estimates of what a study does not test."""
_ABOUT_MISSING = pl.concat_str("measure", "score", ignore_nulls=True).str.contains(
    r"refus|missing|^na_|no valid answer"
)
"""Measures of whether answers are missing, which differ where they are withheld."""


def covers() -> pl.Expr:
    """Flag intervals that hold the true value, which has an error of its own; null where either is unknown."""
    width, true_width = pl.col("high") - pl.col("low"), pl.col("true_high") - pl.col("true_low")
    wider = pl.when((width > EVEN) & (true_width > EVEN)).then((1 + (true_width / width) ** 2).sqrt()).otherwise(1.0)
    low = pl.col("value") - wider * (pl.col("value") - pl.col("low"))
    high = pl.col("value") + wider * (pl.col("high") - pl.col("value"))
    return (low <= pl.col("true") + EVEN) & (pl.col("true") <= high + EVEN)


def by_size(rows: pl.DataFrame, measures: Sequence[str]) -> pl.DataFrame:
    """Estimates of audits of one size, of which some should find what such audits find on average.

    `true` of these measures, by key, is the mean of their values over audits, with its own 95% interval by t.
    """
    if not measures:
        return rows
    value, is_of_size = pl.col("value"), rows_of(measures)
    t = float(special.stdtrit(max(rows["audit"].n_unique() - 1, 1), 0.975))
    wide = t * value.std() / value.count().sqrt()
    means = rows.filter(is_of_size).group_by("row").agg(mean=value.mean(), wide=wide)
    ends = {
        "true": pl.col("mean"),
        "true_low": pl.col("mean") - pl.col("wide"),
        "true_high": pl.col("mean") + pl.col("wide"),
    }
    joined = rows.join(means, on="row", how="left", maintain_order="left")
    return joined.with_columns(
        pl.when(is_of_size).then(end).otherwise(pl.col(name)).alias(name) for name, end in ends.items()
    ).drop("mean", "wide")


def by_family(empty: pl.DataFrame, full: pl.DataFrame) -> pl.DataFrame:
    """A row per kind of family: false findings where nothing is planted, coverage, power and the rival's.

    Of what is not tested a row per measure, with its coverage alone.
    """
    keys = ["measure", "score", "stem"]
    null, effects = (
        rows.filter(TESTED | _DESCRIBED).with_columns(covers().alias("covers"), stem=_STEM) for rows in (empty, full)
    )
    planted = effects.partition_by(keys, as_dict=True)
    rows = [
        _family(tests, planted.get(name, effects.clear()))
        for name, tests in null.sort(_DESCRIBED, maintain_order=True).group_by(keys, maintain_order=True)
    ]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.selectors.float().fill_nan(None))


def _family(empty: pl.DataFrame, full: pl.DataFrame) -> Cells:
    has_rival = pl.col("q_rival").is_not_null()
    families = empty.drop_nulls("family").group_by("audit", "family").agg(
        any=(pl.col("q") < ALPHA).any(), page=_FOUND.any(),
        rival=pl.when(has_rival.any()).then((pl.col("q_rival") < ALPHA).any()),
    )  # fmt: skip
    false, coverage = share(families, "any"), share(empty, "covers", crossed=True)
    moved = full.filter(_MOVED, ~_DESCRIBED).with_columns(
        finds=pl.col("q") < ALPHA, page=_FOUND, rival=pl.col("q_rival") < ALPHA
    )
    with_rival = moved.filter(has_rival)
    with_effects, short = share(full, "covers", crossed=True), shortfall(with_rival, LEAST_POWER)
    rival = share(families, "rival")
    audits = max(full["audit"].n_unique(), 1)
    cells: Cells = {
        "measure": key_of(empty["measure"][0], empty["score"][0]), "family": str(empty["stem"][0] or NOT_TESTED),
        "tests": round(empty.height / empty["audit"].n_unique()),
        **false.to_columns("false"), "false_page": share(families, "page").value,
        "p_below": empty.select((pl.col("p") < ALPHA).mean()).item(),
        **coverage.to_columns("coverage"), **with_effects.to_columns("coverage_effects"),
        "effects": round(moved.height / audits), "power_page": share(moved, "page").value,
        "power": share(moved, "finds").value, **share(with_rival, "finds").to_columns("beside"),
        "rival": share(with_rival, "rival").value, "rival_false": rival.value,
        **short.to_columns("ahead"),
    }  # fmt: skip
    return mark_row("families", cells, *(["power"] if rival.low > MOST_FALSE else []))


def page(rows: pl.DataFrame, condition: PlantedCondition) -> Cells:
    """Take the shares of audits with false findings on the page (none where effects are planted), and its coverage."""
    tested = rows.filter(TESTED).with_columns(covers().alias("covers"))
    if condition.missing:
        tested = tested.filter(~_ABOUT_MISSING)
    null = not (condition.effect or condition.lone)
    audits = tested.group_by("audit").agg(any=_FOUND.any(), sure=_SURE.any())
    families = tested.group_by("audit", "measure", "score", "family").agg(any=(pl.col("q") < ALPHA).any())
    of_page, sure = (share(audits, name) if null else NONE for name in ("any", "sure"))
    coverage = share(tested, "covers", crossed=True)
    return mark_row("conditions", {
        "condition": condition.name, **of_page.to_columns("page"), **sure.to_columns("page_without_unless"),
        "family": share(families, "any").value if null else None,
        "p_below": tested.select((pl.col("p") < ALPHA).mean()).item() if null else None,
        **coverage.to_columns("coverage"), "intervals": tested.select(pl.col("low").is_not_null().mean()).item(),
    })  # fmt: skip


def detection_share(stated: str, measure: str, effect: float, planted: float | None, rows: pl.DataFrame) -> Cells:
    """Take how often an effect is found of the size that is stated to be found."""
    detections = NONE if planted is None else share(rows.with_columns(found=_FOUND), "found")
    return _outcomes(stated, measure, effect, planted, detections)


def called_equivalent(stated: str, measure: str, planted: float, rows: pl.DataFrame) -> Cells:
    """Take how often a planted effect is called equivalent to none."""
    equivalent = share(rows.with_columns(equivalent=pl.col("verdict") == Verdict.EQUIVALENT.value), "equivalent")
    return _outcomes(stated, measure, None, planted, equivalent=equivalent)


def _outcomes(
    stated: str, measure: str, effect: float | None, planted: float | None, detections: Share = NONE,
    equivalent: Share = NONE,
) -> Cells:  # fmt: skip
    facts: Cells = {"stated": stated, "measure": measure, "effect": effect, "planted": planted}
    return mark_row("detectable", {**facts, **detections.to_columns("found"), **equivalent.to_columns("equivalent")})


def compared_alike(pair: str, cells: pl.DataFrame) -> Cells:
    """Take how often two models of the same bias are said to differ; a row per cell of each comparison (`audit`)."""
    comparisons = cells.group_by("audit").agg(
        pl.col("any", "mean").first(), cells=pl.len(), p_below=(pl.col("p") < ALPHA).mean()
    )
    return mark_row("comparisons", {
        "pair": pair, "cells": int(comparisons["cells"].to_numpy().mean()),
        **share(comparisons, "any").to_columns("any"), "mean": share(comparisons, "mean").value,
        "p_below": float(comparisons["p_below"].fill_null(np.nan).to_numpy().mean()),
        **share(cells, "holds").to_columns("coverage"),
    })  # fmt: skip
