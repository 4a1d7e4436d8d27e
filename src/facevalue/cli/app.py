"""Entry point: commands in groups, and user errors as one message instead of a traceback."""

import os
import sys

import click

from facevalue import __version__
from facevalue.cli.commands import ask, begin, check, gather, rate, read
from facevalue.cli.exits import Exit, exit_of
from facevalue.errors import FaceValueError, UnknownNameError
from facevalue.printable import printable

GROUPS = {
    "Begin": begin.COMMANDS,
    "Ask a model": ask.COMMANDS,
    "Read what it said": read.COMMANDS,
    "Have replies scored, sorted or rated": rate.COMMANDS,
    "Check runs, papers and the instrument": check.COMMANDS,
    "Pictures, corpora, scripts": gather.COMMANDS,
}
"""Commands by what a person does."""
_COMPLETE = "_FACEVALUE_COMPLETE"
"""Variable by which shells ask for completion."""
FIRST = (
    ("studies", "which studies there are, and what each needs"),
    ("plan STUDY", "what it costs, before anything is spent"),
    ("run STUDY --model MODEL", "ask; the same command goes on after a stop"),
    ("measure RUN", "estimates in the terminal"),
    ("report RUN", "a page to read and pass on"),
    ("demo", "all of this in minutes, without key or network"),
)
"""Commands to start with, shown where none is given."""


class _Grouped(click.Group):
    """Commands in the order and under the headings of `GROUPS`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name not in self.commands:
            raise UnknownNameError("command", cmd_name, self.commands)
        return self.commands[cmd_name]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, self.commands))
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                rows = [(str(command.name).ljust(widest), command.get_short_help_str(120)) for command in commands]
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> object:
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            sys.stdout = sys.stderr = open("/dev/null", "w")  # noqa: PTH123, SIM115 - nobody reads either any more
            sys.exit(Exit.PIPE_CLOSED)
        return status


@click.group(cls=_Grouped, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]},
             commands=[command for commands in GROUPS.values() for command in commands])  # fmt: skip
@click.version_option(__version__, prog_name="facevalue")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Audit social bias in vision-language models.

    \b
    facevalue plan stylisticbias --faces 60
    facevalue run stylisticbias --faces 60 --model http://127.0.0.1:8000/v1#NAME
    facevalue report runs/stylisticbias-NAME
    """  # noqa: D301 - a backspace, which click reads as "leave these lines as they are"
    if ctx.invoked_subcommand is None:
        formatter = ctx.make_formatter()
        with formatter.section("Audit social bias in vision-language models"):
            formatter.write_dl([(f"facevalue {command}", text) for command, text in FIRST], col_max=40)
        rest = f"{len(app.commands)} commands in all: facevalue --help. One of them: facevalue COMMAND --help."
        click.echo(printable(f"{formatter.getvalue()}\n{rest}"))


def main() -> None:
    """Run the command line; its exit statuses are those of `Exit`."""
    try:
        status = app(standalone_mode=False, prog_name="facevalue", complete_var=_COMPLETE)
    except FaceValueError as error:
        if _COMPLETE in os.environ:
            sys.exit(Exit.DONE)  # whoever completes a line has not finished it, and sees errors when it is given
        _fail(str(error), exit_of(error))
    except click.ClickException as error:
        error.show()
        sys.exit(Exit.USAGE)
    except (click.Abort, KeyboardInterrupt):
        _fail("Stopped.", Exit.INTERRUPTED)
    sys.exit(status if isinstance(status, int) else Exit.DONE)


def _fail(message: str, status: Exit) -> None:
    click.echo(printable(f"Error: {message}"), err=True)
    sys.exit(status)
