"""A run that was killed is read with all answers that had come, and every command counts the same."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import RunError
from facevalue.runs.audits.folder import AuditedStudy, AuditRecord, write_audit
from facevalue.runs.stored_run import StoredRun
from facevalue.store.journal import JOURNAL, Journal
from facevalue.store.lease import RunLock
from facevalue.store.manifest import Counts, read_manifest, write_manifest
from facevalue.store.shards import shard_paths
from tests.cli.conftest import Command

SMALL = ("--faces", "2", "--scenario", "wealthy", "--attributes", "eyewear", "--seeds", "1")


def kill(folder: Path) -> int:
    """Make of a finished run what a process leaves that is killed before its first shard; return its answers."""
    run = read_manifest(folder)
    (shard,) = shard_paths(folder)
    rows = pl.read_parquet(shard)
    shard.unlink()
    counts = Counts(requests=run.counts.requests)
    write_manifest(folder, replace(run, end=None, shards=(), counts=counts))
    Journal(folder / "responses", run.id).append(rows)
    return rows.height


def test_all_commands_count_the_answers_of_the_journal(facevalue: Command) -> None:
    facevalue("run", "stylisticbias", *SMALL, "--model", "sim/strong", "--out", "whole")
    for first in ("status", "measure", "verify", "export", "notebook"):
        run = Path(first)
        shutil.copytree("whole", run)
        answers = kill(run)

        def count(command: str, run: Path = run) -> object:
            if command == "notebook":
                return dict(fv.open_run(run)._facts())["answered"]
            if command == "export":
                facevalue("export", str(run), "--out", "x.csv")
                return pl.read_csv("x.csv").height
            document = json.loads(facevalue(command, str(run), "--json").out)
            counted = document if command == "status" else document["runs"][0]
            return counted["asked" if command == "measure" else "replies"]

        commands = (first, "status", "verify", "notebook")
        assert [count(command) for command in commands] == [answers] * len(commands), first


def test_a_study_of_an_audit_that_was_killed_before_its_first_shard_has_begun(facevalue: Command) -> None:
    write_audit(Path("a"), AuditRecord("sim/strong", (AuditedStudy("stylisticbias", "stylisticbias", {}, pilot=10),)))
    place = Path("a/runs/stylisticbias")
    facevalue("run", "stylisticbias", *SMALL, "--model", "sim/strong", "--out", str(place))
    answers = kill(place)
    document = json.loads(facevalue("status", "a", "--json").out)
    assert not document["waiting"]
    assert [run["replies"] for run in document["runs"]] == [answers]


def test_while_a_process_writes_the_run_its_journal_is_left_to_it(facevalue: Command) -> None:
    facevalue("run", "stylisticbias", *SMALL, "--model", "sim/strong", "--out", "r")
    kill(Path("r"))
    with RunLock(Path("r")):
        StoredRun.open(Path("r"))
    assert not shard_paths(Path("r"))
    assert (Path("r") / "responses" / JOURNAL).exists()


def test_a_folder_that_cannot_be_written_is_not_told_of_as_if_its_last_answers_had_not_come(
    facevalue: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    facevalue("run", "stylisticbias", *SMALL, "--model", "sim/strong", "--out", "r")
    answers = kill(Path("r"))

    def refuse(self: RunLock) -> None:
        raise RunError("Cannot write r/.lock: Permission denied.") from PermissionError()

    monkeypatch.setattr(RunLock, "__enter__", refuse)
    for command in ("measure", "status", "verify"):
        outcome = facevalue(command, "r")
        assert f"{answers:,} of its answers wait in .journal" in outcome.out + outcome.err
        assert "Read a copy of it" in outcome.out + outcome.err
    (Path("r") / "responses" / JOURNAL).unlink()
    assert "cannot be seen, as the folder cannot be written" in facevalue("status", "r").out
