"""Gate as annotations of GitHub Actions: a line per limit that is not kept, at its line of the file of limits."""

from collections.abc import Iterator

from facevalue.limits.gated import Gate
from facevalue.limits.wording import cell_lines, conclusion
from facevalue.measures.verdicts import LimitOutcome
from facevalue.printable import printable

MOST_CELLS = 5
"""Estimates that an annotation names; the worst first."""


def annotations(gate: Gate, path: str = "") -> Iterator[str]:
    """Commands that GitHub Actions reads from the output of a step.

    Limits that are passed by, or cannot be decided, are errors; what else must be known is a notice.

    Parameters
    ----------
    path:
        The file of limits, relative to the repository.
    """
    for result in gate.results:
        if result.outcome == LimitOutcome.WITHIN:
            continue
        lines = [f"{result.limit.name}: {conclusion(result)}", *cell_lines(result, MOST_CELLS)]
        yield _command("error", "\n".join(lines), path, result.limit.line, f"FaceValue: {result.outcome}")
    for note in gate.notes:
        yield _command("notice", note, "", 0, "FaceValue")


def _command(kind: str, message: str, path: str, line: int, title: str) -> str:
    """A command, as the runner of GitHub Actions parses it: values and message are escaped, each in its way."""
    places = {"file": path, "line": str(line) if line and path else "", "title": title}
    properties = ",".join(f"{name}={_property(value)}" for name, value in places.items() if value)
    return f"::{kind} {properties}::{_data(message)}"


def _data(text: str) -> str:
    r"""A message.

    Examples
    --------
    >>> _data("100% of\n::error::x")
    '100%25 of%0A::error::x'
    """
    return printable(text.replace("\r", " ")).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    """A value, in which colons and commas end it unless they are escaped, too."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
