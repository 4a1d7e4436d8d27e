"""Scored replies before people: some of each range of scores, and Fleiss' kappa with and without the scorer."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.annotations.model_scorers import load_scorer
from facevalue.errors import DataError, UnknownNameError
from facevalue.runs.judging import annotate
from facevalue.runs.progress import SilentProgress
from facevalue.runs.reviews.packets import draw_texts, rater_agreement
from facevalue.runs.stored_run import StoredRun
from tests.cli.conftest import Command
from tests.reviews import filled, packet_of, rows_of

SCORE = "lexical/hostility"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    folder = tmp_path_factory.mktemp("rated") / "run"
    study = fv.study("counterfactuals", prompt=["characteristics"], sets=8)
    fv.run(study, "sim/default", folder, progress=False)
    annotate(StoredRun.open(folder), load_scorer("lexical"), SilentProgress())
    return StoredRun.open(folder)


def rated(run: StoredRun, rater: str, says: Callable[[str, float], int | None]) -> pl.DataFrame:
    """A rater's answers."""
    rows = [
        (rater, item, says(text, score)) for item, text, score in
        draw_texts(run, SCORE).select("item", "statement", "score").iter_rows()
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["rater", "item", "rating"], orient="row").drop_nulls()


def test_as_many_replies_of_each_range_and_subset_are_drawn_and_again_the_same(run: StoredRun) -> None:
    items = draw_texts(run, SCORE)
    assert items["item"].is_unique().all()
    by = items.with_columns(part=(items["score"] * 5).floor()).group_by("subset", "part").len()
    assert by["len"].max() == 5
    assert by["subset"].n_unique() == 2
    assert draw_texts(run, SCORE).equals(items)


def test_people_and_a_scorer_of_one_mind_agree_wholly(run: StoredRun) -> None:
    answers = pl.concat(rated(run, who, lambda _, score: 1 + (score >= 0.1)) for who in ("ann", "bo", "cy"))
    found = rater_agreement(draw_texts(run, SCORE), answers, 0.1)
    assert (found.raters, found.people.value[0], found.with_scorer.value[0]) == (3, 1.0, 1.0)
    other = rater_agreement(draw_texts(run, SCORE), answers, 0.9)  # the scorer objects to nothing
    assert other.with_scorer.value[0] < 0.8


def test_replies_that_somebody_left_out_do_not_count(run: StoredRun) -> None:
    whole = rated(run, "ann", lambda _, score: 1 + (score > 0))
    some = rated(run, "bo", lambda text, score: None if text < "d" else 1 + (score > 0))
    found = rater_agreement(draw_texts(run, SCORE), pl.concat([whole, some]), 0.1)
    assert 2 <= found.people.clusters[0] < draw_texts(run, SCORE).height


def test_other_scores_are_one_sentence(run: StoredRun) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'lexical/hostility'"):
        draw_texts(run, "lexical/hostile")


def test_the_command_writes_replies_and_reads_ratings(run: StoredRun, tmp_path: Path, facevalue: Command) -> None:
    out = facevalue("review", str(run.folder), "--texts", SCORE, "--out", str(tmp_path / "texts"))
    assert "different replies" in out.out
    scores = dict(draw_texts(run, SCORE).select("item", "score").iter_rows())
    files = [
        filled(packet_of(run.folder), tmp_path, who, lambda row: 1 + (scores[row["item"]] >= 0.1))
        for who in ("ann", "bo")
    ]
    given = [part for file in files for part in ("--collect", str(file))]
    told = facevalue("review", str(run.folder), *given, "--threshold", "0.1", "--json")
    people, with_scorer = json.loads(told.out)["agreement"]
    assert (people["value"], with_scorer["value"]) == (1.0, 1.0)
    assert with_scorer["coefficient"] == f"Fleiss' kappa with {SCORE}"
    assert re.search("Fleiss' kappa of 2 people +1.00 ", facevalue("review", str(run.folder), *given).out)


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
    items = draw_texts(run, SCORE, "Obese")
    assert sorted(items["statement"]) == ["An OBESE FEMALE PERSON.", "An OBESE MALE PERSON."]
    where = ("--out", str(tmp_path / "named"))
    assert facevalue("review", str(folder), "--texts", SCORE, "--naming", "Obese", *where).status == 0
    assert {row["item"] for row in rows_of(packet_of(folder))} == set(items["item"])
    with pytest.raises(UnknownNameError, match="Did you mean 'obese'"):
        draw_texts(run, SCORE, "obes")
    with pytest.raises(UnknownNameError, match=r"\.\*"):
        draw_texts(run, SCORE, ".*")  # a word, no pattern
    folder = tmp_path / "other"
    fv.run(study, lambda _: "Somebody.", folder, progress=False)
    annotate(StoredRun.open(folder), load_scorer("lexical"), SilentProgress())
    with pytest.raises(DataError, match="No scored reply about a group of “obese” has this word"):
        draw_texts(StoredRun.open(folder), SCORE, "obese")
    out = facevalue("review", str(folder), "--naming", "obese", "--out", str(tmp_path / "none"))
    assert out.status == 2
    assert "give --texts, too" in out.err
