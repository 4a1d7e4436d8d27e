"""What a run can be told besides its study: limits of cost and of invalid answers, tokens, a name, a log file."""

import json
import math
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import SettingError, UnknownNameError
from facevalue.runs.stored_run import StoredRun, checked_name
from facevalue.store import scan_responses
from tests.cli.conftest import Command, Outcome
from tests.models.misbehaving import Exchange, Misbehaving

KEY = "sk-Options/Key=="
STUDY = ("--faces", "2", "--attributes", "eyewear", "--seeds", "1", "--scenario", "wealthy")
"""24 requests; the server counts 7 tokens in and 2 out for each."""
PRICES = ("--price-in", "100000", "--price-out", "150000")
"""One for each request."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Misbehaving]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
    with Misbehaving().served() as served:
        yield served


def run(facevalue: Command, model: str, *args: str, out: str = "run") -> Outcome:
    """Run a small study; what a model sees is asked in `test_sight`."""
    study = STUDY[2:] if "--faces" in args else STUDY
    options = ("--concurrency", "1", "--no-sight-check", *study)
    return facevalue("run", "stylisticbias", "--model", model, "--out", out, *options, *args)


def stored(folder: str = "run") -> pl.DataFrame:
    return scan_responses(Path(folder)).collect()


def settings(folder: str = "run") -> dict[str, object]:
    text = tomllib.loads(Path(folder, "run.toml").read_text())
    found: dict[str, object] = text["model"]["settings"]
    return found


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run", "stylisticbias", "--model", "sim/null", "--model", "sim/strong"), "--model is given 2 times: give it "
         "once, with one value."),
        (("run", "vignette", "--model", "sim/null", "--dimension", "age", "--dimension=gender"), "--dimension is given "
         "2 times: give it once, with several values separated by commas."),
        (("plan", "visbias", "--forms=1", "--forms=2", "--forms", "3"), "--forms is given 3 times"),
    ],
)  # fmt: skip
def test_an_option_given_twice_is_refused(facevalue: Command, args: tuple[str, ...], message: str) -> None:
    outcome = facevalue(*args)
    assert outcome.status == 2
    assert message in " ".join(outcome.err.split())
    assert not Path("run").exists()


def test_a_run_stops_at_its_cost_and_goes_on_with_more(facevalue: Command, server: Misbehaving) -> None:
    first = run(facevalue, server.spec, *PRICES, "--max-cost", "10")
    assert first.status == 3
    assert "The whole run costs" in first.err
    assert "It stops at 10.00." in first.err
    assert "The run has cost 10.00, its limit is 10.00." in first.err
    assert "Not complete: 10 asked" in first.err
    assert stored().height == 10

    again = run(facevalue, server.spec, *PRICES, "--max-cost", "10")
    assert (again.status, stored().height) == (3, 10)

    more = run(facevalue, server.spec, *PRICES, "--max-cost", "100")
    assert (more.status, stored().height) == (0, 24)


def test_a_limit_of_cost_needs_prices(facevalue: Command, server: Misbehaving) -> None:
    none = run(facevalue, server.spec, "--max-cost", "10")
    assert none.status == 2
    assert "give --price-in and --price-out" in none.err
    assert run(facevalue, server.spec, "--max-cost", "10", "--price-in", "3").status == 2
    assert not server.asked
    with pytest.raises(SettingError, match="give --price-in and --price-out"):
        fv.run("stylisticbias", "sim/default", max_cost=1.0)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"max_invalid": 5.0}, "max_invalid is at least 0 and at most 1, not 5"),
        ({"max_invalid": math.nan}, "max_invalid is finite, a number or None, not nan"),
        ({"max_cost": math.nan, "price_in": 1.0, "price_out": 1.0}, "max_cost is finite, a number or None, not nan"),
        ({"max_cost": -1.0, "price_in": 1.0, "price_out": 1.0}, "max_cost is above 0, not -1"),
        ({"price_in": math.inf}, "price_in is finite, a number or None, not inf"),
    ],
)
def test_limits_that_could_never_be_kept_are_refused(settings: dict[str, float], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        fv.run("stylisticbias", "sim/default", **settings)  # type: ignore[arg-type]


def test_in_python_a_limit_is_in_the_summary(tmp_path: Path, server: Misbehaving) -> None:
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", scenario="wealthy", seeds=[1])
    prices = {"price_in": 100_000.0, "price_out": 150_000.0}
    model = fv.model(server.spec, concurrency=1)
    run = fv.run(study, model, tmp_path / "run", **prices, max_cost=5.0, sight_check=False, progress=False)  # type: ignore[arg-type]
    assert run.summary is not None
    assert run.summary.stopped == "The run has cost 5.00, its limit is 5.00."
    assert (run.complete, run.summary.asked, run.summary.interrupted) == (False, 5, False)


def test_limits_of_tokens_are_whole_numbers(server: Misbehaving) -> None:
    with pytest.raises(SettingError, match="max_tokens is at least 1 and at most 2,147,483,648, not -5"):
        fv.model(server.spec, max_tokens=-5)


def test_a_model_that_counts_no_tokens_has_no_limit_of_cost(facevalue: Command, server: Misbehaving) -> None:
    server.otherwise = lambda e: e.json(200, {"choices": [{"message": {"content": "(a)"}, "finish_reason": "stop"}]})
    done = run(facevalue, server.spec, *PRICES, "--max-cost", "10")
    assert done.status == 3
    assert "does not count its tokens" in done.err
    assert stored().height < 24


def many(facevalue: Command, server: Misbehaving, *args: str) -> Outcome:
    """420 requests to a server that never gives a valid answer; shards are stored every few rows."""
    return run(facevalue, server.spec, "--faces", "35", *args)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store every few replies, as a slow server would have it."""
    from facevalue.runs import settings

    monkeypatch.setattr(settings.RunSettings.__init__, "__defaults__", _with(settings.RunSettings))


