"""`facevalue compare`: what it prints and how it fails."""

import json
import math
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from facevalue.cli import main
from facevalue.cli.actions import compare as command
from facevalue.cli.actions.compare import text
from facevalue.measures.estimates import estimate_schema
from facevalue.runs.comparisons.comparison import ComparedPair, RunComparison
from facevalue.studies.vignette import COMPARED
from facevalue.studies.vignette.measures import LABELS
from facevalue.studies.vignette.measures import MEASURES as VIGNETTE
from tests.runs.left_out import compared_tables, declared

STUDY = declared("vignette", VIGNETTE, COMPARED, LABELS)

Said = tuple[int, str, str]
Command = Callable[..., Said]


@pytest.fixture
def facevalue(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Run a command line in a folder of its own; gives status, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def called(*args: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["facevalue", *args])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return called


def estimates(activities: int = 2, shift: float = 0.0, **more: Any) -> pl.DataFrame:
    """Selection frequencies of two identities and both genders."""
    rows = [
        {
            "study": "vignette", "measure": "selection_frequency", "model": "m", "paradigm": "decision",
            "dimension": "race",
            "contrast": "identity", "gender": gender, "identity": who, "activity": f"a{k}", "se": 2.0, "n": 96,
            "clusters": 16, "low": 0.0,
            "value": 43.75 + (shift if (who, gender, k) == ("asian", "male", 0) else 0.0), **more,
        }
        for gender in ("female", "male")
        for who in ("black", "asian")
        for k in range(activities)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=estimate_schema(LABELS), strict=False)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders named real and drawn stand for two runs that were measured."""
    tables = {"real": estimates(), "drawn": estimates(shift=-40.0)}
    named = {name: SimpleNamespace(folder=Path(name), facts=SimpleNamespace(name="")) for name in tables}
    monkeypatch.setattr(command, "open_all", lambda texts: [named[text] for text in texts])

    def compared(runs: Any, margin: float | None, *_options: object) -> RunComparison:
        names = tuple(run.folder.name for run in runs)
        first, second = names
        agreement = compared_tables(STUDY, tables[first], tables[second], margin)
        pair = ComparedPair("vignette", first, second, replace(agreement, notes=("A note.",)), runs, (), None, ())
        return RunComparison((pair,), {"vignette": names}, {"vignette": {"temperature": [0.2, None]}})

    monkeypatch.setattr(command, "compare_all", compared)


@pytest.mark.usefixtures("runs")
def test_it_prints_the_papers_tables(facevalue: Command) -> None:
    status, out, _ = facevalue("compare", "real", "drawn")
    assert status == 0
    assert "A note." in out
    assert re.search(r"temperature +0.2 +–", out)
    assert "Compared on the 20 pictures that both runs were asked about." in out
    assert "drawn differs from real in 1 of 8 cells." in out
    lines = out.splitlines()
    heading = next(i for i, line in enumerate(lines) if "mean delta" in line)
    assert "−5.0" in lines[heading + 1]
    assert re.search(r"page −?\d+\.\d+ to −?\d+\.\d+", lines[heading + 3])
    assert "drawn minus real" in out
    assert "male asian" in out
    assert "43.8% → 3.8% (−40.0)*" in out


@pytest.mark.usefixtures("runs")
def test_json_and_csv_have_every_cell(facevalue: Command) -> None:
    status, out, _ = facevalue("compare", "real", "drawn", "--json", "--out", "cells.csv")
    assert status == 0
    (said,) = json.loads(out)["comparisons"]
    assert len(said["cells"]) == 8
    assert said["became"] == {"lower": 1}
    written = pl.read_csv("cells.csv")
    assert written["delta"].to_list() == [cell["delta"] for cell in said["cells"]]
    assert {"dimension", "gender", "identity", "activity", "first", "second", "delta", "p", "q_page", "verdict"} <= set(
        written.columns
    )


def test_another_ending_than_csv_is_wrong_usage(facevalue: Command) -> None:
    status, _, err = facevalue("compare", "real", "drawn", "--out", "cells.xlsx")
    assert status == 2
    assert "not a .csv file of all cells, nor an .html page" in err


def test_what_is_no_run_is_one_message(facevalue: Command) -> None:
    status, _, err = facevalue("compare", "real", "drawn")
    assert status == 1
    assert err.startswith("Error: ")
    assert "Traceback" not in err


TINY = {
    "stylisticbias": ("--faces", "8", "--scenario", "wealthy", "--attributes", "eyewear", "--seeds", "1"),
    "vignette": (
        *("--drawings", "none", "--dimension", "race", "--activity", "cooking,programming"),
        *("--gender", "male", "--paradigm", "decision"),
    ),
    "visbias": ("--task", "mcq", "--question", "income", "--occupation", "doctor,cook"),
}


@pytest.mark.parametrize(
    ("study", "measure", "shown"),
    [
        ("stylisticbias", "shift", "Eyewear sunglasses"),
        ("vignette", "selection_frequency", "white American"),
        ("visbias", "choice_share", "income, over 100k"),
    ],
)
def test_runs_of_every_study_are_compared(
    facevalue: Command, monkeypatch: pytest.MonkeyPatch, study: str, measure: str, shown: str
) -> None:
    monkeypatch.setenv("FACEVALUE_CACHE", "cache")
    for folder, model in (("a", "sim/default"), ("b", "sim/default@1")):
        assert facevalue("run", study, "--model", model, "--out", folder, *TINY[study])[0] == 0
    status, out, err = facevalue("compare", "a", "b", "--out", "cells.csv")
    assert status == 0, err
    assert ("Over all: b minus a, points" in out) != ("can be judged in any of" in out)
    assert shown in out
    (said,) = json.loads(facevalue("compare", "a", "b", "--json")[1])["comparisons"]
    assert "identity_1" not in out
    assert "skin_tone" not in out
    assert list(said["measures"]) == [measure]
    cells = pl.read_csv("cells.csv")
    assert cells.height == said["cells_matched"] >= 2
    assert (cells["delta"] - (cells["second"] - cells["first"])).abs().max() == pytest.approx(0, abs=1e-9)
    assert "compared with itself" in facevalue("compare", "a", "a")[2]


def test_runs_about_one_face_have_no_difference_that_can_be_judged(
    facevalue: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACEVALUE_CACHE", "cache")
    small = ("--faces", "1", "--scenario", "wealthy", "--attributes", "eyewear", "--seeds", "1")
    for folder in ("a", "b"):
        assert facevalue("run", "stylisticbias", "--model", "sim/default", "--out", folder, *small)[0] == 0
    status, out, err = facevalue("compare", "a", "b")
    assert status == 0, err
    assert "No difference between b and a can be judged in any of 2 cells: not measurable." in " ".join(out.split())


def test_many_activities_are_listed_by_size() -> None:
    console = Console(width=160, record=True, file=StringIO())
    console.print(*text(compared_tables(STUDY, estimates(9), estimates(9, shift=12.0)), ("real", "drawn")), sep="\n")
    said = console.export_text().splitlines()
    start = next(i for i, line in enumerate(said) if "largest of 36" in line)
    assert "male asian" in said[start + 2]
    assert "(+12.0)" in said[start + 2]


def test_identities_are_worded_as_the_study_words_them() -> None:
    console = Console(width=160, record=True, file=StringIO())
    found = compared_tables(STUDY, estimates(3), estimates(2), titles={"identity": {"asian": "Asian"}})
    console.print(*text(found, ("real", "drawn")), sep="\n")
    said = console.export_text()
    assert "male Asian" in said
    assert "female Asian a2" in said
    assert "male black" in said
    assert "asian" not in said


@pytest.mark.parametrize(("size", "delta"), [(0.01, "(+0.10)"), (1000.0, "(+10,000)")])
def test_values_without_limits_have_the_decimals_that_their_size_needs(size: float, delta: str) -> None:
    unlimited = tuple(replace(one, limits=(-math.inf, math.inf), unit="words") for one in VIGNETTE)
    first = estimates().with_columns(
        pl.lit(10.0 * size).alias("value"), pl.lit(size / 4).alias("se"), pl.lit("words").alias("unit")
    )
    second = first.with_columns(pl.col("value") + 10.0 * size)
    console = Console(width=200, record=True, file=StringIO())
    console.print(
        *text(compared_tables(declared("vignette", unlimited, COMPARED, LABELS), first, second), ("real", "drawn")),
        sep="\n",
    )
    assert delta in console.export_text()


def test_cells_of_one_run_only_are_named() -> None:
    console = Console(width=160, record=True, file=StringIO())
    console.print(*text(compared_tables(STUDY, estimates(3), estimates(2)), ("real", "drawn")), sep="\n")
    assert "Only in real: 4 cells (race decision identity female black a2" in console.export_text()


def test_no_number_is_cut_beside_two_labels_in_80_columns() -> None:
    row = {"modality": "language", "attribute": "skin tone", "n": 136, "cells": 136, "value": -0.123,
           "low": -0.234, "high": -0.012, "floor": 0.1, "p": 0.001, "verdict": "difference found",
           "method": "t", "detail": ""}  # fmt: skip
    agreement = compared_tables(STUDY, estimates(), estimates())
    agreement = replace(agreement, measures=(replace(agreement.measures[0], limits=(0.0, 1.0), unit="share"),))
    rows = pl.DataFrame([{**row, "statistic": name} for name in command._TITLES])
    out = StringIO()
    Console(file=out, width=80).print(command._summary(rows, ["modality", "attribute"], "Over all", agreement))
    assert "…" not in out.getvalue()
    assert "p .001" in out.getvalue()
    assert "p < .001" in command._statistic({**row, "p": 0.00002, "statistic": "rmse"}, agreement)
    assert out.getvalue().count("−23.4") == out.getvalue().count("−1.2") == len(command._TITLES)


def test_no_table_over_all_cells_stands_where_none_can_be_judged(facevalue: Command) -> None:
    for name in ("default", "strong"):
        assert facevalue("run", "vignette", "--sample", "150", "--model", f"sim/{name}", "--out", name)[0] == 0
    out = facevalue("compare", "default", "strong", "--out", "page.html")[1]
    assert "not measurable" in out
    assert "Over all" not in out
    assert "All cells together" not in Path("page.html").read_text()


def test_no_cell_with_an_interval_is_no_row_and_no_traceback() -> None:
    none = SimpleNamespace()
    assert command._summary(pl.DataFrame(schema={"cells": pl.Int64}), [], "Over all", none).row_count == 0  # type: ignore[arg-type]
