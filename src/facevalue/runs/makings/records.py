"""Records of pictures that were made: a small JSON object each, which stands where other runs have a reply."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.errors import RunError
from facevalue.models.base import Called, checked_facts
from facevalue.parquet import read_table
from facevalue.places import MAKING_FOLDER
from facevalue.protocol.making import IMAGE, SOURCE, requested_pictures
from facevalue.runs.stored_run import StoredRun
from facevalue.store.album import album_at, path_of
from facevalue.store.files import STIMULI
from facevalue.store.reader import collected, scan_responses, scan_stored

Fact = str | int | float | bool
_MOST_FACTS, _LONGEST = 40, 20_000
FAILED_CHECK = "It failed a check, and is made with another seed, time {}."
"""Why a picture that is asked for again no longer counts."""
_AGAIN = r"^It failed a check, and is made with another seed, time (\d{1,6})\.$"
_SHOWN = 5  # pictures that an error names
_AT_ONCE = 2_048  # records that are read at once
_COLUMNS = {
    "picture": pl.String(), "media_type": pl.String(), "width": pl.Int64(), "height": pl.Int64(), "bytes": pl.Int64(),
    "stated": pl.String(), "revised_prompt": pl.String(), "seed": pl.Int64(), "edited_from": pl.String(),
    "attempts": pl.Int64(),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PictureRecord:
    """Record that a run stores of a picture that was made; the picture itself lies in the album.

    Attributes
    ----------
    picture:
        SHA-256 of its bytes.
    media_type, width, height, bytes:
        What it is, in pixels and bytes.
    stated:
        The kind that the generator called it, where that is another one.
    revised_prompt:
        The text it was made from, where that is another than the one sent.
    seed:
        The seed it was made with; None where the generator takes none.
    edited_from:
        SHA-256 of the picture that it was edited from; None where it was made from its text.
    attempts:
        How often it was asked for until it came, by all sessions.
    facts:
        What else the generator says of it.
    """

    picture: str
    media_type: str
    width: int
    height: int
    bytes: int
    stated: str | None = None
    revised_prompt: str | None = None
    seed: int | None = None
    edited_from: str | None = None
    attempts: int = 1
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def text(self) -> str:
        """The record as it is stored; what is None is left out."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return json.dumps({name: value for name, value in values.items() if value not in (None, {})})


def outcome_text(attempts: int) -> str:
    """Record stored of a picture that was not made: how often all sessions asked for it."""
    return json.dumps({"attempts": attempts})


def checked_record_facts(generator: Called, candidate: object) -> dict[str, Fact]:
    """Facts of a picture as files can hold them, a few dozen short ones; anything else is a `ModelError`."""
    facts = checked_facts(generator, "The facts of a picture", candidate)
    return {name[:100]: value[:_LONGEST] if isinstance(value, str) else value
            for name, value in list(facts.items())[:_MOST_FACTS]}  # fmt: skip


def stored_records(folder: Path) -> pl.DataFrame:
    """Pictures of a making run: `trial`, `status`, and the columns of their records, null where none was made."""
    rows = collected(folder, scan_responses(folder).select("trial", "status", "text"))
    records = _decode_records(folder, rows["text"])
    return pl.concat([rows.drop("text"), records], how="horizontal")


def named_records(folder: Path) -> pl.DataFrame:
    """The same with the pictures' ids, and those of their sources (`image`, `source`)."""
    records = stored_records(folder)
    pictures = requested_pictures(read_table(folder / STIMULI)).select(IMAGE, SOURCE)
    return pl.concat([records, pictures[records["trial"].cast(pl.Int64)]], how="horizontal")


def earlier_attempts(folder: Path) -> dict[int, int]:
    """Number of times that missing pictures were asked for, by trial; those never asked for are left out."""
    rows = collected(folder, scan_stored(folder).select("trial", "repeat", "status", "text"))
    settled = rows.filter(pl.col("status") != "error").select("trial")
    failed = rows.join(settled, on="trial", how="anti")
    if failed.is_empty():
        return {}
    with_attempts = failed.with_columns(_decode_records(folder, failed["text"])["attempts"])
    attempts = pl.col("attempts").max().fill_null(0) + pl.col("attempts").is_null().sum()
    return dict(with_attempts.group_by("trial").agg(attempts).iter_rows())


