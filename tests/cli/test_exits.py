"""Exit statuses: one table for all commands."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from facevalue.cli.actions.schema import printing_commands
from facevalue.cli.command import Exit
from tests.cli.conftest import Command

SMALL = ("--faces", "2", "--scenario", "wealthy", "--attributes", "eyewear", "--seeds", "1")
NOWHERE = "http://127.0.0.1:9/v1#x"
RUN = ("run", "stylisticbias", *SMALL)


def test_the_documentation_has_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/command-line.md").read_text(encoding="utf-8")
    assert [int(status) for status in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [
        status.value for status in Exit
    ]


@pytest.mark.parametrize("name", [name for name, _ in printing_commands()])
def test_every_command_tells_wrong_usage_and_help(facevalue: Command, name: str) -> None:
    study = ("stylisticbias",) if name in ("plan", "run") else ()
    command = (*name.split(), *study)
    assert facevalue(*command, "--help").status == Exit.DONE
    wrong = facevalue(*command, "--nonsense")
    assert wrong.status == Exit.USAGE
    assert "No such option" in wrong.err
    assert wrong.out == ""


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (("studies",), Exit.DONE),
        (("measure", "nowhere"), Exit.REFUSED),
        (("report", "nowhere"), Exit.REFUSED),
        (("compare", "nowhere", "nowhere2"), Exit.REFUSED),
        (("export", "nowhere", "--out", "x.csv"), Exit.REFUSED),
        (("status", "nowhere"), Exit.REFUSED),
        (("verify", "nowhere"), Exit.REFUSED),
        (("annotate", "nowhere"), Exit.REFUSED),
        (("judge", "nowhere", "--model", "sim/default"), Exit.REFUSED),
        (("review", "nowhere", "--out", "x"), Exit.REFUSED),
        (("attention", "nowhere", "--trials", "1", "--out", "x"), Exit.REFUSED),
        (("manifest", "check", "nowhere.csv"), Exit.REFUSED),
        (("manifest", "init", "nowhere"), Exit.REFUSED),
        (("corpus", "nowhere.jsonl", "--text", "text"), Exit.REFUSED),
        (("plan", "nowhere.toml"), Exit.REFUSED),
        (("reproduce", "gras", "--data", "nowhere"), Exit.REFUSED),
        ((*RUN, "--model", "sim/refuser"), Exit.REFUSED),
        ((), Exit.DONE),
        (("nonsense",), Exit.USAGE),
        (("studies", "nonsense"), Exit.USAGE),
        (("new", "x.toml", "--like", "nonsense"), Exit.USAGE),
        (("new", "x.txt"), Exit.USAGE),
        (("plan", "stylisticbias", "--root", "x"), Exit.USAGE),
        (("manifest", "check", "x.csv", "--for", "nonsense"), Exit.USAGE),
        (("make", "gras", "--prompts", "x.csv"), Exit.USAGE),
        (("make", "visbias", "--prompts", "x.txt"), Exit.USAGE),
        (("make", "visbias", "--prompts", "x.csv", "--generator", "drawn"), Exit.USAGE),
        (("reproduce", "visbias"), Exit.USAGE),
        (("calibrate", "--sizes", "0"), Exit.USAGE),
        (("fetch", "nowhere", "--out", "x"), Exit.USAGE),
        ((*RUN, "--model", "nonsense"), Exit.USAGE),
        ((*RUN, "--model", "sim/default", "--rpm", "0"), Exit.USAGE),
        ((*RUN, "--model", NOWHERE, "--retries", "0"), Exit.INCOMPLETE),
    ],
)  # fmt: skip
def test_each_status_means_the_same(facevalue: Command, args: tuple[str, ...], status: Exit) -> None:
    outcome = facevalue(*args)
    assert outcome.status == status, outcome.err
    assert "Traceback" not in outcome.err


def test_an_interrupt_ends_any_command_with_its_own_status(facevalue: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(study: str | None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("facevalue.cli.actions.studies.studies", interrupted)
    outcome = facevalue("studies")
    assert (outcome.status, outcome.err.strip()) == (Exit.INTERRUPTED, "Error: Stopped.")


def test_a_reader_that_ends_first_is_no_error() -> None:
    code = "import sys; sys.argv = ['facevalue', 'schema', 'measure']; from facevalue.cli import main; main()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        said = command.stderr.read()
    assert (command.returncode, said) == (Exit.PIPE_CLOSED, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("args", "unbuffered"),
    [
        (["--help"], ""),
        (["plan", "--help"], "1"),
        (["studies"], ""),
        (["schema", "plan"], "1"),
        (["studies", "--json"], ""),
    ],
)
def test_an_output_that_is_full_is_one_sentence(args: list[str], unbuffered: str) -> None:
    assert printed_to(Path("/dev/full"), args, unbuffered) == (
        Exit.REFUSED,
        "Error: What the command says cannot be printed: No space left on device.\n",
    )


def printed_to(place: Path, args: list[str], unbuffered: str = "", *, both: bool = False) -> tuple[int, str]:
    code = f"import sys; sys.argv = ['facevalue', *{args!r}]; from facevalue.cli import main; main()"
    with place.open("w") as out:
        command = subprocess.run(
            [sys.executable, "-c", code], stdout=out, stderr=out if both else subprocess.PIPE, text=True, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    return command.returncode, command.stderr or ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_errors_that_nobody_can_be_told_keep_their_status(tmp_path: Path) -> None:
    assert printed_to(Path("/dev/full"), ["studies"], both=True)[0] == Exit.REFUSED
    assert printed_to(Path("/dev/full"), ["plan", "nowhere"], both=True)[0] == Exit.USAGE
    run = [*RUN, "--model", "sim/default", "--sample", "36", "--out", str(tmp_path / "run")]
    assert printed_to(Path("/dev/full"), run, both=True)[0] == Exit.DONE, "a run does not end for want of its progress"


def test_a_full_disk_is_one_sentence(facevalue: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(study: str | None) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("facevalue.cli.actions.studies.studies", full)
    outcome = facevalue("studies")
    words = "Error: The command cannot go on: OSError: [Errno 28] No space left on device.\n"
    assert (outcome.status, outcome.err) == (Exit.REFUSED, words)


def test_what_is_checked_by_another_command_says_which(facevalue: Command) -> None:
    for pack in (Path("folder"), Path("a.zip")):
        pack.mkdir() if not pack.suffix else pack.write_bytes(b"")
    Path("folder/SHA256SUMS").write_text("")
    for command in ("verify", "status", "measure"):
        for name in ("folder", "a.zip"):
            outcome = facevalue(command, name)
            assert f"is a pack, not the folder of a run: `facevalue pack --verify {name}` checks it." in outcome.err
    Path("run").mkdir()
    Path("run/run.toml").write_text("")
    assert "`facevalue verify run` checks it" in facevalue("pack", "--verify", "run").err


def test_an_audit_takes_studies_by_an_option_and_says_so(facevalue: Command) -> None:
    outcome = facevalue("audit", "mine.toml", "visbias", "--model", "sim/default")
    assert outcome.status == Exit.USAGE
    assert "audit takes studies by an option: --studies mine.toml,visbias" in outcome.err
