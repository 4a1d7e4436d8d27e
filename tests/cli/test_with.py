"""`--with`: interventions on the command line."""

import json
from pathlib import Path

import polars as pl

from facevalue.measures.definitions import NO_INTERVENTION
from tests.cli.conftest import Command

SMALL = ("--faces", "6", "--scenario", "wealthy", "--attributes", "eyewear", "--seeds", "1")
MINE = '[[intervention]]\nname = "judge"\nbefore = "Act as a judge."\n'


def test_a_plan_counts_every_condition(facevalue: Command) -> None:
    plain, both = (
        json.loads(facevalue("plan", "stylisticbias", *SMALL, "--json", *more).out)
        for more in ((), ("--with", "sr", "--with", "cipher"))
    )
    assert both["requests"] == 3 * plain["requests"]
    assert both["trials"] == 3 * plain["trials"]
    assert {block["factors"]["intervention"] for block in both["blocks"]} == {"plain", "sr", "cipher"}


def test_a_plan_names_the_conditions_for_people(facevalue: Command) -> None:
    assert "+ sr" in facevalue("plan", "stylisticbias", *SMALL, "--with", "sr").out


def test_a_run_with_a_file_of_interventions_is_measured_and_reported(facevalue: Command) -> None:
    Path("mine.toml").write_text(MINE)
    asked = ("run", "stylisticbias", *SMALL, "--model", "sim/default", "--with", "mine.toml")
    assert facevalue(*asked).status == 0
    folder = "runs/stylisticbias-sim-default+judge"
    measured = facevalue("measure", folder, "--out", "e.parquet")
    assert "sim/default + judge: " in measured.out
    assert "Replies without a valid answer: " in measured.out
    found = pl.read_parquet("e.parquet")
    assert set(found.select("model", "intervention").rows()) == {("sim/default", None), ("sim/default", "judge")}
    assert NO_INTERVENTION in found.filter(measure="shift")["versus"]
    assert facevalue("report", folder).status == 0
    assert "sim/default + judge" in (Path(folder) / "report.html").read_text()
    assert facevalue("export", folder, "--out", "e.csv").status == 0
    assert "Act as a judge." in Path("e.csv").read_text()
    Path("mine.toml").write_text(MINE.replace("judge.", "lawyer."))
    changed = facevalue(*asked)
    assert changed.status == 1
    assert "intervention judge" in changed.err


def test_mistakes_are_one_message(facevalue: Command) -> None:
    for given, status, said in (("ciper", 2, "'cipher'"), ("none.toml", 1, "none.toml")):
        outcome = facevalue("run", "stylisticbias", *SMALL, "--model", "sim/default", "--with", given)
        assert outcome.status == status
        assert said in outcome.err
        assert "Traceback" not in outcome.err
