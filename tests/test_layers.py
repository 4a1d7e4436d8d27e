"""The one-way order of the folders, and what no module does, read from the source itself."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1] / "src" / "facevalue"
# Each may import from those before it, and from errors and types. Folders on one line know nothing of each other.
ORDER = (
    {"lazy_names"},
    {"errors", "types", "parquet", "places", "printable", "thinking"},
    {
        "addresses",
        "untrusted_files",
        "seals",
        "csv_text",
        "terminal",
        "plugins",
        "checked_replies",
        "forks",
    },
    {"arguments"},
    {"design"},
    {"hashing"},
    {"prompts", "stimuli", "servers"},
    {"models"},
    {"generators", "inspection"},
    {"store"},
    {"records"},
    {"answers"},
    {"annotations"},
    {"measures"},
    {"statistics"},
    {"protocol"},
    {"studies"},
    {"runs"},
    {"calibration"},
    {"cluster"},
    {"report"},
    {"limits"},
    {"packing"},
    {"api"},
    {"view", "inspect_tasks"},
    {"cli"},
    {"__main__", "pytest_plugin"},
)
LAYER = {name: level for level, names in enumerate(ORDER) for name in names}
ENGINES = {"models", "generators", "inspection"}
HEAVY = {"torch", "transformers", "vllm", "ray", "diffusers", "accelerate"}
PATTERNS = {f"pl.{how}_{what}" for how in ("read", "scan") for what in ("parquet", "csv", "ipc", "ndjson")} | {
    "pl.read_parquet_metadata", "pl.read_parquet_schema", "pl.read_ipc_schema"
}  # fmt: skip
MOST_LINES = 600
MODULES = sorted(ROOT.rglob("*.py"))


def layer(path: Path) -> str:
    """The folder or top-level module that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every absolute module name that is imported anywhere in the file, also inside functions, and its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno


def for_types(node: ast.AST) -> bool:
    """Whether it is `if TYPE_CHECKING`."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def wrong_imports(own: str, tree: ast.AST) -> list[str]:
    """Imports that run against the order, or are relative, or heavy where they may not be."""
    if own not in LAYER | {"__init__": 0}:
        return [f"{own} has no place in the order"]
    wrong = [
        f"line {node.lineno}: relative import"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    if own == "__init__":  # what type checkers see of the package's names is imported when it is first used
        tree = ast.Module(
            [node for node in ast.iter_child_nodes(tree) if isinstance(node, ast.stmt) and not for_types(node)], []
        )
    for name, line in imports(tree):
        parts = name.split(".")
        places = {"cluster"} if parts[0] == "ray" else ENGINES
        if parts[0] in HEAVY and own not in places:
            wrong.append(f"line {line}: {parts[0]} is imported in {', '.join(sorted(places))}/ only")
        if parts[0] != "facevalue" or len(parts) < 2 or parts[1] == "__version__":
            continue
        other = parts[1]
        if other not in LAYER:
            wrong.append(f"line {line}: {other} has no place in the order")
        elif other != "lazy_names" and (own == "__init__" or (other != own and LAYER[other] >= LAYER[own])):
            wrong.append(f"line {line}: {own} imports {other}")
    return wrong


def dotted(function: ast.expr) -> str:
    """A function as it is called: print, click.echo; of what is no name, the end alone (.write_csv)."""
    if isinstance(function, ast.Attribute):
        return f"{dotted(function.value)}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


def printers(tree: ast.AST) -> list[str]:
    """Prints and CSV that let texts from strangers through; see facevalue.terminal and facevalue.csv_text."""
    wrong = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = dotted(node.func)
            first = ast.unparse(node.args[0]) if called == "click.echo" and node.args else ""
            safe = first.startswith(("json.dumps(", "printable("))
            if (called in ("Console", "print", "click.echo") and not safe) or called.endswith(".write_csv"):
                wrong.append(f"line {node.lineno}: {called}")
    return wrong


def takes_names(call: ast.Call) -> bool:
    """Whether a reader of Polars is given bytes or a file, or told that its path is no pattern."""
    given = ast.unparse(call.args[0]) if call.args else ""
    named = any(word.arg == "glob" and ast.unparse(word.value) == "False" for word in call.keywords)
    return named or given == "file" or given.startswith("io.BytesIO(") or given.endswith(".read_bytes()")


def unsafe_calls(tree: ast.AST) -> list[str]:
    """Uses of what turns data into code."""
    wrong = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = dotted(node.func)
            if called in ("eval", "exec", "yaml.load", "yaml.unsafe_load", "__import__"):
                wrong.append(f"line {node.lineno}: {called}")
            if called in PATTERNS and not takes_names(node):
                wrong.append(f"line {node.lineno}: {called} takes a path for a pattern; see facevalue.parquet")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            wrong += [
                f"line {node.lineno}: {n}" for n in names if n.split(".")[0] in ("pickle", "cPickle", "dill", "marshal")
            ]
    return wrong


class Wrong(NamedTuple):
    """What the checks find wrong, by the file it is in; nothing of a file that is right."""

    imports: dict[str, list[str]]
    code: dict[str, list[str]]
    prints: dict[str, list[str]]


@pytest.fixture(scope="module")
def wrong() -> Wrong:
    """Every file is parsed once, and its tree not kept."""
    found = Wrong({}, {}, {})
    for path in MODULES:
        name, tree = str(path.relative_to(ROOT)), ast.parse(path.read_text())
        for lines, kept in zip(
            (wrong_imports(layer(path), tree), unsafe_calls(tree), printers(tree)), found, strict=True
        ):
            if lines:
                kept[name] = lines
    return found


STUDIES = ("stylisticbias", "vignette", "visbias", "modscan")


def named_studies(source: str) -> list[str]:
    """Names of studies in strings and identifiers; docstrings and the papers' own titles are no code."""
    if not any(name in source for name in STUDIES):
        return []
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    said = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            said.append((node.lineno, node.value))
        elif isinstance(node, ast.Name):
            said.append((node.lineno, node.id))
    return [f"line {line}: {text}" for line, text in said if any(name in text for name in STUDIES)]