def _with(kind: type) -> tuple[object, ...]:
    names = list(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    values = list(kind.__init__.__defaults__)  # type: ignore[misc]
    values[names.index("flush_rows")] = 20
    return tuple(values)


@pytest.mark.usefixtures("often")
def test_invalid_answers_are_said_and_stop_a_run_that_has_a_limit(facevalue: Command, server: Misbehaving) -> None:
    server.otherwise = lambda exchange: exchange.say("I would rather not.")
    stopped = many(facevalue, server, "--max-invalid", "0.5")
    assert stopped.status == 1
    assert "replies have no valid answer, more than 50.0%." in stopped.err
    assert 200 <= stored().height < 300

    warned = many(facevalue, server)
    assert warned.err.count("have no valid answer. Ctrl-C stops") == 1
    assert stored().height == 420


@pytest.mark.usefixtures("often")
def test_replies_that_cannot_be_read_are_quoted_and_stop_a_run(facevalue: Command, server: Misbehaving) -> None:
    server.otherwise = lambda exchange: exchange.say("Banana \x1b[2J bread.")
    stopped = many(facevalue, server)
    assert stopped.status == 1
    assert "“Banana \\x1b[2J bread.” where one of “(a)" in stopped.err
    assert "--max-invalid 1 goes on all the same." in stopped.err
    assert 200 <= stored().height < 300
    many(facevalue, server, "--max-invalid", "1")
    assert stored().height == 420


def test_tokens_and_thinking_are_part_of_the_run(facevalue: Command, server: Misbehaving) -> None:
    think = ("--max-tokens", "8", "--reasoning-effort", "low", "--reasoning-tokens", "500")
    server.otherwise = lambda exchange: exchange.say("<think>(b), or not?</think>\n(a)")
    assert run(facevalue, server.spec, *think).status == 0
    assert {(body["max_tokens"], body["reasoning_effort"]) for body in server.bodies} == {(508, "low")}
    assert settings().items() >= {"max_tokens": 8, "reasoning_effort": "low", "reasoning_tokens": 500}.items()
    assert stored()["text"].unique().to_list() == ["<think>(b), or not?</think>\n(a)"]
    study = StoredRun.open(Path("run"))
    assert set(fv.open_run("run").answers()["na"]) == {None}
    assert study.facts.sampling.max_tokens == 16

    other = run(facevalue, server.spec)
    assert other.status == 1
    assert "max_tokens: 8 in the folder, nothing asked" in other.err

    server.otherwise = lambda exchange: exchange.say("(a)")
    assert run(facevalue, server.spec, out="plain").status == 0
    assert not {"max_tokens", "reasoning_effort", "reasoning_tokens", "left_out"} & set(settings("plain"))
    assert not set(stored()["request"]) & set(stored("plain")["request"])


def test_a_reply_cut_off_while_thinking_counts_as_cut(facevalue: Command, server: Misbehaving) -> None:
    server.otherwise = lambda exchange: exchange.say("<think>(a) is what I", "length")
    assert run(facevalue, server.spec, "--reasoning-tokens", "100").status == 1
    found = fv.open_run("run").answers()
    assert found["na"].cast(pl.String).unique().to_list() == ["truncated"]
    assert found["status"].cast(pl.String).unique().to_list() == ["truncated"]


def test_only_servers_are_told_about_tokens(facevalue: Command) -> None:
    done = run(facevalue, "sim/default", "--max-tokens", "8", "--reasoning-effort", "low")
    assert done.status == 2
    assert "--max-tokens and --reasoning-effort are for models behind a server; sim/default is none." in done.err
    with pytest.raises(UnknownNameError, match="Did you mean 'medium'"):
        fv.model("sim/default", reasoning_effort="mediun")


def test_what_a_server_does_not_take_is_said(facevalue: Command, server: Misbehaving) -> None:
    def strict(exchange: Exchange) -> None:
        for name in ("temperature", "seed"):
            if name in exchange.body:
                exchange.error(400, f"Unsupported parameter: '{name}' is not supported with this model.")
                return
        exchange.say("(a)")

    server.otherwise = strict
    done = run(facevalue, server.spec)
    assert done.status == 0
    assert "takes no temperature, which is not sent: its own default applies, not the 0.2 that was asked." in done.err
    assert "takes no seed, which is not sent: replies cannot be reproduced." in done.err
    assert settings()["left_out"] == "seed, temperature"


def test_two_runs_of_one_model_stand_side_by_side_by_name(facevalue: Command) -> None:
    for name in ("before", "after"):
        assert run(facevalue, "sim/default", "--name", name, out=name).status == 0
    assert facevalue("measure", "before", "after", "--out", "both.csv").status == 0
    assert set(pl.read_csv("both.csv")["model"]) >= {"before", "after"}
    assert facevalue("report", "before", "after", "--out", "both.html").status == 0
    one, two = (StoredRun.open(Path(name)) for name in ("before", "after"))
    assert (one.facts.model, two.facts.model, one.model) == ("sim/default", "sim/default", "before")
    assert stored("before")["request"].equals(stored("after")["request"])

    for folder in ("one", "two"):
        assert run(facevalue, "sim/default", out=folder).status == 0
    assert "are both called same" in facevalue("measure", "same=one", "same=two").err
    refused = facevalue("measure", "one", "two")
    assert refused.status == 1
    assert "before=one after=two, or `--name`" in refused.err
    assert facevalue("measure", "first=one", "second=two").status == 0
    compared = facevalue("compare", "first=one", "second=two")
    assert compared.status == 0
    assert "second minus first" in compared.out
    assert fv.open_run("one", name="renamed").model == "renamed"
    assert stored("one")["request"].equals(stored("before")["request"])
    assert "name" not in tomllib.loads(Path("one", "run.toml").read_text())


def test_a_named_run_goes_to_a_folder_of_its_name(facevalue: Command) -> None:
    assert facevalue("run", "stylisticbias", "--model", "sim/default", "--name", "v2", *STUDY).status == 0
    assert StoredRun.open(Path("runs/stylisticbias-v2")).model == "v2"


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "a\x1b[2J", "two\nlines", "(all models)"])
def test_a_name_is_a_short_text(name: str) -> None:
    with pytest.raises(SettingError, match="A run's name is a text"):
        checked_name(name)


