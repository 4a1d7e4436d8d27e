"""Checks of a judge of declared studies: agreement with people, people alone, and what group words alone move."""

from itertools import count
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.annotations.group_lists import GroupWords
from facevalue.errors import FaceValueError, RunError
from facevalue.measures.judges import judge_agreement, moved_share
from facevalue.report.collect import report
from facevalue.runs.joined_runs import estimate
from facevalue.runs.judging import audit_judge
from facevalue.runs.judgments import ask
from facevalue.runs.reviews.outcomes import reader_review
from facevalue.runs.reviews.replies import keep_labels, read_people, sorting_packet, texts_of
from facevalue.runs.stored_run import StoredRun
from facevalue.types import Question
from tests.measure_keys import by_key
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
    doubts = texts_of(StoredRun.open(folder))
    ask(folder, list(doubts.texts), judge)
    audit_judge(folder, StoredRun.open(folder).study, doubts, judge)


def _keep(folder: Path, size: int = 20, **flipped: int) -> None:
    """Keep what raters say of texts, each of whom agrees with the judge but for the first few."""
    run = StoredRun.open(folder)
    packet, _ = sorting_packet(run, "tone", 2**20, 0)
    sorting = run.study.reading.sortings[0]
    rows = []
    for rater, most in flipped.items():
        for number, card in enumerate(packet.cards[:size]):
            place = "ab".index(_judge(sorting.asked(card.texts[0][1]).prompt)[1])
            rows.append((rater, card.items[0], (1 - place if number < most else place) + 1))
    keep_labels(run, "tone", pl.DataFrame(rows, schema=["rater", "item", "rating"], orient="row"))


def _estimates(folder: Path) -> pl.DataFrame:
    return by_key(estimate([StoredRun.open(folder)])[0])


def test_labels_of_people_stand_beside_the_judge(folder: Path) -> None:
    _judged(folder, Judging(_judge))
    _keep(folder, ann=0, bo=2, cy=0)
    rows = _estimates(folder)
    names = ("judge_alpha", "judge_agreement", "people_alpha", "people_agreement")
    value = {name: rows.filter(measure=f"{name}.tone")["value"].item() for name in names}
    assert value["judge_alpha"] == pytest.approx(1.0)
    assert value["judge_agreement"] == pytest.approx(58 / 60)
    assert value["people_agreement"] == pytest.approx(1 - 2 * 2 / 60)
    assert 0.5 < value["people_alpha"] < 1.0
    checks = rows.filter(pl.col("measure").is_in(["people_alpha.tone", "judge_agreement.tone"]))
    assert checks.height == 2
    assert checks.select(pl.col("low", "high").is_not_null().all()).row(0) == (True, True)
    alone = rows.filter(pl.col("judged_by").is_not_null(), pl.col("measure") == "mean.tone_warm")
    by = {who: alone.filter(judged_by=who).sort("place")["value"].to_list() for who in alone["judged_by"].unique()}
    assert set(by) == {"people", "the judge, same texts", "the judge, corrected by people"}
    assert by["people"] == pytest.approx(by["the judge, same texts"])
    whole = rows.filter(pl.col("judged_by").is_null(), pl.col("measure") == "mean.tone_warm").sort("place")
    assert by["the judge, corrected by people"] == pytest.approx(whole["value"].to_list())
    corrected = alone.filter(judged_by="the judge, corrected by people").sort("place")
    assert (corrected["high"] - corrected["low"] > (whole["high"] - whole["low"])).all()
    assert alone["p"].is_null().all()
    report([StoredRun.open(folder)], folder / "report.html")
    page = (folder / "report.html").read_text()
    assert "What people alone say, and the judge of the same texts" in page
    assert "Krippendorff" in page


def test_labels_of_a_rater_are_kept_in_place_of_those_before(folder: Path) -> None:
    _judged(folder, Judging(_judge))
    _keep(folder, ann=0, bo=0)
    _keep(folder, size=5, bo=1, cy=0)
    labels = read_people(folder, StoredRun.open(folder).study.reading.sortings[0])
    assert {rater: len(texts) for rater, texts in labels.items()} == {"ann": 20, "bo": 5, "cy": 5}


