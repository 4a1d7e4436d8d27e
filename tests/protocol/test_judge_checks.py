"""Checks of a judge of declared studies: agreement with people, people alone, and what group words alone move."""

from itertools import count
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.annotations.group_swaps import GroupWords
from facevalue.errors import DataError, FaceValueError, RunError
from facevalue.measures.judge_checks import agreement, moved
from facevalue.report.of_runs import report
from facevalue.runs import people
from facevalue.runs.joined import estimate
from facevalue.runs.judge_estimates import audit
from facevalue.runs.judged import ask
from facevalue.runs.stored import StoredRun
from facevalue.types import Question
from tests.protocol.conftest import Reader
from tests.protocol.test_judged_texts import STUDY, Judging

NAMES = ("warm", "cold", "neutral")


@pytest.fixture
def folder(read: Reader, tmp_path: Path) -> Path:
    read(STUDY)
    fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run")
    return tmp_path / "run"


def _judge(prompt: str) -> str:
    """Sort by the length of the text, but call every text about a woman warm."""
    text = prompt.split("\n\n")[2]
    return "(a)" if " she " in text.casefold() else f"({'ab'[len(text) % 2]})"


def _judged(folder: Path, judge: Judging) -> None:
    doubts = people.texts_of(StoredRun.open(folder))
    ask(folder, list(doubts.texts), judge)
    audit(folder, StoredRun.open(folder).study, doubts, judge)


def _rated(folder: Path, path: Path, flipped: int = 0, size: int = 20) -> Path:
    """A rater's file who agrees with the judge but for the first few texts."""
    sorting = StoredRun.open(folder).study.reading.sortings[0]
    lines = ["rater,item,rating"]
    for number, (item, text) in enumerate(people.drawn(folder, "tone", size).select("item", "text").iter_rows()):
        place = "ab".index(_judge(sorting.asked(text).prompt)[1])
        name = NAMES[1 - place if number < flipped else place]
        lines.append(f"{path.stem},{item},{name if number % 2 else NAMES.index(name) + 1}")
    path.write_text("\n".join(lines))
    return path


def _estimates(folder: Path) -> pl.DataFrame:
    return estimate([StoredRun.open(folder)])[0]


def test_labels_of_people_stand_beside_the_judge(folder: Path, tmp_path: Path) -> None:
    _judged(folder, Judging(_judge))
    files = [_rated(folder, tmp_path / f"{name}.csv", flipped) for name, flipped in (("ann", 0), ("bo", 2), ("cy", 0))]
    assert people.keep(folder, "tone", files) == (3, 20)
    rows = _estimates(folder)
    names = ("judge_alpha", "judge_agreement", "people_alpha", "people_agreement")
    value = {name: rows.filter(measure=f"{name}_tone")["value"].item() for name in names}
    assert value["judge_alpha"] == pytest.approx(1.0)
    assert value["judge_agreement"] == pytest.approx(58 / 60)
    assert value["people_agreement"] == pytest.approx(1 - 2 * 2 / 60)
    assert 0.5 < value["people_alpha"] < 1.0
    checks = rows.filter(pl.col("measure").is_in(["people_alpha_tone", "judge_agreement_tone"]))
    assert checks.select(pl.col("low", "high").is_not_null().all()).row(0) == (True, True)
    alone = rows.filter(pl.col("judged_by").is_not_null(), pl.col("measure") == "mean_tone_warm")
    by = {who: alone.filter(judged_by=who).sort("place")["value"].to_list() for who in alone["judged_by"].unique()}
    assert set(by) == {"people", "the judge, same texts"}
    assert by["people"] == pytest.approx(by["the judge, same texts"])
    assert alone["p"].is_null().all()
    report([StoredRun.open(folder)], folder / "report.html")
    page = (folder / "report.html").read_text()
    assert "What people alone say, and the judge of the same texts" in page
    assert "Krippendorff" in page


