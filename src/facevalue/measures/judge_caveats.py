"""Caveats of findings that rest on a judge: what its measured errors by group could explain; and corrected estimates.

Where people sorted a sample of the texts, an estimate is corrected by what they say otherwise than the judge of these
very texts: corrected = judge, all texts + (people - judge), same texts (Angelopoulos, Bates, Fannjiang, Jordan and
Zrnic 2023, "Prediction-powered inference"), so that errors which differ by group cancel group by group. Its variance is
taken as the sum of those of its three parts, over what the study samples: too large where judge and people agree on
texts, as they mostly do, and never too small by that.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from facevalue.measures.base import Measure
from facevalue.measures.caveats import JUDGE, with_caveat
from facevalue.measures.cluster_bootstrap import LEVEL
from facevalue.measures.estimates import label_columns
from facevalue.measures.interval_method import IntervalKind, name_method, split_method
from facevalue.measures.judge_measures import CORRECTED, JUDGED_BY, PEOPLE, SAME, SWAPPED
from facevalue.measures.verdicts import Verdict

METHOD = name_method(IntervalKind.T, "over what people saw; prediction-powered, variances added")
_SCALE = {"share": 1.0, "%": 100.0, "pp": 100.0, "points": 100.0}
"""What a share of texts is, in the units of measures of shares."""
_MOVED = 0.05
_UNKNOWN = ("bound_low", "bound_high", "bound_se", "floor", "floor_high", "p", "q", "p_least", "family")


def corrections(estimates: pl.DataFrame) -> pl.DataFrame:
    """Corrected estimates of a table that has rows by people (`PEOPLE`) and by the judge of the same texts (`SAME`).

    Returns rows of the same form, of no test, whose label `JUDGED_BY` is `CORRECTED`.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - scipy takes a while to import

    if JUDGED_BY not in estimates.columns:
        return estimates.clear()
    keys = ["measure", "model", *(name for name in label_columns(estimates) if name != JUDGED_BY)]
    tables = [
        estimates.filter(pl.col(JUDGED_BY).eq_missing(pl.lit(by, pl.String))).select(*keys, "value", "se")
        for by in (None, SAME)
    ]
    out = estimates.filter(pl.col(JUDGED_BY) == PEOPLE)
    for table, end in zip(tables, ("_all", "_same"), strict=True):
        out = out.join(table, on=keys, how="inner", nulls_equal=True, suffix=end, maintain_order="left")
    variance = pl.col("se") ** 2 + pl.col("se_all") ** 2 + pl.col("se_same") ** 2
    out = out.with_columns(
        (pl.col("value_all") + pl.col("value") - pl.col("value_same")).alias("value"), variance.sqrt().alias("se")
    )
    t = stdtrit(np.fmax(out["clusters"].cast(pl.Float64).fill_null(2.0).to_numpy() - 1.0, 1.0), 0.5 + LEVEL / 2)
    half = pl.Series("half", t, dtype=pl.Float64) * out["se"]
    without = {name: pl.lit(None, out.schema[name]) for name in _UNKNOWN if name in out.columns}
    ends = {"low": out["value"] - half, "high": out["value"] + half}
    kind, detail = split_method(METHOD)
    labels = {"method": pl.lit(kind.value), "detail": pl.lit(detail), JUDGED_BY: pl.lit(CORRECTED)}
    return out.with_columns(**ends, **labels, **without).select(estimates.columns)


def with_judge_caveats(judged: pl.DataFrame, measures: Sequence[Measure]) -> pl.DataFrame:
    """Judged estimates whose findings say so where the judge's errors by group could explain them.

    Where people sorted a sample, that is where the corrected interval does not leave out zero on the side of the
    finding. Elsewhere it is where the share of texts that the judge sorts otherwise once group words are swapped, less
    that when it is only asked again, may be as large as what is surely found: the upper end of its interval counts.
    Of a measure that is no share it is where texts are moved more than by asking again (p < .05).
    """
    is_check = pl.col("measure").str.starts_with(f"{SWAPPED}_") & pl.col("value").is_not_null()
    checks = list(judged.filter(is_check).iter_rows(named=True))
    if not checks:
        return judged
    units = {measure.name: measure.unit for measure in measures}
    names = ["measure", "model", *label_columns(judged)]
    fixed = list(judged.filter(pl.col(JUDGED_BY) == CORRECTED).iter_rows(named=True)) if JUDGED_BY in names else []
    people = {tuple(row[name] for name in names if name != JUDGED_BY): row for row in fixed}
    whys = judged["why"].to_list()
    for at, row in enumerate(judged.iter_rows(named=True)):
        if row["verdict"] != Verdict.DIFFERENCE or row.get(JUDGED_BY) is not None:
            continue
        for check in checks:
            sorting = str(check["measure"]).removeprefix(f"{SWAPPED}_")
            if row["model"] != check["model"] or not re.search(rf"(^|_){re.escape(sorting)}_", row["measure"]):
                continue
            key = tuple(row[name] for name in names if name != JUDGED_BY)
            if reason := _reason(row, check, people.get(key), units.get(row["measure"], "")):
                whys[at] = with_caveat(whys[at], "Found", JUDGE, reason)
    return judged.with_columns(pl.Series("why", whys, pl.String))


def _reason(row: Mapping[str, Any], check: Mapping[str, Any], people: Mapping[str, Any] | None, unit: str) -> str:
    """Why the judge could explain a finding; empty where it could not."""
    if people is not None and people["low"] is not None and people["high"] is not None:
        clear = people["low"] > 0 if row["value"] > 0 else people["high"] < 0
        interval = f"{people['value']:.3g} [{people['low']:.3g}, {people['high']:.3g}]"
        return "" if clear else f"Corrected by what people say of some texts it is {interval}."
    ends = [row[name] for name in ("page_low", "page_high") if row[name] is not None] or [0.0]
    nearest = 0.0 if min(ends) <= 0 <= max(ends) else min(map(abs, ends))
    floor = check["floor"] or 0.0
    if scale := _SCALE.get(unit, 0.0):
        could = (check["high"] - floor) * scale >= nearest
    else:
        could = check["p"] is None or math.isnan(check["p"]) or check["p"] < _MOVED
    if not could:
        return ""
    return (
        f"With group words swapped it sorts {check['value']:.1%} of {check['n']:,.0f} texts otherwise, and {floor:.1%} "
        "when asked again, which could make up what was found."
    )
