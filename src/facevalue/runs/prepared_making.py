"""Makings before their first picture: plan, place and settings, and what can be checked without asking for anything."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from facevalue.errors import ModelSpecError, RunError, SettingError
from facevalue.generators.base import PictureGenerator
from facevalue.generators.checked import checked_picture
from facevalue.given import read_file
from facevalue.places import MAKING_FOLDER
from facevalue.protocol.making import PicturePlan, existing_paths, requested
from facevalue.protocol.making_study import MADE_FOR, asked_pictures, making_study, of_kinds
from facevalue.runs.making_desk import SourceOutcome
from facevalue.runs.prepared import Prepared, check_prices
from facevalue.runs.settings import RunSettings
from facevalue.stimuli.base import Kind
from facevalue.stimuli.images import MAX_BYTES
from facevalue.stimuli.manifest import SUFFIXES
from facevalue.store.files import MANIFEST, PICTURES, STIMULI
from facevalue.store.objects import checked_url
from facevalue.types import Image, OptionValue, Status

_UNIT = 64  # pictures that are stored together in object storage


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
    left_out:
        What of the plan is not made, as there is no drawing of it, for people; empty if nothing.
    """

    plan: PicturePlan
    run: Prepared
    place: Path | str
    left_out: str = ""

    def of_kinds(self, generated: Kind | None, edited: Kind | None) -> "PreparedMaking":
        """The same, once it is known of which kind the pictures will be."""
        study = of_kinds(self.run.study, generated, edited)
        return replace(self, run=replace(self.run, study=study))

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
        return {name: _outcome(picture_at(path)) for name, path in existing_paths(self.plan.table).items()}

    def cost(self) -> str | None:
        """What all of it costs, for people; None where no price of a picture is known."""
        settings = self.run.settings
        pictures = asked_pictures(self.run.study, settings.sample, settings.seed).height
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
    *,
    drawn: bool = False,
) -> PreparedMaking:
    """Put the making of a plan's pictures together; if they are `drawn`, of those of which there are drawings.

    Raises
    ------
    DataError
        There is a drawing of none.
    RunError
        The folder holds pictures that were not made in it.
    SettingError
        A price or limit is none.
    """
    if settings.max_cost is not None and settings.price_each is None and not settings.by_token:
        raise SettingError("--max-cost needs --price, the price of a picture, or both prices of tokens.")
    check_prices(settings)
    plan, left_out = plan.drawable() if drawn else (plan, "")
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
    return PreparedMaking(plan, Prepared(study, run, settings), place, left_out)


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


def picture_at(path: str) -> Image:
    """A picture of the user's own."""
    return checked_picture(Image(read_file(Path(path), MAX_BYTES, "picture"), ""), path).image


def _outcome(image: Image) -> SourceOutcome:
    return SourceOutcome(Status.OK, hashlib.sha256(image.data).hexdigest(), image.media_type)


def _stray(place: Path) -> str:
    """What a folder holds that a making would write, or that would be taken for what it made; empty if nothing."""
    if not place.is_dir():
        return ""
    if stray := next((name for name in (STIMULI, PICTURES) if (place / name).exists()), ""):
        return stray
    return min((path.name for path in place.iterdir() if path.suffix.lower() in SUFFIXES), default="")
