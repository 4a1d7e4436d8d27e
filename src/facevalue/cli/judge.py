"""`facevalue judge`: sorting of texts by a model, where no rule sorts them: entries of forms, lists of words."""

from pathlib import Path

import click
import polars as pl

from facevalue.answers.listed_words import ListKind
from facevalue.cli.offering import lacking
from facevalue.cli.places import FolderPath
from facevalue.errors import DataError
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.protocol.word_lists import JudgedWords
from facevalue.runs.judged import FOLDER, Doubts, JudgingOutcome, ask
from facevalue.runs.judged import ReplyKind as Verdict
from facevalue.runs.judged_words import FOLDER as WORDS
from facevalue.runs.judged_words import ask_words, judged_by
from facevalue.runs.kept_estimates import taken
from facevalue.runs.stored import StoredRun, answers
from facevalue.terminal import say


@click.command()
@click.argument("run", type=FolderPath())
@click.option(
    "--model", required=True, metavar="MODEL", help="Model that judges: http://HOST/v1#NAME, openai/NAME or sim/NAME."
)
@click.option("--concurrency", type=click.IntRange(1, 1024), default=16, show_default=True,
              help="Maximum number of requests in flight.")  # fmt: skip
def judge(run: Path, model: str, concurrency: int) -> int:
    """Have MODEL sort what no rule sorts, and keep its verdicts in RUN for `measure`, `report` and other commands.

    \b
    own studies: open texts, each different one once, into the categories of [answer.judged]. Up to 100 with words for
    groups are judged again, with these swapped and without them, to see how far these words move MODEL.
    visbias: texts in forms that no rule sorts into a category, each different text once.
    counterfactuals: words that a group's texts have more often than others'; which are stereotypes?

    The same command retries failures.
    """  # noqa: D301 - a backspace, which click reads as "leave these lines as they are"
    doubts = Doubts()
    opened = StoredRun.open(run, doubts.judge)
    if (offer := opened.study.extras.word_lists) is not None:
        return _look_through(run, offer, model, concurrency)
    if opened.study.reading.judged is None:
        judged_replies = opened.study.extras.judge
        if not judged_replies:
            raise DataError(f"{run}: {lacking(opened.study.name, 'judge', 'replies that a judge may sort')}")
        raise DataError(
            f"{run} ({opened.study.name}) has no {judged_replies}; a judge sorts what these say, and nothing else."
        )
    for _ in answers(opened):
        pass  # reading the replies is what raises the doubts
    if not doubts.texts:
        say("Rules settle every text, or there is none: there is nothing to judge.")
        return 0
    judging = load(model, ModelOptions(concurrency=concurrency))
    audited: JudgingOutcome | None = None
    try:
        outcome = ask(run, list(doubts.texts), judging)
        if opened.study.reading.sortings:
            from facevalue.runs.judge_estimates import audit  # noqa: PLC0415 - scipy.stats takes a second to import

            audited = audit(run, opened.study, doubts, judging)
    finally:
        judging.close()
    requests = len(doubts.texts) - outcome.before
    say(f"{len(doubts.texts):,} different texts that no rule settles; {judging.name} was asked about {requests:,}.")
    say(
        f"Got a category: {outcome.verdicts[Verdict.CATEGORY]:,}; none: {outcome.verdicts[Verdict.DECLINED]:,}; "
        f"an invented one, which is not used: {outcome.verdicts[Verdict.INVENTED]:,}."
    )
    if audited is not None and (audited.failed or any(audited.verdicts.values())):
        say(
            f"Judged besides: {sum(audited.verdicts.values()):,} texts with the words for groups swapped or taken out, "
            "and again as they are: the report says how far these words alone move the judge."
        )
        outcome.failed, outcome.reason = outcome.failed + audited.failed, outcome.reason or audited.reason
        requests += audited.failed
    silent = requests - outcome.failed - (sum(outcome.verdicts.values()) - outcome.before)
    if outcome.failed or silent:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        say(f"Without an answer: {outcome.failed + silent:,}{reason}. The same command asks them again.", err=True)
        return 1
    say(f"Kept in {run / FOLDER}: facevalue report {run}")
    return 0


def _look_through(run: Path, offer: JudgedWords, model: str, concurrency: int) -> int:
    """Ask a judge about the lists of words of a run."""
    estimates, _ = taken([StoredRun.open(run)])
    lists = offer.lists(estimates.filter(pl.col("intervention").is_null()))
    if not lists:
        say("No word is more frequent in the texts of one group than in those of others: there is nothing to judge.")
        return 0
    judging = load(model, ModelOptions(concurrency=concurrency))
    try:
        outcome = ask_words(run, lists, offer, judging)
    finally:
        judging.close()
    times, words = len(offer.seeds), sum(len(word_list.words) for word_list in lists)
    requests = len(lists) * times - outcome.before
    say(
        f"{len(lists):,} lists of {words:,} words, each judged {times} times; {judging.name} was asked {requests:,} "
        "times."
    )
    kinds = ", ".join(f"{kind} {outcome.kinds[kind]:,}" for kind in ListKind)
    say(f"Replies: {kinds}. Replies without a list are not used.")
    stored = judged_by([run])
    flags = [flagged for word_list in lists if (flagged := stored(word_list)) is not None]
    called = sum(count > 0 for flagged in flags for count in flagged.times.values())
    invented = sum(len(flagged.invented) for flagged in flags)
    say(f"Words that it calls stereotypes: {called:,}; words that it invented, which are not used: {invented:,}.")
    silent = len(lists) * times - len(outcome.replies)
    if silent:
        reason = f" ({outcome.why})" if outcome.why else ""
        say(f"Without an answer: {silent:,}{reason}. The same command asks them again.", err=True)
        return 1
    say(f"Kept in {run / WORDS}: facevalue report {run}")
    return 0
