"""Calibration of VIGNETTE: identities are preferred, and their choices tested by t over people."""

from collections.abc import Callable

import polars as pl

from facevalue.protocol.calibration import PART, UNIT, VALUE, Calibration, Rival

_ABOUT = ("dimension", "paradigm", "contrast")
_LISTED = pl.col("activity").is_null()
_POOLED = tuple(pl.col(name).is_null() for name in ("question", "gender"))


def choices(answers: pl.DataFrame) -> pl.DataFrame:
    """Each choice twice: of the one identity beside the other, and the other way round, from -1/2 to 1/2."""
    texts = answers.with_columns(pl.col("question", "activity", "identity_1", "identity_2", *_ABOUT).cast(pl.String))
    sides = [
        texts.select(
            *_ABOUT, "question", "activity", identity=f"identity_{one}", other_identity=f"identity_{other}",
            unit=pl.col("person").cast(pl.String), value=sign * (pl.col("weight") - pl.col("other")) / 2,
        )
        for one, other, sign in ((1, 2, 1), (2, 1, -1))
    ]  # fmt: skip
    return pl.concat(sides).drop_nulls(["identity", VALUE])


def _by(*labels: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda answers: choices(answers).select(*_ABOUT, *labels, UNIT, VALUE)


def _apart(label: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """What is chosen with one level of a label, less the identity's mean over all levels with the same person."""

    def rows(answers: pl.DataFrame) -> pl.DataFrame:
        mean = pl.col(VALUE).mean().over(*_ABOUT, "identity", UNIT)
        return choices(answers).select(*_ABOUT, "identity", label, UNIT, pl.col(VALUE) - mean)

    return rows


def _spreads(answers: pl.DataFrame) -> pl.DataFrame:
    return choices(answers).select(*_ABOUT, UNIT, VALUE, pl.col("identity").alias(PART))


def _shortfalls(answers: pl.DataFrame) -> pl.DataFrame:
    """How much less a person's pictures are chosen with an identity than with each that is chosen more."""
    decided = choices(answers).filter(pl.col("paradigm") == "decision")
    means = decided.group_by(*_ABOUT, "identity", UNIT).agg(pl.col(VALUE).mean())
    pairs = means.join(means, on=[*_ABOUT, UNIT], suffix="_of_other").rename({"identity_of_other": PART})
    less = pairs.with_columns(pl.col(VALUE) - pl.col(f"{VALUE}_of_other")).drop(f"{VALUE}_of_other")
    return less.filter(pl.col(VALUE).mean().over(*_ABOUT, "identity", PART) < 0)


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
        Rival("selection_gap", _by("identity"), _POOLED),
        Rival("selection_gap", _by("identity", "question"), (~_POOLED[0], _POOLED[1])),
        Rival("selection_frequency", _by("identity"), (*_POOLED, _LISTED)),
        Rival("selection_frequency", _by("identity", "question"), (~_POOLED[0], _POOLED[1], _LISTED)),
        Rival("selection_frequency", _apart("activity"), (*_POOLED, ~_LISTED)),
        Rival("paircomp", _apart("other_identity"), _POOLED),
        Rival("log_odds", _apart("activity"), _POOLED),
        Rival("spread", _spreads, _POOLED),
        Rival("impact_shortfall", _shortfalls, _POOLED),
    ),
)
