"""What the package says of itself holds together: versions, locks, the examples in its documents."""

import doctest
import json
import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml  # type: ignore[import-untyped]

import facevalue
from facevalue.studies.registry import PUBLISHED

ROOT = Path(__file__).parents[1]
CITATION_SCHEMA = ROOT / "build" / "cffconvert" / "cffconvert" / "schemas" / "1.2.0" / "schema.json"
"""Of the Citation File Format, in a package of its makers."""
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
NEEDED = {"local-models.md": ("torch", "transformers")}
"""What the examples of a document need besides what every developer has."""
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def project() -> dict[str, object]:
    """The [project] table."""
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def normal(requirement: str) -> str:
    """Normalised name of a requirement (PEP 503)."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def locked(name: str) -> dict[str, str]:
    """Pinned requirements of a lock: name and everything up to the next one."""
    text = (ROOT / "requirements" / name).read_text()
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=[A-Za-z0-9])", "\n" + text)[1:]:
        found[normal(entry)] = found.get(normal(entry), "") + entry
    return found


def test_one_version() -> None:
    assert facevalue.__version__ == project()["version"] == version("facevalue")
    assert citation()["version"] == facevalue.__version__


def citation() -> dict[str, Any]:
    """How the package is cited."""
    entries: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    return entries


def test_the_paper_of_each_published_study_is_cited() -> None:
    references = {entry["scope"]: entry for entry in citation()["references"]}
    assert list(references) == [f"Protocol `{study}`" for study in PUBLISHED]
    assert all(entry["title"] and entry["year"] and entry["url"] and entry["authors"] for entry in references.values())


def test_the_citation_keeps_to_its_schema() -> None:
    if not CITATION_SCHEMA.is_file():
        pytest.skip("the schema of the Citation File Format is not there: make check-formats")
    jsonschema.Draft7Validator(json.loads(CITATION_SCHEMA.read_text())).validate(citation())


def test_locks_hold_what_the_package_needs() -> None:
    table = project()
    core = {normal(r) for r in table["dependencies"]}  # type: ignore[attr-defined]
    extras: dict[str, list[str]] = table["optional-dependencies"]  # type: ignore[assignment]
    assert core <= locked("demo.txt").keys()
    assert core | {normal(r) for extra in ("dev", "servers") for r in extras[extra]} <= locked("dev.txt").keys()
    pins = {name: re.findall(r"==(\S+)", entry) for name, entry in locked("dev.txt").items()}
    engine = {normal(r) for extra in ("hf", "pictures", "checks") for r in extras[extra]} - {"torch"}
    assert engine <= locked("engine.txt").keys()
    for name, entry in locked("demo.txt").items():
        assert re.findall(r"==(\S+)", entry) == pins[name], f"{name} differs between the locks"


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_locks_are_pinned_hashed_light_and_name_no_index(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"://|--index|--find-links|--extra-index", text)
    for name, entry in locked(path.name).items():
        assert re.match(r"\S+==\S+", entry), entry
        assert "--hash=sha256:" in entry, name
    assert not locked(path.name).keys() & {"torch", "vllm", "triton", "tensorflow", "jax"}
    assert path.name in ("engine.txt", "vllm.txt") or "transformers" not in locked(path.name)
    assert not [name for name in locked(path.name) if name.startswith("nvidia-")]


def examples(path: Path) -> doctest.DocTest | None:
    """The Python sessions of a Markdown file as one test; other code blocks are left alone."""
    text = path.read_text()
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = line.strip() == "```python"
            lines.append("")
        else:
            lines.append(line if inside else "")
    test = doctest.DocTestParser().get_doctest("\n".join(lines), {}, path.name, str(path), 0)
    return test if test.examples else None


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_sessions_in_documents_run_as_printed(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test = examples(path)
    if test is None:
        return
    monkeypatch.chdir(tmp_path)
    for module in NEEDED.get(path.name, ()):
        pytest.importorskip(module, reason="its examples need the local engine: pip install '.[hf]'")
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    failed, _ = runner.run(test, out=said.append)
    assert not failed, "".join(said)


def test_documents_have_sessions_at_all() -> None:
    design = examples(ROOT / "docs/explanation/design.md")
    assert design is not None
    assert len(design.examples) > 10
