"""Words of groups, from a run of counterfactual sets to a judge, to people, and to the report."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Command
from tests.reviews import filled, packet_of, rows_of

RUN = Path("runs", "counterfactuals-sim-default")
ASK = (
    *("counterfactuals", "--subset", "physical-gender", "--prompt", "characteristics", "--min-frequency", "3"),
    *("--model", "sim/default"),
)


@pytest.fixture
def asked(facevalue: Command, ran: Callable[..., None]) -> Command:
    """A run with keywords."""
    ran(*ASK)
    return facevalue


def test_words_go_to_a_judge_and_to_people_and_both_stand_in_the_report(asked: Command) -> None:
    judged = asked("judge", str(RUN), "--model", "sim/default")
    assert judged.status == 0, judged.err
    assert "prose 0, refused 0, empty 0" in judged.out
    assert asked("measure", str(RUN), "--out", "e.parquet").status == 0
    found = pl.read_parquet("e.parquet")
    listed = found.filter(pl.col("measure").is_in(["pmi", "pmi_least"])).select("group", "word")
    flags = found.filter(pl.col("measure") == "stereotype_flag")
    assert set(flags.select("group", "word").rows()) == set(listed.rows())
    assert 0 < flags["value"].sum() < flags.height

    sent = asked("review", str(RUN), "--task", "finding", "--out", "words", "--sample", "2")
    assert sent.status == 0, sent.err
    packet = packet_of(RUN)
    rows = rows_of(packet)
    assert rows[0]["answers"] == "No; Yes, stereotypical or offensive"
    places = {row["item"]: at for at, row in enumerate(rows)}
    files = []
    for rater in ("ann", "bo", "cy"):
        path = filled(packet, Path(), rater, lambda row: 1 + places[row["item"]] % 2)
        files += ["--collect", str(path)]
    read = asked("review", str(RUN), *files, "--json")
    assert read.status == 0, read.err
    items = json.loads(read.out)["items"]
    assert [item["raters"] for item in items] == [3] * len(rows)
    assert sum(item["flagged"] for item in items) == len(rows) // 2
    assert {item["judge"] for item in items} <= {True, False}
    people = asked("review", str(RUN), *files).out
    assert "The judge against the majority: precision" in people
    assert "Flagged (the majority of three or more)" in people

    report = asked("report", str(RUN))
    assert report.status == 0, report.err
    assert "Ratings by people" in report.out
    page = (RUN / "report.html").read_text(encoding="utf-8")
    assert "† A judge model calls the word stereotypical or offensive" in page
    assert "Against the majority of people: precision" in page
    assert "Called stereotypes" in page


def test_a_page_without_a_judge_says_nothing_of_stereotypes(asked: Command) -> None:
    assert asked("report", str(RUN)).status == 0
    page = (RUN / "report.html").read_text(encoding="utf-8")
    assert "†" not in page
    assert "Called stereotypes" not in page


def test_replies_without_words_of_groups_leave_nothing_to_judge(facevalue: Command, ran: Callable[..., None]) -> None:
    ran("counterfactuals", "--subset", "physical-gender", "--prompt", "characteristics", "--sample", "30",
        "--model", "sim/default")  # fmt: skip
    out = facevalue("judge", str(RUN), "--model", "sim/default")
    assert (out.status, "there is nothing to judge" in out.out) == (0, True)
    none = facevalue("review", str(RUN), "--task", "finding", "--out", "words")
    assert (none.status, "there is no association to judge" in none.err) == (1, True)


def test_least_kl_is_not_of_words(asked: Command) -> None:
    out = asked("review", str(RUN), "--task", "finding", "--out", "words", "--least-kl", "1")
    assert (out.status, "--sample says how many" in out.err) == (1, True)
