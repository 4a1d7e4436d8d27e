"""Runs whose replies were scored: answers carry the scores, and only runs that were scored alike go together."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import RunError
from facevalue.runs.joined_runs import by_model
from facevalue.runs.kept_estimates import _files
from facevalue.runs.stored_run import StoredRun, answers, rebuilt
from tests.annotations.test_scores import add, stored
from tests.scored_study import PROTOCOL, run

COLUMNS = ["score: tox/toxicity", "score: tox/insult"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return run(tmp_path / "run", ["A calm person.", "I'm sorry, I can't describe people.", "An old fool."]).folder


def opened(folder: Path) -> StoredRun:
    return StoredRun.open(folder, protocol=PROTOCOL)


def test_answers_of_a_run_carry_its_scores(folder: Path) -> None:
    assert not set(COLUMNS) & set(pl.concat(answers(opened(folder))).columns)
    add(stored(folder), {"A calm person.": (0.1, 0.2, None)})
    found = pl.concat(answers(opened(folder)))
    assert found.select(COLUMNS).rows()[:3] == [(0.1, 0.2), (None, None), (None, None)]
    again = rebuilt(opened(folder), opened(folder).study.options)
    assert set(COLUMNS) <= set(pl.concat(answers(StoredRun(folder, opened(folder).facts, again))).columns)


def test_a_damaged_file_of_scores_is_found_before_anything_is_measured(folder: Path) -> None:
    path = add(stored(folder), {"A calm person.": (0.1, 0.2, None)})
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RunError, match=path.name):
        list(answers(opened(folder)))


def test_kept_estimates_are_of_these_very_scores(folder: Path) -> None:
    before = set(_files(folder))
    path = add(stored(folder), {"A calm person.": (0.1, 0.2, None)})
    (path.parent / ".lock").write_text("123")
    assert {path.name for path in set(_files(folder)) - before} == {path.name, "scorer.toml"}


def named(folder: Path, name: str) -> StoredRun:
    return opened(folder).rename(name)


def test_runs_that_were_scored_alike_go_together_and_others_do_not(folder: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    stored(folder)
    with pytest.raises(RunError, match=f"facevalue annotate {other} --scorer hf-text/tox --name tox"):
        by_model([named(folder, "a"), named(other, "b")])
    stored(other)
    assert set(by_model([named(folder, "a"), named(other, "b")])) == {"a", "b"}
    stored(other, digest="other")
    with pytest.raises(RunError, match="not of the same scorer"):
        by_model([named(folder, "a"), named(other, "b")])
