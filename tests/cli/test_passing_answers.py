"""Reports with and without pictures that fail their checks: an effect that hangs on these falls away."""

import io
from pathlib import Path

import PIL.Image
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import DataError
from facevalue.parquet import parquet_bytes
from facevalue.protocol.checked_pictures import SEAL, TABLE, sealed_verdicts
from facevalue.runs.passing_answers import passing_answers
from tests.cli.conftest import Command

STUDY = """
name = "hired"
title = "Hired"
citation = "Ours."
[pictures]
kind = "manifest"
cue = "cue"
base = "none"
[prompt]
text = "How likely is this person to be hired? (picture {mark})"
[answer]
kind = "rating"
low = 1
high = 10
[[take]]
measure = "shift"
by = ["cue"]
"""
PEOPLE = 24


def write_checks(folder: Path, accepted: dict[str, bool]) -> Path:
    """Checks as inspect-pictures leaves them."""
    folder.mkdir()
    rows = {"image": list(accepted), "accepted": list(accepted.values())}
    table = pl.DataFrame(rows).with_columns(
        pl.when("accepted").then(pl.lit("")).otherwise(pl.lit("shift at most 2")).alias("reasons")
    )
    data = parquet_bytes(table)
    (folder / TABLE).write_bytes(data)
    (folder / SEAL).write_bytes(sealed_verdicts(data, ""))
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose model rates pictures with a mark by 4 more: half of those with a cap, all of which fail."""
    folder = tmp_path_factory.mktemp("passing")
    rows, accepted = [], {}
    for person in range(PEOPLE):
        for cue in ("none", "cap"):
            name = f"p{person}-{cue}"
            fails = cue == "cap" and person % 2 == 0
            buffer = io.BytesIO()
            PIL.Image.new("RGB", (40, 40), (person * 10, 90, 40 + 100 * (cue == "cap"))).save(buffer, "PNG")
            (folder / f"{name}.png").write_bytes(buffer.getvalue())
            mark = f"{(person // 2 + 2 * (cue == 'cap')) % 4} {'x' if fails else 'o'}"
            rows.append({"image": name, "path": f"{name}.png", "identity": f"p{person}", "cue": cue, "mark": mark})
            accepted[name] = not fails
    pl.DataFrame(rows).write_csv(folder / "list.csv")
    (folder / "hired.toml").write_text(STUDY)

    def rate(question: fv.Question) -> str:
        mark = question.prompt.split("picture ")[1]
        return str(3 + int(mark[0]) + 4 * ("x" in mark))

    study = fv.study(folder / "hired.toml", manifest=str(folder / "list.csv"), seeds=1)
    fv.run(study, rate, folder / "run", progress=False)
    write_checks(folder / "checks", accepted)
    write_checks(folder / "all", dict.fromkeys(accepted, True))
    write_checks(folder / "nothing", dict.fromkeys(accepted, False))
    write_checks(folder / "few", dict.fromkeys(list(accepted)[:9], True))
    return folder


def test_an_effect_that_hangs_on_pictures_that_fail_falls_away(place: Path) -> None:
    run = fv.open_run(place / "run").stored
    passing = passing_answers([run], place / "checks")
    assert passing.sentence == "12 of 48 pictures fail their checks; 12 of 48 answers are about them."
    assert not passing.why_none
    (agreement,) = passing.by_model.values()
    row = agreement.cells.row(0, named=True)
    assert (row["first"], row["second"]) == pytest.approx((2, 0), abs=0.35)
    assert row["low"] < -2 < row["high"] < 0
    assert row["verdict"] == "difference found"


def test_one_report_shows_results_with_and_without_them(place: Path, facevalue: Command) -> None:
    done = facevalue("report", str(place / "run"), "--checks", str(place / "checks"), "--out", "page.html", "--json")
    assert done.status == 0
    page = Path("page.html").read_text()
    assert "With and without pictures that fail" in page
    assert "12 of 48 answers are about them" in page
    assert '"pictures_that_pass"' in done.out
    plain = fv.open_run(place / "run").report("plain.html")
    assert "With and without pictures that fail" not in Path(plain).read_text()
    checked = fv.open_run(place / "run").report("checked.html", checks=place / "checks")
    text = Path(checked).read_text()
    assert "The result on those that pass differs from the result on all pictures in 1 of 1 cell" in text


@pytest.mark.parametrize(
    ("checks", "sentence"), [("all", "Every picture passes"), ("nothing", "No answer is about a picture that passes")]
)
def test_where_nothing_or_everything_fails_it_says_so(place: Path, checks: str, sentence: str) -> None:
    passing = passing_answers([fv.open_run(place / "run").stored], place / checks)
    assert not passing.by_model
    assert passing.why_none.startswith(sentence)


def test_checks_of_other_pictures_are_refused(place: Path) -> None:
    with pytest.raises(DataError, match=r"39 of 48 pictures of the run were not checked"):
        passing_answers([fv.open_run(place / "run").stored], place / "few")
    with pytest.raises(DataError, match="is no folder that facevalue inspect-pictures finished"):
        passing_answers([fv.open_run(place / "run").stored], place / "run")
