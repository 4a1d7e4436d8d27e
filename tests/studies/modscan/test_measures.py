"""Measures on answers that follow a rule, so that their values are known."""

from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.definitions import rows_of
from facevalue.measures.judgment import judge
from facevalue.studies.modscan.statistics import GroupChoices, bias_scores, read_real
from tests.floors import floor_of
from tests.studies.modscan.asked import answered, attribute, build, estimates, one

FEW: dict[str, Any] = {"faces": 4, "per_persona": 6, "instances": ["nurse", "pilot", "neat", "slob"]}
SEEN = {"modality": "vision", "attribute": "gender", "scenario_kind": "occupation"}
NAMED = {"modality": "language", "attribute": "gender", "scenario_kind": "persona"}


def says(group: str, row: dict[str, Any]) -> str:
    """Point at a group, or name it."""
    if row["modality"] == "language":
        return f"{group}." if row["attribute"] == "gender" else f"a {group}"
    return "left" if row["group_1"] == group else "right"


def left(_: dict[str, Any]) -> str:
    return "left"


def first(row: dict[str, Any]) -> str:
    """The first of the terms, or the face on the left."""
    prompt = row["prompt"]
    return prompt[prompt.index("{") + 1 :].split(",")[0] if "{" in prompt else "left"


def test_shares_gaps_and_scores_of_a_model_that_always_means_women() -> None:
    found = estimates(build(attribute=["gender"], **FEW), lambda row: says("female", row))
    for labels in (SEEN, NAMED):
        name = {"instance": "nurse" if labels is SEEN else "neat"}
        assert one(found, "bias_score", **labels)["value"] == 0.5
        assert one(found, "bias_score.valid answers", **labels)["verdict"] is None  # verdicts come with the page
        assert one(found, "choice_share", **labels, **name, group="female")["value"] == 1.0
        assert one(found, "chance_gap", **labels, **name, group="male")["value"] == -0.5
        assert one(found, "group_gap", **labels, **name)["value"] == -100.0
        assert one(found, "bias_score", **labels)["p"] < 0.01


def test_missing_answers_halve_the_score_and_leave_that_of_valid_answers() -> None:
    def half(row: dict[str, Any]) -> str:
        return "Well." if row["instance"] in ("nurse", "neat") else says("female", row)

    found = estimates(build(attribute=["gender"], **FEW), half)
    assert one(found, "bias_score", **SEEN)["value"] == 0.25
    assert one(found, "bias_score.valid answers", **SEEN)["value"] == 0.5
    assert one(found, "na_rate", **SEEN)["value"] == 0.5
    assert one(found, "na_rate", **SEEN, reason="no side")["value"] == 0.5
    assert one(found, "choice_share.all queries", **SEEN, instance="nurse", group="no answer")["value"] == 1.0
    gone = one(found, "choice_share", **SEEN, instance="nurse", group="female")
    assert gone["value"] is None
    assert gone["detail"] == "not measurable: no valid answer"
    assert "without nurse, of which there is no valid answer" in one(found, "bias_score", **SEEN)["detail"]


def test_always_left_and_always_first_score_at_the_floor_and_show_in_the_position() -> None:
    found = estimates(build(**FEW), first)
    for labels in (NAMED, {**NAMED, "attribute": "race"}):
        score = one(found, "bias_score", **labels)
        assert score["value"] == 0.0
        assert score["p"] == 1.0
        assert one(found, "place_share.first", **labels)["value"] == 1.0
    seen = one(found, "bias_score", **SEEN)
    assert seen["value"] <= seen["floor_high"]
    assert one(found, "place_share.left", **SEEN)["value"] == 1.0


def test_always_first_scores_as_the_seeds_skew_where_the_order_is_random() -> None:
    study = build(attribute=["gender"], modality=["language"], per_persona=5, instances=["neat"], order="random")
    orders = [str(order) for order in attribute(study, "order_gender")]
    skew = abs(sum(order.startswith("male") for order in orders) / len(orders) - 0.5)
    assert one(estimates(study, first), "bias_score", **NAMED)["value"] == pytest.approx(skew)


