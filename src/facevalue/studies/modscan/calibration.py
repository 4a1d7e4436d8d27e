"""Calibration of ModSCAN: groups are preferred, and their shares tested by t over pictures."""

import polars as pl

from facevalue.protocol.calibration import Calibration, Rival, both_ways
from facevalue.statistics.rivals import UNIT, VALUE
from facevalue.studies.modscan.measures import SCORE_VALID

_ABOUT = ("modality", "attribute", "scenario_kind", "instance")


def shares(answers: pl.DataFrame) -> pl.DataFrame:
    """Weight of each group in each answer, less that of an even choice; a face is a unit, and a scene."""
    vision = answers.filter(pl.col("modality") == "vision").with_columns((pl.col("weight") - 0.5).alias(VALUE))
    tables = [both_ways(vision, "group", "image").select(*_ABOUT, "group", pl.col("image").alias(UNIT), VALUE)]
    ordered = answers.filter(pl.col("modality") == "language").with_columns(pl.col("order").str.split(","))
    for at in range(4):
        weight = pl.col(f"weight_{at + 1}") - 1 / pl.col("order").list.len()
        group = pl.col("order").list.get(at, null_on_oob=True)
        tables.append(ordered.select(*_ABOUT, group=group, unit="image", value=weight).drop_nulls("group"))
    return pl.concat(tables)


_SCORES = (shares, _ABOUT[:3], (), ("instance", "group"))
CALIBRATION = Calibration(
    planted=("group",),
    counted="pictures",
    settings={"per_persona": 8, "faces": 2, "scenarios": ["persona"]},
    scaled=("per_persona", "faces"),
    units=(),
    rivals=(Rival("chance_gap", shares), Rival("bias_score", *_SCORES), Rival(SCORE_VALID.key, *_SCORES)),
)
