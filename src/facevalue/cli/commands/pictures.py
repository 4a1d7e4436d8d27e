"""Commands that make pictures, and look at them."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.options import CLUSTER, PRICES, SAMPLE_SEED
from facevalue.cli.params import GENERATOR, NumberWithin, PicturesPlace, RunPlace
from facevalue.cli.study_command import StudyGroup


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
    "making:make_pictures",
    _make_options,
    help="Make the pictures of a study to order; the same command resumes a making that was stopped.",
    making=True,
)

inspect_pictures = Printing(
    "inspect-pictures",
    "inspect_pictures:inspect",
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
