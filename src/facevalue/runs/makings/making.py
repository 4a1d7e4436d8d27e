"""Making pictures as a run: what a plan lists is made once, kept in an album, and listed in a manifest."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from facevalue.csv_text import csv_bytes
from facevalue.errors import FaceValueError, RunError, UnknownNameError
from facevalue.generators.base import PictureGenerator
from facevalue.parquet import read_table
from facevalue.protocol.making import IMAGE, existing_paths, requested_pictures
from facevalue.protocol.study import Study
from facevalue.runs.makings.generators import EarlierPictures, PictureModel, earlier_pictures
from facevalue.runs.makings.made_list import list_made, run_folder
from facevalue.runs.makings.preparation import PreparedMaking, check_abilities, picture_at
from facevalue.runs.makings.records import (
    FAILED_CHECK,
    early_edits,
    named_records,
    outdated_edits,
    picture_faults,
    times_again,
)
from facevalue.runs.open_requests import without_answer
from facevalue.runs.pictures import SamePictures, same_made
from facevalue.runs.progress import Progress
from facevalue.runs.runner import begin
from facevalue.runs.settings import RunSummary
from facevalue.runs.storage.worker import facts_of, read_unit
from facevalue.store.album import PictureAlbum, album_at
from facevalue.store.files import read_placed, write_placed
from facevalue.store.journal import OutcomeNotes, recover
from facevalue.store.lease import Lease, RunLock
from facevalue.store.manifest import read_manifest, write_manifest
from facevalue.store.objects import Objects
from facevalue.store.remote import UnitFacts, encoded, listed_units, read_run, unit_facts
from facevalue.store.schema import STATUS
from facevalue.store.shards import UNREADABLE, inspect, number_of, shard_paths, write_shard
from facevalue.types import Status

# Withdrawal of stored replies: each becomes a failure that keeps what it said, and is asked for again.


def withdraw(study: Study, place: Path | str, reasons: Mapping[int, str], progress: Progress) -> None:
    """Make failures of the replies to these trials; the next session of the run asks for them again.

    Parameters
    ----------
    study:
        What was asked.
    place:
        Folder or URL of the run.
    reasons:
        By trial: why its reply no longer counts.
    progress:
        What is told on the way.

    Raises
    ------
    RunError
        Another process writes the run, or it cannot be written.
    """
    table = pl.DataFrame({"trial": [*reasons], "why": [*reasons.values()]}, {"trial": pl.UInt64, "why": pl.String})
    if isinstance(place, str):
        _of_objects(study, Objects.at(place), table, progress)
    else:
        _of_folder(place, table)


def _of_folder(folder: Path, reasons: pl.DataFrame) -> None:
    with RunLock(folder):
        run = read_manifest(folder)
        recover(folder, run.id)
        for path in shard_paths(folder):
            try:
                inspect(path)
            except UNREADABLE:
                continue  # it is set aside when the run goes on
            rows = read_table(path)
            if (changed := _mark_withdrawn(rows, reasons)).equals(rows):
                continue
            write_shard(folder, number_of(path), changed, run.id)
            run = replace(run, shards=tuple(other.name for other in shard_paths(folder) if other != path))
            write_manifest(folder, run)
            path.unlink()  # a kill before this leaves the reply as it was


def _of_objects(study: Study, objects: Objects, reasons: pl.DataFrame, progress: Progress) -> None:
    with Lease(objects, progress.note):
        run, _ = read_run(objects)
        for unit in listed_units(objects, run.shards):
            rows = read_unit(objects, unit.key, run.id)
            if (changed := _mark_withdrawn(rows, reasons)).equals(rows):
                continue
            stored, facts = objects.get(unit.key), unit_facts(objects, unit.key, run.id)
            if stored is not None and facts is not None:
                na = int(without_answer(study, changed).sum())
                counts = UnitFacts(**asdict(facts) | facts_of(changed, na, exact=run.exact))
                if objects.replace(unit.key, encoded(changed, counts), stored[1]) is not None:
                    continue
            raise RunError(f"{objects.called(unit.key)} was changed by another process: give the command again.")


def _mark_withdrawn(rows: pl.DataFrame, reasons: pl.DataFrame) -> pl.DataFrame:
    """Rows of a shard, those withdrawn as failures."""
    why = rows.select("trial").join(reasons, on="trial", how="left", maintain_order="left")["why"]
    withdrawn = why.is_not_null() & (rows["status"] != Status.ERROR.value)
    return rows.with_columns(
        pl.when(withdrawn).then(pl.lit(Status.ERROR.value).cast(STATUS)).otherwise("status").alias("status"),
        pl.when(withdrawn).then(why).otherwise("error").alias("error"),
    )


SAME_LIST = "same.csv"
"""File beside the manifest that lists pictures that are the same as others of their set."""
_LARGEST_LIST = 64 * 2**20
_LOST = "The picture was lost."
_OUTDATED = "It was edited from a picture that was made anew since."


class MakingOutcome(NamedTuple):
    """Outcome of a session of a making.

    Attributes
    ----------
    summary:
        Counts.
    pictures:
        The manifest.
    anew:
        Pictures that had been made before, and were to be made anew.
    same:
        Those that are the same as another of their set: edits that changed nothing.
    """

    summary: RunSummary
    pictures: pl.DataFrame
    anew: int
    same: SamePictures = SamePictures(0)


def make(
    prepared: PreparedMaking,
    generator: PictureGenerator,
    editor: PictureGenerator,
    progress: Progress,
    *,
    digests: bool = False,
    again: Sequence[str] = (),
) -> MakingOutcome:
    """Make what is not there yet, and list what is; neither generator nor editor is closed.

    Pictures that were made and are missing are made anew, and so are edits of one that then is another picture; so much
    is seen by names and sizes. `digests`: read every picture that is there, to find those that are damaged, too.
    `again`: ids of pictures that failed a check, and are made again with another seed.

    Raises what `run` raises, and `ModelSpecError` as of `check_abilities`. The manifest lists what was made, however
    the making ends.
    """
    check_abilities(prepared.plan, generator, editor)
    prepared = prepared.of_kinds(generator.capabilities.kind, editor.capabilities.kind)
    album = album_at(prepared.place)

    def ask() -> RunSummary:
        return begin(prepared.run, _model(prepared, generator, editor, album), progress)

    try:
        return made_by(prepared, ask, progress, digests=digests, again=again)
    finally:
        album.sync()


def made_by(
    prepared: PreparedMaking,
    ask: Callable[[], RunSummary],
    progress: Progress,
    *,
    digests: bool,
    again: Sequence[str] = (),
) -> MakingOutcome:
    """Have all pictures asked for, again where any have to be made anew, and list those that are there.

    `ask`: one session of the run. `again`: as of `make`.
    """
    if again:
        _withdraw_failed(prepared, again, progress)
    if prepared.left_out:
        progress.note(f"{prepared.left_out} Another generator makes all.")
    anew, early, is_checked = 0, prepared.run.study.design.size, False
    try:
        summary, records = ask(), _records(prepared)
        while summary.complete:
            current = records if is_checked else _without_lost(prepared, records, progress, digests)
            current = _without_outdated(prepared, current, progress)
            withdrawn, is_checked = records.height - current.height, True
            previous, early = early, early_edits(current)  # units of a making in object storage may come in any order
            if not withdrawn and not 0 < early < previous:
                break
            summary, records = _merge_summaries(summary, ask()), _records(prepared)
            anew += withdrawn
    except BaseException:
        with contextlib.suppress(FaceValueError, OSError):  # what ended the making says more, and is on its way already
            list_made(prepared, _records(prepared))
        raise
    pictures = list_made(prepared, records)
    same = same_made(pictures, prepared.place)
    _list_same(prepared.place, same)
    return MakingOutcome(summary, pictures, anew + len(again), same)


def _withdraw_failed(prepared: PreparedMaking, images: Sequence[str], progress: Progress) -> None:
    """Have pictures made again that failed a check, each with another seed than before."""
    trials = {name: trial for trial, name in enumerate(requested_pictures(prepared.run.study.manifest)[IMAGE])}
    if unknown := next((name for name in images if name not in trials), None):
        raise UnknownNameError("picture that is made", unknown, trials)
    try:
        times = times_again(run_folder(prepared.run))
    except (FaceValueError, OSError):
        raise RunError(f"{prepared.place}: nothing was made there yet that could be made again.") from None
    reasons = {trials[name]: FAILED_CHECK.format(times.get(trials[name], 0) + 1) for name in images}
    withdraw(prepared.run.study, prepared.run.folder, reasons, progress)
    progress.note(f"{_count_pictures(len(images), images[0])} made again with another seed.")


def _list_same(place: Path | str, same: SamePictures) -> None:
    """Write down which pictures are the same as others of their set; a list of an earlier time is emptied."""
    if same.pairs or read_placed(place, SAME_LIST, _LARGEST_LIST, "a list of pictures"):
        table = pl.DataFrame(same.pairs, {IMAGE: pl.String, "same_as": pl.String}, orient="row")
        write_placed(place, SAME_LIST, csv_bytes(table))


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


def _records(prepared: PreparedMaking) -> pl.DataFrame:
    """Records of the pictures that were asked for so far."""
    return named_records(run_folder(prepared.run))


def _without_lost(prepared: PreparedMaking, records: pl.DataFrame, progress: Progress, digests: bool) -> pl.DataFrame:
    """Have pictures that were made, and are missing or damaged, made anew; return the records of the others."""
    faults = picture_faults(records, prepared.place, digests=digests)
    if not faults:
        return records
    reasons = {trial: f"{_LOST} {fault}" for trial, fault in faults.items()}
    withdraw(prepared.run.study, prepared.run.folder, reasons, progress)
    example = requested_pictures(prepared.run.study.manifest)[IMAGE][min(faults)]
    progress.note(f"{_count_pictures(len(faults), example)} missing or damaged, and made anew.")
    return records.filter(~pl.col("trial").is_in([*faults]))


def _without_outdated(prepared: PreparedMaking, records: pl.DataFrame, progress: Progress) -> pl.DataFrame:
    """Have edits made anew whose source is another picture by now; return the records of the others."""
    outdated = outdated_edits(records)
    if not outdated:
        return records
    withdraw(prepared.run.study, prepared.run.folder, dict.fromkeys(outdated.values(), _OUTDATED), progress)
    reason = "made anew: what was edited is another picture by now"
    progress.note(f"{_count_pictures(len(outdated), min(outdated))} {reason}.")
    return records.filter(~pl.col("trial").is_in([*outdated.values()]))


def _count_pictures(count: int, example: str) -> str:
    return f"The picture {example} is" if count == 1 else f"{count:,} pictures, such as {example}, are"


def _merge_summaries(first: RunSummary, second: RunSummary) -> RunSummary:
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