def test_nothing_below_studies_knows_one_by_name() -> None:
    below = [path for path in MODULES if LAYER.get(layer(path), len(ORDER)) < LAYER["studies"]]
    assert not [path.name for path in below if path.stem.startswith(STUDIES)]
    found = {str(path.relative_to(ROOT)): named_studies(path.read_text()) for path in below}
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert named_studies("x = 'vignette'") == ["line 1: vignette"]


def test_there_are_files_to_look_at() -> None:
    assert {"__init__", "store", "models", "cli"} <= {layer(path) for path in MODULES}


def test_imports_run_one_way(wrong: Wrong) -> None:
    assert wrong.imports == {}


def test_no_data_becomes_code(wrong: Wrong) -> None:
    assert wrong.code == {}


def test_no_module_is_too_long() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: many for name, many in lines.items() if many > MOST_LINES} == {}


PUBLISHED = re.compile(r"(?<![A-Za-z])(stylisticbias|vignette|visbias)(?![A-Za-z])")
"""Short names of published studies, as code would look them up; papers are cited by their titles."""
KNOWS_STUDIES = (
    "report/sections/headline.py",
    "report/stylisticbias/",
    "report/vignette/",
    "report/visbias/",
    "cli/commands/",
)
"""Pages of published studies, until they are declared as data; and examples in the help of commands."""


def studies_named(source: str) -> list[str]:
    """Published studies by name, in strings and imports; docstrings may show examples."""
    if not PUBLISHED.search(source):
        return []
    tree = ast.parse(source)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        (node.value, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]
    return [f"line {line}: {text}" for text, line in (*texts, *imports(tree)) if PUBLISHED.search(text)]


def test_no_module_but_studies_knows_a_study_by_name() -> None:
    found = {
        name: named
        for path in MODULES
        if not (name := path.relative_to(ROOT).as_posix()).startswith(KNOWS_STUDIES)
        and layer(path) != "studies"
        and (named := studies_named(path.read_text()))
    }
    assert found == {}


def test_the_check_sees_names_of_studies() -> None:
    assert studies_named("from facevalue.studies.vignette import PROTOCOL")
    assert studies_named("from facevalue.report.visbias.page import PAGE")
    assert studies_named("def f(run):\n    return run.study.name == 'visbias'")
    assert not studies_named('"""facevalue plan vignette"""\nsource = "VIGNETTE, Table 12"')


SPEAKS = {"terminal.py", "csv_text.py", "cli/actions/instrument.py"}
"""What prints for all others; and what writes tables of our own words and numbers."""


def test_texts_of_strangers_reach_terminals_and_spreadsheets_in_one_way(wrong: Wrong) -> None:
    assert {name: lines for name, lines in wrong.prints.items() if name not in SPEAKS} == {}


@pytest.mark.parametrize(
    ("own", "source", "says"),
    [
        ("design", "from facevalue.store import x", "design imports store"),
        ("prompts", "from facevalue.stimuli.base import Source", "prompts imports stimuli"),
        ("errors", "import facevalue.types", "errors imports types"),
        ("measures", "def f():\n    from facevalue.runs import x", "measures imports runs"),
        ("design", "from facevalue import store", "design imports store"),
        ("runs", "import torch.nn", "models/ only"),
        ("models", "import ray", "cluster/ only"),
        ("runs", "from . import x", "relative"),
        ("runs", "from facevalue.runner import x", "runner has no place"),
        ("runner", "import json", "runner has no place"),
        ("__init__", "from facevalue.design import Design", "__init__ imports design"),
    ],
)
def test_the_check_sees_what_is_wrong(own: str, source: str, says: str) -> None:
    assert any(says in line for line in wrong_imports(own, ast.parse(source)))


def test_the_check_allows_what_is_right() -> None:
    right = "import numpy\nfrom facevalue import __version__\nfrom facevalue.errors import DataError\n"
    for own, source in (
        ("design", right + "from facevalue.design.blocks import Axis"),
        ("models", "import torch\nfrom facevalue.stimuli.base import Source"),
        ("cli", "from facevalue.report import html"),
        ("__init__", "if TYPE_CHECKING:\n    from facevalue.api.run import Run"),
    ):
        assert wrong_imports(own, ast.parse(source)) == []


@pytest.mark.parametrize(
    "source", ["eval('1')", "import pickle", "from pickle import loads", "yaml.load(f)", "pl.read_ipc(p)"]
)
def test_the_check_sees_unsafe_code(source: str) -> None:
    assert unsafe_calls(ast.parse(source)) != []
