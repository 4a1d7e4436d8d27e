"""`facevalue manifest`: lists of one's own pictures, and their statement."""

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import click
import polars as pl

from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output
from facevalue.csv_text import csv_bytes
from facevalue.errors import DataError, SettingError
from facevalue.protocol.protocol import Protocol
from facevalue.runs.makings.data_statement import FILE, ListFile, Rights, data_statement
from facevalue.runs.makings.made_list import stated_before, to_file, write_made_statement
from facevalue.runs.own_pictures.manifest_check import ManifestUse, check_manifest
from facevalue.stimuli.base import Kind
from facevalue.stimuli.manifest import MAX_BYTES, read_manifest
from facevalue.stimuli.manifest_guess import COMMON, Guess, guess
from facevalue.stimuli.manifest_rows import Fault
from facevalue.store.files import write_whole
from facevalue.studies import STUDIES
from facevalue.studies import protocol as look_up
from facevalue.untrusted_files import read_file, read_text

SHOWN = 20
"""Most rows that are listed of each kind of fault."""
BARE = 10
"""Most rows that are listed where nothing but their number is known of them."""
LEVELS = 6
"""Most levels of a column that are shown."""
BLOCKS = 6
"""Most blocks of a study that are shown."""
OMISSIONS = 3
"""Most of what is left out that is shown."""


@dataclass(frozen=True)
class GuessedManifest(Document):
    """Manifest that was begun from names of folders and files."""

    FORMAT: ClassVar[str] = "manifest-init"
    file: str
    pictures: int
    levels: Mapping[str, Mapping[str, int]]
    """Pictures by column and level, as guessed; "" where nothing could be guessed."""
    missing: tuple[str, ...]
    """Columns that the study needs and that could not be guessed."""
    unknown: tuple[str, ...]
    """Levels of a cue that are none of the study's."""
    ambiguous: Mapping[str, int]
    """Names that say two levels of a column, by column."""
    left_out: Mapping[str, int]
    """Files that are not in it, by reason."""
    refused: tuple[Fault, ...]
    """Why a run would refuse it as it is; empty if a run takes it."""
    use: ManifestUse | None
    """What the study would ask about the pictures; null without a study."""
    then: str
    """Command to give next."""


@dataclass(frozen=True)
class CheckedManifestDocument(Document):
    """Faults of a manifest and its pictures."""

    FORMAT: ClassVar[str] = "manifest-check"
    file: str
    study: str
    """Study that it was checked for; empty for any."""
    pictures: int
    identities: int | None
    """Persons that it names; null where it names none, so that each picture counts as one."""
    unit: str
    """What is sampled, and how many there are; empty if the file cannot be read."""
    factors: tuple[str, ...]
    use: ManifestUse | None
    """What the study would ask about the pictures; null without a study."""
    refused: tuple[Fault, ...]
    """Why a run would refuse it; empty if a run takes it."""
    doubtful: tuple[Fault, ...]
    """What a run would take, and perhaps should not."""
    then: str
    """Command to give next; empty where a run would refuse it."""


def init(folder: Path, study: str | None, out: Path | None, overwrite: bool) -> Output[GuessedManifest]:
    """Begin a manifest of the pictures in a folder, guessed from names of folders and files; no picture is opened."""
    protocol = None if study is None else _takes(study)
    to = folder / "manifest.csv" if out is None else out
    guessed = guess(folder, COMMON if protocol is None else protocol.columns(), to)
    if to.suffix.lower() != ".csv":
        raise SettingError(f"{to.name} does not end in .csv, which is what is written.")
    if to.exists() and not overwrite:
        raise DataError(f"{to} exists: name another file with --out, or replace it with --overwrite.")
    inside = folder.resolve().is_relative_to(to.resolve().parent)
    before = "" if not inside else folder.resolve().relative_to(to.resolve().parent).as_posix()
    for row in guessed.rows:
        row["path"] = row["path"] if before in ("", ".") else f"{before}/{row['path'].removeprefix('./')}"
    rows = [[row.get(name) or None for name in guessed.columns] for row in guessed.rows]
    write_whole(to, csv_bytes(pl.DataFrame(rows, dict.fromkeys(guessed.columns, pl.String()), orient="row")))
    result = check_manifest(to, protocol, None if inside else folder, pictures=False)
    needed = () if protocol is None else tuple(c.name for c in protocol.columns() if c.needed)
    rest = [*(["--for", study] if study else []), *([] if inside else ["--root", str(folder)])]
    document = GuessedManifest(
        file=str(to),
        pictures=len(guessed.rows),
        levels={name: Counter(row.get(name, "") for row in guessed.rows) for name in guessed.columns[1:]},
        missing=tuple(n for n in needed if n not in guessed.columns and f"{n}_1" not in guessed.columns),
        unknown=tuple(guessed.unknown),
        ambiguous={name: count for name, (count, _) in guessed.unsure.items()},
        left_out={reason: count for reason, (count, _) in guessed.left_out.items()},
        refused=tuple(result.faults),
        use=result.use,
        then=f"facevalue manifest check {shlex.join([str(to), *rest])}",
    )

    def text() -> Iterator[str]:
        yield from _guesses(guessed, to, needed, document.missing)
        yield from _use(result.use, protocol, in_detail=False)
        for warning in result.warnings:
            yield f"Note: {warning}."
        if result.faults:
            yield "A run would refuse it as it is:"
            yield from _fault_lines(result.faults)
        yield f"{'Fill it in' if result.faults else 'Look through it'}, then: {document.then}"

    return Output(document, text(), Exit.REFUSED if result.faults else Exit.DONE)


