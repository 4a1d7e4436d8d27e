"""Notebooks executed in place: `python -m tools.notebook docs/tutorials/audit.ipynb`.

Outputs are those that Jupyter stores (printed text, the last expression, figures), without a kernel or its packages.
"""

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import altair
import vl_convert


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its code cells as they are now; an error in a cell is raised."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = _run("".join(cell["source"]), names, count)
            cells.append({**cell, "execution_count": count, "outputs": outputs})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def _run(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - the notebooks of this repository
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
    out: list[dict[str, Any]] = []
    if printed.getvalue():
        out.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        shown = {"data": _shown(value), "metadata": {}, "output_type": "execute_result", "execution_count": count}
        out.append(shown)
    return out


def _shown(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if isinstance(value, altair.TopLevelMixin):  # its own HTML fetches JavaScript: a stored notebook has the picture
        png = vl_convert.vegalite_to_png(value.to_dict(), scale=1.5)
        return data | {"image/png": base64.b64encode(png).decode()}
    if hasattr(value, "_repr_html_") and (html := value._repr_html_()):
        data["text/html"] = html.splitlines(keepends=True)
    if hasattr(value, "_repr_mimebundle_"):
        data |= value._repr_mimebundle_()
    return data


def main() -> None:
    """Execute the notebooks named on the command line in place."""
    for name in sys.argv[1:]:
        path = Path(name)
        done = executed(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
