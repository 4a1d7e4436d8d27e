"""`facevalue review`: replies and pictures go to people, and what they say is kept and held against the parser."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import facevalue as fv
from facevalue.annotations.review_answers import seal_of
from facevalue.annotations.review_cards import is_check, right_answer
from facevalue.errors import DataError, SettingError, UnknownNameError
from facevalue.runs.reviews.outcomes import FOLDER, read_key
from tests.cli.conftest import Command
from tests.reviews import Row, filled, packet_of, rows_of

RUN = Path("runs", "stylisticbias-own")
SCENARIOS = "polite,wealthy,honest,stylish,loyal,curious,rational,stable"
REPLIES = (
    "(a)",
    "Clearly (b).",
    "I can't judge people by their looks.",
    "Both (a) and (b) fit.",
    "(a) or maybe not, hm",
)


@pytest.fixture
def asked(facevalue: Command) -> Command:
    """A run whose replies are of several kinds, refusals rare among them."""

    def reply(question: fv.Question) -> str:
        number = sum(map(ord, question.prompt + (question.factors.get("ordering") or "")))
        return REPLIES[min(number % 40, 39) // 15 if number % 9 else 2 + number % 3]

    study = fv.study("stylisticbias", faces="2M,2F", attributes="eyewear", scenario=SCENARIOS)
    fv.run(study, reply, RUN, progress=False)
    return facevalue


def packet(asked: Command, *options: str) -> tuple[str, pl.DataFrame]:
    """Write a packet, and read its name and its key."""
    out = asked("review", str(RUN), "--out", "packets", "--json", *options)
    assert out.status == 0, out.err
    name = json.loads(out.out)["packet"]
    return name, read_key(RUN, name).items


def saved(name: str, rater: str, items: pl.DataFrame, wrong: int = 0) -> str:
    """What a rater's page saves, who reads as the parser does but for the first few."""
    answers, left = {}, wrong
    for item, choices, read, labels in (
        items.select("item", "choices", "read", "labels").unique("item", keep="first", maintain_order=True).iter_rows()
    ):
        if is_check(item):
            answers[item] = right_answer(item, choices)
        else:
            agrees, left = left <= 0, left - 1
            answers[item] = 1 + next(at for at, label in enumerate(labels) if (label == read) == agrees and label)
    path = Path(f"{rater}.json")
    document = {"format": "facevalue-review", "version": 1, "packet": name, "task": "parse", "rater": rater,
                "seconds": 300, "answers": answers, "seal": seal_of(name, rater, 300, answers)}  # fmt: skip
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def test_replies_of_rare_kinds_are_asked_about_and_nothing_says_how_they_were_read(asked: Command) -> None:
    name, items = packet(asked, "--sample", "40", "--raters", "2")
    assert sorted(path.name for path in Path("packets").iterdir()) == ["rater-1.html", "rater-2.html"]
    pages = [Path("packets", f"rater-{number}.html").read_text(encoding="utf-8") for number in (1, 2)]
    assert pages[0] != pages[1]
    kinds = items.drop_nulls("stratum")["stratum"].value_counts()
    assert kinds.filter(pl.col("stratum").str.starts_with("no answer"))["count"].sum() >= 10
    for page in pages:
        assert name in page
        for hidden in ("favourable", "own", "m-0001", "sunglasses", "no answer: refused"):
            assert f">{hidden}<" not in page
    assert Path(RUN, FOLDER, f"{name}.parquet").is_file()


def test_the_parser_is_held_against_people_and_the_run_keeps_what_they_say(asked: Command) -> None:
    name, items = packet(asked, "--sample", "60")
    files = [saved(name, "r1", items), saved(name, "r2", items, 3), saved(name, "r3", items, 3)]
    given = [part for file in files for part in ("--collect", file)]
    out = asked("review", str(RUN), *given, "--out", "said.csv", "--json")
    assert out.status == 0, out.err
    document = json.loads(out.out)
    assert [row["counts"] for row in document["raters"]] == [True] * 3
    names = [row["coefficient"] for row in document["agreement"]]
    assert names == ["Krippendorff's alpha", "Fleiss' kappa"]
    assert all(0 < row["low"] <= row["value"] < 1 for row in document["agreement"])
    accuracy = {(row["label"], row["measure"]): row for row in document["accuracy"]}
    assert 0 < accuracy["all", "accuracy"]["low"] < accuracy["all", "accuracy"]["value"] < 1
    assert {label for label, _ in accuracy} >= {"option favourable", "option unfavourable", "no answer", "all"}
    assert not [note for note in document["notes"] if "of kinds of which none counts" in note]
    wrong = [row for row in document["items"] if row["people"] != row["read"]]
    assert len({row["item"] for row in wrong}) == 3
    assert Path("said.csv").is_file()
    told = asked("review", str(RUN), *given).out
    assert "in place of" in told
    assert "by most people as" in told
    assert "Against what most people say" in told
    assert asked("verify", str(RUN)).status == 0
    assert asked("report", str(RUN)).status == 0
    page = (RUN / "report.html").read_text(encoding="utf-8")
    assert "How replies are read" in page
    assert f"{accuracy['all', 'accuracy']['value']:.1%}" in page


