"""Kinds of arguments, checked as soon as they are typed, and options that several commands share.

Of commands that take a study, its own settings become options, with help and suggestions.
"""

from collections.abc import Callable, Iterable, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from facevalue.arguments import split_names
from facevalue.cli import completion
from facevalue.cli.command import Printing

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from facevalue.cli.command import Exit
    from facevalue.cli.output import Document
    from facevalue.protocol.settings import Setting


class RunPlace(click.ParamType[Path | str]):
    """A run's folder, or its URL as it was typed."""

    name = "run"

    def convert(self, value: Path | str, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        """Tell a folder from a URL."""
        return place(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Complete run folders."""
        return completion.runs(incomplete)


class PicturesPlace(RunPlace):
    """Pictures: a folder or list, or its URL as it was typed."""

    name = "pictures"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Complete files and folders."""
        return completion.files(incomplete)


class RunFolder(RunPlace):
    """The folder of a run that is written into."""

    def convert(self, value: Path | str, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Refuse a URL."""
        if isinstance(place(value), str):
            from facevalue.errors import SettingError  # noqa: PLC0415 - help needs nothing of it

            raise SettingError(
                f"{value} is in object storage, and this command writes into a run folder: 'facevalue fetch {value} "
                "--out FOLDER' brings the run into one."
            )
        return Path(value)


class NumberWithin(click.FloatRange):
    """A number within bounds; what is not a number is compared with them as if it lay within."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Refuse NaN."""
        amount: float = super().convert(value, param, ctx)
        return self.fail(f"{value} is no number.", param, ctx) if isnan(amount) else amount


class _Text(click.ParamType[str]):
    """A text that the shell may complete."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)


class NamedRun(_Text):
    """RUN, or LABEL=RUN to call it by another name."""

    name = "run"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Complete run folders, after a label too."""
        label, separator, folder = incomplete.partition("=")
        if not separator:
            return completion.runs(incomplete)
        return completion.runs(folder, before=f"{label}=")


class StudyName(_Text):
    """A study: its name, or the file of one's own.

    Parameters
    ----------
    offers:
        Command that the study must offer; any study where it is empty.
    examples:
        Whether the examples that come with FaceValue are meant, too.
    """

    name = "study"

    def __init__(self, offers: str = "", *, examples: bool = False) -> None:
        self._offers, self._examples = offers, examples

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Complete names of studies and files."""
        return completion.studies(incomplete, self._offers, examples=self._examples)


class Completed(_Text):
    """A text of one kind, such as a model to ask.

    Parameters
    ----------
    name:
        What it is called in help.
    complete:
        From what is typed to what it may become.
    """

    def __init__(self, name: str, complete: "Callable[[str], list[CompletionItem]]") -> None:
        self.name, self._complete = name, complete

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Complete what is typed."""
        return self._complete(incomplete)


MODEL = Completed("model", completion.models)
"""A model to ask."""
STUDY_NAMES = Completed("studies", completion.study_list)
"""Several studies, separated by commas."""
GENERATOR = Completed("generator", completion.generators)
"""A generator of pictures."""
SCORER = Completed("scorer", completion.scorers)
"""A scorer of texts."""
INTERVENTION = Completed("intervention", completion.interventions)
"""An intervention: its name, or a file."""
PATH_TEXT = Completed("text", completion.files)
"""A text that may be a path."""


class MeasureName(_Text):
    """A measure of the study of a run."""

    name = "measure"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Complete the measures that the estimates of the first run name."""
        return completion.measures(incomplete, ctx.params.get("runs") or ctx.args)


class CommandName(_Text):
    """A command of FaceValue's."""

    name = "command"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Complete names of commands."""
        root = ctx.find_root()
        assert isinstance(root.command, click.Group)
        return completion.starting(root.command.list_commands(root), incomplete)


class NameList(click.ParamType[list[str]]):
    """A list of names, separated by commas.

    Parameters
    ----------
    levels:
        Names that it may hold, as far as they are known; or a function that reads them.
    """

    name = "names"

    def __init__(self, levels: tuple[str, ...] | Callable[[], Iterable[str]] = ()) -> None:
        self._levels = levels

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Read a list."""
        if isinstance(value, list):
            return value
        return split_names(str(value), self._levels)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Complete the last name of the list."""
        before, comma, last = incomplete.rpartition(",")
        chosen = before.split(",")
        levels = self._levels() if callable(self._levels) else self._levels
        names = [name for name in levels if name not in chosen]
        return completion.starting(names, last, before + comma)


def place(text: Path | str) -> Path | str:
    """A folder, or a URL."""
    from facevalue.places import folder_or_url  # noqa: PLC0415 - help needs nothing of it

    return folder_or_url(text)


SAMPLE = click.Option(["--sample"], type=click.IntRange(1), help="Ask about this many requests only; all by default.")
SAMPLE_SEED = click.Option(
    ["--sample-seed", "seed"],
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Which sample, and in which order it is asked. (--seeds: seeds that replies are drawn with.)",
)
EXACT = click.Option(
    ["--exact"], is_flag=True, help="Read option probabilities instead of sampling; each prompt is asked once."
)
WITH = click.Option(
    ["--with", "interventions"],
    type=INTERVENTION,
    multiple=True,
    metavar="NAME|FILE.toml",
    help="Ask everything a second time with this intervention, and report the change: no-image, blank-image, cipher, "
    "sr, debiasing, or your own from a file. May be given several times.",
)
PRICES = (
    click.Option(["--price-in"], type=NumberWithin(0), help="Price per million prompt tokens."),
    click.Option(["--price-out"], type=NumberWithin(0), help="Price per million reply tokens."),
)
SIGHT = click.Option(
    ["--no-sight-check", "sight"], is_flag=True, flag_value=False, default=True,
    help="Do not ask the model first about a few pictures made on the spot (12 requests, once), which tell whether it "
    "sees what it is shown.",
)  # fmt: skip
STOP_WHEN = click.Option(
    ["--stop-when"],
    metavar="RULE",
    help='Stop once enough is known: "decided" (each comparison that leads is found, or equivalent within the margin) '
    'or "width<0.02" (their intervals are narrower). Intervals and tests are then those that hold however often one '
    "looks.",
)
REFUSAL_WORDS = click.Option(
    ["--refusal-words"],
    multiple=True,
    metavar="TEXT",
    help="Your own words for a refusal: a reply or an error that holds TEXT is a refusal. May be given several times.",
)
CLUSTER = (
    click.Option(
        ["--cluster"],
        metavar="ADDRESS",
        help="Have a Ray cluster ask: auto, ray://HOST:PORT, HOST:PORT, or local for one of its own.",
    ),
    click.Option(
        ["--cluster-config"],
        type=click.Path(path_type=Path, dir_okay=False),
        help="A TOML file: workers = [FEWEST, MOST], gpus and cpus of each, runtime_env and more.",
    ),
)
MARGIN = click.Option(
    ["--margin"],
    multiple=True,
    metavar="MEASURE=SIZE",
    help="Largest difference that would not matter (shift=0.02), if none was declared before the run.",
)
PICTURES = click.Option(
    ["--pictures"],
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="FOLDER",
    help="Folder with your own pictures; the path stored in the run folder is not trusted.",
)


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
