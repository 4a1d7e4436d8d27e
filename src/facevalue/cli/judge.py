"""`facevalue judge`: sorting of texts by a model, where no rule sorts them: entries of forms, lists of words."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from facevalue.answers.listed_words import ListKind
from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.runs.judged_texts import FOLDER
from facevalue.runs.judged_texts import ReplyKind as Verdict
from facevalue.runs.judged_words import FOLDER as WORDS
from facevalue.runs.judging import JudgedLists, JudgedTexts
from facevalue.runs.judging import judge as judge_run
from facevalue.runs.stored_run import StoredRun
from facevalue.shell_commands import shell_command


@dataclass(frozen=True)
class JudgeDocument(Document):
    """Texts and lists that a model sorted because no rule sorts them."""

    FORMAT: ClassVar[str] = "judge"
    run: str
    judge: str
    """Model that judged; empty where there was nothing to judge."""
    texts: int
    """Different texts that no rule settles, or lists of words."""
    requests: int
    """What the model was asked now."""
    verdicts: Mapping[str, int]
    """Judgments of all texts or lists now, by kind."""
    audited: int
    """Texts judged besides with words for groups swapped or taken out, and again as they are."""
    unanswered: int
    """Requests without an answer; the same command asks them again."""
    why_unanswered: str
    folder: str
    """Where the judgments are kept; empty where there are none."""


def judge(run: Path, model: str, concurrency: int) -> Output[JudgeDocument]:
    """Have a model sort what no rule sorts, and keep its verdicts in the run."""
    judged = judge_run(StoredRun.open(run), lambda: closing(load(model, ModelOptions(concurrency=concurrency))))
    lists = isinstance(judged, JudgedLists)
    lines = _lists(judged) if isinstance(judged, JudgedLists) else _texts(judged)
    folder = "" if judged.outcome is None else str(run / (WORDS if lists else FOLDER))
    audited = None if isinstance(judged, JudgedLists) else judged.audited
    document = JudgeDocument(
        run=str(run),
        judge=judged.judge,
        texts=judged.lists if isinstance(judged, JudgedLists) else judged.texts,
        requests=judged.requests,
        verdicts=_verdicts(judged),
        audited=0 if audited is None else sum(audited.verdicts.values()),
        unanswered=judged.unanswered_count,
        why_unanswered=judged.reason or "",
        folder=folder,
    )
    if judged.outcome is None:
        return Output(document, lines)
    if judged.unanswered_count:
        reason = f" ({judged.reason})" if judged.reason else ""
        warning = f"Without an answer: {judged.unanswered_count:,}{reason}. The same command asks them again."
        return Output(document, lines, Exit.INCOMPLETE, [warning])
    return Output(document, [*lines, f"Kept in {folder}: {shell_command('report', run)}"])


def _verdicts(judged: JudgedTexts | JudgedLists) -> dict[str, int]:
    if judged.outcome is None:
        return {}
    if isinstance(judged, JudgedLists):
        return {str(kind): judged.outcome.kinds[kind] for kind in ListKind}
    return {kind.value: count for kind, count in judged.outcome.verdicts.items()}


def _texts(judged: JudgedTexts) -> list[str]:
    """Lines for people on what a judge said of texts."""
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
    """Lines for people on what a judge said of lists of words."""
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
