"""Checks before the first request is paid for."""

from pathlib import Path

import numpy as np
import polars as pl

from facevalue.arguments import argument, check_fields
from facevalue.errors import DataError, ModelError, RunError
from facevalue.models.base import Capabilities, Expecting, Model, Selective
from facevalue.parquet import read_table
from facevalue.printable import quote
from facevalue.protocol.study import Study
from facevalue.runs.open_requests import Completion
from facevalue.runs.requests import Index, RequestBuilder, TrialNumbers, stimulus_columns
from facevalue.stimuli.manifest_rows import PicturesError
from facevalue.store.files import STIMULI
from facevalue.store.reader import distinct, scan_stored
from facevalue.types import Question, Request

_KINDS = 8
_SPOTS = 200
_MOST = 200_000  # stimuli looked at again; of more, so many evenly spread
_BATCH = 2**18  # trials


def check_limits(study: Study, model: Model, numbers: TrialNumbers, exact: bool, images: bool) -> Capabilities:
    """Compare what the study needs with what the model can do."""
    check_shown(study)
    if isinstance(model, Expecting):
        model.expect(study.draws.sampling)
    can = model.capabilities
    if not isinstance(can, Capabilities):
        raise ModelError(f"The capabilities of {model.name} are {quote(can)}, not Capabilities.")
    if exact and can.probabilities == "none":
        raise ModelError(
            f"{model.name} gives no option probabilities, so the run cannot be exact. Run it sampled instead."
        )
    if study.repeats * (1 + study.draws.reasks) > 256:
        raise RunError(
            f"{study.repeats} seeds with {study.draws.reasks} re-asks are more than the 256 repeats a trial may have."
        )
    if exact:
        check_options(study, numbers)
    firsts = _first_trials(study, numbers)
    _check_questions(study, firsts[:_KINDS])
    if images and firsts.size:
        frame = study.design.trials(firsts)
        rows = frame.select(stimulus_columns(study)).to_dicts()
        for number, levels in zip(study.design.stimulus_numbers(firsts).tolist(), rows, strict=True):
            try:
                stimulus = study.source.stimulus(number, levels)
                pictures = len(stimulus.load()) if stimulus.pictures is None else stimulus.pictures
            except DataError:
                if can.images_per_request:
                    continue  # `check_images` names it together with all others
                raise
            if pictures > can.images_per_request:
                raise ModelError(
                    f"{study.name} shows {_images(pictures)} in one request (block {levels['block']!r}); {model.name} "
                    f"takes {_images(can.images_per_request) if can.images_per_request else 'none'}."
                )
    if isinstance(model, Selective) and (reason := model.unfit(_looked_at(study, numbers, firsts))):
        raise ModelError(reason)
    return can


def shows_pictures(study: Study, numbers: TrialNumbers) -> bool:
    """Return whether a run shows any picture, by the first trial of each of its blocks."""
    firsts = _first_trials(study, numbers)
    if not firsts.size:
        return False
    rows = study.design.trials(firsts).select(stimulus_columns(study)).to_dicts()
    stimuli = map(study.source.stimulus, study.design.stimulus_numbers(firsts).tolist(), rows)
    return any(stimulus.pictures != 0 and (stimulus.pictures or stimulus.load()) for stimulus in stimuli)


def _check_questions(study: Study, trials: Index) -> None:
    """Refuse questions of someone's own whose fields are not what they should be; a few of all kinds are looked at."""
    check_fields(study.draws.sampling)
    for question in study.ask(study.design.trials(trials)) if trials.size else ():
        check_fields(argument(study.name, "what it asks", question, Question))
        for record in (*question.options, question.sampling or study.draws.sampling):
            check_fields(record)


def _looked_at(study: Study, numbers: TrialNumbers, firsts: Index) -> list[Request]:
    """A few requests of all kinds: the first of each block, and some from the whole run."""
    spread = numbers.take(np.linspace(0, numbers.size - 1, _KINDS).astype(np.int64)) if numbers.size else firsts
    trials = np.unique(np.concatenate([firsts[:_KINDS], spread]))
    frame = study.design.trials(trials)
    rows = frame.select(stimulus_columns(study)).to_dicts()
    stimuli = [
        study.source.stimulus(*pair) for pair in zip(study.design.stimulus_numbers(trials).tolist(), rows, strict=True)
    ]
    return [
        Request(trial, 0, study.draws.seeds[0], stimulus, question, study.draws.sampling, False, study.draws.constrain)
        for trial, stimulus, question in zip(trials.tolist(), stimuli, study.ask(frame), strict=True)
    ]


def check_shown(study: Study) -> None:
    """Refuse a study of which nothing can be shown: it can be planned alone."""
    if study.planned.unshown:
        raise DataError(study.planned.unshown)


def check_options(study: Study, numbers: TrialNumbers) -> None:
    """Look whether all questions of an exact run have options; it needs no model."""
    firsts = _first_trials(study, numbers)
    if not firsts.size:
        return
    frame = study.design.trials(firsts)
    free = pl.Series([not question.options for question in study.ask(frame)])
    if free.any():
        name = frame.filter(free)["block"][0]
        raise RunError(
            f"Block {name!r} of {study.name} asks for free text, which has no option probabilities. "
            f"{_with_options(study, frame.filter(~free), frame.filter(free))}"
        )


