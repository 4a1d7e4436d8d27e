"""From pictures that were made to what is stated of them, and to people who look at them."""

import json
from collections.abc import Iterator
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from unittest.mock import Mock

import pytest

from facevalue.runs.reviews import pictures
from facevalue.runs.reviews.rated_pictures import rated_pictures
from tests.cli.conftest import Command
from tests.reviews import Row, filled, packet_of

MAKE = ("make", "stylisticbias", "--generator", "drawn", "--faces", "1M,1F", "--attributes", "eyewear", "--out", "made")


@pytest.fixture
def made(facevalue: Command) -> Command:
    """A few pictures that were drawn."""
    result = facevalue(*MAKE)
    assert result.status == 0, result.err
    return facevalue


def _next(left: Iterator[str], _: Row) -> str:
    return next(left)


def looked(made: Command, **answers: tuple[str, ...]) -> list[str]:
    """Write a packet of pictures, and files of raters with these answers, the last one repeated."""
    assert made("review", "made", "--task", "picture", "--raters", "1", "--out", "looks").status == 0
    files = []
    for rater, ratings in answers.items():
        left = chain(ratings[:-1], repeat(ratings[-1]))
        files += ["--collect", str(filled(packet_of(Path("made/making")), Path(), rater, partial(_next, left)))]
    return files


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
    assert (
        "Every picture was made: none was refused, and none failed. Refused: 0.0% no interval: fewer than three units"
        in out
    )


def test_a_sample_that_holds_no_unit_says_how_many_pictures_one_has(facevalue: Command) -> None:
    out = facevalue(*MAKE, "--sample", "2")
    assert out.status == 1
    assert "A sample of 2 is too small: one unit, with all its edits, takes 3 requests. Ask for more" in out.err


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
    files = looked(made, ann=("yes",), bo=("no", "yes"))
    read = made("review", "made", *files, "--out", "looked.csv", "--json")
    assert read.status == 0, read.err
    document = json.loads(read.out)
    assert [row["counts"] for row in document["raters"]] == [True, True]
    rows = {row["question"]: row for row in document["questions"]}
    assert rows["all of these"]["printed_share"] == 0.98
    assert all(0 < row["share"] <= 1 for row in rows.values())
    assert Path(document["folder"], "ratings.parquet").is_file()
    assert "gender" in Path("looked.csv").read_text(encoding="utf-8")
    again = made("review", "made", *files)
    assert "2 people gave" in again.out
    assert "in place of" in again.out
    assert made("verify", "made").status == 0


def test_what_people_said_is_counted_once(made: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    rated = Mock(wraps=rated_pictures)
    monkeypatch.setattr(pictures, "rated_pictures", rated)
    assert made("review", "made", *looked(made, ann=("yes",))).status == 0
    assert rated.call_count == 1
    assert "rai:dataAnnotationProtocol" in json.loads(Path("made/croissant.json").read_text(encoding="utf-8"))


def test_a_packet_holds_the_pictures(made: Command) -> None:
    out = made("review", "made", "--task", "picture", "--out", "looks", "--sample", "2", "--raters", "2")
    assert "2 of 6 pictures, each group by its share." in out.out
    page = Path("looks/rater-2.html").read_text(encoding="utf-8")
    assert 'src="data:image/png;base64,' in page
    assert "https://" not in page


def test_a_list_that_is_gone_or_damaged_is_said(made: Command) -> None:
    Path("made/manifest.parquet").write_bytes(b"PAR1")
    out = made("review", "made", "--task", "picture", "--out", "looks")
    assert out.status == 1
    assert "The same `facevalue make` writes it again." in out.err
