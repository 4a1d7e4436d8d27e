"""Which pairs and scenes are shown, and how often what is asked: counts, cells, sides and orders."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.cli.app import app
from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.study import Study
from facevalue.studies.modscan.pictures import face_pairs
from facevalue.studies.modscan.settings import KINDS, PAPER_PAIRS, instances
from tests.studies.modscan.asked import attribute, build

FACES = st.lists(
    st.tuples(st.sampled_from(["18", "40"]), st.sampled_from(["male", "female"]), st.sampled_from("WBAI")), max_size=60
)


def test_the_plan_of_the_paper_takes_its_counts_block_by_block() -> None:
    found = CliRunner().invoke(app, ["plan", "modscan", "--paper", "--json"], catch_exceptions=False)
    plan = json.loads(found.output)
    counts = {block["name"]: block["trials"] for block in plan["blocks"]}
    assert counts == {
        "vision occupation: gender": 26_040, "vision descriptor: gender": 26_040, "vision persona: gender": 36_456,
        "vision occupation: race": 73_780, "vision descriptor: race": 73_780, "vision persona: race": 103_292,
        "language gender: pictures": 2_800, "language race: pictures": 2_800,
    }  # fmt: skip
    assert plan["trials"] == 344_988


def test_what_only_the_paper_has_is_planned_and_not_run() -> None:
    assert PAPER_PAIRS == {"gender": 2604, "race": 7378}
    assert "leave out --paper" in build(paper=True).planned.unshown


def test_table_1_has_ten_occupations_ten_descriptors_and_fourteen_persona_traits() -> None:
    assert [len(instances(kind)) for kind in KINDS] == [10, 10, 14]


@settings(deadline=None)
@given(FACES, st.integers(1, 5), st.integers(0, 99))
def test_no_face_stands_twice_in_a_cell_and_a_cell_has_as_many_pairs_as_its_smaller_side(
    faces: list[tuple[str, str, str]], most: int, seed: int
) -> None:
    rows = [(f"f{number}", *face) for number, face in enumerate(faces)]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("image", "age", "gender", "race"), pl.String), orient="row")
    frame = frame.with_columns(identity="image", path="image")
    races = ("W", "B", "A", "I")
    for varied, same, groups in (
        ("gender", ("age", "race"), ("male", "female")),
        ("race", ("age", "gender"), races),
    ):
        pairs, _ = face_pairs(frame, varied, same, groups, most, seed)
        if pairs.height:
            both, _ = face_pairs(frame, varied, same, groups, most, seed, both_sides=True)
            assert both["set"].to_list() == [name for name in pairs["set"] for _ in range(2)]
        of_both = pl.concat_list("group_1", "group_2").list.sort()
        for (_, (one, other)), cell in pairs.group_by("cell", of_both):
            shown = [*cell["face_1"], *cell["face_2"]]
            assert len(set(shown)) == len(shown)
            key = frame.filter(pl.concat_str(same, separator=" ") == cell["cell"][0])
            sizes = [key.filter(pl.col(varied) == group).height for group in (one, other)]
            assert cell.height == min(most, *sizes)


def test_sides_follow_from_the_number_of_the_pair_and_the_seed() -> None:
    left = [attribute(build(pair_seed=seed, modality=["vision"], sides="drawn"), "group_1") for seed in (1, 1, 2)]
    assert left[0] == left[1] != left[2]
    assert 0.2 < np.mean([group == "male" for group in left[0]]) < 0.8


def test_each_pair_is_shown_with_either_face_on_the_left_and_sampled_so() -> None:
    study = build(modality=["vision"], attribute=["gender"])
    trials = study.design.trials(study.sample(400, 1, 1))
    asked = trials.group_by("scenario_kind", "set", "instance").agg(pl.col("group_1").cast(pl.String).sort())
    assert asked.height == trials.height / 2
    assert asked["group_1"].to_list() == [["female", "male"]] * asked.height
    assert trials.filter(scenario_kind="occupation")["instance"].n_unique() == 10
    sides = [study.source.stimulus(int(number), row) for number, row in _shown(study, trials)]
    assert len({one.digest for one in sides}) == len(sides)


def _shown(study: Study, trials: pl.DataFrame) -> list[tuple[int, dict[str, str | None]]]:
    """Both pictures of the first pair."""
    first = trials.filter(pl.col("set") == trials["set"][0], pl.col("instance") == trials["instance"][0])
    numbers = study.design.stimulus_numbers(first["trial"].to_numpy())
    return list(zip(numbers.tolist(), first.iter_rows(named=True), strict=True))


def test_pictures_of_a_person_stand_beside_those_of_one_other() -> None:
    rows = [
        (f"{g}{k}-{n}", f"{g}{k}", "18", g, "White") for g in ("male", "female") for k in range(4) for n in range(9)
    ]
    faces = pl.DataFrame(rows, schema=["image", "identity", "age", "gender", "race"], orient="row")
    faces = faces.with_columns(path="image")
    pairs, _ = face_pairs(faces, "gender", ("age", "race"), ("male", "female"), 20, 1, both_sides=True)
    of_both = pl.concat_list("person_1", "person_2").list.sort()
    couples = pairs.group_by(of_both).agg(pl.col("set").n_unique())
    assert (couples.height, pairs.height) == (4, 40)
    assert couples["set"].to_list() == [5] * 4
    free, _ = face_pairs(faces, "gender", ("age", "race"), ("male", "female"), 20, 1)
    assert free.group_by(of_both).len().height > 8


def test_a_cell_without_a_pair_and_a_short_one_are_named(tmp_path: Path) -> None:
    rows = ["image,age,gender,race"]
    for number, (age, gender) in enumerate([("18", "male"), ("18", "female"), ("40", "male")]):
        (tmp_path / f"{number}.png").write_bytes(b"")
        rows.append(f"{number}.png,{age},{gender},White")
    (tmp_path / "faces.csv").write_text("\n".join(rows))
    study = build(manifest=str(tmp_path / "faces.csv"), attribute=["gender"], modality=["vision"])
    assert {one.what: one.why for one in study.planned.left_out} == {
        "gender pairs of 18 White": "1 of 20: the pictures have 1 male, 1 female.",
        "gender pairs of 40 White": "0 of 20: the pictures have 1 male, 0 female.",
    }
    with pytest.raises(DataError, match="No pair can be made"):
        build(manifest=str(tmp_path / "faces.csv"), attribute=["race"], modality=["vision"])


def test_every_scene_is_asked_about_in_all_orders_or_in_one_drawn_by_seed() -> None:
    def orders(**options: object) -> dict[str, list[int]]:
        design = build(modality=["language"], per_persona=10, **options).design
        return {block.name: [block.stimuli, block.prompts] for block in design.blocks}

    assert orders() == {"language gender: pictures": [140, 2], "language race: pictures": [140, 4]}
    assert orders(order="random") == {"language gender: pictures": [140, 1], "language race: pictures": [140, 1]}
    drawn = build(modality=["language"], per_persona=10, order="random")
    assert set(attribute(drawn, "order_gender")) == {"male,female", "female,male"}
    assert len(set(attribute(drawn, "order_race"))) > 12


def test_a_sample_has_whole_scenes_and_spreads_over_what_is_asked() -> None:
    study = build(per_persona=5)
    trials = study.design.trials(study.sample(600, 1, 1))
    scenes = trials.filter(pl.col("modality") == "language").group_by("attribute", "image").len()
    assert dict(scenes.group_by("attribute").agg(pl.col("len").unique().first()).iter_rows()) == {
        "gender": 2,
        "race": 4,
    }
    assert trials.filter(pl.col("block") == "vision occupation: gender")["instance"].n_unique() == 10


def test_unknown_names_and_settings_without_effect_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="nurse"):
        build(instances=["nurs"])
    with pytest.raises(DataError, match="of other kinds"):
        build(instances=["nurse"], scenarios=["persona"])
    with pytest.raises(DataError, match="persona traits"):
        build(scenarios=["occupation"], modality=["language"])
    with pytest.raises(DataError, match="--order has no effect without"):
        build(order="random", modality=["vision"])