def test_a_log_says_what_happened_and_no_key(facevalue: Command, server: Misbehaving) -> None:
    turns = iter(range(1_000))

    def behave(exchange: Exchange) -> None:
        if next(turns) == 5:
            exchange.error(400, f"bad\nkey {KEY} \x1b[2J")
        else:
            exchange.say("(a)")

    server.otherwise = behave
    assert run(facevalue, server.spec, "--log", "log.txt").status == 3
    lines = Path("log.txt").read_text().splitlines()
    assert all(line[:2] == "20" and line.split(" ")[1] in ("INFO", "WARNING", "ERROR") for line in lines)
    assert "24 of 24 requests to make" in lines[0]
    assert len([line for line in lines if "failed: HTTP 400: bad key [key] \\x1b[2J" in line]) == 1
    assert "Not complete: 24 asked" in lines[-1]
    assert KEY not in "".join(lines)
    assert "base64" not in "".join(lines)

    server.otherwise = lambda exchange: exchange.error(401, "no")
    assert run(facevalue, server.spec, "--log", "log.txt").status == 3
    assert "ERROR" in Path("log.txt").read_text().splitlines()[-1]
    nowhere = run(facevalue, server.spec, "--log", "no/such/folder/log.txt")
    assert nowhere.status == 2
    assert "cannot be written" in nowhere.err


