"""`facevalue annotate`: scores of open replies, by a scorer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from facevalue.annotations.loading import load_scorer
from facevalue.annotations.scores import ANNOTATIONS
from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.models.base import ModelOptions
from facevalue.runs.annotated import annotate_with
from facevalue.runs.rich_progress import RichProgress
from facevalue.runs.stored import StoredRun


@dataclass(frozen=True, slots=True)
class WordEffect:
    """How far the words of a group alone move a label."""

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
    chosen = tuple(label.strip() for label in labels.split(",") if label.strip())
    options = ModelOptions(concurrency=concurrency)
    stored = StoredRun.open(run)
    scored = annotate_with(stored, lambda: load_scorer(scorer, chosen, rubric, options), RichProgress(), name, prompt)
    now = scored.outcome
    document = AnnotateDocument(
        run=str(run),
        name=scored.name,
        scorer=scored.scorer,
        texts=now.texts,
        scored_before=now.before,
        scored=now.done - now.failed,
        failed=now.failed,
        cut=now.cut,
        without_score=scored.missing,
        words=tuple(WordEffect(*row) for row in scored.moved.iter_rows()),
        unasked=now.unasked,
        why_unasked=now.why if now.unasked else "",
        folder=str(run / ANNOTATIONS / scored.name),
    )
    if now.unasked:
        warning = f"Not scored: {now.unasked:,} ({now.why}). The same command tries them again."
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
        yield f"Kept in {scores.folder}: facevalue report {scores.run}"
