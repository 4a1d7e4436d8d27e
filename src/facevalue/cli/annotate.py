"""`facevalue annotate`: scores of open replies, by a scorer."""

from pathlib import Path

import click

from facevalue.annotations.loading import SCORERS, load_scorer
from facevalue.annotations.scorers import LEXICAL
from facevalue.annotations.scores import ANNOTATIONS
from facevalue.cli.places import FolderPath
from facevalue.models.base import ModelOptions
from facevalue.runs.annotated import annotate_with
from facevalue.runs.rich_progress import RichProgress
from facevalue.runs.stored import StoredRun
from facevalue.terminal import say

_SCORERS = ", ".join(SCORERS)


@click.command()
@click.argument("run", type=FolderPath())
@click.option("--with", "scorer", default=LEXICAL, show_default=True, metavar="SCORER", help=f"{_SCORERS}.")
@click.option("--name", default="", metavar="NAME", help="Name to keep the scores under; use another for each scorer.")
@click.option("--prompt", multiple=True, metavar="PROMPT", help="Replies to this prompt alone; repeat for each.")
@click.option("--labels", default="", metavar="A,B", help="Which labels the scorer shall score.")
@click.option("--rubric", type=click.Path(path_type=Path, dir_okay=False),
              help="Text file that tells judge/MODEL what to rate by a number.")  # fmt: skip
@click.option("--concurrency", type=click.IntRange(1, 1024), default=16, show_default=True,
              help="Maximum number of requests in flight, where the scorer is behind a server.")  # fmt: skip
def annotate(
    run: Path, scorer: str, name: str, prompt: tuple[str, ...], labels: str, rubric: Path | None, concurrency: int
) -> int:
    """Have SCORER score the open replies of RUN, each different text once.

    The scores are kept in RUN and used by `measure`, `report` and other commands. The same command goes on where it was
    stopped; another scorer's scores stand beside these.
    """
    chosen = tuple(label.strip() for label in labels.split(",") if label.strip())
    options = ModelOptions(concurrency=concurrency)
    stored = StoredRun.open(run)
    scored = annotate_with(stored, lambda: load_scorer(scorer, chosen, rubric, options), RichProgress(), name, prompt)
    now = scored.outcome
    say(f"{now.texts:,} different texts; {now.before:,} of them had been scored by {scored.scorer} before.")
    say(f"Scored: {now.done - now.failed:,}; failed: {now.failed:,}; longer than the scorer reads: {now.cut:,}.")
    for reason, count in scored.missing.items():
        say(f"Without a score: {count:,}, {reason}.")
    for label, group, shift, low, high in scored.moved.iter_rows():
        interval = "" if low is None else f" [{low:+.3f}, {high:+.3f}]"
        say(f"The words of a group alone move {label} by up to {shift:+.3f}{interval} ({group}).")
    if now.unasked:
        say(f"Not scored: {now.unasked:,} ({now.why}). The same command tries them again.", err=True)
        return 1
    say(f"Kept in {run / ANNOTATIONS / scored.name}: facevalue report {run}")
    return 0
