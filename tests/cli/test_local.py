"""The command with a model on this machine: run, resumed, measured, reported; exact and sampled agree."""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from facevalue.runs.stored_run import StoredRun
from facevalue.store import scan_responses
from facevalue.store.lease import RunLock
from facevalue.store.manifest import read_manifest
from tests.cli.conftest import Command
from tests.models.hf import planted, tiny

STUDY = (
    "--faces",
    "1M",
    "--attributes",
    "eyewear",
    "--scenario",
    "wealthy,polite",
    "--device",
    "cpu",
    "--threads",
    "1",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    liked = {")": 30.0, ".": 30.0, "</s>": 30.0, "a": 31.0, "b": 31.0}  # sharp enough for a temperature of 0.2
    return planted.plant(tiny.llava(tmp_path_factory.mktemp("llava")), liked)


def run(facevalue: Command, folder: Path, out: str, *more: str) -> Any:
    return facevalue("run", "stylisticbias", "--model", f"hf/{folder}", "--out", out, *STUDY, *more)


def test_an_exact_run_is_resumed_and_reported(
    facevalue: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from facevalue.models.hf.adapter import HFModel

    whole = HFModel.respond

    def cut(self: Any, requests: Any) -> Any:
        for number, response in enumerate(whole(self, requests)):
            if number == 10:
                raise KeyboardInterrupt
            yield response

    monkeypatch.setattr(HFModel, "respond", cut)
    assert run(facevalue, folder, "exact", "--exact", "--no-sight-check").status == 130
    assert scan_responses(Path("exact")).collect().height == 10
    monkeypatch.setattr(HFModel, "respond", whole)
    outcome = run(facevalue, folder, "exact", "--exact", "--no-sight-check")
    assert outcome.status == 0, outcome.err
    rows = scan_responses(Path("exact")).collect()
    assert rows.height == 24
    assert rows["trial"].n_unique() == 24
    assert rows["status"].unique().to_list() == ["ok"]
    sums = rows["probs"].list.sum()
    assert 0.001 < float(sums.min()) <= float(sums.max()) <= 1 + 1e-6  # type: ignore[arg-type]
    manifest = read_manifest(Path("exact"))
    assert [session.asked for session in manifest.sessions] == [10, 14]
    for session in manifest.sessions:
        assert session.findings["self_checks"] >= 1  # type: ignore[operator]
        assert 0 < session.findings["largest_difference"] <= session.findings["tolerance"] == 1e-4  # type: ignore[operator]
    settings = manifest.model_settings
    assert (settings["dtype"], settings["device"]) == ("float32", "cpu")
    assert re.fullmatch("[0-9a-f]{32}", str(settings["weights"]))
    assert "findings" in Path("exact/run.toml").read_text()
    assert facevalue("report", "exact").status == 0
    report = Path("exact/report.html").read_text()
    assert "Self-check of the local model" in report
    assert "tolerance 0.0001" in report
    assert run(facevalue, folder, "exact", "--exact", "--dtype", "bfloat16").err.count("dtype") == 1  # not mixed


def test_a_sampled_run_is_what_the_exact_one_says(facevalue: Command, folder: Path) -> None:
    assert run(facevalue, folder, "exact", "--exact").status == 0
    seeds = ("--seeds", ",".join(map(str, range(1, 21))))
    assert run(facevalue, folder, "sampled", *seeds, "--max-invalid", "1").status == 0
    exact = scan_responses(Path("exact")).collect().sort("trial")
    sampled = scan_responses(Path("sampled")).collect()
    assert sampled.height == 24 * 20
    study = StoredRun.open(Path("sampled")).study
    trials = exact["trial"].to_numpy().astype(np.int64)
    questions = study.ask(study.design.trials(trials))
    seen = expected = spread = 0.0
    for question, trial, probs in zip(questions, trials.tolist(), exact["probs"].to_list(), strict=True):
        texts = sampled.filter(pl.col("trial") == trial)["text"].to_list()
        for option, share in zip(question.options, probs, strict=True):
            letter = option.label.strip("()")
            said = re.compile(rf"[\s\"'`*_]*\(?{letter}(?![a-z0-9])", re.IGNORECASE)
            seen += sum(bool(said.match(text)) for text in texts)
            expected += 20 * share
            spread += 20 * share * (1 - share)
    assert expected > 30
    assert abs(seen - expected) < 3.5 * np.sqrt(spread)


def test_cheap_mistakes_are_found_before_a_model_is_loaded(facevalue: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def loads(*args: Any) -> Any:
        raise AssertionError("loaded")

    monkeypatch.setattr("facevalue.cli.actions.running.load", loads)
    small = facevalue("run", "stylisticbias", "--faces", "1M", "--model", "hf/x", "--sample", "1", "--out", "s")
    assert small.status == 1
    assert "sample" in small.err
    assert not Path("s").exists()
    free = facevalue("run", "visbias", "--exact", "--model", "hf/x", "--out", "s")
    assert free.status == 1
    assert "asks for free text" in free.err
    assert not Path("s").exists()
    with RunLock(Path("busy")):
        busy = facevalue("run", "stylisticbias", "--faces", "1M", "--model", "hf/x", "--out", "busy")
    assert busy.status == 1
    assert "is being written by process" in busy.err


def test_drawn_replies_in_an_exact_run_are_counted_and_said(
    facevalue: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsure = planted.plant(tiny.llava(tmp_path / "unsure"))
    monkeypatch.setattr("facevalue.models.hf.adapter.MOST_UNSEEN", 1e-6)  # the study's temperature of 0.2 decides most
    outcome = run(facevalue, unsure, "exact", "--exact")
    rows = scan_responses(Path("exact")).collect()
    drawn = rows.filter(pl.col("probs").is_null())
    assert drawn.height > 0
    assert drawn["error"].str.starts_with("Drawn, not read: ").all()
    said = " ".join(outcome.err.split())
    assert f"{drawn.height} of 24 replies were drawn, as over 1% of their probability could not be read" in said


def test_a_sample_of_a_study_is_asked(facevalue: Command, folder: Path) -> None:
    outcome = facevalue(
        "run", "stylisticbias", "--faces", "1M", "--exact", "--model", f"hf/{folder}", "--sample", "200", "--out", "s",
        "--device", "cpu", "--threads", "1",
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    manifest = tomllib.loads(Path("s/run.toml").read_text())
    assert 100 < manifest["counts"]["ok"] == manifest["counts"]["requests"] <= 200
    assert manifest["counts"]["errors"] == 0


def test_a_failed_self_check_stops_the_run_and_is_kept(
    facevalue: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from facevalue.models.hf import loading

    monkeypatch.setitem(loading.TOLERANCES, "float32", 0.0)
    outcome = run(facevalue, folder, "wrong", "--exact", "--no-sight-check")
    assert outcome.status == 3
    assert "Self-check" in outcome.err
    assert "Traceback" not in outcome.err
    (session,) = read_manifest(Path("wrong")).sessions
    assert session.asked == 0
    assert session.findings["largest_difference"] > 0  # type: ignore[operator]


def test_what_the_user_should_know_of_a_model_is_said_once(
    facevalue: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from facevalue.models.hf.adapter import HFModel

    made = HFModel.__init__

    def noting(self: Any, *args: Any) -> None:
        made(self, *args)
        self.notes = ("Every question takes a forward pass of its own.",)

    monkeypatch.setattr(HFModel, "__init__", noting)
    assert run(facevalue, folder, "noted", "--exact").err.count("forward pass of its own") == 1


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("--model", "sim/default", "--dtype", "float32"), 2, "for models on this machine"),
        (("--model", "hf/no-such-folder"), 3, "no-such-folder"),
        (("--model", "hf/", "--threads", "2"), 2, "'hf/' names no model: write hf/PATH_OR_ID"),
        (("--model", "hf/x", "--dtype", "int4"), 2, "bfloat16"),
    ],
)
def test_what_cannot_be_is_one_message(facevalue: Command, args: tuple[str, ...], status: int, says: str) -> None:
    outcome = facevalue("run", "stylisticbias", "--faces", "1", *args)
    assert outcome.status == status
    assert says in outcome.err
    assert "Traceback" not in outcome.err


def test_without_torch_the_message_says_what_to_install(
    facevalue: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    outcome = run(facevalue, folder, "none")
    assert outcome.status == 1
    assert "pip install '.[hf]'" in outcome.err
