"""Entry point: commands in groups, and user errors as one message instead of a traceback."""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import combinations
from keyword import iskeyword
from pathlib import Path
from typing import Any, TextIO, cast

import click

from facevalue import __version__
from facevalue.cli.command import Exit, exit_of
from facevalue.errors import FaceValueError, UnknownNameError
from facevalue.printable import first_line, printable

# Standard output and standard error of a command, watched: what cannot be printed is one sentence.


class OutputError(Exception):
    """Something that could not be printed; its cause is the error of the system."""

    @property
    def is_pipe_closed(self) -> bool:
        """True if the program that read the output ended first, as `head` does."""
        return isinstance(self.__cause__, BrokenPipeError)

    @property
    def reason(self) -> str:
        """The reason, in the words of the system."""
        return str(getattr(self.__cause__, "strerror", None) or self.__cause__)


class WatchedStream:
    """A stream whose errors are told apart from all others.

    `is_vital`: whether a command fails where this cannot be printed. Nobody can be told that standard error is full,
    and a run is not to end for want of its progress.
    """

    def __init__(self, stream: TextIO, *, is_vital: bool) -> None:
        self._stream = stream
        self._is_vital = is_vital
        self._failure: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the stream."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text."""
        with self._watch_failures():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is waiting."""
        with self._watch_failures():
            self._stream.flush()

    def silence(self) -> None:
        """Drop what is waiting and all that follows, so that the end of the process has no error of its own."""
        with contextlib.suppress(OSError, ValueError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self._stream.fileno())
            os.close(nothing)

    @contextlib.contextmanager
    def _watch_failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._failure = error
            self.silence()
        if self._failure is not None and (self._is_vital or isinstance(self._failure, BrokenPipeError)):
            raise OutputError from self._failure  # also of all that follows: Click tries a stream before it prints


@contextlib.contextmanager
def watched_streams() -> Iterator[None]:
    """Watch standard output and standard error; what was printed has arrived where this ends.

    Raises
    ------
    OutputError
        Something could not be printed.
    """
    plain = sys.stdout, sys.stderr
    watched = [
        None if stream is None else WatchedStream(stream, is_vital=is_vital)
        for stream, is_vital in zip(plain, (True, False), strict=True)
    ]
    sys.stdout, sys.stderr = (cast(TextIO, stream) for stream in watched)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = plain
        for stream in filter(None, watched):
            stream.flush()


GROUPS = {
    "Audit a model": (
        "audits",
        {
            "audit": "Ask a model all studies within one budget, and report.",
        },
    ),
    "Begin": (
        "studies",
        {
            "studies": "List the studies.",
            "new": "Write a file to start your own study from.",
            "manifest": "List your own pictures for a study, and check the list.",
            "plan": "Show what a study costs before anything is spent.",
            "demo": "Run a whole audit without key or network.",
        },
    ),
    "Make pictures": (
        "studies",
        {
            "make": "Make the pictures of a study to order.",
            "inspect-pictures": "Check what pictures show, and what their editor changed besides.",
        },
    ),
    "Ask a model": (
        "audits",
        {
            "run": "Ask a model; the same command resumes a run that was stopped.",
            "status": "Show how far a run is, and which process runs it.",
            "fetch": "Bring a run from object storage into a folder.",
            "requests": "Write a study's requests as files for a batch.",
            "import": "Make a run folder of answers that another tool asked for.",
        },
    ),
    "Read what it said": (
        "results",
        {
            "measure": "Estimate from a run's answers.",
            "report": "Write the report of one or several runs.",
            "profile": "Set side by side what several studies say of the same groups.",
            "compare": "Compare runs cell by cell, and say which answers flipped.",
            "trend": "Say what changed over the dates of runs.",
            "view": "Look at runs in the browser, down to each picture and reply.",
            "show": "Show one trial: what was shown and asked, and every reply.",
            "export": "Write one wide table of every answer.",
            "pack": "Pack what an audit rests on, to hand it on.",
            "attention": "Show where a local model looks when it answers.",
        },
    ),
    "Have replies scored, sorted or rated": (
        "results",
        {
            "annotate": "Have a scorer score open replies, such as for hostility.",
            "judge": "Have a model sort texts that no rule sorts.",
            "review": "Have people review replies, pictures or findings.",
        },
    ),
    "Check runs, papers and the instrument": (
        "checks",
        {
            "gate": "Check runs against limits; the exit code says pass, fail or undecided.",
            "verify": "Check that run folders hold what was written.",
            "reproduce": "Recompute published figures, cell by cell.",
            "calibrate": "Audit answers whose bias is known.",
        },
    ),
    "Pictures, corpora, installation, scripts": (
        "checks",
        {
            "corpus": "Count gender words beside occupations in a training corpus.",
            "doctor": "Say what is installed, what a GPU allows, what is missing.",
            "schema": "Print the JSON Schema of a command's --json.",
        },
    ),
}
"""Commands by what a person does: a module of `facevalue.cli.commands`, and what each command does, in a line."""
_MODULES = {name: module for module, commands in GROUPS.values() for name in commands}
_LINES = {name: line for _, commands in GROUPS.values() for name, line in commands.items()}
_COMPLETE = "_FACEVALUE_COMPLETE"
"""Variable by which shells ask for completion."""
FIRST = (
    ("audit --model MODEL", "all studies, one budget, one report"),
    ("studies", "the studies, and what each needs"),
    ("plan STUDY", "its cost, before anything is spent"),
    ("run STUDY --model MODEL", "ask; the same command resumes"),
    ("measure RUN", "estimates in the terminal"),
    ("report RUN", "a page to read and pass on"),
    ("demo", "all of this, without key or network"),
)
"""Commands to start with, shown where none is given."""


class _Grouped(click.Group):
    """Imports a command when it is asked for, so that --help and errors come at once."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name not in _MODULES:
            raise UnknownNameError("command", cmd_name, _MODULES)
        module = import_module(f"facevalue.cli.commands.{_MODULES[cmd_name]}")
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(module, f"{name}_" if iskeyword(name) else name)
        command.short_help = _LINES[cmd_name]
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, _MODULES))
        for heading, (_, commands) in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), line) for name, line in commands.items()])