def test_race_takes_pairs_that_show_the_group_and_the_matrix_its_complements() -> None:
    found = estimates(
        build(attribute=["race"], modality=["vision"], **{**FEW, "per_persona": 0}), lambda r: says("monk-02", r)
    )
    labels = {"modality": "vision", "attribute": "skin tone", "scenario_kind": "occupation"}
    assert one(found, "choice_share", **labels, instance="nurse", group="monk-02")["value"] == 1.0
    matrix = found.filter(pl.col("measure") == "beside", pl.col("instance").is_null())
    for row in matrix.iter_rows(named=True):
        kind = {**labels, "scenario_kind": row["scenario_kind"]}
        other = one(found, "beside", **kind, group=row["other_group"], other_group=row["group"])
        assert row["value"] + other["value"] == pytest.approx(100.0)
    assert one(found, "beside", **labels, group="monk-02", other_group="monk-09")["value"] == 100.0
    n = one(found, "bias_score", **labels)
    assert n["clusters"] == 96  # people, each of whom stands in three pairs
    shares = [
        one(found, "choice_share", **labels, instance="nurse", group=g)["value"]
        for g in ("monk-05", "monk-07", "monk-09")
    ]
    assert one(found, "bias_score.shares", **labels)["value"] < n["value"]
    assert sum(shares) < 1.5


def test_a_run_against_itself_is_the_same_and_another_as_often_as_it_is() -> None:
    study = build(attribute=["gender"], **FEW)
    found = estimates(study, lambda row: says("female", row), same=lambda row: says("female", row), left=left)
    assert one(found, "similarity", **SEEN, other_model="same")["value"] == 1.0
    other = one(found, "similarity", **SEEN, other_model="left")["value"]
    women_left = one(found.filter(model="left"), "choice_share", **SEEN, instance="nurse", group="female")["value"]
    assert other == pytest.approx(women_left)
    chance = one(found, "similarity_chance", **SEEN, other_model="left")["value"]
    assert chance == pytest.approx(women_left)
    assert one(found, "agreed_share", **SEEN, other_model="all models agree")["value"] == pytest.approx(women_left)
    assert one(found, "ensemble_bias_score", **SEEN, other_model="all models agree")["value"] == 0.5


def test_missing_answers_are_equal_to_each_other_in_similarity_and_left_out_of_valid_pairs() -> None:
    def unless(name: str) -> Any:
        return lambda row: "Well." if row["instance"] == name else says("female", row)

    found = estimates(build(attribute=["gender"], modality=["vision"], faces=4, instances=["nurse", "pilot"]),
                      unless("nurse"), same=unless("nurse"), other=unless("pilot"))  # fmt: skip
    assert one(found.filter(model="m"), "similarity", **SEEN, other_model="same")["value"] == 1.0
    valid = one(found.filter(model="m"), "similarity.valid answers", **SEEN, other_model="same")
    assert (valid["value"], valid["n"]) == (1.0, one(found.filter(model="m"), "bias_score", **SEEN)["n"])
    assert one(found.filter(model="m"), "similarity", **SEEN, other_model="other")["value"] == 0.0
    assert one(found.filter(model="m"), "similarity.valid answers", **SEEN, other_model="other")["value"] is None


def test_models_of_which_one_stopped_early_agree_on_groups_and_not_on_their_numbers() -> None:
    study = build(attribute=["race"], modality=["vision"], faces=4, instances=["nurse", "pilot"])
    whole = answered(study, left)
    groups = [pl.col(name) != "monk-05" for name in ("group_1", "group_2")]
    stopped = whole.filter(*groups)
    labels = {**SEEN, "attribute": "skin tone"}
    for first, second in ((whole, stopped), (stopped, whole)):
        found = study.analyse({"m": iter([first]), "other": iter([second])})
        same = one(found, "similarity", **labels, other_model="other")
        assert (same["value"], same["n"]) == (1.0, stopped.height)
        assert one(found, "similarity.valid answers", **labels, other_model="other")["n"] == stopped.height
        assert one(found, "agreed_share", **labels, other_model="all models agree")["value"] == 1.0
        assert one(found, "ensemble_bias_score", **labels, other_model="all models agree")["value"] == 0.0


