"""`facevalue studies` and `new`: the studies that are known, and a file to start one's own from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from facevalue.cli.output import Document, Output, WrittenFiles
from facevalue.errors import DataError, SettingError, UnknownNameError
from facevalue.printable import drawing_command, shell_command
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import Setting
from facevalue.store.files import write_whole
from facevalue.studies import DECLARED, EXAMPLES, STUDIES, available, file_text
from facevalue.studies import protocol as look_up
from facevalue.studies.registry import StudyEntry


@dataclass(frozen=True, slots=True)
class DescribedStudy:
    """Description of a study: its questions, its paper, what it takes and what it lacks."""

    name: str
    title: str
    """What it asks, in a sentence."""
    paper: str
    needs: str
    """What its user brings, such as pictures."""
    left_out: str
    """What of the paper it does not have; empty if nothing is known to be left out."""
    note: str
    """Content note: stereotypes and slurs that it shows."""
    offers: tuple[str, ...]
    """Commands beyond those that every study has."""


@dataclass(frozen=True)
class StudiesDocument(Document):
    """Studies that can be run."""

    FORMAT: ClassVar[str] = "studies"
    studies: tuple[DescribedStudy, ...]
    unavailable: Mapping[str, str]
    """Studies of other packages that cannot be imported, and why."""


def studies(study: str | None) -> Output[StudiesDocument]:
    """List the studies, or describe one."""
    listed, missing = available() if study is None else ({study: StudyEntry.from_protocol(look_up(study))}, {})
    described = tuple(
        DescribedStudy(
            name=entry.name,
            title=entry.title,
            paper=entry.citation,
            needs=entry.needs,
            left_out=entry.left_out,
            note=entry.content_note,
            offers=tuple(entry.extras.commands),
        )
        for entry in listed.values()
    )
    document = StudiesDocument(described, missing)
    return Output(document, _list_studies(document) if study is None else _describe_study(described[0]))


def _table(*, heading: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_header=heading)
    table.add_column("study", style="bold", no_wrap=True)
    table.add_column("what it asks, and needs")
    return table


def _describe_study(study: DescribedStudy) -> Iterator[RenderableType]:
    table = _table(heading=False)
    table.add_row(study.name, Text(study.title))
    for field in fields(DescribedStudy)[2:]:
        if value := getattr(study, field.name):
            text = value if isinstance(value, str) else ", ".join(value)
            table.add_row(field.name.replace("_", " "), Text(text))
    yield table


def _list_studies(document: StudiesDocument) -> Iterator[RenderableType]:
    table = _table(heading=True)
    table.add_column("also offers")
    for study in document.studies:
        needs = f"\nNeeds {study.needs}." if study.needs and not study.needs.startswith("nothing") else ""
        table.add_row(study.name, Text(study.title + needs), ", ".join(study.offers))
    for name, reason in document.unavailable.items():
        table.add_row(name, Text(f"Unavailable: {reason}"), "")
    yield table
    yield "\nfacevalue studies NAME: its paper, and what of that is left out."


def new(file: Path, like: str | None) -> Output[WrittenFiles]:
    """Write a commented study to edit and run; `like` is an example or a published study."""
    like = like or EXAMPLES[0]
    if file.suffix != ".toml":
        raise SettingError(f"{file.name} does not end in .toml, which tells the file of a study from the name of one.")
    if file.exists():
        raise DataError(f"{file} already exists: name another file.")
    if like in (*EXAMPLES, *DECLARED):
        text = file_text(like).replace(f'name = "{like}"', f'name = "{file.stem}"').replace(f"{like}.toml", file.name)
    elif like in STUDIES:
        text = narrowed_protocol(STUDIES[like])
    else:
        raise UnknownNameError("study to start from", like, [*EXAMPLES, *STUDIES])
    write_whole(file, text.encode())
    is_drawn = like in EXAMPLES and "\n[make]\n" in text
    then = drawing_command(file) if is_drawn else shell_command("plan", file)
    next_step = "make its pictures" if is_drawn else "plan it"
    return Output(WrittenFiles((str(file),), then=then), [f"{file}: edit it, then {next_step} with {then}"])


def narrowed_protocol(protocol: Protocol) -> str:
    """A file that narrows a published protocol: its settings, commented out."""
    lines = [f"# {protocol.title}", "", f'like = "{protocol.name}"', "", "[settings]"]
    for setting in protocol.settings:
        lines += [f"# {setting.help}", f"# {setting.name} = {_setting_text(setting)}", ""]
    return "\n".join(lines)


def _setting_text(setting: Setting) -> str:
    value = setting.default
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(member if setting.name == 'seeds' else _quote_text(member) for member in value)}]"
    return _quote_text(value) if isinstance(value, str) else str(value)


def _quote_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
