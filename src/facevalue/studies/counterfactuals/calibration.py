"""Calibration of counterfactual sets: groups differ from their sets, tested by t over sets."""

from collections.abc import Callable

import polars as pl

from facevalue.annotate import dimension_lists, lexicon
from facevalue.measures.set_ranges import TAIL
from facevalue.protocol.calibration import UNIT, VALUE, Calibration, Rival, words_of

_ABOUT = ("subset", "prompt", "group")


def _from_set(value: str, only: pl.Expr) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """What a reply says of a picture, less the mean of its set."""

    def rows(answers: pl.DataFrame) -> pl.DataFrame:
        scored = answers.with_columns(pl.col(*_ABOUT, "set").cast(pl.String)).filter(only, pl.col(value).is_not_null())
        means = scored.group_by(*_ABOUT, "set").agg(pl.col(value).mean())
        mean = pl.col(value).mean().over("subset", "prompt", "set")
        return means.select(*_ABOUT, pl.col("set").alias(UNIT), (pl.col(value) - mean).alias(VALUE))

    return rows


def _open(answers: pl.DataFrame) -> pl.DataFrame:
    texts = answers.with_columns(pl.col(*_ABOUT, "set").cast(pl.String))
    return texts.filter(pl.col("task") == "open").drop_nulls("text")


def _lists(answers: pl.DataFrame) -> pl.DataFrame:
    """Share of a text's words that are on a list, less the mean of its set."""
    texts = _open(answers)
    counted = lexicon.count(texts, "text", dimension_lists.ours().lexicon)
    names = [name for name in counted.columns if name != "tokens"]
    shares = pl.concat([texts.select(*_ABOUT, "set"), counted], how="horizontal").drop_nulls("tokens")
    long = shares.with_columns(pl.col(names) / pl.col("tokens")).unpivot(
        names, index=[*_ABOUT, "set"], variable_name="word_list", value_name=VALUE
    )
    means = long.group_by(*_ABOUT, "set", "word_list").agg(pl.col(VALUE).mean())
    mean = pl.col(VALUE).mean().over("subset", "prompt", "set", "word_list")
    return means.select(*_ABOUT, "word_list", pl.col("set").alias(UNIT), pl.col(VALUE) - mean)


def _words(answers: pl.DataFrame) -> pl.DataFrame:
    """Share of a group's texts that have a word, less the mean of its set."""
    words = words_of(_open(answers), "text", ("subset", "group", "set"))
    mean = pl.col(VALUE).mean().over("subset", "set", "word")
    return words.select("subset", "group", "word", pl.col("set").alias(UNIT), pl.col(VALUE) - mean)


def _largest(answers: pl.DataFrame) -> pl.DataFrame:
    """Whether a group has the largest score of its set, less its chance, in the sets whose range is in the tail."""
    means = _scored(answers).group_by(*_ABOUT, "set").agg(pl.col(_SCORE).mean())
    in_set, of_prompt = ("subset", "prompt", "set"), ("subset", "prompt")
    ranges = (pl.col(_SCORE).max() - pl.col(_SCORE).min()).over(in_set)
    tail = means.with_columns(range=ranges).filter(pl.col("range") > pl.col("range").quantile(TAIL).over(of_prompt))
    largest = (pl.col(_SCORE) == pl.col(_SCORE).max().over(in_set)).cast(pl.Float64)
    value = largest / largest.sum().over(in_set) - 1 / pl.len().over(in_set)
    return tail.select(*_ABOUT, pl.col("set").alias(UNIT), value.alias(VALUE))


def _scored(answers: pl.DataFrame) -> pl.DataFrame:
    return answers.with_columns(pl.col(*_ABOUT, "set").cast(pl.String)).drop_nulls(_SCORE)


_SCORE = "score: planted/score"
_SALARY = pl.col("prompt") == "salary"

CALIBRATION = Calibration(
    planted=("group",),
    counted="sets",
    settings={"subset": ["skin-tone-gender"], "prompt": ["describe", "characteristics", "hiring", "salary"]},
    own_pictures=("max_score",),
    rivals=(
        Rival("score_gap", _from_set(_SCORE, pl.lit(value=True))),
        Rival("length_gap", _from_set("words", pl.lit(value=True))),
        Rival("tail_share", _largest),
        Rival("word_share_gap", _lists),
        Rival("pmi_strict", _words),
        Rival("rating_gap", _from_set("value", ~_SALARY)),
        Rival("salary_gap", _from_set("value", _SALARY)),
    ),
)
