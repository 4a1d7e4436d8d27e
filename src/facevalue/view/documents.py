"""Documents of the viewer by their addresses, how they become JSON, and the page that shows them."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from importlib.resources import files
from typing import Any

from facevalue.errors import UnknownNameError
from facevalue.printable import printable, short
from facevalue.view import answers, cell, compared_answers, estimates, head, trial
from facevalue.view.open_runs import OpenedRuns
from facevalue.view.query import Query

Make = Callable[[OpenedRuns, Query], object]


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """A kind of document: names that its query may have, beginnings of further ones, and what makes it."""

    make: Make
    names: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


def _of_run(make: Callable[..., object]) -> Make:
    return lambda runs, query: make(runs.state_of_run(query.text("run")), query)


KINDS: Mapping[str, DocumentKind] = {
    "head": DocumentKind(lambda runs, _: head.head(runs)),
    "lead": DocumentKind(lambda runs, query: head.lead(runs.state_of_run(query.text("run"))), ("run",)),
    "profile": DocumentKind(lambda runs, _: head.profile(runs)),
    "estimates": DocumentKind(_of_run(estimates.estimates), estimates.QUERY, ("L.",)),
    "cell": DocumentKind(_of_run(cell.cell), cell.QUERY),
    "answers": DocumentKind(_of_run(answers.answers), answers.QUERY, ("F.",)),
    "trial": DocumentKind(_of_run(trial.trial), trial.QUERY),
    "missing": DocumentKind(lambda runs, query: head.missing(runs.state_of_run(query.text("run"))), head.QUERY),
    "compare": DocumentKind(compared_answers.compare, compared_answers.QUERY, ("F.",)),
}
"""All kinds, by the name in their address."""


def document(runs: OpenedRuns, kind: str, pairs: Iterable[tuple[str, str]] = ()) -> object:
    """Make a document.

    Raises
    ------
    UnknownNameError
        No such kind, or a name in the query that it does not know.
    FaceValueError
        Whatever is wrong with the query or the run, in a sentence.
    """
    if kind not in KINDS:
        raise UnknownNameError("document", short(kind), KINDS)
    of_kind = KINDS[kind]
    return of_kind.make(runs, Query(pairs, of_kind.names, of_kind.prefixes))


def to_json(value: object) -> str:
    """A document as JSON: null for no number, every character spelled out that could hide what is written."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def plain(value: Any) -> Any:
    r"""A document as what JSON has.

    Examples
    --------
    >>> plain({"reply": "a\u202eb", "value": float("nan")})
    {'reply': 'a\\u202eb', 'value': None}
    """
    if isinstance(value, str):
        return printable(value.value if isinstance(value, Enum) else value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {printable(str(name)): plain(inner) for name, inner in value.items()}
    if hasattr(value, "item"):  # a number of NumPy's
        return plain(value.item())
    return [plain(inner) for inner in value]


STATIC = {
    "viewer.js": "text/javascript; charset=utf-8",
    "viewer.css": "text/css; charset=utf-8",
    "parquet.js": "text/javascript; charset=utf-8",
}
"""Files of the page, and their types."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""What the page may load: its own files, and nothing from elsewhere. A server sends it; a folder has it in the page."""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{policy}<title>FaceValue</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="viewer.css">
</head>
<body>
<div id="app"{source}></div>
<noscript>The viewer is a script of FaceValue's own: please allow it.</noscript>
{data}<script src="viewer.js" defer></script>
</body>
</html>
"""
MISSING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>FaceValue</title></head>
<body><p>The page of the viewer is missing from this installation (view/static/viewer.js): in a checkout, give
<code>make viewer</code>. Its documents are there: <a href="api/head">api/head</a>.</p></body></html>
"""


def page(source: str = "", data: str = "") -> str:
    r"""The page; `source`: where its documents are, if not on a server; `data`: as JSON, if they are in the page.

    Examples
    --------
    >>> page("embedded", '{"reply":"</script>"}').count("</script>"), 'data-source="folder"' in page("folder")
    (2, True)
    """
    block = ""
    if data:
        safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        block = f'<script type="application/json" id="data">{safe}</script>\n'
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n' if source else ""
    return (
        _PAGE.replace("{policy}", policy)
        .replace("{source}", f' data-source="{source}"' if source else "")
        .replace("{data}", block)
    )


def built_file(name: str) -> bytes | None:
    """A file of the page; None where it was not built."""
    path = files("facevalue.view").joinpath("static", name)
    return path.read_bytes() if path.is_file() else None
