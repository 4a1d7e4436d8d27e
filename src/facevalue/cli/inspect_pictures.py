"""`facevalue inspect-pictures`: what pictures show, what their editor changed, and which pass."""

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.errors import SettingError
from facevalue.inspection.inspector import places_of
from facevalue.protocol.picture_checks import ACCEPTED, LOOKALIKES, REASONS, TABLE, USUAL, read_rules
from facevalue.report.formatting import chance_with_sign
from facevalue.runs.inspecting import InspectionOutcome, inspect_pictures
from facevalue.runs.picture_acceptance import Acceptance, Balance, GroupShare, Limit
from facevalue.runs.rich_progress import RichProgress
from facevalue.shell_commands import shell_command

_ALIKE = 0.05  # p below which groups are said not to pass alike


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule, and how many pictures break it."""

    rule: str
    pictures: int


@dataclass(frozen=True)
class InspectPicturesDocument(Document):
    """Pictures that were inspected, and what rules leave of them."""

    FORMAT: ClassVar[str] = "inspect-pictures"
    run: str
    """Folder or URL of the run."""
    complete: bool
    pictures: int
    failed: int
    """Pictures whose inspection failed; the same command inspects them again."""
    unreadable: int
    """Pictures that cannot be decoded."""
    edits: int
    """Pictures with a source."""
    lookalikes: int | None
    """Pictures that look like another of the list that is no edit of the same source; null where none was looked for,
    as in lists of more than 200,000."""
    accepted: int
    rules: tuple[str, ...]
    broken: tuple[BrokenRule, ...]
    limits: tuple[Limit, ...]
    """Limits that known pairs gave."""
    shares: tuple[GroupShare, ...]
    """Share that passes: of all, and of each level of each factor of people."""
    balance: tuple[Balance, ...]
    file: str
    """Every picture with its quantities and reasons; empty until the run is complete."""


def inspect(
    place: Path | str,
    with_model: tuple[str, ...],
    rules: Path | None,
    out: Path | str | None,
    root: str,
    cue: str,
    device: str | None,
) -> Output[InspectPicturesDocument]:
    """Inspect every picture of a list, and say which pass."""
    if isinstance(out, Path) and out.suffix:
        raise SettingError(f"{out} is no folder: an inspection is a run folder.")
    models = places_of(",".join(with_model)) if with_model else {}
    declared = read_rules(rules) if rules else USUAL
    outcome = inspect_pictures(
        place, models, out, RichProgress(), rules=declared, root=root, cue=cue, device=device, watched=_show_progress
    )
    texts = tuple(rule.text for rule in declared)
    document = _document(outcome, texts)
    if not document.complete:
        status = Exit.INTERRUPTED if outcome.summary.interrupted else Exit.INCOMPLETE
        return Output(document, ["The same command resumes."], status)
    status = Exit.REFUSED if not document.accepted else Exit.INCOMPLETE if document.failed else Exit.DONE
    return Output(document, _lines(document), status)


def _show_progress(names: Sequence[str]) -> Iterable[str]:
    with click.progressbar(names, label="Sources", file=sys.stderr) as progress:
        yield from progress


def _document(outcome: InspectionOutcome, rules: tuple[str, ...]) -> InspectPicturesDocument:
    inspections, acceptance = outcome.inspections, outcome.acceptance
    if inspections is None or acceptance is None:
        return InspectPicturesDocument(
            str(outcome.place), False, outcome.summary.requests, outcome.summary.errors, 0, 0, 0, 0, rules, (), (),
            (), (), "",
        )  # fmt: skip
    table = inspections.table
    return InspectPicturesDocument(
        run=str(outcome.place),
        complete=True,
        pictures=table.height,
        failed=int(table["readable"].null_count()),
        unreadable=int((table["readable"] == 0).sum()),
        edits=inspections.edits.height,
        lookalikes=int((table[LOOKALIKES] > 0).sum()) if table[LOOKALIKES].count() else None,
        accepted=int(acceptance.table[ACCEPTED].sum()),
        rules=rules,
        broken=tuple(_broken_rules(acceptance)),
        limits=acceptance.limits,
        shares=acceptance.shares,
        balance=acceptance.balance,
        file=f"{outcome.place}/{TABLE}",
    )


def _broken_rules(acceptance: Acceptance) -> Iterator[BrokenRule]:
    counts = acceptance.table[REASONS].explode().drop_nulls().value_counts(sort=True)
    for rule, pictures in counts.iter_rows():
        yield BrokenRule(rule, pictures)


def _lines(document: InspectPicturesDocument) -> Iterator[str]:
    yield f"{document.pictures:,} pictures, {document.edits:,} of them edits; {document.accepted:,} pass."
    if document.failed:
        yield f"Not inspected: {document.failed:,}. The same command tries them again."
    if document.unreadable:
        yield f"Cannot be decoded: {document.unreadable:,}."
    if document.lookalikes:
        yield f"Look like another picture of another source: {document.lookalikes:,}."
    for broken in document.broken:
        yield f"  {broken.pictures:,} fail: {broken.rule}"
    for limit in document.limits:
        of = ", ".join(filter(None, (limit.cue, limit.group))) or "all"
        pairs = f"{limit.pairs:,} pairs of {limit.kind}, {limit.people:,} people ({limit.of})"
        yield f"  {limit.quantity}, {of}: {limit.value:.3f}, from {pairs}"
    for share in document.shares:
        interval = "" if share.low is None or share.high is None else f" [{share.low:.0%}, {share.high:.0%}]"
        of = f"{share.factor} {share.group}" if share.factor else "All"
        count = "one person" if share.people == 1 else f"{share.people:,} people"
        people = f"{share.accepted:,} of {share.pictures:,} pictures of {count}"
        yield f"{of}: {share.share:.0%}{interval} pass, {people}."
    for balance in document.balance:
        yield f"{balance.factor}: {_describe_balance(balance)}."
    yield f"Every picture: {document.file}"
    yield f"Report: {shell_command('report', document.run)}"
    yield f"Leave out what fails: facevalue run ... --manifest ... --exclude {shlex.quote(document.run)}"


def _describe_balance(balance: Balance) -> str:
    apart = f"groups pass up to {balance.spread:.0%} apart"
    if balance.p is None:
        return f"{apart}; people are in several groups, or each is one, so that chance cannot be told"
    verdict = "not balanced" if balance.p < _ALIKE else "no more than chance can do"
    return f"{apart}, {verdict} (p {chance_with_sign(balance.p)}, groups dealt to people)"
