"""What replies mean, task by task.

The columns of answers: `weight`, `mass` and `na` as every study has them, where the weight is the probability of "yes"
for comparisons, the share of the open fields that got a category for forms, and 1 for any valid choice or description;
`choice`, what was chosen, where a reply was sampled; `weight_1` to `weight_6`, the weights of a question's choices in
their order, summing to 1; `description`, the text; `fields`, the fields of a form as JSON (`decoded` reads it).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import polars as pl

from facevalue.answers import NA, NA_DTYPE, free_text, from_probs, json_fields, parse_column, yes_no
from facevalue.answers.categories import Categories, Judge, resolve_column
from facevalue.studies.visbias.descriptions import parted
from facevalue.studies.visbias.design import ORDERS, SWAPPED
from facevalue.studies.visbias.tables import Attribute, ChoiceQuestion, choice_questions, comparisons
from facevalue.types import Option

LEAST_MASS = 0.01
"""Probability that must be on the options together. Estimates count by this mass, so that little is needed of it."""
CHOICES = tuple(f"weight_{number}" for number in range(1, 7))
"""Columns of the weights of a question's choices, in the order of its options."""
FIELDS = pl.Struct(
    {
        "fields": pl.List(
            pl.Struct(
                {
                    "attribute": pl.String(),
                    "state": pl.String(),
                    "read": pl.String(),
                    "categories": pl.List(pl.String()),
                    "route": pl.String(),
                    "reason": pl.String(),
                    "prefilled": pl.Boolean(),
                    "kept": pl.Boolean(),
                }
            )
        )
    }
)
"""What the column `fields` holds: each field's state in the reply, how the reply was read, the field's categories (for
one that was filled in beforehand, the one that was), how they were found or why there are none, and whether the reply
keeps what was filled in."""
_WEIGHTED = ("weight", "mass", "na", "choice", *CHOICES, "description", "fields")
_PLACE = "row"


def answer(
    frame: pl.DataFrame, attributes: Sequence[Attribute], judge: Judge | None = None, *, released: bool = False
) -> pl.DataFrame:
    """Read the replies of a trial frame.

    Parameters
    ----------
    frame:
        Trial columns with `repeat`, `status`, `text` and `probs`.
    attributes:
        The form's fields with their categories.
    judge:
        Asked for the category of what no rule settles; nobody is by default.
    released:
        Whether descriptions were asked for four at a time. A reply that cannot be cut into them is N/A ("neither").

    Returns
    -------
    The rows in their order, the columns that the module names in place of text and probs.
    """
    tasks = frame["task"].cast(pl.String)
    frame = frame.with_row_index(_PLACE)
    readers: Mapping[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
        "mcq": _choices,
        "yesno": _comparisons,
        "description": partial(_descriptions, released=released),
    }
    parts = [read(part) for task, read in readers.items() if (part := frame.filter(tasks == task)).height]
    forms = frame.filter(tasks.is_in(["form", "text-form"]))
    if forms.height:
        parts.append(_forms(forms, attributes, judge))
    read = pl.concat([_complete(part) for part in parts]) if parts else _complete(frame.select(_PLACE))
    joined = frame.drop("text", "probs").join(read, on=_PLACE, how="left", maintain_order="left")
    return joined.drop(_PLACE)


def decoded(answers: pl.DataFrame) -> pl.DataFrame:
    """Fields of forms, one row each: the trial, `repeat`, `form` and what `FIELDS` lists."""
    there = answers.filter(pl.col("fields").is_not_null()).select(
        "task", "form", "repeat", pl.col("fields").str.json_decode(FIELDS).struct.field("fields")
    )
    return there.explode("fields").unnest("fields")


def _complete(part: pl.DataFrame) -> pl.DataFrame:
    """All columns, those that the task doesn't have empty."""
    text = ("choice", "description", "fields")
    empty = [
        pl.lit(None, NA_DTYPE if c == "na" else pl.String if c in text else pl.Float64).alias(c)
        for c in _WEIGHTED
        if c not in part.columns
    ]
    numbers = [pl.col(c).cast(pl.Float64) for c in ("weight", "mass", *CHOICES) if c in part.columns]
    return part.with_columns(numbers).with_columns(empty).select(_PLACE, *_WEIGHTED)


def _weighted(frame: pl.DataFrame, sampled: pl.DataFrame, choices: int) -> pl.DataFrame:
    """Weights of the choices, `mass` and `na`, where probabilities were read from these, else from the replies."""
    one_hot = [(pl.col("choice") == i).cast(pl.Float64).alias(CHOICES[i]) for i in range(choices)]
    valid = pl.col("choice").is_not_null().cast(pl.Float64).alias("mass")
    said = sampled.select(*one_hot, valid, "na")
    if not frame["probs"].is_not_null().any():
        return said
    read = from_probs(frame, "probs", minimum=LEAST_MASS)
    exact = read.select(
        *(pl.col("weights").list.get(i, null_on_oob=True).alias(CHOICES[i]) for i in range(choices)),
        pl.when(pl.col("na").is_null()).then("mass").otherwise(0.0).alias("mass"),
        "na",
    )
    there = frame["probs"].is_not_null()
    return pl.DataFrame(
        {c: pl.select(pl.when(there).then(exact[c]).otherwise(said[c])).to_series() for c in said.columns}
    )


