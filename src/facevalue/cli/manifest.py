"""`facevalue manifest`: a list of one's own pictures, begun from a folder and checked before anything is asked."""

import io
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
import polars as pl

from facevalue.csv_text import write_csv
from facevalue.errors import DataError
from facevalue.protocol.protocol import Protocol
from facevalue.runs.manifest_check import CheckedManifest, check_manifest
from facevalue.runs.upright import write_upright
from facevalue.stimuli.faults import Fault
from facevalue.stimuli.manifest import read_manifest
from facevalue.stimuli.manifest_guess import COMMON, Guess, guess
from facevalue.store.files import write_whole
from facevalue.studies import STUDIES
from facevalue.studies import protocol as look_up
from facevalue.terminal import say

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
_FOR = click.option(
    "--for", "study", metavar="STUDY", help="Study that will show the pictures: its name, or your own file."
)


@click.group()
def manifest() -> None:
    """List your own pictures for a study: begin the list, check it.

    \b
    facevalue manifest init pictures --for stylisticbias
    facevalue manifest check pictures/manifest.csv --for stylisticbias
    """  # noqa: D301 - a backspace, which click reads as "leave these lines as they are"


@manifest.command()
@click.argument("folder", type=click.Path(path_type=Path))
@_FOR
@click.option(
    "--to", type=click.Path(path_type=Path, dir_okay=False), help="File to write; FOLDER/manifest.csv by default."
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def init(folder: Path, study: str | None, to: Path | None, overwrite: bool) -> int:
    """Begin a manifest of the pictures in FOLDER, guessed from names of folders and files; no picture is opened.

    Exit status: 0 if the list is written and a run would take it; 1 if something in it is still to be filled in.
    """
    protocol = None if study is None else _takes(study)
    to = folder / "manifest.csv" if to is None else to
    guessed = guess(folder, COMMON if protocol is None else protocol.columns(), to)
    if to.suffix.lower() != ".csv":
        raise DataError(f"{to.name} does not end in .csv, which is what is written.")
    if to.exists() and not overwrite:
        raise DataError(f"{to} exists: name another file with --to, or replace it with --overwrite.")
    inside = folder.resolve().is_relative_to(to.resolve().parent)
    before = "" if not inside else folder.resolve().relative_to(to.resolve().parent).as_posix()
    for row in guessed.rows:
        row["path"] = row["path"] if before in ("", ".") else f"{before}/{row['path'].removeprefix('./')}"
    out = io.BytesIO()
    schema = dict.fromkeys(guessed.columns, pl.String())
    write_csv(
        pl.DataFrame([[row.get(n) or None for n in guessed.columns] for row in guessed.rows], schema, orient="row"), out
    )
    write_whole(to, out.getvalue())
    _tell(guessed, to, () if protocol is None else tuple(c.name for c in protocol.columns() if c.needed))
    result = check_manifest(to, protocol, None if inside else folder, pictures=False)
    _show_use(result, protocol, in_detail=False)
    if result.faults:
        say("A run would refuse it as it is:")
        _list(result.faults)
    rest = [*(["--for", study] if study else []), *([] if inside else ["--root", str(folder)])]
    look = "Fill it in" if result.faults else "Look through it"
    say(f"{look}, then: facevalue manifest check {shlex.join([str(to), *rest])}")
    return 1 if result.faults else 0


@manifest.command()
@click.argument("file", type=click.Path(path_type=Path))
@_FOR
@click.option(
    "--root", type=click.Path(path_type=Path), help="The folder that paths are relative to; FILE's by default."
)
@click.option("--fix", is_flag=True, help="Write upright copies of pictures that EXIF turns, and a list with them.")
def check(file: Path, study: str | None, root: Path | None, fix: bool) -> int:
    """Say all that is wrong with a manifest and its pictures, by row; row 1 is the first below the header.

    Reads it as a run does. Exit status: 0 if a run takes it, with or without warnings; 1 if it does not; 2 for wrong
    usage.
    """
    protocol = None if study is None else _takes(study)
    result = check_manifest(file, protocol, root)
    if result.pictures:
        pictures = f"{result.pictures:,} {'picture' if result.pictures == 1 else 'pictures'}"
        people = f"{result.identities:,} {'identity' if result.identities == 1 else 'identities'}"
        say(f"{file}: {pictures} of {people}; factors: {', '.join(result.columns) or 'none'}")
    _show_use(result, protocol)
    if result.faults:
        say("A run would refuse it:")
        _list(result.faults)
    if result.warnings:
        say("A run would take this, and perhaps should not:")
        _list(result.warnings)
    if fix:
        _fix(result, file, root)
    if result.faults:
        return 1
    rest = shlex.join(["--manifest", str(file), *(["--root", str(root)] if root else [])])
    say(f"A run takes it. Next: facevalue plan {shlex.quote(study) if study else 'STUDY'} {rest}")
    return 0


def _fix(result: CheckedManifest, file: Path, root: Path | None) -> None:
    """Write upright copies of turned pictures, and say where."""
    if not result.turned:
        say("No picture is turned: nothing to fix.")
        return
    place = root if root is not None else file.parent
    upright = write_upright(read_manifest(file, root=root), result.turned, file, place)
    copies = f"{upright.copies:,} upright {'copy' if upright.copies == 1 else 'copies'}"
    rest = f" --root {shlex.quote(str(root))}" if root else ""
    say(f"{copies} in {upright.folder}; the list that names them: {shlex.quote(str(upright.file))}{rest}")


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


def _show_use(result: CheckedManifest, protocol: Protocol | None, *, in_detail: bool = True) -> None:
    """Say what a study would ask about the pictures: how many, in which parts, with what sample."""
    use = result.use
    if use is None or protocol is None or not use.used:
        return
    which = f"{use.pictures:,}" if use.used == use.pictures else f"{use.used:,} of the {use.pictures:,}"
    sample = f": {use.sample}" if use.sample else ""
    say(f"{protocol.name} would ask {use.requests:,} requests about {which} pictures{sample}.")
    blocks = [block for block in use.blocks if block.pictures]
    if in_detail and len(blocks) > 1:
        for block in blocks[:BLOCKS]:
            pictures = f"{block.pictures:,} {'picture' if block.pictures == 1 else 'pictures'}"
            say(f"  {block.name}: {pictures}, {block.requests:,} requests")
        if len(blocks) > BLOCKS:
            say(f"  and {len(blocks) - BLOCKS:,} more")
    if use.requests_about_others:
        alone = f" (leave them out: {use.alone})" if use.alone else ""
        names = list(dict.fromkeys(block.name for block in use.blocks if not block.pictures))
        listed = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
        say(f"Besides, {use.requests_about_others:,} requests about none of them, of {listed}{alone}.")
    if use.left_out:
        say("Left out, or less than the study asks for:")
        for omission in use.left_out[:OMISSIONS]:
            say(f"  {omission.what}: {omission.why}")
        if len(use.left_out) > OMISSIONS:
            say(f"  and {len(use.left_out) - OMISSIONS:,} more, which `facevalue plan` lists")


def _list(faults: Sequence[Fault]) -> None:
    for fault in faults:
        count = f" ({fault.count:,} {'row' if fault.count == 1 else 'rows'})" if fault.rows else ""
        say(f"  {fault.what}{count}")
        if fault.rows and not any(text for _, text in fault.rows):
            more = f" and {fault.count - BARE:,} more" if fault.count > BARE else ""
            numbers = ", ".join(str(row) for row, _ in fault.rows[:BARE])
            say(f"    {'row' if fault.count == 1 else 'rows'} {numbers}{more}")
            continue
        for row, text in fault.rows[:SHOWN]:
            say(f"    row {row}  {text}".rstrip())
        if fault.count > SHOWN:
            say(f"    and {fault.count - SHOWN:,} more")


def _tell(guess: Guess, to: Path, needed: Sequence[str]) -> None:
    """Say what was guessed, and what could not be."""
    total = len(guess.rows)
    say(f"{to}: {total:,} {'picture' if total == 1 else 'pictures'}. Guessed from names:")
    for name in guess.columns[1:]:
        levels = Counter(row.get(name, "") for row in guess.rows)
        empty = levels.pop("", 0)
        commonest = ", ".join(f"{level} {count:,}" for level, count in levels.most_common(LEVELS))
        more = f" and {len(levels) - LEVELS:,} more" if len(levels) > LEVELS else ""
        blank = f"; empty for {empty:,}" if empty else ""
        say(f"  {name}: {commonest}{more}{blank}" if levels else f"  {name}: could not be guessed; fill it in")
    missing = [name for name in needed if name not in guess.columns and f"{name}_1" not in guess.columns]
    if missing:
        say(f"Needed, but could not be guessed: {', '.join(missing)}.")
    if guess.unknown:
        listed = ", ".join(guess.unknown[:LEVELS]) + (" ..." if len(guess.unknown) > LEVELS else "")
        also = ", ".join(name for name in needed if any(not r.get(name) for r in guess.rows))
        say(f"Unknown to the study, so taken as cues of your own: {listed}. Fill in their {also or 'levels'}.")
    for name, (count, example) in guess.unsure.items():
        say(f"Ambiguous, so left empty: {name} of {count:,}, such as {example}.")
    for reason, (count, example) in guess.left_out.items():
        say(f"Left out, {reason}: {count:,}, such as {example}.")
