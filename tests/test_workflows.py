"""Workflows, forms and the container file: least rights, no keys, what they use pinned by digest."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RIGHTS = {
    "test": {"contents": "read"},
    "build": {"contents": "read"},
    "install": {"contents": "read"},
    "sign": {"attestations": "write", "id-token": "write"},
    "publish": {"id-token": "write"},
    "page": {"contents": "write"},
    "site": {"contents": "read", "id-token": "write", "pages": "write"},
    "container": {"attestations": "write", "contents": "read", "id-token": "write", "packages": "write"},
}
"""What each job of a release may do."""


def workflow(path: Path) -> dict[Any, Any]:
    """A workflow file. YAML calls its key `on` True."""
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text())
    return loaded


def steps(path: Path) -> list[dict[str, Any]]:
    """Steps of all jobs."""
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("name", ["wrong-number", "problem"])
def test_forms_of_issues_ask_for_what_is_needed(name: str) -> None:
    form = workflow(ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert {"name", "description", "body"} <= form.keys()
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


@pytest.fixture(scope="module")
def release() -> dict[str, Any]:
    """The jobs of a release."""
    jobs: dict[str, Any] = workflow(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    return jobs


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_say_their_version(path: Path) -> None:
    uses = re.findall(r"uses: (.+)", path.read_text())
    assert len(uses) == sum("uses" in step for step in steps(path)) > 0
    assert not [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+){2}", use)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_are_shell_that_no_input_is_written_into(path: Path) -> None:
    for step in steps(path):
        if script := step.get("run"):
            subprocess.run(["bash", "-n"], input=script, text=True, check=True)
            assert set(re.findall(r"\$\{\{ *(\w+)", script)) <= {"matrix"}, "inputs come by the environment"
        if step.get("uses", "").startswith("actions/checkout@") and path.stem == "release":
            assert step["with"] == {"persist-credentials": False}


def test_jobs_of_a_release_have_the_rights_that_they_need_and_no_secrets(release: dict[str, Any]) -> None:
    path = ROOT / ".github" / "workflows" / "release.yml"
    assert workflow(path)["permissions"] == {}
    assert workflow(path)[True] == {"push": {"tags": ["v*"]}}
    assert {name: job["permissions"] for name, job in release.items()} == RIGHTS
    assert not re.search(r"secrets\.|password: |actions/cache|cache: ", path.read_text())


def test_nothing_is_published_that_was_not_tested_installed_and_signed(release: dict[str, Any]) -> None:
    needs = {name: job.get("needs") for name, job in release.items()}
    assert needs["sign"] == ["test", "install"]
    assert needs["install"] == "build"
    assert needs["publish"] == "sign"
    assert {needs[name] for name in ("page", "site", "container")} == {"publish"}
    assert release["publish"]["environment"] == "pypi"
    (upload,) = [step for step in release["publish"]["steps"] if "pypi-publish" in step.get("uses", "")]
    assert upload["with"] == {"packages-dir": "dist", "attestations": True}


def test_a_release_is_installed_in_every_python_on_every_system(release: dict[str, Any]) -> None:
    matrix = release["install"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert [re.sub(r"-.*", "", system) for system in matrix["system"]] == ["ubuntu", "windows", "macos"]


def test_a_container_stands_on_a_digest_and_runs_as_nobody_in_particular() -> None:
    text = (ROOT / "Dockerfile").read_text()
    images = re.findall(r"^FROM (\S+)(?: AS (\S+))?", text, re.MULTILINE)
    stages = {stage for _, stage in images}
    assert [image for image, _ in images if image not in stages] == [images[0][0]]
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", images[0][0])
    assert [stage for _, stage in images[-2:]] == ["cuda", "cpu"], "the last one is built by default"
    assert re.findall(r"^USER (.+)", text, re.MULTILINE) == ["10001"]
    assert "PIP_NO_CACHE_DIR=1" in text
    assert 'HEALTHCHECK --interval=5m --timeout=30s CMD ["facevalue", "doctor"]' in text
    copied = {word for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE) for word in line.split()}
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {Path(name).parts[0] for name in copied} == allowed
    assert all((ROOT / name).exists() for name in copied)
