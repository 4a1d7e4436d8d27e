"""VIGNETTE as a user runs it: plans, runs on drawings and on the user's own pictures, reports, bad input."""

import io
import json
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl
import pytest

from facevalue.runs.stored_run import StoredRun, answers
from facevalue.studies.vignette.pictures import everyone
from facevalue.studies.vignette.settings import SETTINGS, selection
from tests.cli.conftest import Command
from tests.studies.vignette.test_design import TABLE_8

SMALL = ("--paradigm", "decision", "--dimension", "age", "--activity", "cooking,fishing,programming", "--people", "2")


def picture(path: Path, colour: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.fromarray(np.full((64, 48, 3), colour % 256, np.uint8)).save(path)


def test_the_plan_has_every_cell_of_table_8_and_the_trials_of_each_paradigm(facevalue: Command) -> None:
    plan = json.loads(facevalue("plan", "vignette", "--json").out)
    cells = {tuple(b["factors"][n] for n in ("gender", "dimension", "contrast")): b["stimuli"] for b in plan["blocks"]}
    for dimension, sides in TABLE_8.items():
        for gender, counts in zip(("male", "female"), sides, strict=True):
            for contrast, count in zip(("identity", "activity", "identity-activity"), counts or (), strict=False):
                assert cells[gender, dimension, contrast] == count
    assert plan["stimuli"] == 31_490_285
    assert plan["counted"]["paradigm"]["stereotype"] == 60 * (2775 + 2660)
    assert plan["counted"]["paradigm"]["decision"] == 6 * (208_125 + 199_500)
    assert sum(plan["counted"]["paradigm"].values()) == plan["trials"]
    assert 0 < plan["available"]["trials"] == plan["requests"] < plan["trials"]
    assert all(one["what"] and one["why"] for one in plan["left_out"])


def test_the_plan_tells_people_what_is_left_out_and_why(facevalue: Command) -> None:
    said = facevalue("plan", "vignette", "--dimension", "age").out
    assert "teenager" in said
    assert "Left out" in said
    assert "By paradigm: factuality" in said


def test_a_run_on_drawings_is_measured_and_reported(facevalue: Command) -> None:
    assert facevalue("run", "vignette", *SMALL[:-2], "--people", "4", "--model", "sim/strong", "--out", "a").status == 0
    assert facevalue("measure", "a", "--out", "e.parquet").status == 0
    found = pl.read_parquet("e.parquet")
    assert {"selection_frequency", "log_odds", "paircomp", "impact_ratio", "spread"} <= set(found["measure"])
    assert found.filter(pl.col("value").is_not_null())["n"].null_count() == 0
    assert facevalue("measure", "a", "--explain", "drift.listed first").out.startswith("drift:")
    assert "Did you mean" in facevalue("measure", "a", "--explain", "place_share.frist").err
    assert facevalue("report", "a").status == 0
    page = Path("a/report.html").read_text()
    assert "middle-aged" in page or "middle aged" in page
    assert "data:image/" in page
    assert "photographs" in page


def test_the_everyday_command_works_as_it_is_printed(facevalue: Command) -> None:
    everyday = ("vignette", "--paradigm", "decision", "--dimension", "age", "--sample", "5000", "--model", "sim/null")
    assert facevalue("run", *everyday).status == 0
    stored = StoredRun.open(Path("runs/vignette-sim-null"))
    rows = pl.concat(list(answers(stored)))
    assert rows.height == 5000
    assert set(rows["dimension"].cast(pl.String)) == {"age"}


def test_exact_and_sampled_runs_agree(facevalue: Command) -> None:
    plain = ("--dimension", "gender", "--paradigm", "decision,perception", "--contrast", "identity", "--people", "4")
    facevalue("run", "vignette", *plain, "--seeds", "1,2,3", "--model", "sim/strong", "--out", "s")
    facevalue("run", "vignette", *plain, "--exact", "--model", "sim/strong", "--out", "x")
    values = []
    for folder in ("s", "x"):
        facevalue("measure", folder, "--out", f"{folder}.parquet")
        rows = pl.read_parquet(f"{folder}.parquet").filter(pl.col("measure") == "selection_frequency")
        rows = rows.filter(pl.col("activity").is_null() & pl.col("gender").is_null())
        rows = rows.sort("paradigm", "question", "contrast", "identity")
        values.append(rows["value"].to_numpy())
    assert np.abs(values[0] - values[1]).max() < 6  # at least 370 answers behind each: twice the standard error


def test_variants_are_compared(facevalue: Command) -> None:
    variants = ("--wording", "1,2,3", "--reference", "identity,position", "--shown", "picture,text")
    assert facevalue("run", "vignette", *SMALL, *variants, "--model", "sim/default", "--out", "v").status == 0
    assert facevalue("measure", "v", "--out", "v.parquet").status == 0
    measures = set(pl.read_parquet("v.parquet")["measure"])
    assert {"vision_minus_text", "positional_shift", "full_match", "partial_match", "place_share"} <= measures


def test_the_authors_folders_are_shown_as_pairs(facevalue: Command) -> None:
    for i, (who, activity) in enumerate(
        (w, a) for w in ("old-man", "young-man", "little-boy") for a in ("cooking", "walking-a-dog")
    ):
        picture(Path(f"data/individual_images/male/age/{who}_{activity}.png"), 20 * i)
    plan = json.loads(facevalue("plan", "vignette", "--folder", "data", "--paradigm", "decision", "--json").out)
    assert (plan["stimuli"], plan["trials"]) == (6, 36)
    assert plan["left_out"] == []
    assert facevalue("run", "vignette", "--folder", "data", "--model", "sim/default", "--out", "f").status == 0
    stored = StoredRun.open(Path("f"), pictures=Path("data"))
    levels = stored.study.design.trials([0]).to_dicts()[0]
    image = stored.study.source.stimulus(0, levels).load()[0]
    with PIL.Image.open(io.BytesIO(image.data)) as shown:
        assert shown.width > shown.height


def test_pairs_that_the_authors_composed_are_shown_as_they_are(facevalue: Command) -> None:
    name = "identity_contrast/male/age/little-boy_babysitting--male-adolescent_babysitting.png"
    picture(Path("data") / name, 90)
    run = facevalue("run", "vignette", "--folder", "data", "--model", "sim/default", "--out", "p")
    assert run.status == 0, run.err
    stored = StoredRun.open(Path("p"), pictures=Path("data"))
    rows = pl.concat(list(answers(stored)))
    assert rows["left_first"].all()
    levels = stored.study.design.trials([0]).to_dicts()[0]
    assert stored.study.source.stimulus(0, levels).load()[0].data == (Path("data") / name).read_bytes()


def test_composed_pairs_are_squeezed_as_by_the_authors_code(facevalue: Command) -> None:
    name = "identity_contrast/male/age/little-boy_babysitting--male-adolescent_babysitting.png"
    picture(Path("data") / name, 90)
    asked = ("--folder", "data", "--prompts", "released", "--model", "sim/default")
    assert facevalue("run", "vignette", *asked, "--out", "r").status == 0
    study = StoredRun.open(Path("r"), pictures=Path("data")).study
    shown = study.source.stimulus(0, study.design.trials([0]).to_dicts()[0])
    with PIL.Image.open(io.BytesIO(shown.load()[0].data)) as small:
        assert small.size == (672, 336)


def test_photographs_of_patas_list_are_paired(facevalue: Command) -> None:
    lines = []
    for race in ("black", "caucasian", "eastasian"):
        for i in range(3):
            lines.append(f"kitchen_{race}_female_young|http://x.example/{race}{i}.jpg")
    Path("list.lst").write_text("\n".join(lines))
    for i in range(len(lines)):
        picture(Path(f"pics/{i}.jpg"), 9 * i)
    chosen = ("--pata", "list.lst", "--root", "pics", "--paradigm", "decision", "--pairs", "2")
    plan = facevalue("plan", "vignette", *chosen, "--json")
    assert plan.status == 0, plan.err
    assert json.loads(plan.out)["stimuli"] == 6
    assert facevalue("run", "vignette", *chosen, "--model", "sim/default", "--out", "pata").status == 0
    Path("pics/4.jpg").unlink()
    left_out = json.loads(facevalue("plan", "vignette", *chosen, "--json").out)["left_out"]
    assert left_out[0]["what"].startswith("1 of 9 photographs")


def test_pairs_that_the_authors_composed_are_not_shown_where_people_are_named_in_words(facevalue: Command) -> None:
    picture(Path("data/identity_contrast/male/age/little-boy_babysitting--male-adolescent_babysitting.png"), 90)
    variants = ("--folder", "data", "--shown", "picture,text", "--paradigm", "decision")
    assert facevalue("run", "vignette", *variants, "--model", "sim/default", "--out", "p").status == 0
    study = StoredRun.open(Path("p"), pictures=Path("data")).study
    rows = study.design.trials(np.arange(study.design.size)).to_dicts()
    shown = {row["shown"]: study.source.stimulus(0, row).load() for row in rows}
    assert len(shown["picture"]) == 1
    assert shown["text"] == ()


def test_the_image_prompts_are_written(facevalue: Command) -> None:
    assert "25,004 pictures" in facevalue("make", "vignette", "--prompts", "p.csv").out
    assert pl.read_csv("p.csv").height == 24_675 + 329
    assert facevalue("make", "vignete", "--prompts", "p.csv").status == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--identity", "mafia,doctor"), "'mafia' is not drawn"),
        (("--identity", "old,doctor", "--contrast", "identity"), "two identities within one dimension"),
        (("--dimension", "ages"), "Did you mean 'age'"),
        (("--sample", "999999999999"), "cannot be drawn: the design has"),
        (("--people", "9"), "At most 5 people"),
        (("--manifest", "m.csv", "--folder", "data"), "--folder has no effect beside --manifest"),
        (("--folder", "nowhere"), "nowhere"),
        (("--roles", "nowhere.json"), "nowhere.json"),
        (("--identity", "old,christian"), "the only one chosen of"),
        (("--identity", "old,young,christian", "--dimension", "age"), "in none of the dimensions and genders chosen"),
        (("--shown", "text", "--paradigm", "factuality"), "nothing to recognise"),
        (("--contrast", "portrait", "--paradigm", "decision"), "are not asked about decision"),
        (("--people", "3", "--drawings", "none"), "--people has no effect beside --drawings none"),
        (("--wording", "4"), "Unknown wording '4'"),
        (("--seeds", "x"), "whole numbers"),
    ],
)
def test_what_cannot_be_asked_is_one_clear_message(facevalue: Command, arguments: tuple[str, ...], says: str) -> None:
    Path("m.csv").write_text("image\n")
    Path("data").mkdir()
    done = facevalue("run", "vignette", "--model", "sim/default", "--out", "bad", *arguments)
    assert done.status in (1, 2)
    assert says in done.err
    assert "Traceback" not in done.err
    assert not Path("bad/responses").exists()


