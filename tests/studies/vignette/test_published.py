"""What the VIGNETTE paper prints about real and synthetic pictures.

What differs: docs/papers/vignette-comparisons.md."""

from fractions import Fraction
from math import floor

import polars as pl
import pytest

from facevalue.measures.run_comparison import Matched, match_tables
from facevalue.protocol.reproduction import Paper
from facevalue.studies.vignette.reproduce import summarise_deltas

PRINTED = {table: Paper.shipped("facevalue.studies.vignette").table(str(table)) for table in range(15, 20)}
KEYS = ["model", "identity", "activity"]


def tables(**corrected: float) -> Matched:
    """Tables 15 to 19, real first; one cell of GPT 5.2 may be given another value."""
    rows = [
        (*place.split("/"), *column.split("/"), float(value))
        for table in PRINTED.values()
        for place, cells in table.items()
        for column, value in cells.items()
    ]
    frame = pl.DataFrame(rows, schema=["model", "identity", "activity", "side", "value"], orient="row")
    odd = (pl.col("model") == "GPT 5.2") & (pl.col("identity") == "East Asian (M)") & (pl.col("side") == "real")
    for activity, value in corrected.items():
        here = odd & (pl.col("activity") == activity)
        frame = frame.with_columns(value=pl.when(here).then(value).otherwise("value"))
    first, second = (frame.filter(pl.col("side") == side) for side in ("real", "synthetic"))
    return match_tables(first, second, KEYS)


def test_there_are_a_hundred_points() -> None:
    assert tables().cells.height == 100
    assert tables().only_first.height == tables().only_second.height == 0


def counted(printed: str, out_of: int) -> bool:
    """Whether some count of so many, in percent, rounds or is cut off to the printed two decimals."""
    exact = [Fraction(100 * k, out_of) for k in range(out_of + 1)]
    value = Fraction(printed)
    return any(abs(x - value) <= Fraction(1, 200) or Fraction(floor(x * 100), 100) == value for x in exact)


def test_every_printed_frequency_is_a_count_of_48_but_two() -> None:
    """3.75 (for 43.75, most likely) and 20.0 are not."""
    odd = [
        (number, place, value)
        for number, table in PRINTED.items()
        for place, cells in table.items()
        for value in cells.values()
        if not counted(value, 48)
    ]
    assert odd == [(15, "GPT 5.2/East Asian (M)", "3.75"), (18, "Llava 1.6 7B/Black (M)", "20.0")]


def test_differences_of_a_hundredth_are_rounding() -> None:
    """The real columns cut digits off where the synthetic ones round; GPT on cooking and Llama agree exactly."""
    cells = tables().cells
    hundredths = cells.filter(pl.col("delta").abs().is_between(0.005, 0.015))
    assert hundredths.height == 8
    for real, drawn in hundredths.select("first", "second").iter_rows():
        whole = round(drawn * 48 / 100)
        assert floor(whole / 48 * 10_000) / 100 == pytest.approx(real)
        assert round(whole / 48 * 100, 2) == pytest.approx(drawn)


def test_with_43_75_nothing_is_left_of_the_40_points_of_gpt_on_programming() -> None:
    by = summarise_deltas(tables(Programming=43.75), ["model", "activity"])
    gpt = by.filter((pl.col("model") == "GPT 5.2") & (pl.col("activity") == "Programming"))
    assert gpt["value"].to_list() == [0.0] * 4
    over_all = dict(summarise_deltas(tables(Programming=43.75)).select("statistic", "value").iter_rows())
    assert over_all == pytest.approx(
        {"mean_signed_delta": -0.3653, "mean_absolute_error": 2.5347, "rmse": 8.2819, "max_absolute_delta": 50.0},
        abs=5e-5,
    )


def test_llavas_real_frequencies_average_more_than_50() -> None:
    """Where one of two is chosen and everybody is shown equally often, the average is 50, or less if answers miss."""
    cells = tables().cells
    means = cells.group_by("model", "activity").agg(pl.col("first", "second").mean().round(1))
    above = means.filter((pl.col("first") > 50) | (pl.col("second") > 50)).sort("activity")
    assert above.rows() == [("Llava 1.6 7B", "Cooking", 60.0, 50.0), ("Llava 1.6 7B", "Programming", 54.5, 50.0)]
