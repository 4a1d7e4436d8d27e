"""Cross-Cultural Value Awareness as a file: lists of values, sorted by a judge; similarity within sets."""

from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from facevalue.report.collect import report
from facevalue.runs.export import export
from facevalue.runs.joined_runs import estimate
from facevalue.runs.judgments import ask
from facevalue.runs.reviews.replies import texts_of
from facevalue.runs.stored_run import StoredRun
from facevalue.studies import file_text
from facevalue.types import Question
from tests.protocol.conftest import Reader
from tests.protocol.test_judged_texts import Judging
from tests.studies.place_sets import place_sets

PLACES = ("church", "mosque", "shrine")


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    return place_sets(tmp_path, PLACES, 6, "aspect", lambda _: "religious")


def test_lists_are_compared_within_sets_and_their_entries_are_judged(sets: Path, tmp_path: Path) -> None:
    def reply(question: Question) -> str:
        assert question.prompt.startswith("Based on the depicted religious context, what ")
        return "honesty, faith, kindness" if "moral" in question.prompt else "order, freedom"

    study = fv.study("cross-cultural-values", manifest=sets, kind="illustrated")
    assert study.plan().asked == 6 * 3 * 3 * 3
    folder = tmp_path / "run"
    fv.run(study, reply, folder)
    doubts = texts_of(StoredRun.open(folder))
    assert {doubt.text for doubt in doubts.texts} == {"honesty", "faith", "kindness", "order", "freedom"}
    ask(folder, list(doubts.texts), Judging(lambda prompt: "(d)" if '"order"' in prompt else "(a)"))
    opened = StoredRun.open(folder)
    rows = estimate([opened])[0]
    alike = rows.filter(measure="similarity_within")
    assert alike["value"].to_list() == [1.0] * 3
    assert rows.filter(measure="similarity_within_floor")["value"].to_list() == [1.0] * 3
    assert set(alike["clusters"]) == {6}
    care = rows.filter(measure="mean", score="foundation_care", context="church")
    assert dict(care.select("values", "value").iter_rows()) == {"moral": 1.0, "ethical": 0.5, "political": 0.5}
    assert rows.filter(pl.col("measure") == "refusal_rate", pl.col("context") == "mosque").height == 1
    report([opened], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Foundations by place" in page
    assert "Similarity of two lists about one picture" in page


def test_what_is_named_has_the_mean_rating_of_a_lexicon_and_is_missing_without_one(sets: Path, tmp_path: Path) -> None:
    def reply(question: Question) -> str:
        return "honesty, hard work, faith" if "moral" in question.prompt else "order"

    folder = tmp_path / "run"
    fv.run(fv.study("cross-cultural-values", manifest=sets, kind="illustrated"), reply, folder)
    (tmp_path / "vad.csv").write_text("word,valence,arousal\nhonesty,0.8,0.1\nhard work,0.2,0.3\nwork,-1,-1\n")
    scored = fv.annotate(folder, f"lexicon/{tmp_path / 'vad.csv'}", progress=False)
    rows = scored.estimates()
    means = rows.filter(pl.col("measure") == "mean", pl.col("score") == "valence", pl.col("context") == "church")
    assert dict(means.select("values", "value").iter_rows()) == {
        "moral": pytest.approx(0.5), "ethical": None, "political": None,
    }  # fmt: skip
    shares = rows.filter(
        pl.col("measure") == "unscored_share", pl.col("score") == "valence", pl.col("context").is_null()
    )
    assert shares.filter(pl.col("values").is_null())["value"].to_list() == [pytest.approx((1 / 3 + 1 + 1) / 3)]
    gaps = rows.filter(pl.col("family") == "ratings of words by place", pl.col("score") == "arousal", values="moral")
    assert gaps["value"].to_list() == pytest.approx([0.0] * 3)
    (tmp_path / "vad.csv").write_text("word,valence,arousal\nhonesty,8,1\n")
    with pytest.raises(FaceValueError, match=r"not of this lexicon/vad.csv .* Give these another --name"):
        fv.annotate(folder, f"lexicon/{tmp_path / 'vad.csv'}", progress=False)


def test_lists_are_exported_as_one_cell_and_as_lists(sets: Path, tmp_path: Path) -> None:
    study = fv.study("cross-cultural-values", manifest=sets, kind="illustrated")
    run = fv.run(study, lambda _: "honesty, =faith", tmp_path / "run")
    for ending in ("csv", "parquet", "jsonl"):
        assert export(run.stored, tmp_path / f"all.{ending}") == run.study.trials * 3
    assert set(pl.read_csv(tmp_path / "all.csv")["entries"]) == {"honesty; =faith"}
    assert pl.read_parquet(tmp_path / "all.parquet")["entries"][0].to_list() == ["honesty", "=faith"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('factor = "context"\nby = ["values"]', 'factor = "values"', r"no unit has several of 'values'"),
        ('factor = "context"\nby = ["values"]', 'by = ["values"]', r"A similarity needs a base"),
        (
            'factor = "context"\nby = ["values"]',
            'factor = "contxt"',
            r"Unknown factor in a similarity 'contxt'",
        ),
        ("[answer.judged.foundation]", "[answer.scored.foundation]", r"line \d+: Unknown key 'instruction'"),
        ("[answer.scored.valence]\nlow = -1", "[answer.scored.valence]\nlow = 1", r"least valence, 1, is not below"),
    ],
)
def test_mistakes_are_one_sentence(before: str, after: str, message: str, read: Reader, sets: Path) -> None:
    text = file_text("cross-cultural-values").replace('name = "cross-cultural-values"', 'name = "mine"')
    assert before in text
    with pytest.raises(FaceValueError, match=message):
        read(text.replace(before, after, 1)).study({"manifest": str(sets)})


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)
