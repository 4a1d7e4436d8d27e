"""Inspection of pictures as a run, and what follows from it: peers before, rules and what they leave afterwards."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import PIL.Image
import polars as pl
import tomli_w

from facevalue.errors import DataError
from facevalue.inspection.inspector import PEERS, Inspector, name_of
from facevalue.inspection.quantities import Need
from facevalue.models._pictures import picture
from facevalue.models.base import ModelOptions
from facevalue.parquet import parquet_bytes, read_table
from facevalue.protocol.making import PATH
from facevalue.protocol.picture_checks import REASONS, SEAL, TABLE, USUAL, PictureRule, sealed_verdicts
from facevalue.runs.own_pictures.acceptance import Acceptance, Inspections, apply_rules, joint_levels
from facevalue.runs.preparation import prepare
from facevalue.runs.progress import Progress
from facevalue.runs.runner import begin
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.stored_run import StoredRun
from facevalue.statistics.sets import OTHER_PATH
from facevalue.stimuli.images import ImageFiles, image_files
from facevalue.store.files import STIMULI, write_placed, write_whole
from facevalue.store.remote import place_of_list
from facevalue.studies.declared.pictures import GROUPS, MODELS, PROTOCOL
from facevalue.types import Image

# Known pairs of pictures: sources beside themselves as another encoder writes them, which nobody has edited.


Watched = Callable[[Sequence[str]], Iterable[str]]
"""From names to the same, shown as they are gone through."""
MOST_OF_GROUP = 40
"""Sources of each group that are written anew."""
_QUALITY, _SMALLER = 85, 0.96  # of the JPEG, and how much smaller its sides are


def rewritten_sources(
    table: pl.DataFrame, group: pl.Series, files: ImageFiles, inspector: Inspector, watched: Watched
) -> pl.DataFrame:
    """Quantities of sources against themselves, written anew a little smaller: a row each, with `path` and `group`.

    `table`, `group`: of all pictures. Those that cannot be decoded are left out.
    """
    sources = table.select(PATH, OTHER_PATH).with_columns(group.alias("group")).filter(pl.col(OTHER_PATH).is_null())
    some = sources.group_by("group", maintain_order=True).head(MOST_OF_GROUP)
    groups = dict(some.select(PATH, "group").iter_rows())
    rows = list(_rows(groups, files, inspector, watched))
    return pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame({PATH: [], "group": []})


def _rows(
    groups: dict[str, str], files: ImageFiles, inspector: Inspector, watched: Watched
) -> Iterator[dict[str, float | str | None]]:
    for name in watched(list(groups)):
        try:
            source = Image(files.read(name), "")
            again = reencode(picture(source, name))
        except DataError:
            continue
        yield {**inspector.inspect_picture(again, source), PATH: name, "group": groups[name]}


def reencode(picture: PIL.Image.Image) -> Image:
    """A picture as JPEG, its sides 4% smaller: about what a service does that hands a picture on."""
    size = (max(round(picture.width * _SMALLER), 1), max(round(picture.height * _SMALLER), 1))
    buffer = io.BytesIO()
    picture.resize(size, PIL.Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=_QUALITY)
    return Image(buffer.getvalue(), "image/jpeg")


CHECKS = "checks"
LEAST_OTHERS = 6
"""People of a group from which an identity is ranked within it; of smaller ones, within a coarser group."""


@dataclass(frozen=True)
class InspectionOutcome:
    """Outcome of an inspection.

    Attributes
    ----------
    place:
        Folder or URL of its run.
    summary:
        Of the session.
    inspections, acceptance:
        What was found, and what rules leave; None while the run isn't complete.
    """

    place: Path | str
    summary: RunSummary
    inspections: Inspections | None = None
    acceptance: Acceptance | None = None


def list_at(place: Path | str) -> Path | str:
    """The list of pictures at a place: itself, or that of a folder or URL that `make` filled.

    Raises
    ------
    DataError
        There is none.
    """
    if isinstance(place, str):
        return place
    if place.is_dir():
        if not (place / STIMULI).is_file():
            raise DataError(f"{place} holds no {STIMULI}: name a folder that make filled, or a list of pictures.")
        return place / STIMULI
    if not place.exists():
        raise DataError(f"There is no {place}: name a folder that make filled, or a list of pictures.")
    return place


def inspect_pictures(
    place: Path | str,
    models: Mapping[str, str],
    out: Path | str | None,
    progress: Progress,
    *,
    rules: Sequence[PictureRule] = USUAL,
    root: str = "",
    cue: str = "",
    device: str | None = None,
    watched: Watched = iter,
) -> InspectionOutcome:
    """Inspect each picture of a list once, or go on with that, and apply rules once all are.

    `place`: as of `list_at`. `models`: places by what they are for (`Need`). `out`: folder or URL of the run; `checks`
    beside the list by default. Other options as of the command.
    """
    manifest = list_at(place)
    run = out or (f"{place_of_list(manifest)}/{CHECKS}" if isinstance(manifest, str) else manifest.parent / CHECKS)
    aids = [need.value for need in Need if need.value in models]
    study = PROTOCOL.study({"manifest": str(manifest), "root": root, "cue": cue, MODELS: aids})
    pictures = Path(str(study.options["root"]))
    places = dict(models)
    if Need.IDENTITY.value in places and PEERS not in places:
        peers = pictures / ".peers.parquet" if isinstance(run, str) else run.with_name(f"{run.name}-peers.parquet")
        places[PEERS] = str(_peers(study.manifest, pictures, places, peers, watched))
    prepared = prepare(study, name_of(places), run, RunSettings())
    inspector = Inspector(name_of(places), ModelOptions(device=device))
    try:
        summary = begin(prepared, inspector, progress)
        if not summary.complete or summary.interrupted:
            return InspectionOutcome(run, summary)
        if summary.errors == summary.requests:
            raise DataError(
                "No picture could be inspected: --root says which folder the paths of the list are relative to."
            )
        inspections = Inspections.from_run(StoredRun.open(run, pictures=pictures, protocol=PROTOCOL))
        files = image_files(inspections.table, pictures)
        acceptance = apply_rules(
            inspections, rules, lambda group: rewritten_sources(inspections.table, group, files, inspector, watched)
        )
    finally:
        inspector.close()
    write_verdicts(run, inspections, acceptance, rules)
    return InspectionOutcome(run, summary, inspections, acceptance)


def write_verdicts(
    place: Path | str, inspections: Inspections, acceptance: Acceptance, rules: Sequence[PictureRule]
) -> None:
    """Keep what rules leave, sealed, beside the run: every picture with its quantities and reasons."""
    data = parquet_bytes(acceptance.add_verdicts(inspections.table).with_columns(pl.col(REASONS).list.join("; ")))
    limits = [asdict(limit) for limit in acceptance.limits]
    facts = tomli_w.dumps({"rules": [rule.text for rule in rules], "limits": limits})
    for name, content in ((TABLE, data), (SEAL, sealed_verdicts(data, facts))):
        write_placed(place, name, content)


def _peers(table: pl.DataFrame, root: Path, places: Mapping[str, str], path: Path, watched: Watched) -> Path:
    """Embed the sources of a list, each once, into a file; what an earlier call embedded stays."""
    from facevalue.inspection.identity import (  # noqa: PLC0415
        COLUMNS,
        FaceReader,
        face_numbers,
    )
    from facevalue.inspection.views import PictureView  # noqa: PLC0415

    reader, files = FaceReader(places[Need.IDENTITY.value]), image_files(table, root)
    sources = table.filter(pl.col(OTHER_PATH).is_null())
    rows: dict[str, tuple[object, ...]] = {}
    if path.is_file():
        with suppress(OSError, pl.exceptions.PolarsError):  # of a damaged table all are embedded anew
            rows = {row[0]: row for row in read_table(path).filter(model=reader.model).select(COLUMNS).iter_rows()}
    groups = dict(zip(sources[PATH], _groups(sources), strict=True))
    persons = dict(sources.select(PATH, "identity").iter_rows())
    rows_of_peers = []
    for name in watched(sources[PATH].to_list()):
        try:
            data = files.read(name)
            digest = files.digest(name)
            if digest not in rows:
                face = reader.face(PictureView.decode_image(Image(data, ""), name))
                if face is None:
                    continue
                rows[digest] = (digest, "", "", face.embedding.tolist(), face_numbers(face), reader.model)
        except DataError:
            continue  # the inspection says that it cannot be read
        rows_of_peers.append((digest, persons[name], groups[name], *rows[digest][3:]))
    if not rows_of_peers:
        raise DataError("No face is seen in any picture without a source: there is nobody to compare an identity with.")
    peers = pl.DataFrame(rows_of_peers, schema=list(COLUMNS), orient="row").unique("digest", maintain_order=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, parquet_bytes(peers))
    return path


def _groups(sources: pl.DataFrame) -> list[str]:
    """The finest groups of people of which each has enough: of all factors, of fewer, of the first, or everybody."""
    factors = [name for name in GROUPS if name in sources.columns and sources[name].n_unique() > 1]
    for count in range(len(factors), 0, -1):
        people = pl.DataFrame({"group": joint_levels(sources, factors[:count]), "person": sources["identity"]})
        if (people.group_by("group").agg(pl.col("person").n_unique())["person"] >= LEAST_OTHERS).all():
            return people["group"].to_list()
    return ["everybody"] * sources.height
