"""Archives of a release: the same bytes wherever they are built, only what belongs, paths that every system holds."""

import hashlib
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.release import build_twice, path_faults, tracked, write_sums

VIEWER = "facevalue/view/static/viewer.js"


def test_every_system_holds_our_paths() -> None:
    assert not list(path_faults(tracked()))


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        (["src/aux.py"], "src/aux.py: Windows allows no file 'aux.py'"),
        (["a/COM1"], "a/COM1: Windows allows no file 'COM1'"),
        (["what?.md"], "what?.md: Windows allows no file 'what?.md'"),
        (["a/ends./b"], "a/ends./b: Windows allows no file 'ends.'"),
        (["a/Read.md", "a/read.md"], "a/read.md and a/Read.md are one file where case does not matter"),
        (["d/\u00e9.md", "d/e\u0301.md"], "d/e\u0301.md and d/\u00e9.md are one file where case does not matter"),
        (["a" * 151], f"{'a' * 151}: 151 characters; paths have at most 150"),
    ],
)
def test_paths_that_some_system_cannot_hold_are_named(names: list[str], fault: str) -> None:
    assert list(path_faults([*names, "src/auxiliary.py", "src/com10.py", ".gitignore"])) == [fault]


def test_sums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"wheel")
    write_sums(tmp_path)
    write_sums(tmp_path)
    assert (tmp_path / "SHA256SUMS").read_text() == f"{hashlib.sha256(b'wheel').hexdigest()}  a.whl\n"


@pytest.mark.slow
def test_two_builds_have_the_same_bytes_and_hold_what_git_tracks(tmp_path: Path) -> None:
    build_twice(tmp_path, 1_700_000_000)
    (source,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    names = set(tracked())
    with tarfile.open(source) as members:
        archived = {member.name.partition("/")[2] for member in members.getmembers() if member.isfile()}
    assert archived == names | {"PKG-INFO"}
    with zipfile.ZipFile(wheel) as members:
        packed = {name for name in members.namelist() if ".dist-info/" not in name}
        assert {info.date_time for info in members.infolist()} == {(2023, 11, 14, 22, 13, 20)}
        assert not list(path_faults(members.namelist()))
    assert packed == {name.removeprefix("src/") for name in names if name.startswith("src/")}
    assert VIEWER in packed
