"""Pictures, inspected, from Python."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import polars as pl

from facevalue.api.calls import place_of, progress_of
from facevalue.api.run import Run
from facevalue.arguments import check_arguments, checked_path
from facevalue.errors import RunError
from facevalue.inspection.inspector import places_of
from facevalue.protocol.picture_checks import USUAL, read_rules
from facevalue.runs.inspecting import inspect_pictures as inspect_listed
from facevalue.runs.picture_acceptance import Balance, GroupShare, Limit
from facevalue.runs.progress import Progress
from facevalue.runs.stored_run import StoredRun
from facevalue.studies.declared.pictures import PROTOCOL


@dataclass(frozen=True)
class Inspected:
    """Pictures that were inspected.

    Attributes
    ----------
    place:
        Folder or URL of the checks, for the setting `exclude` of studies.
    pictures:
        A row per picture with its quantities, `accepted` and `reasons`; null in pictures that could not be inspected.
    shares, balance:
        Share that passes, of all and by group with its interval over people, and whether groups pass alike.
    limits:
        Limits that known pairs gave.
    run:
        The run that inspected them, which measures and reports like any other.

    Examples
    --------
    Made by `inspect_pictures`, never by hand:

    >>> Inspected.__annotations__["run"].__name__
    'Run'
    """

    place: Path | str
    pictures: pl.DataFrame
    shares: tuple[GroupShare, ...]
    balance: tuple[Balance, ...]
    limits: tuple[Limit, ...]
    run: Run

    @property
    def accepted(self) -> pl.DataFrame:
        """The pictures that pass."""
        return self.pictures.filter("accepted")

    def __repr__(self) -> str:
        return f"Inspected({str(self.place)!r}, accepted={self.accepted.height:,}, of={self.pictures.height:,})"


@check_arguments
def inspect_pictures(
    place: str | PathLike[str],
    folder: str | PathLike[str] | None = None,
    *,
    models: Mapping[str, str] | None = None,
    rules: str | PathLike[str] | None = None,
    root: str | PathLike[str] | None = None,
    cue: str = "",
    device: str | None = None,
    progress: bool | Progress = True,
) -> Inspected:
    """Inspect each picture of a list beside its source, and say which pass; or go on where an earlier call stopped.

    Parameters
    ----------
    place:
        A folder or URL that `make` filled, or a list of pictures.
    folder:
        Where the run goes, a folder or a URL; `checks` beside the list by default.
    models:
        Models on this machine by what they are for: `{"identity": "dlib"}`, or folders of transformers for objects,
        agreement, structure, age, gender, group, expression and unsafe.
    rules:
        A TOML file of rules by which pictures pass; by default those that can be opened and show something do, and
        edits that are no copy of their source.
    root:
        The folder that paths are relative to; the list's by default.
    cue:
        The column that says what was edited.
    device:
        Where models compute: "cpu", "cuda", "cuda:1".
    progress:
        Whether to show how far it is, or where to report it.

    Raises
    ------
    DataError, UnknownNameError
        There are no such pictures, a rule is none, or nothing was computed of what it is about.
    ModelError, DependencyError
        A model is not there, or needs a package that is not installed.
    RunError
        The folder belongs to an inspection with other settings, or cannot be written; or not every picture was looked
        at, and the same call goes on.
    KeyboardInterrupt
        It was interrupted. What was inspected is kept, and the same call resumes.

    Examples
    --------
    >>> inspect_pictures("faces.csv", models={"identiti": "dlib"}, progress=False)
    Traceback (most recent call last):
    facevalue.errors.UnknownNameError: Unknown aid of an inspector 'identiti'. Did you mean 'identity'? Known: age, \
agreement, expression, gender, group, identity, objects, peers, structure, unsafe.
    """
    outcome = inspect_listed(
        place_of(place),
        places_of(",".join(f"{kind}={model}" for kind, model in models.items())) if models else {},
        None if folder is None else place_of(folder),
        progress_of(progress),
        rules=USUAL if rules is None else read_rules(checked_path(rules)),
        root="" if root is None else str(checked_path(root)),
        cue=cue,
        device=device,
    )
    if outcome.summary.interrupted:
        raise KeyboardInterrupt(f"{outcome.place} holds what was inspected: the same call resumes.")
    inspections, acceptance = outcome.inspections, outcome.acceptance
    if inspections is None or acceptance is None:
        raise RunError(
            f"{outcome.place}: {outcome.summary.failure or 'not every picture was inspected'}. Call it again."
        )
    run = Run(StoredRun.open(outcome.place, protocol=PROTOCOL), outcome.summary)
    return Inspected(
        outcome.place,
        acceptance.add_verdicts(inspections.table),
        acceptance.shares,
        acceptance.balance,
        acceptance.limits,
        run,
    )
