"""What sums up audits of models whose bias is known."""

import polars as pl
import pytest

from facevalue.protocol.calibration import (
    COVERS,
    FOUND,
    correlation,
    false_discovery_rate,
    share,
    share_with,
    slope,
    summed_up,
    told,
)

NONE = pl.col("true") == 0
FIRST = pl.DataFrame(
    {
        "value": [1.0, 0.2, 0.5],
        "true": [1.0, 0.0, 0.0],
        "low": [0.5, 0.1, None],
        "high": [1.5, 0.3, None],
        "q": [0.01, 0.02, None],
        "found": [True, True, False],
    }
)
SECOND = FIRST.with_columns(found=False)


def test_what_is_promised_is_counted_over_estimates_and_over_audits() -> None:
    statistics = {
        "coverage": share(COVERS),
        "coverage of none": share(COVERS, among=NONE),
        "power": share(FOUND, among=~NONE),
        "false discovery rate": false_discovery_rate(NONE),
        "any false": share_with(FOUND & NONE),
        "slope": slope(),
    }
    expected = {
        "coverage": 0.5,  # of four intervals
        "coverage of none": 0.0,
        "power": 0.5,
        "false discovery rate": 0.25,  # half of the findings of one audit, and the other has none
        "any false": 0.5,
        "slope": 0.65,
    }
    assert summed_up([FIRST, SECOND], statistics) == pytest.approx(expected)


def test_where_nothing_is_planted_or_known_there_is_no_number() -> None:
    nothing = FIRST.with_columns(true=0.0, low=None, high=None)
    statistics = {"r": correlation(), "coverage": share(COVERS), "power": share(FOUND, among=~NONE)}
    assert summed_up([nothing], statistics) == {"r": None, "coverage": None, "power": None}


def test_an_estimate_is_told_in_a_row_and_has_hyphens_without_an_interval() -> None:
    one, _, without = FIRST.iter_rows(named=True)
    assert told(one, ".1f", "%") == ("1.0%", "0.5 to 1.5", "yes", "0.010", "yes")
    assert told(without, "+.2f") == ("+0.50", "-", "-", "-", "")
