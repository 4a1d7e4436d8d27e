"""Commands that take a study: each study's own settings become options, with help and suggestions."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from facevalue.errors import DataError
from facevalue.places import is_study_file
from facevalue.protocol.settings import Setting
from facevalue.studies import available, protocol
from facevalue.studies import names as study_names
from facevalue.types import OptionValue

Action = Callable[..., int | None]
_OF_STUDIES = {"max_tokens"}
"""Options that give way to a study's own setting of that name."""

_OUTSIDE = click.Option(
    ["--outside"],
    is_flag=True,
    expose_value=False,
    help="Let the study's file name files that are not below its own folder.",
)


class StudyGroup(click.Group):
    """One subcommand per study, with the study's settings as options beside those of the action."""

    def __init__(self, name: str, action: Action, common: Sequence[click.Parameter], help: str) -> None:
        super().__init__(name, help=help, subcommand_metavar="STUDY [OPTIONS]")
        self._action = action
        self._common = common

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the study's command. What its file may name is said after it, and holds before its options are known."""
        ctx.meta[_OUTSIDE.opts[0]] = _OUTSIDE.opts[0] in args
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all studies."""
        return study_names()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List studies with their titles, and why one is unavailable."""
        protocols, missing = available()
        lines = [(name, protocol.title) for name, protocol in protocols.items()]
        with formatter.section("Studies"):
            formatter.write_dl([*lines, *missing.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Make the study's command."""
        study = protocol(cmd_name, outside=bool(ctx.meta.get(_OUTSIDE.opts[0])))
        names = {setting.name for setting in study.settings}
        common = [param for param in self._common if param.name not in names & _OF_STUDIES]
        common += [_OUTSIDE] if is_study_file(cmd_name) else []
        options = {option.lstrip("-").replace("-", "_") for param in common for option in param.opts}
        if taken := sorted(names & options):
            raise DataError(f"No factor can be called {taken[0]!r}: {self.name} has an option --{taken[0]}. Rename it.")

        def callback(**values: Any) -> int | None:
            options: dict[str, OptionValue] = {name: values.pop(name) for name in names}
            return self._action(study, options, **values)

        params = [*common, *(_option(setting) for setting in study.settings)]
        return click.Command(cmd_name, params=params, callback=callback, help=f"{self.help}\n\n{study.title}")


def _option(setting: Setting) -> click.Option:
    kind: click.ParamType[Any] | type
    default: Any = setting.default
    if setting.choices:
        kind = click.Choice(setting.choices)
    elif isinstance(default, list):
        kind, default = _NameList(), ",".join(default)
    else:
        kind = type(default)
    return click.Option(
        [f"--{setting.name.replace('_', '-')}", setting.name],
        type=None if kind is bool else kind,
        is_flag=kind is bool,
        default=default,
        show_default=bool(default) or (isinstance(default, int | float) and kind is not bool),
        help=setting.help,
    )


class _NameList(click.ParamType[list[str]]):
    """A list of names, separated by commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        if isinstance(value, list):
            return value
        return [name.strip() for name in str(value).split(",") if name.strip()]