def check(file: Path, study: str | None, root: Path | None) -> Output[CheckedManifestDocument]:
    """Say all that is wrong with a manifest and its pictures, as a run would."""
    protocol = None if study is None else _takes(study)
    result = check_manifest(file, protocol, root)
    rest = shlex.join(["--manifest", str(file), *(["--root", str(root)] if root else [])])
    document = CheckedManifestDocument(
        file=str(file),
        study=study or "",
        pictures=result.pictures,
        identities=None if result.persons is None else result.persons.persons,
        unit="" if result.persons is None else result.persons.unit,
        factors=tuple(result.columns),
        use=result.use,
        refused=tuple(result.faults),
        doubtful=tuple(result.warnings),
        then="" if result.faults else f"facevalue plan {shlex.quote(study) if study else 'STUDY'} {rest}",
    )
    return Output(document, _check_lines(document, protocol), Exit.REFUSED if result.faults else Exit.DONE)


def _check_lines(manifest: CheckedManifestDocument, protocol: Protocol | None) -> Iterator[str]:
    if manifest.pictures:
        pictures = f"{manifest.pictures:,} {'picture' if manifest.pictures == 1 else 'pictures'}"
        yield f"{manifest.file}: {pictures}; factors: {', '.join(manifest.factors) or 'none'}"
        yield manifest.unit
    yield from _use(manifest.use, protocol)
    if manifest.refused:
        yield "A run would refuse it:"
        yield from _fault_lines(manifest.refused)
    if manifest.doubtful:
        yield "A run would take this, and perhaps should not:"
        yield from _fault_lines(manifest.doubtful)
    if manifest.then:
        yield f"A run takes it. Next: {manifest.then}"
        if protocol is not None and {s.name: s.default for s in protocol.settings}.get("kind") == Kind.UNSTATED:
            kinds = ", ".join(kind.value for kind in Kind if kind is not Kind.UNSTATED)
            yield f"Say what the pictures are when you run it, or the report warns that nobody did: --kind {kinds}."


def _takes(study: str) -> Protocol:
    protocol = look_up(study)
    if not _lists_pictures(protocol):
        names = [name for name, protocol in STUDIES.items() if _lists_pictures(protocol)]
        raise click.UsageError(
            f"{protocol.name} takes no manifest; {', '.join(names)} do, and own studies of that kind."
        )
    return protocol


def _lists_pictures(protocol: Protocol) -> bool:
    return any(setting.name == "manifest" for setting in protocol.settings)


def _use(use: ManifestUse | None, protocol: Protocol | None, *, in_detail: bool = True) -> Iterator[str]:
    """Say what a study would ask about the pictures: how many, in which parts, with what sample."""
    if use is None or protocol is None or not use.used:
        return
    which = f"{use.pictures:,}" if use.used == use.pictures else f"{use.used:,} of the {use.pictures:,}"
    sample = f": {use.sample}" if use.sample else ""
    yield f"{protocol.name} would ask {use.requests:,} requests about {which} pictures{sample}."
    blocks = [block for block in use.blocks if block.pictures]
    if in_detail and len(blocks) > 1:
        for block in blocks[:BLOCKS]:
            pictures = f"{block.pictures:,} {'picture' if block.pictures == 1 else 'pictures'}"
            yield f"  {block.name}: {pictures}, {block.requests:,} requests"
        if len(blocks) > BLOCKS:
            yield f"  and {len(blocks) - BLOCKS:,} more"
    if use.requests_about_others:
        alone = f" (leave them out: {use.alone})" if use.alone else ""
        names = list(dict.fromkeys(block.name for block in use.blocks if not block.pictures))
        listed = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
        yield f"Besides, {use.requests_about_others:,} requests about none of them, of {listed}{alone}."
    if use.left_out:
        yield "Left out, or less than the study asks for:"
        for omission in use.left_out[:OMISSIONS]:
            yield f"  {omission.what}: {omission.why}"
        if len(use.left_out) > OMISSIONS:
            yield f"  and {len(use.left_out) - OMISSIONS:,} more, which `facevalue plan` lists"


