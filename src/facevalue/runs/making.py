"""Making pictures as a run: what a plan lists is made once, kept in an album, and listed in a manifest."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from facevalue.errors import FaceValueError
from facevalue.generators.base import PictureGenerator
from facevalue.parquet import read_table
from facevalue.protocol.making import IMAGE, existing_paths, requested
from facevalue.runs.begin import begin
from facevalue.runs.made_list import list_made, named_records, run_folder
from facevalue.runs.making_desk import SourceOutcome
from facevalue.runs.making_model import EarlierPictures, PictureModel
from facevalue.runs.picture_records import earlier_attempts, outdated_edits, picture_faults
from facevalue.runs.prepared_making import PreparedMaking, check_abilities, picture_at
from facevalue.runs.progress import Progress
from facevalue.runs.settings import RunSummary
from facevalue.runs.withdrawals import withdraw
from facevalue.store.album import PictureAlbum, album_at
from facevalue.store.files import STIMULI
from facevalue.store.objects import Objects
from facevalue.store.outcome_notes import OutcomeNotes
from facevalue.types import Status

_LOST = "The picture was lost."
_OUTDATED = "It was edited from a picture that was made anew since."


class MakingOutcome(NamedTuple):
    """What a session of a making came to.

    Attributes
    ----------
    summary:
        Counts.
    pictures:
        The manifest.
    anew:
        Pictures that had been made before, and were to be made anew.
    """

    summary: RunSummary
    pictures: pl.DataFrame
    anew: int


def make(
    prepared: PreparedMaking,
    generator: PictureGenerator,
    editor: PictureGenerator,
    progress: Progress,
    *,
    digests: bool = False,
) -> MakingOutcome:
    """Make what is not there yet, and list what is; neither generator nor editor is closed.

    Pictures that were made and are missing are made anew, and so are edits of one that then is another picture; so much
    is seen by names and sizes. `digests`: read every picture that is there, to find those that are damaged, too.

    Raises what `run` raises, and `ModelSpecError` as of `check_abilities`. The manifest lists what was made, however
    the making ends.
    """
    check_abilities(prepared.plan, generator, editor)
    prepared = prepared.by(generator, editor)
    album = album_at(prepared.place)
    if prepared.left_out:
        progress.note(f"{prepared.left_out} Another generator makes all.")
    anew = early = 0
    try:
        model = _model(prepared, generator, editor, album)
        summary = begin(prepared.run, model, progress)
        lost = _withdraw_lost(prepared, progress, digests) if summary.complete else 0
        while summary.complete:
            withdrawn = lost + _withdraw_outdated(prepared, progress)
            # Edits in object storage that were asked for before their sources; once no more of them come, they failed
            early = model.early if model.early < early or not early else 0
            if not withdrawn and not early:
                break
            model = _model(prepared, generator, editor, album)
            summary = _together(summary, begin(prepared.run, model, progress))
            anew, lost = anew + withdrawn, 0
    except BaseException:
        with contextlib.suppress(FaceValueError, OSError):  # what ended the making says more, and is on its way already
            list_made(prepared)
        raise
    finally:
        album.sync()
    return MakingOutcome(summary, list_made(prepared), anew)


def _model(
    prepared: PreparedMaking, generator: PictureGenerator, editor: PictureGenerator, album: PictureAlbum
) -> PictureModel:
    """The model of one session."""

    def earlier() -> EarlierPictures:
        for name, path in existing_paths(prepared.plan.table).items():
            album.put(picture_at(path), prepared.existing[name].digest)
        outcomes = {**prepared.existing, **_made_before(prepared)}
        return EarlierPictures(outcomes, earlier_attempts(run_folder(prepared.run)))

    place = prepared.run.folder
    notes = OutcomeNotes(Objects.at(place, make=True)) if isinstance(place, str) else None
    return PictureModel(prepared.run.study.manifest, generator, editor, album, earlier, notes)


def _withdraw_lost(prepared: PreparedMaking, progress: Progress, digests: bool) -> int:
    """Have pictures that were made, and are missing or damaged, made anew; return how many there are."""
    folder = run_folder(prepared.run)
    faults = picture_faults(folder, prepared.place, digests=digests)
    if faults:
        reasons = {trial: f"{_LOST} {fault}" for trial, fault in faults.items()}
        withdraw(prepared.run.study, prepared.run.folder, reasons, progress)
        names = requested(read_table(folder / STIMULI))[IMAGE]
        progress.note(f"{_counted(len(faults), names[min(faults)])} missing or damaged, and made anew.")
    return len(faults)


def _withdraw_outdated(prepared: PreparedMaking, progress: Progress) -> int:
    """Have edits made anew whose source is another picture by now; return how many there are."""
    table = read_table(run_folder(prepared.run) / STIMULI)
    outdated = outdated_edits(table, named_records(prepared))
    if outdated:
        withdraw(prepared.run.study, prepared.run.folder, dict.fromkeys(outdated.values(), _OUTDATED), progress)
        reason = "made anew: what was edited is another picture by now"
        progress.note(f"{_counted(len(outdated), min(outdated))} {reason}.")
    return len(outdated)


def _counted(count: int, example: str) -> str:
    return f"The picture {example} is" if count == 1 else f"{count:,} pictures, such as {example}, are"


def _together(first: RunSummary, second: RunSummary) -> RunSummary:
    """Two sessions that followed each other, as one; what failed in the first was asked for again."""
    costs = [cost for cost in (first.cost, second.cost) if cost is not None]
    return replace(
        second,
        **{name: getattr(first, name) + getattr(second, name) for name in (
            "asked", "na", "refused", "reasked", "seconds", "prompt_tokens", "completion_tokens",
        )},
        skipped=min(first.skipped, second.skipped),
        cost=sum(costs) if costs else None,
        warnings=(*first.warnings, *second.warnings),
    )  # fmt: skip


def _made_before(prepared: PreparedMaking) -> Mapping[str, SourceOutcome]:
    """What earlier sessions made and were refused, by id."""
    settled = [Status.OK.value, Status.REFUSED.value]
    records = named_records(prepared).filter(pl.col("status").is_in(settled))
    columns = records.select(IMAGE, "status", pl.col("picture", "media_type").fill_null("")).iter_rows()
    return {name: SourceOutcome(Status(status), *rest) for name, status, *rest in columns}
