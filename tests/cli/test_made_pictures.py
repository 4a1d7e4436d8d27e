"""From pictures that were made to what is stated of them, and to people who look at them."""

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

MAKE = ("make", "stylisticbias", "--generator", "drawn", "--faces", "1M,1F", "--attributes", "eyewear", "--out", "made")
ASKED = Path("looks.csv")


@pytest.fixture
def made(facevalue: Command) -> Command:
    """A few pictures that were drawn."""
    result = facevalue(*MAKE)
    assert result.status == 0, result.err
    return facevalue


def filled(rater: str, *ratings: str) -> str:
    """A rater's sheet with these answers, the last one repeated."""
    with ASKED.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with Path(f"{rater}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        for number, row in enumerate(rows):
            writer.writerow({**row, "rating": ratings[min(number, len(ratings) - 1)]})
    return f"{rater}.csv"


def test_making_ends_with_a_data_statement_that_is_valid(made: Command) -> None:
    document = json.loads(Path("made/croissant.json").read_text(encoding="utf-8"))
    assert document["rai:dataCollectionMissingData"].startswith("None of 6 is missing")
    assert "no photographs" in document["description"]
    mlcroissant = pytest.importorskip("mlcroissant")
    data = mlcroissant.Dataset("made/croissant.json")
    assert not data.metadata.ctx.issues.errors
    pictures = list(data.records("pictures"))
    assert len(pictures) == 6
    assert all(picture["pictures/content"].size == (512, 512) for picture in pictures)


def test_what_is_stated_stands_when_making_goes_on(made: Command) -> None:
    Path("cite.bib").write_text("@misc{set}\n", encoding="utf-8")
    out = made(
        "manifest", "statement", "made", "--licence", "CC0-1.0", "--cite", "cite.bib", "--published", "2026-11-26"
    )
    assert out.status == 0, out.err
    assert "Not stated, as only you can: --creator, --url." in out.out
    assert made("manifest", "statement", "made", "--creator", "Ann", "--url", "https://example.org/set").status == 0
    assert made(*MAKE).status == 0
    document = json.loads(Path("made/croissant.json").read_text(encoding="utf-8"))
    assert document["license"]["name"] == "CC0-1.0"
    assert document["creator"]["name"] == "Ann"
    assert (document["citeAs"], document["datePublished"]) == ("@misc{set}", "2026-11-26")


def test_where_nothing_was_refused_the_answer_says_so(made: Command) -> None:
    out = " ".join(made("measure", "made/making").out.split())
    assert "Every picture was made: none was refused, and none failed. Refused: 0.0% [0.0%," in out


def test_a_sample_that_holds_no_unit_says_how_many_pictures_one_has(facevalue: Command) -> None:
    out = facevalue(*MAKE, "--sample", "2")
    assert out.status == 1
    assert "A sample of 2 requests is too small: one unit, with all its edits, takes 3." in out.err


@pytest.mark.parametrize("faces", ["2M,1F", "1F"])
def test_another_making_leaves_what_is_there_as_it_is(made: Command, faces: str) -> None:
    files = [Path("made", name) for name in ("manifest.parquet", "croissant.json")]
    before = [file.read_bytes() for file in files]
    out = made(*MAKE[:4], "--faces", faces, *MAKE[6:])
    assert out.status == 1
    assert "Traceback" not in out.err
    assert out.err.count("Error") == 1
    pictures, statement = (file.read_bytes() for file in files)
    assert json.loads(statement) == json.loads(before[1])
    assert pictures == before[0]


def test_a_statement_that_was_spoilt_is_written_anew(made: Command) -> None:
    Path("made/croissant.json").write_text('["half', encoding="utf-8")
    assert made("manifest", "statement", "made").status == 0
    assert (
        json.loads(Path("made/croissant.json").read_text(encoding="utf-8"))["name"] == "Pictures made for stylisticbias"
    )


def test_a_list_of_ones_own_has_a_statement(facevalue: Command) -> None:
    Path("faces").mkdir()
    Path("faces/list.csv").write_text("path,gender\na.png,female\nb.png,male\n", encoding="utf-8")
    out = facevalue("manifest", "statement", "faces/list.csv", "--licence", "https://example.org/licence", "--json")
    assert json.loads(out.out)["missing"] == ["--creator", "--url", "--cite", "--published"]
    document = json.loads(Path("faces/croissant.json").read_text(encoding="utf-8"))
    assert (document["name"], document["license"]) == ("faces", "https://example.org/licence")
    assert document["rai:dataBiases"] == ["Pictures by gender: female 1, male 1."]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("none.csv",), "There is no file none.csv"),
        ((".",), "is not the folder of a run"),
        (("made", "--version", "one"), "--version is MAJOR.MINOR.PATCH"),
        (("made", "--published", "soon"), "does not match the format '%Y-%m-%d'"),
        (("made", "--cite", "none.bib"), "There is no file none.bib"),
        (("made", "--name", "mine"), "--name is for lists of your own"),
    ],
)  # fmt: skip
def test_statements_that_cannot_be_made_are_one_sentence(
    made: Command, arguments: tuple[str, ...], problem: str
) -> None:
    out = made("manifest", "statement", *arguments)
    assert out.status in (1, 2)
    assert problem in out.err
    assert "Traceback" not in out.err


