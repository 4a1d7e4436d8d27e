"""Precision and recall of a reader against people: which replies they are of."""

import polars as pl

from facevalue.runs.reviews.outcomes import SCHEMA, ReviewKey, reader_review


def key_of(strata: dict[str, int], drawn: list[str]) -> ReviewKey:
    rows = [
        {"item": f"r-{at}", "choices": ["Yes", "No"], "read": "yes", "labels": ["yes", "no"], "stratum": kind,
         "trial": at, "repeat": 0}
        for at, kind in enumerate(drawn)
    ]  # fmt: skip
    return ReviewKey("0123456789", "parse", pl.DataFrame(rows, schema=SCHEMA), strata)


def answers_of(*ratings: tuple[str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(ratings, schema=["rater", "item", "rating"], orient="row")


def test_kinds_of_which_no_reply_counts_are_named() -> None:
    key = key_of({"yes": 900, "no answer: hedged": 30, "no answer: empty": 4}, ["yes", "yes", "no answer: hedged"])
    both = answers_of(("a", "r-0", 1), ("b", "r-0", 1), ("a", "r-1", 2), ("a", "r-2", 1), ("b", "r-2", 2))
    review = reader_review(key, both)
    assert review.undecided_replies == 1
    assert dict(review.unseen) == {"no answer: hedged": 30, "no answer: empty": 4}, "one is undecided, one not drawn"
    (note,) = review.notes
    assert "without 34 replies" in note
    assert "no answer: hedged (30), no answer: empty (4)" in note


def test_nothing_is_said_where_every_kind_counts() -> None:
    review = reader_review(key_of({"yes": 9}, ["yes"]), answers_of(("a", "r-0", 1)))
    assert list(review.notes) == []
