"""A command: options that are declared without importing what it does, and `--json`."""

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click

if TYPE_CHECKING:
    from facevalue.cli.exits import Exit
    from facevalue.cli.output import Document, Output

JSON = "as_json"


class Printing(click.Command):
    """A command whose action returns an `Output`, which is printed for people or as JSON.

    Parameters
    ----------
    name:
        As typed.
    action:
        "module:function" within `facevalue.cli`, imported when the command runs. The type that it returns, such as
        `Output[PlanDocument]`, is the command's schema.
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
        implementation: Callable[..., Output[Any]] = getattr(import_module(f"facevalue.cli.{module}"), function)
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
