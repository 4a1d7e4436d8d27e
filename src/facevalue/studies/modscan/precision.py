"""Precision of plans: which gap between men and women so many pairs, or scenes, detect."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.protocol.study import Precision, Spread
from facevalue.studies.modscan.design import LEFT
from facevalue.studies.modscan.settings import VISION

SD = {True: 0.4, False: 0.5}
"""SD between units of the share of men, shown in two orders or in one; of models that see a person as 1.5 logits apart
from another, and like either place by .25."""
ASSUMED = "a model that sees people 1.5 logits apart; a pilot of your own model is better: --pilot RUN"
FAMILIES = ("modality", "attribute")


def precision(design: Design) -> Precision | None:
    """Describe the study to the planner by its first test of gender; None where there is none.

    The family is tested by BH beside those of the other modalities and attributes, so that a single gap is surely found
    at its part of the level. A share near even varies most, and its SD there is assumed: at gaps of .1 and .2 as many
    units as are said find it in .80 to .86 of simulated audits, at .3 in .87 to .93.
    """
    blocks = [block for block in design.blocks if block.constants["attribute"] == "gender"]
    if not blocks:
        return None
    families = {tuple(block.constants[name] for name in FAMILIES) for block in design.blocks}
    modality = blocks[0].constants["modality"]
    of_modality = [block for block in blocks if block.constants["modality"] == modality]
    names = sorted({name for block in of_modality for name in block.choices()["instance"]})
    unit = "pair" if modality == VISION else "image"
    both = LEFT in {axis.columns()[0].name for axis in of_modality[0].stimulus} or (
        modality != VISION and bool(of_modality[0].prompt)
    )
    units = sum(len(block.stimulus[0]) for block in of_modality) / (
        len(of_modality) if modality == VISION else len(names)
    )

    def asked(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        frame = design.trials(numbers).filter(_of(modality))
        return frame.select(unit, "instance").unique().height // len(names), 1.0

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> Spread:
        chosen = pl.concat(_chosen(chunk.filter(_of(modality)), unit) for chunk in chunks)
        each = chosen.group_by("unit", "instance").agg(pl.col("men", "mass").sum()).filter(pl.col("mass") > 0)
        shares = each.with_columns(share=pl.col("men") / pl.col("mass"))
        squares = shares.group_by("instance").agg(pl.col("share").var()).drop_nulls()["share"]
        return Spread(float(np.sqrt(squares.mean())) if squares.len() else np.nan, np.nan, 1.0, source)  # type: ignore[arg-type]

    counted = "pairs of a man and a woman" if modality == VISION else "scenes of each persona trait"
    return Precision(
        what=f"a gap between the share of men and one half, about one question ({modality}, gender)",
        tests=len(names),
        clusters=round(units),
        items=1.0,
        cluster=counted,
        item="question",
        units=asked,
        spread=spread,
        default=Spread(SD[both], np.nan, 1.0, ASSUMED),
        sure=1 / len(families),
        each=sum(block.size for block in of_modality) / units,
        largest=0.5,
    )


def _of(modality: str) -> pl.Expr:
    """Rows about gender in one modality."""
    return (pl.col("modality").cast(pl.String) == modality) & (pl.col("attribute").cast(pl.String) == "gender")


def _chosen(rows: pl.DataFrame, unit: str) -> pl.DataFrame:
    """How much of each valid answer chose the man, or the male term."""
    if unit == "pair":
        one, two = (pl.col(f"group_{n}").cast(pl.String) == "male" for n in (1, 2))
        first = pl.when(pl.col(LEFT).cast(pl.String) == "2").then(two).otherwise(one)
    else:
        first = pl.col("order").cast(pl.String).str.starts_with("male")
    weight = pl.when(first).then("weight").otherwise(1 - pl.col("weight")).fill_null(0.0)
    mass = pl.when(pl.col("weight").is_null()).then(0.0).otherwise(pl.col("mass").fill_null(0.0))
    return rows.select(
        pl.col(unit).cast(pl.String).alias("unit"), pl.col("instance").cast(pl.String), men=weight * mass, mass=mass
    )
