"""The table of estimates: labels are those that were declared, and tell every two estimates apart."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.definitions import NO_INTERVENTION, Measure
from facevalue.measures.estimates import (
    FIXED_COLUMNS,
    TYPED_LABELS,
    EstimateTable,
    condition,
    estimate_schema,
    label_columns,
    stack_estimates,
)
from facevalue.measures.families import Family, apply_families
from facevalue.measures.judgment import judge
from facevalue.measures.paired_changes import ChangeSet, Deletion, reduce_estimates
from facevalue.measures.uncertainty import Estimates
from facevalue.protocol.lookup import EstimateIndex
from facevalue.protocol.page import Page
from facevalue.report.blocks.content import Lines, PartContent
from facevalue.report.blocks.layout import Builder
from facevalue.report.blocks.view import View
from facevalue.report.formatting import Titles, label_of
from facevalue.report.page_builder import sections_of

GAP = Measure("gap", "Gap", "a - b", "pp", "face", "", comparison=True)
DESCRIPTORS = ["old", "young"]


def found(values: list[float], width: float = 1.0) -> Estimates:
    """Estimates of these values, from forty clusters each."""
    value = np.array(values)
    n = np.full(value.size, 40, dtype=np.int64)
    how = np.full(value.size, "t", dtype=object)
    return Estimates(value, value - width, value + width, n, n, how, np.full(value.size, width / 2))


def described(values: list[float] | None = None, model: str = "m", intervention: str | None = None) -> pl.DataFrame:
    """A table of a study that has a label of its own."""
    table = EstimateTable("mine", model, ["descriptor"], intervention)
    p = np.array([0.001, 0.6])
    table.add(GAP, {"descriptor": DESCRIPTORS}, replace(found(values or [10.0, 0.5]), p=p, q=p), family="descriptors")
    return table.frame()


def test_every_table_has_the_fixed_columns_the_typed_labels_and_the_declared_ones_in_order() -> None:
    frame = described()
    assert frame.schema == pl.Schema(estimate_schema(["descriptor"]))
    assert label_columns(frame) == [*TYPED_LABELS, "descriptor"]
    assert set(frame.columns) == {*FIXED_COLUMNS, *TYPED_LABELS, "descriptor"}
    assert EstimateTable("mine", "m", ["descriptor"]).frame().schema == frame.schema


def test_a_label_that_was_not_declared_is_an_error_that_names_the_nearest() -> None:
    table = EstimateTable("mine", "m", ["descriptor", "scene"])
    with pytest.raises(UnknownNameError, match=r"label of gap .mine. 'descriptr'. Did you mean 'descriptor'"):
        table.add(GAP, {"descriptr": ["old"]}, found([1.0]))
    with pytest.raises(UnknownNameError, match="'value'"):
        table.add(GAP, {"value": ["old"]}, found([1.0]))


@pytest.mark.parametrize("labels", [["value"], ["model"], ["word"], ["scene", "scene"]])
def test_a_label_with_the_name_of_another_column_is_refused(labels: list[str]) -> None:
    with pytest.raises(DataError, match=f"'{labels[0]}' would be a second column"):
        EstimateTable("mine", "m", labels)


def test_two_estimates_with_the_same_labels_are_an_error() -> None:
    table = EstimateTable("mine", "m", ["descriptor"])
    table.add(GAP, {"descriptor": ["old", "old"]}, found([1.0, 2.0]))
    with pytest.raises(DataError, match=r"same labels .*descriptor 'old'.*needs a label"):
        table.frame()
    table = EstimateTable("mine", "m")
    for _ in range(2):
        table.add(GAP, {}, found([1.0]))
    with pytest.raises(DataError, match="same labels"):
        table.frame()


def test_typed_labels_are_there_without_being_declared() -> None:
    table = EstimateTable("mine", "m", intervention="cipher")
    table.add(GAP, {"word": ["calm", "calm", None], "score": ["toxicity", None, None]}, found([1.0, 2.0, 3.0]))
    table.add(GAP, {"model": ["a"], "other_model": ["b"]}, found([4.0]))
    rows = table.frame().select("model", *TYPED_LABELS).rows()
    assert rows == [
        ("m", "cipher", None, None, "calm", "toxicity"),
        ("m", "cipher", None, None, "calm", None),
        ("m", "cipher", None, None, None, None),
        ("a", "cipher", None, "b", None, None),
    ]


def test_tables_with_other_labels_stand_below_each_other() -> None:
    other = EstimateTable("mine", "m", ["reading"])
    other.add(GAP, {"reading": ["plain"]}, found([1.0]))
    both = stack_estimates([described(), other.frame()])
    assert both.columns == list(estimate_schema(["descriptor", "reading"]))
    assert both["descriptor"].to_list() == [*DESCRIPTORS, None]


def test_a_studys_own_label_tells_rows_apart_in_families_and_verdicts() -> None:
    family = Family("the old", "confirmatory", "gap", {"descriptor": ("old",)})
    assert apply_families([family], described())["family"].to_list() == ["the old", "descriptors"]
    with pytest.raises(UnknownNameError, match="Did you mean 'descriptor'"):
        apply_families([Family("f", "confirmatory", "gap", {"descriptors": ("old",)})], described())
    judged = judge(described(), [GAP])
    assert judged["verdict"].to_list() == ["difference found", "inconclusive"]
    assert judged["descriptor"].to_list() == DESCRIPTORS


def test_a_studys_own_label_tells_rows_apart_in_intervention_effects() -> None:
    plain, other = (reduce_estimates(described(values)) for values in ([1.0, 2.0], [4.0, 10.0]))
    without = [Deletion("units 3", plain.with_columns(pl.col("value") + d), other) for d in (0.1, -0.1, 0.2)]
    moved = ChangeSet(plain, other, without).table([GAP], "mine", "m", "cipher")
    rows = moved.select("measure", "versus", "intervention", "descriptor", "value").rows()
    assert rows == [("gap", NO_INTERVENTION, "cipher", "old", 3.0), ("gap", NO_INTERVENTION, "cipher", "young", 8.0)]


def test_a_studys_own_label_tells_rows_apart_on_the_page() -> None:
    table = pl.concat([described(), described(intervention="cipher")])
    index = EstimateIndex(table)
    assert index.models == ("m", "m + cipher")
    assert index.plain == ("m",)
    assert index.condition("m + cipher") == ("m", "cipher")
    assert (index.under("m", "cipher"), index.under("m", "sr")) == ("m + cipher", None)
    assert [e["descriptor"] for e in index.select_estimates("gap", "m + cipher", "descriptor")] == DESCRIPTORS
    assert [label_of(e, Titles()) for e in index.select_estimates("gap", "m", "descriptor")] == ["Old", "Young"]
    assert index.select_estimates("gap", "m", "descriptr") == []
    view = View(index, Titles(), [GAP], "m")
    (section, _) = sections_of(Page(), view)
    parts = [one for one in Builder(view).section(section).contents if isinstance(one, PartContent)]
    assert [part.title for part in parts] == ["m", "m + cipher"]
    for part in parts:
        (lines,) = (one for one in part.contents if isinstance(one, Lines))
        assert [line.labels for line in lines.rows] == [("Old",), ("Young",)]


def test_a_model_under_an_intervention_is_a_level_of_its_own_unless_the_family_names_interventions() -> None:
    table = pl.concat([described(), described(intervention="cipher")])

    def chosen(**where: tuple[str, ...] | None) -> list[tuple[str, str | None]]:
        judged = apply_families([Family("f", "confirmatory", "gap", where)], table)
        return judged.filter(family="f").select("model", "intervention").unique(maintain_order=True).rows()

    assert chosen() == [("m", None), ("m", "cipher")]
    assert chosen(model=("m",)) == [("m", None)]
    assert chosen(model=("m + cipher",)) == chosen(model=("m",), intervention=("cipher",)) == [("m", "cipher")]
    assert chosen(intervention=None) == [("m", None)]
    assert table.select(condition()).to_series().unique(maintain_order=True).to_list() == ["m", "m + cipher"]


def test_families_of_a_model_and_of_the_same_under_an_intervention_share_no_level() -> None:
    alone = judge(described(), [GAP])
    both = judge(pl.concat([described(), described(intervention="cipher")]), [GAP])
    assert both.head(2).equals(alone)
    assert both.tail(2)["q_page"].equals(alone["q_page"])
