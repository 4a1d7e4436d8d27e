"""`facevalue review`: packets for people who review a run's replies, pictures or findings, and what they say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click
from rich.console import RenderableType

from facevalue.cli.output import Document, Output
from facevalue.cli.schema import Row
from facevalue.csv_text import csv_bytes
from facevalue.errors import SettingError
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
    """A file per rater; tasks and configuration for Label Studio."""
    then: str
    """Command to give once the answers are there."""


@dataclass(frozen=True, slots=True)
class RatersAgreement:
    """How far raters agree. Null where that cannot be known; `method` says why."""

    coefficient: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    """Ratings, or items that both of two raters rated."""
    items: int
    method: str


@dataclass(frozen=True)
class ReviewDocument(Document):
    """What people said of a packet (`review --collect`)."""

    FORMAT: ClassVar[str] = "review"
    task: str
    packet: str
    raters: Sequence[Row]
    """Each rater: answers, time in seconds, checks of attention failed, and whether the rater counts."""
    agreement: tuple[RatersAgreement, ...]
    accuracy: Sequence[Row]
    """Of replies: precision and recall of each label of the parser, or the judge, against what most people say."""
    items: Sequence[Row]
    """Each reply, or statement, with what people say of it."""
    questions: Sequence[Row]
    """Of pictures: each question with the share of answers that speak for a picture, how far raters agree, and what was
    printed."""
    groups: Sequence[Row]
    """Of pictures: the same share by each factor that says who is shown."""
    source: str
    """Where printed numbers are from; empty where there are none."""
    notes: tuple[str, ...]
    """Who and what is left out."""
    folder: str
    """Where the answers are kept."""
    replaced: int
    """Answers that the same raters gave before, in place of which these are."""


def review(
    run: Path,
    task: str,
    out: Path | None,
    collect: tuple[Path, ...],
    sample: int | None,
    raters: int,
    form: str,
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
        return _collected(run, collect, out, threshold, pictures)
    if out is None:
        raise click.UsageError("Say where the packets go (--out DIR), or give --collect FILE.")
    from facevalue.report.found_statements import found_statements  # noqa: PLC0415 - slow to import
    from facevalue.runs.review import ReviewSettings, packet_for, write_review  # noqa: PLC0415
    from facevalue.runs.stored import StoredRun  # noqa: PLC0415

    settings = ReviewSettings(
        task=task, sample=sample, seed=seed, sorting=sorting, score=score, naming=naming, least_kl=least_kl,
        instructions=instructions,
    )  # fmt: skip
    opened = StoredRun.open(run, pictures=pictures)
    packet, key, lines = packet_for(opened, settings, lambda: found_statements([opened]))
    files = tuple(map(str, write_review(opened, packet, key, out, raters, form)))
    then = shell_command("review", run, "--collect", "FILE", "--collect", "FILE")
    document = ReviewPacketDocument(task, packet.name, len(packet.cards), files, then)
    noun = "a project for Label Studio" if form == "label-studio" else f"{raters} packets" if raters > 1 else "1 packet"
    return Output(document, [*lines, f"{out}: {noun}. When the answers are there:", then])


def _collected(
    run: Path, paths: Sequence[Path], out: Path | None, threshold: float, pictures: Path | None
) -> Output[ReviewPacketDocument | ReviewDocument]:
    if out is not None and out.suffix != ".csv":
        raise SettingError(f"{out.name} is not a .csv file.")
    from facevalue.cli import review_tables  # noqa: PLC0415 - slow to import
    from facevalue.runs.ratings import FOLDER  # noqa: PLC0415
    from facevalue.runs.review import collect  # noqa: PLC0415
    from facevalue.runs.stored import StoredRun  # noqa: PLC0415

    opened = StoredRun.open(run, pictures=pictures)
    outcome = collect(opened, paths, threshold)
    if out is not None:
        write_whole(out, csv_bytes(review_tables.table_of(outcome)))
    tables = review_tables.rows_of(opened, outcome)
    document = ReviewDocument(
        task=outcome.key.task,
        packet=outcome.key.packet,
        raters=outcome.counts.raters.to_dicts(),
        agreement=tuple(RatersAgreement(**row) for row in review_tables.agreement_rows(outcome)),
        accuracy=tables.accuracy,
        items=tables.items,
        questions=tables.questions,
        groups=tables.groups,
        source=tables.source,
        notes=(
            *outcome.counts.notes,
            *(outcome.rated.said if outcome.rated is not None else ()),
            *(outcome.reader.notes if outcome.reader is not None else ()),
        ),
        folder=str(opened.folder / FOLDER),
        replaced=outcome.replaced,
    )
    instead = f", in place of {outcome.replaced:,} given before" if outcome.replaced else ""

    def text() -> Iterator[RenderableType]:
        yield from review_tables.text(opened, outcome, document.notes)
        yield f"Kept in {opened.folder / FOLDER}{instead}: {shell_command('report', run)}"

    return Output(document, text())
