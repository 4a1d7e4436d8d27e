"""`facevalue judge`: sorting of form entries by a model, where no rule sorts them."""

from pathlib import Path

import click

from facevalue.cli.offering import lacking
from facevalue.errors import DataError
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.runs.judged import FOLDER, Doubts, ReplyKind, ask
from facevalue.runs.stored import StoredRun, answers
from facevalue.terminal import say


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--model", required=True, metavar="MODEL", help="Model that judges: http://HOST/v1#NAME, openai/NAME or sim/NAME."
)
@click.option("--concurrency", type=click.IntRange(1, 1024), default=16, show_default=True,
              help="Maximum number of requests in flight.")  # fmt: skip
def judge(run: Path, model: str, concurrency: int) -> int:
    """Have MODEL sort the texts in the forms of RUN that no rule sorts into a category, each different text once.

    Its verdicts are kept in RUN and used by `measure`, `report` and other commands; field_share tells how many
    fields it settled. The same command retries failures.
    """
    doubts = Doubts()
    opened = StoredRun.open(run, doubts.judge)
    if opened.study.judged is None:
        what = opened.study.extras.judge
        if not what:
            raise DataError(f"{run}: {lacking(opened.study.name, 'judge', 'replies that a judge may sort')}")
        raise DataError(f"{run} ({opened.study.name}) has no {what}; a judge sorts what these say, and nothing else.")
    for _ in answers(opened):
        pass  # reading the replies is what raises the doubts
    if not doubts.found:
        say("Rules settle every field of every form: there is nothing to judge.")
        return 0
    judging = load(model, ModelOptions(concurrency=concurrency))
    try:
        found = ask(run, list(doubts.found), judging)
    finally:
        judging.close()
    asked = len(doubts.found) - found.before
    say(f"{len(doubts.found):,} different texts that no rule settles; {judging.name} was asked about {asked:,}.")
    say(
        f"Got a category: {found.verdicts[ReplyKind.CATEGORY]:,}; none: {found.verdicts[ReplyKind.DECLINED]:,}; "
        f"an invented one, which is not used: {found.verdicts[ReplyKind.INVENTED]:,}."
    )
    silent = asked - found.failed - (sum(found.verdicts.values()) - found.before)
    if found.failed or silent:
        why = f" ({found.why})" if found.why else ""
        say(f"Without an answer: {found.failed + silent:,}{why}. The same command asks them again.", err=True)
        return 1
    say(f"Kept in {run / FOLDER}: facevalue report {run}")
    return 0
