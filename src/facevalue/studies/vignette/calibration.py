"""Calibration of VIGNETTE: identities are preferred, and their choices tested by t over people."""

import polars as pl

from facevalue.protocol.calibration import Calibration, Rival, both_ways
from facevalue.statistics.rivals import PART, UNIT, VALUE

_ABOUT = ("dimension", "paradigm", "contrast")
_IDENTITY = (*_ABOUT, "identity")
_LISTED = pl.col("activity").is_null()
_POOLED = tuple(pl.col(name).is_null() for name in ("question", "gender"))
_BY_QUESTION = (~_POOLED[0], _POOLED[1])


def choices(answers: pl.DataFrame) -> pl.DataFrame:
    """Each choice twice: of the one identity beside the other, and the other way round, from -1/2 to 1/2."""
    values = (pl.col("weight") - pl.col("other")) / 2
    pairs = answers.with_columns(pl.col("person").alias(UNIT), values.alias(VALUE))
    return both_ways(pairs, "identity").drop_nulls("identity")


def _shortfalls(answers: pl.DataFrame) -> pl.DataFrame:
    """Shortfalls of a person's pictures with an identity, against each identity that is chosen more."""
    decided = choices(answers).filter(pl.col("paradigm") == "decision")
    means = decided.group_by(*_IDENTITY, UNIT).agg(pl.col(VALUE).mean())
    pairs = means.join(means, on=[*_ABOUT, UNIT], suffix="_of_other").rename({"identity_of_other": PART})
    less = pairs.with_columns(pl.col(VALUE) - pl.col(f"{VALUE}_of_other")).drop(f"{VALUE}_of_other")
    return less.filter(pl.col(VALUE).mean().over(*_IDENTITY, PART) < 0)


CALIBRATION = Calibration(
    planted=("identity",),
    counted="people",
    settings={
        "dimension": ["age"],
        "gender": ["male"],
        "paradigm": ["decision"],
        "contrast": ["identity"],
        "people": 4,
        "activity": ["cooking", "cleaning", "fishing", "gardening"],
    },
    units=("image", "set", "person"),
    planned=100.0,
    rivals=(
        Rival("selection_gap", choices, _IDENTITY, _POOLED),
        Rival("selection_gap", choices, (*_IDENTITY, "question"), _BY_QUESTION),
        Rival("selection_frequency", choices, _IDENTITY, (*_POOLED, _LISTED)),
        Rival("selection_frequency", choices, (*_IDENTITY, "question"), (*_BY_QUESTION, _LISTED)),
        Rival("selection_frequency", choices, (*_IDENTITY, "activity"), (*_POOLED, ~_LISTED), apart="activity"),
        Rival("paircomp", choices, (*_IDENTITY, "other_identity"), _POOLED, apart="other_identity"),
        Rival("log_odds", choices, (*_IDENTITY, "activity"), _POOLED, apart="activity"),
        Rival("spread", choices, _ABOUT, _POOLED, components=("identity",)),
        Rival("impact_shortfall", _shortfalls, _IDENTITY, _POOLED),
    ),
)
