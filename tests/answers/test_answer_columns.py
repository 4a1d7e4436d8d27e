"""Replies and probabilities by the column."""

import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers import MINIMUM_MASS, NA, NA_DTYPE, from_probs, parse, parse_column
from facevalue.errors import DataError, UnknownNameError
from facevalue.types import Option, Status

MONEY = (Option("(a)", "wealthy", "favourable"), Option("(b)", "poor", "unfavourable"))
OPTIONS = {"straight": MONEY, "turned": MONEY[::-1]}
STATUS = pl.Enum([status.value for status in Status])

rows = st.lists(
    st.tuples(
        st.sampled_from(["(a)", "(b)", "a", "wealthy", "poor", "I can't say", "", "The", "I choose a", None]),
        st.sampled_from(list(OPTIONS)),
        st.sampled_from(list(Status)),
    ),
    max_size=30,
)


@given(rows)
def test_same_as_row_by_row(replies: list[tuple[str | None, str, Status]]) -> None:
    schema: dict[str, pl.DataType | type[pl.String]] = {"said": pl.String, "asked": pl.String, "status": STATUS}
    frame = pl.DataFrame([(s, q, state.value) for s, q, state in replies], schema=schema, orient="row")
    found = parse_column(frame, "said", "asked", OPTIONS)
    assert found.schema == {"choice": pl.Int8, "na": NA_DTYPE}
    expected: list[tuple[int | None, str | None]] = []
    for said, asked, state in replies:
        if state is Status.REFUSED:
            expected.append((None, "refused"))
        elif state is Status.ERROR or said is None:
            expected.append((None, "error"))
        else:
            expected.append(parse(said, OPTIONS[asked], truncated=state is Status.TRUNCATED))
    assert found.rows() == expected


def test_questions_by_index_and_no_status() -> None:
    frame = pl.DataFrame({"text": ["wealthy", "wealthy"], "question": [0, 1]})
    assert parse_column(frame, "text", "question", list(OPTIONS.values()))["choice"].to_list() == [0, 1]


def test_categorical_question_column() -> None:
    frame = pl.DataFrame({"text": ["wealthy"] * 2, "question": ["straight", "turned"]})
    for kind in (pl.Categorical(), pl.Enum(["turned", "straight"])):
        found = parse_column(frame.with_columns(pl.col("question").cast(kind)), "text", "question", OPTIONS)
        assert found["choice"].to_list() == [0, 1]


def test_unknown_names() -> None:
    frame = pl.DataFrame({"text": ["a"], "question": ["strait"]})
    with pytest.raises(UnknownNameError, match="'straight'"):
        parse_column(frame, "text", "question", OPTIONS)
    with pytest.raises(UnknownNameError, match="'text'"):
        parse_column(frame, "txt", "question", OPTIONS)
    with pytest.raises(UnknownNameError, match="Known: question, text"):
        from_probs(frame)


def test_a_million_short_replies_are_quick() -> None:
    generator = np.random.default_rng(1)
    texts = pl.Series(["(a)", "(b)", "a", "B.", "(a) wealthy", "I'm sorry, I can't."])[generator.integers(0, 6, 10**6)]
    asked = pl.Series(list(OPTIONS))[generator.integers(0, 2, 10**6)]
    start = time.perf_counter()
    found = parse_column(pl.DataFrame({"text": texts, "question": asked}), "text", "question", OPTIONS)
    assert time.perf_counter() - start < 5
    assert found["na"].null_count() + (texts == "I'm sorry, I can't.").sum() == 10**6


def test_probabilities() -> None:
    frame = pl.DataFrame(
        {
            "probs": [[0.6, 0.2], [0.3, 0.1], None, [0.5, 0.5], [0.5, 0.5], []],
            "status": ["ok", "ok", "ok", "refused", "error", "ok"],
        },
        schema={"probs": pl.List(pl.Float32), "status": STATUS},
    )
    found = from_probs(frame)
    assert found["na"].to_list() == [None, NA.LOW_MASS, NA.ERROR, NA.REFUSED, NA.ERROR, NA.ERROR]
    assert found["weights"][0].to_list() == pytest.approx([0.75, 0.25])
    assert found["weights"].null_count() == 5
    assert found["mass"][1] == pytest.approx(0.4)
    assert from_probs(frame, minimum=0.3)["weights"][1].to_list() == pytest.approx([0.75, 0.25])
    assert found.schema == {"weights": pl.List(pl.Float64), "mass": pl.Float64, "na": NA_DTYPE}


def test_no_mass_is_low_mass_whatever_the_minimum() -> None:
    assert from_probs(pl.DataFrame({"probs": [[0.0, 0.0]]}), minimum=0)["na"].to_list() == [NA.LOW_MASS]


@pytest.mark.parametrize("probs", [[-0.1, 0.5], [float("nan"), 0.5], [float("inf"), 0.0], [0.9, 0.9], [None, 0.5]])
def test_what_is_no_probability(probs: list[float]) -> None:
    with pytest.raises(DataError, match="Row 1"):
        from_probs(pl.DataFrame({"probs": [[0.5, 0.5], probs]}))


def test_a_minimum_that_is_no_share() -> None:
    with pytest.raises(DataError):
        from_probs(pl.DataFrame({"probs": [[0.5, 0.5]]}), minimum=1.5)


@given(st.lists(st.lists(st.floats(0, 0.3), min_size=2, max_size=3), min_size=1, max_size=20))
def test_weights_are_shares_of_the_mass(probs: list[list[float]]) -> None:
    found = from_probs(pl.DataFrame({"probs": probs}))
    for given_row, (weights, mass, na) in zip(probs, found.iter_rows(), strict=True):
        assert mass == pytest.approx(sum(given_row))
        assert (weights is None) == (na is not None)
        if abs(mass - MINIMUM_MASS) > 1e-9:
            assert (na is None) == (mass > MINIMUM_MASS)
        if weights is not None:
            assert sum(weights) == pytest.approx(1)
            assert weights == pytest.approx([p / mass for p in given_row])
