"""What commands print with `--json`: one document each, as its schema says; `check_document` validates every one."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from jsonschema import Draft202012Validator

from facevalue.cli.actions.schema import of_type, printing_commands, schema
from facevalue.cli.app import GROUPS
from facevalue.cli.output import Document, to_json
from tests.cli.conftest import Command, documents
from tests.cli.test_manifest import draw

SMALL = ("--faces", "2", "--scenario", "wealthy", "--attributes", "eyewear", "--seeds", "1")


@dataclass(frozen=True)
class Sizes(Document):
    """Sizes."""

    FORMAT: ClassVar[str] = "sizes"
    values: tuple[float | None, ...]
    """What was measured; null where nothing was."""
    kind: Literal["small", "large"] = "small"


def test_every_command_has_json_and_a_schema(facevalue: Command) -> None:
    commands = dict(printing_commands())
    names = {name.split()[0] for name in commands}
    assert {name for _, group in GROUPS.values() for name in group} - names == {"schema"}
    assert facevalue("schema").out.split("\n")[:-1] == list(commands)
    for name in commands:
        printed = facevalue("schema", *name.split())
        assert printed.status == 0, name
        Draft202012Validator.check_schema(json.loads(printed.out))
    assert len(documents()) >= len(commands) - 3  # commands that write files print one kind of document
    assert facevalue("schema", "mesure").status == 2


def test_numbers_are_in_full_and_what_is_no_number_is_null_with_its_reason() -> None:
    document = json.loads(to_json(Sizes((0.1 + 0.2, math.nan, math.inf, None)), ["odd"]))
    assert document["values"] == [0.30000000000000004, None, None, None]
    assert document["not_finite"] == {"/values/1": "NaN", "/values/2": "Infinity"}
    assert document["warnings"] == ["odd"]
    Draft202012Validator(schema([Sizes])).validate(document)


def test_a_schema_says_what_fields_mean_and_holds_nothing_else() -> None:
    described = of_type(Sizes)
    assert described["properties"]["values"]["description"] == "What was measured; null where nothing was."
    assert described["properties"]["kind"]["enum"] == ["small", "large"]
    assert described["additionalProperties"] is False


def test_commands_about_runs_print_documents(facevalue: Command) -> None:
    def document(*args: str) -> dict[str, object]:
        outcome = facevalue(*args, "--json")
        assert outcome.status == 0, (args, outcome.err)
        return dict(json.loads(outcome.out))

    ran = document("run", "stylisticbias", *SMALL, "--model", "sim/default", "--out", "a")
    assert (ran["complete"], ran["prompt_tokens"]) == (True, None)
    assert document("status", "a")["state"] == "stopped"
    assert document("verify", "a")["runs"][0]["state"] == "sound"  # type: ignore[index]
    measured = document("measure", "a", "--out", "a.csv")
    estimates = measured["estimates"]
    answer = measured["answer"]
    assert isinstance(answer, dict)
    assert answer["sentence"] == document("report", "a")["page"]["headline"]["sentence"]  # type: ignore[index]
    assert answer["verdict"] == "too little asked to tell"
    for kind in answer["compared"]:
        assert kind["comparisons"] == kind["differ"] + kind["equivalent"] + kind["undecided"] > 0
    assert answer["next_steps"]
    assert isinstance(estimates, list)
    assert all(row["detail"].startswith("not measurable") or row["value"] is not None for row in estimates)
    assert document("measure", "a", "--explain", "shift")["unit"]
    assert document("report", "a")["page"]["headline"]["sentence"]  # type: ignore[index]
    assert document("export", "a", "--out", "a.parquet")["rows"] == 24
    assert document("run", "stylisticbias", *SMALL, "--model", "sim/strong", "--out", "b")["complete"]
    comparisons: Any = document("compare", "a", "b")["comparisons"]
    assert comparisons[0]["cells_matched"]


def test_other_commands_print_documents(facevalue: Command) -> None:
    for args in (
        ("studies",),
        ("studies", "gras"),
        ("new", "mine.toml"),
        ("plan", "mine.toml", "--detect", "0.1"),
        ("plan", "stylisticbias", "--faces", "60", "--sample", "24120", "--price-in", "1"),
        ("plan", "vignette", "--dimension", "race"),
        ("plan", "counterfactuals", "--paper-table", "8"),
        ("make", "stylisticbias", "--prompts", "p.csv"),
    ):
        outcome = facevalue(*args, "--json")
        assert outcome.status == 0, (args, outcome.err)
        assert outcome.out.startswith("{")


def test_a_list_of_pictures_is_checked_in_json(facevalue: Command) -> None:
    draw(Path("p/ann/base.png"))
    draw(Path("p/ann/cap.png"))
    begun = facevalue("manifest", "init", "p", "--for", "stylisticbias", "--json")
    assert json.loads(begun.out)["pictures"] == 2
    Path("p/ann/cap.png").unlink()
    checked = facevalue("manifest", "check", "p/manifest.csv", "--json")
    assert checked.status == 1
    assert json.loads(checked.out)["refused"]


def test_an_error_prints_no_document(facevalue: Command) -> None:
    outcome = facevalue("measure", "nowhere", "--json")
    assert (outcome.status, outcome.out) == (1, "")
    assert "There is no folder" in outcome.err


@pytest.mark.slow
def test_a_calibration_prints_its_numbers(facevalue: Command) -> None:
    facevalue("new", "mine.toml")
    outcome = facevalue("calibrate", "mine.toml", "--repetitions", "1", "--sizes", "1", "--processes", "0", "--json")
    assert json.loads(outcome.out)["tables"]["summary"]