def test_an_identity_without_a_picture_is_named(facevalue: Command) -> None:
    for who, activity in (("old-man", "cooking"), ("old-man", "fishing"), ("young-man", "cooking")):
        picture(Path(f"data/individual_images/male/age/{who}_{activity}.png"), 7)
    done = facevalue("plan", "vignette", "--folder", "data")
    assert done.status == 1
    assert "young (male): fishing" in done.err
    kept = facevalue("plan", "vignette", "--folder", "data", "--activity", "cooking", "--json")
    assert json.loads(kept.out)["stimuli"] == 1


def test_a_users_own_activity_has_no_role_question(facevalue: Command) -> None:
    for who in ("a", "b"):
        picture(Path(f"own/{who}.png"), 7)
    Path("own/m.csv").write_text(
        "image,identity,activity,gender,dimension\na.png,tall,juggling,male,height\nb.png,short,juggling,male,height\n"
    )
    done = facevalue("plan", "vignette", "--manifest", "own/m.csv")
    assert done.status == 1
    assert "'juggling' has no role question" in done.err
    asked = facevalue("run", "vignette", "--manifest", "own/m.csv", "--paradigm", "perception", "--model", "sim/null")
    assert asked.status == 0, asked.err


def test_everyone_of_the_paper_is_named_in_prompts() -> None:
    frame = everyone(selection({setting.name: setting.default for setting in SETTINGS}))
    assert frame.filter(pl.col("activity").is_not_null()).height == 24_675
    assert frame.filter(pl.col("activity").is_null()).height == 329


def test_a_dimension_of_which_nothing_is_drawn_is_planned_and_not_run(facevalue: Command, tmp_path: Path) -> None:
    done = facevalue("plan", "vignette", "--dimension", "race")
    assert done.status == 0
    assert "6,825" in done.out
    assert "Nothing of race is drawn" in done.out
    assert "--drawings none" in done.out
    run = facevalue("run", "vignette", "--dimension", "race", "--model", "sim/default", "--out", str(tmp_path / "run"))
    assert run.status == 1
    assert "Nothing of race is drawn" in run.err
    assert not (tmp_path / "run").exists()
