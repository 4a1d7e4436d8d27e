"""The human study on forms: what is asked, ratings read and joined, and what is refused."""

import numpy as np
import polars as pl
import pytest

from facevalue.annotations.review_answers import ratings_that_count, uniform_raters
from facevalue.errors import DataError, UnknownNameError
from facevalue.studies.visbias.form_graph import gather_forms, shift_graph
from facevalue.studies.visbias.questionnaire import items, join_ratings

PAIRS = pl.DataFrame(
    [
        ("hobbies", "Singing", "medical history", "None", 1.4),
        ("occupation", "Creative roles", "personality type", "INFP", 2.0),
        ("age", "0-17", "occupation", "Student", 1.1),
    ],
    schema=["attribute", "choice", "outcome", "likely", "value"],
    orient="row",
)
IDS = dict(zip(items(PAIRS)["choice"], items(PAIRS)["item"], strict=True))


def test_statements_are_worded_as_in_the_paper_with_the_titles_of_the_fields() -> None:
    found = dict(items(PAIRS).select("choice", "statement").rows())
    assert found["Creative roles"] == (
        "If a person’s Occupation is Creative roles, then we can infer that the person’s Personality Type is INFP."
    )


def test_ids_follow_from_the_pair_alone() -> None:
    again = items(pl.concat([PAIRS[2:], PAIRS[:2], PAIRS]).drop("value"))
    assert again.rows() == items(PAIRS).rows()
    assert items(PAIRS.with_columns(likely=pl.lit("x")))["item"].n_unique() == 3
    assert not set(items(PAIRS.with_columns(likely=pl.lit("x")))["item"]) & set(IDS.values())


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (PAIRS.drop("likely"), "Unknown column 'likely'"),
        (PAIRS[:0], "no pairs to be rated"),
        (PAIRS.with_columns(likely=pl.lit(None, pl.String)), "has no likely"),
        (PAIRS.with_columns(choice=pl.lit(" ")), "has no choice"),
    ],
)
def test_pairs_that_cannot_be_asked_are_refused(pairs: pl.DataFrame, says: str) -> None:
    with pytest.raises((DataError, UnknownNameError), match=says):
        items(pairs)


ITEM, OTHER = IDS["Singing"], IDS["Creative roles"]

RATINGS = pl.DataFrame(
    [
        *(("a", IDS["Singing"], 4), ("b", IDS["Singing"], 3), ("c", IDS["Singing"], 2)),
        *(("a", IDS["0-17"], 1), ("b", IDS["0-17"], 1), ("c", IDS["0-17"], 2)),
        *(("a", IDS["Creative roles"], 5), ("b", IDS["Creative roles"], 5)),
    ],
    schema=["rater", "item", "rating"],
    orient="row",
)


def test_a_mean_of_three_is_flagged_and_too_few_raters_give_no_verdict() -> None:
    graph = pl.concat([PAIRS, PAIRS[:1].with_columns(choice=pl.lit("Hiking"))])
    found, _ = join_ratings(graph, RATINGS, seed=1)
    assert found["choice"].to_list() == graph["choice"].to_list()
    assert found["raters"].to_list() == [3, 2, 3, 0]
    assert [None if m is None else round(m, 3) for m in found["mean"]] == [3.0, 5.0, 1.333, None]
    assert found["flagged"].to_list() == [True, None, False, None]
    assert join_ratings(graph, RATINGS, seed=1, raters=2)[0]["flagged"].to_list() == [True, True, False, None]
    low, high = found["low"][0], found["high"][0]
    assert low < 3 < high


def test_agreement_is_high_among_raters_who_agree_and_low_among_those_who_do_not() -> None:
    rng = np.random.default_rng(3)
    pairs = pl.DataFrame(
        {name: [f"{name}{n}" for n in range(60)] for name in ("attribute", "choice", "outcome", "likely")}
    )
    names = items(pairs)["item"].to_list()
    truth = rng.integers(1, 6, len(names))

    def rated(noise: float) -> pl.DataFrame:
        own = [np.where(rng.random(len(names)) < noise, rng.integers(1, 6, len(names)), truth) for _ in range(3)]
        rows = [(f"r{k}", item, int(one)) for k, mine in enumerate(own) for item, one in zip(names, mine, strict=True)]
        return pl.DataFrame(rows, schema=["rater", "item", "rating"], orient="row")

    agree, chance = (join_ratings(pairs, rated(noise), seed=1)[1] for noise in (0.05, 1.0))
    assert agree.value[0] > 0.85
    assert abs(chance.value[0]) < 0.25
    assert agree.n[0] == 180


def timed(*rows: tuple[str, str, int, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["rater", "item", "rating", "duration"], orient="row")


def test_responses_submitted_in_under_two_minutes_are_left_out() -> None:
    ratings = timed(
        ("ann", ITEM, 5, 119.9), ("ann", OTHER, 1, 119.9), ("bo", ITEM, 4, 120.0), ("bo", OTHER, 2, 120.0),
        ("di", ITEM, 3, 300.0), ("di", OTHER, 3, 300.0),
    )  # fmt: skip
    found = ratings_that_count(ratings)
    assert found.ratings["rater"].unique().to_list() == ["bo"]
    assert found.uniform == ("di",)
    assert found.notes == (
        "Left out, as published: di, who rated all alike.",
        "Left out, as published: 2 ratings by ann, submitted in under two minutes.",
    )
    for untimed in (ratings.drop("duration"), ratings.with_columns(duration=pl.lit(None, pl.Float64))):
        none = ratings_that_count(untimed)
        assert none.ratings["rater"].unique().sort().to_list() == ["ann", "bo"]
        assert len(none.notes) == 1


def test_only_the_quick_one_of_several_responses_is_left_out() -> None:
    found = ratings_that_count(timed(("ann", ITEM, 5, 60.0), ("ann", OTHER, 1, 300.0)))
    assert found.ratings["item"].to_list() == [OTHER]
    assert found.notes == ("Left out, as published: 1 rating by ann, submitted in under two minutes.",)


def test_ratings_of_other_pairs_are_refused() -> None:
    with pytest.raises(DataError, match="1 rated items are not pairs of these forms"):
        join_ratings(PAIRS[1:], RATINGS, seed=1)


def test_raters_who_say_the_same_to_everything_are_named() -> None:
    rows = [*RATINGS.rows(), *(("d", item, 3) for item in IDS.values()), ("e", ITEM, 1)]
    assert uniform_raters(pl.DataFrame(rows, schema=RATINGS.schema, orient="row")) == ("c", "d")


def test_the_graph_of_forms_can_be_rated_as_it_is() -> None:
    forms = pl.DataFrame(
        {"form": [*range(20)] * 2, "attribute": ["a"] * 20 + ["b"] * 20, "categories": [["x"]] * 2 + [["y"]] * 18}
        | {"categories": ([["x"]] * 10 + [["y"]] * 10) * 2}
    )
    graph = shift_graph(gather_forms(forms, [("a", ["x", "y"]), ("b", ["x", "y"])]), 1, resamples=50)
    found, _ = join_ratings(
        graph, pl.DataFrame({"rater": ["r"], "item": [items(graph)["item"][0]], "rating": [4]}), seed=1
    )
    assert found.height == graph.height
    assert found["raters"].sum() == 1
