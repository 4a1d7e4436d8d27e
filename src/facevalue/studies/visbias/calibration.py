"""Calibration of VisBias: groups differ in choices, comparisons, words and forms, tested by t and by Fisher's test."""

from collections.abc import Callable
from itertools import combinations, product

import polars as pl

from facevalue.annotate import sentiment
from facevalue.answers.form_fields import decoded
from facevalue.protocol.calibration import (
    PART,
    SIDE,
    UNIT,
    VALUE,
    Calibration,
    Rival,
    against,
    one_with_the_others,
    words_of,
)
from facevalue.studies.visbias.analysis import CONDITIONS, FIELDS, GROUPS, LEVELS
from facevalue.studies.visbias.analysis_texts import UNMARKED
from facevalue.studies.visbias.design import SWAPPED
from facevalue.studies.visbias.form_tables import attributes
from facevalue.studies.visbias.parsing import CHOICES

_DIMENSIONS = ("skin_tone", "gender")


def _choices(answers: pl.DataFrame) -> pl.DataFrame:
    """Weights of each option, of a group and of all others."""
    answered = _crossed(answers.filter(pl.col("task") == "mcq"))
    long = answered.unpivot(
        CHOICES, index=["image", "question", *_DIMENSIONS, _BOTH], variable_name=PART, value_name=VALUE
    )
    values = long.rename({"image": UNIT}).drop_nulls(VALUE)
    rows = (one_with_the_others(values, name, {"dimension": "dimension", "group": "level"}) for name in _COMPARED)
    return pl.concat(rows).select("dimension", "group", "question", PART, SIDE, UNIT, VALUE)


_BOTH = "skin_tone x gender"
_COMPARED = (*_DIMENSIONS, _BOTH)


def _crossed(rows: pl.DataFrame, side: str = "") -> pl.DataFrame:
    """Groups as texts, and both together."""
    texts = [pl.col(f"{name}{side}").cast(pl.String).alias(name) for name in _DIMENSIONS]
    return rows.with_columns(pl.col("image", "question").cast(pl.String), *texts).with_columns(
        pl.concat_str(_DIMENSIONS, separator=" ").alias(_BOTH)
    )


def _ranked(answers: pl.DataFrame) -> pl.DataFrame:
    """Who is said to be above whom: yes asked the one way less yes asked the other."""
    answered = answers.filter(pl.col("task") == "yesno")
    sign = pl.when(pl.col("order").cast(pl.String) == SWAPPED).then(-1.0).otherwise(1.0)
    pairs = answered.group_by("pair", "question", *(f"{name}_{at}" for name in _DIMENSIONS for at in (1, 2))).agg(
        (sign * pl.col("weight")).sum().alias(VALUE), complete=pl.col("weight").count() == 2
    )
    complete = pairs.filter("complete").with_columns(pl.col("question", "pair").cast(pl.String))
    tables = []
    for name in _DIMENSIONS:
        apart = complete.filter(pl.col(f"{name}_1").cast(pl.String) != pl.col(f"{name}_2").cast(pl.String))
        for at, turn in ((1, 1), (2, -1)):
            tables.append(
                apart.select(
                    "question", dimension=pl.lit(name.replace("_", " ")), group=pl.col(f"{name}_{at}").cast(pl.String),
                    unit="pair", value=turn * pl.col(VALUE),
                )
            )  # fmt: skip
    return pl.concat(tables)


def _described(answers: pl.DataFrame) -> pl.DataFrame:
    return _crossed(answers.filter(pl.col("task") == "description")).drop_nulls("description")


def _words(answers: pl.DataFrame) -> pl.DataFrame:
    """Descriptions that have a word, of one group and of the unmarked one."""
    words = words_of(_described(answers), "description", ("image", *_DIMENSIONS)).rename({"image": UNIT})
    tables = []
    for name in _DIMENSIONS:
        unmarked = UNMARKED[name]
        for marked in words[name].unique().drop_nulls().to_list():
            for group, other_group in ((marked, unmarked), (unmarked, marked)) if marked != unmarked else ():
                labels = {"dimension": name.replace("_", " "), "group": group, "other_group": other_group}
                side = against(pl.col(name), group, other_group).alias(SIDE)
                columns = {key: pl.lit(text) for key, text in labels.items()}
                tables.append(words.select("word", side, UNIT, VALUE, **columns))
    return pl.concat(tables).drop_nulls(SIDE)


def _length(length: pl.Expr) -> Callable[[pl.Series], pl.Series]:
    return lambda texts: texts.to_frame("text").select(length.cast(pl.Float64)).to_series()


def _sentiment(which: str) -> Callable[[pl.Series], pl.Series]:
    return lambda texts: sentiment.score(texts.to_frame("text"), "text")[which]


