"""`facevalue questionnaire`: from the forms of a run to statements, and from raters' files to verdicts."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from facevalue.studies.visbias.questionnaire import chosen
from tests.cli.conftest import Command

RUN = "runs/visbias-sim-default"
PLACE = Path(RUN, "annotations", "ratings", "ratings.parquet")
ASK = ("visbias", "--task", "form", "--forms", "12", "--model", "sim/default")


@pytest.fixture(autouse=True)
def few_shuffles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facevalue.measures.conditional_kl.FIRST", 100)
    monkeypatch.setattr("facevalue.measures.conditional_kl.MOST", 100)


@pytest.fixture
def asked(facevalue: Command, ran: Callable[..., None]) -> Command:
    """A run with forms."""
    ran(*ASK)
    return facevalue


def statements(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def rated(name: str, rows: Sequence[dict[str, str]], ratings: Sequence[object]) -> str:
    """A rater's file, as a spreadsheet saves it."""
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["rater", "item", "statement", "rating"])
        writer.writeheader()
        for row, rating in zip(rows, ratings, strict=True):
            writer.writerow({**row, "rating": rating})
    return name


def test_strong_pairs_go_out_and_ratings_become_verdicts(asked: Command) -> None:
    out = asked("questionnaire", RUN, "--out", "asked.csv", "--least-kl", "0.3", "--most", "4")
    assert out.status == 0, out.err
    assert "4 statements with a divergence above 0.3 nats" in out.out
    rows = statements("asked.csv")
    assert len({row["item"] for row in rows}) == 4
    assert all(row["statement"].startswith("If a person’s ") for row in rows)
    files = [
        rated("ann.csv", rows, [5, 1, 3, ""]),
        rated("bo.csv", rows, [4, 1, 3, ""]),
        rated("cy.csv", rows, [5, 2, 2, 4]),
        rated("di.csv", rows, [3, 3, 3, 3]),
    ]
    given = [part for file in files for part in ("--ratings", file)]
    read = asked("questionnaire", RUN, *given, "--out", "judged.csv", "--json")
    assert read.status == 0, read.err
    found = json.loads(read.out)
    assert found["left_out"] == ["di"]
    assert found["raters"] == 3
    items = {item["item"]: item for item in found["items"]}
    assert [items[row["item"]]["flagged"] for row in rows] == [True, False, False, None]
    assert [items[row["item"]]["raters"] for row in rows] == [3, 3, 3, 1]
    assert items[rows[0]["item"]]["mean"] == pytest.approx(14 / 3)
    assert items[rows[1]["item"]]["low"] >= 1
    assert items[rows[0]["item"]]["kl"] > 0.3
    assert 0 < found["agreement"]["value"] < 1
    assert found["agreement"]["n"] == 9
    assert set(pl.read_csv("judged.csv")["item"]) == set(items)
    people = asked("questionnaire", RUN, *given).out
    assert "Left out, as published: di" in people
    assert "Flagged (mean of 3 or more): 1 of 3" in people
    assert "1 statement has fewer than three ratings and is not judged." in people
    assert "too few raters" in people
    assert "Krippendorff's alpha (ordinal): 0." in people


def test_verdicts_given_to_a_run_are_in_its_report(asked: Command) -> None:
    asked("questionnaire", RUN, "--out", "asked.csv", "--least-kl", "0.3", "--most", "3")
    rows = statements("asked.csv")
    told = ((5, 1, 2), (4, 1, 3), (5, 2, 3), (3, 3, 3))
    files = [rated(f"{name}.csv", rows, given) for name, given in zip(("ann", "bo", "cy", "di"), told, strict=True)]
    given = [part for file in files for part in ("--ratings", file)]
    first = asked("questionnaire", RUN, *given[:2])
    assert "3 statements have fewer than three ratings and are not judged." in first.out
    assert "of 0" not in first.out
    assert f"Kept in {PLACE.parent}: facevalue report {RUN}" in first.out
    again = asked("questionnaire", RUN, *given, "--json")
    assert json.loads(again.out)["raters"] == 3
    assert json.loads(again.out)["replaced"] == 3
    kept = pl.read_parquet(PLACE)
    assert kept.schema == {"rater": pl.String, "item": pl.String, "rating": pl.Int64, "duration": pl.Float64}
    assert kept.height == 12

    report = asked("report", RUN)
    assert report.status == 0, report.err
    assert "Ratings by people: 9 by 3 raters" in report.out
    assert "Left out, as published: di, who rated all alike." in report.out
    page = Path(RUN, "report.html").read_text(encoding="utf-8")
    assert "No ratings by people were given" not in page
    assert "biased, mean 4.67 of 5 (3 raters)" in page
    assert "not biased, mean 1.33 of 5 (3 raters)" in page
    assert "alpha of the raters" in page