def _fault_lines(faults: Sequence[Fault]) -> Iterator[str]:
    for fault in faults:
        count = f" ({fault.count:,} {'row' if fault.count == 1 else 'rows'})" if fault.rows else ""
        yield f"  {fault.what}{count}"
        if fault.rows and not any(text for _, text in fault.rows):
            more = f" and {fault.count - BARE:,} more" if fault.count > BARE else ""
            numbers = ", ".join(str(row) for row, _ in fault.rows[:BARE])
            yield f"    {'row' if fault.count == 1 else 'rows'} {numbers}{more}"
            continue
        for row, text in fault.rows[:SHOWN]:
            yield f"    row {row}  {text}".rstrip()
        if fault.count > SHOWN:
            yield f"    and {fault.count - SHOWN:,} more"


def _guesses(guess: Guess, to: Path, needed: Sequence[str], missing: Sequence[str]) -> Iterator[str]:
    """Lines on what was guessed, and what could not be."""
    total = len(guess.rows)
    yield f"{to}: {total:,} {'picture' if total == 1 else 'pictures'}. Guessed from names:"
    for name in guess.columns[1:]:
        levels = Counter(row.get(name, "") for row in guess.rows)
        empty = levels.pop("", 0)
        commonest = ", ".join(f"{level} {count:,}" for level, count in levels.most_common(LEVELS))
        more = f" and {len(levels) - LEVELS:,} more" if len(levels) > LEVELS else ""
        blank = f"; empty for {empty:,}" if empty else ""
        guessed = f"{commonest}{more}{blank}" if levels else "could not be guessed; fill it in"
        yield f"  {name}: {guessed}"
    if missing:
        yield f"Needed, but could not be guessed: {', '.join(missing)}."
    if guess.unknown:
        listed = ", ".join(guess.unknown[:LEVELS]) + (" ..." if len(guess.unknown) > LEVELS else "")
        also = ", ".join(name for name in needed if any(not r.get(name) for r in guess.rows))
        yield f"Unknown to the study, so taken as cues of your own: {listed}. Fill in their {also or 'levels'}."
    if guess.misspelt:
        listed = ", ".join(f"{word} ({meant}?)" for word, meant in list(guess.misspelt.items())[:LEVELS])
        yield f"Not understood, and perhaps misspelt: {listed}."
    for name, (count, example) in guess.unsure.items():
        yield f"Ambiguous, so left empty: {name} of {count:,}, such as {example}."
    for reason, (count, example) in guess.left_out.items():
        yield f"Left out, {reason}: {count:,}, such as {example}."


_LONGEST_CITATION = 2**16


@dataclass(frozen=True)
class StatementDocument(Document):
    """Data statement that was written."""

    FORMAT: ClassVar[str] = "data-statement"
    file: str
    pictures: int
    missing: tuple[str, ...]
    """What Croissant asks for and nobody stated: licence, creator, ..."""


def statement(
    pictures: Path,
    licence: str | None,
    creator: str | None,
    url: str | None,
    cite: Path | None,
    published: datetime | None,
    data_version: str | None,
    name: str | None,
) -> Output[StatementDocument]:
    """Write the data statement of a list of pictures beside it."""
    is_made = pictures.is_dir()
    folder = pictures if is_made else pictures.parent
    if data_version is not None and not re.fullmatch(r"\d{1,9}\.\d{1,9}\.\d{1,9}", data_version):
        raise SettingError(f"--version is MAJOR.MINOR.PATCH, such as 1.0.0, not {data_version[:40]!r}.")
    before = stated_before(folder)
    rights = Rights(
        licence=licence or before.licence,
        creator=creator or before.creator,
        url=url or before.url,
        cite_as=before.cite_as if cite is None else read_text(cite, _LONGEST_CITATION, "a citation").strip(),
        published=before.published if published is None else published.date(),
        version=data_version or before.version,
    )
    if is_made:
        if name is not None:
            raise SettingError(f"--name is for lists of your own: {pictures} is called by what it was made for.")
        count = write_made_statement(folder, rights)
    else:
        table = read_manifest(pictures)
        data = read_file(pictures, MAX_BYTES, "a list of pictures")
        file = ListFile(name=pictures.name, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        content = to_file(data_statement(table, file, name or folder.resolve().name or "pictures", None, rights))
        write_whole(folder / FILE, content)
        count = table.height
    missing = _missing(rights)
    lines = [f"{count:,} pictures: {folder / FILE}"]
    if missing:
        lines.append(f"Not stated, as only you can: {', '.join(missing)}.")
    return Output(StatementDocument(str(folder / FILE), count, missing), lines)


def _missing(rights: Rights) -> tuple[str, ...]:
    """Options that state what Croissant asks for and nobody has stated."""
    entries = (
        ("--licence", rights.licence), ("--creator", rights.creator), ("--url", rights.url),
        ("--cite", rights.cite_as), ("--published", rights.published),
    )  # fmt: skip
    return tuple(option for option, value in entries if value is None)
