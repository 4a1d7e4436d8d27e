"""Folders of every released version are read by today's code, which estimates from them what was estimated then."""

import shutil
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import facevalue as fv
from facevalue.runs.estimates_file import read_estimates
from facevalue.runs.joined import estimate
from facevalue.runs.stored import StoredRun
from tests.corpus.cases import AUDITED, CORPUS, MADE, MODEL, RUNS, facevalue
from tests.golden.test_golden import LOOSE, TOLERANCE

ARCHIVES = sorted(CORPUS.glob("*.tar.xz"))
MOST = 500_000
"""Bytes of all folders of a version, packed."""


def runs_in(archive: Path) -> list[str]:
    """Folders of runs, in a version's archive."""
    with tarfile.open(archive) as members:
        return sorted(Path(name).parent.as_posix() for name in members.getnames() if name.endswith("/run.toml"))


CASES = [(archive, run) for archive in ARCHIVES for run in runs_in(archive)]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """Folder of each version."""
    folders = {}
    for archive in ARCHIVES:
        folders[archive] = tmp_path_factory.mktemp(archive.name)
        shutil.unpack_archive(archive, folders[archive], filter="data")
    return folders


def test_this_version_has_folders_and_they_are_small() -> None:
    assert CORPUS / f"{fv.__version__}.tar.xz" in ARCHIVES
    assert not [archive for archive in ARCHIVES if archive.stat().st_size > MOST]


@pytest.mark.parametrize(("archive", "name"), CASES, ids=[f"{archive.name[:-7]}-{run}" for archive, run in CASES])
def test_a_stored_run_is_whole_and_says_what_it_said(unpacked: dict[Path, Path], archive: Path, name: str) -> None:
    folder = unpacked[archive] / name
    run = fv.open_run(folder)
    run.verify()
    if (folder / "estimates.parquet").exists():
        before = read_estimates(folder / "estimates.parquet", run.stored.study)
        now = estimate([StoredRun.open(folder)], {})[0]
        now = now.filter(pl.col("measure").is_in(before["measure"].unique().implode())).select(before.columns)
        numbers = before.select(cs.float()).columns
        assert now.drop(numbers).rows() == before.drop(numbers).rows()
        for column in numbers:
            near = {"rtol": LOOSE.get(column, TOLERANCE), "atol": LOOSE.get(column, TOLERANCE)}
            assert np.allclose(now[column].to_numpy(), before[column].to_numpy(), **near, equal_nan=True), column


@pytest.mark.slow
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name)
def test_stored_folders_have_pages_and_the_same_commands_ask_nothing_more(
    unpacked: dict[Path, Path], archive: Path
) -> None:
    folder = unpacked[archive]

    def contents() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in folder.rglob("responses/*")}

    before = contents()
    for name in RUNS:
        assert "</html>" in fv.open_run(folder / name).report(folder / "page.html").path.read_text()
    facevalue("run", *RUNS["stylisticbias"], *MODEL, "--out", "stylisticbias", folder=folder)
    facevalue(*AUDITED, folder=folder)
    facevalue(*MADE, folder=folder)
    facevalue("verify", "audit", "made", *RUNS, folder=folder)
    assert contents() == before
