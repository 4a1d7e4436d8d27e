"""List of the pictures that a making made: its manifest, which studies read, and its data statement."""

import hashlib
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from facevalue.errors import DataError, FaceValueError
from facevalue.parquet import parquet_bytes, read_table
from facevalue.places import run_of
from facevalue.protocol.making import IMAGE, PATH, PICTURE_SEED, PROMPT, SOURCE, with_sources
from facevalue.protocol.making_study import GROUPS, MADE_FOR, TEXTS, UNIT, picture_kinds
from facevalue.runs.makings.data_statement import FILE, ListFile, Provenance, Rights, data_statement, stated_in
from facevalue.runs.makings.data_statement import FILE as STATEMENT
from facevalue.runs.makings.preparation import PreparedMaking
from facevalue.runs.makings.records import named_records, outdated_edits
from facevalue.runs.preparation import Prepared
from facevalue.runs.reviews.outcomes import read_kept
from facevalue.runs.reviews.pictures import PictureSet
from facevalue.runs.reviews.rated_pictures import RatedPictures
from facevalue.runs.storage.mirror import mirror_run
from facevalue.runs.stored_run import StoredRun
from facevalue.stimuli.manifest import MAX_BYTES, PICTURE_KIND, read_parquet
from facevalue.store.album import path_of
from facevalue.store.files import STIMULI, read_placed, write_placed, write_whole
from facevalue.store.manifest import RunManifest, read_manifest
from facevalue.studies.offers import making_offer
from facevalue.types import Status
from facevalue.untrusted_files import read_file, to_json

# Data statements of pictures that were made, from what the run that made them holds, and of lists of one's own.


_LARGEST = 16 * 2**20
_DRAWN = "drawn"
"""Generator of FaceValue's own drawings."""


def made_statement(
    folder: Path,
    records: pl.DataFrame,
    pictures: pl.DataFrame,
    data: bytes,
    rights: Rights,
    people: RatedPictures | None = None,
) -> bytes:
    """Return the data statement of what a making made so far, as a file.

    Parameters
    ----------
    folder:
        The run that makes them.
    records:
        What became of each, as of `named_records`.
    pictures, data:
        The list of those that are there, and its bytes.
    rights:
        What is stated about them.
    people:
        What people said of them, if it is at hand; else it is read.
    """
    file, run = ListFile(name=STIMULI, sha256=hashlib.sha256(data).hexdigest(), size=len(data)), read_manifest(folder)
    name = f"Pictures made for {run.options[MADE_FOR]}"
    provenance = replace(_provenance(folder, run, records), people=people or _people(folder, pictures))
    return to_file(data_statement(pictures, file, name, provenance, rights))


def _people(folder: Path, pictures: pl.DataFrame) -> RatedPictures | None:
    """Ratings of the pictures by people; None where they cannot be read, as nothing of a making depends on them."""
    try:
        ratings = read_kept(folder)
        people = (
            None if ratings is None else PictureSet.from_run(StoredRun.open(folder), pictures).rate_pictures(ratings)
        )
    except FaceValueError:
        return None
    return people if people is not None and people.questions.height else None


def stated_before(place: Path | str) -> Rights:
    """Rights that the data statement at a place states; empty where there is none that can be read."""
    try:
        data = read_placed(place, FILE, _LARGEST, "a data statement")
        return Rights() if data is None else stated_in(to_json(data, FILE))
    except DataError:
        return Rights()  # it is written anew


def write_made_statement(folder: Path, rights: Rights, people: RatedPictures | None = None) -> int:
    """Write the data statement of a folder that `make` filled anew; returns how many pictures it lists.

    `rights`, `people`: as of `made_statement`.
    """
    run = StoredRun.open(run_of(folder))
    data, table = read_file(folder / STIMULI, MAX_BYTES, "a list of pictures"), read_parquet(folder / STIMULI)
    write_whole(folder / FILE, made_statement(run.folder, named_records(run.folder), table, data, rights, people))
    return table.height


def to_file(document: dict[str, Any]) -> bytes:
    """A data statement as its file's bytes."""
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False).encode()


def _provenance(folder: Path, run: RunManifest, records: pl.DataFrame) -> Provenance:
    """Provenance of pictures: what was asked for, the people shown, and the outcome of each request."""
    table, offer, groups = read_table(folder / STIMULI), making_offer(str(run.options[MADE_FOR])), run.options[GROUPS]
    status = records.unique(IMAGE, keep="last", maintain_order=True).select(IMAGE, pl.col("status").cast(pl.String))
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


def list_made(prepared: PreparedMaking, records: pl.DataFrame) -> pl.DataFrame:
    """Write the manifest of the pictures that are there, and their data statement; return the manifest.

    `records`: what became of the pictures, as of `named_records`.
    """
    pictures = made_pictures(prepared, records)
    data = parquet_bytes(pictures)
    statement = made_statement(run_folder(prepared.run), records, pictures, data, stated_before(prepared.place))
    for name, content in ((STIMULI, data), (STATEMENT, statement)):
        write_placed(prepared.place, name, content)
    return pictures


def made_pictures(prepared: PreparedMaking, records: pl.DataFrame) -> pl.DataFrame:
    """A row per picture that is there: its id and path, what it shows, what it was made from, and by whom.

    `records`: as of `named_records`.
    """
    folder = run_folder(prepared.run)
    table, run = read_table(folder / STIMULI), read_manifest(folder)
    current = records.filter(pl.col("status") == "ok", ~pl.col(IMAGE).is_in([*outdated_edits(records)]))
    existing = pl.DataFrame(
        [(name, outcome.digest, outcome.media_type) for name, outcome in prepared.existing.items()],
        schema=dict.fromkeys((IMAGE, "picture", "media_type"), pl.String()), orient="row",
    )  # fmt: skip
    of_pictures = [IMAGE, "picture", "media_type", "width", "height", "revised_prompt", "seed", "attempts"]
    pictures = pl.concat([current.select(of_pictures), existing], how="diagonal")
    edited, prompted = pl.col(SOURCE).is_not_null(), pl.col(PROMPT).is_not_null()
    factors = [name for name in table.columns if name not in (IMAGE, *TEXTS)]
    kinds = picture_kinds(table, run.options)
    rows = table.with_columns(kinds).join(pictures, on=IMAGE, how="inner", maintain_order="left")
    rows = with_sources(rows)  # a source that was lost may be on its way
    paths = [path_of(*pair) for pair in rows.select("picture", "media_type").iter_rows()]
    by = {name: pl.lit(run.model_settings.get(name), pl.String) for name in ("generator", "editor")}
    return rows.select(
        IMAGE, pl.Series(PATH, paths, pl.String), *factors, SOURCE, PROMPT, "revised_prompt",
        pl.col("seed").cast(pl.String).alias(PICTURE_SEED),
        pl.when(prompted & ~edited).then(by["generator"]).alias("generator"),
        pl.when(edited).then(by["editor"]).alias("editor"),
        PICTURE_KIND, pl.col("width", "height", "attempts").cast(pl.String),
    )  # fmt: skip


def run_folder(run: Prepared) -> Path:
    """Folder of a making's run; of one in object storage its mirror."""
    return mirror_run(run.folder) if isinstance(run.folder, str) else run.folder
