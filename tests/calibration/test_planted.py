"""Planted answers are those of the study, differ by what is planted, and are what a condition says."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from facevalue import studies
from facevalue.calibration.audits import Audits, copy_pictures
from facevalue.calibration.planted_answers import DrawnAudit, PlantedCondition
from facevalue.calibration.repetitions import calibration_of
from facevalue.calibration.runner import HARD, NOTHING
from facevalue.measures.definitions import rows_of
from facevalue.protocol.protocol import Protocol
from facevalue.studies.registry import PUBLISHED


@pytest.fixture(scope="module")
def audits(lab: Protocol) -> Audits:
    return Audits(lab, calibration_of(lab), 4)


def share(answers: pl.DataFrame, **levels: str) -> float:
    mean = answers.filter(**levels)["share"].mean()
    assert isinstance(mean, float)
    return mean


def test_a_lone_effect_moves_its_level_and_no_other(audits: Audits) -> None:
    plain = audits.answers(NOTHING, 1, 1, exact=True)
    moved = audits.answers(PlantedCondition("lone", lone=3.0, target={"variation": "cap"}), 1, 1, exact=True)
    assert abs(share(moved, variation="cap") - share(plain, variation="cap")) > 0.2
    assert share(moved, variation="headscarf") == share(plain, variation="headscarf")


def test_a_halved_effect_leaves_answers_about_even(audits: Audits) -> None:
    even = PlantedCondition("even", position=0.0, person=1.08, common=1.0, picture=0.0)
    moved = replace(even, lone=1.0, target={"gender": "female"}, halved=True)
    plain, both = (audits.answers(condition, 1, 1, exact=True) for condition in (even, moved))
    up, down = (share(both, gender=name) - share(plain, gender=name) for name in ("female", "male"))
    assert up == pytest.approx(0.11, abs=0.02)
    assert down == pytest.approx(-0.11, abs=0.02)


def test_groups_that_vary_unlike_each_other_have_equal_means(lab: Protocol) -> None:
    unlike = next(condition for condition in HARD if condition.unlike != 1)
    large = Audits(lab, calibration_of(lab), 40)
    answers = large.answers(replace(unlike, sample=1.0), 1, 1, exact=True)
    names = ["identity", "gender"]
    means = answers.group_by(names).agg(pl.col("share").mean()).group_by("gender").agg(
        pl.col("share").mean(), (pl.col("share").std() / pl.len().sqrt()).alias("error")
    )  # fmt: skip
    assert ((means["share"] - 0.5).abs() < 3 * means["error"]).all()


def test_effects_are_the_same_whatever_the_size_and_others_with_another_table(lab: Protocol) -> None:
    strong = PlantedCondition("strong", effect=1.5)
    small, large = (Audits(lab, calibration_of(lab), size).truth(strong, 1) for size in (4, 16))
    other = Audits(lab, calibration_of(lab), 16).truth(strong, 2)
    keys = ["measure", "variation"]
    shifts = [found.filter(measure="shift").sort("variation")["true"].to_numpy() for found in (small, large, other)]
    assert len(keys) == 2
    assert shifts[0] == pytest.approx(shifts[1], abs=0.08)
    assert np.abs(shifts[1] - shifts[2]).max() > 0.1


def test_an_audit_is_the_same_each_time_and_another_one_is_not(audits: Audits) -> None:
    one, same, other = (audits.answers(NOTHING, 1, seed) for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)


def test_copies_are_other_people_with_the_same_levels() -> None:
    manifest = pl.DataFrame({"image": ["a", "b"], "identity": ["x", "y"], "gender": ["f", "m"]})
    three = copy_pictures(manifest, ("image", "identity", "set"), 3)
    assert three["image"].n_unique() == three["identity"].n_unique() == 6
    assert three["gender"].to_list() == ["f", "m"] * 3


def test_answers_are_withheld_about_some_groups_alone(audits: Audits) -> None:
    answers = audits.answers(PlantedCondition("withheld", missing=0.4), 1, 1)
    lost = answers.group_by("gender").agg(pl.col("mass").mean())["mass"].to_list()
    assert abs(lost[0] - lost[1]) > 0.1
    assert answers["na"].drop_nulls().unique().to_list() == ["refused"]


def first_share(answers: pl.DataFrame) -> pl.Series:
    """How much of each answer is the option shown first."""
    return answers.select(pl.when(pl.col("ordering") == "1").then("share").otherwise(1 - pl.col("share"))).to_series()


def test_the_first_option_is_liked_and_drift_goes_to_it(audits: Audits) -> None:
    def first(condition: PlantedCondition) -> pl.DataFrame:
        return audits.answers(condition, 1, 1, exact=True)

    assert first_share(first(PlantedCondition("first", position=2.5))).mean() > 0.8  # type: ignore[operator]
    moved = first(PlantedCondition("drift", drift=4.0))
    assert np.corrcoef(audits._trials.times, first_share(moved))[0, 1] > 0.5


def test_without_any_chance_all_replies_are_the_same(audits: Audits) -> None:
    answers = audits.answers(PlantedCondition("same", certain=True), 1, 1)
    assert first_share(answers).unique().to_list() == [1.0]


def test_a_sample_is_of_the_share_that_is_asked(audits: Audits) -> None:
    some, everything = (audits.answers(PlantedCondition("some", sample=share), 1, 1).height for share in (0.5, 1.0))
    assert 0.4 < some / everything <= 0.5


@pytest.mark.parametrize("name", PUBLISHED)
def test_all_published_studies_read_planted_answers(name: str) -> None:
    protocol = studies.protocol(name)
    audits = Audits(protocol, calibration_of(protocol), 1)
    answers = audits.answers(PlantedCondition("effects", effect=0.8), 1, 1)
    assert answers["mass"].min() == 1, "no reply is misread"
    assert audits.units >= 8


@pytest.mark.slow
def test_sets_of_which_replies_are_withheld_are_analysed() -> None:
    audits = Audits(studies.protocol("counterfactuals"), calibration_of(studies.protocol("counterfactuals")), 1)
    estimates = audits.judge_answers(audits.answers(PlantedCondition("withheld", missing=0.4), 1, 1))
    assert estimates.filter(rows_of(["gap_from_alike"]))["p"].count() > 0


@pytest.mark.parametrize(
    "condition",
    [
        NOTHING,
        PlantedCondition("first", position=2.5),
        PlantedCondition("rare", rare=3.0),
        PlantedCondition("same", certain=True),
    ],
    ids=lambda one: one.name,
)
def test_forms_say_what_choices_say_where_nothing_is_planted(condition: PlantedCondition) -> None:
    protocol = studies.protocol("visbias")
    calibration = calibration_of(protocol)
    trials = Audits(protocol, replace(calibration, settings={"task": ["mcq", "form"], "forms": 1}), 1)._trials
    part = trials.written[0]
    fields = json.loads(part.listed)
    rows = np.resize(part.rows, 4000)
    audits = [DrawnAudit(trials, condition, 1, np.random.default_rng(seed)) for seed in range(100)]
    for title, meant in calibration.same.items():
        options = tuple(dict.fromkeys(meant.values()))
        kind = next(kind for kind in trials.kinds if set(options) <= set(kind.options))
        weights = np.mean([audit.draw_choices(kind)[1].mean(axis=0) for audit in audits], axis=0)
        chance = weights[[kind.options.index(option) for option in options]]  # of income two options of six
        chance = chance / chance.sum()
        codes = audits[0].draw_associated(rows, title, fields[title], {}, fields)
        answers = pl.Series(fields[title]).gather(codes).replace_strict(meant, default=None).drop_nulls()
        share = [(answers == option).mean() for option in options]
        if condition.certain:
            assert share == [1.0, *[0.0] * (len(options) - 1)]
        else:
            assert share == pytest.approx(chance, abs=0.03)
