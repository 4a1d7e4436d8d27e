"""Commands about scenes and training corpora, and for scripts."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.params import CommandName, NumberWithin

_FILE = click.Path(path_type=Path, dir_okay=False)


scenes = click.Group(
    "scenes",
    help="Check folders of scenes for people.",
    commands=[
        Printing(
            "check",
            "scenes:check",
            (
                click.Argument(["folder"], metavar="DIR", type=click.Path(path_type=Path)),
                click.Option(["--detector"], required=True, metavar="FOLDER", type=click.Path(path_type=Path),
                             help="An object detector of transformers that has a label 'person'. Nothing is "
                             "downloaded."),
                click.Option(["--out"], required=True, type=_FILE, help="A .csv file."),
                click.Option(["--threshold"], type=NumberWithin(0, 1, min_open=True), default=0.5,
                             show_default=True, help="Lowest score at which a person counts."),
            ),
            """Look for people in the pictures of DIR, which holds a folder per scene, and list which are kept.

            Each is listed with its score. Ends with status 1 if a scene keeps no picture.
            """,
        )
    ],
)  # fmt: skip

corpus = Printing(
    "corpus",
    "corpus:corpus",
    (
        click.Argument(["files"], nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)),
        click.Option(["--text", "column"], default="", metavar="COLUMN",
                     help="Column of the text, or of lists of turns (LLaVA's 'conversations'). Not for .txt."),
        click.Option(["--terms"], type=_FILE, help="Terms of your own, as TOML; those of ModSCAN by default."),
    ),
    """Count words of two genders in the texts of FILEs that name an occupation or a descriptor.

    FILEs are .jsonl, .json (a list), .txt (a text in each line), each also as .gz, or .parquet.

    The skew of each is |m / (m + f) - 1/2|, with an interval; N/A without a word of either gender.
    """,
)  # fmt: skip

doctor = Printing(
    "doctor",
    "doctor:doctor",
    (),
    """Look at this installation: versions, what a GPU allows, free disk, and which extras are missing.

    Exits with 1 if a package that FaceValue needs is missing or too old. Nothing is changed, and no network is used.
    """,
)


def _schema(command: tuple[str, ...]) -> None:
    from facevalue.cli.schema import print_schema  # noqa: PLC0415 - only for this command

    print_schema(command)


schema = click.Command(
    "schema",
    callback=_schema,
    params=[click.Argument(["command"], nargs=-1, type=CommandName())],
    help="""Print the JSON Schema of what COMMAND prints with --json; without COMMAND, the commands that have one.

    \b
    facevalue schema measure
    facevalue schema manifest check
    """,
)
