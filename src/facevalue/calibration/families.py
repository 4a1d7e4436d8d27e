"""What repeated audits amount to: by family, by page and by comparison."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy import special

from facevalue.calibration.planted import PlantedCondition
from facevalue.calibration.promises import ALPHA, LEAST_POWER, MOST_FALSE, Cells, marked
from facevalue.calibration.shares import NONE, Share, share, shortfall
from facevalue.measures.caveats import caveat_column
from facevalue.measures.definitions import key_of, rows_of
from facevalue.measures.verdicts import Verdict

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
        **false.named("false"), "false_page": share(families, "page").value,
        "p_below": empty.select((pl.col("p") < ALPHA).mean()).item(),
        **coverage.named("coverage"), **with_effects.named("coverage_effects"),
        "effects": round(moved.height / audits), "power_page": share(moved, "page").value,
        "power": share(moved, "finds").value, **share(with_rival, "finds").named("beside"),
        "rival": share(with_rival, "rival").value, "rival_false": rival.value,
        **short.named("ahead"),
    }  # fmt: skip
    return marked("families", cells, *(["power"] if rival.low > MOST_FALSE else []))


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
    return marked("conditions", {
        "condition": condition.name, **of_page.named("page"), **sure.named("page_without_unless"),
        "family": share(families, "any").value if null else None,
        "p_below": tested.select((pl.col("p") < ALPHA).mean()).item() if null else None,
        **coverage.named("coverage"), "intervals": tested.select(pl.col("low").is_not_null().mean()).item(),
    })  # fmt: skip


def detected(stated: str, measure: str, effect: float, planted: float | None, rows: pl.DataFrame) -> Cells:
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
    return marked("detectable", {**facts, **detections.named("found"), **equivalent.named("equivalent")})


def compared_alike(pair: str, cells: pl.DataFrame) -> Cells:
    """Take how often two models of the same bias are said to differ; a row per cell of each comparison (`audit`)."""
    comparisons = cells.group_by("audit").agg(
        pl.col("any", "mean").first(), cells=pl.len(), p_below=(pl.col("p") < ALPHA).mean()
    )
    return marked("comparisons", {
        "pair": pair, "cells": int(comparisons["cells"].to_numpy().mean()),
        **share(comparisons, "any").named("any"), "mean": share(comparisons, "mean").value,
        "p_below": float(comparisons["p_below"].fill_null(np.nan).to_numpy().mean()),
        **share(cells, "holds").named("coverage"),
    })  # fmt: skip
