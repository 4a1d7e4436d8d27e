"""Methods of intervals: a closed list of kinds, each with a detail."""

import numpy as np
import polars as pl
import pytest

from facevalue.errors import UnknownNameError
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.intervals import (
    IntervalKind,
    describe_method,
    name_method,
    name_unmeasured,
    split_method,
    with_details,
)
from facevalue.measures.uncertainty import Estimates

RATE = Measure("rate", "Rate", "x", "share", "face", "us", limits=(0.0, 1.0))


def entered(method: str, value: float = 0.5, low: float = 0.4, high: float = 0.6) -> tuple[str, str]:
    """Method and detail of an estimate, as the table has them."""
    table = EstimateTable("study", "model")
    table.add(RATE, {}, Estimates.single(value, low, high, 0.05, 100, 20, method))
    kind, detail = table.frame().select("method", "detail").row(0)
    return kind, detail


@pytest.mark.parametrize("kind", IntervalKind)
def test_a_table_has_the_kind_and_its_detail(kind: IntervalKind) -> None:
    assert entered(name_method(kind, "over faces: all of them")) == (kind.value, "over faces: all of them")


@pytest.mark.parametrize("text", ["wilson: over faces", "no interval: one face", "", "t, over faces"])
def test_a_kind_that_is_not_on_the_list_is_an_error(text: str) -> None:
    with pytest.raises(UnknownNameError, match="Unknown kind of interval"):
        entered(text)


def test_without_an_interval_there_is_no_method_and_the_detail_says_why() -> None:
    none, bca = float("nan"), name_method(IntervalKind.BOOTSTRAP, "BCa over faces")
    assert entered(bca, low=none, high=none) == ("none", "too few clusters for the bootstrap (BCa over faces)")
    one_face = name_method(IntervalKind.NONE, "one face")
    assert entered(one_face, low=none, high=none) == ("none", "one face")
    assert entered(one_face, none, none, none) == entered(bca, none, none, none) == ("none", "not measurable")
    assert entered(name_unmeasured("no face"), none, none, none) == ("none", "not measurable: no face")


def test_people_read_what_was_done_or_why_nothing_was() -> None:
    assert describe_method("t", "over faces") == "t (over faces)"
    assert describe_method("t", None) == "t"
    assert describe_method("none", "one face") == "no interval: one face"
    assert describe_method("none", None) == "no interval"
    assert describe_method(*split_method(name_unmeasured())) == "not measurable"
    assert describe_method(None, None) == ""


def test_rows_with_texts_are_split() -> None:
    rows = pl.DataFrame({"method": ["t: over faces", None, name_unmeasured("no face")], "n": np.arange(3)})
    assert with_details(rows).select("method", "detail").rows() == [
        ("t", "over faces"),
        (None, None),
        ("none", "not measurable: no face"),
    ]
