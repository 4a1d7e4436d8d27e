"""Blinded by Context: applications rated beside a picture and without one."""

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

import facevalue as fv
from facevalue.studies import STUDIES, file_text
from tests.cli.conftest import Command, facevalue
from tests.measure_keys import by_key

__all__ = ["facevalue"]
SCENES = ("portrait", "casual", "hobby")
QUESTIONS = 10


def written_applicants(folder: Path) -> Path:
    """Eight applicants in three scenes each, and their list."""
    rows = ["path,set,scene,gender"]
    for number in range(8):
        for place, scene in enumerate(SCENES):
            Image.new("RGB", (8, 8), (20 * number, 80 * place, 90)).save(folder / f"{number}{scene}.png")
            rows.append(f"{number}{scene}.png,a{number},{scene},{('female', 'male')[number % 2]}")
    path = folder / "applicants.csv"
    path.write_text("\n".join(rows))
    return path


@pytest.fixture
def applicants(tmp_path: Path) -> Path:
    return written_applicants(tmp_path)


def test_the_file_says_what_is_the_paper_s_and_what_is_ours() -> None:
    text = file_text("blinded")
    document = tomllib.loads(text)
    head = text[: text.index("\nname =")]
    assert "# The paper's:" in head
    assert "# Not seen:" in head
    assert "# Ours: every text below" in head
    assert len(document["answer"]["scales"]) == QUESTIONS
    dimensions = [
        scale for name, scales in document["answer"]["means"].items() if name != "overall" for scale in scales
    ]
    assert sorted(dimensions) == sorted(document["answer"]["scales"])
    assert {(item["role"], item["quality"]) for item in document["item"]} == {
        (role, quality)
        for role in ("UI designer", "backend developer", "regulatory affairs specialist")
        for quality in ("medium", "low")
    }
    for wording in document["answer"]["scales"].values():
        assert f"\n{wording}" in document["prompt"]["text"]


@pytest.mark.slow
def test_it_is_planned_run_measured_and_reported(applicants: Path, tmp_path: Path) -> None:
    study = fv.study("blinded", manifest=applicants, kind="illustrated", seeds=["1", "2"])
    assert study.plan().asked == 8 * (len(SCENES) + 1) * 6 * 2
    opened = fv.run(study, "sim/strong", tmp_path / "run")
    estimates = by_key(opened.estimates())
    halo = estimates.filter(pl.col("family") == "halos")
    assert set(halo["scene"]) == set(SCENES)
    assert set(halo["measure"]) == {"halo.overall"}
    assert halo["clusters"].to_list() == [8] * len(SCENES)
    for row in halo.to_dicts():
        assert row["bound_low"] <= row["value"] <= row["bound_high"]
        assert row["p"] is not None
    names = {f"halo.{name}" for name in ("education", "skills", "experience", "personal", "cultural_fit")}
    assert names <= set(estimates["measure"])
    assert estimates.filter(pl.col("measure") == "mean.overall").height == 6
    assert "shift_gap.overall" in set(estimates["measure"])
    opened.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Nothing it answers is true of anyone." in page
    assert "made-up job applicants" in page
    assert "24 pictures ·" in page  # and no people: each picture is its own, and a question without one is no picture
    assert fv.open_run(tmp_path / "run").estimates().height == estimates.height


def test_nothing_is_found_where_nothing_is_planted(applicants: Path, tmp_path: Path) -> None:
    study = fv.study("blinded", manifest=applicants, kind="illustrated", seeds=["1"])
    estimates = fv.run(study, "sim/null", tmp_path / "run").estimates()
    halo = estimates.filter(pl.col("family").str.starts_with("halos"))
    assert halo.height
    assert not halo.filter(verdict="difference found").height, "an application without a picture is nobody's"


def test_a_run_of_one_job_resumes_and_two_are_compared(applicants: Path, tmp_path: Path) -> None:
    one = ["UI designer, medium", "UI designer, low"]
    for name in ("first", "second"):
        study = fv.study("blinded", manifest=applicants, kind="illustrated", application=one, seeds=["1"])
        fv.run(study, f"sim/strong@{len(name)}", tmp_path / name)
        assert fv.run(study, f"sim/strong@{len(name)}", tmp_path / name).estimates().height
    assert fv.compare(tmp_path / "first", tmp_path / "second") is not None


def test_its_commands_say_what_it_needs(applicants: Path, facevalue: Command) -> None:
    assert "pictures of your own: say which with --manifest" in facevalue("plan", "blinded").err
    described = " ".join(facevalue("studies", "blinded").out.split())
    assert "Findings of ACL 2025" in described
    assert "which were not seen" in described
    assert facevalue("new", "mine.toml", "--like", "blinded").status == 0
    planned = facevalue("plan", "mine.toml", "--manifest", "applicants.csv", "--detect", "0.3")
    assert planned.status == 0, planned.err
    assert "Mean rating" in planned.out or "mean rating" in planned.out
    applicants.write_text(applicants.read_text().replace("scene", "scenery", 1))
    assert "your list needs a column 'scene'" in facevalue("plan", "blinded", "--manifest", "applicants.csv").err
    assert STUDIES["blinded"].text


def test_an_application_whose_name_has_a_comma_is_chosen_on_the_command_line(
    applicants: Path, facevalue: Command
) -> None:
    options = ("--manifest", "applicants.csv", "--kind", "illustrated")
    whole, chosen = (
        json.loads(facevalue("plan", "blinded", *options, *more, "--json").out)["requests"]
        for more in ((), ("--application", "UI designer, low,backend developer, medium"))
    )
    assert 3 * chosen == whole
