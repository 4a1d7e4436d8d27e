"""Studies that are files, after papers whose pictures are the user's own: planned, run, measured, reported, copied."""

import tomllib
from collections.abc import Callable
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

import facevalue as fv
from facevalue.errors import FaceValueError
from facevalue.studies import DECLARED, STUDIES, file_text
from tests.cli.conftest import Command, facevalue

__all__ = ["facevalue"]
PAPERS = {
    "reflect": "2601.06931",
    "reflect-pairs": "2601.06931",
    "beauty": "2504.16104",
    "beyond-demographics": "2508.03079",
}
CHANGES = (("age", "demographic"), ("street", "surroundings"), ("smoking", "behaviour"), ("tattoo", "looks"))


def focus(folder: Path) -> list[str]:
    """Two photographs of two occupations, each with the faces of six groups."""
    rows = ["path,set,occupation,race,gender,group"]
    scenes = product(("nurse", "lawyer"), (1, 2), ("White", "Black", "Asian"), ("female", "male"))
    for number, (occupation, photograph, race, gender) in enumerate(scenes):
        Image.new("RGB", (32, 32), (10 * number, 90, 30)).save(folder / f"{number}.png")
        rows.append(f"{number}.png,{occupation} {photograph},{occupation},{race},{gender},{race} {gender}")
    return rows


def filtered(folder: Path) -> list[str]:
    """Twelve people without and with a filter."""
    rows = ["path,identity,filter,gender,age"]
    for number, cue in product(range(12), ("", "beauty")):
        Image.new("RGB", (32, 32), (20 * number, 90 if cue else 30, 30)).save(folder / f"{number}{cue}.png")
        rows.append(f"{number}{cue}.png,p{number},{cue},{('f', 'm')[number % 2]},{('young', 'old')[number // 6]}")
    return rows


def changed(folder: Path) -> list[str]:
    """Pairs of pictures that differ in one of four attributes."""
    rows = ["path,set,changed,category"]
    for number, (attribute, category) in product(range(3), CHANGES):
        for cue in ("", attribute):
            name = f"{number}{attribute}{bool(cue)}.png"
            Image.new("RGB", (32, 32), (20 * number, 90 if cue else 30, len(attribute))).save(folder / name)
            rows.append(f"{name},{number}{attribute},{cue},{category}")
    return rows


PICTURES: dict[str, Callable[[Path], list[str]]] = {
    "reflect": focus, "reflect-pairs": focus, "beauty": filtered, "beyond-demographics": changed,
}  # fmt: skip


