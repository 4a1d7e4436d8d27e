"""Calibration of counterfactual sets: groups differ from their sets, tested by t over sets."""

from collections.abc import Callable

import polars as pl

from facevalue.protocol.calibration import UNIT, VALUE, Calibration, Rival

_ABOUT = ("subset", "prompt", "group")


def _from_set(value: str, only: pl.Expr) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """What a reply says of a picture, less the mean of its set."""

    def rows(answers: pl.DataFrame) -> pl.DataFrame:
        scored = answers.with_columns(pl.col(*_ABOUT, "set").cast(pl.String)).filter(only, pl.col(value).is_not_null())
        means = scored.group_by(*_ABOUT, "set").agg(pl.col(value).mean())
        mean = pl.col(value).mean().over("subset", "prompt", "set")
        return means.select(*_ABOUT, pl.col("set").alias(UNIT), (pl.col(value) - mean).alias(VALUE))

    return rows


_SALARY = pl.col("prompt") == "salary"

CALIBRATION = Calibration(
    planted=("group",),
    counted="sets",
    settings={"subset": ["skin-tone-gender"], "prompt": ["describe", "characteristics", "hiring", "salary"]},
    own_pictures=("max_score",),
    rivals=(
        Rival("score_gap", _from_set("score: planted/score", pl.lit(value=True))),
        Rival("length_gap", _from_set("words", pl.lit(value=True))),
        Rival("rating_gap", _from_set("value", ~_SALARY)),
        Rival("salary_gap", _from_set("value", _SALARY)),
    ),
)
