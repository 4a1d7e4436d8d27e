"""Options that several commands share."""

from pathlib import Path

import click

from facevalue.cli.params import INTERVENTION, NumberWithin

SAMPLE = click.Option(["--sample"], type=click.IntRange(1), help="Ask about this many requests only; all by default.")
SAMPLE_SEED = click.Option(
    ["--sample-seed", "seed"],
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Which sample, and in which order it is asked. (--seeds: seeds that replies are drawn with.)",
)
EXACT = click.Option(
    ["--exact"], is_flag=True, help="Read option probabilities instead of sampling; each prompt is asked once."
)
WITH = click.Option(
    ["--with", "interventions"],
    type=INTERVENTION,
    multiple=True,
    metavar="NAME|FILE.toml",
    help="Ask everything a second time with this intervention, and report the change: no-image, blank-image, cipher, "
    "sr, debiasing, or your own from a file. May be given several times.",
)
PRICES = (
    click.Option(["--price-in"], type=NumberWithin(0), help="Price per million prompt tokens."),
    click.Option(["--price-out"], type=NumberWithin(0), help="Price per million reply tokens."),
)
SIGHT = click.Option(
    ["--no-sight-check", "sight"], is_flag=True, flag_value=False, default=True,
    help="Do not ask the model first about a few pictures made on the spot (12 requests, once), which tell whether it "
    "sees what it is shown.",
)  # fmt: skip
STOP_WHEN = click.Option(
    ["--stop-when"],
    metavar="RULE",
    help='Stop once enough is known: "decided" (each comparison that leads is found, or equivalent within the margin) '
    'or "width<0.02" (their intervals are narrower). Intervals and tests are then those that hold however often one '
    "looks.",
)
REFUSAL_WORDS = click.Option(
    ["--refusal-words"],
    multiple=True,
    metavar="TEXT",
    help="Your own words for a refusal: a reply or an error that holds TEXT is a refusal. May be given several times.",
)
CLUSTER = (
    click.Option(
        ["--cluster"],
        metavar="ADDRESS",
        help="Have a Ray cluster ask: auto, ray://HOST:PORT, HOST:PORT, or local for one of its own.",
    ),
    click.Option(
        ["--cluster-config"],
        type=click.Path(path_type=Path, dir_okay=False),
        help="A TOML file: workers = [FEWEST, MOST], gpus and cpus of each, runtime_env and more.",
    ),
)
MARGIN = click.Option(
    ["--margin"],
    multiple=True,
    metavar="MEASURE=SIZE",
    help="Largest difference that would not matter (shift=0.02), if none was declared before the run.",
)
PICTURES = click.Option(
    ["--pictures"],
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="FOLDER",
    help="Folder with your own pictures; the path stored in the run folder is not trusted.",
)
