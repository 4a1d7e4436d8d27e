"""What documents name is there: modules and files of the project, and the places that their links lead to."""

import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
AUTHORS = {"process_data.py", "textcompare.py"}
"""Files of papers' authors."""
FILES = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()


def current(document: Path) -> str:
    """Text of a document that speaks of today: of the changes, nothing."""
    return "" if document.name == "CHANGELOG.md" else document.read_text(encoding="utf-8")


def anchors(text: str) -> set[str]:
    """Names of a page's headings, as links give them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(document: Path) -> Iterator[str]:
    """Links of a document that lead nowhere."""
    text = document.read_text(encoding="utf-8")
    for address, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text):
        if "://" in address or address.startswith("mailto:"):
            continue
        target = document.parent / address if address else document
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target.read_text())):
            yield f"{address}#{anchor}"


def is_name(dotted: str) -> bool:
    """Whether a module has this name, or a name within a module."""
    module, _, name = dotted.rpartition(".")
    try:
        if find_spec(dotted):
            return True
    except ModuleNotFoundError:
        pass  # what stands before the last dot is no package
    spec = find_spec(module) if module.count(".") and is_name(module) else None
    path = spec.origin if spec else str(ROOT / "src" / "facevalue" / "__init__.py") if module == "facevalue" else None
    return bool(path) and re.search(rf"\b{name}\b", Path(str(path)).read_text(encoding="utf-8")) is not None


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    assert not list(dead_links(document))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_that_documents_name_are_there(document: Path) -> None:
    if not FILES:
        pytest.skip("no checkout of git: which files the project has is not known")
    text = current(document)
    modules = {name for name in re.findall(r"[\w./-]*\w\.py\b", text) if "*" not in name} - AUTHORS
    names = {path.strip("./") for path in modules}
    assert not [name for name in names if not any(path == name or path.endswith(f"/{name}") for path in FILES)]
    dotted = re.findall(r"(?<![\w./-])facevalue(?:\.[a-zA-Z]\w*)+", text)
    assert not [name for name in set(dotted) if not name.endswith(".json") and not is_name(name)]


def test_design_names_each_module_of_the_layer() -> None:
    page = (ROOT / "docs/explanation/design.md").read_text(encoding="utf-8")
    modules = {path.name for path in (ROOT / "src" / "facevalue" / "protocol").glob("*.py")} - {"__init__.py"}
    assert not [module for module in sorted(modules) if not re.search(rf"[`/]{module}`", page)]


@pytest.mark.parametrize(
    "named", ["Intervention", "nothing", "studies.vignette.comparisons.profile_pattern", "protocol.gone.pattern"]
)
def test_names_are_told_from_what_is_gone(named: str) -> None:
    assert is_name(f"facevalue.{named}") == (named in ("Intervention", "studies.vignette.comparisons.profile_pattern"))
