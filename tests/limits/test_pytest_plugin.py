"""The plugin of pytest, as a project that uses it sees it."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import facevalue as fv
from facevalue.store.manifest import read_manifest, write_manifest

LIMITS = '[[limit]]\nmeasure = "shift"\nby = ["variation"]\nabsolute = {}\n'
TESTS = """
import pytest

@pytest.mark.facevalue_limits("wide.toml")
def test_within(facevalue_limits):
    assert facevalue_limits("strong").within

def test_limits_may_be_tables(facevalue_limits):
    facevalue_limits("strong", [{"measure": "missing_share", "at_most": 0.5}])

@pytest.mark.facevalue_limits("narrow.toml")
def test_beyond(facevalue_limits):
    facevalue_limits("strong")

@pytest.mark.facevalue_limits("changes.toml", baseline="other")
def test_baseline(facevalue_limits):
    facevalue_limits("strong")

def test_part(facevalue_limits):
    facevalue_limits("part", "wide.toml")

@pytest.mark.facevalue_limits("wide.toml", allow_incomplete=True)
def test_part_that_is_allowed(facevalue_limits):
    facevalue_limits("part")
    facevalue_limits("part", "wide.toml", allow_incomplete=True)

def test_without_limits(facevalue_limits):
    facevalue_limits("strong")

@pytest.mark.facevalue_limits("wide.toml", base="other")
def test_wrong_marker(facevalue_limits):
    facevalue_limits("strong")
"""
UNUSED = """
import sys

def test_nothing():
    assert not {"polars", "numpy", "facevalue.limits", "facevalue.api"} & set(sys.modules)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with runs, limits and tests."""
    folder = tmp_path_factory.mktemp("project")
    study = fv.study("stylisticbias", faces="12", attributes="eyewear", scenario=["wealthy"], seeds=["1"])
    for name in ("strong", "other"):
        fv.run(study, "sim/strong" if name == "strong" else "sim/null", folder / name, progress=False)
    shutil.copytree(folder / "strong", folder / "part")
    write_manifest(folder / "part", replace(read_manifest(folder / "part"), end=None))
    (folder / "tests").mkdir()
    for name, limit in (("wide", 0.9), ("narrow", 0.001)):
        (folder / "tests" / f"{name}.toml").write_text(LIMITS.format(limit))
    (folder / "changes.toml").write_text(LIMITS.replace("absolute", "change").format(0.9))
    (folder / "tests" / "test_used.py").write_text(TESTS)
    (folder / "tests" / "test_unused.py").write_text(UNUSED)
    return folder


def run(project: Path, file: str) -> str:
    """Run tests of the project with the plugin alone, as its entry point loads it."""
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", f"tests/{file}"]
    plugin = ["-p", "no:facevalue", "-p", "facevalue.pytest_plugin"]  # whether the entry point is installed or not
    others = [f"no:{name}" for name in ("hypothesispytest", "_hypothesis_pytestplugin", "xdist", "pytest_cov", "anyio")]
    disabled = [word for name in others for word in ("-p", name)]
    ended = subprocess.run([*command, *plugin, *disabled], cwd=project, capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr


def test_a_test_fails_with_the_estimates_that_are_not_within(project: Path) -> None:
    said = run(project, "test_used.py")
    assert "4 passed" in said, said
    for words in (
        "part has not ended: it holds part of its requests.",
        "shift by variation, from -0.001 to 0.001",
        "(strong): ",
        "Which limits? @pytest.mark.facevalue_limits('limits.toml'), or facevalue_limits(run, limits)",
        "got an unexpected keyword argument 'base'",
    ):
        assert words in said
    assert "facevalue/limits" not in said  # no traceback of ours


def test_a_plugin_that_nobody_uses_imports_nothing(project: Path) -> None:
    assert "1 passed" in run(project, "test_unused.py")


def test_the_entry_point_is_declared() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nfacevalue = "facevalue.pytest_plugin"\n' in text
