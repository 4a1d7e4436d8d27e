"""Counterfactual sets: whole ones, and those that lack a group or have one twice."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.stimuli.manifest_rows import check_sets

GROUPS = ("a man", "a woman", "someone old")


def listed(*members: tuple[str | None, str]) -> pl.DataFrame:
    return pl.DataFrame(members, schema={"set": pl.String, "group": pl.String}, orient="row")


def whole(name: str) -> list[tuple[str | None, str]]:
    return [(name, group) for group in GROUPS]


def test_sets_with_each_group_once_are_whole() -> None:
    assert check_sets(listed(*whole("1"), *whole("2"))).partial == ()


def test_missing_and_doubled_members_are_named() -> None:
    found = check_sets(listed(*whole("1"), *whole("2")[1:], *whole("3"), ("3", "a woman")))
    assert found.partial == ("2", "3")
    assert found.faults == "2 lacks a man; 3 has a woman more than once"


def test_a_group_in_place_of_another_makes_a_partial_set_though_the_number_of_images_is_right() -> None:
    found = check_sets(listed(*whole("1"), *whole("2")[1:], ("2", "a woman")))
    assert found.faults == "2 lacks a man and has a woman more than once"


def test_a_group_that_no_set_has_is_missed_if_it_is_known() -> None:
    found = check_sets(listed(*whole("1")[1:], *whole("2")[1:]), GROUPS)
    assert (found.sets, found.partial) == (2, ("1", "2"))


def test_a_set_of_one_group_compares_nothing() -> None:
    found = check_sets(listed(("1", "a man"), ("2", "a man")))
    assert found.partial == ("1", "2")
    assert found.faults.startswith("1 has a single group")


def test_images_of_no_set_are_no_partial_set() -> None:
    assert check_sets(listed((None, "a man"), *whole("1"))).sets == 1


def test_of_many_partial_sets_the_first_are_named_and_the_others_counted() -> None:
    found = check_sets(listed(*whole("w"), *((str(number), "a man") for number in range(10))))
    assert len(found.partial) == 10
    assert found.faults.endswith("2 lacks a woman, someone old; and 7 more")


@given(st.lists(st.tuples(st.sampled_from("12345"), st.sampled_from(GROUPS)), min_size=1))
def test_a_set_is_partial_just_if_its_members_are_not_the_groups(members: list[tuple[str, str]]) -> None:
    found = check_sets(listed(*members), GROUPS)
    own = {name: sorted(group for set_, group in members if set_ == name) for name, _ in members}
    assert found.partial == tuple(name for name, groups in own.items() if groups != sorted(GROUPS))


@pytest.mark.parametrize("count", [0, 1])
def test_few_images_are_no_trouble(count: int) -> None:
    assert check_sets(listed(*whole("1")[:count])).sets == count
