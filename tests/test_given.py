"""Whatever a user or stranger gives, it ends in bytes, or in one sentence."""

import os
from pathlib import Path

import pytest

from facevalue.errors import DataError
from facevalue.untrusted_files import read_file, read_text, to_json, to_toml


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfold")
    assert read_text(tmp_path / "a.txt", 100, "words") == "old"


@pytest.mark.parametrize("name", ["pipe", "folder", "none", "/dev/zero", "nul\0"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match=r"words"):
        read_file(tmp_path / name, 100, "words")


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(DataError, match="larger than 1 MiB"):
        read_file(tmp_path / "large", 2**20, "words")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"a = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
        (b"a = " + b"1" * 5000, "not valid TOML"),
        (b"a = \xff", "line 1 is not UTF-8"),
        (b"a = ", "not valid TOML"),
        (b"a = 1" + b" " * 100, "larger than"),
    ],
    ids=["deep", "5,000 digits", "no UTF-8", "cut", "large"],
)
def test_broken_toml_is_one_sentence(data: bytes, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        to_toml(data, "study.toml", 10_100 if b"[" in data or b"11" in data else 50)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 200_000, "deeply|valid"),
        ("1" * 5000, "not valid JSON"),
        ('"\\ud83d"', "half of a character"),
        ("{", "valid"),
    ],
    ids=["deep", "5,000 digits", "half a character", "cut"],
)
def test_broken_json_is_one_sentence(text: str, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        to_json(text, "line 3")
    assert str(caught.value).startswith("line 3")
