"""`facevalue judge`: sorting of texts by a model, where no rule sorts them: entries of forms, lists of words."""

from pathlib import Path

import click
import polars as pl

from facevalue.answers.listed_words import ReplyKind
from facevalue.cli.offering import lacking
from facevalue.cli.places import Folder
from facevalue.errors import DataError
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.protocol.word_lists import WordLists
from facevalue.runs.judged import FOLDER, Doubts, ask
from facevalue.runs.judged import ReplyKind as Verdict
from facevalue.runs.judged_words import FOLDER as WORDS
from facevalue.runs.judged_words import ask_words, judged_by
from facevalue.runs.kept_estimates import taken
from facevalue.runs.stored import StoredRun, answers
from facevalue.terminal import say


@click.command()
@click.argument("run", type=Folder())
@click.option(
    "--model", required=True, metavar="MODEL", help="Model that judges: http://HOST/v1#NAME, openai/NAME or sim/NAME."
)
@click.option("--concurrency", type=click.IntRange(1, 1024), default=16, show_default=True,
              help="Maximum number of requests in flight.")  # fmt: skip
def judge(run: Path, model: str, concurrency: int) -> int:
    """Have MODEL sort what no rule sorts, and keep its verdicts in RUN for `measure`, `report` and other commands.

    \b
    visbias: texts in forms that no rule sorts into a category, each different text once.
    counterfactuals: words that a group's texts have more often than others'; which are stereotypes?

    The same command retries failures.
    """  # noqa: D301 - a backspace, which click reads as "leave these lines as they are"
    doubts = Doubts()
    opened = StoredRun.open(run, doubts.judge)
    if (offer := opened.study.extras.word_lists) is not None:
        return _look_through(run, offer, model, concurrency)
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
        f"Got a category: {found.verdicts[Verdict.CATEGORY]:,}; none: {found.verdicts[Verdict.DECLINED]:,}; "
        f"an invented one, which is not used: {found.verdicts[Verdict.INVENTED]:,}."
    )
    silent = asked - found.failed - (sum(found.verdicts.values()) - found.before)
    if found.failed or silent:
        why = f" ({found.why})" if found.why else ""
        say(f"Without an answer: {found.failed + silent:,}{why}. The same command asks them again.", err=True)
        return 1
    say(f"Kept in {run / FOLDER}: facevalue report {run}")
    return 0


def _look_through(run: Path, offer: WordLists, model: str, concurrency: int) -> int:
    """Ask a judge about the lists of words of a run."""
    estimates, _ = taken([StoredRun.open(run)])
    lists = offer.lists(estimates.filter(pl.col("intervention").is_null()))
    if not lists:
        say("No group's texts have words that others' have less often: there is nothing to judge.")
        return 0
    judging = load(model, ModelOptions(concurrency=concurrency))
    try:
        found = ask_words(run, lists, offer, judging)
    finally:
        judging.close()
    times, words = len(offer.seeds), sum(len(one.words) for one in lists)
    asked = len(lists) * times - found.before
    say(
        f"{len(lists):,} lists of {words:,} words, each judged {times} times; {judging.name} was asked {asked:,} times."
    )
    kinds = ", ".join(f"{kind} {found.kinds[kind]:,}" for kind in ReplyKind)
    say(f"Replies: {kinds}. What is no list is not used.")
    stored = judged_by([run])
    said = [flagged for one in lists if (flagged := stored(one)) is not None]
    called = sum(count > 0 for one in said for count in one.times.values())
    invented = sum(len(one.invented) for one in said)
    say(f"Words that it calls stereotypes: {called:,}; words that it invented, which are not used: {invented:,}.")
    silent = len(lists) * times - len(found.replies)
    if silent:
        why = f" ({found.why})" if found.why else ""
        say(f"Without an answer: {silent:,}{why}. The same command asks them again.", err=True)
        return 1
    say(f"Kept in {run / WORDS}: facevalue report {run}")
    return 0
