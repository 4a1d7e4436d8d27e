"""`facevalue annotate`: scores of open replies, by a scorer."""

from pathlib import Path

import click

from facevalue.annotate.loading import SCORERS, load_scorer
from facevalue.annotate.scorers import LEXICAL
from facevalue.annotate.scores import ANNOTATIONS, read
from facevalue.cli.offering import lacking
from facevalue.cli.places import FolderPath
from facevalue.errors import DataError
from facevalue.models.base import ModelOptions
from facevalue.runs.annotated import annotate as score
from facevalue.runs.annotated import checked_name
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
    opened = StoredRun.open(run)
    if opened.study.reading.scored is None:
        scored_replies = opened.study.extras.annotate
        if not scored_replies:
            raise DataError(f"{run}: {lacking(opened.study.name, 'annotate', 'replies that a scorer reads')}")
        raise DataError(f"{run} ({opened.study.name}) has no {scored_replies}; a scorer reads these, and nothing else.")
    chosen = tuple(label.strip() for label in labels.split(",") if label.strip())
    scoring = load_scorer(scorer, chosen, rubric, ModelOptions(concurrency=concurrency))
    try:
        called = checked_name(name or scoring.called)
        now = score(opened, scoring, RichProgress(), called, prompt)
    finally:
        scoring.close()
    say(f"{now.texts:,} different texts; {now.before:,} of them had been scored by {scoring.name} before.")
    say(f"Scored: {now.done - now.failed:,}; failed: {now.failed:,}; longer than the scorer reads: {now.cut:,}.")
    (scores,) = (named_scores for named_scores in read(run) if named_scores.name == called)
    for reason, count in scores.reasons.items():
        say(f"Without a score: {count:,}, {reason}.")
    from facevalue.measures.scorer import audited, largest_shift  # noqa: PLC0415 - scipy.stats takes a second to import

    for label, group, shift, low, high in (
        largest_shift(audited(scores, opened.study.reading.scored.groups))
        .select("label", "group", "shift", "low", "high")
        .iter_rows()
    ):
        interval = "" if low is None else f" [{low:+.3f}, {high:+.3f}]"
        say(f"The words of a group alone move {label} by up to {shift:+.3f}{interval} ({group}).")
    if now.unasked:
        say(f"Not scored: {now.unasked:,} ({now.why}). The same command tries them again.", err=True)
        return 1
    say(f"Kept in {run / ANNOTATIONS / called}: facevalue report {run}")
    return 0
