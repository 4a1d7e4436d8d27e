"""Making pictures as a run: what a plan lists is made once, kept in an album, and listed in a manifest."""

import contextlib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from facevalue.errors import FaceValueError, ModelSpecError, RunError, SettingError
from facevalue.generators.base import PictureGenerator
from facevalue.generators.checked import checked_picture
from facevalue.given import read_file
from facevalue.parquet import parquet_bytes, read_table
from facevalue.places import MAKING_FOLDER
from facevalue.protocol.making import (
    IMAGE,
    PATH,
    PICTURE_SEED,
    PROMPT,
    SOURCE,
    PicturePlan,
    existing_paths,
    requested,
)
from facevalue.protocol.making_study import MADE_FOR, making_study
from facevalue.runs.begin import begin
from facevalue.runs.croissant import FILE as STATEMENT
from facevalue.runs.made_statement import made_statement, stated_before
from facevalue.runs.making_model import PictureModel, SourceOutcome
from facevalue.runs.mirror import mirrored
from facevalue.runs.picture_records import stored_records
from facevalue.runs.prepared import Prepared, check_prices
from facevalue.runs.progress import Progress
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.stimuli.images import MAX_BYTES
from facevalue.store.album import album_at, path_of
from facevalue.store.files import MANIFEST, PICTURES, STIMULI, write_whole
from facevalue.store.manifest import read_manifest
from facevalue.store.objects import Objects, checked_url
from facevalue.types import Image, OptionValue, Status

_UNIT = 64  # pictures that are stored together in object storage: what a kill can lose


@dataclass(frozen=True)
class PreparedMaking:
    """Pictures that are to be made, and where.

    Attributes
    ----------
    plan:
        The pictures.
    run:
        The run that makes them.
    place:
        Folder or URL of the pictures and their manifest; the run lies below.
    """

    plan: PicturePlan
    run: Prepared
    place: Path | str

    @property
    def manifest(self) -> str:
        """The list of the pictures that are there."""
        return f"{self.place}/{STIMULI}"

    @property
    def made_for(self) -> str:
        """The study that they are for."""
        return str(self.run.study.options[MADE_FOR])

    @cached_property
    def existing(self) -> dict[str, SourceOutcome]:
        """Pictures that are edited and need not be made, by id."""
        return {name: _outcome(_picture(path)) for name, path in existing_paths(self.plan.table).items()}

    def cost(self) -> str | None:
        """What all of it costs, for people; None where no price of a picture is known."""
        settings, pictures = self.run.settings, self.run.study.design.size
        if settings.sample is not None:
            pictures = self.run.study.sample(settings.sample, settings.seed, 1).size
        if settings.price_each is None:
            return None
        limit = "" if settings.max_cost is None else f" It stops at {settings.max_cost:,.2f}."
        return f"{pictures:,} pictures cost {pictures * settings.price_each:,.2f}.{limit}"


def prepare_making(
    plan: PicturePlan,
    made_for: str,
    choices: Mapping[str, OptionValue],
    place: Path | str,
    settings: RunSettings,
) -> PreparedMaking:
    """Put the making of a plan's pictures together.

    Raises
    ------
    RunError
        The folder holds pictures that were not made in it.
    SettingError
        A price or limit is none.
    """
    if settings.max_cost is not None and settings.price_each is None and not settings.by_token:
        raise SettingError("--max-cost needs --price, the price of a picture, or both prices of tokens.")
    check_prices(settings)
    study = making_study(plan, made_for, choices)
    if isinstance(place, str):
        place = checked_url(place)
        run: Path | str = f"{place}/{MAKING_FOLDER}"
        settings = replace(settings, unit=settings.unit or _UNIT)
    else:
        run = place / MAKING_FOLDER
        if place.exists() and not place.is_dir():
            raise RunError(f"{place} is a file: name a folder for the pictures.")
        if not (run / MANIFEST).exists() and (stray := _stray(place)):
            raise RunError(f"{place} has {stray} of something else, which would be mixed up: name another folder.")
    return PreparedMaking(plan, Prepared(study, run, settings), place)


def check_abilities(plan: PicturePlan, generator: PictureGenerator, editor: PictureGenerator) -> None:
    """Refuse a generator that cannot make what a plan lists, and an editor that cannot edit it.

    Raises
    ------
    ModelSpecError
        Says which option names another.
    """
    count, edits = requested(plan.table).height, plan.edits
    if edits and not editor.capabilities.edits:
        option = "--editor" if editor is generator else "another --editor"
        raise ModelSpecError(
            f"{editor.name} edits no pictures, and {edits:,} of {count:,} are edited from others: name {option}, such "
            "as http://HOST/v1#MODEL, diffusers/FOLDER_OR_ID or replay/PATH."
        )
    if count > edits and not generator.capabilities.generates:
        raise ModelSpecError(
            f"{generator.name} edits pictures and makes none from texts alone, and {count - edits:,} of {count:,} "
            "are: name another --generator, and this one with --editor."
        )
    if not edits and editor is not generator:
        raise ModelSpecError(f"Nothing is edited here: leave out --editor {editor.name}.")