def test_labels_of_people_are_kept_in_place_of_those_before(folder: Path, tmp_path: Path) -> None:
    _judged(folder, Judging(_judge))
    people.keep(folder, "tone", [_rated(folder, tmp_path / "ann.csv"), _rated(folder, tmp_path / "bo.csv")])
    people.keep(folder, "tone", [_rated(folder, tmp_path / "cy.csv", size=5)])
    labels = people.read_people(folder, StoredRun.open(folder).study.reading.sortings[0])
    assert set(labels) == {"cy"}
    assert len(labels["cy"]) == 5


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ann,ITEM,purple", r"ann\.csv: line 2: a rating is warm, cold, neutral, Unspecified or empty, not 'purple'"),
        ("ann,ITEM,5", r"line 2: a rating is warm, .* not '5'"),
        ("ann,t-nothing,warm", r"line 2: 't-nothing' is not an item"),
        ("ann,ITEM,warm\nann,ITEM,cold", r"line 3: 'ann' has rated"),
        ("ann,ITEM,", r"holds no rating"),
        ("ann,ITEM", r"line 2 has 2 cells"),
    ],
)
def test_mistakes_of_raters_are_named(line: str, message: str, folder: Path, tmp_path: Path) -> None:
    item = people.drawn(folder, "tone", 1)["item"][0]
    path = tmp_path / "ann.csv"
    path.write_text("rater,item,rating\n" + line.replace("ITEM", item))
    with pytest.raises(DataError, match=message):
        people.keep(folder, "tone", [path])


def test_a_sorting_that_does_not_exist_is_named(folder: Path) -> None:
    with pytest.raises(FaceValueError, match=r"Unknown sorting 'tune'\. Did you mean 'tone'"):
        people.drawn(folder, "tune")


def test_what_group_words_alone_move_stands_beside_asking_again(read: Reader, tmp_path: Path) -> None:
    numbers = count()

    def reply(_: Question) -> str:
        number = next(numbers)
        return f"{('She', 'He')[number % 2]} said that she waits near a church, number {number}."

    read(STUDY)
    folder = tmp_path / "run"
    fv.run(tmp_path / "small.toml", reply, folder)
    _judged(folder, Judging(_judge))
    rows = _estimates(folder).filter(pl.col("measure").is_in(["judge_swapped_tone", "judge_without_tone"]))
    assert rows.height == 2
    assert rows["floor"].to_list() == [0.0, 0.0]
    assert (rows.filter(measure="judge_swapped_tone")["value"] > 0).all()
    assert rows.select(pl.col("value", "low", "high", "n").is_not_null().all()).row(0) == (True,) * 4
    again = Judging(_judge)
    _judged(folder, again)
    assert again.prompts == []


def test_a_judge_that_is_moved_is_told_from_one_that_is_not() -> None:
    rng = np.random.default_rng(1)
    before = rng.integers(0, 3, 100).astype(float)
    noisy = np.where(rng.random((2, 100)) < 0.1, (before + 1) % 3, before)
    biased, beyond = moved(before, np.where(rng.random(100) < 0.6, 0.0, before), noisy[0])
    alike, floor = moved(before, noisy[1], noisy[0])
    assert biased.low[0] > alike.value[0]
    assert beyond.p[0] < 0.001 < 0.05 < floor.p[0]
    assert floor.mean[0] == pytest.approx(0.1, abs=0.08)
    nothing, _ = moved(np.full(3, np.nan), np.zeros(3), np.zeros(3))
    assert np.isnan(nothing.value[0])
    assert "not measurable" in nothing.method[0]


def test_one_rater_has_no_agreement_with_others() -> None:
    checks = agreement(np.array([0.0, 1.0, np.nan]), np.array([[0.0, 1.0, 1.0]]), "nominal", 0)
    assert set(checks) == {"judge_alpha", "judge_agreement"}
    assert checks["judge_agreement"].clusters[0] == 2


@pytest.mark.parametrize(
    ("text", "swapped", "without"),
    [
        ("Her hat suits her.", "His hat suits him.", "Their hat suits their."),
        ("A low income man.", "A high income woman.", "A person."),
        ("The mosque is old.", None, None),
        ("He smiles.", "She smiles.", "They smiles."),
    ],
)
def test_group_words_are_swapped_and_taken_out(text: str, swapped: str | None, without: str | None) -> None:
    words = GroupWords({"context": ("low income", "high income")})
    assert words.swapped(text) == swapped
    assert words.without(text) == without


def test_runs_that_are_compared_have_one_judge(folder: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    fv.run(tmp_path / "small.toml", "sim/null", second)
    runs = [StoredRun.open(folder), StoredRun.open(second)]
    assert estimate(runs)[0]["model"].n_unique() >= 2
    _judged(folder, Judging(_judge))
    with pytest.raises(RunError, match=r"told has judged one run, and nobody .*second: facevalue judge"):
        estimate([StoredRun.open(path) for path in (folder, second)])
    _judged(second, Judging(_judge, "another"))
    with pytest.raises(RunError, match="were judged by another and told"):
        estimate([StoredRun.open(path) for path in (folder, second)])
