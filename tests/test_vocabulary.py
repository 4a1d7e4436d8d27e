"""Names say what things are: how many vague bindings there are, and class names with several homes, can only fall."""

import ast
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import facevalue

PACKAGE = Path(facevalue.__file__).parent
VAGUE = frozenset(
    [
        *("found", "own", "said", "told", "known", "asked", "given", "shown", "named", "made", "mine", "there", "one"),
        *("other", "both", "who", "what", "where", "how", "why", "whole", "done", "part", "parts", "each", "every"),
        *("read", "kept", "wanted", "drawn", "here", "theirs", "beside", "least", "most", "laid", "looked"),
    ]
)
"""Participles, pronouns and adverbs that bind a value without saying what it is."""
VAGUE_PER_1000 = 2.3
SHARED_NAMES = 7
"""What there is today. Lower them with the code; never raise them."""


class Names(NamedTuple):
    """What one module binds."""

    path: Path
    lines: int
    vague: int
    classes: list[str]


@pytest.fixture(scope="module")
def modules() -> list[Names]:
    """Every file is parsed once, and its tree not kept."""
    return [names_of(path, path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))]


def names_of(path: Path, text: str) -> Names:
    tree = ast.parse(text)
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    return Names(path, text.count("\n"), len(vague_names(tree)), classes)


def vague_names(tree: ast.AST) -> list[str]:
    names, arguments = list[str](), list[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.arg):
            arguments.append(node.arg)
    return [name for name in names + arguments if name in VAGUE]


def test_names_that_say_nothing_are_counted() -> None:
    assert vague_names(ast.parse("found, rows = f(own=1)\ndef f(own): return [one for one in own]")) == [
        "found",
        "one",
        "own",
    ]


def test_few_bindings_are_bare_participles_or_pronouns(modules: list[Names]) -> None:
    rate = 1000 * sum(module.vague for module in modules) / sum(module.lines for module in modules)
    most = sorted(modules, key=lambda module: -module.vague)[:5]
    worst = ", ".join(f"{module.path.relative_to(PACKAGE)} {module.vague}" for module in most)
    assert rate <= VAGUE_PER_1000, f"{rate:.1f} vague bindings per 1,000 lines; most of them in {worst}"


def test_few_class_names_have_several_homes(modules: list[Names]) -> None:
    classes = Counter(name for module in modules for name in module.classes)
    shared = sorted(name for name, homes in classes.items() if homes > 1)
    assert len(shared) <= SHARED_NAMES, f"{len(shared)} class names have several homes: {', '.join(shared)}"
