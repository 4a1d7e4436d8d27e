"""Judgments, scores and ratings whose process dies at any file operation; all other kinds are in `make test-faults`."""

import random
from pathlib import Path

import pytest

from tests.faults.kept import WORKS, ended


@pytest.mark.parametrize("name", WORKS)
def test_a_kill_at_any_file_operation_loses_nothing_that_was_said(name: str, tmp_path: Path) -> None:
    assert set(ended("kill", WORKS[name], tmp_path, random.Random(1))) == {"as without the fault"}
