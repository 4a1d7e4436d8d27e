"""Replies that name several things, however they are written."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers import NA, lists

JOBS = ("nurse", "engineer", "police officer")


@pytest.mark.parametrize(
    "reply",
    [
        "nurse, engineer, police officer",
        "Nurse, engineer and a police officer.",
        "Jobs: nurse; engineer; police officer",
        "a nurse, an engineer or a police officer",
        "Nurse, engineer, and/or police officer",
        "nurse/engineer, police officer",
        "nurse、engineer、police officer",
        "Nurse\nEngineer\nPolice officer",
        "Nurse: cares for people\nEngineer: builds\nPolice officer: helps",
        "1. nurse\n2. engineer\n3. police officer",
        "1. nurse 2. engineer 3. police officer",
        "a) Nurse\nb) Engineer\nc) Police officer",
        "Here are three jobs:\n\n- **Nurse** – coat\n- An engineer (tools)\n- Police  officer: badge\n\nAll the best!",
        '["Nurse", "Engineer", "Police officer"]',
        '```json\n{"jobs": ["nurse", "engineer", "police officer"]}\n```',
        '[{"job": "nurse", "why": "coat"}, {"job": "engineer"}, {"job": "police officer"}]',
        "[nurse, engineer, police officer]",
        "<think>cook, judge</think>nurse, engineer, police officer",
        "I can't be sure from a picture, but:\n1. Nurse\n2. Engineer\n3. Police officer",
        "nurse, engineer, nurse, police officer",
    ],
)  # fmt: skip
def test_forms_of_one_list(reply: str) -> None:
    assert lists.parse(reply) == (JOBS, None)


@pytest.mark.parametrize(
    "reply", ["None.", "none", "[]", "- none", "None of these jobs", "Jobs: none", "Nothing", "N/A", "n/a"]
)
def test_an_empty_list_is_an_answer_where_it_is_said(reply: str) -> None:
    assert lists.parse(reply) == ((), None)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", NA.EMPTY),
        (" \n ", NA.EMPTY),
        ("I'm sorry, but I can't guess what anyone does.", NA.REFUSED),
        ("The person looks like a nurse, a cook or a judge.", NA.NEITHER),
        ("She is a nurse, an engineer", NA.NEITHER),
        ("None, nurse", NA.CONTRADICTION),
        ('["nurse", "engi', NA.TRUNCATED),
        ('{"job": "nurse", "second": "engineer"}', NA.NEITHER),
        ('{"job": NaN, "second": 1e400}', NA.NEITHER),
        ('["nurse", {"a": NaN}]', NA.NEITHER),
        (", ".join(f"job {number}" for number in range(200)), NA.NEITHER),
        ("- " + "x" * 200, NA.NEITHER),
    ],
)
def test_what_is_no_list_says_why(reply: str, reason: NA) -> None:
    assert lists.parse(reply) == (None, reason)


def test_a_list_that_breaks_off_is_no_answer() -> None:
    assert lists.parse("nurse, engi", truncated=True) == (None, NA.TRUNCATED)


def test_columns_keep_their_rows() -> None:
    frame = pl.DataFrame(
        {"text": ["nurse, cook", "none", None, "x", "nurse"], "status": ["ok", "ok", "error", "refused", "truncated"]}
    )
    assert lists.parse_column(frame, "text").rows() == [
        ("nurse\ncook", None),
        ("", None),
        (None, "error"),
        (None, "refused"),
        (None, "truncated"),
    ]


@given(st.lists(st.sampled_from(("nurse", "cook", "chief officer", "judge")), min_size=1, max_size=4, unique=True))
def test_any_list_is_read_back_in_each_form(names: list[str]) -> None:
    marked = "\n".join(f"{number}. {name}" for number, name in enumerate(names, start=1))
    for reply in (marked, ", ".join(names), "\n".join(f"- {name}" for name in names), str(names).replace("'", '"')):
        assert lists.parse(reply) == (tuple(names), None)


@given(st.text(alphabet=st.sampled_from('nurse, none[]{}"\n-*1.:and'), max_size=200))
def test_any_text_is_a_list_or_none(reply: str) -> None:
    names, reason = lists.parse(reply)
    assert (names is None) == (reason is not None)
    assert names is None or len(set(names)) == len(names) <= lists.MOST_ENTRIES


def test_long_replies_take_bounded_time() -> None:
    for piece in ("nurse, ", "1. ", "[", "no one ", "(", "- a b c "):
        lists.parse(piece * 20_000)
