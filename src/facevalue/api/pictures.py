"""Pictures made to order, and inspected, from Python."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import polars as pl

from facevalue.api.calls import place_of, progress_of
from facevalue.api.run import Run
from facevalue.arguments import check_arguments, checked_path
from facevalue.errors import RunError, SettingError
from facevalue.generators.base import GeneratorOptions, PictureGenerator
from facevalue.generators.registry import DRAWN, checked_generator, load
from facevalue.inspection.inspector import places_of
from facevalue.protocol.making import PicturePlan
from facevalue.protocol.picture_checks import USUAL, read_rules
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import check_together, defaults
from facevalue.runs.makings.making import make as make_prepared
from facevalue.runs.makings.preparation import prepare_making
from facevalue.runs.own_pictures.acceptance import Balance, GroupShare, Limit
from facevalue.runs.own_pictures.inspection import inspect_pictures as inspect_listed
from facevalue.runs.progress import Progress
from facevalue.runs.settings import RunSettings
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import STIMULI
from facevalue.studies import protocol
from facevalue.studies.declared.pictures import PROTOCOL
from facevalue.studies.offers import making_of
from facevalue.types import OptionValue


@dataclass(frozen=True)
class Made:
    """Pictures that were made.

    Attributes
    ----------
    place:
        Their folder or URL.
    pictures:
        The manifest: a row per picture that is there.
    run:
        The run that made them: who was refused, and what failed.

    Examples
    --------
    Made by `make`, never by hand:

    >>> Made.__annotations__["run"].__name__
    'Run'
    """

    place: Path | str
    pictures: pl.DataFrame
    run: Run

    @property
    def manifest(self) -> str:
        """The file that lists them, for the setting `manifest` of studies."""
        return f"{self.place}/{STIMULI}"

    def __repr__(self) -> str:
        return f"Made({str(self.place)!r}, pictures={self.pictures.height:,}, of={self.run.stored.study.design.size:,})"


@check_arguments
def make(
    study: str | PathLike[str] | Protocol | PicturePlan,
    generator: str | PictureGenerator,
    folder: str | PathLike[str] | None = None,
    *,
    editor: str | PictureGenerator | None = None,
    choices: Mapping[str, OptionValue] | None = None,
    sample: int | None = None,
    seed: int = 0,
    size: tuple[int, int] | None = None,
    settings: Mapping[str, str | int | float | bool] | None = None,
    editor_settings: Mapping[str, str | int | float | bool] | None = None,
    price: float | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    max_cost: float | None = None,
    concurrency: int = 4,
    check_pictures: bool = False,
    again: Sequence[str] = (),
    name: str | None = None,
    progress: bool | Progress = True,
) -> Made:
    """Have the pictures of a study made, or go on where an earlier call stopped.

    Parameters
    ----------
    study:
        A study that has pictures made, its file, or a plan of one's own.
    generator, editor:
        Who makes pictures from texts and who edits them, the same one by default: "drawn", "replay/PATH",
        "diffusers/FOLDER_OR_ID", "openai/MODEL", "http://HOST/v1#MODEL", or an object with the methods of
        `generators.base.PictureGenerator`.
    folder:
        Where they go, a folder or a URL; made/STUDY by default.
    choices:
        Settings of what the study has made, such as `{"faces": "2"}`.
    sample, seed:
        So many pictures in whole units, and which; all by default.
    size, settings, editor_settings:
        Width and height in pixels, and settings of the generator's and editor's own.
    price, price_in, price_out:
        Price of a picture, and of a million tokens of prompts and replies.
    max_cost:
        Stop when the pictures, earlier calls included, have cost this much; needs a price.
    concurrency:
        Pictures asked of a server at once.
    check_pictures:
        Whether to read every picture that is there, and to have those made anew that are damaged; those that are
        missing always are.
    again:
        Ids of pictures that failed a check, which are made again with another seed.
    name:
        What the making is called beside others.
    progress:
        Whether to show how far it is, or where to report it.

    Raises
    ------
    SettingError, UnknownNameError
        The study has nothing made, or there is no such generator or setting.
    RunError
        The folder belongs to a making with other settings, or cannot be written.
    ModelError
        The generator cannot make what is wanted, or fails for good; what was made is kept.
    KeyboardInterrupt
        It was interrupted. What was made is kept and listed, and the same call resumes.

    Examples
    --------
    >>> from facevalue.protocol.making import PicturePlan
    >>> rows = {"image": ["f1"], "source": [None], "prompt": ["An old man"], "picture_seed": [1], "identity": ["f1"]}
    >>> plan = PicturePlan(table=pl.DataFrame(rows, schema_overrides={"source": pl.String}))
    >>> make(plan, "drwan", progress=False)
    Traceback (most recent call last):
    facevalue.errors.UnknownNameError: Unknown generator 'drwan'. Did you mean 'drawn'? Known: diffusers/FOLDER_OR_ID, \
