"""Run command lines as a user does."""

import json
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from jsonschema import Draft202012Validator

from facevalue.cli import main
from facevalue.cli.actions.schema import printing_commands, schema
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.stored_run import StoredRun


class Outcome(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


Command = Callable[..., Outcome]


@cache
def documents() -> dict[str, Draft202012Validator]:
    """Schemas of all documents, by their format."""
    types = {document for _, command in printing_commands() for document in command.documents()}
    return {f"facevalue-{document.FORMAT}": Draft202012Validator(schema([document])) for document in types}


def check_document(text: str) -> None:
    """What a command prints with --json keeps to its schema, and is JSON as the standard has it."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    document = json.loads(text, parse_constant=refuse)
    documents()[document["format"]].validate(document)


@pytest.fixture
def facevalue(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Run a command line in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def command(*args: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["facevalue", *args])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        code = end.value.code
        if "--json" in args and said.out:
            check_document(said.out)
        return Outcome(code if isinstance(code, int) else 0, said.out, said.err)

    return command


@pytest.fixture(scope="session")
def finished_runs() -> dict[tuple[str, ...], Path]:
    """Where the runs of each command line lie that `ran` has run."""
    return {}


@pytest.fixture
def ran(
    facevalue: Command,
    tmp_path_factory: pytest.TempPathFactory,
    finished_runs: dict[tuple[str, ...], Path],
) -> Callable[..., None]:
    """`facevalue run`, asked once in a session: who gives the same command line later gets a copy of its `runs`.

    `measured`: estimates are in them, too.
    """

    def run(*args: str, measured: bool = False) -> None:
        if args not in finished_runs:
            assert not Path("runs").exists()
            outcome = facevalue("run", *args)
            assert outcome.status == 0, outcome.err
            for folder in Path("runs").iterdir() if measured else ():
                take_estimates([StoredRun.open(folder)])
            finished_runs[args] = tmp_path_factory.mktemp("ran") / "runs"
            shutil.copytree("runs", finished_runs[args])
        else:
            shutil.copytree(finished_runs[args], "runs", dirs_exist_ok=True)

    return run
