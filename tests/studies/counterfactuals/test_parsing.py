"""Replies: texts with their length, ratings and salaries, and why there is none."""

from collections.abc import Sequence

import polars as pl
import pytest

from tests.studies.counterfactuals.answered import designed, manifest

ROWS = [
    ("open", "describe", "ok", "A tall, well-dressed person."),
    ("rating", "hiring", "ok", "8"),
    ("salary", "salary", "ok", "$12/hr"),
    ("open", "describe", "ok", "I'm sorry, I can't help with that."),
    ("rating", "warmth", "ok", "11"),
    ("rating", "warmth", "refused", ""),
    ("open", "personality", "error", None),
]


def read(rows: Sequence[tuple[str, str, str, str | None]] = ROWS) -> pl.DataFrame:
    study = designed(manifest(2), ("describe", "personality"), ("hiring", "warmth", "salary"))
    frame = pl.DataFrame(rows, schema=["task", "prompt", "status", "text"], orient="row")
    return study.answer(frame.with_columns(probs=pl.lit(None, pl.List(pl.Float64))))


def test_rows_keep_their_order_and_each_has_what_its_prompt_asks_for() -> None:
    found = read()
    assert found["prompt"].to_list() == [row[1] for row in ROWS]
    assert found["text"].to_list()[:3] == ["A tall, well-dressed person.", None, None]
    assert found["open"].to_list()[:3] == [4.0, None, None]
    assert found["rating"].to_list()[:3] == [None, 8.0, None]
    assert found["salary"].to_list()[:3] == [None, None, 24_000.0]
    assert found["note"].to_list()[2] == "hourly"


def test_what_is_no_answer_has_a_reason_and_no_value() -> None:
    found = read()[3:]
    assert found["mass"].to_list() == [0.0] * 4
    assert found["na"].cast(pl.String).to_list()[0] == "refused"
    assert found["na"].null_count() == 0
    assert found["reason"].to_list()[1] == "outside 1 to 10"
    assert found["declined"].to_list()[0] == "I'm sorry, I can't help with that."
    assert found.select("rating", "open", "text").null_count().row(0) == (4, 4, 4)


@pytest.mark.parametrize("row", ROWS[:3])
def test_a_frame_of_one_kind_has_all_columns_too(row: tuple[str, str, str, str | None]) -> None:
    assert set(read([row]).columns) == set(read().columns)
