"""Packages whose names are imported when they are asked for: what type checkers see of them is what Python finds."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src"
LAZY = {
    ".".join(path.parent.relative_to(ROOT).parts): path
    for path in ROOT.rglob("__init__.py")
    if "lazy_names(" in path.read_text()
}


def test_there_are_packages_to_look_at() -> None:
    assert {"facevalue", "facevalue.protocol", "facevalue.runs", "facevalue.report", "facevalue.store"} <= set(LAZY)


@pytest.mark.parametrize("package", LAZY)
def test_type_checkers_and_python_see_the_same_names(package: str) -> None:
    tree = ast.parse(LAZY[package].read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {a.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for a in node.names}
    (call,) = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    homes = ast.literal_eval(call.args[1])
    assert {name: home for home, names in homes.items() for name in names} == typed
    assert sorted(typed) == sorted(import_module(package).__all__) == dir(import_module(package))


@pytest.mark.parametrize("package", LAZY)
def test_every_name_is_found(package: str) -> None:
    module = import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        module.nothing  # noqa: B018


@pytest.mark.parametrize("package", [name for name in LAZY if name != "facevalue"])
def test_no_module_of_a_package_hides_a_name_of_it(package: str) -> None:
    modules = {path.stem for path in LAZY[package].parent.iterdir()}
    assert modules & set(import_module(package).__all__) == set()


@pytest.mark.parametrize("package", LAZY)
def test_a_package_imports_nothing_before_it_is_used(package: str) -> None:
    code = f"import sys, {package}; print(*(name for name in sys.modules if name.startswith('facevalue')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - set(package.split(".")) <= {
        "facevalue", "facevalue.lazy_names", *(".".join(package.split(".")[:n]) for n in (2, 3))
    }  # fmt: skip
