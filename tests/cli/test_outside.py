"""Own studies of strangers: their files name nothing outside their own folder, unless the user allows it."""

from pathlib import Path

import pytest

import facevalue as fv
from facevalue.errors import DataError
from tests.cli.conftest import Command
from tests.protocol.conftest import MINIMAL

NAMES = [
    "../list.csv", "deep/../../list.csv", "/etc/passwd", "link/list.csv", "linked.csv", "~/list.csv", "~root/list.csv",
    "C:\\list.csv", "C:/list.csv", "..\\list.csv", "\\\\host\\list.csv", "file:///etc/passwd", "file:list.csv",
    "s3://bucket/list.csv", "nul\0",
]  # fmt: skip


def written(folder: Path, key: str, name: str) -> Path:
    """A study that names a file, beside links that lead out of its folder."""
    private, own = folder / "private", folder / "own"
    for each in (private, own / "deep"):
        each.mkdir(parents=True)
    for secret in (private / "list.csv", folder / "list.csv", private / "list.csv.toml", folder / "list.csv.toml"):
        secret.write_text(MINIMAL)
    (own / "link").symlink_to(private)
    (own / "linked.csv").symlink_to(private / "list.csv")
    (own / "linked.csv.toml").symlink_to(private / "list.csv.toml")
    quoted = '"' + name.replace("\\", "\\\\").replace("\0", "\\u0000") + '"'
    head, _, rest = MINIMAL.partition("[pictures]")
    kind = {"manifest": 'kind = "manifest"', "path": 'kind = "folder"\ncue = "hat"'}
    text = f"[pictures]\n{kind.get(key)}\n{key} = {quoted}\n[prompt]{rest.partition('[prompt]')[2]}"
    path = own / "study.toml"
    path.write_text(f'like = {quoted[:-1]}.toml"\n' if key == "like" else head + text)
    return path


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", ["manifest", "path", "like"])
def test_a_study_names_nothing_outside_its_folder(tmp_path: Path, key: str, name: str) -> None:
    path = written(tmp_path, key, name)
    with pytest.raises(
        DataError, match=r"not below its own folder\. If you trust whoever wrote it, say --outside"
    ) as told:
        fv.study(path)
    assert str(told.value).isprintable()


def test_a_file_that_a_study_is_like_names_nothing_outside_either(tmp_path: Path) -> None:
    path = written(tmp_path, "manifest", "../list.csv")
    (path.parent / "deep" / "other.toml").write_text(path.read_text().replace("../list", "../../list"))
    path.write_text('like = "deep/other.toml"\n')
    with pytest.raises(DataError, match="--outside"):
        fv.study(path)
    (path.parent / "deep" / "other.toml").write_text('like = "../../list.csv.toml"\n')
    with pytest.raises(DataError, match="--outside"):
        fv.study(path)


def test_what_lies_below_is_found_also_through_its_parent(tmp_path: Path) -> None:
    path = written(tmp_path, "like", "deep/../deep/list.csv")
    (path.parent / "deep" / "list.csv.toml").write_text(MINIMAL)
    assert fv.study(path).protocol.title == fv.study(path.parent / "deep" / "list.csv.toml").protocol.title


def test_what_lies_outside_is_read_once_the_user_allows_it(tmp_path: Path, facevalue: Command) -> None:
    path = written(tmp_path, "like", "../list.csv")
    assert fv.study(path, outside=True).protocol.name == "small"
    refused = facevalue("plan", str(path))
    assert (refused.status, refused.out) == (1, "")
    assert "--outside" in refused.err
    assert facevalue("plan", str(path), "--outside").status == 0
    done = facevalue("run", str(path), "--outside", "--model", "sim/default", "--out", "run")
    assert done.status == 0, done.err
    assert facevalue("measure", "run").status == 0  # the run holds its study: nothing is read again
