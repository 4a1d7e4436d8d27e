"""Data statements of pictures that were made, from what the run that made them holds, and of lists of one's own."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from facevalue.errors import DataError
from facevalue.given import read_file, to_json
from facevalue.parquet import read_table
from facevalue.protocol.making import IMAGE, PROMPT, SOURCE, Making
from facevalue.protocol.making_study import GROUPS, MADE_FOR, UNIT
from facevalue.runs.croissant import FILE, ListFile, Rights, stated_in
from facevalue.runs.data_statement import Provenance, data_statement
from facevalue.runs.picture_records import stored_records
from facevalue.store.files import STIMULI
from facevalue.store.manifest import RunManifest, read_manifest
from facevalue.store.objects import Objects
from facevalue.studies import STUDIES, protocol
from facevalue.types import OptionValue, Status

_LARGEST = 16 * 2**20
_DRAWN = "drawn"
"""Generator of FaceValue's own drawings."""


def offer_of(options: Mapping[str, OptionValue]) -> Making | None:
    """What the study has made whose pictures a making makes; None for a file of one's own, which is not known here.

    `options`: of the making.
    """
    name = str(options[MADE_FOR])
    offer = protocol(name).extras.making if name in STUDIES else None
    return None if offer is None else offer()


def made_statement(folder: Path, pictures: pl.DataFrame, data: bytes, rights: Rights) -> bytes:
    """Return the data statement of what a making made so far, as a file.

    Parameters
    ----------
    folder:
        The run that makes them.
    pictures, data:
        The list of those that are there, and its bytes.
    rights:
        What is stated about them.
    """
    file, run = ListFile(name=STIMULI, sha256=hashlib.sha256(data).hexdigest(), size=len(data)), read_manifest(folder)
    name = f"Pictures made for {run.options[MADE_FOR]}"
    return to_file(data_statement(pictures, file, name, _provenance(folder, run), rights))


def stated_before(place: Path | str) -> Rights:
    """What the data statement of a place states about its pictures; nothing where there is none that can be read."""
    try:
        if isinstance(place, str):
            content = Objects.at(place, make=True).get(FILE)
            data = None if content is None else content[0]
        else:
            path = place / FILE
            data = read_file(path, _LARGEST, "a data statement") if path.exists() else None
        return Rights() if data is None else stated_in(to_json(data, FILE))
    except DataError:
        return Rights()  # it is written anew


def to_file(document: dict[str, Any]) -> bytes:
    """A data statement as its file's bytes."""
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False).encode()


def _provenance(folder: Path, run: RunManifest) -> Provenance:
    """How pictures were made: what was asked for, of whom, and what became of it."""
    table, offer, groups = read_table(folder / STIMULI), offer_of(run.options), run.options[GROUPS]
    requested = table.filter(pl.col(PROMPT).is_not_null())
    records = stored_records(folder).unique("trial", keep="last", maintain_order=True)
    status = pl.DataFrame(
        {IMAGE: requested[IMAGE].gather(records["trial"].cast(pl.Int64)), "status": records["status"].cast(pl.String)}
    )
    outcomes = table.join(status, on=IMAGE, how="left", maintain_order="left").with_columns(
        status=pl.when(pl.col(PROMPT).is_null()).then(pl.lit(Status.OK.value)).otherwise(pl.col("status"))
    )
    settings = dict(run.model_settings)
    generator, editor = (str(name) if (name := settings.pop(role, None)) else None for role in ("generator", "editor"))
    ends: list[datetime] = [session.end for session in run.sessions if session.end is not None]
    return Provenance(
        title=str(run.options[MADE_FOR]),
        about="" if offer is None else offer.about,
        outcomes=outcomes,
        unit=str(run.options[UNIT]),
        groups=tuple(groups) if isinstance(groups, list) else (),
        generator=generator,
        editor=editor if table[SOURCE].count() else None,
        settings=settings,
        drawings={generator, editor} <= {_DRAWN, None},
        content_note="" if offer is None else offer.note,
        began=run.start,
        ended=run.end or max(ends, default=None),
    )
