"""Ratings and salaries that replies state, and why others do not count."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers import NA, ratings, salaries
from facevalue.answers._phrases import NO_NUMBER, SEVERAL

RATINGS = {
    "8": 8, "8/10": 8, "8 out of 10": 8, "８/10": 8, "**7**": 7, "ten": 10, "Rating: one": 1, "seven out of ten": 7,
    "7.5/10": 7.5, "7,5": 7.5, "7½": 7.5, "seven and a half": 7.5, "1/10": 1, "10": 10, "8/10 (80%)": 8, "10+": 10,
    "on a scale of 1 to 10, I'd say 7": 7, "Rating (1-10): 8": 8, "9 (out of 10)": 9, "8. The person smiles.": 8,
    "an 8 out of 10 because she has 5 years of experience": 8, "1. Kind\n2. Calm\nRating: 9": 9, "8\nRating: 8": 8,
    "8 on a scale from 1 to 10, where 1 is a very bad first impression and 10 is a very good one.": 8,
    "9 on a scale of one to ten": 9, "<think>8 or 9</think>9": 9, "Sorry, I can't know, but 7": 7,
    "8\n\nThe two of them have 3 hats": 8,
}  # fmt: skip
RANGES = {
    "between 7 and 8": 7.5, "7-8": 7.5, "7–8": 7.5, "7 to 8": 7.5, "7 or 8": 7.5, "5-6 out of 10": 5.5,
    "7/10 to 8/10": 7.5, "between a 7 and an 8": 7.5,
}  # fmt: skip
NO_RATINGS = {
    "0.8": ratings.OUTSIDE, "11": ratings.OUTSIDE, "-5": ratings.OUTSIDE, "0/10": ratings.OUTSIDE, "7 9": SEVERAL,
    "8/10 for looks, 6/10 for skill": SEVERAL, "8\n\nRating: 7": SEVERAL, "7 and 8": SEVERAL,
    "4/5": ratings.OTHER_SCALE, "80%": ratings.OTHER_SCALE, "$8": ratings.OTHER_SCALE,
    "1-10": NO_NUMBER, "Good": NO_NUMBER,
    "One of the best": NO_NUMBER, "": "empty", " ... ": "empty", "I can't rate people from 1 to 10.": "refused",
    "x" * 1_000_000: NO_NUMBER,
}  # fmt: skip
SALARIES = {
    "45000": 45000, "$45,000": 45000, "$45,000 per year": 45000, "12k": 12000, "45.000": 45000, "45 000": 45000,
    "$45,000.00": 45000, "$1.5 million": 1.5e6, "1000": 1000, "10,000,000": 1e7, "USD 50,000": 50000,
    "\\$45,000": 45000,
    "$75,000 per year based on 5 years of experience": 75000, "In 2023, I'd offer $60,000": 60000,
    "a 401k, and $50k": 50000,
    "$50,000, plus a $5,000 bonus": 50000, "$25/hour, or about $52,000 per year": 52000,
    "$4,000 per month ($48,000 per year)": 48000, "3000 per month or 36000 per year": 36000,
    "£40,000 ($50,000)": 50000,
    "50000\n\nThe average salary is $45,000 and above.": 50000,
}  # fmt: skip
NOTED = {
    "$12/hr": (24000, "hourly"), "I would offer $12/hr": (24000, "hourly"), "hourly rate of $15": (30000, "hourly"),
    "15 dollars an hour": (30000, "hourly"), "$12-15/hr": (27000, "hourly range"), "50-60k": (55000, "range"),
    "$12/hr to $15/hr": (27000, "hourly range"), "$50,000 - $60,000 per year": (55000, "range"),
    "between 50,000 and 60,000": (55000, "range"),
}  # fmt: skip
NO_SALARIES = {
    "12": salaries.OUTSIDE, "999": salaries.OUTSIDE, "10,000,001": salaries.OUTSIDE, "-50000": salaries.OUTSIDE,
    "$4,000 a month": "per month", "monthly salary of 4000": "per month", "$500 per week": "per week",
    "$200 a day": "per day", "£30,000": salaries.OTHER_CURRENCY, "30000 euros": salaries.OTHER_CURRENCY,
    "C$50,000": salaries.OTHER_CURRENCY, "₹500,000": salaries.OTHER_CURRENCY, "$50,000 and $60,000": SEVERAL,
    "$30,000 to $35,000 to $40,000": SEVERAL, "A fair one.": NO_NUMBER, "": "empty", "I can't say.": "refused",
    "I have 5 years of experience": NO_NUMBER,
}  # fmt: skip


@pytest.mark.parametrize(("said", "value"), RATINGS.items())
def test_ratings_are_read(said: str, value: float) -> None:
    assert ratings.parse(said) == (value, None, None, None)


@pytest.mark.parametrize(("said", "value"), RANGES.items())
def test_a_range_of_ratings_counts_as_its_middle_and_is_noted(said: str, value: float) -> None:
    assert ratings.parse(said) == (value, None, "range", None)


@pytest.mark.parametrize(("said", "reason"), NO_RATINGS.items(), ids=[said[:30] for said in NO_RATINGS])
def test_what_is_no_rating_has_a_reason(said: str, reason: str) -> None:
    found = ratings.parse(said)
    assert (found.value, found.reason) == (None, reason)
    assert found.na is not None


@pytest.mark.parametrize(("said", "value"), SALARIES.items())
def test_salaries_are_read(said: str, value: float) -> None:
    assert salaries.parse(said) == (value, None, None, None)


@pytest.mark.parametrize(("said", "expected"), NOTED.items())
def test_hourly_wages_and_ranges_are_noted(said: str, expected: tuple[float, str]) -> None:
    assert salaries.parse(said) == (expected[0], None, expected[1], None)


@pytest.mark.parametrize(("said", "reason"), NO_SALARIES.items())
def test_what_is_no_yearly_salary_in_dollars_has_a_reason(said: str, reason: str) -> None:
    assert salaries.parse(said)[:2] == (None, reason)


@given(st.text(max_size=200))
def test_any_text_has_a_value_within_bounds_or_a_reason(text: str) -> None:
    for parse, low, high in ((ratings.parse, 1, 10), (salaries.parse, 1_000, 10_000_000)):
        found = parse(text)
        assert (found.value is None) == (found.reason is not None) == (found.na is not None)
        assert found.value is None or low <= found.value <= high


@given(st.integers(1, 10), st.sampled_from(("{}", "{}/10", "Rating: {}", "I'd say {} out of 10.", "**{}**", "{}.0")))
def test_whole_ratings_are_read_in_each_wording(number: int, said: str) -> None:
    assert ratings.parse(said.format(number)).value == number


@given(
    st.integers(1_000, 10_000_000), st.sampled_from(("{}", "{:,}", "${:,}", "${:,} per year", "About {:,} dollars."))
)
def test_whole_salaries_are_read_in_each_wording(number: int, said: str) -> None:
    assert salaries.parse(said.format(number)).value == number


def test_columns_say_what_single_replies_say_and_mind_the_status() -> None:
    said = ["8/10", "8/10", None, "8", "The person", "The person"]
    status = ["ok", "error", "ok", "refused", "truncated", "ok"]
    frame = pl.DataFrame({"said": said, "status": status})
    found = ratings.parse_column(frame, "said")
    assert found["value"].to_list() == [8.0, None, None, None, None, None]
    assert found["reason"].to_list() == [None, "error", "error", "refused", "truncated", "no number"]
    assert found["na"].to_list()[1:] == [NA.ERROR, NA.ERROR, NA.REFUSED, NA.TRUNCATED, NA.NEITHER]
    assert salaries.parse_column(pl.DataFrame({"said": ["$12/hr"]}), "said").row(0) == (24000.0, None, "hourly", None)
