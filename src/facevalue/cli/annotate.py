"""`facevalue annotate`: scores of open replies, by a scorer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from facevalue.annotations.model_scorers import load_scorer
from facevalue.annotations.scores import ANNOTATIONS
from facevalue.arguments import split_names
from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.models.base import ModelOptions
from facevalue.runs.annotation import annotate_with
from facevalue.runs.rich_progress import RichProgress
from facevalue.runs.stored_run import StoredRun
from facevalue.shell_commands import shell_command


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
