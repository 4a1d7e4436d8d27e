"""Makings before their first picture: plan, place and settings, and what can be checked without asking for anything."""

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import polars as pl

from facevalue.errors import ModelSpecError, RunError, SettingError
from facevalue.generators.base import PictureGenerator, PictureRequest
from facevalue.generators.picture_checks import checked_picture
from facevalue.places import MAKING_FOLDER
from facevalue.protocol.making import IMAGE, SOURCE, PicturePlan, existing_paths, requested_pictures
from facevalue.protocol.making_study import MADE_FOR, asked_pictures, making_study, of_kinds
from facevalue.runs.makings.records import outcome_text
from facevalue.runs.preparation import Prepared, check_prices
from facevalue.runs.settings import RunSettings
from facevalue.stimuli.base import Kind
from facevalue.stimuli.images import MAX_BYTES
from facevalue.stimuli.manifest import SUFFIXES
from facevalue.store.album import PictureAlbum
from facevalue.store.files import MANIFEST, PICTURES, STIMULI
from facevalue.store.objects import checked_url
from facevalue.types import Image, OptionValue, Request, Response, Status
from facevalue.untrusted_files import read_file

# Desk of a making: which pictures can be asked for now, and which wait for those that they are edited from.


_MOST_READY = 256
"""Requests for one adapter that wait while the other works, before it is their turn."""
_SEEDS = 2**31


class SourceOutcome(NamedTuple):
    """Outcome of a picture that others are edited from, and the reason where it was not made."""

    status: Status
    digest: str = ""
    media_type: str = ""
    reason: str = ""


Noted = Callable[[Request], tuple[Response, SourceOutcome] | None]
"""What an earlier session wrote down of a request that can be made now, and nobody stored."""


class PictureDesk:
    """Requests of one call of `respond`: those that can be made at once, and edits that wait for their sources.

    Adapters may take requests in threads of their own, while pictures are kept in another.
    """

    def __init__(
        self,
        rows: pl.DataFrame,
        sources: set[str],
        outcomes: dict[str, SourceOutcome],
        album: PictureAlbum,
        requests: Iterable[Request],
        halted: Callable[[], bool],
        noted: Noted,
    ) -> None:
        self._rows, self._sources, self._outcomes, self._album = rows, sources, outcomes, album
        self._requests, self._halted, self._noted = iter(requests), halted, noted
        self._lock = threading.RLock()
        self._ready: dict[bool, deque[Request]] = {True: deque(), False: deque()}  # edits, and pictures from texts
        self._held: dict[str, list[Request]] = {}
        self._settled: deque[Response] = deque()
        self._ended = False

    def open(self) -> bool:
        """Return whether there is anything to ask for."""
        return not self._halted() and (not self._ended or any(self._ready.values()))

    def stream(self, kinds: tuple[bool, ...], flying: dict[int, Request]) -> Iterator[PictureRequest]:
        """Yield requests for an adapter: edits (True), pictures from texts (False), or both; `flying` holds them."""
        while (request := self._next(kinds, flying)) is not None:
            yield request

    def settle(self, trial: int, outcome: SourceOutcome) -> None:
        """Let those begin that wait for a picture, or fail as it did."""
        name = self._rows[IMAGE][trial]
        if name not in self._sources:
            return
        with self._lock:
            self._outcomes[name] = outcome
            for request in self._held.pop(name, ()):
                self._place(request)

    def settled_responses(self) -> Iterator[Response]:
        """Responses that need no asking: to edits that cannot be made, and what an earlier session noted."""
        while self._settled:
            yield self._settled.popleft()

    def unanswered_responses(self) -> Iterator[Response]:
        """Edits of pictures that nobody answered for, at the end of all requests."""
        for request in [request for requests in self._held.values() for request in requests]:
            self._fall(request, SourceOutcome(Status.ERROR))
        yield from self.settled_responses()

    def _next(self, kinds: tuple[bool, ...], flying: dict[int, Request]) -> PictureRequest | None:
        while (request := self._next_ready(kinds)) is not None:
            if (noted := self._noted(request)) is not None:
                response, outcome = noted
                self._settled.append(response)
                self.settle(request.trial, outcome)
            elif (picture_request := self._with_source(request)) is not None:
                flying[request.trial] = request
                return picture_request
        return None

    def _next_ready(self, kinds: tuple[bool, ...]) -> Request | None:
        """The next request that can be made now; None if there is none."""
        with self._lock:
            while not self._halted():
                queue = next((self._ready[kind] for kind in kinds if self._ready[kind]), None)
                if queue is not None:
                    return queue.popleft()
                if self._ended or any(len(waiting) >= _MOST_READY for waiting in self._ready.values()):
                    return None
                upcoming = next(self._requests, None)
                if upcoming is None:
                    self._ended = True
                    return None
                self._place(upcoming)
            return None

    def _place(self, request: Request) -> None:
        """Put a request where it belongs: it can be made, has to wait, or cannot be made at all."""
        source = self._rows[SOURCE][request.trial]
        outcome = self._outcomes.get(source) if source is not None else SourceOutcome(Status.OK)
        if outcome is None:
            self._held.setdefault(source, []).append(request)
        elif outcome.status is Status.OK:
            self._ready[source is not None].append(request)
        else:
            self._fall(request, outcome)

    def _fall(self, request: Request, outcome: SourceOutcome) -> None:
        """Have an edit fail as its source did."""
        refused = outcome.status is Status.REFUSED
        reason = f": {outcome.reason}" if outcome.reason else "."
        source = self._rows[SOURCE][request.trial]
        self._fail(request, outcome, f"Its source {source} was {'refused' if refused else 'not made'}{reason}")

    def _fail(self, request: Request, outcome: SourceOutcome, error: str) -> None:
        """Answer for a picture that was never asked for."""
        self._settled.append(Response(request.trial, request.repeat, outcome.status, outcome_text(0), error=error))
        self.settle(request.trial, outcome)

    def _with_source(self, request: Request) -> PictureRequest | None:
        """Request for the adapter, made outside the lock; None where the picture to be edited cannot be read."""
        _, source, seed = self._rows.row(request.trial)
        image: Image | None = None
        if source is not None:
            outcome = self._outcomes[source]
            try:
                image = self._album.get(outcome.digest, outcome.media_type)
            except RunError as error:
                self._fail(request, SourceOutcome(Status.ERROR), f"Its source cannot be read: {error}")
                return None
        return PictureRequest(request.trial, request.question.prompt, seed % _SEEDS, image, request.stimulus.factors)


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
        """Cost of all pictures, for people; None where no price of a picture is known."""
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
    count, edits = requested_pictures(plan.table).height, plan.edits
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
    """Name of a file in a folder that a making would write, or take for its own; empty if there is none."""
    if not place.is_dir():
        return ""
    if stray := next((name for name in (STIMULI, PICTURES) if (place / name).exists()), ""):
        return stray
    return min((path.name for path in place.iterdir() if path.suffix.lower() in SUFFIXES), default="")


