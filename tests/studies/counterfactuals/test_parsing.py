"""Replies: texts with their length, ratings and salaries, and why there is none."""

import polars as pl
import pytest

from facevalue.studies.counterfactuals.parsing import answer

ROWS = [
    ("open", "describe", "ok", "A tall, well-dressed person."),
    ("rating", "hiring", "ok", "8"),
    ("rating", "salary", "ok", "$12/hr"),
    ("open", "describe", "ok", "I'm sorry, I can't help with that."),
    ("rating", "warmth", "ok", "11"),
    ("rating", "warmth", "refused", ""),
    ("open", "personality", "error", None),
]


def read() -> pl.DataFrame:
    frame = pl.DataFrame(ROWS, schema=["task", "prompt", "status", "text"], orient="row")
    return answer(frame.with_columns(probs=pl.lit(None, pl.List(pl.Float64))))


def test_rows_keep_their_order_and_each_has_what_its_prompt_asks_for() -> None:
    found = read()
    assert found["prompt"].to_list() == [row[1] for row in ROWS]
    assert found["text"].to_list()[:3] == ["A tall, well-dressed person.", None, None]
    assert found["words"].to_list()[:3] == [4.0, None, None]
    assert found["value"].to_list()[:3] == [None, 8.0, 24_000.0]
    assert found["note"].to_list()[2] == "hourly"


def test_what_is_no_answer_has_a_reason_and_no_value() -> None:
    found = read()[3:]
    assert found["mass"].to_list() == [0.0] * 4
    assert found["na"].cast(pl.String).to_list()[0] == "refused"
    assert found["na"].null_count() == 0
    assert found["reason"].null_count() == 0
    assert found.select("value", "words", "text").null_count().row(0) == (4, 4, 4)


def test_ratings_weigh_from_0_to_1_and_texts_and_salaries_nothing() -> None:
    weights = read()["weight"].to_list()[:3]
    assert weights == [None, pytest.approx(7 / 9), None]


def test_a_frame_of_one_kind_has_all_columns_too() -> None:
    frame = pl.DataFrame(ROWS[:1], schema=["task", "prompt", "status", "text"], orient="row")
    one = answer(frame.with_columns(probs=pl.lit(None, pl.List(pl.Float64))))
    assert one.schema == read().schema
