"""Calibration of VisBias: groups differ in choices, comparisons, words and forms, tested by t and by Fisher's test."""

from itertools import product

import polars as pl

from facevalue.annotations import sentiment
from facevalue.answers.form_fields import decode_forms
from facevalue.protocol.calibration import Calibration, Rival, Rows, both_ways, words_of
from facevalue.statistics.rivals import EACH_OTHER, OTHERS, PART, SIDE, UNIT, VALUE
from facevalue.studies.visbias.analysis import FIELDS, GROUPS, LEVELS
from facevalue.studies.visbias.form_graph import CONDITIONS
from facevalue.studies.visbias.parsing import CHOICES, attributes
from facevalue.studies.visbias.pictures import SWAPPED

_DIMENSIONS = ("skin_tone", "gender")
_GROUPS = ("skin tone", "gender")
_CROSSED = (*_GROUPS, "skin tone x gender")


def _of_task(answers: pl.DataFrame, task: str) -> pl.DataFrame:
    """Answers of a task about one person, by groups of a dimension and of two crossed; pictures are units."""
    tone = pl.col("skin_tone").alias(_CROSSED[0])
    crossed = pl.concat_str(_DIMENSIONS, separator=" ").alias(_CROSSED[-1])
    return answers.filter(pl.col("task") == task).with_columns(tone, crossed, pl.col("image").alias(UNIT))


def _choices(answers: pl.DataFrame) -> pl.DataFrame:
    """Weights of each option."""
    about = [UNIT, "question", *_CROSSED]
    return _of_task(answers, "mcq").unpivot(CHOICES, index=about, variable_name=PART, value_name=VALUE)


def _ranking_rows(answers: pl.DataFrame) -> pl.DataFrame:
    """Rankings of people above others: yes asked the one way less yes asked the other."""
    sign = pl.when(pl.col("order") == SWAPPED).then(-1.0).otherwise(1.0)
    sides = [f"{name}_{at}" for name in _DIMENSIONS for at in (1, 2)]
    pairs = answers.filter(pl.col("task") == "yesno").group_by(pl.col("pair").alias(UNIT), "question", *sides).agg(
        (sign * pl.col("weight")).sum().alias(VALUE), complete=pl.col("weight").count() == 2
    )  # fmt: skip
    turned = both_ways(pairs.filter("complete"), *_DIMENSIONS)
    tables = (
        turned.filter(pl.col(name) != pl.col(f"other_{name}")).select(
            "question", UNIT, VALUE, dimension=pl.lit(name.replace("_", " ")), group=name
        )
        for name in _DIMENSIONS
    )
    return pl.concat(tables)


def _description_rows(answers: pl.DataFrame) -> pl.DataFrame:
    return _of_task(answers, "description").drop_nulls("description")


def _words(answers: pl.DataFrame) -> pl.DataFrame:
    """Share of a picture's descriptions that have a word."""
    return words_of(_description_rows(answers), "description", (UNIT, *_GROUPS))


def _length(length: pl.Expr) -> Rows:
    return lambda answers: _description_rows(answers).with_columns(length.cast(pl.Float64).alias(VALUE))


def _sentiment(tone: str) -> Rows:
    def rows(answers: pl.DataFrame) -> pl.DataFrame:
        described = _description_rows(answers)
        return described.with_columns(sentiment.score(described, "description")[tone].alias(VALUE))

    return rows


def _texts(measure: str, rows: Rows) -> Rival:
    """Test a number of each description, of one group and of another."""
    return Rival(measure, rows, (), groups=_CROSSED, versus=EACH_OTHER)


def _fields(answers: pl.DataFrame) -> pl.DataFrame:
    """Fields of forms that have categories, by `form` and `attribute`."""
    settled = (pl.col("route") != "none").fill_null(value=False) | pl.col("prefilled")
    return decode_forms(answers).filter(settled).select("task", "form", "attribute", "categories", "prefilled")


def _shifts(answers: pl.DataFrame) -> pl.DataFrame:
    """Rows on each category of a field in a form, where another field has a category and where it has another one."""
    fields = _fields(answers)
    outcomes = _flags(fields.filter(~pl.col("prefilled")), PART).rename({"attribute": "other_attribute", "has": VALUE})
    tables = []
    for conditions in CONDITIONS:
        met = _flags(fields.filter(pl.col("prefilled") == (conditions == "prefilled")), "choice").rename({"has": SIDE})
        pairs = met.join(outcomes, on=["task", "form"]).filter(pl.col("attribute") != pl.col("other_attribute"))
        tables.append(pairs.with_columns(pl.lit(conditions).alias("fields"), pl.col(VALUE).cast(pl.Float64)))
    return pl.concat(tables).rename({"form": UNIT})


def _flags(fields: pl.DataFrame, name: str) -> pl.DataFrame:
    """A row for each field and each category that this field has anywhere (`name`), and whether it has it here."""
    long = fields.explode("categories").select("attribute", pl.col("categories").alias(name)).unique()
    categories = fields.join(long, on="attribute")
    return categories.select("task", "form", "attribute", name, has=pl.col("categories").list.contains(pl.col(name)))


def _agreement(answers: pl.DataFrame) -> pl.DataFrame:
    """Rows on each option in a form, and in a person's answer to the question, among those of one group."""
    fields, choices = _fields(answers), answers.filter(pl.col("task") == "mcq").drop_nulls("choice")
    person, names = pl.coalesce("set", "image"), ("gender", "race")
    tables = []
    for dimension, (question, field) in product((name for name in names if name in choices.columns), FIELDS.items()):
        meant, groups = LEVELS[question], GROUPS[dimension]
        outcomes = fields.filter((pl.col("attribute") == field) & ~pl.col("prefilled")).explode("categories")
        forms = fields.filter(attribute=dimension).explode("categories").join(outcomes, on="form", suffix="_of_field")
        values = forms.select(
            unit="form", group=pl.col("categories").replace_strict(groups, default=None),
            option=pl.col("categories_of_field").replace_strict(meant, default=None), side=pl.lit(value=True),
        )  # fmt: skip
        is_matched = (pl.col("question") == question) & pl.col("choice").is_in(list(meant.values()))
        chosen = choices.filter(is_matched).select(
            unit=person, group=dimension, option="choice", side=pl.lit(value=False)
        )
        votes = pl.concat([values, chosen])
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
    same={
        field.title: LEVELS[question]
        for field in attributes()
        for question, name in FIELDS.items()
        if field.name == name
    },
    narrow={"task": ["mcq", "yesno"]},
    rivals=(
        Rival("choice_divergence", _choices, ("question",), groups=_CROSSED, versus=OTHERS, flags=True),
        Rival("ranked_above", _ranking_rows),
        _texts("gap.characters", _length(pl.col("description").str.len_chars())),
        _texts("gap.tokens", _length(pl.col("description").str.count_matches(r"\w+"))),
        _texts("gap.positive_sentiment", _sentiment("pos")),
        _texts("gap.negative_sentiment", _sentiment("neg")),
        Rival("marked_word", _words, ("word",), groups=_GROUPS, versus=EACH_OTHER),
        Rival("attribute_shift", _shifts, flags=True),
        Rival("implicit_explicit_divergence", _agreement, flags=True),
    ),
)
