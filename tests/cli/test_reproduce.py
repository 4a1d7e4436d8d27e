"""`facevalue reproduce` as a user types it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from facevalue.cli import main
from tests.reference import reference


class Outcome(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def facevalue(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.setenv("COLUMNS", "160")

    def command(*args: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["facevalue", *args])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return Outcome(end.value.code if isinstance(end.value.code, int) else 0, said.out, said.err)

    return command


@pytest.mark.parametrize("study", ["vignette", "stylisticbias", "modscan"])
def test_json_holds_the_cells(facevalue: Command, study: str) -> None:
    done = facevalue("reproduce", study, "--json")
    assert done.status == 0
    found = json.loads(done.out)
    assert (found["format"], found["study"]) == ("facevalue-reproduce", study)
    assert len(found["cells"]) > 100
    for cell in found["cells"]:
        assert list(cell) == ["table", "row", "column", "published", "recomputed", "same", "note"]
        assert cell["same"] in (True, False, None)
    assert "left out" in done.err


def test_tables_show_counts_and_differences_first(facevalue: Command) -> None:
    done = facevalue("reproduce", "vignette")
    assert done.status == 0
    assert "Table 8: pictures: 90 of 90 the same" in done.out
    part = done.out[done.out.index("Table 11: ") : done.out.index("Table 12: ")]
    assert "8 of 14 the same" in part
    verdicts = [
        cell for line in part.splitlines() for cell in map(str.strip, line.split("│")) if cell in ("differs", "same")
    ]
    assert verdicts == ["differs"] * 6 + ["same"] * 8
    assert "[activity]" in part
    assert "In all: 183 of 190 the same." in done.out


def test_visbias_says_that_it_needs_its_answers(facevalue: Command) -> None:
    done = facevalue("reproduce", "visbias")
    assert done.status == 2
    assert "--data DIR" in done.err
    assert facevalue("reproduce", "vignette", "--data", ".").status == 2
    done = facevalue("reproduce", "visbais")
    assert done.status == 2
    assert "Did you mean 'visbias'" in done.err


def test_a_difference_without_a_reason_is_status_1(facevalue: Command, tmp_path: Path) -> None:
    counts = "model,race,gender,question,choice,count\n"
    counts += "".join(
        f"gpt-4v,{race},{gender},income,{'A' if gender == 'male' else 'B'},35\n"
        for race in ("asian", "black", "latino", "ME", "white")
        for gender in ("female", "male")
    )
    (tmp_path / "mcq_counts.csv").write_text(counts)
    done = facevalue("reproduce", "visbias", "--data", str(tmp_path))
    assert done.status == 1
    assert "for no known reason" in done.out


def test_a_folder_without_the_answers_is_one_message(facevalue: Command, tmp_path: Path) -> None:
    done = facevalue("reproduce", "visbias", "--data", str(tmp_path))
    assert done.status == 1
    assert done.err.startswith("Error: ")
    assert "none of the released answers" in done.err


@pytest.mark.slow
def test_the_released_answers_leave_no_difference_unexplained(facevalue: Command) -> None:
    folder = reference("visbias", "mcq.csv").parent
    done = facevalue("reproduce", "visbias", "--data", str(folder), "--json")
    assert done.status == 0
    same = [cell["same"] for cell in json.loads(done.out)["cells"]]
    assert same.count(True) == 121
    assert same.count(False) == 5


def test_metadata_of_sets_may_be_given(facevalue: Command, tmp_path: Path) -> None:
    (tmp_path / "metadata_physical_race.csv").write_text("seed,caption_30\n1,a skinny White barber\n")
    done = facevalue("reproduce", "counterfactuals", "--data", str(tmp_path))
    assert done.status == 0
    assert "sets of the metadata" in done.out
    missing = facevalue("reproduce", "counterfactuals", "--data", str(tmp_path / "none"))
    assert (missing.status, "There is no folder" in missing.err) == (1, True)
