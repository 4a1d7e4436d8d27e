"""`facevalue schema`: JSON Schemas of what commands print with `--json`, from the types that declare it."""

import ast
import inspect
import json
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click

from facevalue.cli.command import Printing
from facevalue.cli.output import Document
from facevalue.cli.params import StudyGroup
from facevalue.errors import UnknownNameError
from facevalue.printable import printable

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SIMPLE = {str: "string", bool: "boolean", int: "integer", float: "number", Path: "string", types.NoneType: "null"}
Scalar = str | int | float | bool | None
"""A cell of a table."""
Row = Mapping[str, Scalar]
"""A row of a table whose columns depend on the study."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows of a table of Polars' whose columns are declared elsewhere; each may be null."""

    declared: str
    """Where a mapping of names to types is, as "module:name"."""
    besides: type
    """Dataclass of what a row holds besides."""

    def properties(self) -> dict[str, Any]:
        """Schema of each column."""
        module, _, name = self.declared.partition(":")
        columns = getattr(import_module(module), name)
        return {column: {"type": [_column(dtype), "null"]} for column, dtype in columns.items()}


def _column(dtype: Any) -> str:
    if dtype.is_float():
        return "number"
    return "integer" if dtype.is_integer() else "boolean" if str(dtype) == "Boolean" else "string"


def schema(documents: Sequence[type[Document]]) -> dict[str, Any]:
    """JSON Schema of a command's documents.

    Examples
    --------
    >>> from facevalue.cli.output import WrittenFiles
    >>> schema([WrittenFiles])["properties"]["rows"]["type"]
    ['integer', 'null']
    """
    schemas = [_document(document) for document in documents]
    return {"$schema": DIALECT, **(schemas[0] if len(schemas) == 1 else {"anyOf": schemas})}


def _document(document: type[Document]) -> dict[str, Any]:
    out = of_type(document)
    head = {
        "format": {"const": f"facevalue-{document.FORMAT}", "description": "Which document this is."},
        "version": {"const": document.VERSION, "description": "Raised when a field changes its meaning."},
        "facevalue": {"type": "string", "description": "Version of FaceValue that wrote it."},
    }
    tail = {
        "warnings": {"type": "array", "items": {"type": "string"}, "description": "The same lines as on stderr."},
        "not_finite": {
            "type": "object",
            "additionalProperties": {"enum": ["NaN", "Infinity", "-Infinity"]},
            "description": "JSON pointers to numbers that are null above, as JSON has no such numbers.",
        },
    }
    properties = {**head, **out["properties"], **tail}
    return {**out, "properties": properties, "required": list(properties)}


def of_type(declared: Any) -> dict[str, Any]:
    """JSON Schema of a type: of a dataclass an object that has all of its fields and no others."""
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        columns: Columns = arguments[1]
        row = _object(columns.besides)
        properties = {**row["properties"], **columns.properties()}
        return {"type": "array", "items": {**row, "properties": properties, "required": list(properties)}}
    if declared is Any:
        return {}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return _union([of_type(member) for member in arguments])
    if isinstance(declared, type) and issubclass(declared, Enum):
        return {"enum": [member.value for member in declared]}
    if declared is datetime:
        return {"type": "string", "format": "date-time"}
    if declared in _SIMPLE:
        return {"type": _SIMPLE[declared]}
    if is_dataclass(declared):
        return _object(declared)
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": of_type(arguments[1])}
    if origin is tuple and Ellipsis not in arguments:
        items = [of_type(member) for member in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin is not None:
        return {"type": "array", "items": of_type(arguments[0])}
    raise TypeError(f"{declared!r} has no JSON Schema.")


def _union(members: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if all(list(member) == ["type"] for member in members):
        return {"type": [member["type"] for member in members]}
    return {"anyOf": list(members)}


def _object(declared: Any) -> dict[str, Any]:
    hints, meanings = get_type_hints(declared, include_extras=True), field_meanings(declared)
    properties = {}
    for field in fields(declared):
        properties[field.name] = of_type(hints[field.name])
        if field.name in meanings:
            properties[field.name]["description"] = meanings[field.name]
    return {
        "type": "object",
        "description": (inspect.getdoc(declared) or "").partition("\n\n")[0],
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def field_meanings(declared: type) -> dict[str, str]:
    """The docstring below each field of a dataclass, and of those that it is made from.

    Examples
    --------
    >>> from facevalue.cli.output import WrittenFiles
    >>> field_meanings(WrittenFiles)["then"]
    'Command to give next; empty if none follows.'
    """
    out: dict[str, str] = {}
    for base in declared.__bases__:
        if is_dataclass(base):
            out |= field_meanings(base)
    try:
        (body,) = ast.parse(dedent(inspect.getsource(declared))).body
    except (OSError, TypeError):
        return out
    assert isinstance(body, ast.ClassDef)
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _is_text(below):
            out[field.target.id] = " ".join(str(below.value.value).split())  # type: ignore[attr-defined]
    return out


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def print_schema(command: Sequence[str]) -> None:
    """Print the schema of a command, or which commands have one."""
    commands = dict(printing_commands())
    if not command:
        click.echo(printable("\n".join(commands)))
        return
    name = " ".join(command)
    if name not in commands:
        raise UnknownNameError("command", name, commands)
    click.echo(printable(json.dumps(schema(commands[name].documents()), indent=2)))


def printing_commands() -> Iterator[tuple[str, Printing | StudyGroup]]:
    """Commands that print a document, by what is typed."""
    from facevalue.cli.app import app  # noqa: PLC0415 - it imports `facevalue schema`

    yield from _list_commands(app, "")


def _list_commands(group: click.Group, before: str) -> Iterator[tuple[str, Printing | StudyGroup]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, Printing | StudyGroup):
            yield before + name, command
        elif isinstance(command, click.Group):
            yield from _list_commands(command, f"{before}{name} ")