def test_export_as_json_lines(facevalue: Command) -> None:
    assert run(facevalue, "sim/default", "--exact").status == 0
    assert facevalue("export", "run", "--out", "all.jsonl").status == 0
    rows = [json.loads(line) for line in Path("all.jsonl").read_text().splitlines()]
    assert len(rows) == 24
    assert {len(row["probs"]) for row in rows} == {2}
    assert rows[0]["scenario"] == "wealthy"
    wrong = facevalue("export", "run", "--out", "all.xlsx")
    assert wrong.status == 2
    assert "is not .parquet, .csv or .jsonl" in wrong.err


@pytest.mark.parametrize("temperature", ["99", "-1", "nan"])
def test_a_temperature_that_no_server_takes_is_refused(facevalue: Command, temperature: str) -> None:
    done = run(facevalue, "sim/default", "--temperature", temperature)
    assert done.status == 2
    assert "it must be between 0 (greedy) and 2." in done.err


def test_the_reference_model_is_not_asked_what_it_declines(facevalue: Command) -> None:
    done = facevalue("run", "visbias", "--task", "mcq", "--model", "reference", "--out", "run")
    assert done.status == 3
    assert "reference declines every question of this study" in done.err
    assert "it was trained on forced choices, yes-no questions" in done.err
    assert not Path("run").exists()
    for study in (("stylisticbias", *STUDY), ("vignette", "--paradigm", "decision", "--sample", "20")):
        assert facevalue("run", *study, "--model", "reference", "--exact", "--out", study[0]).status == 0


def test_python_dash_m() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "facevalue", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "facevalue")


def test_the_shell_completes_commands_and_options() -> None:
    def complete(*words: str) -> str:
        env = {
            **os.environ,
            "_FACEVALUE_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(["facevalue", *words]),
            "COMP_CWORD": str(len(words)),
        }
        code = "import sys; sys.argv[0] = 'facevalue'; from facevalue.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env, check=False
        )
        assert not done.stderr
        return done.stdout

    assert "plain,report" in complete("rep")
    assert "plain,stylisticbias" in complete("run", "sty")
    assert "plain,--max-cost" in complete("run", "stylisticbias", "--max")


def test_models_are_called_by_their_own_names(facevalue: Command, server: Misbehaving) -> None:
    with Misbehaving().served() as second:
        for place, out in ((server, "one"), (second, "two")):
            place.otherwise = lambda exchange: exchange.say("(a)")
            assert run(facevalue, place.spec, out=out).status == 0
        alone, side_by_side = facevalue("measure", "one").out, facevalue("measure", "one", "two").out
        assert "http://" not in alone + side_by_side
        hosts = [place.spec.partition("//")[2].partition("/")[0] for place in (server, second)]
        assert all(f"tiny-llava ({host})" in side_by_side for host in hosts)
        assert facevalue("report", "one", "two", "--out", "both.html").status == 0
        page = Path("both.html").read_text()
        assert f"tiny-llava ({hosts[0]})" in page
        kept = pl.read_parquet("one/estimates.parquet")
        assert kept["model"].unique().to_list() == [server.spec]
