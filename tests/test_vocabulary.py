"""Names say what things are: how many vague bindings there are, and class names with several homes, can only fall."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

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


def trees() -> Iterator[tuple[Path, ast.Module, int]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        yield path, ast.parse(text), text.count("\n")


def vague_names(tree: ast.AST) -> list[str]:
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    names += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    return [name for name in names if name in VAGUE]


def test_names_that_say_nothing_are_counted() -> None:
    assert vague_names(ast.parse("found, rows = f(own=1)\ndef f(own): return [one for one in own]")) == [
        "found",
        "one",
        "own",
    ]


def test_few_bindings_are_bare_participles_or_pronouns() -> None:
    counts = [(len(vague_names(tree)), lines, path) for path, tree, lines in trees()]
    rate = 1000 * sum(vague for vague, _, _ in counts) / sum(lines for _, lines, _ in counts)
    worst = ", ".join(f"{path.relative_to(PACKAGE)} {vague}" for vague, _, path in sorted(counts, reverse=True)[:5])
    assert rate <= VAGUE_PER_1000, f"{rate:.1f} vague bindings per 1,000 lines; most of them in {worst}"


def test_few_class_names_have_several_homes() -> None:
    classes = Counter(node.name for _, tree, _ in trees() for node in tree.body if isinstance(node, ast.ClassDef))
    shared = sorted(name for name, homes in classes.items() if homes > 1)
    assert len(shared) <= SHARED_NAMES, f"{len(shared)} class names have several homes: {', '.join(shared)}"
