"""Records of pictures that were made: a small JSON object each, which stands where other runs have a reply."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

import polars as pl

from facevalue.errors import RunError
from facevalue.models.base import Called, checked_facts
from facevalue.places import MAKING_FOLDER
from facevalue.runs.stored import StoredRun
from facevalue.store.album import album_at
from facevalue.store.reader import collected, scan_responses

Fact = str | int | float | bool
_MOST_FACTS, _LONGEST = 40, 20_000
_SHOWN = 5  # pictures that an error names
_COLUMNS = {
    "picture": pl.String(), "media_type": pl.String(), "width": pl.Int64(), "height": pl.Int64(), "bytes": pl.Int64(),
    "stated": pl.String(), "revised_prompt": pl.String(), "seed": pl.Int64(),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PictureRecord:
    """What a run stores of a picture that was made; the picture itself lies in the album.

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
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def text(self) -> str:
        """The record as it is stored; what is None is left out."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return json.dumps({name: value for name, value in values.items() if value not in (None, {})})


def checked_record_facts(generator: Called, candidate: object) -> dict[str, Fact]:
    """Facts of a picture as files can hold them, a few dozen short ones; anything else is a `ModelError`."""
    facts = checked_facts(generator, "The facts of a picture", candidate)
    return {name[:100]: value[:_LONGEST] if isinstance(value, str) else value
            for name, value in list(facts.items())[:_MOST_FACTS]}  # fmt: skip


def stored_records(folder: Path) -> pl.DataFrame:
    """Pictures of a making run: `trial`, `status`, and the columns of their records, null where none was made."""
    rows = collected(folder, scan_responses(folder).select("trial", "status", "text"))
    try:
        records = rows["text"].str.json_decode(pl.Struct(_COLUMNS)).struct.unnest()
    except pl.exceptions.PolarsError as error:
        raise RunError(f"{folder} holds records of pictures that cannot be read: {error}.") from None
    return pl.concat([rows.drop("text"), records], how="horizontal")


def faulty_pictures(run: StoredRun) -> str:
    """Say which pictures of a making are missing or damaged, by their digests; empty if none is."""
    place = run.url.rstrip("/").removesuffix(f"/{MAKING_FOLDER}") if run.url else run.folder.parent
    album = album_at(place)
    records = stored_records(run.folder).filter(pl.col("status") == "ok")
    faults: dict[str, str] = {}
    names = run.study.design.trials(records["trial"].cast(pl.Int64).to_numpy())["image"]
    for name, digest, kind in zip(names, records["picture"], records["media_type"], strict=True):
        try:
            album.get(digest, kind)
        except RunError as error:
            faults[name] = str(error).removesuffix(" Restore it from a copy.")
    if not faults:
        return ""
    some = "; ".join(f"{name} ({fault.rstrip('.')})" for name, fault in list(faults.items())[:_SHOWN])
    more = f"; and {len(faults) - _SHOWN:,} more" if len(faults) > _SHOWN else ""
    count = f"{len(faults):,} of {records.height:,} pictures are missing or damaged"
    return f"{count}: {some}{more}. Restore them from a copy."
