"""Estimates of stored runs of every study are what they were: what changes the code without changing what it says."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

from tests.golden.cases import FAST, GOLDEN, TABLES, estimated, unpacked

TOLERANCE = 1e-9
LOOSE = {"p": 1e-8, "q": 1e-8}
"""A saddlepoint near the mean is a small difference of large numbers: processors agree in eight digits of it."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in TABLES]
)
def test_a_stored_run_has_the_estimates_that_it_had(runs: Path, name: str) -> None:
    assert_equal(pl.read_parquet(GOLDEN / f"{name}.parquet"), estimated(runs, name))


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="an older processor is played by leaving out what is newer")
def test_an_older_processor_gives_the_same_estimates(runs: Path, tmp_path: Path) -> None:
    script = "from pathlib import Path; from tests.golden.cases import estimated; import sys; "
    script += "estimated(Path(sys.argv[1]), 'counterfactuals').write_parquet(sys.argv[2])"
    older = {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3",
        "OPENBLAS_CORETYPE": "Sandybridge",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    subprocess.run([sys.executable, "-c", script, runs, tmp_path / "older.parquet"], env=os.environ | older, check=True)
    assert_equal(pl.read_parquet(GOLDEN / "counterfactuals.parquet"), pl.read_parquet(tmp_path / "older.parquet"))


def assert_equal(before: pl.DataFrame, now: pl.DataFrame) -> None:
    """Texts and counts are the same, numbers but for rounding."""
    assert now.schema == before.schema
    labels = [column for column in before.columns if before[column].dtype != pl.Float64]
    assert now.select(labels).rows() == before.select(labels).rows()
    for column in before.select(cs.float()).columns:
        was, new = before[column].to_numpy(), now[column].to_numpy()
        within = LOOSE.get(column, TOLERANCE)
        far = np.flatnonzero(~np.isclose(new, was, rtol=within, atol=within, equal_nan=True))
        assert not far.size, (column, before[int(far[0])].to_dicts(), now[int(far[0])].to_dicts())
