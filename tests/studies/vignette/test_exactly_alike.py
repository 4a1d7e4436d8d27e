"""The same answers give the same numbers, to the last bit, however many threads add them up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_MEASURED = """
import sys
import polars as pl
from facevalue.studies.vignette.analysis import analyse
from tests.studies.vignette.framed import answers
frame = answers(exact=True, seed=3)
tables = [analyse({"m": frame.iter_slices(800)}) for _ in range(3)]
assert all(tables[0].equals(other) for other in tables[1:]), "one process, other numbers"
print(pl.thread_pool_size(), tables[0].height)
tables[0].write_parquet(sys.argv[1])
"""


def measured(threads: int, where: Path) -> bytes:
    """Measure three times in a process of its own; its table of estimates."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, str(where)],
        env={**os.environ, "POLARS_MAX_THREADS": str(threads)},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == str(threads)
    return where.read_bytes()


@pytest.mark.slow
def test_estimates_do_not_depend_on_threads(tmp_path: Path) -> None:
    one, several = (measured(threads, tmp_path / f"{threads}.parquet") for threads in (1, 4))
    assert one == several
