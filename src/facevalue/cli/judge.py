"""`facevalue judge`: sorting of texts by a model, where no rule sorts them: entries of forms, lists of words."""

from contextlib import closing
from pathlib import Path

import click

from facevalue.answers.listed_words import ListKind
from facevalue.cli.places import FolderPath
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.runs.judged import FOLDER
from facevalue.runs.judged import ReplyKind as Verdict
from facevalue.runs.judged_words import FOLDER as WORDS
from facevalue.runs.judging import JudgedLists, JudgedTexts
from facevalue.runs.judging import judge as judge_run
from facevalue.runs.stored import StoredRun
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
    outcome = judge_run(StoredRun.open(run), lambda: closing(load(model, ModelOptions(concurrency=concurrency))))
    for line in _lists(outcome) if isinstance(outcome, JudgedLists) else _texts(outcome):
        say(line)
    if outcome.outcome is None:
        return 0
    if outcome.unanswered:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        say(f"Without an answer: {outcome.unanswered:,}{reason}. The same command asks them again.", err=True)
        return 1
    say(f"Kept in {run / (WORDS if isinstance(outcome, JudgedLists) else FOLDER)}: facevalue report {run}")
    return 0


def _texts(judged: JudgedTexts) -> list[str]:
    """What a judge said of texts, in lines for people."""
    if judged.outcome is None:
        return ["Rules settle every text, or there is none: there is nothing to judge."]
    verdicts, audited = judged.outcome.verdicts, judged.audited
    lines = [
        f"{judged.texts:,} different texts that no rule settles; {judged.judge} was asked about {judged.requests:,}.",
        f"Got a category: {verdicts[Verdict.CATEGORY]:,}; none: {verdicts[Verdict.DECLINED]:,}; "
        f"an invented one, which is not used: {verdicts[Verdict.INVENTED]:,}.",
    ]
    if audited is not None and (audited.failed or any(audited.verdicts.values())):
        lines.append(
            f"Judged besides: {sum(audited.verdicts.values()):,} texts with the words for groups swapped or taken out, "
            "and again as they are: the report says how far these words alone move the judge."
        )
    return lines


def _lists(judged: JudgedLists) -> list[str]:
    """What a judge said of lists of words, in lines for people."""
    if judged.outcome is None:
        return [
            "No word is more frequent in the texts of one group than in those of others: there is nothing to judge."
        ]
    return [
        f"{judged.lists:,} lists of {judged.words:,} words, each judged {judged.times} times; {judged.judge} was asked "
        f"{judged.requests:,} times.",
        f"Replies: {', '.join(f'{kind} {judged.outcome.kinds[kind]:,}' for kind in ListKind)}. Replies without a list "
        "are not used.",
        f"Words that it calls stereotypes: {judged.stereotypes:,}; words that it invented, which are not used: "
        f"{judged.invented:,}.",
    ]