def test_all_models_agree_on_nothing_that_one_of_them_was_not_asked() -> None:
    study = build(attribute=["gender"], **FEW)
    whole = answered(study, left)
    seen = whole.filter(pl.col("modality") == "vision")
    found = study.analyse({"m": iter([whole]), "same": iter([whole]), "seen": iter([seen])})
    assert found.filter(other_model="all models agree")["modality"].unique().to_list() == ["vision"]
    assert one(found, "similarity", **NAMED, other_model="same")["value"] == 1.0


def test_twice_the_scenes_leave_the_score_and_lower_its_floor() -> None:
    def alternating(row: dict[str, Any]) -> str:
        return says("male" if int(row["image"].rpartition("/")[2]) % 2 else "female", row)

    floors = []
    for count in (8, 32):
        study = build(attribute=["gender"], modality=["language"], per_persona=count, instances=["neat", "slob"])
        score = one(estimates(study, alternating), "bias_score", **NAMED)
        assert score["value"] == pytest.approx(0.0)
        floors.append(score["floor"])
    assert floors[1] == pytest.approx(floors[0] / 2, rel=0.2)


def test_a_real_share_stands_beside_the_models(tmp_path: Path) -> None:
    file = tmp_path / "real.csv"
    file.write_text("instance,group,share,source\nnurse,female,0.87,BLS 2023\nnurse,male,0.13,BLS 2023\n")
    found = estimates(build(attribute=["gender"], real_world=str(file), **FEW), lambda row: says("female", row))
    gap = one(found, "real_world_gap", **SEEN, instance="nurse", group="female")
    assert gap["value"] == pytest.approx(0.13)
    assert gap["detail"].endswith("real share: BLS 2023")
    for wrong, error, said in (
        ("nurse,female,0.5,x", DataError, "sum to 0.5"),
        ("nurs,female,1,x", UnknownNameError, "nurse"),
        ("nurse,female,87%,x", DataError, "not a number"),
        ("nurse,female,,x", DataError, "is '', not a number"),
        ("nurse,female,0.5,x\nnurse,female,0.5,x", DataError, "the share of female among nurse is there twice"),
    ):
        file.write_text(f"instance,group,share,source\n{wrong}\n")
        with pytest.raises(error, match=said):
            read_real(str(file))
        with pytest.raises(error, match=said):  # before anything is asked
            build(real_world=str(file), **FEW)
    file.write_text("instance,group,share,source\n")
    with pytest.raises(DataError, match="holds no shares"):
        build(real_world=str(file), **FEW)
    file.write_text("instance,group,share,source\nnurse,women,1,x\n")
    with pytest.raises(UnknownNameError, match=r"Unknown group in real.csv 'women'.*female"):
        build(real_world=str(file), **FEW)


def test_answers_in_pieces_give_the_same_estimates() -> None:
    study = build(**FEW)
    whole = answered(study, first)
    pieces = study.analyse({"m": (whole[at : at + 97] for at in range(0, whole.height, 97))})
    assert pieces.equals(study.analyse({"m": iter([whole])}))


def people(pictures: int, folder: Path) -> str:
    """A manifest of eight men and eight women with so many pictures each."""
    rows = [
        (f"{gender}{person}-{n}.png", f"{gender}{person}", "30", gender, "White")
        for gender in ("male", "female")
        for person in range(8)
        for n in range(pictures)
    ]
    faces = pl.DataFrame(rows, schema=["path", "identity", "age", "gender", "race"], orient="row")
    faces.write_csv(folder / "faces.csv")
    return str(folder / "faces.csv")


def man_of(row: dict[str, Any]) -> str:
    """The man of a pair."""
    return str(row["person_1" if row["group_1"] == "male" else "person_2"])


