"""`facevalue review --task finding`: from the forms of a run to statements, from raters' files to verdicts."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from facevalue.studies.visbias.questionnaire import choose_pairs
from tests.cli.conftest import Command
from tests.reviews import Row, filled, packet_of, rows_of

RUN = "runs/visbias-sim-default"
PLACE = Path(RUN, "annotations", "ratings", "ratings.parquet")
ASK = ("visbias", "--task", "form", "--forms", "12", "--model", "sim/default")


@pytest.fixture(autouse=True)
def few_shuffles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facevalue.studies.visbias.form_graph.FIRST_SHUFFLES", 100)
    monkeypatch.setattr("facevalue.studies.visbias.form_graph.MOST_FORM_SHUFFLES", 100)


@pytest.fixture
def asked(facevalue: Command, ran: Callable[..., None]) -> Command:
    """A run with forms."""
    ran(*ASK, measured=True)
    return facevalue


def packet(asked: Command, most: int, least: str = "0.3") -> list[Row]:
    """Write pages about the strongest pairs, and read the statements."""
    options = ("--task", "finding", "--out", "asked", "--least-kl", least, "--sample", str(most))
    out = asked("review", RUN, *options)
    assert out.status == 0, out.err
    return sorted(rows_of(packet_of(Path(RUN))), key=lambda row: row["item"])


def _answer(by_item: Mapping[str, object], row: Row) -> object:
    return by_item[row["item"]]


def rated(rows: Sequence[Row], seconds: int = 300, **answers: Sequence[object]) -> list[str]:
    """The files of raters, as their pages save them."""
    files, packet = [], packet_of(Path(RUN))
    for rater, ratings in answers.items():
        by_item = {row["item"]: rating for row, rating in zip(rows, ratings, strict=True)}
        files += ["--collect", str(filled(packet, Path(), rater, partial(_answer, by_item), seconds))]
    return files


def test_strong_pairs_go_out_and_ratings_become_verdicts(asked: Command) -> None:
    rows = packet(asked, 4)
    assert len({row["item"] for row in rows}) == 4
    assert all(row["read"].startswith("Statement: If a person’s ") for row in rows)
    given = rated(rows, ann=(5, 1, 3, ""), bo=(4, 1, 3, ""), cy=(5, 2, 2, 4), di=(3, 3, 3, 3))
    read = asked("review", RUN, *given, "--out", "judged.csv", "--json")
    assert read.status == 0, read.err
    found = json.loads(read.out)
    assert any("who rated all alike" in note for note in found["notes"])
    items = {item["item"]: item for item in found["items"]}
    assert [items[row["item"]]["flagged"] for row in rows] == [True, False, False, None]
    assert [items[row["item"]]["raters"] for row in rows] == [3, 3, 3, 1]
    assert items[rows[0]["item"]]["mean"] == pytest.approx(14 / 3)
    assert items[rows[1]["item"]]["low"] >= 1
    assert items[rows[0]["item"]]["kl"] > 0.3
    (agreement,) = found["agreement"]
    assert 0 < agreement["value"] < 1
    assert agreement["n"] == 9
    assert set(pl.read_csv("judged.csv")["item"]) == set(items)
    people = asked("review", RUN, *given).out
    assert "Flagged (mean of 3 or more): 1 of 3" in people
    assert "1 statement has fewer than three ratings and is not judged." in people
    assert "too few raters" in people
    assert re.search(r"Krippendorff's alpha \(ordinal\) +0\.\d\d +", people)


def test_verdicts_given_to_a_run_are_in_its_report(asked: Command) -> None:
    rows = packet(asked, 3)
    given = rated(rows, ann=(5, 1, 2), bo=(4, 1, 3), cy=(5, 2, 3), di=(3, 3, 3))
    first = asked("review", RUN, *given[:2])
    assert "3 statements have fewer than three ratings and are not judged." in first.out
    assert "of 0" not in first.out
    assert f"Kept in {PLACE.parent}: facevalue report {RUN}" in first.out
    again = asked("review", RUN, *given, "--json")
    assert json.loads(again.out)["replaced"] == 3
    kept = pl.read_parquet(PLACE)
    assert kept.schema == {"rater": pl.String, "item": pl.String, "rating": pl.Int64, "duration": pl.Float64}
    assert kept.height == 12

    report = asked("report", RUN)
    assert report.status == 0, report.err
    assert "Ratings by people: 9 by 3 raters" in report.out
    assert "-di, who rated all alike." in report.out
    page = Path(RUN, "report.html").read_text(encoding="utf-8")
    assert "No ratings by people were given" not in page
    assert "biased, mean 4.67 of 5 (3 raters)" in page
    assert "not biased, mean 1.33 of 5 (3 raters)" in page
    assert "alpha of the raters" in page


def test_quick_responses_are_left_out_and_named_also_in_the_report(asked: Command) -> None:
    rows = packet(asked, 2)
    given = [*rated(rows, 90, ann=(5, 1)), *rated(rows, 500, bo=(4, 2)), *rated(rows, 300, cy=(4, 1))]
    found = json.loads(asked("review", RUN, *given, "--json").out)
    (said,) = (note for note in found["notes"] if "under two minutes" in note)
    assert said.endswith("-ann, submitted in under two minutes.")
    report = asked("report", RUN)
    assert said in report.out
    assert "Ratings by people: 4 by 2 raters" in report.out


def test_if_no_pair_passes_the_strongest_above_their_floor_are_asked_about_and_it_is_said(asked: Command) -> None:
    out = asked("review", RUN, "--task", "finding", "--out", "asked", "--least-kl", "50", "--sample", "3")
    assert out.status == 0, out.err
    assert "No pair has a divergence above 50 nats" in out.out
    assert "the 3 statements furthest above their noise floor" in out.out
    page = Path("asked/rater-1.html").read_text(encoding="utf-8")
    assert page.count("<fieldset") == 4  # and a check of attention
    assert page.count("Extremely biased") == 4 + page.count("choose “Extremely biased”")


def test_mistakes_are_one_message(asked: Command) -> None:
    rows = packet(asked, 2)
    alike = rated(rows, alike=(3, 3))
    for given, status, says in (
        (alike, 1, "No rating counts. Left out, as published: "),
        (rated(rows, far=(6, 3)), 1, "is a number from 1 to 5, not 6"),
        ((*alike, "--out", "judged.html"), 2, "judged.html is not a .csv file"),
        ((), 2, "Say where the packets go"),
        (("--naming", "x", "--out", "o", "--task", "finding"), 2, "they go with --task parse"),
        (("--least-kl", "1", "--out", "o"), 2, "it goes with --task finding"),
    ):
        out = asked("review", RUN, *given)
        assert out.status == status, given
        assert says in out.err
        assert "Traceback" not in out.err


GRAPH = pl.DataFrame(
    [
        ("form", "age", "70+", "religion", "None", 1.4, 1.3),
        ("text-form", "age", "70+", "religion", "None", 1.2, 0.1),
        ("form", "age", "0-17", "religion", "Islam", 1.0, 0.2),
        ("form", "age", "0-17", "income", "Low", 0.3, 0.4),
    ],
    schema=["task", "attribute", "choice", "outcome", "likely", "value", "floor_high"],
    orient="row",
)


def test_the_published_rule_is_above_one_and_asks_about_a_pair_once() -> None:
    rows, passed = choose_pairs(GRAPH)
    assert passed
    assert rows["choice"].to_list() == ["70+"]


def test_without_passing_pairs_only_those_above_their_floor_count_the_furthest_first() -> None:
    rows, passed = choose_pairs(GRAPH, threshold=2.0)
    assert not passed
    assert rows["choice"].to_list() == ["70+", "0-17"]
    assert rows["task"].to_list() == ["text-form", "form"]
    assert choose_pairs(GRAPH, threshold=2.0, count=1)[0].height == 1