def make(
    prepared: PreparedMaking, generator: PictureGenerator, editor: PictureGenerator, progress: Progress
) -> RunSummary:
    """Make what is not there yet, and list what is; neither generator nor editor is closed.

    Raises what `run` raises, and `ModelSpecError` as of `check_abilities`. The manifest lists what was made, however
    the making ends.
    """
    check_abilities(prepared.plan, generator, editor)
    run, album = prepared.run, album_at(prepared.place)

    def stored() -> dict[str, SourceOutcome]:
        for name, path in existing_paths(prepared.plan.table).items():
            album.put(_picture(path), prepared.existing[name].digest)
        return {**prepared.existing, **_made_before(run)}

    model = PictureModel(run.study.manifest, generator, editor, album, stored)
    try:
        summary = begin(run, model, progress)
        while model.early and summary.complete:  # edits in object storage that were asked for before their sources
            earlier, model.early = model.early, 0
            summary = begin(run, model, progress)
            if model.early >= earlier:
                break
    except BaseException:
        with contextlib.suppress(FaceValueError):  # what ended the making says more, and is on its way already
            list_made(prepared)
        raise
    finally:
        album.sync()
    list_made(prepared)
    return summary


def list_made(prepared: PreparedMaking) -> None:
    """Write the manifest of the pictures that are there, and their data statement."""
    pictures = made_pictures(prepared)
    data = parquet_bytes(pictures)
    statement = made_statement(_folder(prepared.run), pictures, data, stated_before(prepared.place))
    for name, content in ((STIMULI, data), (STATEMENT, statement)):
        if isinstance(prepared.place, str):
            Objects.at(prepared.place, make=True).overwrite(name, content)
        else:
            write_whole(prepared.place / name, content)


def made_pictures(prepared: PreparedMaking) -> pl.DataFrame:
    """A row per picture that is there: its id and path, what it shows, what it was made from, and by whom."""
    folder = _folder(prepared.run)
    table, settings = read_table(folder / STIMULI), read_manifest(folder).model_settings
    records = stored_records(folder)
    records = records.with_columns(requested(table)[IMAGE].gather(records["trial"].cast(pl.Int64)).alias(IMAGE))
    existing = pl.DataFrame(
        [(name, outcome.digest, outcome.media_type) for name, outcome in prepared.existing.items()],
        schema=dict.fromkeys((IMAGE, "picture", "media_type"), pl.String()), orient="row",
    )  # fmt: skip
    of_pictures = [IMAGE, "picture", "media_type", "width", "height", "revised_prompt", "seed"]
    pictures = pl.concat([records.filter(pl.col("status") == "ok").select(of_pictures), existing], how="diagonal")
    edited, prompted = pl.col(SOURCE).is_not_null(), pl.col(PROMPT).is_not_null()
    factors = [name for name in table.columns if name not in (IMAGE, SOURCE, PROMPT, PICTURE_SEED, PATH)]
    rows = table.join(pictures, on=IMAGE, how="inner", maintain_order="left")
    paths = [path_of(*pair) for pair in rows.select("picture", "media_type").iter_rows()]
    by = {name: pl.lit(settings.get(name), pl.String) for name in ("generator", "editor")}
    return rows.select(
        IMAGE, pl.Series(PATH, paths, pl.String), *factors, SOURCE, PROMPT, "revised_prompt",
        pl.col("seed").cast(pl.String).alias(PICTURE_SEED),
        pl.when(prompted & ~edited).then(by["generator"]).alias("generator"),
        pl.when(edited).then(by["editor"]).alias("editor"),
        pl.col("width", "height").cast(pl.String),
    )  # fmt: skip


def _made_before(run: Prepared) -> dict[str, SourceOutcome]:
    """What earlier sessions made and were refused, by id."""
    records = stored_records(_folder(run)).filter(pl.col("status").is_in([Status.OK.value, Status.REFUSED.value]))
    names = requested(run.study.manifest)[IMAGE].gather(records["trial"].cast(pl.Int64))
    columns = records.select("status", pl.col("picture", "media_type").fill_null("")).iter_rows()
    return {name: SourceOutcome(Status(status), *rest) for name, (status, *rest) in zip(names, columns, strict=True)}


def _folder(run: Prepared) -> Path:
    return mirrored(run.folder) if isinstance(run.folder, str) else run.folder


def _picture(path: str) -> Image:
    """A picture of the user's own."""
    return checked_picture(Image(read_file(Path(path), MAX_BYTES, "picture"), ""), path).image


def _outcome(image: Image) -> SourceOutcome:
    return SourceOutcome(Status.OK, hashlib.sha256(image.data).hexdigest(), image.media_type)


def _stray(place: Path) -> str:
    """What a folder holds that a making would write; empty if nothing."""
    return next((name for name in (STIMULI, PICTURES) if (place / name).exists()), "")