@click.group(cls=_Grouped, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
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
        rest = f"{len(_MODULES)} commands in all: facevalue --help. One of them: facevalue COMMAND --help."
        click.echo(printable(f"{formatter.getvalue()}\n{rest}"))


def main() -> None:
    """Run the command line; its exit statuses are those of `Exit`."""
    try:
        with watched_streams():
            _run()
    except OutputError as error:
        if error.is_pipe_closed:
            sys.exit(Exit.PIPE_CLOSED)
        with suppress(OutputError), watched_streams():  # standard error may be full as well
            _fail(f"What the command says cannot be printed: {error.reason}.", Exit.REFUSED)


def _run() -> None:
    if _COMPLETE in os.environ:
        import_module("facevalue.cli.completion")
    try:
        status = app(standalone_mode=False, prog_name="facevalue", complete_var=_COMPLETE)
    except FaceValueError as error:
        if _COMPLETE in os.environ:
            sys.exit(Exit.DONE)  # whoever completes a line has not finished it, and sees errors when it is given
        _fail(f"{error}{_suggest_quotes(sys.argv[1:])}", exit_of(error))
    except click.ClickException as error:
        error.show()
        if hint := _suggest_quotes(sys.argv[1:]):
            click.echo(printable(hint.strip()), err=True)
        sys.exit(Exit.USAGE)
    except (click.Abort, KeyboardInterrupt):
        _fail("Stopped.", Exit.INTERRUPTED)
    except OSError as error:  # of this machine, such as a full disk: what each step can say of its own, it has said
        _fail(f"The command cannot go on: {first_line(error)}.", Exit.REFUSED)
    sys.exit(status if isinstance(status, int) else Exit.DONE)


_LONGEST_NAME = 200
"""Characters of a path that is looked for; systems refuse longer names."""


def _suggest_quotes(words: Sequence[str]) -> str:
    """Sentence on a file whose name has blanks and was given as several words; empty where there is none."""
    for first, last in combinations(range(len(words) + 1), 2):
        name = " ".join(words[first:last])
        if (
            " " in name
            and len(name) <= _LONGEST_NAME
            and Path(name).exists()
            and not any(Path(word).exists() for word in words[first:last])
        ):
            return f" A name with blanks needs quotes: '{name}'."
    return ""


def _fail(message: str, status: Exit) -> None:
    click.echo(printable(f"Error: {message}"), err=True)
    sys.exit(status)
