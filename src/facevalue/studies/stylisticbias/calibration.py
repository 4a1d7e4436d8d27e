"""Calibration of StylisticBias: cues are planted, and shifts of faces tested by t."""

from collections.abc import Callable

import polars as pl

from facevalue.protocol.calibration import UNIT, VALUE, Calibration, Rival, one_with_the_others
from facevalue.stimuli.drawn import CONTROL
from facevalue.studies.stylisticbias.tables import scenarios

_CATEGORIES = {scenario.name: scenario.category for scenario in scenarios()}
_COLUMNS = ("image", "identity", "scenario", "attribute", "variation", "gender", "age", "skin_tone", "build")
_FASHION = "fashion_style"
"""Shown full-body, and compared with the person full-body in plain clothes."""


def scores(answers: pl.DataFrame) -> pl.DataFrame:
    """Mean score of each picture in each scenario."""
    return answers.with_columns(pl.col(_COLUMNS).cast(pl.String)).group_by(_COLUMNS).agg(pl.col("weight").mean())


def shifts(*labels: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Each picture's score less that of its base."""

    def rows(answers: pl.DataFrame) -> pl.DataFrame:
        scored = scores(answers)
        control = pl.col("attribute") == CONTROL[0]
        keys = ["identity", "scenario"]
        plain = scored.filter(pl.col("attribute").is_null()).select(*keys, base="weight", fashion=pl.lit(value=False))
        body = scored.filter(control).select(*keys, base="weight", fashion=pl.lit(value=True))
        varied = scored.filter(pl.col("attribute").is_not_null() & ~control).with_columns(
            fashion=pl.col("attribute") == _FASHION, category=pl.col("scenario").replace(_CATEGORIES)
        )
        joined = varied.join(pl.concat([plain, body]), on=[*keys, "fashion"])
        return joined.select(*labels, pl.col("identity").alias(UNIT), (pl.col("weight") - pl.col("base")).alias(VALUE))

    return rows


def _groups(answers: pl.DataFrame) -> pl.DataFrame:
    """Base pictures of each group of faces and of all others, scenario by scenario."""
    base = scores(answers).filter(pl.col("attribute").is_null())
    named = base.with_columns(pl.col("identity").alias(UNIT), pl.col("weight").alias(VALUE))
    parts = (
        one_with_the_others(named, dimension, {"dimension": dimension}, part=True)
        for dimension in ("gender", "age", "skin_tone", "build")
    )
    return pl.concat(parts).select("scenario", "dimension", "part", "side", UNIT, VALUE)


def _family(name: str) -> tuple[pl.Expr, ...]:
    return (pl.col("family") == name,)


CALIBRATION = Calibration(
    planted=("variation",),
    counted="faces",
    settings={"faces": "10", "seeds": ["1"], "scenarios": ["wealthy", "polite", "competent", "trustworthy"]},
    rivals=(
        Rival("sbs", shifts("attribute", "variation"), _family("variations")),
        Rival("sbs", shifts("attribute"), _family("attributes")),
        Rival("sbs", shifts("scenario"), _family("scenarios")),
        Rival("sbs", shifts("category"), _family("scenario categories")),
        Rival("sbs", shifts(), _family("overall")),
        Rival("sbs", shifts("attribute", "category"), _family("attributes x scenario categories")),
        Rival("sbs", shifts("attribute", "variation", "scenario"), _family("variations x scenarios")),
        Rival("vs_scenario", _groups),
    ),
)
