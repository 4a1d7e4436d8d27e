"""Calibration of StylisticBias: cues are planted, and shifts of faces tested by t."""

import polars as pl

from facevalue.protocol.calibration import UNIT, VALUE, Calibration, Rival
from facevalue.protocol.takes import EACH_OTHER, OTHERS
from facevalue.stimuli.drawn import CONTROL
from facevalue.studies.stylisticbias.tables import scenarios

_CATEGORIES = {scenario.name: scenario.category for scenario in scenarios()}
_CUE = ("attribute", "variation")
_DIMENSIONS = ("gender", "age", "skin_tone", "build")
_FASHION = "fashion_style"
"""Shown full-body, and compared with the person full-body in plain clothes."""
_FRAMED = (pl.col("attribute") == CONTROL[0]).fill_null(value=False)


def scores(answers: pl.DataFrame) -> pl.DataFrame:
    """Mean score of each picture in each scenario."""
    means = answers.group_by("image", "identity", "scenario", *_CUE, *_DIMENSIONS).agg(pl.col("weight").mean())
    return means.with_columns(pl.col("identity").alias(UNIT), pl.col("weight").alias(VALUE))


def _moved(answers: pl.DataFrame) -> pl.DataFrame:
    """Each picture's score less that of its base."""
    scored = scores(answers)
    bases = scored.filter(pl.col("attribute").is_null() | _FRAMED)
    base = bases.select(UNIT, "scenario", base=VALUE, full_body=_FRAMED)
    varied = scored.filter(pl.col("attribute").is_not_null()).with_columns(
        full_body=pl.col("attribute") == _FASHION, category=pl.col("scenario").replace(_CATEGORIES)
    )
    return varied.join(base, on=[UNIT, "scenario", "full_body"]).with_columns(pl.col(VALUE) - pl.col("base"))


def shifts(answers: pl.DataFrame) -> pl.DataFrame:
    """Shifts of all pictures but the person full-body in plain clothes."""
    return _moved(answers).filter(~_FRAMED)


def _framed(answers: pl.DataFrame) -> pl.DataFrame:
    """The person full-body in plain clothes, less the portrait."""
    return _moved(answers).filter(_FRAMED)


def _bases(answers: pl.DataFrame) -> pl.DataFrame:
    return scores(answers).filter(pl.col("attribute").is_null())


def _family(name: str) -> tuple[pl.Expr, ...]:
    return (pl.col("family") == name,)


CALIBRATION = Calibration(
    planted=("variation",),
    counted="faces",
    settings={"faces": "10", "seeds": ["1"], "scenarios": ["wealthy", "polite", "competent", "trustworthy"]},
    rivals=(
        Rival("sbs", shifts, _CUE, _family("variations")),
        Rival("sbs", shifts, ("attribute",), _family("attributes")),
        Rival("sbs", shifts, ("scenario",), _family("scenarios")),
        Rival("sbs", shifts, ("category",), _family("scenario categories")),
        Rival("sbs", shifts, (), _family("overall")),
        Rival("sbs", shifts, ("attribute", "category"), _family("attributes x scenario categories")),
        Rival("sbs", shifts, (*_CUE, "scenario"), _family("variations x scenarios")),
        Rival("sbs", shifts, _CUE, _family("variations x groups (Table 12)"), groups=_DIMENSIONS),
        Rival("sbs_gap", shifts, _CUE, groups=_DIMENSIONS, versus=EACH_OTHER),
        Rival("framing_shift", _framed, ()),
        Rival("vs_scenario", _bases, ("scenario",), components=("group",), groups=_DIMENSIONS, versus=OTHERS),
        Rival("vs", _bases, (), components=("scenario", "group"), groups=_DIMENSIONS, versus=OTHERS),
    ),
)