def test_quick_responses_are_left_out_and_named_also_in_the_report(asked: Command) -> None:
    asked("questionnaire", RUN, "--out", "asked.csv", "--least-kl", "0.3", "--most", "2")
    rows = statements("asked.csv")
    for name, told, seconds in (("ann", (5, 1), 90), ("bo", (4, 2), 500), ("cy", (4, 1), 300)):
        lines = [f"{name},{row['item']},{rating},{seconds}" for row, rating in zip(rows, told, strict=True)]
        Path(f"{name}.csv").write_text("\n".join(["rater,item,rating,duration", *lines]), encoding="utf-8")
    given = [part for name in ("ann", "bo", "cy") for part in ("--ratings", f"{name}.csv")]
    found = json.loads(asked("questionnaire", RUN, *given, "--json").out)
    assert (found["raters"], found["left_out"], found["under_two_minutes"]) == (2, [], ["ann"])
    said = "Left out, as published: 2 ratings by ann, submitted in under two minutes."
    assert said in asked("questionnaire", RUN, *given).out
    report = asked("report", RUN)
    assert said in report.out
    assert "Ratings by people: 4 by 2 raters" in report.out


def test_if_no_pair_passes_the_strongest_above_their_floor_are_asked_about_and_it_is_said(asked: Command) -> None:
    out = asked("questionnaire", RUN, "--out", "asked.html", "--least-kl", "50", "--most", "3")
    assert out.status == 0, out.err
    assert "No pair has a divergence above 50 nats" in out.out
    assert "the 3 statements furthest above their noise floor" in out.out
    assert Path("asked.html").read_text(encoding="utf-8").count("<fieldset") == 3


def test_mistakes_are_one_message(asked: Command) -> None:
    asked("questionnaire", RUN, "--out", "asked.csv", "--least-kl", "0.3", "--most", "2")
    rows = statements("asked.csv")
    strange = rated("strange.csv", [{**rows[0], "item": "q-0000000000"}], [3])
    twice = rated("twice.csv", [rows[0], rows[0]], [3, 4])
    alike = rated("alike.csv", rows, [3, 3])
    empty = rated("empty.csv", rows, ["", ""])
    for given, status, says in (
        (("--ratings", strange), 1, "'q-0000000000' is not an item"),
        (("--ratings", twice), 1, "'twice' has rated"),
        (("--ratings", alike), 1, "No rating counts. Left out, as published: alike, who rated all alike."),
        (("--ratings", empty), 1, "empty.csv: holds no rating"),
        (("--ratings", "none.csv"), 1, "There is no file none.csv"),
        (("--ratings", alike, "--out", "judged.html"), 2, "judged.html is not a .csv file"),
        (("--ratings", alike, "--most", "3"), 2, "leave them out with --ratings"),
        (("--out", "asked.pdf"), 2, "neither .html nor .csv"),
        ((), 2, "Say where the questionnaire goes"),
    ):
        out = asked("questionnaire", RUN, *given)
        assert out.status == status, given
        assert says in out.err
        assert "Traceback" not in out.err


def test_runs_without_forms_are_refused(facevalue: Command) -> None:
    small = ("--occupation", "doctor", "--model", "sim/default")
    assert facevalue("run", "visbias", "--task", "mcq", *small).status == 0
    out = facevalue("questionnaire", RUN, "--out", "asked.csv")
    assert (out.status, out.out) == (1, "")
    assert "This run has no forms" in out.err


def test_runs_of_other_studies_are_refused(facevalue: Command) -> None:
    small = ("--faces", "4", "--scenarios", "wealthy", "--attributes", "eyewear", "--seeds", "1")
    assert facevalue("run", "stylisticbias", *small, "--model", "sim/default").status == 0
    out = facevalue("questionnaire", "runs/stylisticbias-sim-default", "--out", "asked.csv")
    assert out.status == 1
    assert "stylisticbias offers no questionnaire; visbias and counterfactuals do" in out.err


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
    rows, passed = chosen(GRAPH)
    assert passed
    assert rows["choice"].to_list() == ["70+"]


def test_without_passing_pairs_only_those_above_their_floor_count_the_furthest_first() -> None:
    rows, passed = chosen(GRAPH, threshold=2.0)
    assert not passed
    assert rows["choice"].to_list() == ["70+", "0-17"]
    assert rows["task"].to_list() == ["text-form", "form"]
    assert chosen(GRAPH, threshold=2.0, count=1)[0].height == 1