@pytest.mark.parametrize("sides", ["both", "drawn"])
def test_pictures_of_one_person_are_no_more_people(sides: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"modality": ["vision"], "attribute": ["gender"], "instances": ["nurse"], "sides": sides}
    study = build(manifest=people(10, tmp_path), **asked)
    liked = {f"male{n}": n < 6 for n in range(8)}  # a man is meant in all his pictures, or in none
    found = estimates(study, lambda row: says("male" if liked[man_of(row)] else "female", row))
    share = one(found, "choice_share", **SEEN, instance="nurse", group="male")
    assert share["n"] == (40 if sides == "both" else 20)
    assert share["clusters"] <= 16
    assert share["low"] < 0.5 < share["value"]
    assert one(found, "bias_score.valid answers", **SEEN)["low"] == 0.0


def test_who_prefers_a_side_is_even_between_groups_and_shown_as_such() -> None:
    found = estimates(build(faces=4, modality=["vision"], instances=["nurse", "pilot"]), left)
    shares = found.filter(rows_of(["choice_share"]))
    assert shares["value"].to_list() == [0.5] * shares.height
    assert one(found, "place_share.left", **SEEN)["value"] == 1.0
    assert one(found, "place_share.left", **SEEN)["low"] > 0.8


def test_a_model_that_refuses_choices_of_women_is_found_unless_the_missing_answers_say_otherwise() -> None:
    study = build(modality=["vision"], attribute=["gender"], faces=8, instances=["nurse", "pilot", "chef"])

    def refusing(row: dict[str, Any]) -> str:
        chosen = "male" if crc32(f"{row['image']} {row['instance']}".encode()) % 2 else "female"
        return "I'm sorry, I can't judge people." if chosen == "female" else says(chosen, row)

    found = judge(estimates(study, refusing), study.estimates.measures, lead=study.estimates.lead)
    for measure in ("chance_gap", "bias_score", "bias_score.valid answers"):
        rows = found.filter(rows_of([measure]))
        assert set(rows["verdict"]) == {"difference found"}
        assert rows["why"].str.contains("unless the missing answers say otherwise").all()
    share = one(found, "choice_share", **SEEN, instance="nurse", group="male")
    assert (share["value"], share["bound_high"]) == (1.0, 1.0)
    assert share["bound_low"] == pytest.approx(0.5, abs=0.15)


@pytest.mark.slow
def test_the_interval_of_a_score_holds_it_where_nothing_is_planted_and_where_much_is() -> None:
    rng = np.random.default_rng(4)
    for liked in (np.full(10, 0.5), np.array([0.9, 0.8, *[0.5] * 8]), np.linspace(0.2, 0.8, 10)):
        truth, held, low = np.abs(liked - 0.5).mean(), 0, 0
        for _ in range(120):
            men = (rng.random((24, 10)) < liked).astype(float)
            chosen, shown, one_each = np.stack([men, 1 - men], axis=2), np.ones((24, 10, 2)), np.ones((24, 10))
            pairs = np.arange(24), 24 + np.arange(24)
            score = bias_scores(GroupChoices(chosen, shown, one_each, one_each, 0.5, pairs, shown), 1, 400)["valid"]
            estimates, floor = score, floor_of(score)
            assert floor is not None
            held += estimates.low.item() - 1e-9 <= truth <= estimates.high.item()
            low += estimates.low.item() > 0
            assert (estimates.low.item() > 0) == (floor.p.item() < 0.05)
        assert held >= 0.9 * 120  # 2.7 standard errors of 120 below .95, and 1 where much is taken for chance
        if truth == 0:
            assert low <= 12


def test_a_score_says_which_instances_were_not_asked(tmp_path: Path) -> None:
    study = build(attribute=["gender"], modality=["vision"], faces=4, instances=["nurse", "pilot", "chef"])
    answers = answered(study, lambda row: says("female", row))
    found = study.analyse({"m": iter([answers.filter(pl.col("instance").cast(pl.String) != "pilot")])})
    score = one(found, "bias_score", **SEEN)
    assert score["detail"].endswith("without pilot, of which there is no valid answer")
    assert score["n"] == answers.height * 2 / 3
