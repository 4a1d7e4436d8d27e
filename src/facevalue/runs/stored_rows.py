"""Rows of a run folder that cannot count: of no request of the run, or with what no check would have let through."""

import numpy as np
import polars as pl

from facevalue.checked_replies import reason
from facevalue.protocol.study import Study


def odd_rows(study: Study, rows: pl.DataFrame, width: int) -> pl.Series:
    """Why each stored row cannot count; null where it can. `width`: repeats of a trial, those of re-asks included."""
    trial, repeat = pl.col("trial"), pl.col("repeat")
    size = study.design.size
    outside = pl.coalesce(
        pl.when(trial.is_null() | (trial >= size)).then(pl.lit(f"It is of no trial: the design has {size:,}.")),
        pl.when(repeat.is_null() | (repeat >= width)).then(pl.lit(f"It is of no repeat: the run has {width}.")),
    )
    reasons = rows.select(pl.coalesce(outside, reason()).alias("why"))["why"]
    fine = rows.with_row_index("row").filter(reasons.is_null() & rows["probs"].is_not_null())
    wrong = other_options(study, study.design.trials(fine["trial"].to_numpy().astype(np.int64)), fine["probs"])
    why_wrong = pl.lit("It has another number of probabilities than its question has options.")
    at = pl.int_range(pl.len(), dtype=pl.UInt32).is_in(fine["row"].filter(wrong).implode())
    return reasons.to_frame().select(pl.coalesce("why", pl.when(at).then(why_wrong)).alias("why"))["why"]


def other_options(study: Study, factors: pl.DataFrame, probs: pl.Series) -> pl.Series:
    """Which replies have another number of probabilities than their questions have options."""
    stated = probs.is_not_null()
    if not stated.any():
        return pl.Series([False] * len(probs), dtype=pl.Boolean)
    options = np.zeros(len(probs), dtype=np.uint32)
    options[stated.to_numpy()] = [len(question.options) for question in study.ask(factors.filter(stated))]
    return stated & (probs.list.len() != pl.Series(options)).fill_null(value=False)


def described(rows: pl.DataFrame, reasons: pl.Series) -> str:
    """How many rows cannot count, and the first of them, for people; empty for none."""
    odd = rows.with_columns(reasons.alias("why")).filter(pl.col("why").is_not_null())
    if odd.is_empty():
        return ""
    first = odd.row(0, named=True)
    return (
        f"{odd.height:,} {'row' if odd.height == 1 else 'rows'} cannot count, such as trial {first['trial']}, repeat "
        f"{first['repeat']}: {first['why']}"
    )
