"""Pairs of a yes-no question and its negation: VisBias, Table 6, and what must hold for any answers."""

import json
from collections.abc import Sequence
from itertools import chain

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from facevalue.measures.estimators import PEOPLE_KEYS, Sums, share_over_pairs
from facevalue.measures.proportions import wilson_interval
from facevalue.measures.uncertainty import Estimates
from facevalue.studies.visbias.comparisons import ranked_above, ranking_outcomes
from tests.reference import reference

YES, NO, NA = 1.0, 0.0, None
Answers = Sequence[float | None]
answers = st.lists(st.tuples(*[st.sampled_from([YES, NO, 0.25, NA])] * 2), min_size=1, max_size=40)


def pairs(first: Answers, second: Answers) -> pl.DataFrame:
    """Pairs that share nobody, with what their answers say."""
    people = {name: [f"{name} {at}" for at in range(len(first))] for name in PEOPLE_KEYS}
    frame = pl.DataFrame(
        {**people, "yes": first, "negation": second}, schema_overrides=dict.fromkeys(("yes", "negation"), pl.Float64)
    )
    return frame.with_columns(
        pl.col(PEOPLE_KEYS).cast(pl.Enum(list(chain(*people.values())))), counted=1.0
    ).with_columns(ranking_outcomes("yes", "negation"))


def share(frame: pl.DataFrame, hits: str, size: str = "complete") -> Estimates:
    return share_over_pairs(Sums.from_frame(frame.select(*PEOPLE_KEYS, s=hits, n=size), (), PEOPLE_KEYS))[1]


def test_every_cell_of_table_6_follows_from_the_released_counts() -> None:
    released = pl.read_csv(reference("visbias", "yesno.csv")).drop_nulls("different_pairs")
    cells = [c for c in json.loads(reference("visbias", "expected.json").read_text()) if c["table"] == "6"]
    assert len(cells) == 18
    for cell in cells:
        attribute, _, jailbreak = cell["column"].partition("/jailbreak=")
        row = released.filter(model=cell["row"], attribute=attribute, jailbreak=jailbreak)
        # Only the number of differing pairs is released, so any pairs with that many differing ones will do.
        differing = int(row["different_pairs"].item())
        rate = share(pairs([YES] * differing + [NO] * (70 - differing), [NO] * 70), "ranked", "counted")
        assert 100 * rate.value.item() == pytest.approx(cell["value"], abs=cell["tolerance"] + 1e-9), cell
        assert rate.low.item() <= rate.value.item() <= rate.high.item()
        assert rate.clusters.item() == 140


def test_what_each_combination_means() -> None:
    frame = pairs([YES, NO, NO, YES], [NO, YES, NO, YES])
    shares = [share(frame, hits).value.item() for hits in ("ranked", "unranked", "contradicted")]
    assert shares == [0.5, 0.25, 0.25]


def test_two_pairs_without_an_answer_count_in_the_published_rate_alone() -> None:
    # Gemini with the cipher on income: 4 yes and 64 no are 68, and the 21 differing pairs were divided by 70.
    frame = pairs([YES] * 21 + [NO] * 47 + [NA] * 2, [NO] * 70)
    ranked, published = share(frame, "ranked"), share(frame, "ranked", "counted")
    assert [ranked.value.item(), published.value.item()] == pytest.approx([21 / 68, 0.3])
    assert (ranked.n.item(), published.n.item()) == (68, 70)


@given(answers)
def test_the_three_shares_sum_to_one(replies: list[tuple[float | None, float | None]]) -> None:
    first, second = zip(*replies, strict=True)
    frame = pairs(first, second)
    parts = [share(frame, hits) for hits in ("ranked", "unranked", "contradicted")]
    if parts[0].n.item() == 0:
        assert all(np.isnan(part.value).all() and np.isnan(part.low).all() for part in parts)
        return
    assert sum(part.value.item() for part in parts) == pytest.approx(1.0)
    if parts[0].n.item() == 1:  # one pair says nothing of others
        assert all(np.isnan(part.low).all() and part.method.item().startswith("none: ") for part in parts)
        return
    for part in parts:
        assert 0 <= part.low.item() <= part.value.item() + 1e-12 <= part.high.item() + 1e-9 <= 1 + 1e-9
    assert share(frame, "ranked", "counted").value.item() <= parts[0].value.item() + 1e-12


@given(answers)
def test_which_question_came_first_matters_to_who_is_above_alone(
    replies: list[tuple[float | None, float | None]],
) -> None:
    first, second = zip(*replies, strict=True)
    frame, turned = pairs(first, second), pairs(second, first)
    assert frame["ranked"].to_list() == pytest.approx(turned["ranked"].to_list())
    for name, rival in (("first", "second"), ("open_1", "open_2")):
        assert frame[name].to_list() == turned[rival].to_list()
    assert (frame["first"] + frame["second"]).to_list() == pytest.approx(frame["ranked"].to_list())


def test_missing_answers_move_a_ranking_no_further_than_its_bounds() -> None:
    frame = pairs([YES, YES, NO, YES, NA], [NO, NO, YES, NA, YES])
    sums = frame.select(*PEOPLE_KEYS, s="first", n="ranked", up="open_1", down="open_2")
    _, above = ranked_above(Sums.from_frame(sums, (), PEOPLE_KEYS))
    assert above.bounds is not None
    assert above.p is not None
    assert above.value.tolist() == pytest.approx([2 / 3 - 0.5])
    assert [above.bounds.low.item(), above.bounds.high.item()] == pytest.approx([0.0, 0.25])
    assert (above.p.item() < 0.05) == (above.low.item() > 0 or above.high.item() < 0)


@given(st.integers(0, 70), st.integers(1, 70))
def test_interval_is_that_of_statsmodels(hits: int, n: int) -> None:
    hits = min(hits, n)
    expected = proportion_confint(hits, n, method="wilson")
    assert [end.item() for end in wilson_interval(hits / n, n, np.inf)] == pytest.approx(expected, abs=1e-12)