def test_people_look_at_a_sample_and_what_they_say_is_kept(made: Command) -> None:
    out = made("questionnaire", "made", "--out", "looks.csv")
    assert out.status == 0, out.err
    assert "6 of 6 pictures, each group by its share: looks.csv" in out.out
    files = ("--ratings", filled("ann", "yes"), "--ratings", filled("bo", "no", "yes"))
    read = made("questionnaire", "made", *files, "--out", "looked.csv", "--json")
    assert read.status == 0, read.err
    document = json.loads(read.out)
    assert document["raters"] == 2
    rows = {row["question"]: row for row in document["questions"]}
    assert rows["all of these"]["printed_share"] == 0.98
    assert all(0 < row["share"] <= 1 for row in rows.values())
    assert Path(document["folder"], "ratings.parquet").is_file()
    assert "gender" in Path("looked.csv").read_text(encoding="utf-8")
    again = made("questionnaire", "made", *files)
    assert "2 people gave" in again.out
    assert "in place of" in again.out
    assert made("verify", "made").status == 0


def test_the_page_holds_the_pictures(made: Command) -> None:
    assert made("questionnaire", "made", "--out", "looks.html", "--most", "2").status == 0
    page = Path("looks.html").read_text(encoding="utf-8")
    assert page.count('<section class="picture"') == 2
    assert 'src="data:image/png;base64,' in page
    assert "https://" not in page


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "Say where the pictures go (--out FILE.html), or give --ratings."),
        (("--out", "looks.pdf"), "looks.pdf is neither .html nor .csv"),
        (("--texts", "lexical/hostility", "--out", "x.csv"), "holds pictures that were made"),
        (("--sorted", "tone", "--out", "x.csv"), "holds pictures that were made"),
        (("--least-kl", "1", "--out", "x.csv"), "holds pictures that were made"),
        (("--ratings", "none.csv"), "There is no file none.csv"),
        (("--ratings", "none.csv", "--most", "3"), "leave it out with --ratings"),
        (("--ratings", "none.csv", "--out", "x.html"), "x.html is not a .csv file"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(made: Command, arguments: tuple[str, ...], problem: str) -> None:
    out = made("questionnaire", "made", *arguments)
    assert out.status in (1, 2)
    assert problem in out.err


def test_a_list_that_is_gone_or_damaged_is_said(made: Command) -> None:
    Path("made/manifest.parquet").write_bytes(b"PAR1")
    out = made("questionnaire", "made", "--out", "looks.csv")
    assert out.status == 1
    assert "The same `facevalue make` writes it again." in out.err
