"""From nothing to a plan of each study on pictures that were made for it: made, listed, checked, read."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from facevalue.cli.app import app

OWN = """name = "worn"
[pictures]
kind = "manifest"
cue = "worn"
[make]
prompt = "A portrait of a {age} {gender}."
[make.factor.age]
levels = ["young", "old"]
[make.factor.gender]
levels = { female = "woman", male = "man" }
[make.edit]
sunglasses = "Add sunglasses."
[prompt]
text = "Would you hire this person?"
[answer]
kind = "yes-no"
[[estimand]]
statistic = "shift"
by = ["worn"]
"""
MADE = {
    "stylisticbias": (("--faces", "2", "--variations", "sunglasses,formal"), 2 * 4, 2 * 4),
    "vignette": (("--identity", "old,young", "--activity", "cooking", "--gender", "male"), 4, 4),
    "modscan": (("--instances", "geek,slob", "--per-persona", "2"), 4, 4),
    "counterfactuals": (("--subset", "race-gender", "--sets", "1"), 13, 12),
    "visbias": (("--occupation", "cook", "--per-group", "1"), 10, 10),
    "editor": (("--sets", "1", "--race", "Black", "--age", "elderly"), 2 * 7, 2 * 6),
    "worn.toml": (("--null-edits",), 4 * 3, 4 * 2),  # a null edit is drawn as its base is
}
"""How each is narrowed; pictures that are made, and those that the study shows."""


def facevalue(*args: str) -> str:
    outcome = CliRunner().invoke(app, args, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


@pytest.mark.parametrize("study", MADE)
def test_what_is_made_for_a_study_is_what_it_shows(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("worn.toml").write_text(OWN)
    narrowed, made, shown = MADE[study]
    edits = () if study in ("vignette", "modscan", "visbias") else ("--editor", "drawn")
    facevalue("make", study, *narrowed, "--generator", "drawn", *edits, "--out", "made")
    manifest = pl.read_parquet("made/manifest.parquet")
    assert manifest.height == made
    check = json.loads(facevalue("manifest", "check", "made/manifest.parquet", "--for", study, "--json"))
    assert not check["refused"]
    plan = json.loads(facevalue("plan", study, "--manifest", "made/manifest.parquet", "--json"))
    assert plan["trials"] > 0
    assert check["use"]["used"] == shown


def test_pictures_that_were_made_are_the_sources_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    facevalue("make", "stylisticbias", "--faces", "2", "--grid", "none", "--generator", "drawn", "--out", "faces")
    sources = ("--sources", "faces/manifest.parquet", "--edit", "cap")
    facevalue("make", "editor", *sources, "--generator", "sim/lighten=6:gender@7", "--out", "edits")
    manifest = pl.read_parquet("edits/manifest.parquet")
    assert manifest["cue"].to_list() == [None, "no change", "cap"] * 2
    assert manifest["editor"].null_count() == 2
    check = json.loads(facevalue("manifest", "check", "edits/manifest.parquet", "--for", "editor", "--json"))
    assert (check["refused"], check["use"]["used"]) == ([], 6)
