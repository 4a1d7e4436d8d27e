"""Pairs of a yes-no question and its negation: VisBias, Table 6, and what must hold for any answers."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from facevalue.measures.consistency import consistency
from facevalue.measures.proportions import wilson
from tests.reference import reference

YES, NO, NA = 1.0, 0.0, float("nan")
answers = st.lists(st.tuples(*[st.sampled_from([YES, NO, 0.25, NA])] * 2), min_size=1, max_size=40)


def test_every_cell_of_table_6_follows_from_the_released_counts() -> None:
    released = pl.read_csv(reference("visbias", "yesno.csv")).drop_nulls("different_pairs")
    cells = [c for c in json.loads(reference("visbias", "expected.json").read_text()) if c["table"] == "6"]
    assert len(cells) == 18
    for cell in cells:
        attribute, _, jailbreak = cell["column"].partition("/jailbreak=")
        row = released.filter(model=cell["row"], attribute=attribute, jailbreak=jailbreak)
        # Only the number of differing pairs is released, so any pairs with that many differing ones will do.
        differing = int(row["different_pairs"].item())
        first = np.array([YES] * differing + [NO] * (70 - differing))
        rate = consistency(first, np.zeros(70)).published
        assert 100 * rate.value.item() == pytest.approx(cell["value"], abs=cell["tolerance"] + 1e-9), cell
        assert rate.low.item() <= rate.value.item() <= rate.high.item()
        assert rate.clusters.item() == 70


def test_what_each_combination_means() -> None:
    found = consistency(np.array([YES, NO, NO, YES]), np.array([NO, YES, NO, YES]))
    assert [found.ranked.value.item(), found.unranked.value.item(), found.contradicted.value.item()] == [
        0.5,
        0.25,
        0.25,
    ]


def test_two_pairs_without_an_answer_count_in_the_published_rate_alone() -> None:
    # Gemini with the cipher on income: 4 yes and 64 no are 68, and the 21 differing pairs were divided by 70.
    first = np.array([YES] * 21 + [NO] * 47 + [NA] * 2)
    found = consistency(first, np.zeros(70))
    assert found.published.value.item() == pytest.approx(0.300)
    assert found.ranked.value.item() == pytest.approx(21 / 68)
    assert (found.ranked.n.item(), found.published.n.item()) == (68, 70)


@given(answers)
def test_the_three_shares_sum_to_one(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    found = consistency(first, second)
    parts = [found.ranked, found.unranked, found.contradicted]
    if found.ranked.n.item() == 0:
        assert all(np.isnan(part.value).all() and np.isnan(part.low).all() for part in parts)
        return
    assert sum(part.value.item() for part in parts) == pytest.approx(1.0)
    if found.ranked.n.item() == 1:  # one pair says nothing of others
        assert all(np.isnan(part.low).all() and part.method.item().startswith("no interval") for part in parts)
        return
    for part in parts:
        assert 0 <= part.low.item() <= part.value.item() + 1e-12 <= part.high.item() + 1e-9 <= 1 + 1e-9
    assert found.published.value.item() <= found.ranked.value.item() + 1e-12


@given(answers)
def test_which_question_came_first_does_not_matter(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    one, other = consistency(first, second), consistency(second, first)
    assert one.ranked.value == pytest.approx(other.ranked.value, nan_ok=True)


def test_groups_stand_apart_and_pairs_of_none_are_left_out() -> None:
    group = np.array([0, 0, 1, -1])
    found = consistency(np.array([YES, NO, YES, YES]), np.array([NO, NO, YES, NO]), group, 3)
    assert found.ranked.value.tolist()[:2] == [0.5, 0.0]
    assert np.isnan(found.ranked.value[2])
    assert found.ranked.n.tolist() == [2, 1, 0]


@given(st.integers(0, 70), st.integers(1, 70))
def test_interval_is_that_of_statsmodels(hits: int, n: int) -> None:
    hits = min(hits, n)
    expected = proportion_confint(hits, n, method="wilson")
    assert [end.item() for end in wilson(hits / n, n, np.inf)] == pytest.approx(expected, abs=1e-12)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="one shape"):
        consistency(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="between 0 and 1"):
        consistency(np.array([2.0]), np.array([0.0]))
    with pytest.raises(ValueError, match="below 1"):
        consistency(np.zeros(1), np.zeros(1), np.array([1]))
