"""What people say of pictures that were made, where readers look: pages, estimates as JSON, and the data statement."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Command
from tests.cli.test_made_pictures import looked, made

__all__ = ["made"]


@pytest.fixture
def rated(made: Command) -> Command:
    """Pictures at which two people looked."""
    assert made("review", "made", *looked(made, ann=("yes",), bo=("no", "yes"))).status == 0
    return made


def test_the_page_of_a_making_has_what_people_say_or_how_they_are_asked(made: Command) -> None:
    assert made("report", "made").status == 0
    page = Path("made/making/report.html").read_text(encoding="utf-8")
    assert "Nobody has looked yet: facevalue review MADE --task picture --out DIR" in page
    assert made("review", "made", *looked(made, ann=("yes",), bo=("yes",))).status == 0
    report = made("report", "made")
    assert "Ratings of pictures: " in report.out
    page = Path("made/making/report.html").read_text(encoding="utf-8")
    assert "Answers that speak for the pictures" in page
    assert "paper: 98%" in page
    assert "Nobody has looked yet" not in page


def test_estimates_as_json_and_as_a_file_have_shares_and_agreement(rated: Command) -> None:
    document = json.loads(rated("measure", "made", "--json").out)
    rows = [row for row in document["estimates"] if row["measure"].startswith("people_")]
    shares = [row for row in rows if row["measure"] == "people_fine"]
    over_all = {row["labels"]["question"]: row for row in shares if "factor" not in row["labels"]}
    assert over_all["all of these"]["labels"]["printed"] == "98%"
    assert all(row["low"] < row["value"] or row["value"] == 0 for row in shares if row["low"] is not None)
    assert {row["method"] for row in shares} == {"none"}  # of two people
    assert all((row["low"] is None) == (row["method"] == "none") and row["detail"] for row in shares)
    assert all(row["n"] and row["clusters"] > 1 and row["method"] for row in rows)
    assert all(row["p"] is None and row["verdict"] is None for row in rows)  # nothing is tested
    assert rated("measure", "made", "--out", "estimates.csv").status == 0
    assert "people_fine" in Path("estimates.csv").read_text(encoding="utf-8")


def test_the_data_statement_says_what_people_said_and_stays_valid(rated: Command) -> None:
    document = json.loads(Path("made/croissant.json").read_text(encoding="utf-8"))
    assert "2 people looked at a sample" in document["rai:dataAnnotationProtocol"][1]
    assert any(text.startswith("All of these: ") for text in document["rai:dataAnnotationAnalysis"])
    assert document["rai:annotationsPerItem"] == "Of the pictures of the sample, 2 people at most."
    mlcroissant = pytest.importorskip("mlcroissant")
    assert not mlcroissant.Dataset("made/croissant.json").metadata.ctx.issues.errors


def test_a_making_whose_ratings_were_spoilt_goes_on_and_states_none(rated: Command) -> None:
    Path("made/making/annotations/ratings/ratings.parquet").write_bytes(b"PAR1")
    assert rated("manifest", "statement", "made").status == 0
    assert "rai:dataAnnotationAnalysis" not in json.loads(Path("made/croissant.json").read_text(encoding="utf-8"))
    report = rated("report", "made")
    assert report.status == 1
    assert "cannot be read" in report.err


def test_the_page_of_checks_has_what_people_said_of_the_making(rated: Command) -> None:
    assert rated("inspect-pictures", "made").status in (0, 1)
    assert "Ratings of pictures: " in rated("report", "made/checks").out
    page = Path("made/checks/report.html").read_text(encoding="utf-8")
    assert "Answers that speak for the pictures" in page
    rows = json.loads(rated("measure", "made/checks", "--json").out)["estimates"]
    assert {row["study"] for row in rows if row["measure"] == "people_fine"} == {"pictures"}


def test_people_look_at_pictures_in_object_storage_and_the_page_of_their_checks_says_so(
    facevalue: Command, tmp_path: Path
) -> None:
    url = f"file://{tmp_path}/store/made"
    few = ("--faces", "1M,1F", "--attributes", "eyewear")
    assert facevalue("make", "stylisticbias", "--generator", "drawn", *few, "--out", url).status == 0
    assert facevalue("inspect-pictures", url).status in (0, 1)
    pictures = sorted((tmp_path / "store/made/pictures").rglob("*.png"))
    kept = pictures[0].read_bytes()
    pictures[0].write_bytes(kept[:-1])
    damaged = facevalue("fetch", url, "--out", "made")
    assert (damaged.status, pictures[0].name in damaged.err) == (1, True)
    pictures[0].write_bytes(kept)
    assert "made (6 pictures): facevalue report made" in facevalue("fetch", url, "--out", "made").out
    assert "not empty" in facevalue("fetch", url, "--out", "made").err
    assert facevalue("verify", "made").status == 0
    assert facevalue("fetch", f"{url}/checks", "--out", "made/checks").status == 0
    assert facevalue("review", "made", *looked(facevalue, ann=("yes",))).status == 0
    assert facevalue("report", "made/checks").status == 0
    assert "Answers that speak for the pictures" in Path("made/checks/report.html").read_text(encoding="utf-8")


def test_a_list_of_ones_own_that_was_checked_has_nobody_who_looked(made: Command) -> None:
    pl.read_parquet("made/manifest.parquet").write_parquet("made/own.parquet")
    Path("made/making").rename("elsewhere")
    assert made("inspect-pictures", "made/own.parquet").status in (0, 1)
    assert made("report", "made/checks").status == 0
    assert "Nobody has looked yet" in Path("made/checks/report.html").read_text(encoding="utf-8")
