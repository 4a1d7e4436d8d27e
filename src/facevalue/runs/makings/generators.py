"""Generators as models: a run asks for pictures as it asks for replies, and gets a record of each that was made."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import polars as pl

from facevalue.errors import DataError, ModelError, RunError, SettingError
from facevalue.generators.base import GeneratedPicture, GeneratorOptions, PictureGenerator
from facevalue.generators.picture_checks import CheckedPicture, checked_picture
from facevalue.generators.registry import DRAWN, kind_of, load
from facevalue.models.base import Capabilities, Finding, Sharing, checked_facts
from facevalue.parquet import read_table
from facevalue.printable import quote
from facevalue.protocol.making import IMAGE, PICTURE_SEED, SOURCE, existing_paths, requested_pictures
from facevalue.protocol.making_study import MADE_FOR, picture_plan
from facevalue.protocol.settings import defaults
from facevalue.protocol.study import Study
from facevalue.runs.makings.preparation import PictureDesk, SourceOutcome, check_abilities
from facevalue.runs.makings.records import (
    PictureRecord,
    checked_record_facts,
    earlier_attempts,
    named_records,
    outcome_text,
    times_again,
)
from facevalue.runs.requests import reask_seed
from facevalue.runs.storage.mirror import mirror_run
from facevalue.stimuli.base import Kind, Source
from facevalue.store.album import PictureAlbum, album_at, path_of
from facevalue.store.files import STIMULI
from facevalue.store.journal import OutcomeNotes
from facevalue.store.manifest import CHOICES
from facevalue.store.objects import Objects
from facevalue.studies.offers import making_offer
from facevalue.types import Request, Response, Status
from facevalue.untrusted_files import to_json

_LONGEST = 32_000  # characters of a revised prompt
_MOST_RETRIES = 1_000
_NOTED = ("status", "text", "prompt_tokens", "completion_tokens", "latency_ms", "error")
"""Fields of a response that are written down at once."""


class EarlierPictures(NamedTuple):
    """Outcomes of pictures from earlier sessions of a making.

    Attributes
    ----------
    outcomes:
        What became of pictures that others are edited from, by id; those that existed included.
    attempts:
        How often pictures that are not there were asked for, by trial.
    again:
        How often pictures were asked for again as they had failed a check, by trial: each time with another seed.
    """

    outcomes: Mapping[str, SourceOutcome]
    attempts: Mapping[int, int]
    again: Mapping[int, int]


def earlier_pictures(folder: Path, existing: Mapping[str, SourceOutcome]) -> EarlierPictures:
    """Read the outcomes that earlier sessions left in the folder of a making's run, and add existing pictures."""
    sources = read_table(folder / STIMULI)[SOURCE].unique().implode()
    records = named_records(folder).filter(
        pl.col("status").is_in([Status.OK.value, Status.REFUSED.value]), pl.col(IMAGE).is_in(sources)
    )
    columns = records.select(IMAGE, "status", pl.col("picture", "media_type").fill_null("")).iter_rows()
    settled = {name: SourceOutcome(Status(status), *rest) for name, status, *rest in columns}
    return EarlierPictures({**existing, **settled}, earlier_attempts(folder), times_again(folder))