def times_again(folder: Path) -> dict[int, int]:
    """Number of times that pictures were asked for again after a failed check, by trial; others are left out."""
    rows = collected(folder, scan_stored(folder).select("trial", "error"))
    times = rows.select("trial", pl.col("error").str.extract(_AGAIN, 1).cast(pl.Int64).alias("times")).drop_nulls()
    return dict(times.group_by("trial").agg(pl.col("times").max()).iter_rows())


def outdated_edits(records: pl.DataFrame) -> dict[str, int]:
    """Edits of a picture that is another one by now, as it was made anew, or refused: their trials, by id.

    `records`: as of `named_records`.
    """
    settled = records.filter(pl.col("status").is_in(["ok", "refused"]))
    origins = settled.select(pl.col(IMAGE).alias(SOURCE), pl.col("picture").fill_null("").alias("origin"))
    edits = settled.filter(pl.col("edited_from").is_not_null()).select(IMAGE, "trial", SOURCE, "edited_from")
    outdated = edits.join(origins, on=SOURCE).filter(pl.col("origin") != pl.col("edited_from"))
    return dict(outdated.select(IMAGE, "trial").iter_rows())


def early_edits(records: pl.DataFrame) -> int:
    """Count edits that failed as their source was not there yet, and is by now; `records` as of `named_records`."""
    unasked = records.filter(pl.col("status") == "error", pl.col("attempts") == 0)
    return int(unasked[SOURCE].is_in(records.filter(pl.col("status") == "ok")[IMAGE].implode()).sum())


def picture_faults(records: pl.DataFrame, place: Path | str, *, digests: bool) -> dict[int, str]:
    """Say of each picture of a making that is missing or damaged what is wrong with it, by trial.

    Parameters
    ----------
    records:
        As of `stored_records`.
    place:
        Folder or URL of the pictures.
    digests:
        Whether every picture is read and its digest compared; else their sizes are, which costs a listing.
    """
    album = album_at(place)
    sizes = {} if digests else album.sizes()
    out: dict[int, str] = {}
    pictures = records.filter(pl.col("status") == "ok")
    for trial, digest, kind, size in pictures.select("trial", "picture", "media_type", "bytes").iter_rows():
        try:
            if digests or sizes.get(path_of(digest, kind)) != size:
                album.get(digest, kind)
        except RunError as error:
            out[trial] = str(error)
    return out


def faulty_pictures(run: StoredRun) -> str:
    """Say which pictures of a making are missing or damaged, by their digests; empty if none is."""
    place = run.url.rstrip("/").removesuffix(f"/{MAKING_FOLDER}") if run.url else run.folder.parent
    records = stored_records(run.folder)
    faults = picture_faults(records, place, digests=True)
    if not faults:
        return ""
    names = run.study.design.trials(np.array([*faults][:_SHOWN], np.int64))[IMAGE]
    examples = "; ".join(f"{name} ({fault.rstrip('.')})" for name, fault in zip(names, faults.values(), strict=False))
    more = f"; and {len(faults) - _SHOWN:,} more" if len(faults) > _SHOWN else ""
    count = int((records["status"] == "ok").sum())
    return (
        f"{len(faults):,} of {count:,} pictures are missing or damaged: {examples}{more}. Restore them from a copy, or "
        "have them made anew by the same `facevalue make` with --check-pictures."
    )


def _decode_records(folder: Path, texts: pl.Series) -> pl.DataFrame:
    """The columns of records, read a few at a time: what a reader of JSON needs besides is many times their size."""
    batches = (texts[start : start + _AT_ONCE] for start in range(0, max(len(texts), 1), _AT_ONCE))
    try:
        return pl.concat([batch.str.json_decode(pl.Struct(_COLUMNS)).struct.unnest() for batch in batches])
    except pl.exceptions.PolarsError as error:
        raise RunError(f"{folder} holds records of pictures that cannot be read: {error}.") from None
