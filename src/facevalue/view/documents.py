"""Documents of the viewer by their addresses, and how they become JSON: the one gate that makes all texts printable."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from facevalue.errors import UnknownNameError
from facevalue.printable import printable, short
from facevalue.view import answers, cell, compared_answers, estimates, missing, profile, reviews, trial
from facevalue.view.head import head, lead
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
    "head": DocumentKind(lambda runs, _: head(runs)),
    "lead": DocumentKind(lambda runs, query: lead(runs.state_of_run(query.text("run"))), ("run",)),
    "profile": DocumentKind(lambda runs, _: profile.profile(runs)),
    "estimates": DocumentKind(_of_run(estimates.estimates), estimates.QUERY, ("L.",)),
    "cell": DocumentKind(_of_run(cell.cell), cell.QUERY),
    "answers": DocumentKind(_of_run(answers.answers), answers.QUERY, ("F.",)),
    "trial": DocumentKind(_of_run(trial.trial), trial.QUERY),
    "missing": DocumentKind(lambda runs, query: missing.missing(runs.state_of_run(query.text("run"))), missing.QUERY),
    "reviews": DocumentKind(_of_run(reviews.reviews), reviews.QUERY),
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
