"""Calibration of StylisticBias: cues are planted, and shifts of faces tested by t."""

from collections.abc import Callable

import polars as pl

from facevalue.protocol.calibration import SIDE, UNIT, VALUE, Calibration, Rival, against, one_with_the_others
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


_DIMENSIONS = ("gender", "age", "skin_tone", "build")


def _shifts_of_groups(answers: pl.DataFrame) -> pl.DataFrame:
    """Shifts of each group of faces, by each of its dimensions."""
    moved = shifts("attribute", "variation", *_DIMENSIONS)(answers)
    long = moved.unpivot(
        _DIMENSIONS, index=["attribute", "variation", UNIT, VALUE], variable_name="dimension", value_name="group"
    )
    return long.with_columns(pl.col("dimension").str.replace("_", " "))


def _gaps(answers: pl.DataFrame) -> pl.DataFrame:
    """Shifts of one group of faces and of another."""
    moved = _shifts_of_groups(answers)
    groups = moved.select("dimension", "group").unique()
    pairs = groups.join(groups.rename({"group": "other_group"}), on="dimension").filter(
        pl.col("group") != pl.col("other_group")
    )
    cells = moved.rename({"group": "level"}).join(pairs, on="dimension")
    side = against(pl.col("level"), pl.col("group"), pl.col("other_group")).alias(SIDE)
    return cells.with_columns(side).drop_nulls(SIDE).drop("level")


def _framed(answers: pl.DataFrame) -> pl.DataFrame:
    """The person full-body in plain clothes, less the portrait."""
    scored = scores(answers)
    keys = ["identity", "scenario"]
    plain = scored.filter(pl.col("attribute").is_null()).select(*keys, base="weight")
    joined = scored.filter(pl.col("attribute") == CONTROL[0]).join(plain, on=keys)
    return joined.select(pl.col("identity").alias(UNIT), (pl.col("weight") - pl.col("base")).alias(VALUE))


def _groups(answers: pl.DataFrame) -> pl.DataFrame:
    """Base pictures of each group of faces and of all others, scenario by scenario."""
    base = scores(answers).filter(pl.col("attribute").is_null())
    named = base.with_columns(pl.col("identity").alias(UNIT), pl.col("weight").alias(VALUE))
    parts = (one_with_the_others(named, dimension, {"dimension": dimension}, part=True) for dimension in _DIMENSIONS)
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
        Rival("sbs", _shifts_of_groups, _family("variations x groups (Table 12)")),
        Rival("sbs_gap", _gaps),
        Rival("framing_shift", _framed),
        Rival("vs_scenario", _groups),
        Rival(
            "vs", lambda answers: _groups(answers).with_columns(part=pl.concat_str("scenario", "part")).drop("scenario")
        ),
    ),
)
