"""A command, with options that are declared without importing what it does, `--json` and exit statuses."""

import inspect
from collections.abc import Callable, Sequence
from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click

from facevalue.errors import FaceValueError, ModelError, SettingError, UnknownNameError

if TYPE_CHECKING:
    from facevalue.cli.output import Document, Output

JSON = "as_json"


class Printing(click.Command):
    """A command whose action returns an `Output`, which is printed for people or as JSON.

    Parameters
    ----------
    name:
        As typed.
    action:
        "module:function" within `facevalue.cli.actions`, imported when the command runs. The type that it returns,
        such as `Output[PlanDocument]`, is the command's schema.
    params, help:
        As of `click.Command`. `help` may be a function where it takes imports.
    bound:
        Arguments that precede those of the command line.
    """

    def __init__(
        self,
        name: str,
        action: str,
        params: Sequence[click.Parameter] = (),
        help: str | Callable[[], str] = "",
        bound: Sequence[Any] = (),
        **more: Any,
    ) -> None:
        self._action, self._bound, self._help = action, bound, help
        printed = click.Option(["--json", JSON], is_flag=True, help="Print one JSON document.")
        text = help if isinstance(help, str) else None
        super().__init__(name, params=[*params, printed], callback=self._act, help=text, **more)

    def action(self) -> "Callable[..., Output[Any]]":
        """Import what the command does."""
        module, _, function = self._action.partition(":")
        implementation: Callable[..., Output[Any]] = getattr(import_module(f"facevalue.cli.actions.{module}"), function)
        return implementation

    def documents(self) -> "tuple[type[Document], ...]":
        """Types of the documents that the command prints with `--json`."""
        (returned,) = get_args(get_type_hints(self.action())["return"])
        return get_args(returned) or (returned,)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option that takes one value and is given several: all but the last would be ignored."""
        options = args[: args.index("--")] if "--" in args else args
        single = (o for o in self.params if isinstance(o, click.Option) and not (o.multiple or o.is_flag))
        for option in () if ctx.resilient_parsing else single:
            count = sum(argument in option.opts or argument.partition("=")[0] in option.opts for argument in options)
            if count > 1:
                takes = "several values separated by commas" if option.type.name == "names" else "one value"
                raise click.UsageError(f"{option.opts[-1]} is given {count} times: give it once, with {takes}.", ctx)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help, made now where it takes imports."""
        if callable(self._help):
            self.help = inspect.cleandoc(self._help())
        super().format_help_text(ctx, formatter)

    def _act(self, **values: Any) -> "Exit":
        from facevalue.cli.output import write  # noqa: PLC0415 - help needs nothing of it

        as_json = values.pop(JSON)
        return write(self.action()(*self._bound, **values), as_json=as_json)


class Exit(IntEnum):
    """Exit status of a command; docs/reference/command-line.md has the table."""

    DONE = 0
    """All was done, and nothing speaks against it."""
    REFUSED = 1
    """A check says no, nothing is measurable, or a file, run folder or installation cannot be used as it is."""
    USAGE = 2
    """The command line is wrong: an option, a name, or settings that do not go together."""
    INCOMPLETE = 3
    """Answers are missing: the model cannot be asked, requests failed, or a limit was reached."""
    BEYOND = 3
    """Of `gate`: something lies beyond its limit."""
    UNDECIDED = 4
    """Of `gate`: not measurable, or not enough data to tell; nothing lies beyond."""
    INTERRUPTED = 130
    """Ctrl-C or SIGTERM; the same command goes on."""
    PIPE_CLOSED = 141
    """The program that read the output ended first, as `head` does."""


def exit_of(error: FaceValueError) -> Exit:
    """Exit status of a command that ends with an error.

    Examples
    --------
    >>> exit_of(SettingError("--root without --manifest")).name, exit_of(ModelError("no answer")).name
    ('USAGE', 'INCOMPLETE')
    """
    if isinstance(error, UnknownNameError | SettingError):
        return Exit.USAGE
    return Exit.INCOMPLETE if isinstance(error, ModelError) else Exit.REFUSED
