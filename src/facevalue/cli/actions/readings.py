"""`facevalue annotate`, `judge` and `review`: replies before a scorer, a model and people."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from facevalue.annotations.model_scorers import load_scorer
from facevalue.annotations.scores import ANNOTATIONS
from facevalue.answers.listed_words import ListKind
from facevalue.arguments import split_names
from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output
from facevalue.csv_text import csv_bytes
from facevalue.errors import SettingError
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.printable import shell_command
from facevalue.runs.judging import JudgedLists, JudgedTexts, annotate_with
from facevalue.runs.judging import judge as judge_run
from facevalue.runs.judgments import FOLDER
from facevalue.runs.judgments import WORDS_FOLDER as WORDS
from facevalue.runs.judgments import ReplyKind as Verdict
from facevalue.runs.reviews.results import ReviewResult, TextTable, review_result, review_texts, table_of
from facevalue.runs.rich_progress import RichProgress
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import write_whole


@dataclass(frozen=True, slots=True)
class WordEffect:
    """Distance by which the words of a group alone move a label."""

    label: str
    group: str
    shift: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class AnnotateDocument(Document):
    """Scores of open replies."""

    FORMAT: ClassVar[str] = "annotate"
    run: str
    name: str
    """Name of the scores."""
    scorer: str
    texts: int
    """Different texts."""
    scored_before: int
    scored: int
    """Texts scored now."""
    failed: int
    """Texts that got no score now."""
    cut: int
    """Texts longer than the scorer reads."""
    without_score: Mapping[str, int]
    """Texts without a score, by reason."""
    words: tuple[WordEffect, ...]
    """Audit of the scorer: how far the words of groups alone move each label, at most."""
    unasked: int
    """Texts that are still to be scored; the same command tries them again."""
    why_unasked: str
    folder: str
    """Where the scores are kept."""


def annotate(
    run: Path, scorer: str, name: str, prompt: tuple[str, ...], labels: str, rubric: Path | None, concurrency: int
) -> Output[AnnotateDocument]:
    """Have a scorer score open replies, each different text once."""
    options = ModelOptions(concurrency=concurrency)
    stored, names = StoredRun.open(run), split_names(labels)
    scored = annotate_with(stored, lambda: load_scorer(scorer, names, rubric, options), RichProgress(), name, prompt)
    outcome = scored.outcome
    document = AnnotateDocument(
        run=str(run),
        name=scored.name,
        scorer=scored.scorer,
        texts=outcome.texts,
        scored_before=outcome.before,
        scored=outcome.done - outcome.failed,
        failed=outcome.failed,
        cut=outcome.cut,
        without_score=scored.missing,
        words=tuple(WordEffect(*row) for row in scored.moved.iter_rows()),
        unasked=outcome.unasked,
        why_unasked=outcome.why if outcome.unasked else "",
        folder=str(run / ANNOTATIONS / scored.name),
    )
    if outcome.unasked:
        warning = f"Not scored: {outcome.unasked:,} ({outcome.why}). The same command tries them again."
        return Output(document, _lines(document), Exit.INCOMPLETE, [warning])
    return Output(document, _lines(document))


def _lines(scores: AnnotateDocument) -> Iterator[str]:
    before = f"{scores.scored_before:,} of them had been scored by {scores.scorer} before"
    yield f"{scores.texts:,} different texts; {before}."
    yield f"Scored: {scores.scored:,}; failed: {scores.failed:,}; longer than the scorer reads: {scores.cut:,}."
    for reason, count in scores.without_score.items():
        yield f"Without a score: {count:,}, {reason}."
    for word in scores.words:
        interval = "" if word.low is None or word.high is None else f" [{word.low:+.3f}, {word.high:+.3f}]"
        yield f"The words of a group alone move {word.label} by up to {word.shift:+.3f}{interval} ({word.group})."
    if not scores.unasked:
        yield f"Kept in {scores.folder}: {shell_command('report', scores.run)}"


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


@dataclass(frozen=True)
class ReviewPacketDocument(Document):
    """A packet that people review (`review --out`)."""

    FORMAT: ClassVar[str] = "review-packet"
    task: str
    packet: str
    """Name of the packet, which each file of answers says."""
    cards: int
    """Replies, pictures or statements that are reviewed."""
    files: tuple[str, ...]
    """A page per rater."""
    then: str
    """Command to give once the answers are there."""


@dataclass(frozen=True)
class ReviewDocument(ReviewResult, Document):
    """Answers of people to a packet (`review --collect`)."""

    FORMAT: ClassVar[str] = "review"


def review(
    run: Path,
    task: str,
    out: Path | None,
    collect: tuple[Path, ...],
    sample: int | None,
    raters: int,
    instructions: Path | None,
    sorting: str | None,
    score: str | None,
    naming: str,
    least_kl: float | None,
    threshold: float,
    seed: int,
    pictures: Path | None,
) -> Output[ReviewPacketDocument | ReviewDocument]:
    """Write a packet of what a run said, showed or found, or read what people said of it."""
    if collect:
        return _collect_reviews(run, collect, out, threshold, pictures)
    if out is None:
        raise click.UsageError("Say where the packets go (--out DIR), or give --collect FILE.")
    from facevalue.report.collect import found_statements  # noqa: PLC0415 - slow to import
    from facevalue.runs.reviews.packets import ReviewSettings, packet_for, write_review  # noqa: PLC0415
    from facevalue.runs.stored_run import StoredRun  # noqa: PLC0415

    settings = ReviewSettings(
        task=task, sample=sample, seed=seed, sorting=sorting, score=score, naming=naming, least_kl=least_kl,
        instructions=instructions,
    )  # fmt: skip
    opened = StoredRun.open(run, pictures=pictures)
    packet, key, lines = packet_for(opened, settings, lambda: found_statements([opened]))
    files = tuple(map(str, write_review(opened, packet, key, out, raters)))
    then = shell_command("review", run, "--collect", "FILE", "--collect", "FILE")
    document = ReviewPacketDocument(task, packet.name, len(packet.cards), files, then)
    noun = f"{raters} packets" if raters > 1 else "1 packet"
    return Output(document, [*lines, f"{out}: {noun}. When the answers are there:", then])


def _collect_reviews(
    run: Path, paths: Sequence[Path], out: Path | None, threshold: float, pictures: Path | None
) -> Output[ReviewPacketDocument | ReviewDocument]:
    if out is not None and out.suffix != ".csv":
        raise SettingError(f"{out.name} is not a .csv file.")
    from facevalue.runs.reviews.packets import collect  # noqa: PLC0415 - slow to import
    from facevalue.runs.stored_run import StoredRun  # noqa: PLC0415

    opened = StoredRun.open(run, pictures=pictures)
    outcome = collect(opened, paths, threshold)
    if out is not None:
        write_whole(out, csv_bytes(table_of(outcome)))
    result = review_result(opened, outcome)
    instead = f", in place of {outcome.replaced:,} given before" if outcome.replaced else ""

    def text() -> Iterator[RenderableType]:
        for item in review_texts(opened, outcome, result):
            yield Text(item) if isinstance(item, str) else _table(item)
        yield f"Kept in {result.folder}{instead}: {shell_command('report', run)}"

    return Output(ReviewDocument(**vars(result)), text())


def _table(of: TextTable) -> Table:
    """A table as terminals show it."""
    table = Table(title=of.title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for at, head in enumerate(of.heads):
        is_words = at in of.words
        table.add_column(head, justify="left" if is_words else "right", no_wrap=not is_words)
    for row in of.rows:
        table.add_row(*map(escape, row))
    return table