drawn, http://HOST/v1#MODEL, openai/MODEL, replay/PATH, sim/NAME.
    """
    plan, made_for, options = _plan_pictures(study, choices or {})
    run_settings = RunSettings(
        sample=sample,
        seed=seed,
        price_each=price,
        price_in=price_in,
        price_out=price_out,
        max_cost=max_cost,
        name=name,
    )
    place = Path("made") / made_for if folder is None else place_of(folder)
    prepared = prepare_making(plan, made_for, options, place, run_settings, drawn=generator == DRAWN)
    shared = GeneratorOptions(concurrency=concurrency, size=size)
    loaded: list[PictureGenerator] = []
    try:
        making = _adapter(generator, replace(shared, settings=settings or {}), plan, loaded)
        if editor is None and editor_settings:
            raise SettingError("make: editor_settings are for an editor: name one, or use settings.")
        editing = making
        if editor is not None and (editor != generator or (editor_settings or {}) != (settings or {})):
            editing = _adapter(editor, replace(shared, settings=editor_settings or {}), plan, loaded)
        outcome = make_prepared(
            prepared, making, editing, progress_of(progress), digests=check_pictures, again=tuple(again)
        )
    finally:
        for adapter in loaded:
            adapter.close()
    if outcome.summary.interrupted:
        raise KeyboardInterrupt(f"{place} holds what was made: the same call resumes.")
    return Made(prepared.place, outcome.pictures, Run(StoredRun.open(prepared.run.folder), outcome.summary))


def _plan_pictures(
    study: str | PathLike[str] | Protocol | PicturePlan, choices: Mapping[str, OptionValue]
) -> tuple[PicturePlan, str, dict[str, OptionValue]]:
    """The plan, what it is for, and a value for each setting."""
    if isinstance(study, PicturePlan):
        if choices:
            raise SettingError("make: choices are for what a study has made; a plan of one's own has made them.")
        return study, "pictures", {}
    declaration = study if isinstance(study, Protocol) else protocol(str(study))
    making = making_of(declaration)
    options = defaults(making.settings)
    for name in choices:
        if name not in options:
            raise SettingError(
                f"{declaration.name} has no setting {name!r} of what is made; it has {', '.join(options)}."
            )
    options |= choices
    check_together(making.settings, options)
    return making.plan(options), declaration.name, options


def _adapter(
    generator: str | PictureGenerator, options: GeneratorOptions, plan: PicturePlan, loaded: list[PictureGenerator]
) -> PictureGenerator:
    """An adapter: loaded here, or one of the caller's own, which keeps its settings."""
    if not isinstance(generator, str):
        if options.settings or options.size:
            raise SettingError("make: a generator of one's own is made with its settings and size; leave them out.")
        return checked_generator(generator)
    adapter = load(generator, options, plan.drawn)
    loaded.append(adapter)
    return adapter


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
    def accepted_pictures(self) -> pl.DataFrame:
        """The pictures that pass."""
        return self.pictures.filter("accepted")

    def __repr__(self) -> str:
        return (
            f"Inspected({str(self.place)!r}, accepted={self.accepted_pictures.height:,}, of={self.pictures.height:,})"
        )


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
