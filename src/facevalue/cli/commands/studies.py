"""Commands to begin with: studies, lists of pictures, their cost; and that make pictures and look at them."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.params import (
    CLUSTER,
    EXACT,
    GENERATOR,
    PRICES,
    SAMPLE,
    SAMPLE_SEED,
    WITH,
    NumberWithin,
    PicturesPlace,
    RunPlace,
    StudyGroup,
    StudyName,
)

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
    "studies:new",
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
            ),
            """Say all that is wrong with a manifest and its pictures, by row; row 1 is the first below the header.

            Reads it as a run does. Exit status: 0 if a run takes it, with or without warnings; 1 if it does not; 2 for
            wrong usage.
            """,
            short_help="Say all that is wrong with a list and its pictures.",
        ),
        Printing(
            "statement",
            "manifest:statement",
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
    "audit:demo",
    (
        click.Option(["--out"], type=click.Path(path_type=Path, file_okay=False), default="demo", show_default=True,
                     help="Where to write."),
    ),
    "Draw portraits, ask the reference model, whose bias is planted, and report what the audit finds.",
)  # fmt: skip


def _make_options() -> tuple[click.Parameter, ...]:
    return (
        click.Option(["--generator"], type=GENERATOR, metavar="GENERATOR",
                     help="Who makes the pictures: drawn, replay/PATH, diffusers/FOLDER_OR_ID, openai/MODEL or "
                     "http://HOST/v1#MODEL."),
        click.Option(["--editor"], type=GENERATOR, metavar="GENERATOR",
                     help="Who edits them; the generator by default."),
        click.Option(["--out"], type=RunPlace(), metavar="PLACE",
                     help="Folder of the pictures, or a URL: s3://BUCKET/PREFIX, gs://, az:// or file://. made/STUDY "
                     "by default. An existing one is resumed."),
        click.Option(["--plan"], is_flag=True, help="Only say how many pictures that are, and what they take."),
        click.Option(["--prompts"], type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                     help="Only write what generator and editor would be told, a row per picture: .csv or .parquet."),
        click.Option(["--seconds"], type=NumberWithin(0, min_open=True),
                     help="How long a picture takes, for --plan; of several at once the share of each."),
        click.Option(["--sample"], type=click.IntRange(1),
                     help="Make so many pictures only, in whole units; all by default."),
        SAMPLE_SEED,
        click.Option(["--size"], metavar="WIDTHxHEIGHT", help="Size in pixels; the generator's own by default."),
        click.Option(["--set", "settings"], multiple=True, metavar="NAME=VALUE",
                     help="A setting of the generator's own, such as num_inference_steps=20. May be given several "
                     "times."),
        click.Option(["--set-editor", "editor_settings"], multiple=True, metavar="NAME=VALUE",
                     help="The same of the editor."),
        click.Option(["--price", "price_each"], type=NumberWithin(0), help="Price of a picture."),
        *PRICES,
        click.Option(["--max-cost"], type=NumberWithin(0, min_open=True),
                     help="Stop when the pictures have cost this much, earlier sessions included; needs --price, or "
                     "both prices of tokens."),
        click.Option(["--concurrency"], type=click.IntRange(1, 1024), default=4, show_default=True,
                     help="Maximum number of pictures asked of a server at once."),
        click.Option(["--timeout"], type=NumberWithin(0, min_open=True), default=300.0, show_default=True,
                     help="Seconds until a request times out."),
        click.Option(["--retries"], type=click.IntRange(0, 50), default=5, show_default=True,
                     help="Maximum number of retries of a failed request."),
        click.Option(["--rpm"], type=NumberWithin(0, min_open=True), help="At most this many pictures a minute."),
        click.Option(["--batch"], type=click.IntRange(1, 256), default=1, show_default=True,
                     help="diffusers/: pictures made at once; a picture changes with those it was made with."),
        click.Option(["--dtype"], type=click.Choice(["float32", "bfloat16", "float16"]),
                     help="diffusers/: number format."),
        click.Option(["--device"], help="diffusers/: cpu, cuda, cuda:1."),
        click.Option(["--again"], type=PicturesPlace(), metavar="FAILED",
                     help="Make pictures again that failed a check, with another seed: a folder that inspect-pictures "
                     "filled, or a list with a column image, such as MADE/same.csv."),
        click.Option(["--check-pictures"], is_flag=True,
                     help="Read every picture that is there, and have those made anew that are damaged; missing ones "
                     "always are."),
        *CLUSTER,
        click.Option(["--name"], metavar="LABEL", help="What to call the making beside others."),
        click.Option(["--log"], type=click.Path(path_type=Path, dir_okay=False),
                     help="Append to this file what happens and when."),
    )  # fmt: skip


make = StudyGroup(
    "make",
    "pictures:make_pictures",
    _make_options,
    help="Make the pictures of a study to order; the same command resumes a making that was stopped.",
    making=True,
)

inspect_pictures = Printing(
    "inspect-pictures",
    "pictures:inspect",
    (
        click.Argument(["place"], metavar="MADE|LIST", type=PicturesPlace()),
        click.Option(["--with-model"], multiple=True, metavar="KIND=PLACE",
                     help="A model on this machine: identity=dlib (or a file in ONNX), or a folder of transformers as "
                     "objects=, agreement=, structure=, age=, gender=, group=, expression= or unsafe=. May be given "
                     "several times."),
        click.Option(["--rules"], type=click.Path(path_type=Path, dir_okay=False),
                     help="A TOML file of rules by which pictures pass; by default those that can be opened and show "
                     "something do."),
        click.Option(["--out"], type=RunPlace(), metavar="RUN",
                     help="The run's folder or URL; checks beside the list by default. An existing one is resumed."),
        click.Option(["--root"], default="", help="The folder that paths are relative to; the list's by default."),
        click.Option(["--cue"], default="", metavar="COLUMN", help="The column that says what was edited."),
        click.Option(["--device"], help="Where models compute: cpu, cuda, cuda:1."),
    ),
    """Inspect the pictures of MADE, a folder or URL that make filled, or of a LIST of your own, each beside its source.

    \b
    facevalue inspect-pictures made --with-model identity=dlib --rules rules.toml
    facevalue report made/checks
    facevalue run stylisticbias --manifest made/manifest.parquet --exclude made/checks --model MODEL
    """,
)  # fmt: skip
