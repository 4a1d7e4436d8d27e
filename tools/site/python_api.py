"""The Python API by its docstrings: directives of Sphinx's autodoc for everything public."""

import inspect
from collections.abc import Iterator

import facevalue as fv


def page() -> str:
    """Functions, classes, the declaration of studies, errors."""
    names = [name for name in fv.__all__ if name not in ("errors", "protocol")]
    functions = [name for name in names if inspect.isfunction(getattr(fv, name))]
    declared = {name for name in fv.protocol.__all__ if name in names}
    classes = [name for name in names if name not in functions and name not in declared]
    errors = [
        name for name, thing in vars(fv.errors).items()
        if isinstance(thing, type) and issubclass(thing, Exception) and not name.startswith("_")
    ]  # fmt: skip
    lines = [
        *_section("Functions", "facevalue", functions),
        *_section("Classes", "facevalue", classes),
        *_section("Declaring a study", "facevalue.protocol", fv.protocol.__all__),
        *_section("Errors", "facevalue.errors", errors),
    ]
    return "\n".join(lines)


def _section(heading: str, module: str, names: list[str]) -> Iterator[str]:
    yield from (f"## {heading}", "")
    home = __import__(module, fromlist=["_"])
    for name in names:
        thing = getattr(home, name)
        called = f"fv.{name}" if module == "facevalue" else f"{module.replace('facevalue', 'fv', 1)}.{name}"
        yield from (f"### {called}", "", "```{eval-rst}")
        if not isinstance(thing, type):
            yield f".. auto{'function' if callable(thing) else 'data'}:: {module}.{name}"
        else:
            yield f".. autoclass:: {module}.{name}"
            yield "   :members:"
        yield from ("```", "")
