"""`facevalue plan STUDY --paper-table NAME`."""

import json
from dataclasses import replace

import pytest

from facevalue import studies
from facevalue.protocol.offers import PrintedBlock, PrintedPlan
from tests.cli.conftest import Command


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study whose paper counts what it asked."""
    blocks = (PrintedBlock("faces", 30, 2, 3, 1), PrintedBlock("faces again", 30, 2, 1, 1))
    plan = PrintedPlan("Table 1: requests", blocks, 180, ("The second row is part of the first.",))
    one = studies.STUDIES["modscan"]
    monkeypatch.setitem(studies.STUDIES, "modscan", replace(one, extras=replace(one.extras, plans={"1": lambda: plan})))


@pytest.mark.usefixtures("printed")
def test_what_a_paper_counts_is_shown_alike_for_people_and_machines(facevalue: Command) -> None:
    found = json.loads(facevalue("plan", "modscan", "--paper-table", "1", "--json").out)
    assert [(block["name"], block["trials"]) for block in found["blocks"]] == [("faces", 180), ("faces again", 60)]
    assert (found["total"], found["distinct"], len(found["notes"])) == (240, 180, 1)
    shown = facevalue("plan", "modscan", "--paper-table", "1")
    assert shown.status == 0
    for text in ("Table 1: requests", "faces again", "240", "180", "The second row is part of the first."):
        assert text in shown.out
    assert "models" not in shown.out


@pytest.mark.usefixtures("printed")
def test_other_names_and_other_studies_are_one_sentence(facevalue: Command) -> None:
    unknown = facevalue("plan", "modscan", "--paper-table", "2")
    assert (unknown.status, "the paper's plans of modscan are 1" in unknown.err) == (2, True)
    other = facevalue("plan", "vignette", "--paper-table", "1")
    assert other.status == 2
    assert "vignette offers no plan of its paper" in other.err
    assert "modscan" in other.err


def test_counterfactuals_offers_what_its_paper_counts(facevalue: Command) -> None:
    counted = {name: json.loads(facevalue("plan", "counterfactuals", "--paper-table", name, "--json").out)
               for name in ("8", "gpt-4o", "twin")}  # fmt: skip
    assert {name: found["total"] for name, found in counted.items()} == {
        "8": 57_116_970,
        "gpt-4o": 78_000,
        "twin": 2_562_480,
    }
    assert counted["8"]["distinct"] == 56_359_170
    assert "counterfactuals does" in facevalue("plan", "vignette", "--paper-table", "8").err


def test_very_many_pictures_are_left_to_the_run_to_look_at(facevalue: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facevalue.cli.actions.planning._LOOKED_AT", 100)
    out = facevalue("plan", "counterfactuals", "--sets", "6")
    assert "120 pictures are too many to look at here" in out.err
    assert "Everything takes" in out.out
