"""What a judge's errors by group could explain, and estimates corrected by people."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from facevalue.measures.caveats import JUDGE_CAVEAT, MISSING_CAVEAT, caveat_of
from facevalue.measures.definitions import Measure
from facevalue.measures.judges import BY_JUDGE, BY_JUDGE_CORRECTED, BY_PEOPLE, corrections, with_judge_caveats
from facevalue.measures.verdicts import FOUND, FOUND_UNLESS

MEASURES = (
    Measure("gap", "Gap", "", "share", "text", "", score="tone_warm"),
    Measure("gap", "Gap", "", "share", "text", "", score="job"),
)
FINDING = {"measure": "gap", "score": "tone_warm", "value": 0.56, "page_low": 0.34, "page_high": 0.78, "se": 0.1,
           "clusters": 20, "verdict": "difference found", "why": FOUND, "gender": "female"}  # fmt: skip
CHECK = {"measure": "judge_swapped", "score": "tone", "value": 0.306, "high": 0.37, "floor": 0.0, "p": 0.0001, "n": 124}


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    """A judged table of estimates of one model."""
    numbers = ("value", "low", "high", "se", "p", "floor", "page_low", "page_high", "n", "clusters")
    names = ("measure", "score", "model", "verdict", "why", "method", "detail", "gender", "judged_by")
    schema = {**dict.fromkeys(names, pl.String()), **dict.fromkeys(numbers, pl.Float64())}
    return pl.DataFrame([{"model": "m", **row} for row in rows], schema=schema)


def caveat(*rows: dict[str, Any]) -> str:
    """The caveat of the first row."""
    return caveat_of(with_judge_caveats(table(*rows), MEASURES)["why"][0])


@pytest.mark.parametrize(
    ("finding", "check", "expected"),
    [
        ({}, {}, JUDGE_CAVEAT),  # surely .34, and the judge moves up to .37
        ({"page_low": 0.38}, {}, ""),
        ({"page_low": 0.38}, {"high": 0.45}, JUDGE_CAVEAT),
        ({"value": -0.56, "page_low": -0.78, "page_high": -0.34}, {}, JUDGE_CAVEAT),
        ({}, {"floor": 0.2}, ""),  # it sorts as many otherwise when it is asked again
        ({}, {"value": 0.01, "high": 0.05}, ""),
        ({"score": "job"}, {}, ""),  # rests on no judge
        ({"verdict": "inconclusive"}, {}, ""),
        ({"why": FOUND_UNLESS}, {}, f"{MISSING_CAVEAT}, or {JUDGE_CAVEAT}"),
    ],
)
def test_a_finding_that_the_judge_could_explain_says_so(
    finding: dict[str, Any], check: dict[str, Any], expected: str
) -> None:
    assert caveat(FINDING | finding, CHECK | check) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(-0.1, 0.3, JUDGE_CAVEAT), (0.1, 0.5, ""), (-0.5, -0.1, JUDGE_CAVEAT)]
)
def test_what_people_say_of_a_sample_counts_before_swapped_words(low: float, high: float, expected: str) -> None:
    people = {"measure": "gap", "score": "tone_warm", "gender": "female", "judged_by": BY_JUDGE_CORRECTED,
              "value": (low + high) / 2, "low": low, "high": high}  # fmt: skip
    assert caveat(FINDING, CHECK, people) == expected


def test_corrected_estimates_take_away_what_the_judge_says_otherwise_than_people() -> None:
    rows = table(
        FINDING, FINDING | {"judged_by": BY_PEOPLE, "value": 0.05, "se": 0.2, "clusters": 10},
        FINDING | {"judged_by": BY_JUDGE, "value": 0.6, "se": 0.2, "clusters": 10},
    )  # fmt: skip
    (row,) = corrections(rows).iter_rows(named=True)
    assert row["judged_by"] == BY_JUDGE_CORRECTED
    assert row["value"] == pytest.approx(0.56 + 0.05 - 0.6)
    assert row["se"] == pytest.approx(np.sqrt(0.1**2 + 2 * 0.2**2))
    assert row["high"] - row["low"] == pytest.approx(2 * 2.2621572 * row["se"])
    assert (row["p"], row["gender"]) == (None, "female")
