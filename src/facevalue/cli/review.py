"""`facevalue review`: packets for people who review a run's replies, pictures or findings, and what they say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from facevalue.cli.output import Document, Output
from facevalue.csv_text import csv_bytes
from facevalue.errors import SettingError
from facevalue.runs.review_results import ReviewResult, TextTable, review_result, review_texts, table_of
from facevalue.shell_commands import shell_command
from facevalue.store.files import write_whole


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
    from facevalue.report.found_statements import found_statements  # noqa: PLC0415 - slow to import
    from facevalue.runs.review import ReviewSettings, packet_for, write_review  # noqa: PLC0415
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
    from facevalue.runs.review import collect  # noqa: PLC0415 - slow to import
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
