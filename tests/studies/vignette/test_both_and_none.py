"""Answers "both" and "none" are valid, choose nobody, and leave equal people equal."""

import numpy as np
import polars as pl
import pytest

from facevalue import studies
from facevalue.calibration.audits import Audits
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.measures.definitions import rows_of
from facevalue.studies.vignette.analysis import analyse
from facevalue.studies.vignette.calibration import CALIBRATION

from .simulated import DECISION, TERMS, answered

PEOPLE = ("adult", "child", "old", "young")


def answers(seed: int, *, both: float, none: float, prompts: list[dict[str, str]], exact: bool = False) -> pl.DataFrame:
    """Each pair is asked everything; whoever is not named alone is so by chance, or in expectation if exact."""
    frame = answered(lambda row: 0.5, prompts, identities=PEOPLE, seed=seed)
    rng = np.random.default_rng(seed)
    named = (1 - both - none) / 2
    shares = np.array([named, named, both, none])
    weights = (
        np.tile(shares, (frame.height, 1))
        if exact
        else np.eye(4)[rng.choice(4, size=frame.height, p=shares)]
    )  # fmt: skip
    columns = dict(zip(("weight", "other", "both", "none"), weights.T, strict=True))
    return frame.with_columns(pl.Series(name, values) for name, values in columns.items())


def estimates(frame: pl.DataFrame) -> pl.DataFrame:
    return analyse({"m": iter([frame])})


def of(found: pl.DataFrame, measure: str, **levels: str | None) -> pl.DataFrame:
    rows = found.filter(rows_of([measure]))
    for name, level in levels.items():
        rows = rows.filter(pl.col(name).eq_missing(level))
    return rows


def test_selection_frequencies_count_both_and_none_as_asked_and_for_nobody() -> None:
    frame = answers(1, both=0.2, none=0.4, prompts=DECISION)
    found = estimates(frame)
    overall = of(found, "selection_frequency", question=None, gender=None, activity=None)
    for one in PEOPLE:
        mine = frame.filter((pl.col("identity_1") == one) | (pl.col("identity_2") == one))
        own = mine.select(pl.when(pl.col("identity_1") == one).then("weight").otherwise("other")).to_series()
        row = overall.row(by_predicate=pl.col("identity") == one, named=True)
        assert row["n"] == mine.height  # every answer is valid
        assert row["value"] == pytest.approx(100 * own.to_numpy().mean())  # activities are asked equally often
    assert overall["value"].sum() < 100
    for outcome in ("both", "none"):
        share = of(found, "outcome_share", outcome=outcome, question=None)
        assert share["value"].item() == pytest.approx(frame[outcome].to_numpy().mean())


def test_the_even_choice_is_between_the_two_people() -> None:
    frame = answers(2, both=0.1, none=0.6, prompts=DECISION, exact=True)
    found = estimates(frame)
    assert of(found, "selection_frequency", question=None, gender=None, activity=None)["value"].to_list() == (
        pytest.approx([15.0] * 4)
    )
    assert of(found, "selection_gap", question=None, gender=None)["value"].to_list() == pytest.approx([0.0] * 4)
    assert of(found, "spread", question=None)["value"].to_list() == pytest.approx([0.0])
    assert of(found, "normalised_score").filter(pl.col("identity").is_not_null())["value"].to_list() == (
        pytest.approx([50.0] * 4)
    )


def test_the_gap_is_half_of_what_the_two_of_a_pair_differ_by() -> None:
    frame = answers(3, both=0.2, none=0.3, prompts=DECISION)
    gaps = of(estimates(frame), "selection_gap", question=None, gender=None)
    for one in PEOPLE:
        mine = frame.filter((pl.col("identity_1") == one) | (pl.col("identity_2") == one))
        first = pl.col("identity_1") == one
        own, rival = (
            mine.select(pl.when(first).then(a).otherwise(b)).to_series().to_numpy().mean()
            for a, b in (("weight", "other"), ("other", "weight"))
        )
        value = gaps.row(by_predicate=pl.col("identity") == one, named=True)["value"]
        assert value == pytest.approx(50 * (own - rival))


@pytest.mark.slow
def test_people_who_share_nobodys_preference_are_not_found_different_for_it() -> None:
    p = np.concatenate(
        [
            of(estimates(answers(seed, both=0.3, none=0.5, prompts=DECISION)), "selection_gap", question=None)["p"]
            for seed in range(30)
        ]
    )
    assert np.mean(p < 0.05) < 0.1  # against 50% all would be


def test_polarity_of_equals_is_zero_whatever_share_says_none() -> None:
    found = estimates(answers(4, both=0.1, none=0.5, prompts=TERMS, exact=True))
    assert of(found, "polarity")["value"].to_list() == pytest.approx([0.0] * of(found, "polarity").height)


def test_two_options_give_the_numbers_that_they_gave() -> None:
    frame = answered(lambda row: 0.6, DECISION, identities=PEOPLE, seed=5)
    plain = estimates(frame)
    told = estimates(frame.with_columns(other=1 - pl.col("weight")))
    assert plain.equals(told)
    gap, share = (
        of(plain, name, question=None, gender=None, activity=None) for name in ("selection_gap", "selection_frequency")
    )
    assert gap["value"].to_list() == pytest.approx([value - 50 for value in share["value"]])
    assert not of(plain, "outcome_share").height


def test_the_first_of_two_is_counted_among_those_who_are_named() -> None:
    frame = answers(6, both=0.2, none=0.4, prompts=DECISION)
    listed = frame.with_columns(weight=pl.col("listed_first").cast(pl.Float64) * (pl.col("weight") + pl.col("other")))
    listed = listed.with_columns(other=1 - pl.col("both") - pl.col("none") - pl.col("weight"))
    found = of(estimates(listed), "place_share.first")
    assert found["value"].to_list() == [1.0]
    assert found["n"].to_list() == [round(listed.select((pl.col("weight") + pl.col("other")).sum()).item())]


def test_planted_respondents_name_both_and_none_and_are_audited_as_planted() -> None:
    audits, condition = Audits(studies.protocol("vignette"), CALIBRATION, 6), PlantedCondition("strong", effect=1.5)
    keys = ["measure", *audits.keys]
    found = audits.judge_answers(audits.answers(condition, 3, 1)).filter(pl.col("measure") == "selection_frequency")
    both = found.join(audits.truth(condition, 3), on=keys, nulls_equal=True)
    assert both.select(pl.corr("value", "true")).item() > 0.7
    value, planted = (both[name].to_numpy().mean() for name in ("value", "true"))
    assert abs(value - planted) < 2
    assert value < 47
