"""Calibration of StylisticBias: cues are planted, in answers or the reference model; shifts of faces tested by t."""

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.models.reference.adapter import FOLDER
from facevalue.models.reference.truth import LETTER, POSITION, PlantedEffects
from facevalue.prompts import ORDERINGS
from facevalue.protocol.calibration import Calibration, Rival
from facevalue.protocol.study import Study
from facevalue.statistics.rivals import EACH_OTHER, OTHERS, UNIT, VALUE
from facevalue.stimuli.drawings.portraits import CONTROL
from facevalue.studies.stylisticbias.study import SCORE
from facevalue.studies.stylisticbias.tables import attribute_titles, grid, scenarios

Array = npt.NDArray[np.float64]

_CATEGORIES = {scenario.name: scenario.category for scenario in scenarios()}
_CUE = ("attribute", "variation")
_DIMENSIONS = ("gender", "age", "skin_tone", "build")
_FASHION = "fashion_style"
"""Shown full-body, and compared with the person full-body in plain clothes."""
_FRAMED = (pl.col("attribute") == CONTROL[0]).fill_null(value=False)


def scores(answers: pl.DataFrame) -> pl.DataFrame:
    """Mean score of each picture in each scenario."""
    means = answers.group_by("image", "identity", "scenario", *_CUE, *_DIMENSIONS).agg(pl.col(SCORE.name).mean())
    return means.with_columns(pl.col("identity").alias(UNIT), pl.col(SCORE.name).alias(VALUE))


def _shifts_from_base(answers: pl.DataFrame) -> pl.DataFrame:
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
    return _shifts_from_base(answers).filter(~_FRAMED)


def _shifts_of_control(answers: pl.DataFrame) -> pl.DataFrame:
    """The person full-body in plain clothes, less the portrait."""
    return _shifts_from_base(answers).filter(_FRAMED)


def _bases(answers: pl.DataFrame) -> pl.DataFrame:
    return scores(answers).filter(pl.col("attribute").is_null())


def _family(name: str) -> tuple[pl.Expr, ...]:
    return (pl.col("family") == name,)


_VS, _SINGLE = _family("dimensions (Table 2)"), (pl.col("scenario").is_not_null(),)
CALIBRATION = Calibration(
    planted=("variation",),
    counted="faces",
    settings={"faces": "10", "seeds": ["1"], "scenario": ["wealthy", "polite", "competent", "trustworthy"]},
    rivals=(
        Rival("shift", shifts, _CUE, _family("variations")),
        Rival("shift", shifts, ("attribute",), _family("attributes")),
        Rival("shift", shifts, ("scenario",), _family("scenarios")),
        Rival("shift", shifts, ("category",), _family("scenario categories")),
        Rival("shift", shifts, (), _family("overall")),
        Rival("shift", shifts, ("attribute", "category"), _family("attributes x scenario categories")),
        Rival("shift", shifts, (*_CUE, "scenario"), _family("variations x scenarios")),
        Rival("shift", shifts, _CUE, _family("variations x groups (Table 12)"), groups=_DIMENSIONS),
        Rival("shift_gap", shifts, _CUE, groups=_DIMENSIONS, versus=EACH_OTHER),
        Rival("framing_shift", _shifts_of_control, ()),
        Rival("spread", _bases, ("scenario",), _SINGLE, components=("group",), groups=_DIMENSIONS, versus=OTHERS),
        Rival("spread", _bases, (), _VS, components=("scenario", "group"), groups=_DIMENSIONS, versus=OTHERS),
    ),
)


def planted_scores(manifest: pl.DataFrame, names: list[str], temperature: float, effects: PlantedEffects) -> Array:
    """Preference score that is planted in pictures, at a sampling temperature; shape (pictures, scenarios).

    Equation
    --------
    Mean over the four orderings of 1 / (1 + exp(-z / T)), with z the favourable pole's planted logit in that ordering
    (`facevalue.models.reference.truth`).
    """
    standing = effects.standing(manifest, names)
    out = np.zeros_like(standing)
    for ordering in ORDERINGS:
        options = ordering.options(("", ""), ("favourable", "unfavourable"))
        place = [option.level for option in options].index("favourable")
        first, lettered = 1 if place == 0 else -1, 1 if options[place].label == "(a)" else -1
        out += 1 / (1 + np.exp(-(standing + first * POSITION + lettered * LETTER) / temperature))
    return out / len(ORDERINGS)


def planted_cues(study: Study) -> pl.DataFrame:
    """Planted effect of each cue on the preference score: attribute, variation, title, planted."""
    phi = planted_in(study, PlantedEffects.read(FOLDER / "truth.parquet")).mean(axis=1)
    frame = study.manifest.select("identity", *_CUE).with_columns(phi=pl.Series(phi))
    base = frame.filter(pl.col("attribute").is_null()).select("identity", base="phi")
    changed = frame.filter(pl.col("attribute") != CONTROL[0]).join(base, on="identity")
    means = changed.group_by(_CUE).agg(planted=(pl.col("phi") - pl.col("base")).mean())
    attributes, names = attribute_titles(), {(v.attribute, v.name): v.title for v in grid()}
    titles = [f"{names[cue].lower()} ({attributes[cue[0]].lower()})" for cue in means.select(_CUE).iter_rows()]
    return means.with_columns(title=pl.Series(titles))


def scenario_names(study: Study) -> list[str]:
    """Scenarios asked about each picture."""
    return [str(name) for name in study.design.blocks[0].prompt[0].columns()[0].values]


def planted_in(study: Study, effects: PlantedEffects) -> Array:
    """Score that is planted in the pictures of a study, shape (pictures, scenarios)."""
    return planted_scores(study.manifest, scenario_names(study), study.draws.sampling.temperature, effects)
