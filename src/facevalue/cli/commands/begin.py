"""Commands to begin with: which studies there are, a study and pictures of one's own, what they cost."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.options import EXACT, PRICES, SAMPLE, SAMPLE_SEED, WITH
from facevalue.cli.params import RunPlace, StudyName
from facevalue.cli.study_command import StudyGroup

_FOR = click.Option(
    ["--for", "study"],
    type=StudyName(),
    metavar="STUDY",
    help="Study that will show the pictures: its name, or your own file.",
)

studies = Printing(
    "studies",
    "studies:studies",
    (click.Argument(["study"], required=False, type=StudyName()),),
    """List the studies: what each asks, needs, and offers besides plan, run, measure, report and compare.

    With STUDY, a name or a file: its paper, too, and what of that is left out.
    """,
)


def _new_help() -> str:
    from facevalue.studies import EXAMPLES  # noqa: PLC0415 - only for its own help

    return f"""Write FILE, a commented study to edit and run.

    \b
    facevalue new my-study.toml
    facevalue plan my-study.toml
    facevalue run my-study.toml --model http://127.0.0.1:8000/v1#NAME

    NAME is what to start from: {", ".join(EXAMPLES)}, or a published study, to choose its settings; {EXAMPLES[0]} by
    default.
    """


new = Printing(
    "new",
    "new:new",
    (
        click.Argument(["file"], type=click.Path(path_type=Path, dir_okay=False)),
        click.Option(["--like"], type=StudyName(examples=True), metavar="NAME", help="What to start from."),
    ),
    _new_help,
)

manifest = click.Group(
    "manifest",
    help="""List your own pictures for a study: begin the list, check it, say what is to be known of them.

    \b
    facevalue manifest init pictures --for stylisticbias
    facevalue manifest check pictures/manifest.csv --for stylisticbias
    """,
    commands=[
        Printing(
            "init",
            "manifest:init",
            (
                click.Argument(["folder"], type=click.Path(path_type=Path)),
                _FOR,
                click.Option(["--out"], type=click.Path(path_type=Path, dir_okay=False),
                             help="File to write; FOLDER/manifest.csv by default."),
                click.Option(["--overwrite"], is_flag=True, help="Replace the file if it exists."),
            ),
            """Begin a manifest of the pictures in FOLDER, guessed from names of folders and files.

            No picture is opened. Exit status: 0 if a run would take the list; 1 if something is still to be filled in.
            """,
            short_help="Begin a list, guessed from names of files.",
        ),
        Printing(
            "check",
            "manifest:check",
            (
                click.Argument(["file"], type=click.Path(path_type=Path)),
                _FOR,
                click.Option(["--root"], type=click.Path(path_type=Path),
                             help="The folder that paths are relative to; FILE's by default."),
                click.Option(["--fix"], is_flag=True,
                             help="Write upright copies of pictures that EXIF turns, and a list with them."),
            ),
            """Say all that is wrong with a manifest and its pictures, by row; row 1 is the first below the header.

            Reads it as a run does. Exit status: 0 if a run takes it, with or without warnings; 1 if it does not; 2 for
            wrong usage.
            """,
            short_help="Say all that is wrong with a list and its pictures.",
        ),
        Printing(
            "statement",
            "data_statement:statement",
            (
                click.Argument(["pictures"], metavar="FILE|MADE", type=click.Path(path_type=Path)),
                click.Option(["--licence"], metavar="URL|NAME", help="Licence of the pictures."),
                click.Option(["--creator"], metavar="NAME", help="Who answers for them."),
                click.Option(["--url"], help="Page about them."),
                click.Option(["--cite"], metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                             help="Text file that says how they are cited, best as BibTeX."),
                click.Option(["--published"], type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD",
                             help="When they were published."),
                click.Option(["--version", "data_version"], metavar="MAJOR.MINOR.PATCH", help="Version of the data."),
                click.Option(["--name"], help="What they are called; the folder's name by default."),
            ),
            """Write the data statement of pictures beside their list, as croissant.json: Croissant 1.1 with RAI.

            FILE is a list of your own, MADE a folder of `facevalue make`, which writes one itself: there, this states
            what only you can. What was stated before stands unless it is given again; nothing is stated for you.
            """,
            short_help="Write a data statement (Croissant).",
        ),
    ],
)  # fmt: skip


def _plan_options() -> tuple[click.Parameter, ...]:
    from facevalue.models.base import IMAGE_TOKENS  # noqa: PLC0415 - the list of commands needs no models

    return (
        SAMPLE,
        SAMPLE_SEED,
        EXACT,
        WITH,
        click.Option(["--image-tokens"], type=click.IntRange(0), default=IMAGE_TOKENS, show_default=True,
                     help="Tokens that the model spends on one picture."),
        *PRICES,
        click.Option(["--detect"], type=float, metavar="SHIFT",
                     help="Also show how many units detect this shift with 80% power."),
        click.Option(["--compare"], is_flag=True,
                     help="Plan for the difference between two such runs, as `facevalue compare` finds it."),
        click.Option(["--pilot"], type=RunPlace(),
                     help="A run to take the spread from, instead of a stated default."),
        click.Option(["--paper-table"], metavar="NAME",
                     help="Show instead what the study's paper says it asked, where that is known."),
    )  # fmt: skip


plan = StudyGroup("plan", "planning:plan", _plan_options, help="Show what a study costs before anything is spent.")

demo = Printing(
    "demo",
    "demo:demo",
    (
        click.Option(["--out"], type=click.Path(path_type=Path, file_okay=False), default="demo", show_default=True,
                     help="Where to write."),
    ),
    "Draw portraits, ask the reference model, whose bias is planted, and report what the audit finds.",
)  # fmt: skip
