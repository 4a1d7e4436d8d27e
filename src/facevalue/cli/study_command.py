"""Commands that take a study: each study's own settings become options, with help and suggestions."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from facevalue.cli import completion
from facevalue.cli.command import Printing
from facevalue.cli.params import PATH_TEXT, NameList

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from facevalue.cli.command import Exit
    from facevalue.cli.output import Document
    from facevalue.protocol.settings import Setting

_OF_STUDIES = {"max_tokens"}
"""Options that give way to a study's own setting of that name."""

_OUTSIDE = click.Option(
    ["--outside"],
    is_flag=True,
    expose_value=False,
    help="Let the study's file name files that are not below its own folder.",
)


class StudyGroup(click.Group):
    """One subcommand per study, with the study's settings as options beside those of the action.

    `action`: as of `Printing`; called with the protocol, the settings and the common options. `common`: makes these.
    `making`: whether the settings are those of what the study has made, and only studies that have some are listed.
    """

    def __init__(
        self,
        name: str,
        action: str,
        common: Callable[[], Sequence[click.Parameter]],
        help: str,
        *,
        making: bool = False,
    ) -> None:
        super().__init__(name, help=help, subcommand_metavar="STUDY [OPTIONS]")
        self._action = action
        self._common = common
        self._making = making

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the study's command. What its file may name is said after it, and holds before its options are known."""
        ctx.meta[_OUTSIDE.opts[0]] = _OUTSIDE.opts[0] in args
        return super().resolve_command(ctx, args)

    def documents(self) -> "tuple[type[Document], ...]":
        """Types of the documents that the command prints with `--json`."""
        return Printing(self.name or "", self._action).documents()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all studies."""
        from facevalue.studies import names  # noqa: PLC0415 - the list of commands needs no studies
        from facevalue.studies.offers import offering  # noqa: PLC0415

        return list(offering("make")) if self._making else names()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List studies with their titles, and why one is unavailable."""
        from facevalue.studies import available  # noqa: PLC0415

        listed, missing = available()
        lines = [(name, study.title) for name, study in listed.items() if study.extras.making or not self._making]
        if not lines:
            return
        with formatter.section("Studies"):
            formatter.write_dl([*lines, *missing.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Make the study's command."""
        from facevalue.errors import DataError, error_place  # noqa: PLC0415
        from facevalue.places import is_study_file  # noqa: PLC0415
        from facevalue.studies import protocol  # noqa: PLC0415

        study = protocol(cmd_name, outside=bool(ctx.meta.get(_OUTSIDE.opts[0])))
        settings, about = study.settings, study.title
        if self._making:
            from facevalue.studies.offers import making_of  # noqa: PLC0415 - it needs Polars

            making = making_of(study)
            settings, about = making.settings, making.about
        names = {setting.name for setting in settings}
        common = [param for param in self._common() if param.name not in names & _OF_STUDIES]
        common += [_OUTSIDE] if is_study_file(cmd_name) else []
        options = {option.lstrip("-").replace("-", "_") for param in common for option in param.opts}
        if taken := sorted(names & options):
            with error_place(next((place for ask in study.asks.values() if (place := ask.place_of(taken[0]))), "")):
                raise DataError(
                    f"No factor can be called {taken[0]!r}: {self.name} has an option --{taken[0]}. Rename it."
                )
        params = [*common, *map(_option, settings)]
        command = _StudyCommand(cmd_name, self._action, params, f"{self.help}\n\n{about}", bound=(study,))
        command.names = [setting.name for setting in settings]
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete names of studies, none of which is imported, and files of one's own."""
        options = [] if incomplete and incomplete[0].isalnum() else click.Command.shell_complete(self, ctx, incomplete)
        return options + completion.studies(incomplete)


class _StudyCommand(Printing):
    """A command of one study, whose settings are given to the action together."""

    names: Sequence[str] = ()
    """Of the settings."""

    def _act(self, **values: Any) -> "Exit":
        settings = {name: values.pop(name) for name in self.names}
        return super()._act(options=settings, **values)


def _option(setting: "Setting") -> click.Option:
    kind: click.ParamType[Any] | type
    default: Any = setting.default
    if setting.choices:
        kind = click.Choice(setting.choices)
    elif isinstance(default, list):
        kind, default = NameList(setting.levels), ",".join(default)
    else:
        kind = PATH_TEXT if default == "" else type(default)  # what is empty by default is a file or folder
    return click.Option(
        [f"--{setting.name.replace('_', '-')}", setting.name],
        type=None if kind is bool else kind,
        is_flag=kind is bool,
        default=default,
        show_default=bool(default) or (isinstance(default, int | float) and kind is not bool),
        help=setting.help,
    )