class PictureModel:
    """A generator, an editor and an album as a model: it keeps each picture that comes, then yields its record.

    An edit waits until the picture that it is edited from is there. Generator and editor may be one adapter.

    Parameters
    ----------
    table:
        The pictures that are to be made, and those that exist, as of `protocol.making.PicturePlan`.
    generator, editor:
        Who makes pictures from texts, and who edits them.
    album:
        Where they are kept.
    earlier:
        Gives what earlier sessions left; called when the first picture is asked for.
    notes:
        Where each outcome is written down at once; None where the run does so by itself.
    """

    capabilities = Capabilities(images_per_request=0, seeds=True)

    def __init__(
        self,
        table: pl.DataFrame,
        generator: PictureGenerator,
        editor: PictureGenerator,
        album: PictureAlbum,
        earlier: Callable[[], EarlierPictures],
        notes: OutcomeNotes | None = None,
    ) -> None:
        self._rows = requested_pictures(table).select(IMAGE, SOURCE, pl.col(PICTURE_SEED).cast(pl.Int64))
        self._sources = set(self._rows[SOURCE].drop_nulls())
        self._generator, self._editor, self._album = generator, editor, album
        self._earlier, self._notes = earlier, notes
        self._outcomes: dict[str, SourceOutcome] = {}
        self._attempts: Mapping[int, int] | None = None
        self._sizes: Mapping[str, int] | None = None
        self._facts: dict[str, str | int | float | bool] = {}
        self._halted = False
        joint = generator is editor
        self.name = " + ".join(dict.fromkeys((generator.name, editor.name)))
        self._adapters = ((generator, (True, False)),) if joint else ((generator, (False,)), (editor, (True,)))

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Facts of both adapters, each under its own name."""
        out: dict[str, str | int | float | bool] = {}
        for role, adapter in (("generator", self._generator), ("editor", self._editor)):
            out[role] = adapter.name
            if role == "generator" or adapter is not self._generator:
                facts = checked_facts(adapter, "The settings", adapter.settings())
                out |= {f"{role} {name}": fact for name, fact in facts.items()}
        return out

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of both adapters before they are asked."""
        return tuple(note for adapter, _ in self._adapters for note in getattr(adapter, "notes", ()))

    def findings(self) -> Mapping[str, str | int | float | bool]:
        """Findings of both adapters while they were asked, each under its own name."""
        out: dict[str, str | int | float | bool] = {}
        for role, adapter in (("editor", self._editor), ("generator", self._generator)):
            if isinstance(adapter, Finding) and (role == "generator" or adapter is not self._generator):
                out |= {f"{role} {name}": fact for name, fact in adapter.findings().items()}
        return out

    def share(self, fraction: float) -> None:
        """Have both spend only this part of their budgets."""
        for adapter, _ in self._adapters:
            if isinstance(adapter, Sharing):
                adapter.share(fraction)

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Have each picture made once; edits of one that was not made fail as it did."""
        if self._attempts is None:
            self._facts = dict(self.settings())
            outcomes, self._attempts, again = self._earlier()
            self._outcomes.update(outcomes)
            seeds = self._rows[PICTURE_SEED].to_list()
            for trial, times in again.items():
                seeds[trial] = reask_seed(seeds[trial] or 0, times)
            self._rows = self._rows.with_columns(pl.Series(PICTURE_SEED, seeds, pl.Int64))
        desk = PictureDesk(
            self._rows, self._sources, self._outcomes, self._album, requests, lambda: self._halted, self._read_note
        )
        while desk.open():
            for adapter, kinds in self._adapters:
                yield from self._ask_adapter(adapter, kinds, desk)
        if not self._halted:
            yield from desk.unanswered_responses()

    def _ask_adapter(self, adapter: PictureGenerator, kinds: tuple[bool, ...], desk: PictureDesk) -> Iterator[Response]:
        """Ask one adapter for the pictures that can be made now."""
        flying: dict[int, Request] = {}
        pictures = adapter.generate(desk.stream(kinds, flying))
        try:
            for picture in pictures:
                yield self._response(adapter, picture, flying, desk)
                yield from desk.settled_responses()
        finally:
            if callable(close := getattr(pictures, "close", None)):
                close()  # an adapter cancels what is on its way
        yield from desk.settled_responses()

    def halt(self) -> None:
        """Begin no picture that waits."""
        self._halted = True

    def close(self) -> None:
        """Release both adapters."""
        self._generator.close()
        if self._editor is not self._generator:
            self._editor.close()

    def _response(
        self, adapter: PictureGenerator, picture: object, flying: dict[int, Request], desk: PictureDesk
    ) -> Response:
        """The response to a request of what its adapter yielded; one to trial -1 where it answers none."""
        number = picture.number if isinstance(picture, GeneratedPicture) else None
        request = flying.pop(number, None) if isinstance(number, int) else None
        if request is None and len(flying) == 1 and not isinstance(picture, GeneratedPicture):
            _, request = flying.popitem()  # it can be about nothing else
        if request is None:
            return Response(-1, 0, Status.ERROR, error=f"{adapter.name} gave {quote(picture)} for nothing it was asked")
        if isinstance(picture, GeneratedPicture):
            response, outcome = self._judge_picture(adapter, picture, request)
        else:
            attempts = self._earlier_attempts(request) + 1
            response, outcome = _failed_outcome(request, f"{adapter.name} gave {quote(picture)}", attempts)
        desk.settle(request.trial, outcome)
        return response

    def _judge_picture(
        self, adapter: PictureGenerator, picture: GeneratedPicture, request: Request
    ) -> tuple[Response, SourceOutcome]:
        """Check what came and keep it, and only then say that it is there."""
        attempts = self._earlier_attempts(request) + 1 + _retries(picture)
        if picture.status not in (Status.OK, Status.REFUSED):
            reason = picture.error or f"{adapter.name} gave neither a picture nor a reason"
            return _failed_outcome(request, reason, attempts)
        text = outcome_text(attempts)
        error: str | None = picture.error or "refused"
        outcome = SourceOutcome(Status.REFUSED)
        try:
            if picture.status == Status.OK:
                checked = checked_picture(picture.image)
                error = "The picture is black, as a filter leaves it."
                if not checked.black:
                    record = _record(adapter, checked, picture, request, self._source_digest(request), attempts)
                    self._album.put(checked.image, record.picture)
                    text, error = record.text(), None
                    outcome = SourceOutcome(Status.OK, record.picture, record.media_type)
        except (DataError, ModelError) as problem:
            return _failed_outcome(request, str(problem), attempts)
        response = Response(
            request.trial, request.repeat, outcome.status, text, None, picture.prompt_tokens,
            picture.completion_tokens, picture.latency_ms, error,
        )  # fmt: skip
        if self._notes is not None:
            self._notes.write(self._asking(request), {name: getattr(response, name) for name in _NOTED})
        return response, outcome

    def _read_note(self, request: Request) -> tuple[Response, SourceOutcome] | None:
        """Read what an earlier session noted of a request, where its picture is there."""
        note = None if self._notes is None else self._notes.read(self._asking(request))
        if note is None:
            return None
        response = Response(request.trial, request.repeat, **{name: note.get(name) for name in _NOTED})  # type: ignore[arg-type]
        if response.status == Status.REFUSED:
            return response, SourceOutcome(Status.REFUSED)
        if self._sizes is None:
            self._sizes = self._album.sizes()
        with suppress(DataError, RunError, TypeError, LookupError):
            record = to_json(str(response.text).encode(), "a note")
            outcome = SourceOutcome(Status.OK, str(record["picture"]), str(record["media_type"]))
            if self._sizes.get(path_of(outcome.digest, outcome.media_type)) == record["bytes"]:
                return response, outcome
        return None

    def _asking(self, request: Request) -> list[object]:
        """Key of a request: all by which it is known, as JSON can hold it."""
        row = self._rows.row(request.trial)
        digest = self._source_digest(request)
        return [self._facts, request.trial, request.question.prompt, *row, digest, self._earlier_attempts(request)]

    def _source_digest(self, request: Request) -> str | None:
        """Digest of the picture that another is edited from."""
        source = self._rows[SOURCE][request.trial]
        return None if source is None else self._outcomes[source].digest

    def _earlier_attempts(self, request: Request) -> int:
        return 0 if self._attempts is None else self._attempts.get(request.trial, 0)


def _record(
    adapter: PictureGenerator, checked: CheckedPicture, picture: GeneratedPicture, request: Request,
    edited_from: str | None, attempts: int,
) -> PictureRecord:  # fmt: skip
    revised, seed = picture.revised_prompt, picture.seed if adapter.capabilities.seeds else None
    if revised is not None and not isinstance(revised, str):
        raise DataError(f"The revised prompt is {quote(revised)}, not a text.")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63):
        raise DataError(f"The seed is {quote(seed)}, not a whole number.")
    if revised is not None:
        revised = revised[:_LONGEST].encode(errors="replace").decode()
    return PictureRecord(
        hashlib.sha256(checked.image.data).hexdigest(), checked.image.media_type, checked.width, checked.height,
        len(checked.image.data), checked.stated or None, None if revised == request.question.prompt else revised, seed,
        edited_from, attempts, checked_record_facts(adapter, picture.facts),
    )  # fmt: skip


def _retries(picture: GeneratedPicture) -> int:
    """Number of times that a picture was asked for again, where its adapter states one."""
    retries = picture.retries
    return retries if isinstance(retries, int) and 0 <= retries < _MOST_RETRIES else 0


def _failed_outcome(request: Request, reason: str, attempts: int) -> tuple[Response, SourceOutcome]:
    response = Response(request.trial, request.repeat, Status.ERROR, outcome_text(attempts), error=str(reason))
    return response, SourceOutcome(Status.ERROR, reason=str(reason))


# Makings by workers of a cluster: what each needs to make a generator, an editor and an album of its own.


@dataclass(frozen=True, slots=True)
class MakingJob:
    """Generator and editor of pictures, and the place where the pictures go.

    Attributes
    ----------
    place:
        URL of the pictures.
    generator, editor:
        Names of both; no editor where the generator edits, too.
    generator_options, editor_options:
        How to reach or load them.
    """

    place: str
    generator: str
    generator_options: GeneratorOptions = field(default_factory=GeneratorOptions)
    editor: str | None = None
    editor_options: GeneratorOptions = field(default_factory=GeneratorOptions)

    @property
    def name(self) -> str:
        """Name of both together."""
        return " + ".join(dict.fromkeys(filter(None, (self.generator, self.editor))))

    @property
    def kinds(self) -> tuple[Kind | None, Kind | None]:
        """Kinds of pictures that both make, which must be known before a worker has loaded them."""
        return kind_of(self.generator), kind_of(self.editor or self.generator)

    def check(self, study: Study) -> None:
        """Refuse what workers on other machines cannot do.

        Raises
        ------
        SettingError
            Pictures lie on this machine, or are drawn for a study that is a file.
        """
        if existing_paths(study.manifest):
            raise SettingError("Pictures that exist lie on this machine: edit them without --cluster.")
        if DRAWN in (self.generator, self.editor) and making_offer(str(study.options[MADE_FOR])) is None:
            raise SettingError("Workers of a cluster have no drawings of a study that is a file: leave out --cluster.")

    def model(self, study: Study, run: str) -> PictureModel:
        """The model of one worker; `run` is the URL of the making's run.

        Raises
        ------
        ModelSpecError, UnknownNameError
            There is no such generator or editor, or it cannot make or edit what is wanted.
        """
        drawings = _drawings(study) if DRAWN in (self.generator, self.editor) else None
        generator = load(self.generator, self.generator_options, drawings)
        editor = generator if self.editor is None else load(self.editor, self.editor_options, drawings)
        check_abilities(picture_plan(study), generator, editor)

        def earlier() -> EarlierPictures:
            return earlier_pictures(mirror_run(run), {})

        notes = OutcomeNotes(Objects.at(run))
        return PictureModel(study.manifest, generator, editor, album_at(self.place), earlier, notes)


def _drawings(study: Study) -> Source | None:
    """FaceValue's drawings of what a study has made, whose plan is put together again."""
    offer, texts = making_offer(str(study.options[MADE_FOR])), study.options[CHOICES]
    if offer is None or not isinstance(texts, list):
        raise SettingError(f"Nothing is known of the pictures of {study.options[MADE_FOR]}.")
    choices = {name: json.loads(value) for name, _, value in (str(text).partition("=") for text in texts)}
    return offer.plan({**defaults(offer.settings), **choices}).drawn
