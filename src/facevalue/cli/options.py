"""Options that planning and running a study share."""

import click

SAMPLE = click.Option(["--sample"], type=click.IntRange(1), help="Ask about this many requests only; all by default.")
SEED = click.Option(["--seed"], type=click.IntRange(0), default=0, show_default=True, help="Seed of the sample.")
EXACT = click.Option(
    ["--exact"], is_flag=True, help="Read option probabilities instead of sampling; each prompt is asked once."
)
WITH = click.Option(
    ["--with", "interventions"],
    multiple=True,
    metavar="NAME|FILE.toml",
    help="Ask everything a second time with this intervention, and report the change: no-image, blank-image, cipher, "
    "sr, debiasing, or your own from a file. May be given several times.",
)
PRICES = (
    click.Option(["--price-in"], type=click.FloatRange(0), help="Price per million prompt tokens."),
    click.Option(["--price-out"], type=click.FloatRange(0), help="Price per million reply tokens."),
)
