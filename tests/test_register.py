"""Entries for the Inspect Evals register: the fields that it takes, and tasks that are where they say.

The rules are those of inspect_evals 0.26 for evaluations of external repositories: unknown fields are refused, every
task has a path, an entry has one task, what is rendered in lists stands on one line.
"""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
ENTRIES = sorted((ROOT / "register").glob("*/eval.yaml"))
REQUIRED = {"id", "full_title", "common_title", "description", "contributors", "tasks", "source"}
OPTIONAL = {"paper_title", "arxiv", "tags", "metadata", "evaluation_report"}
OF_TASK = {"name", "task_path", "comment", "dataset_samples", "human_baseline", "kind"}
OF_SOURCE = {"repository_url", "repository_commit", "maintainers", "comment"}
OF_METADATA = {"fast", "sandbox", "requires", "environment", "supports_k8s", "extras"}


def entry(path: Path) -> dict[str, Any]:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def tasks_of(path: Path) -> set[str]:
    """Names of the functions of a file with the decorator `task`, read as the register reads them."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            plain = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
            names |= {node.name for d in plain if isinstance(d, ast.Name) and d.id == "task"}
    return names


def test_each_published_protocol_has_an_entry() -> None:
    from facevalue.studies.registry import PUBLISHED

    assert {path.parent.name for path in ENTRIES} == {f"facevalue-{name}" for name in PUBLISHED}


@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: path.parent.name)
def test_an_entry_is_as_the_register_takes_it(path: Path) -> None:
    document = entry(path)
    assert set(document) >= REQUIRED
    assert set(document) <= REQUIRED | OPTIONAL
    assert document["id"] == path.parent.name
    for name in ("full_title", "common_title", "description", "paper_title"):
        assert isinstance(document[name], str)
        assert "\n" not in document[name]
    assert all(isinstance(name, str) for field in ("contributors", "tags") for name in document[field])
    (task,) = document["tasks"]
    assert set(task) <= OF_TASK
    assert task["name"] in tasks_of(ROOT / task["task_path"])
    source = document["source"]
    assert set(source) <= OF_SOURCE
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", source["repository_url"])
    assert re.fullmatch(r"[0-9a-f]{40}", source["repository_commit"])
    assert set(document["metadata"]) <= OF_METADATA
    assert set(document["metadata"]["requires"]) <= {"internet", "gpu"}


def test_inspect_is_declared() -> None:
    assert re.search(r"^inspect = \[\"inspect-ai", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
