"""Completion as shells ask for it: by environment variables, with the words typed so far."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest

from facevalue.cli.completion import SIMULATED
from facevalue.models.sim import PRESETS
from tests.cli.conftest import Command

Complete = Callable[..., list[str]]
HEAVY = {"numpy", "polars", "scipy", "rich", "pyarrow"}
SMALL = ("--faces", "2", "--scenario", "wealthy", "--attributes", "eyewear", "--seeds", "1")


@pytest.fixture
def complete(facevalue: Command, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """What the shell is offered for the last of some words."""

    def completed(*words: str, shell: str = "zsh") -> list[str]:
        monkeypatch.setenv("_FACEVALUE_COMPLETE", f"{shell}_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(["facevalue", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)) if shell != "fish" else words[-1])
        outcome = facevalue()
        monkeypatch.delenv("_FACEVALUE_COMPLETE")
        assert outcome.err == ""
        lines = outcome.out.splitlines()
        return lines[1::3] if shell == "zsh" else [line.partition(",")[2].partition("\t")[0] for line in lines]

    return completed


def test_commands_and_studies_are_completed(complete: Complete) -> None:
    assert complete("me") == ["measure"]
    assert sorted(complete("manifest", "")) == ["check", "init", "statement"]
    assert complete("plan", "sty") == ["stylisticbias"]
    assert set(complete("calibrate", "vi")) == {"vignette", "visbias"}
    assert complete("make", "vi") == ["vignette", "visbias"]
    assert complete("schema", "mea") == ["measure"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_is_answered(complete: Complete, shell: str) -> None:
    assert complete("run", "modsc", shell=shell) == ["modscan"]


@pytest.mark.skipif(which("bash") is None, reason="no bash on this machine: completion was not sourced in one")
def test_bash_completes_words_that_it_ends_at_colons_and_equals_signs(tmp_path: Path) -> None:
    """In a real bash: it keeps what stands before the last such sign, and puts what is answered behind it."""
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "run.toml").write_text("")
    typed = {"run modsc": "modscan", "measure x=aud": "audit", "run modscan --model http://127": "//127.0.0.1:8000/v1#"}
    command = f"{sys.executable} -m facevalue"
    script = f"""
    facevalue() {{ {command} "$@"; }}; export -f facevalue
    eval "$(_FACEVALUE_COMPLETE=bash_source facevalue)"
    env() {{ ( while [[ $1 == *=* ]]; do export "$1"; shift; done; "$@" ) }}
    ask() {{ COMP_LINE="facevalue $1"; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=($COMP_LINE)
      COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()
      _facevalue_completion facevalue; echo "${{COMPREPLY[0]}}"; }}
    """
    script += "".join(f"ask '{words}'\n" for words in typed)
    done = subprocess.run(["bash", "--norc", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(typed.values())


def test_files_of_ones_own_studies_and_their_settings_are_completed(facevalue: Command, complete: Complete) -> None:
    assert facevalue("new", "mine.toml").status == 0
    assert complete("plan", "mi") == ["mine.toml"]
    assert "--seeds" in complete("plan", "mine.toml", "--see")
    facevalue("new", "my-gras.toml", "--like", "gras")
    assert complete("plan", "my-gras.toml", "--trait", "crue") == ["cruel"]


def test_settings_and_their_levels_are_completed(complete: Complete) -> None:
    assert complete("run", "stylisticbias", "--scen") == ["--scenario"]
    assert complete("run", "stylisticbias", "--grid", "k") == ["kept"]
    assert "eyewear" in complete("plan", "stylisticbias", "--attributes", "eye")
    assert "eyewear,makeup" in complete("plan", "stylisticbias", "--attributes", "eyewear,ma")
    assert complete("plan", "stylisticbias", "--attributes", "eyewear,eye") == []


def test_models_are_completed(complete: Complete) -> None:
    assert tuple(PRESETS) == SIMULATED
    assert complete("run", "stylisticbias", "--model", "sim/n") == ["sim/null"]
    assert {"reference", "reference/bias-0"} <= set(complete("run", "stylisticbias", "--model", "ref"))
    assert {"http://127.0.0.1:8000/v1#", "hf/"} <= set(complete("judge", "--model", "h"))
    Path("weights/llava").mkdir(parents=True)
    assert complete("run", "stylisticbias", "--model", "hf/weights/l") == ["hf/weights/llava/"]
    assert complete("annotate", "x", "--scorer", "judge/sim/n") == ["judge/sim/null"]
    assert complete("plan", "stylisticbias", "--with", "cip") == ["cipher"]
    assert complete("attention", "x", "--model", "h")[-1] == "hf/"
    assert complete("run", "editor", "--model", "inspect/def") == ["inspect/default"]
    assert complete("run", "editor", "--model", "inspect/g") == ["inspect/google/", "inspect/grok/", "inspect/groq/"]
    assert not any(name.startswith("inspect") for name in complete("run", "editor", "--model", ""))


def test_several_studies_are_completed(complete: Complete) -> None:
    assert complete("audit", "--studies", "mod") == ["modscan"]
    assert complete("audit", "--studies", "modscan,vis") == ["modscan,visbias"]
    assert complete("audit", "--studies", "modscan,mod") == []


def test_folders_of_audits_and_of_made_pictures_are_completed(complete: Complete) -> None:
    for name in ("audits/qwen/audit.toml", "made/making/run.toml", "other/run.txt"):
        path = Path(name)
        path.parent.mkdir(parents=True)
        path.touch()
    assert complete("report", "") == ["audits/qwen", "made"]


def test_run_folders_are_completed(facevalue: Command, complete: Complete) -> None:
    assert facevalue("run", "stylisticbias", *SMALL, "--model", "sim/default").status == 0
    Path("runs/other").mkdir()
    run = "runs/stylisticbias-sim-default"
    assert complete("measure", "") == [run]
    assert complete("report", "runs/") == [run]
    assert complete("compare", "before=runs/st") == [f"before={run}"]
    assert complete("status", "runs/oth") == ["runs/oth"], "the shell completes folders"
    facevalue("measure", run)
    assert complete("measure", run, "--explain", "shift")[0] == "shift"


@pytest.mark.parametrize("words", ["nonsense ", "plan nostudy --", "run none.toml --", "measure --explain x"])
def test_nothing_is_said_of_what_is_unknown(facevalue: Command, complete: Complete, words: str) -> None:
    complete(*words.split(" "))


@pytest.mark.parametrize("words", ["facevalue me", "facevalue compare runs/", "facevalue run sty", "facevalue --help"])
def test_nothing_that_computes_is_imported(tmp_path: Path, words: str) -> None:
    code = "import sys, atexit; atexit.register(lambda: sys.stderr.write(' '.join(sys.modules))); "
    code += f"sys.argv = {words.split()!r}; from facevalue.cli import main; main()"
    variables = {"_FACEVALUE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    environment = {**os.environ, **({} if "--help" in words else variables)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert HEAVY & set(done.stderr.split()) == set()
