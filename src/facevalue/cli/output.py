"""Output of commands: lines and tables for people, or one JSON document with `--json`; one writer for all commands."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import click
from rich.measure import measure_renderables
from rich.table import Table as RichTable

from facevalue import __version__
from facevalue.cli.command import Exit
from facevalue.printable import finite, printable
from facevalue.protocol.offers import OfferedTable

if TYPE_CHECKING:
    from rich.console import RenderableType


# Tables that studies make, in the terminal and as Markdown.


def rich_table(table: OfferedTable) -> RichTable:
    """A table of a study's, for the terminal."""
    rendered = RichTable(title=table.title, header_style="bold", caption=table.caption)
    if not table.boxed:
        rendered.box, rendered.pad_edge, rendered.padding = None, False, (0, 1, 0, 0)
        rendered.title_justify = rendered.caption_justify = "left"
    from facevalue.terminal import terminal  # noqa: PLC0415 - help needs nothing of it

    console, count = terminal(), len(table.columns)
    columns = zip(table.columns, *table.rows, strict=True)
    room = console.width - (3 * count + 1 if table.boxed else count - 1)
    sizes = [measure_renderables(console, console.options, cells) for cells in columns]
    limited = ([max(size.minimum, min(size.maximum, most)) for size in sizes] for most in range(room, 0, -1))
    widths = next((widths for widths in limited if sum(widths) <= room), [None] * count)  # no word is broken
    for i, name in enumerate(table.columns):  # nothing is cut: what is too long goes on below
        rendered.add_column(name, justify="right" if i else "left", overflow="fold", width=widths[i])
    for row in table.rows:
        rendered.add_row(*row)
    return rendered


def markdown_table(title: str, tables: Sequence[OfferedTable]) -> str:
    """Tables as a page of Markdown, each under a heading of its own.

    Examples
    --------
    >>> table = OfferedTable("Families", ("family", "false"), [("cues", "0.050")], "of audits")
    >>> print(markdown_table("Audits", [table]))
    # Audits
    <BLANKLINE>
    ## Families
    <BLANKLINE>
    | family | false |
    |---|---|
    | cues | 0.050 |
    <BLANKLINE>
    of audits
    <BLANKLINE>
    """
    lines = [f"# {title}", ""]
    for table in tables:
        rows = [table.columns, ("---",) * len(table.columns), *table.rows]
        written = ["| " + " | ".join(row) + " |" if row[0] != "---" else "|" + "|".join(row) + "|" for row in rows]
        lines += [f"## {table.title}", "", *written, "", *([table.caption, ""] if table.caption else [])]
    return "\n".join(lines)


@dataclass(frozen=True)
class Document:
    """Document that a command prints with `--json`: fields with types, each with its meaning below it.

    A subclass declares both the document and its schema (`facevalue schema COMMAND`). Names of fields stay; a change of
    meaning raises `VERSION`.
    """

    FORMAT: ClassVar[str]
    """Name of the document, such as "plan"."""
    VERSION: ClassVar[int] = 1


D_co = TypeVar("D_co", bound=Document, covariant=True)


@dataclass(frozen=True)
class Output(Generic[D_co]):
    """Result of a command.

    Attributes
    ----------
    document:
        The same for machines; a function where it is costly to make.
    text:
        Lines and tables for people, made when they are printed; not with `--json`.
    status:
        Exit status.
    warnings:
        Lines for stderr in any case.
    then:
        What goes on once all of it is printed, until it is interrupted, such as a server.
    """

    document: D_co | Callable[[], D_co]
    text: "Iterable[RenderableType]" = ()
    status: Exit = Exit.DONE
    warnings: Sequence[str] = ()
    then: Callable[[], None] | None = None


def write(output: Output[Document], *, as_json: bool) -> Exit:
    """Print what a command returns: results to stdout, warnings to stderr. Returns the exit status."""
    from facevalue.terminal import say, terminal  # noqa: PLC0415 - help needs nothing of it

    if as_json:
        document = output.document() if callable(output.document) else output.document
        click.echo(printable(to_json(document, output.warnings)))
    else:
        console = terminal()
        for item in output.text:
            if isinstance(item, str):
                say(item)  # as long as it is: what people copy is not broken
            else:
                console.print(item)
    for warning in output.warnings:
        say(warning, err=True)
    if output.then is not None:
        if sys.stdout is not None:
            sys.stdout.flush()
        output.then()
    return output.status


def to_json(document: Document, warnings: Sequence[str] = ()) -> str:
    """Write a document as JSON: numbers in full, what is not finite as null with its reason in `not_finite`.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Sizes(Document):
    ...     FORMAT = "sizes"
    ...     values: tuple[float, ...]
    >>> print(to_json(Sizes((0.1 + 0.2, math.inf))).replace(__version__, "1.0"))
    {
      "format": "facevalue-sizes",
      "version": 1,
      "facevalue": "1.0",
      "values": [
        0.30000000000000004,
        null
      ],
      "warnings": [],
      "not_finite": {
        "/values/1": "Infinity"
      }
    }
    """
    body = plain(document)
    content = {
        "format": f"facevalue-{document.FORMAT}",
        "version": document.VERSION,
        "facevalue": __version__,
        **body,
        "warnings": list(warnings),
    }
    reasons = dict(_not_finite(content, ""))
    return json.dumps({**finite(content), "not_finite": reasons}, indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """A value as JSON has it: dataclasses as objects, tuples as lists, times in ISO 8601."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    if hasattr(value, "item"):  # a number of NumPy's
        return value.item()
    return [plain(inner) for inner in value]


def _not_finite(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """JSON pointers to numbers that JSON cannot hold, with what they are."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _not_finite(inner, f"{place}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _not_finite(inner, f"{place}/{number}")
    elif isinstance(value, float) and not math.isfinite(value):
        yield place, "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


@dataclass(frozen=True)
class WrittenFiles(Document):
    """Files that a command wrote."""

    FORMAT: ClassVar[str] = "files"
    files: tuple[str, ...]
    """Paths, as given or relative to where the command ran."""
    rows: int | None = None
    """Rows of the table; null where what was written is no table."""
    then: str = ""
    """Command to give next; empty if none follows."""
