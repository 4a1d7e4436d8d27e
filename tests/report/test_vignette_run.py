"""From a real run of VIGNETTE to its report: examples are stored answers, the page takes what the study gives."""

import sys
from pathlib import Path

import polars as pl
import pytest

from facevalue import report
from facevalue.cli import main
from facevalue.report.blocks.content import MOST_BYTES
from facevalue.report.collect import gather
from facevalue.report.data import PairExample
from facevalue.runs.joined_runs import estimate
from facevalue.runs.pictures import TrialPictures
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.store import read_responses
from tests.report.test_html import page

ASKED = ("--dimension", "age", "--activity", "cooking,cycling", "--paradigm", "decision,perception")


Finished = tuple[StoredRun, pl.DataFrame, dict[str, ReplyTally]]


def run_of(folder: Path, *asked: str) -> Finished:
    """A small run with its estimates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sys, "argv", ["facevalue", "run", "vignette", "--model", "sim/default", "--out", str(folder), *asked]
        )
        with pytest.raises(SystemExit) as end:
            main()
    assert not end.value.code
    run = StoredRun.open(folder)
    frame, tallies = estimate([run])
    return run, frame, tallies


def all_found(frame: pl.DataFrame, measure: str) -> pl.DataFrame:
    """The estimates with every one of a measure found."""
    of = pl.col("measure") == measure
    said = {"verdict": pl.lit("difference found"), "q_page": pl.lit(0.001)}
    return frame.with_columns(pl.when(of).then(value).otherwise(name).alias(name) for name, value in said.items())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run with pictures."""
    return run_of(tmp_path_factory.mktemp("vignette") / "run", *ASKED)


def test_examples_are_stored_answers_of_the_majority(
    finished: Finished,
) -> None:
    run, frame, tallies = finished
    strong = all_found(frame, "log_odds")
    found = gather([run], strong, tallies).examples
    assert 1 <= len(found) <= 8
    stored = set(read_responses(run.folder)["text"])
    shares = frame.filter(pl.col("measure") == "selection_frequency", pl.col("contrast") == "identity")
    neither = frame.filter(pl.col("outcome").is_in(["both", "none"]) & pl.col("question").is_null())
    even = 50 - 50 * neither["value"].sum()
    assert 35 < even < 48
    for example in found:
        assert isinstance(example, PairExample)
        assert example.answer in stored
        assert example.image is not None
        assert len(example.image) <= MOST_BYTES
        assert example.answer in example.options
        assert all(option in example.prompt for option in example.options)
        activity, rest = example.title.lower().split(": ", 1)
        who, other = rest.split(" beside ")
        assert {example.left, example.right} == {who, other}
        cell = shares.filter(pl.col("identity") == who, pl.col("activity") == activity)
        assert example.answer not in ("both", "none")  # they choose nobody
        assert example.choice.replace(" ", "-") in example.answer.replace(" ", "-")
        up = {example.choice == who}
        assert up <= {value > even for value in cell["value"].drop_nulls()}


def test_a_run_becomes_a_page_with_everything_in_it(
    finished: Finished,
) -> None:
    run, frame, tallies = finished
    data = gather([run], frame, tallies)
    parsed = page(data)
    assert "Decisions: who is chosen" in parsed.text
    assert "PairComp" in parsed.text
    assert any("cook" in prompt.prompt for prompt in data.prompts)
    assert data.study.left_out
    assert data.study.left_out[0][0] in parsed.text
    assert report.render(data).count('<table class="cells') >= 10
    asked = {(prompt.title, prompt.note) for prompt in data.prompts}
    assert len(asked) == len(data.prompts)


def test_an_identity_is_nobodys_name(finished: Finished) -> None:
    run, frame, tallies = finished
    statement = gather([run], frame, tallies).statement
    assert statement is not None
    assert (statement.identities, statement.shown_identities) == (statement.images, None)
    text = page(gather([run], frame, tallies)).text
    assert "pictures · sim/default" in text
    assert "people ·" not in text


def test_no_two_examples_are_of_the_same_people_activity_and_question(tmp_path: Path) -> None:
    few = ("--drawings", "none", "--dimension", "religion", "--identity", "sikh,christian", "--activity", "cooking")
    run, frame, tallies = run_of(tmp_path / "run", *few, "--paradigm", "decision")
    # Of two identities one is chosen as much more often as the other one less: both are found, in the same pictures.
    strong = all_found(frame, "selection_gap")
    up = pl.col("identity") == "sikh"
    strong = strong.with_columns(pl.when(up).then(20.0).otherwise(-20.0).alias("value"))
    found = [e for e in gather([run], strong, tallies).examples if isinstance(e, PairExample)]
    assert {e.finding.split(":")[0] for e in found} == {"Sikh", "Christian"}
    assert len({(frozenset(e.title.split(": ")[1].split(" beside ")), e.prompt) for e in found}) == 2
    assert {e.choice for e in found} == {"Sikh"}


def test_an_example_without_its_picture_says_so(
    finished: tuple[StoredRun, pl.DataFrame, dict[str, ReplyTally]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, frame, tallies = finished
    monkeypatch.setattr(
        "facevalue.report.stored_answers.load_shown", lambda run, trial: TrialPictures((), "no picture: lost")
    )
    strong = all_found(frame, "log_odds")
    data = gather([run], strong, tallies)
    assert all(isinstance(e, PairExample) and e.image is None for e in data.examples)
    assert report.render(data).count("no picture: lost") == len(data.examples) > 0
