"""Requests that fail: counted on their own, quoted, asked again, and never taken for answers of the model."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.runs.requests import failures, quote_line
from facevalue.runs.stored_run import ReplyTally, StoredRun, answers
from facevalue.store import scan_responses
from tests.cli.conftest import Command
from tests.models.misbehaving import Exchange, Misbehaving

STUDY = {"faces": "2", "attributes": "eyewear", "seeds": "1", "scenario": "wealthy"}
"""24 requests."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> "Misbehaving":
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return Misbehaving()


def asked(exchange: Exchange) -> str:
    content = exchange.body["messages"][-1]["content"]
    return content if isinstance(content, str) else str(content[-1]["text"])


def failing(exchange: Exchange) -> None:
    """Refuse the two orderings that show the unfavourable option first: half of the requests."""
    if re.search(r"\(.\) poor or", asked(exchange)):
        exchange.error(400, "no such field: <b>images</b>")
    else:
        exchange.say("(a)")


def run(facevalue: Command, spec: str, *args: str, **options: str) -> tuple[int, str]:
    """Run a small study, with other values for some of its options."""
    chosen = {**STUDY, "concurrency": "1", "model": spec, "out": "run", **options}
    done = facevalue("run", "stylisticbias", *(f"--{name}={value}" for name, value in chosen.items()), *args)
    return done.status, done.err


def test_failures_are_missing_answers_of_the_model(facevalue: Command, server: Misbehaving) -> None:
    with server.served():
        server.otherwise = failing
        status, said = run(facevalue, server.spec)
        assert status == 3
        assert "12 of 24 requests failed (50.0%), most often with “HTTP 400: no such field: <b>images</b>”" in said
        assert "give words of it with --refusal-words" in " ".join(said.split())
        assert "Not complete" in said

        measured = facevalue("measure", "run")
        assert "12 of 24 requests failed (50.0%)" in measured.err
        kept = pl.read_parquet("run/estimates.parquet").filter(pl.col("intervention").is_null())
        overall = {
            rate: kept.filter(pl.all_horizontal(pl.col("attribute", "scenario").is_null()), measure=rate)["value"][0]
            for rate in ("na_rate", "refusal_rate", "missing_share")
        }
        assert overall == {"na_rate": 0.5, "refusal_rate": 0.0, "missing_share": 0.5}

        reported = facevalue("report", "run", "--json")
        assert reported.status == 0
        (card,) = [card for card in _cards(json.loads(reported.out)) if card["name"] == "failed"]
        assert (card["value"], card["status"]) == ("50.0% (12 of 24)", "problem")
        assert "no such field: <b>images</b>" in card["note"]
        assert "no such field: &lt;b&gt;images" in Path("run/report.html").read_text()

        assert not fv.open_run("run").complete
        server.otherwise = lambda exchange: exchange.say("(a)")
        assert run(facevalue, server.spec)[0] == 0
        assert fv.open_run("run").complete
    assert scan_responses(Path("run")).collect()["status"].unique().to_list() == ["ok"]
    assert not [
        card for card in _cards(json.loads(facevalue("report", "run", "--json").out)) if card["name"] == "failed"
    ]


def _cards(page: object) -> list[dict[str, str]]:
    """Every card of a page, wherever it is."""
    if isinstance(page, list):
        return [card for part in page for card in _cards(part)]
    if not isinstance(page, dict):
        return []
    own = [page] if {"name", "value", "note", "status"} <= set(page) else []
    return own + [card for part in page.values() for card in _cards(part)]


def test_the_tally_counts_failures_as_missing_answers(facevalue: Command, server: Misbehaving) -> None:
    with server.served():
        server.otherwise = failing
        run(facevalue, server.spec)
    stored, tally = StoredRun.open(Path("run")), ReplyTally()
    replies = pl.concat(answers(stored, tally))
    assert (tally.asked, tally.failed_requests, tally.valid, tally.na) == (24, 12, 12, {"error": 12})
    assert replies["na"].cast(pl.String).value_counts().sort("na").rows() == [(None, 12), ("error", 12)]
    assert facevalue("export", "run", "--out", "all.csv").status == 0
    assert pl.read_csv("all.csv")["error"].drop_nulls().len() == 12


def test_a_run_of_failures_alone_says_so(facevalue: Command, server: Misbehaving) -> None:
    with server.served():
        server.script = [lambda exchange: exchange.say("(a)")] * 2
        server.otherwise = lambda exchange: exchange.error(422, "bad picture")
        status, said = run(facevalue, server.spec)
    assert status == 3
    assert "20 requests in a row failed for good, the last with: HTTP 422: bad picture." in said
    for command in (("measure", "run"), ("report", "run")):
        done = facevalue(*command)
        assert done.status == 1
        assert re.search(r"holds no reply: \d+ of \d+ requests failed \(100.0%\).*HTTP 422: bad picture", done.err)


@pytest.mark.parametrize("status", [400, 401, 404, 422, 500])
@pytest.mark.parametrize("concurrency", ["1", "8"])
def test_failures_in_a_row_end_the_run_with_the_servers_words(
    facevalue: Command, server: Misbehaving, status: int, concurrency: str
) -> None:
    with server.served():
        server.script = [lambda exchange: exchange.say("(a)")] * 4
        server.otherwise = lambda exchange: exchange.error(status, "bad \x1b[2Jfield")
        code, said = run(facevalue, server.spec, "--retries", "0", concurrency=concurrency, scenario="wealthy,polite")
    assert code == 3
    assert f"20 requests in a row failed for good, the last with: HTTP {status}: bad \\x1b[2Jfield." in said
    assert len(server.asked) < 4 + 20 + 2 * int(concurrency)


def test_mostly_failures_end_the_run_too(facevalue: Command, server: Misbehaving) -> None:
    with server.served():
        turns = iter(range(1_000))
        server.otherwise = lambda e: e.error(400, "odd") if next(turns) % 12 else e.say("(a)")
        code, said = run(facevalue, server.spec, faces="8", scenario="wealthy,polite")
    assert code == 3
    assert "90 of 100 requests failed for good, the last with: HTTP 400: odd." in said


def test_an_error_is_quoted_on_one_short_line() -> None:
    assert quote_line("a\n\tb\x1b") == r"“a b\x1b”"
    assert len(quote_line("x" * 1000)) == 302
    assert failures(1, 2, "") == "1 of 2 requests failed (50.0%). `facevalue run` asks them again."
