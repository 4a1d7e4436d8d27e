"""Effects that are planted in the reference model, in the scores that StylisticBias takes."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.models.reference.adapter import FOLDER
from facevalue.models.reference.truth import LETTER, POSITION, PlantedEffects
from facevalue.prompts import ORDERINGS
from facevalue.protocol.aggregate import Aggregate
from facevalue.protocol.calibration import Reference
from facevalue.protocol.study import Study
from facevalue.stimuli.drawn import CONTROL
from facevalue.studies.stylisticbias.aggregate import Faces, collect
from facevalue.studies.stylisticbias.study import LEVELS
from facevalue.studies.stylisticbias.tables import attribute_titles, grid, whitelist

Array = npt.NDArray[np.float64]
CUE = ("attribute", "variation")


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
        options = ordering.options(("", ""), LEVELS)
        place = [option.level for option in options].index(LEVELS[0])
        first, lettered = 1 if place == 0 else -1, 1 if options[place].label == "(a)" else -1
        out += 1 / (1 + np.exp(-(standing + first * POSITION + lettered * LETTER) / temperature))
    return out / len(ORDERINGS)


def planted_cues(study: Study) -> pl.DataFrame:
    """What each cue moves the preference score by, as planted: attribute, variation, title, planted."""
    phi = _planted(study, PlantedEffects.read(FOLDER / "truth.parquet")).mean(axis=1)
    frame = study.manifest.select("identity", *CUE).with_columns(phi=pl.Series(phi))
    base = frame.filter(pl.col("attribute").is_null()).select("identity", base="phi")
    changed = frame.filter(pl.col("attribute") != CONTROL[0]).join(base, on="identity")
    means = changed.group_by(CUE).agg(planted=(pl.col("phi") - pl.col("base")).mean())
    attributes, names = attribute_titles(), {(v.attribute, v.name): v.title for v in grid()}
    titles = [f"{names[cue].lower()} ({attributes[cue[0]].lower()})" for cue in means.select(CUE).iter_rows()]
    return means.with_columns(title=pl.Series(titles))


def _scenarios(study: Study) -> list[str]:
    return [str(name) for name in study.design.blocks[0].prompt[0].columns()[0].values]


def _gathered(study: Study, chunks: Iterator[pl.DataFrame]) -> tuple[Faces, Aggregate]:
    faces, orderings = Faces(study.manifest), [ordering.name for ordering in ORDERINGS]
    return faces, collect(chunks, faces, _scenarios(study), orderings, study.repeats)


def _planted(study: Study, effects: PlantedEffects) -> Array:
    return planted_scores(study.manifest, _scenarios(study), study.draws.sampling.temperature, effects)


REFERENCE = Reference(
    # The first faces of the study's own `faces_seed`, which the model was never trained on. Of fewer, what is learned
    # wrongly about some does not cancel: an audit of sixty found where nothing is planted what was true of these sixty.
    # Fashion is compared as in the paper: the model has learned from no picture in full body and plain clothes.
    settings={"faces": "100M,100F", "seeds": ["1"], "fashion_base": "portrait"},
    gathered=_gathered,
    planted=_planted,
    changes=lambda: [(variation.attribute, variation.name) for variation in whitelist(None)],
    items=_scenarios,
)