def _choices(frame: pl.DataFrame) -> pl.DataFrame:
    known = {question.name: question for question in choice_questions()}
    asked = frame["question"].cast(pl.String)
    options = {
        name: tuple(Option(chr(ord("A") + i), text, level) for i, (text, level) in enumerate(_listed(question)))
        for name, question in known.items()
    }
    told = frame.with_columns(asked.alias("question"))
    found = parse_column(told, "text", "question", options)
    most = max(len(question.levels) for question in known.values())
    weights = _weighted(frame, found, most)
    levels = {(name, i): level for name, q in known.items() for i, level in enumerate(q.levels)}
    chosen = pl.DataFrame(
        [(name, i, level) for (name, i), level in levels.items()],
        schema={"question": pl.String, "code": pl.Int8, "choice": pl.String}, orient="row",
    )  # fmt: skip
    coded = pl.DataFrame({"question": asked, "code": found["choice"].cast(pl.Int8)})
    named = coded.join(chosen, on=["question", "code"], how="left", maintain_order="left")
    valid = pl.when(pl.col("na").is_null()).then(1.0).alias("weight")
    size = asked.replace_strict({name: len(q.levels) for name, q in known.items()}, return_dtype=pl.Int64)
    own = [pl.when(size > at).then(pl.col(column)).alias(column) for at, column in enumerate(CHOICES)]
    read = weights.with_columns(*own, valid)
    return pl.concat([frame.select(_PLACE), read, named.select("choice")], how="horizontal")


def _listed(question: ChoiceQuestion) -> list[tuple[str, str]]:
    return list(zip(question.options, question.levels, strict=True))


def _comparisons(frame: pl.DataFrame) -> pl.DataFrame:
    claims = {f"{q.name} {order}": q.claim(swapped=order == SWAPPED) for q in comparisons() for order in ORDERS}
    asked = pl.concat_str(pl.col("question", "order").cast(pl.String), separator=" ")
    told = frame.with_columns(asked.alias("asked"))
    found = yes_no.parse_column(told, "text", question="asked", claims=claims)
    weights = _weighted(frame, found, 2).rename({CHOICES[0]: "weight"}).drop(CHOICES[1])
    named = found.select(choice=pl.col("choice").replace_strict([0, 1], ["yes", "no"], default=None))
    return pl.concat([frame.select(_PLACE), weights, named], how="horizontal")


def _descriptions(frame: pl.DataFrame, *, released: bool) -> pl.DataFrame:
    found = free_text.parse_column(frame, "text")
    if released:
        whole = pl.Series([not said or bool(parted(said)) for said in found["text"]], dtype=pl.Boolean)
        cut = pl.when(whole)
        found = found.with_columns(
            cut.then("text").alias("text"), cut.then("na").otherwise(pl.lit(NA.NEITHER, NA_DTYPE))
        )
    valid = pl.col("na").is_null()
    return pl.concat([frame.select(_PLACE), found], how="horizontal").select(
        _PLACE,
        "na",
        weight=pl.when(valid).then(1.0),
        mass=valid.cast(pl.Float64),
        description="text",
    )


def _forms(frame: pl.DataFrame, attributes: Sequence[Attribute], judge: Judge | None) -> pl.DataFrame:
    names = {a.name: (a.title, *a.keys) for a in attributes}
    sets: dict[str, Categories] = {a.name: a.categories for a in attributes}
    read = json_fields.parse_column(frame, "text", names)
    found = pl.concat([read, resolve_column(read, sets, judge)], how="horizontal")
    before = _filled(frame["filled"], {a.title: a.name for a in attributes})
    found = found.join(before, on=["row", "attribute"], how="left", maintain_order="left")
    given = pl.col("given").is_not_null()
    fields = found.with_columns(
        prefilled=given,
        kept=pl.when(given).then(pl.col("categories").list.contains(pl.col("given")).fill_null(value=False)),
        categories=pl.when(given).then(pl.concat_list("given")).otherwise("categories"),
    ).with_columns(pl.col("state", "read", "route", "reason").cast(pl.String))
    settled = (~pl.col("prefilled") & (pl.col("route") != "none")).fill_null(value=False).sum()
    columns = [field.name for field in _inner()]
    forms = fields.group_by("row", maintain_order=True).agg(
        na=pl.col("na").first(),
        weight=settled / (~pl.col("prefilled")).sum(),
        fields=pl.struct(columns),
    )
    valid = pl.col("na").is_null()
    return forms.select(
        pl.col("row")
        .cast(pl.Int64)
        .replace_strict(range(frame.height), frame[_PLACE], return_dtype=pl.UInt32)
        .alias(_PLACE),
        "na",
        weight=pl.when(valid).then("weight"),
        mass=valid.cast(pl.Float64),
        fields=pl.when(valid).then(pl.struct("fields").struct.json_encode()),
    )


def _inner() -> list[pl.Field]:
    outer = FIELDS.fields[0].dtype
    assert isinstance(outer, pl.List)
    assert isinstance(outer.inner, pl.Struct)
    return outer.inner.fields


def _filled(filled: pl.Series, names: Mapping[str, str]) -> pl.DataFrame:
    """What was filled in beforehand, one row per field; each distinct form is read once."""
    texts = filled.cast(pl.String)
    rows = pl.DataFrame({"row": range(len(texts)), "filled": texts}, schema={"row": pl.UInt32, "filled": pl.String})
    read = [
        (text, names[title], value) for text in texts.unique().drop_nulls() for title, value in json.loads(text).items()
    ]
    table = pl.DataFrame(read, schema=dict.fromkeys(("filled", "attribute", "given"), pl.String), orient="row")
    return rows.join(table, on="filled").select("row", "attribute", "given")