def test_a_packet_of_another_run_and_places_in_the_run_are_refused(asked: Command) -> None:
    name, items = packet(asked, "--sample", "10")
    file = saved(name, "r1", items)
    Path(RUN, FOLDER, f"{name}.parquet").unlink()
    other = asked("review", str(RUN), "--collect", file)
    assert (other.status, f"Packet {name} is not of" in other.err) == (1, True)
    inside = asked("review", str(RUN), "--out", str(RUN / "packets"))
    assert "lies in the run: raters would be handed what they must not know" in inside.err
    Path("empty.txt").write_text(" \n")
    empty = asked("review", str(RUN), "--out", "p", "--instructions", "empty.txt")
    assert (empty.status, "is empty" in empty.err) == (1, True)


def test_packets_are_not_written_over_and_odd_numbers_are_refused(asked: Command) -> None:
    assert asked("review", str(RUN), "--out", "p", "--sample", "10").status == 0
    again = asked("review", str(RUN), "--out", "p", "--sample", "20")
    assert (again.status, "rater-1.html is there already, and may be filled in" in again.err) == (2, True)
    with pytest.raises(SettingError, match="1 to 50 raters, not 0"):
        fv.review(RUN, "parse", "q", raters=0)
    with pytest.raises(SettingError, match="Name the files"):
        fv.collect_review(RUN, [])


def test_own_instructions_stand_in_place_of_ours(asked: Command) -> None:
    Path("mine.txt").write_text("Read it <twice>.\n\nThen answer.", encoding="utf-8")
    packet(asked, "--sample", "10", "--instructions", "mine.txt")
    page = Path("packets/rater-1.html").read_text(encoding="utf-8")
    assert "<p>Read it &lt;twice&gt;.</p>" in page
    assert "A program was asked questions" not in page


def _fails(bad: str, row: Row) -> str:
    is_bad = row["shown"].endswith(bad)
    return "No" if is_bad != row["question"].startswith("Do they differ by anything else") else "Yes"


@pytest.mark.usefixtures("asked")
def test_pictures_are_looked_at_by_several_people() -> None:
    run = fv.open_run(RUN)
    fv.review(run, "picture", "looks", raters=2)
    bad = next(image for image in run.stored.study.manifest["image"] if image.startswith("m-0001/"))
    answered = [filled(packet_of(RUN), Path(), rater, partial(_fails, bad)) for rater in ("p0", "p1")]
    review = fv.collect_review(run, answered)
    assert review.pictures is not None
    assert review.pictures.raters == 2


def _always(answer: str, _: Row) -> str:
    return answer


def test_what_a_page_found_is_judged_without_size_or_model(facevalue: Command) -> None:
    run = fv.run(fv.study("stylisticbias", faces="6M,6F", attributes="eyewear"), "sim/strong", RUN, exact=True)
    fv.review(run, "finding", "packets", raters=1)
    packet = packet_of(RUN)
    rows = rows_of(packet)
    assert rows[0]["answers"] == "A stereotype; A sound inference; Neither"
    assert all(row["read"].startswith("Statement: ") and not re.search(r"\d|sim/", row["read"]) for row in rows)
    says = {"a": "A stereotype", "b": "A stereotype", "c": "Neither"}
    files = [filled(packet, Path(), rater, partial(_always, answer)) for rater, answer in says.items()]
    review = fv.collect_review(run, files)
    assert review.findings is not None
    assert set(review.findings["most"]) == {"A stereotype"}
    assert review.findings["A stereotype"].to_list() == [2] * len(rows)
    assert "A sound inference" in facevalue("review", str(RUN), "--collect", str(files[0])).out
    facevalue("report", str(RUN))
    page = (RUN / "report.html").read_text(encoding="utf-8")
    assert "Findings, judged by people" in page
    assert f"a stereotype: {len(rows)}" in page
    assert "a stereotype 2, neither 1" in page


@pytest.mark.parametrize(
    ("task", "settings", "problem"),
    [
        ("finding", {"naming": "x"}, "they go with --task parse"),
        ("parse", {"sorting": "tone", "score": "a/b"}, "give one of them"),
        ("parse", {"naming": "x"}, "give --texts, too"),
        ("picture", {"least_kl": 1.0}, "it goes with --task finding"),
    ],
)
def test_the_api_refuses_what_means_nothing_for_a_task(
    asked: Command, task: str, settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(SettingError, match=problem):
        fv.review(RUN, task, "refused", **settings)
    assert not Path("refused").exists()


def test_a_run_in_object_storage_is_neither_asked_about_nor_collected(facevalue: Command) -> None:
    for options in (("--out", "p"), ("--collect", __file__)):
        out = facevalue("review", "s3://bucket/run", *options)
        assert (out.status, "'facevalue fetch s3://bucket/run" in out.err) == (2, True)


def test_the_api_names_the_nearest_task(asked: Command) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'picture'"):
        fv.review(RUN, "pictures", "looks")
    with pytest.raises(DataError, match="There is no file"):
        fv.collect_review(RUN, ["absent.json"])
