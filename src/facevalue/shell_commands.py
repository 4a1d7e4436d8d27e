"""Commands that people are told to give, as a shell takes them."""

import shlex
from pathlib import Path


def shell_command(*arguments: object) -> str:
    """A command of FaceValue with its arguments, quoted where a shell would take them apart.

    Examples
    --------
    >>> shell_command("report", "runs/my run", "--out", "page.html")
    "facevalue report 'runs/my run' --out page.html"
    """
    return shlex.join(["facevalue", *map(str, arguments)])


def drawing_command(file: Path) -> str:
    """The command that draws the pictures that the file of a study says are to be made.

    Examples
    --------
    >>> drawing_command(Path("mine.toml"))
    'facevalue make mine.toml --generator drawn --editor drawn --out pictures'
    """
    return shell_command("make", file, "--generator", "drawn", "--editor", "drawn", "--out", "pictures")
