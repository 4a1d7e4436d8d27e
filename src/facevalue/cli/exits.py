"""Exit statuses: what a command's end means to a script, the same in all commands."""

from enum import IntEnum

from facevalue.errors import FaceValueError, ModelError, SettingError, UnknownNameError


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
