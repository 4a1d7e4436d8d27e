"""What studies offer, and what commands say where one does not."""

import json
from pathlib import Path

import pytest

from facevalue import studies
from tests.cli.conftest import Command

VIGNETTE = (
    *("run", "vignette", "--drawings", "none", "--dimension", "race", "--activity", "cooking", "--gender", "male"),
    *("--paradigm", "decision", "--model", "sim/default", "--out", "r"),
)
STUDIES_WITHOUT_GAPS = ("visbias", "modscan", "counterfactuals")
"""Those of which nothing is known to be left out."""


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ("make", "gras", "--prompts", "p.csv"),
            "gras offers no pictures to be made; stylisticbias, vignette,",
        ),
        (("make", "vignete", "--prompts", "p.csv"), "Did you mean 'vignette'?"),
        (("reproduce", "stylisticbais"), "Did you mean 'stylisticbias' or 'visbias'?"),
        (("reproduce", "visbias"), "visbias is recomputed from its released answers"),
        (("reproduce", "vignette", "--data", "."), "there is no --data"),
        (("calibrate", "visbais"), "Did you mean 'visbias'?"),
        (("calibrate", "visbias", "--sizes", "65"), "times the smallest audit from 1 to 64"),
        (("plan", "vignete"), "Did you mean 'vignette'?"),
    ],
)
def test_what_a_study_does_not_offer_is_one_sentence(facevalue: Command, args: tuple[str, ...], says: str) -> None:
    outcome = facevalue(*args)
    assert outcome.status == 2
    assert says in outcome.err
    assert "Traceback" not in outcome.err


def test_so_it_is_for_runs(facevalue: Command) -> None:
    assert facevalue(*VIGNETTE).status == 0
    judged = facevalue("judge", "r", "--model", "sim/default")
    assert judged.status == 1
    assert "r: vignette offers no replies that a judge may sort; visbias, counterfactuals, bbq-v-open" in judged.err


def test_the_list_says_what_each_offers(facevalue: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = facevalue("studies").out
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    said = json.loads(facevalue("studies", "--json").out)
    assert said["unavailable"] == {}
    assert {one["name"]: one["offers"] for one in said["studies"] if one["offers"]} == {
        "stylisticbias": ["reproduce", "make", "demo"],
        "vignette": ["reproduce", "make"],
        "visbias": ["reproduce", "make", "judge"],
        "modscan": ["reproduce", "make"],
        "counterfactuals": ["reproduce", "make", "judge", "annotate"],
        "bbq-v": ["reproduce"],
        "bbq-v-open": ["judge"],
        "editor": ["make"],
        "gras": ["reproduce"],
        "cultural-counterfactuals": ["annotate"],
        "cross-cultural-values": ["judge"],
    }


@pytest.mark.parametrize("command", ["make", "reproduce"])
def test_help_names_the_studies_that_offer_it(facevalue: Command, command: str) -> None:
    out = facevalue(command, "--help").out
    for name, one in studies.STUDIES.items():
        assert (name in out) == (command in one.extras.commands)


def test_a_study_is_described_with_its_paper_and_what_is_left_out(facevalue: Command) -> None:
    out = " ".join(facevalue("studies", "gras").out.split())
    assert "Ask Me Again Differently" in out
    assert "needs faces of your own (--manifest)" in out
    assert "left out the paper's templates of single models" in out
    assert "note This study asks a model whether people look cruel" in out
    assert "left out" not in facevalue("studies", "visbias").out
    assert "Did you mean 'gras'?" in facevalue("studies", "grass").err


def test_every_study_says_its_paper_and_what_it_needs(facevalue: Command) -> None:
    for study in json.loads(facevalue("studies", "--json").out)["studies"]:
        assert study["paper"]
        assert study["needs"]
        assert study["name"] in STUDIES_WITHOUT_GAPS or study["left_out"]


def test_a_file_of_ones_own_is_described_too(facevalue: Command, tmp_path: Path) -> None:
    facevalue("new", "mine.toml", "--like", "gras")
    described = json.loads(facevalue("studies", "mine.toml", "--json").out)["studies"]
    assert [study["name"] for study in described] == ["mine"]
    assert described[0]["left_out"].startswith("the paper's templates")
