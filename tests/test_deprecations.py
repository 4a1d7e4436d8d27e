"""What is deprecated says when it goes, and is gone by then."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import facevalue

PACKAGE = Path(facevalue.__file__).parent


def promises(source: str) -> Iterator[tuple[int, str | None]]:
    """Lines at which a function, class or option is deprecated, and what is said.

    That is the text of a decorator `deprecated(...)`, as of `warnings` and `typing_extensions`, and of an argument
    `deprecated=...`, as of click's options and commands; None where it is no plain text.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                if re.search(r"\bdeprecated\b", ast.unparse(decorator)):
                    yield node.lineno, text(decorator.args[0] if isinstance(decorator, ast.Call) else None)
        elif isinstance(node, ast.keyword) and node.arg == "deprecated":
            yield node.value.lineno, text(node.value)


def text(node: ast.expr | None) -> str | None:
    """A plain text of the code."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def version(name: str) -> tuple[int, ...]:
    """Numbers of a version."""
    return tuple(int(number) for number in name.split(".")[:2])


def faults(source: str, now: str) -> Iterator[str]:
    """Sentences about deprecations that do not say when the name goes, or should be gone in version `now`."""
    for line, message in promises(source):
        removal = re.search(r"removed in (\d+\.\d+)\b", message or "")
        if removal is None:
            yield f"line {line}: a deprecation ends with what takes its place and 'removed in X.Y'"
        elif version(removal[1]) <= version(now):
            yield f"line {line}: to be removed in {removal[1]}, and still there in {now}"


def test_nothing_outlives_the_version_that_it_is_removed_in() -> None:
    sources = {path.name: source for path in PACKAGE.rglob("*.py") if "deprecated" in (source := path.read_text())}
    late = {name: list(faults(source, facevalue.__version__)) for name, source in sources.items()}
    assert not {name: sentences for name, sentences in late.items() if sentences}


def test_promises_are_found_and_held_against_the_version() -> None:
    source = """
@deprecated("Use `Run.report`; removed in 0.4.")
def page(): ...

@warnings.deprecated("Use `Run`; removed in 0.3.")
class Old: ...

option("--old", deprecated="Use --new; removed in 0.2.")

@typing_extensions.deprecated("Use `fv.run`.")
def soon(): ...
"""
    assert list(faults(source, "0.2.1")) == [
        "line 11: a deprecation ends with what takes its place and 'removed in X.Y'",
        "line 8: to be removed in 0.2, and still there in 0.2.1",
    ]
    assert len(list(faults(source, "0.3.0"))) == 3
    assert not list(faults("def page(deprecated): ...", "9.0"))
