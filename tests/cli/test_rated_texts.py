"""Scored replies before people: some of each range of scores, and Fleiss' kappa with and without the scorer."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import facevalue as fv
from facevalue.annotations.loading import load_scorer
from facevalue.errors import DataError, UnknownNameError
from facevalue.runs.annotated import annotate
from facevalue.runs.progress import SilentProgress
from facevalue.runs.rated_texts import agreement, drawn
from facevalue.runs.stored import StoredRun
from tests.cli.conftest import Command

SCORE = "lexical/hostility"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    folder = tmp_path_factory.mktemp("rated") / "run"
    study = fv.study("counterfactuals", prompt=["characteristics"], sets=8)
    fv.run(study, "sim/default", folder, progress=False)
    annotate(StoredRun.open(folder), load_scorer("lexical"), SilentProgress())
    return StoredRun.open(folder)


def rated(path: Path, run: StoredRun, says: Callable[[str, float], object]) -> Path:
    """A rater's file."""
    items = drawn(run, SCORE)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rating"])
        writer.writerows((item, says(text, score)) for item, text, score in
                         items.select("item", "statement", "score").iter_rows())  # fmt: skip
    return path


def test_as_many_replies_of_each_range_and_subset_are_drawn_and_again_the_same(run: StoredRun) -> None:
    items = drawn(run, SCORE)
    assert items["item"].is_unique().all()
    by = items.with_columns(part=(items["score"] * 5).floor()).group_by("subset", "part").len()
    assert by["len"].max() == 5
    assert by["subset"].n_unique() == 2
    assert drawn(run, SCORE).equals(items)


def test_people_and_a_scorer_of_one_mind_agree_wholly(run: StoredRun, tmp_path: Path) -> None:
    files = [rated(tmp_path / f"{who}.csv", run, lambda _, score: 1 + (score >= 0.1)) for who in ("ann", "bo", "cy")]
    found = agreement(drawn(run, SCORE), files, 0.1)
    assert (found.raters, found.people.value[0], found.with_scorer.value[0]) == (3, 1.0, 1.0)
    other = agreement(drawn(run, SCORE), files, 0.9)  # the scorer objects to nothing
    assert other.with_scorer.value[0] < 0.8


def test_replies_that_somebody_left_out_do_not_count(run: StoredRun, tmp_path: Path) -> None:
    whole = rated(tmp_path / "ann.csv", run, lambda _, score: 1 + (score > 0))
    some = rated(tmp_path / "bo.csv", run, lambda text, score: "" if text < "d" else 1 + (score > 0))
    found = agreement(drawn(run, SCORE), [whole, some], 0.1)
    assert 2 <= found.people.clusters[0] < drawn(run, SCORE).height


def test_other_ratings_and_other_scores_are_one_sentence(run: StoredRun, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gives t-[0-9a-f]{10} a 5: a text is 1"):
        agreement(drawn(run, SCORE), [rated(tmp_path / "ann.csv", run, lambda *_: 5)], 0.3)
    with pytest.raises(UnknownNameError, match="Did you mean 'lexical/hostility'"):
        drawn(run, "lexical/hostile")


def test_the_command_writes_replies_and_reads_ratings(run: StoredRun, tmp_path: Path, facevalue: Command) -> None:
    out = facevalue("questionnaire", str(run.folder), "--texts", SCORE, "--out", str(tmp_path / "texts.csv"))
    assert "replies, which may be offensive" in out.out
    assert facevalue("questionnaire", str(run.folder), "--texts", SCORE, "--out", "texts.html").status == 2
    files = [rated(tmp_path / f"{who}.csv", run, lambda _, score: 1 + (score >= 0.1)) for who in ("ann", "bo")]
    given = [part for file in files for part in ("--ratings", str(file))]
    told = facevalue("questionnaire", str(run.folder), "--texts", SCORE, *given, "--threshold", "0.1", "--json")
    assert json.loads(told.out)["with_scorer"]["value"] == 1.0
    said = facevalue("questionnaire", str(run.folder), "--texts", SCORE, *given)
    assert said.out.startswith("2 people: Fleiss' kappa 1.00")


def _names_obese(question: fv.Question) -> str:
    """Of the replies about somebody obese the first has the word, the others only look like it; others deny it."""
    shown = question.prompt.split(",")[0].removeprefix("You are looking at a picture of a ")
    if "obese" not in shown:
        return f"A {shown}, not obese."
    return f"An {shown.upper()}." if question.draw == 0 else f"An obesely {shown.split()[1]} person {question.draw}."


def test_replies_that_name_a_group_are_drawn_alone(tmp_path: Path, facevalue: Command) -> None:
    folder = tmp_path / "run"
    study = fv.study("counterfactuals", prompt=["characteristics"], sets=2, shown="text", subset=["physical-gender"])
    fv.run(study, _names_obese, folder, progress=False)
    annotate(StoredRun.open(folder), load_scorer("lexical"), SilentProgress())
    run = StoredRun.open(folder)
    items = drawn(run, SCORE, "Obese")
    assert sorted(items["statement"]) == ["An OBESE FEMALE PERSON.", "An OBESE MALE PERSON."]
    written = tmp_path / "named.csv"
    facevalue("questionnaire", str(folder), "--texts", SCORE, "--naming", "Obese", "--out", str(written))
    with written.open(newline="") as file:
        assert [row["item"] for row in csv.DictReader(file)] == items["item"].to_list()
    with pytest.raises(UnknownNameError, match="Did you mean 'obese'"):
        drawn(run, SCORE, "obes")
    with pytest.raises(UnknownNameError, match=r"\.\*"):
        drawn(run, SCORE, ".*")  # a word, no pattern
    folder = tmp_path / "other"
    fv.run(study, lambda _: "Somebody.", folder, progress=False)
    annotate(StoredRun.open(folder), load_scorer("lexical"), SilentProgress())
    with pytest.raises(DataError, match="No scored reply about a group of “obese” has this word"):
        drawn(StoredRun.open(folder), SCORE, "obese")
    out = facevalue("questionnaire", str(folder), "--naming", "obese", "--out", str(written))
    assert out.status == 2
    assert "give --texts, too" in out.err
