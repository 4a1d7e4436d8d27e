"""Entry point: commands, and user errors as one message instead of a traceback."""

import sys
from importlib import import_module

import click

from facevalue import __version__
from facevalue.errors import FaceValueError, SettingError, UnknownNameError
from facevalue.printable import printable

_COMMANDS = {
    "studies": ("facevalue.cli.studies:studies", "List the studies."),
    "new": ("facevalue.cli.new:new", "Write a file to start your own study from."),
    "manifest": ("facevalue.cli.manifest:manifest", "List your own pictures for a study, and check the list."),
    "plan": ("facevalue.cli.plan:plan", "Show what a study costs before anything is spent."),
    "run": ("facevalue.cli.run:run", "Ask a model; the same command resumes a run that was stopped."),
    "status": ("facevalue.cli.status:status", "Show how far a run is, and which process runs it."),
    "measure": ("facevalue.cli.results:measure", "Estimate from a run's answers."),
    "report": ("facevalue.cli.results:report", "Write the report of one or several runs."),
    "fetch": ("facevalue.cli.fetch:fetch", "Bring a run from object storage into a folder."),
    "verify": ("facevalue.cli.verify:verify", "Check that run folders hold what was written."),
    "export": ("facevalue.cli.results:export", "Write one wide table of every answer."),
    "compare": ("facevalue.cli.compare:compare", "Compare two runs of a study cell by cell."),
    "prompts": ("facevalue.cli.prompts:prompts", "Write the image prompts of a study."),
    "scenes": ("facevalue.cli.scenes:scenes", "Check folders of scenes for people."),
    "corpus": ("facevalue.cli.corpus:corpus", "Count gender words beside occupations in a training corpus."),
    "calibrate": ("facevalue.cli.calibrate:calibrate", "Audit models whose bias is known."),
    "questionnaire": ("facevalue.cli.questionnaire:questionnaire", "Have people rate what forms associate."),
    "attention": ("facevalue.cli.attention:attention", "Show where a local model looks when it answers."),
    "annotate": ("facevalue.cli.annotate:annotate", "Have a scorer score open replies, such as for hostility."),
    "judge": ("facevalue.cli.judge:judge", "Have a model sort texts that no rule sorts."),
    "reproduce": ("facevalue.cli.reproduce:reproduce", "Recompute published figures, cell by cell."),
    "demo": ("facevalue.cli.demo:demo", "Run a whole audit without key or network."),
}


class _Lazy(click.Group):
    """Imports a command when it is asked for, so that --help and errors come at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name not in _COMMANDS:
            raise UnknownNameError("command", cmd_name, _COMMANDS)
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="facevalue")
def app() -> None:
    """Audit social bias in vision-language models.

    \b
    facevalue plan stylisticbias --faces 60
    facevalue run stylisticbias --faces 60 --model http://127.0.0.1:8000/v1#NAME
    facevalue report runs/stylisticbias-NAME
    """  # noqa: D301 - a backspace, which click reads as "leave these lines as they are"


def main() -> None:
    """Run the command line; exit 0 if all went well, 1 for a problem with the data or model, 2 for wrong usage."""
    try:
        status = app(standalone_mode=False)
    except (UnknownNameError, SettingError) as error:
        _fail(str(error), 2)
    except FaceValueError as error:
        _fail(str(error), 1)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("Stopped.", 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str, code: int) -> None:
    click.echo(printable(f"Error: {message}"), err=True)
    sys.exit(code)
