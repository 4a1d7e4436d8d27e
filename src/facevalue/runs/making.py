"""Making pictures as a run: what a plan lists is made once, kept in an album, and listed in a manifest."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from facevalue.errors import FaceValueError
from facevalue.generators.base import PictureGenerator
from facevalue.parquet import read_table
from facevalue.protocol.making import IMAGE, existing_paths, requested
from facevalue.runs.begin import begin
from facevalue.runs.made_list import list_made, run_folder
from facevalue.runs.making_model import EarlierPictures, PictureModel, earlier_pictures
from facevalue.runs.picture_records import early_edits, named_records, outdated_edits, picture_faults
from facevalue.runs.prepared_making import PreparedMaking, check_abilities, picture_at
from facevalue.runs.progress import Progress
from facevalue.runs.settings import RunSummary
from facevalue.runs.withdrawals import withdraw
from facevalue.store.album import PictureAlbum, album_at
from facevalue.store.files import STIMULI
from facevalue.store.objects import Objects
from facevalue.store.outcome_notes import OutcomeNotes

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
    prepared = prepared.of_kinds(generator.capabilities.kind, editor.capabilities.kind)
    album = album_at(prepared.place)

    def ask() -> RunSummary:
        return begin(prepared.run, _model(prepared, generator, editor, album), progress)

    try:
        return made_by(prepared, ask, progress, digests=digests)
    finally:
        album.sync()


def made_by(
    prepared: PreparedMaking, ask: Callable[[], RunSummary], progress: Progress, *, digests: bool
) -> MakingOutcome:
    """Have all pictures asked for, again where any have to be made anew, and list those that are there.

    `ask`: one session of the run.
    """
    if prepared.left_out:
        progress.note(f"{prepared.left_out} Another generator makes all.")
    anew, early = 0, prepared.run.study.design.size
    try:
        summary = ask()
        lost = _withdraw_lost(prepared, progress, digests) if summary.complete else 0
        while summary.complete:
            withdrawn = lost + _withdraw_outdated(prepared, progress)
            before, early = early, _early(prepared)
            if not withdrawn and not 0 < early < before:
                break
            summary = _together(summary, ask())
            anew, lost = anew + withdrawn, 0
    except BaseException:
        with contextlib.suppress(FaceValueError, OSError):  # what ended the making says more, and is on its way already
            list_made(prepared)
        raise
    return MakingOutcome(summary, list_made(prepared), anew)


def _model(
    prepared: PreparedMaking, generator: PictureGenerator, editor: PictureGenerator, album: PictureAlbum
) -> PictureModel:
    """The model of one session."""

    def earlier() -> EarlierPictures:
        for name, path in existing_paths(prepared.plan.table).items():
            album.put(picture_at(path), prepared.existing[name].digest)
        return earlier_pictures(run_folder(prepared.run), prepared.existing)

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
    outdated = outdated_edits(*_asked(prepared))
    if outdated:
        withdraw(prepared.run.study, prepared.run.folder, dict.fromkeys(outdated.values(), _OUTDATED), progress)
        reason = "made anew: what was edited is another picture by now"
        progress.note(f"{_counted(len(outdated), min(outdated))} {reason}.")
    return len(outdated)


def _early(prepared: PreparedMaking) -> int:
    """Edits that were asked for before their sources were there, as units of a making in object storage may be."""
    return early_edits(*_asked(prepared))


def _asked(prepared: PreparedMaking) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The pictures of the plan, and what became of those that were asked for."""
    folder = run_folder(prepared.run)
    return read_table(folder / STIMULI), named_records(folder)


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
