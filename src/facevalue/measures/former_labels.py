"""Version 1 of the table of estimates: names of its labels, and its conversion to the present version.

It had the same label columns for every study, so that studies wrote their own labels into columns that meant something
else; and a model under an intervention was one text, "m + cipher".
"""

from collections.abc import Iterable, Mapping

import polars as pl

from facevalue.measures.estimates import TYPED, complete, condition, label_columns
from facevalue.measures.paired_changes import PREFIX

Renamed = Mapping[str, Mapping[str, str]]
"""By measure ("" for all others), from names of labels in the first version to the present ones (`Estimated`)."""

COLUMNS = (
    *("other_model", "attribute", "variation", "category", "scenario", "dimension", "group", "paradigm", "contrast"),
    *("gender", "question", "trait", "identity", "other_identity", "activity"),
)
"""The label columns of every table of the first version."""
_EVERY_STUDY: Renamed = {"reading_share": {"category": "reading"}, "drift": {"group": "score"}}


def present_names(renamed: Renamed, measure: str) -> dict[str, str]:
    """From former names of a measure's labels to the present ones; a change has the labels of its measure.

    Examples
    --------
    >>> present_names({"": {"paradigm": "task"}, "gap": {"category": "choice"}}, "change: gap")
    {'paradigm': 'task', 'category': 'choice'}
    """
    all_renamed = {**_EVERY_STUDY, **renamed}
    return {**all_renamed.get("", {}), **all_renamed.get(measure.removeprefix(PREFIX), {})}


def converted(
    first: pl.DataFrame, labels: Iterable[str], renamed: Renamed, models: Iterable[str], interventions: Iterable[str]
) -> pl.DataFrame:
    """A table of the first version in the present one.

    `models`: who was asked; models that the table has are known, too.
    """
    present = complete(_renamed(_with_interventions(first, models, interventions), renamed))
    empty = [name for name in label_columns(present) if present[name].null_count() == present.height]
    labels_kept = (name for name in label_columns(present) if name not in TYPED and name not in empty)
    return complete(present, dict.fromkeys([*labels, *labels_kept]))


def _with_interventions(first: pl.DataFrame, models: Iterable[str], interventions: Iterable[str]) -> pl.DataFrame:
    """Tell models from what was done to their requests: by the names there are, as either may hold any text."""
    names = pl.Series("model", [*dict.fromkeys([*models, *first["model"].drop_nulls()])], dtype=pl.String).to_frame()
    applied = pl.Series("intervention", list(interventions), dtype=pl.String).to_frame()
    conditions = names.join(applied, how="cross", maintain_order="left").with_columns(condition().alias("shown"))
    conditions = conditions.unique("shown", keep="first", maintain_order=True).rename({"model": "asked"})
    matched = first.join(conditions, left_on="model", right_on="shown", how="left", maintain_order="left")
    return matched.with_columns(pl.coalesce("asked", "model").alias("model")).drop("asked")


def _renamed(table: pl.DataFrame, renamed: Renamed) -> pl.DataFrame:
    """Put each measure's labels into the columns of their present names."""
    moved: dict[tuple[str, str], list[str]] = {}
    for measure in table["measure"].unique():
        for old, new in present_names(renamed, measure).items():
            if old in table.columns:
                moved.setdefault((old, new), []).append(measure)
    columns = {}
    for name in dict.fromkeys([*label_columns(table), *(new for _, new in moved)]):
        present = pl.col(name) if name in table.columns else pl.lit(None, pl.String)
        gone = [measure for (old, _), measures in moved.items() if old == name for measure in measures]
        terms = [pl.when(~pl.col("measure").is_in(gone)).then(present)]
        terms += [
            pl.when(pl.col("measure").is_in(measures)).then(old)
            for (old, new), measures in moved.items()
            if new == name
        ]
        columns[name] = pl.coalesce(terms)
    return table.with_columns(**columns)
