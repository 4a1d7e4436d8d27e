"""Terminal output: text from strangers can't control the terminal, in tables or messages."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass

import click
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.segment import Segment

from facevalue.printable import printable


def terminal(*, stderr: bool = False) -> Console:
    """Return a console whose text is `printable`; what `rich` itself writes to move or colour stays as it is."""
    out = Console(file=sys.stderr if stderr else None)
    out.push_render_hook(_Hook())
    return out


def say(text: str, *, err: bool = False) -> None:
    """Print a line of text."""
    click.echo(printable(text), err=err)


class _Hook(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Printable(renderable) for renderable in renderables]


@dataclass(frozen=True, slots=True)
class _Printable:
    """A renderable whose text is made printable once it is laid out."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _segments(console.render(self.inner, options))


def _segments(segments: Iterable[Segment]) -> Iterable[Segment]:
    for segment in segments:
        yield segment if segment.control else Segment(printable(segment.text), segment.style)
