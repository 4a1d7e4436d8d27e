"""Tables of the first version in the present one: names of labels, and what was done to a model."""

import polars as pl
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.estimates import schema
from facevalue.measures.former_labels import COLUMNS, converted, present_names
from facevalue.measures.preregistration import Preregistration, parse_preregistration

LABELS = ("choice", "task", "attribute", "other_attribute", "reading")
RENAMED = {"": {"paradigm": "task"}, "share": {"category": "choice"}, "shift": {"trait": "other_attribute"}}


def first(*rows: dict[str, object]) -> pl.DataFrame:
    """A table as it was."""
    columns = ["study", "measure", "model", *COLUMNS, "value"]
    full = [{name: row.get(name) for name in columns} for row in rows]
    return pl.DataFrame(full, schema={**dict.fromkeys(columns, pl.String), "value": pl.Float64})


def test_labels_get_their_present_names_by_measure() -> None:
    table = first(
        {"measure": "share", "model": "m", "paradigm": "mcq", "category": "islam", "value": 0.5},
        {"measure": "change: share", "model": "m", "paradigm": "mcq", "category": "islam", "value": 0.1},
        {"measure": "shift", "model": "m", "paradigm": "form", "trait": "race", "attribute": "age", "value": 1.0},
        {"measure": "reading_share", "model": "m", "category": "plain", "value": 60.0},
        {"measure": "drift", "model": "m", "group": "yes", "value": 0.0},
    )
    found = converted(table, LABELS, RENAMED, ["m"], [])
    assert found.columns == list(schema(LABELS))
    assert found.select("measure", *LABELS, "score").rows() == [
        ("share", "islam", "mcq", None, None, None, None),
        ("change: share", "islam", "mcq", None, None, None, None),
        ("shift", None, "form", "age", "race", None, None),
        ("reading_share", None, None, None, None, "plain", None),
        ("drift", None, None, None, None, None, "yes"),
    ]
    assert found["value"].equals(table["value"])


def test_labels_that_are_not_declared_any_more_stay_where_they_are_set() -> None:
    found = converted(first({"measure": "share", "model": "m", "gender": "male"}), LABELS, RENAMED, [], [])
    assert found["gender"].to_list() == ["male"]
    assert "identity" not in found.columns


def test_models_are_told_from_interventions_by_the_names_there_are() -> None:
    models = ["m", "m + cipher", "m + pepper", "a + b", "a + b + cipher"]
    table = pl.concat(first({"measure": "share", "model": model}) for model in models)
    found = converted(table, LABELS, RENAMED, [], ["cipher", "sr"])
    assert found.select("model", "intervention").rows() == [
        ("m", None), ("m", "cipher"), ("m + pepper", None), ("a + b", None), ("a + b", "cipher"),
    ]  # fmt: skip
    alone = first({"measure": "share", "model": "m + cipher"})
    assert converted(alone, LABELS, RENAMED, [], ["cipher"])["model"].to_list() == ["m + cipher"]
    assert converted(alone, LABELS, RENAMED, ["m"], ["cipher"])["model"].to_list() == ["m"]


def test_a_change_has_the_labels_of_its_measure() -> None:
    assert present_names(RENAMED, "change: share") == present_names(RENAMED, "share")


def declared(where: str) -> Preregistration:
    """A pre-registration with one family."""
    text = f"[[family]]\nname = 'f'\nmeasure = 'share'\nwhere = {{{where}}}"
    return parse_preregistration(text.encode(), ["share"], LABELS, RENAMED)


def test_a_preregistration_may_use_the_names_that_labels_had() -> None:
    old, new = declared("paradigm = ['mcq'], category = []"), declared("task = ['mcq'], choice = []")
    assert old.families[0].where == new.families[0].where == {"task": ("mcq",), "choice": None}
    assert declared("word = ['calm'], intervention = []").families[0].where == {"word": ("calm",), "intervention": None}
    assert declared("gender = []").families[0].where == {}


def test_a_preregistration_names_no_label_that_the_study_does_not_have() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown label .choices.. Did you mean 'choice'"):
        declared("choices = []")
    with pytest.raises(UnknownNameError, match="Unknown label 'gender'"):
        declared("gender = ['male']")
    with pytest.raises(DataError, match="'task' is named twice"):
        declared("task = ['mcq'], paradigm = ['mcq']")
