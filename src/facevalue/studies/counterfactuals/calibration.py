"""Calibration of counterfactual sets: groups differ from their sets, tested by t over sets."""

import polars as pl

from facevalue.annotations import lexicon
from facevalue.measures.set_ranges import TAIL_QUANTILE
from facevalue.protocol.calibration import Calibration, Rival, numbers, words_of
from facevalue.statistics.rivals import UNIT, VALUE
from facevalue.studies.counterfactuals.measures import PMI_STRICT

_ABOUT = ("subset", "prompt", "group")
_SCORE = "score: planted/score"


def _open(answers: pl.DataFrame) -> pl.DataFrame:
    return answers.filter(pl.col("task") == "open").drop_nulls("text")


def _lists(answers: pl.DataFrame) -> pl.DataFrame:
    """Share of a text's words that are on a list."""
    texts = _open(answers)
    counted = lexicon.count(texts, "text", lexicon.shipped_lexicon("stereotype_content"))
    names = [name for name in counted.columns if name != "tokens"]
    shares = pl.concat([texts.select(*_ABOUT, "set"), counted], how="horizontal").drop_nulls("tokens")
    return shares.with_columns(pl.col(names) / pl.col("tokens"), pl.col("set").alias(UNIT)).unpivot(
        names, index=[*_ABOUT, UNIT], variable_name="word_list", value_name=VALUE
    )


def _words(answers: pl.DataFrame) -> pl.DataFrame:
    """Share of a group's texts that have a word."""
    return words_of(_open(answers), "text", ("subset", "group", "set")).rename({"set": UNIT})


def _largest(answers: pl.DataFrame) -> pl.DataFrame:
    """Indicator of a group with the largest score of its set, less its chance, in the sets with a range in the tail."""
    means = answers.drop_nulls(_SCORE).group_by(*_ABOUT, "set").agg(pl.col(_SCORE).mean())
    in_set, of_prompt = ("subset", "prompt", "set"), ("subset", "prompt")
    ranges = (pl.col(_SCORE).max() - pl.col(_SCORE).min()).over(in_set)
    tail = means.with_columns(range=ranges).filter(
        pl.col("range") > pl.col("range").quantile(TAIL_QUANTILE).over(of_prompt)
    )
    largest = (pl.col(_SCORE) == pl.col(_SCORE).max().over(in_set)).cast(pl.Float64)
    value = largest / largest.sum().over(in_set) - 1 / pl.len().over(in_set)
    return tail.select(*_ABOUT, pl.col("set").alias(UNIT), value.alias(VALUE))


CALIBRATION = Calibration(
    planted=("group",),
    counted="sets",
    settings={"subset": ["skin-tone-gender"], "prompt": ["describe", "characteristics", "hiring", "salary"]},
    own_pictures=("max_score",),
    rivals=(
        Rival("gap_from_alike", numbers(_SCORE, "set"), _ABOUT, (pl.col("scorer").is_not_null(),), apart="group"),
        Rival("gap_from_alike.length", numbers("open", "set"), _ABOUT, apart="group"),
        Rival("tail_share", _largest),
        Rival("gap_from_alike.word_share", _lists, apart="group"),
        Rival(PMI_STRICT.key, _words, apart="group"),
        Rival("gap_from_alike.rating", numbers("rating", "set"), _ABOUT, apart="group"),
        Rival("gap_from_alike.salary", numbers("salary", "set"), _ABOUT, apart="group"),
    ),
)
