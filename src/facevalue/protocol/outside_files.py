"""Scores of texts by a judge and by scorers as a study's file states them."""

import re

from facevalue.answers.sorting import MOST_CATEGORIES, Sorting
from facevalue.protocol.outside_scores import Outside, ScoredText
from facevalue.protocol.toml_tables import TomlTable

_NAME = re.compile("[a-z][a-z0-9_]{0,39}")


def outside_scores(table: TomlTable) -> Outside:
    """Scores of a text by a judge (`judged`) and by scorers (`scored`), each a table by name."""
    judged, scored = (table.table(key, needed=False) for key in ("judged", "scored"))
    sortings = tuple(_sorting(_named(judged, name), name) for name in judged)
    numbers = tuple(_scored(_named(scored, name), name) for name in scored)
    with table.at():
        return Outside(sortings, numbers)


def _named(tables: TomlTable, name: str) -> TomlTable:
    table = tables.table(name)
    if not _NAME.fullmatch(name):
        raise table.error(f"The score {name!r} is not made of small letters, digits and underscores.", *[*table][:1])
    return table


def _sorting(table: TomlTable, name: str) -> Sorting:
    table.known("question", "categories", "instruction")
    categories = table.texts("categories")
    for category in categories:
        if not _NAME.fullmatch(f"c{category}"):
            raise table.error(
                f"The category {category!r} is not made of small letters, digits and underscores: name it so, and give "
                'it a wording, as in {care = "Care or harm"}.', "categories",
            )  # fmt: skip
    if not 2 <= len(categories) <= MOST_CATEGORIES:
        raise table.error(f"A judge sorts into 2 to {MOST_CATEGORIES} categories, not {len(categories)}.", "categories")
    instruction = table.text("instruction", "").strip()
    with table.at("categories"):
        return Sorting(
            name, tuple(categories), tuple(categories.values()),
            heading=f"{instruction}\n\nThe text:" if instruction else "A text:", question=table.text("question"),
        )  # fmt: skip


def _scored(table: TomlTable, name: str) -> ScoredText:
    table.known("label", "low", "high")
    with table.at():
        return ScoredText(name, table.text("label", name), table.number("low", 0.0), table.number("high", 1.0))