def _with_options(study: Study, optioned: pl.DataFrame, free: pl.DataFrame) -> str:
    """Advice on blocks without options: ask the others alone, if a setting can say so, or sample."""
    if optioned.is_empty():
        return "Run it sampled."
    for name in study.options:
        if name not in optioned.columns or optioned[name].null_count() or free[name].null_count():
            continue
        levels = optioned[name].cast(pl.String).unique(maintain_order=True).to_list()
        if not set(levels) & set(free[name].cast(pl.String)):
            return f"Ask only what has options (--{name.replace('_', '-')} {','.join(levels)}), or run it sampled."
    blocks = ", ".join(optioned["block"].cast(pl.String))
    return f"Run it sampled; only {blocks} could be exact."


def _images(count: int) -> str:
    return "1 image" if count == 1 else f"{count} images"


def _first_trials(study: Study, numbers: TrialNumbers) -> Index:
    """First trial of the run in each block that has any."""
    bounds = np.cumsum([0, *(len(block) for block in study.design.blocks)], dtype=np.int64)
    if numbers.chosen is None:
        return bounds[:-1][np.diff(bounds) > 0]
    at = np.searchsorted(numbers.chosen, bounds)
    return numbers.chosen[at[:-1][np.diff(at) > 0]]


def check_images(study: Study, completion: Completion) -> None:
    """Let the source look at every stimulus of which something is still to be asked; name all that are missing."""
    columns, last = stimulus_columns(study), -1
    problems: dict[str, str] = {}
    for start in range(0, completion.numbers.size, _BATCH):
        trials = completion.numbers.numbers_at(start, start + _BATCH)
        trials = trials[completion.open(start, start + _BATCH).any(axis=1)]
        if not trials.size:
            continue
        stimuli = study.design.stimulus_numbers(trials)
        firsts = trials[np.flatnonzero(np.diff(stimuli, prepend=last))]
        last = int(stimuli[-1])
        if not firsts.size:
            continue
        try:
            study.source.check(study.design.trials(firsts).select(columns).to_dict(as_series=False))
        except PicturesError as error:
            problems |= error.problems
    if problems:
        raise PicturesError(problems)


def check_pictures(study: Study) -> None:
    """Let the source look at every picture of the user's own; a `PicturesError` names those that cannot be shown."""
    if "path" in study.manifest.columns:
        study.source.check({"image": study.manifest["image"].to_list()})


def check_unchanged(study: Study, folder: Path, completion: Completion, asking: RequestBuilder) -> None:
    """Ask a stored trial of every stimulus, and some besides, again in thought: would the model get to see the same?"""
    stored_trials, stored_repeats = (
        completion.one_each(study.design.stimulus_numbers, _MOST),
        completion.one_each(lambda trial: trial, _SPOTS),
    )
    trials, repeats = (np.concatenate(pair) for pair in zip(stored_trials, stored_repeats, strict=True))
    if not trials.size:
        return
    sample = pl.DataFrame({"trial": trials.astype(np.uint64), "repeat": repeats.astype(np.uint8)})
    keys = scan_stored(folder).select("trial", "repeat", "status", "request")
    rows = distinct(keys.join(sample.lazy(), on=["trial", "repeat"], how="semi", maintain_order="left")).collect()
    numbers, place = np.unique(rows["trial"].to_numpy().astype(np.int64), return_inverse=True)
    chunk = asking.chunk(numbers, np.ones((numbers.size, 1), dtype=np.bool_))
    for _ in asking.stimuli(chunk):
        pass
    now = asking.request_hashes(
        chunk.stimulus_hashes[place], chunk.question_hashes[place], rows["repeat"].to_numpy().astype(np.int64)
    )
    changed = np.flatnonzero(now != rows["request"].to_numpy())
    if changed.size:
        trial = int(rows["trial"][int(changed[0])])
        levels = study.design.trials([trial]).drop("trial").row(0, named=True)
        described = ", ".join(f"{name} {level}" for name, level in levels.items() if level is not None)
        raise RunError(
            f"An image or prompt has changed since {folder} was begun: {changed.size} of {rows.height} stored answers "
            f"looked at were given to something else, such as trial {trial} ({described}). Restore it, or name another "
            "folder."
        )


def check_stimuli_table(study: Study, folder: Path) -> bool:
    """Compare the study's table of images with the one in the folder; False if there is none yet."""
    path = folder / STIMULI
    if not path.exists():
        return False
    try:
        before = read_table(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error
    if not _text(before).equals(_text(study.manifest)):
        raise RunError(
            f"{path} lists other images ({before.height:,}) than the study now has ({study.manifest.height:,}). Trial "
            "numbers would mean something else: name another folder."
        )
    return True


def _text(frame: pl.DataFrame) -> pl.DataFrame:
    """Categories as text, as files may bring them back as another type of the same values."""
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
