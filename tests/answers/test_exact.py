"""Exact probabilities in the place of drawn replies."""

import polars as pl

from facevalue.answers import NA, NA_DTYPE
from facevalue.answers.columns import LEAST_MASS, exact_or_drawn


def merged(probs: list[list[float] | None], drawn: list[float | None]) -> pl.DataFrame:
    frame = pl.DataFrame(
        {"probs": probs, "status": ["ok"] * len(probs)}, schema={"probs": pl.List(pl.Float32), "status": pl.String}
    )
    said = pl.DataFrame(
        {
            "weight": pl.Series(drawn, dtype=pl.Float64),
            "mass": [float(value is not None) for value in drawn],
            "na": pl.Series([None if value is not None else NA.NEITHER.value for value in drawn], dtype=NA_DTYPE),
        }
    )
    return exact_or_drawn(frame, said, {"weight": pl.col("weights").list.get(1)})


def test_replies_count_where_nothing_was_read() -> None:
    assert merged([None, None], [1.0, None]).rows() == [(1.0, 1.0, None), (None, 0.0, "neither")]


def test_probabilities_stand_in_their_own_rows_alone() -> None:
    assert merged([[0.25, 0.75], None], [None, 0.0]).rows() == [(0.75, 1.0, None), (0.0, 1.0, None)]


def test_probabilities_of_next_to_nothing_are_no_answer() -> None:
    (weight, mass, na), _ = merged([[LEAST_MASS / 4] * 2, None], [1.0, 1.0]).rows()
    assert (weight, mass, na) == (None, 0.0, NA.LOW_MASS.value)