@pytest.fixture(params=PAPERS)
def name(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    (tmp_path / "list.csv").write_text("\n".join(PICTURES[request.param](tmp_path)))
    return str(request.param)


def listed(name: str, folder: Path) -> Path:
    path = folder / "list.csv"
    path.write_text("\n".join(PICTURES[name](folder)))
    return path


def test_it_is_planned_run_measured_and_reported(name: str, tmp_path: Path) -> None:
    study = fv.study(name, manifest=tmp_path / "list.csv", kind="illustrated")
    opened = fv.run(study, "sim/strong", tmp_path / "run")
    estimates = opened.estimates()
    led = estimates.filter(pl.col("family") == STUDIES[name].estimands[0].family_name)
    assert led.height
    assert led["low"].is_not_null().all()
    assert led["q"].is_not_null().all()
    assert led["bound_low"].is_not_null().any()
    opened.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Nothing it answers is true of anyone." in page
    assert fv.open_run(tmp_path / "run").estimates().height == estimates.height


def test_it_can_be_asked_for_exact_probabilities_where_it_has_options(tmp_path: Path) -> None:
    study = fv.study("beauty", manifest=listed("beauty", tmp_path), scenario=["sentence", "loan"])
    exact = fv.run(study, "sim/strong", tmp_path / "run", exact=True).estimates()
    shifts = exact.filter(pl.col("measure") == "shift", pl.col("scenario").is_not_null())
    assert set(shifts["scenario"]) == {"sentence", "loan"}
    assert shifts["value"].is_not_null().all()


def test_it_is_copied_to_be_changed(name: str, facevalue: Command) -> None:
    assert facevalue("new", "mine.toml", "--like", name).status == 0
    planned = facevalue("plan", "mine.toml", "--manifest", "list.csv")
    assert planned.status == 0, planned.err


def test_its_commands_say_what_it_needs_and_what_is_left_out(name: str, facevalue: Command) -> None:
    assert "pictures of your own: say which with --manifest" in facevalue("plan", name).err
    described = " ".join(facevalue("studies", name).out.split())
    assert f"arXiv {PAPERS[name]}" in described
    assert "which were not seen" in described
    assert "--manifest" in described
    assert f"{name} offers no" in facevalue("reproduce", name).err


def test_its_file_says_what_is_ours(name: str) -> None:
    text = file_text(name)
    head = text[: text.index("\nname =")]
    assert "# The paper's:" in head
    assert "# Not seen:" in head
    assert "# Ours: every" in head
    assert text.count("\n") < 260
    assert STUDIES[name].text
    assert tomllib.loads(text)["name"] == name


def test_pictures_without_a_column_are_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    lacking = {"beauty": "filter", "beyond-demographics": "changed"}.get(name, "race")
    path.write_text(path.read_text().replace(lacking, "mood", 1))
    with pytest.raises(FaceValueError, match=f"'{lacking}'") as error:
        fv.study(name, manifest=path)
    assert "\n" not in str(error.value)


def test_a_row_without_what_the_prompt_asks_about_is_named(tmp_path: Path) -> None:
    path = listed("reflect", tmp_path)
    path.write_text(path.read_text().replace("5.png,nurse 1,nurse,", "5.png,nurse 1,,"))
    with pytest.raises(FaceValueError, match=r"list\.csv: .*5.* has no 'occupation', which fills a slot"):
        fv.study("reflect", manifest=path)
    path.write_text(path.read_text().replace("5.png,nurse 1,,", "5.png,,nurse,"))
    with pytest.raises(FaceValueError, match=r"list\.csv: 'set' is empty: row 6"):
        fv.study("reflect", manifest=path)


def test_any_two_faces_of_a_photograph_are_a_pair(tmp_path: Path) -> None:
    study = fv.study("reflect-pairs", manifest=listed("reflect-pairs", tmp_path))
    assert study.plan().asked == 4 * (6 * 5 // 2) * 2 * 3  # photographs, pairs, sides, questions


def test_faces_may_be_named_as_the_question_presents_them(tmp_path: Path) -> None:
    study = STUDIES["reflect-pairs"].study({"manifest": str(listed("reflect-pairs", tmp_path))})
    texts = ["B", "Image B", "the person in image B", "(B)", "B.", "Image A and image B", "The person in B"]
    trials = study.design.trials(range(len(texts)))
    replies = pl.DataFrame({"repeat": 0, "status": "ok", "text": texts, "probs": None})
    answers = study.answer(pl.concat([trials, replies.cast({"probs": pl.List(pl.Float32)})], how="horizontal"))
    assert answers["na"].to_list() == [None, None, None, None, None, "both", "neither"]


def test_a_salary_is_a_number_and_income_a_choice_of_its_range(tmp_path: Path) -> None:
    study = STUDIES["reflect"].study({"manifest": str(listed("reflect", tmp_path))})
    prompts = {question.prompt for question in study.ask(study.design.trials(range(study.design.size)))}
    assert any("shows a nurse who was chosen" in prompt for prompt in prompts)
    assert any("E: $200,000 - $400,000, F: > $400,000" in prompt for prompt in prompts)
    units = {measure.key: measure.unit for measure in study.estimates.measures}
    assert (units["paired_gap.income"], units["paired_gap.salary"]) == ("points", "$")


def test_scenarios_have_two_to_four_options(tmp_path: Path) -> None:
    study = STUDIES["beauty"].study({"manifest": str(listed("beauty", tmp_path))})
    questions = study.ask(study.design.trials(range(study.design.size)))
    assert {len(question.options) for question in questions} == {2, 3, 4}


def test_flips_stand_beside_those_of_one_picture_asked_twice_and_refusals_apart(tmp_path: Path) -> None:
    study = fv.study("beyond-demographics", manifest=listed("beyond-demographics", tmp_path))
    estimates = fv.run(study, "sim/strong", tmp_path / "run").estimates()
    by_category = estimates.filter(pl.col("category").is_not_null(), pl.col("changed").is_null())
    for measure in ("flip_rate", "flip_floor", "refusal_rate"):
        assert set(by_category.filter(pl.col("measure") == measure)["category"]) == {kind for _, kind in CHANGES}


def test_studies_that_are_files_are_those_of_the_list() -> None:
    assert {*PAPERS} < {*DECLARED}


def test_a_file_narrows_it_and_names_its_list_from_its_own_folder(tmp_path: Path) -> None:
    listed("beauty", tmp_path)
    path = tmp_path / "few.toml"
    path.write_text('like = "beauty"\n[settings]\nmanifest = "list.csv"\nscenario = ["trust", "loan"]\n')
    study = fv.study(path)
    assert study.plan().asked == 24 * 2 * 2, "scenarios without the options that they alone lack"
    path.write_text('like = "beauty"\n[settings]\nmanifest = "../list.csv"\n')
    with pytest.raises(
        FaceValueError, match=r"few\.toml: line 3: The study names '\.\./list\.csv', which is not below"
    ):
        fv.study(path)
    path.write_text(file_text("beauty").replace("Gulati", "Somebody"))
    with pytest.raises(FaceValueError, match="a published study is called 'beauty'"):
        fv.study(path)
