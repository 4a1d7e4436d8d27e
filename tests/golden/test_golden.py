"""Estimates of stored runs of every study are what they were, whatever they are computed with and called by then."""

import json
import os
import platform
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

from facevalue.measures.estimates import label_columns
from tests.golden.cases import GOLDEN, RUNS, SENTENCES, TABLES, answered, estimated, sentences, unpacked
from tests.golden.invariants import broken

pytestmark = pytest.mark.all_groups
TOLERANCE = 1e-9
LOOSE = {"p": 1e-8, "q": 1e-8, "q_page": 1e-8}
"""A saddlepoint near the mean is a small difference of large numbers: processors agree in eight digits of it."""
RENAMED = tomllib.loads((GOLDEN / "renamed.toml").read_text(encoding="utf-8"))
"""Measures, labels and details of methods by their names in the tables, and what they are called today."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize("name", TABLES)
def test_a_page_of_a_stored_run_says_first_what_it_said_and_has_the_estimates_that_it_had(
    runs: Path, name: str
) -> None:
    assert_alike(sentences(runs, name), json.loads(SENTENCES.read_text(encoding="utf-8"))[name])
    kept = runs / name / "estimates.parquet"
    now = pl.read_parquet(kept) if kept.exists() else estimated(runs, name)
    assert not broken(now)
    assert_same(pl.read_parquet(GOLDEN / f"{name}.parquet"), now)


@pytest.mark.parametrize("name", RUNS)
def test_a_stored_run_has_the_answers_that_it_had(runs: Path, name: str) -> None:
    stored, now = pl.read_parquet(GOLDEN / f"{name}.answers.parquet"), answered(runs, name)
    assert_frame_equal(stored, now, check_row_order=False, check_column_order=False, abs_tol=1e-6)


def test_every_measure_has_a_value_somewhere() -> None:
    tables = [pl.read_parquet(GOLDEN / f"{name}.parquet", columns=["measure", "value"]) for name in TABLES]
    never = pl.concat(tables).group_by("measure").agg(pl.col("value").count()).filter(pl.col("value") == 0)
    assert never["measure"].to_list() == []


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="an older processor is played by leaving out what is newer")
@pytest.mark.parametrize("name", ["counterfactuals", "stylisticbias-list"])
def test_an_older_processor_gives_the_same_estimates(runs: Path, tmp_path: Path, name: str) -> None:
    script = "from pathlib import Path; from tests.golden.cases import estimated; import sys; "
    script += "estimated(Path(sys.argv[1]), sys.argv[2]).write_parquet(sys.argv[3])"
    older = {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3",
        "OPENBLAS_CORETYPE": "Sandybridge",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    out = tmp_path / "older.parquet"
    subprocess.run([sys.executable, "-c", script, runs, name, out], env=os.environ | older, check=True)
    assert_same(pl.read_parquet(GOLDEN / f"{name}.parquet"), pl.read_parquet(out))


def keyed(table: pl.DataFrame) -> pl.DataFrame:
    """A table with a column `key`: study, measure, model, and each label that is there by its name."""
    names = ["study", "measure", "model", *(name for name in label_columns(table) if name != "model")]
    named = [
        pl.when(pl.col(name).is_not_null()).then(pl.concat_str(pl.lit(f"{name}="), pl.col(name).cast(pl.String)))
        for name in dict.fromkeys(names)
        if name in table.columns
    ]
    return table.with_columns(key=pl.concat_list(named).list.drop_nulls().list.sort().list.join(" | "))


def today(table: pl.DataFrame) -> pl.DataFrame:
    """A stored table with the names of today."""
    renamed = table.rename(RENAMED["labels"], strict=False)
    return renamed.with_columns(
        pl.col("measure").replace(RENAMED["measures"]), pl.col("detail").replace(RENAMED["details"])
    )


def assert_alike(now: object, stored: object) -> None:
    """Documents say the same, numbers but for rounding."""
    if isinstance(now, dict) and isinstance(stored, dict):
        assert now.keys() == stored.keys()
        for key in now:
            assert_alike(now[key], stored[key])
    elif isinstance(now, list | tuple) and isinstance(stored, list):
        assert len(now) == len(stored)
        for one, other in zip(now, stored, strict=True):
            assert_alike(one, other)
    elif isinstance(stored, float):
        assert now == pytest.approx(stored, rel=1e-6, abs=TOLERANCE)
    else:
        assert now == stored


def assert_same(stored: pl.DataFrame, now: pl.DataFrame) -> None:
    """Each key stands in both tables once; texts and counts are the same, numbers but for rounding."""
    before, after = keyed(today(stored)), keyed(now)
    assert Counter(before["key"]) == Counter(after["key"])
    assert before["key"].is_unique().all()
    pairs = before.join(after, on="key", how="inner", suffix=" now", validate="1:1")
    for name in before.select(cs.exclude("key")).columns:
        was, new = pairs[name], pairs[f"{name} now"]
        differs = was.ne_missing(new)
        if was.dtype.is_float():
            within = LOOSE.get(name, TOLERANCE)
            differs &= ~((new - was).abs() <= within * (1 + was.abs())).fill_null(value=False)
        first = pairs.filter(differs).select("key", name, f"{name} now").head(3).rows()
        assert not differs.any(), (name, int(differs.sum()), first)
