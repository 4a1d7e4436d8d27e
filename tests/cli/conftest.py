"""Run command lines as a user does."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from facevalue.cli import main


class Outcome(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def facevalue(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Run a command line in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")

    def command(*args: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["facevalue", *args])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        code = end.value.code
        return Outcome(code if isinstance(code, int) else 0, said.out, said.err)

    return command
