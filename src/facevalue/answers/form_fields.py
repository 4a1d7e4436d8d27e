"""Replies to forms, some fields of which were filled in beforehand: what each field means, and how it was read."""

import json
from collections.abc import Mapping, Sequence

import polars as pl

from facevalue.answers import json_fields
from facevalue.answers.categories import Categories, resolve_column
from facevalue.answers.sorting import Judge

_FIELD = {
    "attribute": pl.String(),
    "state": pl.String(),
    "read": pl.String(),
    "categories": pl.List(pl.String()),
    "route": pl.String(),
    "reason": pl.String(),
    "prefilled": pl.Boolean(),
    "kept": pl.Boolean(),
}
FIELDS = pl.Struct({"fields": pl.List(pl.Struct(_FIELD))})
"""Content of `fields` as JSON: each field's state in the reply, how the reply was read, the field's categories (for one
that was filled in beforehand, the one that was), how they were found or why there are none, and whether the reply keeps
what was filled in."""


def parse_forms(
    frame: pl.DataFrame,
    labels: Mapping[str, Sequence[str]],
    categories: Mapping[str, Categories],
    judge: Judge | None = None,
) -> pl.DataFrame:
    """Read replies to forms."""
    replies = json_fields.parse_column(frame, "text", labels)
    resolved = pl.concat([replies, resolve_column(replies, categories, judge)], how="horizontal")
    before = _read_filled_fields(frame["filled"], {listed[0]: name for name, listed in labels.items()})
    resolved = resolved.join(before, on=["row", "attribute"], how="left", maintain_order="left")
    is_prefilled = pl.col("given").is_not_null()
    fields = resolved.with_columns(
        prefilled=is_prefilled,
        kept=pl.when(is_prefilled).then(pl.col("categories").list.contains(pl.col("given")).fill_null(value=False)),
        categories=pl.when(is_prefilled).then(pl.concat_list("given")).otherwise("categories"),
    ).with_columns(pl.col("state", "read", "route", "reason").cast(pl.String))
    settled = (~pl.col("prefilled") & (pl.col("route") != "none")).fill_null(value=False).sum()
    forms = fields.group_by("row", maintain_order=True).agg(
        na=pl.col("na").first(), weight=settled / (~pl.col("prefilled")).sum(), fields=pl.struct(list(_FIELD))
    )
    valid = pl.col("na").is_null()
    encoded = forms.select(
        "row",
        "na",
        weight=pl.when(valid).then("weight"),
        mass=valid.cast(pl.Float64),
        fields=pl.when(valid).then(pl.struct("fields").struct.json_encode()),
    )
    rows = pl.DataFrame({"row": range(frame.height)}, schema={"row": encoded["row"].dtype})
    return rows.join(encoded, on="row", how="left", maintain_order="left").drop("row")


def decode_forms(answers: pl.DataFrame) -> pl.DataFrame:
    """Fields of forms, one row each: the trial, `repeat`, `form` and what `FIELDS` lists."""
    forms = answers.filter(pl.col("fields").is_not_null()).select(
        "task", "form", "repeat", pl.col("fields").str.json_decode(FIELDS).struct.field("fields")
    )
    return forms.explode("fields").unnest("fields")


READ_FIELDS = "fields"
"""Column of answers that holds what was read of each field of a form, as JSON."""


def fields_read(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Fields of one form that were not filled in beforehand, by name, with the categories that were read.

    Examples
    --------
    >>> age = {"attribute": "age", "categories": ["18-29", "30-39"], "prefilled": False}
    >>> fields_read(json.dumps({"fields": [age, {"attribute": "race", "categories": ["White"], "prefilled": True}]}))
    [('age', ('18-29', '30-39'))]
    """
    fields = json.loads(text)["fields"]
    return [(of["attribute"], tuple(of["categories"] or ())) for of in fields if not of["prefilled"]]


def _read_filled_fields(filled: pl.Series, names: Mapping[str, str]) -> pl.DataFrame:
    """Read the fields filled in beforehand, one row per field; each distinct form is read once."""
    texts = filled.cast(pl.String)
    rows = pl.DataFrame({"row": range(len(texts)), "filled": texts}, schema={"row": pl.UInt32, "filled": pl.String})
    entries = [
        (text, names[title], value) for text in texts.unique().drop_nulls() for title, value in json.loads(text).items()
    ]
    table = pl.DataFrame(entries, schema=dict.fromkeys(("filled", "attribute", "given"), pl.String), orient="row")
    return rows.join(table, on="filled").select("row", "attribute", "given")
