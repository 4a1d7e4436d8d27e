"""`facevalue manifest statement`: what is to be known of pictures before they are used, as a Croissant document."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from facevalue.cli.output import Document, Output
from facevalue.errors import SettingError
from facevalue.runs.croissant import FILE, ListFile, Rights
from facevalue.runs.data_statement import data_statement
from facevalue.runs.made_list import stated_before, to_file, write_made_statement
from facevalue.stimuli.manifest import MAX_BYTES, read_manifest
from facevalue.store.files import write_whole
from facevalue.untrusted_files import read_file, read_text

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
