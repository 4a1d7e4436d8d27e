"""Commands that people are told to give, as a shell takes them."""

import shlex


def shell_command(*arguments: object) -> str:
    """A command of FaceValue with its arguments, quoted where a shell would take them apart.

    Examples
    --------
    >>> shell_command("report", "runs/my run", "--out", "page.html")
    "facevalue report 'runs/my run' --out page.html"
    """
    return shlex.join(["facevalue", *map(str, arguments)])