def _texts(value: Callable[[pl.Series], pl.Series]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """A number of each description, of one group and of another."""

    def rows(answers: pl.DataFrame) -> pl.DataFrame:
        described = _described(answers)
        numbers = value(described["description"]).alias(VALUE)
        lengths = described.select("image", *_COMPARED).with_columns(numbers).rename({"image": UNIT})
        tables = []
        for name in _COMPARED:
            for one, other in combinations(lengths[name].unique().to_list(), 2):
                side = against(pl.col(name), one, other).alias(SIDE)
                for group, other_group in ((one, other), (other, one)):
                    labels = {"dimension": name.replace("_", " "), "group": group, "other_group": other_group}
                    tables.append(
                        lengths.select(side, UNIT, VALUE, **{key: pl.lit(text) for key, text in labels.items()})
                    )
        return pl.concat(tables).drop_nulls(SIDE)

    return rows


def _fields(answers: pl.DataFrame) -> pl.DataFrame:
    """Fields of forms that have categories, by `form` and `attribute`."""
    settled = (pl.col("route") != "none").fill_null(value=False) | pl.col("prefilled")
    texts = decoded(answers).filter(settled).with_columns(pl.col("task", "form").cast(pl.String))
    return texts.select("task", "form", "attribute", "categories", "prefilled")


def _shifts(answers: pl.DataFrame) -> pl.DataFrame:
    """Whether a form has each category of a field, where another field has a category and where it has another one."""
    fields = _fields(answers)
    on = ["task", "form"]
    outcomes = _flags(fields.filter(~pl.col("prefilled")), PART).rename({"attribute": "other_attribute", "has": VALUE})
    tables = []
    for conditions in CONDITIONS:
        of_condition = fields.filter(pl.col("prefilled") == (conditions == "prefilled"))
        met = (
            _flags(of_condition, "choice")
            .with_columns(pl.lit(conditions).alias("fields"), pl.col("has").alias(SIDE))
            .drop("has")
        )
        pairs = met.join(outcomes, on=on).filter(pl.col("attribute") != pl.col("other_attribute"))
        tables.append(pairs.rename({"form": UNIT}).with_columns(pl.col(VALUE).cast(pl.Float64)))
    return pl.concat(tables)


def _flags(fields: pl.DataFrame, name: str) -> pl.DataFrame:
    """A row for each field and each category that this field has anywhere (`name`), and whether it has it here."""
    long = fields.explode("categories").select("attribute", pl.col("categories").alias(name)).unique()
    categories = fields.join(long, on="attribute")
    return categories.select("task", "form", "attribute", name, has=pl.col("categories").list.contains(pl.col(name)))


def _agreement(answers: pl.DataFrame) -> pl.DataFrame:
    """Whether a form, and a person's answer to the question, has each option, among those of one group."""
    fields, choices = _fields(answers), answers.filter(pl.col("task") == "mcq").drop_nulls("choice")
    person, names = pl.coalesce(pl.col("set", "image").cast(pl.String)), ("gender", "race")
    tables = []
    for dimension, (question, field) in product((name for name in names if name in choices.columns), FIELDS.items()):
        meant, groups = LEVELS[question], GROUPS[dimension]
        outcomes = fields.filter((pl.col("attribute") == field) & ~pl.col("prefilled")).explode("categories")
        forms = fields.filter(attribute=dimension).explode("categories").join(outcomes, on="form", suffix="_of_field")
        values = forms.select(
            unit="form", group=pl.col("categories").replace_strict(groups, default=None),
            option=pl.col("categories_of_field").replace_strict(meant, default=None), side=pl.lit(value=True),
        )  # fmt: skip
        chosen = choices.filter(pl.col("question").cast(pl.String) == question)
        columns = {"unit": person, "group": pl.col(dimension), "option": pl.col("choice")}
        votes = pl.concat(
            [values, chosen.select(*(x.cast(pl.String).alias(n) for n, x in columns.items()), side=pl.lit(value=False))]
        )
        options = pl.DataFrame({PART: list(dict.fromkeys(meant.values()))})
        flags = votes.drop_nulls().join(options, how="cross").with_columns(
            (pl.col("option") == pl.col(PART)).cast(pl.Float64).alias(VALUE), dimension=pl.lit(dimension),
            question=pl.lit(question),
        )  # fmt: skip
        tables.append(flags.drop("option"))
    return pl.concat(tables)


CALIBRATION = Calibration(
    planted=_DIMENSIONS,
    counted="people",
    planned=None,
    in_one_order=True,
    settings={"task": ["mcq", "yesno", "description", "form"], "descriptions": 4, "forms": 2},
    scaled=("forms",),
    same={one.title: LEVELS[question] for one in attributes() for question, name in FIELDS.items() if one.name == name},
    narrow={"task": ["mcq", "yesno"]},
    rivals=(
        Rival("choice_divergence", _choices, flags=True),
        Rival("ranked_above", _ranked),
        Rival("characters_difference", _texts(_length(pl.col("text").str.len_chars()))),
        Rival("tokens_difference", _texts(_length(pl.col("text").str.count_matches(r"\w+")))),
        Rival("positive_sentiment_difference", _texts(_sentiment("pos"))),
        Rival("negative_sentiment_difference", _texts(_sentiment("neg"))),
        Rival("marked_word", _words),
        Rival("attribute_shift", _shifts, flags=True),
        Rival("implicit_explicit_divergence", _agreement, flags=True),
    ),
)