def test_texts_are_drawn_by_what_the_judge_says(folder: Path) -> None:
    _judged(folder, Judging(_judge))
    packet, key = sorting_packet(StoredRun.open(folder), "tone", 6, 0)
    read = key.items.drop_nulls("read")
    assert sorted(read["read"]) == ["cold"] * 3 + ["warm"] * 3
    assert len(packet.cards) == 6
    assert set(key.sizes) == {"cold", "warm"}
    reader = reader_review(key, read.select(pl.lit("ann").alias("rater"), "item", rating=pl.lit(1)))
    rows = {(row["label"], row["measure"]): row for row in reader.accuracy.iter_rows(named=True)}
    assert rows["warm", "precision"]["value"] == 1.0  # who calls everything warm
    assert rows["warm", "recall"]["value"] == pytest.approx(key.sizes["warm"] / sum(key.sizes.values()))
    assert rows["cold", "recall"]["value"] is None
    assert rows["cold", "recall"]["detail"].startswith("not measurable")


def test_a_sorting_that_does_not_exist_is_named(folder: Path) -> None:
    with pytest.raises(FaceValueError, match=r"Unknown sorting 'tune'\. Did you mean 'tone'"):
        sorting_packet(StoredRun.open(folder), "tune", 20, 0)


def test_what_group_words_alone_move_stands_beside_asking_again(read: Reader, tmp_path: Path) -> None:
    numbers = count()

    def reply(_: Question) -> str:
        number = next(numbers)
        return f"{('She', 'He')[number % 2]} said that she waits near a church, number {number}."

    read(STUDY)
    folder = tmp_path / "run"
    fv.run(tmp_path / "small.toml", reply, folder)
    _judged(folder, Judging(_judge))
    rows = _estimates(folder).filter(pl.col("measure").is_in(["judge_swapped.tone", "judge_without.tone"]))
    assert rows.height == 2
    assert rows["floor"].to_list() == [0.0, 0.0]
    assert (rows.filter(measure="judge_swapped.tone")["value"] > 0).all()
    assert rows.select(pl.col("value", "low", "high", "n").is_not_null().all()).row(0) == (True,) * 4
    again = Judging(_judge)
    _judged(folder, again)
    assert again.prompts == []


def test_a_judge_that_is_moved_is_told_from_one_that_is_not() -> None:
    rng = np.random.default_rng(1)
    before = rng.integers(0, 3, 100).astype(float)
    noisy = np.where(rng.random((2, 100)) < 0.1, (before + 1) % 3, before)
    biased, beyond = moved_share(before, np.where(rng.random(100) < 0.6, 0.0, before), noisy[0])
    alike, floor = moved_share(before, noisy[1], noisy[0])
    assert biased.low[0] > alike.value[0]
    assert beyond.p[0] < 0.001 < 0.05 < floor.p[0]
    assert floor.mean[0] == pytest.approx(0.1, abs=0.08)
    nothing, _ = moved_share(np.full(3, np.nan), np.zeros(3), np.zeros(3))
    assert np.isnan(nothing.value[0])
    assert "not measurable" in nothing.method[0]


def test_one_rater_has_no_agreement_with_others() -> None:
    checks = judge_agreement(np.array([0.0, 1.0, np.nan]), np.array([[0.0, 1.0, 1.0]]), "nominal", 0)
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
    assert words.swap_words(text) == swapped
    assert words.mask_words(text) == without


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


def test_of_lists_that_people_sorted_in_part_the_judge_counts_by_the_same_entries(read: Reader, tmp_path: Path) -> None:
    entries = STUDY.replace('kind = "text"', 'kind = "list"').partition("[answer.scored.hostility]")
    read(
        entries[0]
        + entries[2].replace('\nlabel = "hostility"\n', "").replace("factor", 'scores = ["tone_warm"]\nfactor')
    )
    folder = tmp_path / "run"
    fv.run(tmp_path / "small.toml", lambda _: "smile, frown", folder)
    _judged(folder, Judging(lambda prompt: "(a)" if "smile" in prompt else "(b)"))
    packet, _ = sorting_packet(StoredRun.open(folder), "tone", 2, 0)
    (smile,) = (card.items[0] for card in packet.cards if card.texts[0][1] == "smile")
    keep_labels(
        StoredRun.open(folder), "tone", pl.DataFrame([("ann", smile, 1)], ["rater", "item", "rating"], orient="row")
    )
    rows = _estimates(folder).filter(measure="mean.tone_warm")
    by = {who: set(rows.filter(pl.col("judged_by").eq_missing(who))["value"]) for who in (*rows["judged_by"],)}
    assert by[None] == {0.5}
    assert by["people"] == by["the judge, same texts"] == {1.0}