# Plans of makings: how many pictures are made and edited, what they cost, and how long that takes.


@dataclass(frozen=True)
class MakingPlan:
    """Pictures of a making, its sample where there is one."""

    study: str
    """What they are for."""
    pictures: int
    """Pictures that are made, one call of a generator or an editor each; of the sample, where there is one."""
    from_texts: int
    """Of these: made from their text alone."""
    edits: int
    """Of these: edited from others."""
    existing: int
    """Pictures that are there already, and are edited."""
    all_pictures: int
    """Pictures without a sample."""
    left_out: str
    """What of the study's pictures the generator `drawn` does not make, for people; empty if nothing."""
    undrawn: int
    """Of those made: pictures that the generator `drawn` would leave out."""
    groups: dict[str, dict[str, int]]
    """Pictures by level of each factor that says who is shown."""
    cost: float | None
    """In the currency of the price; null without one."""
    hours: float | None
    """Null where it is not known how long a picture takes."""


def making_plan(prepared: PreparedMaking, seconds: float | None = None, rpm: float | None = None) -> MakingPlan:
    """Count what a making takes.

    Parameters
    ----------
    prepared:
        The making.
    seconds:
        How long a picture takes, where several are made at once its share of that.
    rpm:
        Most pictures a minute.
    """
    study, settings = prepared.run.study, prepared.run.settings
    all_pictures = requested_pictures(study.manifest).height
    rows = asked_pictures(study, settings.sample, settings.seed)
    edits = rows.height - rows[SOURCE].null_count()
    paces = [pace for pace in (seconds, 60.0 / rpm if rpm else None) if pace is not None]
    return MakingPlan(
        study=str(study.options[MADE_FOR]),
        pictures=rows.height,
        from_texts=rows.height - edits,
        edits=edits,
        existing=study.manifest.height - all_pictures,
        all_pictures=all_pictures,
        left_out=prepared.left_out,
        undrawn=rows.filter(pl.col(IMAGE).is_in([*prepared.plan.undrawn])).height,
        groups={
            name: dict(rows.group_by(name, maintain_order=True).len().drop_nulls().iter_rows())
            for name in prepared.plan.groups
        },
        cost=None if settings.price_each is None else rows.height * settings.price_each,
        hours=rows.height * max(paces) / 3600 if paces else None,
    )
