"""Hints of errors: what was probably meant, in one sentence."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command

RUN = ("run", "stylisticbias", "--faces", "2", "--scenario", "polite", "--model")


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("acme-vlm", "http://HOST:PORT/v1#acme-vlm"),
        ("gpt-4o", "Did you mean openai/gpt-4o?"),
        ("localhost:8711#acme-vlm", "Did you mean http://localhost:8711/v1#acme-vlm?"),
        ("127.0.0.1:8000/v1#acme", "Did you mean http://127.0.0.1:8000/v1#acme?"),
    ],
)
def test_a_model_without_its_form_is_told_the_form_that_it_needs(facevalue: Command, model: str, hint: str) -> None:
    failed = facevalue(*RUN, model)
    assert failed.status == 2
    assert hint in failed.err
    assert failed.err.count("\n") == 1


def test_a_server_that_is_not_there_may_not_be_running(facevalue: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    failed = facevalue(*RUN, "http://127.0.0.1:9/v1#acme")
    assert "Nothing answers at http://127.0.0.1:9/v1: is the server running?" in failed.err


@pytest.mark.parametrize(
    "words", [("run", "my", "study.toml", "--model", "sim/default"), ("report", "my", "study.toml")]
)
def test_a_name_with_blanks_needs_quotes(facevalue: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "my study.toml").touch()
    failed = facevalue(*words)
    assert "A name with blanks needs quotes: 'my study.toml'." in failed.err


def test_a_folder_that_is_not_there_is_named(facevalue: Command) -> None:
    failed = facevalue("new", "sub/dir/x.toml")
    assert failed.err == "Error: Cannot write sub/dir/x.toml: there is no folder sub/dir. Make it first.\n"
