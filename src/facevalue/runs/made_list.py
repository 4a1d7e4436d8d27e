"""List of the pictures that a making made: its manifest, which studies read, and its data statement."""

from pathlib import Path

import polars as pl

from facevalue.parquet import parquet_bytes, read_table
from facevalue.protocol.making import IMAGE, PATH, PICTURE_SEED, PROMPT, SOURCE, with_sources
from facevalue.protocol.making_study import TEXTS, picture_kinds
from facevalue.runs.croissant import FILE as STATEMENT
from facevalue.runs.made_statement import made_statement, stated_before
from facevalue.runs.mirror import mirrored
from facevalue.runs.picture_records import outdated_edits
from facevalue.runs.prepared import Prepared
from facevalue.runs.prepared_making import PreparedMaking
from facevalue.stimuli.manifest import PICTURE_KIND
from facevalue.store.album import path_of
from facevalue.store.files import STIMULI
from facevalue.store.manifest import read_manifest
from facevalue.store.placed_files import write_placed


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
    return mirrored(run.folder) if isinstance(run.folder, str) else run.folder
