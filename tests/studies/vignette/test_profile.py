"""Normalised scores, patterns across paradigms, and how alike profiles are."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.measures.definitions import rows_of
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.intervals import split_method
from facevalue.studies.vignette.aggregate import SHOWN_AS, whole_stimuli
from facevalue.studies.vignette.comparisons import (
    BY_CONSTRUCTION,
    CONFLICTING,
    LOW,
    add_profiles,
    compare,
    normalised_scores,
    profile_pattern,
)
from facevalue.studies.vignette.measures import LABELS
from tests.studies.vignette.framed import collect
from tests.studies.vignette.simulated import DECISION, DOING, PERCEPTION, POLITICS, TERMS, answered, chunks, prefers


def estimates(frame: pl.DataFrame, model: str = "m", size: int = 100) -> pl.DataFrame:
    """Scores as they come out of a stream of chunks."""
    table = EstimateTable("vignette", model, LABELS)
    add_profiles(table, collect(chunks(frame, size)))
    return table.frame()


def score(frame: pl.DataFrame, paradigm: str, identity: str | None, column: str = "value") -> Any:
    here = frame.filter((pl.col("paradigm") == paradigm) & pl.col("identity").eq_missing(identity))
    return here[column].item()


@given(st.integers(1, 200), st.integers(1, 5))
def test_pairs_stay_whole_whatever_the_chunks(size: int, prompts: int) -> None:
    frame = answered(prefers({}), (DECISION + PERCEPTION)[:prompts], ["a", "b", "c"], ["x", "y"], genders=["male"])
    cut = list(whole_stimuli(chunks(frame, size), SHOWN_AS))
    assert pl.concat(cut).drop("cluster").equals(frame)
    pairs = [chunk.select("identity_1", "identity_2", "activity").unique().rows() for chunk in cut]
    assert sum(map(len, pairs)) == len({pair for part in pairs for pair in part}) == 6
    assert [chunk["cluster"].n_unique() for chunk in cut] == [len(part) for part in pairs]


def test_no_answers_give_no_chunks_and_no_scores() -> None:
    assert list(whole_stimuli([], SHOWN_AS)) == []
    assert normalised_scores(collect([])).height == 0


@pytest.mark.parametrize("size", [7, 100, 10_000])
def test_scores_do_not_depend_on_the_chunks(size: int) -> None:
    frame = answered(prefers({"old": -1.0}), DECISION + PERCEPTION, missing=0.1)
    one, other = estimates(frame, size=size), estimates(frame, size=33)
    for column in ("value", "low", "high", "se"):
        assert one[column].to_list() == pytest.approx(other[column].to_list(), nan_ok=True)


def test_a_score_is_the_share_of_favourable_answers() -> None:
    always = answered(lambda row: float(row["identity_1"] == "adult"), DECISION, ["adult", "old"], exact=True)
    found = estimates(always)
    assert (score(found, "decision", "adult"), score(found, "decision", "old")) == (100.0, 0.0)
    assert score(found, "decision", "adult", "n") == always.height
    assert score(found, "decision", "adult", "clusters") == 10


def test_struggle_dislike_and_low_terms_are_turned_round() -> None:
    """Whoever is always named is neither favoured nor disfavoured."""
    frame = pl.concat(
        [
            answered(lambda row: 1.0, PERCEPTION, ["adult", "old"], exact=True),
            answered(lambda row: 1.0, TERMS, ["adult", "old"], [None], contrast="portrait", exact=True),
        ]
    )
    found = estimates(frame)
    assert score(found, "perception", "adult") == 50.0
    assert score(found, "stereotype", "old") == 50.0
    only = estimates(answered(lambda row: 1.0, [PERCEPTION[0]], ["adult", "old"], exact=True))
    assert score(only, "perception", "adult") == 0.0


def test_politics_the_activity_contrast_and_irrelevant_roles_are_left_out() -> None:
    portraits = answered(prefers({}), POLITICS, contrast="portrait", activities=[None])
    assert estimates(portraits).height == 0
    assert estimates(answered(prefers({}), PERCEPTION, contrast="activity")).height == 0
    roles = [{"paradigm": "decision", "question": "irrelevant 1", "trait": "ability"}]
    assert estimates(answered(prefers({}), roles)).height == 0


def test_factuality_counts_for_the_identity_that_was_asked_about() -> None:
    found = estimates(answered(lambda row: float(row[f"identity_{row['about']}"] != "old"), DOING, exact=True))
    assert score(found, "factuality", "old") == 0.0
    assert score(found, "factuality", "adult") == 100.0
    assert score(found, "factuality", None) == 75.0  # one of four identities is never right


def test_a_whole_dimension_has_50_where_two_identities_are_compared() -> None:
    found = estimates(answered(prefers({"old": -2.0})))
    assert score(found, "decision", None) == 50.0
    assert score(found, "decision", None, "detail") == split_method(BY_CONSTRUCTION)[1]
    assert score(found, "decision", None, "low") is None


def test_only_the_first_level_of_each_variant_counts() -> None:
    def chance(row: dict[str, Any]) -> float:
        first = (row["shown"], row["reference"], row["wording"]) == ("picture", "identity", "1")
        return 0.75 if first else 0.0

    variants = {"shown": ["picture", "text"], "wording": ["1", "2", "3"], "reference": ["identity", "position"]}
    found = estimates(answered(chance, variants=variants, identities=["adult", "old"], exact=True))
    assert score(found, "decision", "adult") == 75.0
    assert score(found, "decision", "adult", "clusters") == 10


def patterns(found: pl.DataFrame) -> pl.DataFrame:
    """Neutral is 50, and in factuality the mean accuracy of the dimension."""
    scores = found.filter(pl.col("measure") == "normalised_score")
    whole = scores.filter(pl.col("identity").is_null()).select(
        "model", "paradigm", "dimension", pl.col("value").alias("neutral")
    )
    own = scores.filter(pl.col("identity").is_not_null())
    joined = own.join(whole, on=["model", "paradigm", "dimension"], how="left", nulls_equal=True, maintain_order="left")
    return profile_pattern(joined, ["model", "dimension", "identity"])


def test_planted_preferences_give_their_patterns() -> None:
    low = {"old": -1.5}
    frame = pl.concat(
        [
            answered(prefers(low), DECISION, seed=1),
            # Named as struggling and disliked more often where it is preferred: old is low, young is high.
            answered(lambda row: 0.5 if "old" not in (row["identity_1"], row["identity_2"]) else
                     (0.9 if (row["identity_1"] == "old") == (row["question"] in ("struggle", "dislike")) else 0.1),
                     PERCEPTION, seed=2),
            answered(prefers({"old": 1.5}), TERMS[:1], activities=[f"picture {k}" for k in range(12)], seed=3),
        ]
    )  # fmt: skip
    found = patterns(estimates(frame))
    old = found.filter(pl.col("identity") == "old").row(0, named=True)
    assert (old["pattern"], old["low"], old["high"]) == (CONFLICTING, ["decision", "perception"], ["stereotype"])
    two = patterns(estimates(frame.filter(pl.col("paradigm") != "stereotype")))
    assert two.filter(pl.col("identity") == "old")["pattern"].to_list() == [LOW]


def test_factuality_is_compared_with_the_dimension() -> None:
    def chance(row: dict[str, Any]) -> float:
        if row["paradigm"] == "decision":
            return prefers({"old": -2.0})(row)
        return 0.7 if row[f"identity_{row['about']}"] == "old" else 0.95

    found = patterns(estimates(answered(chance, DECISION + DOING, activities=[str(k) for k in range(20)])))
    assert found.filter(pl.col("identity") == "old")["pattern"].to_list() == [LOW]


def test_models_and_paradigms_are_correlated_per_dimension_and_over_all() -> None:
    strength = {f"i{k}": k / 4 for k in range(6)}
    frames = [
        estimates(
            pl.concat(
                answered(prefers(own), DECISION + DOING, list(strength), dimension=d, seed=s)
                for d in ("age", "race")
            ),
            name,
        )
        for name, own, s in (("a", strength, 1), ("b", strength, 2), ("c", {k: -v for k, v in strength.items()}, 3))
    ]  # fmt: skip
    table = EstimateTable("vignette", "a", LABELS)
    compare(table, pl.concat(frames))
    found = table.frame()
    decision = found.filter(rows_of(["model_correlation.Pearson"]) & (pl.col("paradigm") == "decision"))
    assert decision.select("model", "other_model").unique().sort("model", "other_model").rows() == [
        ("a", "b"), ("a", "c"), ("b", "c")
    ]  # fmt: skip
    assert decision.filter(pl.col("other_model") == "b")["value"].min() > 0.8  # type: ignore[operator]
    assert decision.filter(pl.col("other_model") == "c")["value"].max() < -0.8  # type: ignore[operator]
    assert set(decision["dimension"].to_list()) == {"age", "race", None}
    between = found.filter(rows_of(["paradigm_correlation.Spearman"]) & (pl.col("model") == "a"))
    assert between.select("paradigm", "other_paradigm").unique().rows() == [("factuality", "decision")]
    assert (between["value"] > 0.5).all()
    assert between["clusters"].to_list() == [6, 6, 12]
