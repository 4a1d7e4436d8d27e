"""Values taken without resampling are the very values that come with it."""

import polars as pl
import pytest

from facevalue import studies
from facevalue.measures.cluster_bootstrap import only_values, values_only
from facevalue.measures.definitions import rows_of
from facevalue.measures.estimates import label_columns
from facevalue.types import OptionValue
from tests.studies.visbias.simulated import answered

SMALL: dict[str, dict[str, OptionValue]] = {
    "stylisticbias": {"faces": "36", "scenario": ["polite", "wealthy"], "attributes": ["eyewear"], "seeds": ["1"]},
    "vignette": {"dimension": ["age"], "gender": ["male"], "activity": ["cooking", "eating"], "paradigm": ["decision"]},
    "visbias": {"forms": "3", "descriptions": "3"},
}
JOINED = ("mean.positive_sentiment, as published", "mean.negative_sentiment, as published")
"""Of all texts of a group as one: without an interval, and so in no resample either."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "visbias" else ()) for name in SMALL]
)
def test_values_are_the_same_to_the_last_bit(name: str) -> None:
    study = studies.build(name, SMALL[name])
    answers = answered(study)
    full = study.analyse({"sim": iter([answers])})
    with values_only():
        quick = study.analyse({"sim": iter([answers])})
    full = full.filter(~rows_of(JOINED))
    labels = ["measure", *label_columns(full)]
    assert full["value"].is_not_null().sum() > 100
    first, second = (table.select(*labels, "value", "n", "clusters").sort(labels) for table in (quick, full))
    assert first.equals(second)
    assert unknown(full) < unknown(quick)


def test_it_ends_with_its_block_also_after_an_error() -> None:
    with pytest.raises(KeyError), values_only():
        raise KeyError(str(only_values()))
    assert not only_values()


def unknown(table: pl.DataFrame) -> int:
    """How many intervals, p-values and floors there are not."""
    return sum(table[name].null_count() for name in ("low", "p", "floor", "floor_high"))
