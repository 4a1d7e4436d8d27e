"""`facevalue view` and `facevalue show` as a user types them."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import facevalue as fv
from tests.cli.conftest import Command


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("view") / "run"
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", scenario="polite", seeds="1")
    fv.run(study, "sim/default", folder, progress=False)
    return folder


def test_a_trial_in_the_terminal_is_that_of_the_page(facevalue: Command, run: Path) -> None:
    text = facevalue("show", str(run), "--trial", "3")
    assert text.status == 0
    for words in (
        "trial 3 of stylisticbias",
        "Scenario: Polite",
        "options: (b) polite; (a) rude",
        "reply 0, ok:",
        "counts as:",
    ):
        assert words.lower() in text.out.lower()
    trial = json.loads(facevalue("show", str(run), "--trial", "3", "--json").out)["trial"]
    assert trial["command"] == f"facevalue show {run} --trial 3"
    assert trial["replies"][0]["reply"] in text.out
    assert trial["options"] == ["(b) polite", "(a) rude"]


@pytest.mark.parametrize(
    ("number", "says"), [("24", "none: those of this run are 0 to 23"), ("-1", "x>=0"), ("x", "int")]
)
def test_a_trial_that_is_none_is_refused(facevalue: Command, run: Path, number: str, says: str) -> None:
    outcome = facevalue("show", str(run), "--trial", number)
    assert outcome.status != 0
    assert says in outcome.err


def test_pages_are_written_into_a_folder(facevalue: Command, run: Path, tmp_path: Path) -> None:
    document = json.loads(facevalue("view", str(run), "--export", "out", "--public", "--json").out)
    assert Path(document["page"]).name == "index.html"
    assert (tmp_path / "out" / "index.html").exists()
    assert facevalue("view", str(run), "--export", "out").err.startswith("Error: out is not an empty folder")
    assert "--export" in facevalue("view", str(run), "--public").err


def test_only_a_server_takes_the_extra(facevalue: Command, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "facevalue.view.app", None)  # as where its packages are missing
    assert "pip install '.[view]'" in facevalue("view", str(run)).err
    assert facevalue("view", str(run), "--export", "out").status == 0


def test_a_port_that_is_taken_is_said(facevalue: Command, run: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        outcome = facevalue("view", str(run), "--no-browser", "--port", port)
    assert outcome.status == 2
    assert f"Port {port}" in outcome.err


@pytest.mark.parametrize("ignored", [False, True])
def test_a_server_answers_with_its_token_until_it_is_interrupted(run: Path, ignored: bool) -> None:
    """`ignored`: as in a background job of a script."""
    command = ["sh", "-c", f'trap {"" if ignored else "-"!r} INT; exec "$@"', "sh"]
    command += [sys.executable, "-m", "facevalue", "view", str(run), "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        base = address.partition("?")[0]
        try:
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{base}api/head", timeout=60)
            assert refused.value.code == 403
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            assert b'<div id="app">' in opener.open(address, timeout=60).read()
            head = json.loads(opener.open(f"{base}api/head", timeout=60).read())
            assert head["runs"][0]["study"] == "stylisticbias"
        finally:
            server.send_signal(signal.SIGINT)
            _, err = server.communicate(timeout=60)
    assert (server.returncode, err) == (130, "")
