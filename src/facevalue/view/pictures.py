"""Pictures of documents: names under which they are asked for, and their bytes, decoded and written anew."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import polars as pl
from PIL import Image, UnidentifiedImageError

from facevalue.errors import DataError
from facevalue.report.blocks.content import smaller
from facevalue.report.collect import asked_first
from facevalue.report.data import AskedQuestion
from facevalue.report.formatting import Titles
from facevalue.runs.attention_maps import maps_of
from facevalue.runs.pictures import load_shown
from facevalue.runs.requests import RequestBuilder, stimulus_columns
from facevalue.runs.stored_run import StoredRun
from facevalue.untrusted_files import read_file
from facevalue.view.answer_index import index_of
from facevalue.view.open_runs import RunState

LARGE, SMALL = 1024, 256
"""Longest side in pixels."""
_MOST, _MOST_KEPT = 8, 512
"""Pictures of a trial; those that are kept of a run once they were asked for."""
_APART = ("block", "image", "path", "identity", "set", "seed", "intervention")
_NAME = re.compile(r"(asked|(?:attention-)?[0-9]{1,19})-([0-9]{1,2})")
_CAPTION = 200  # characters
_MAPS, _LARGEST_MAP = "attention-", 32 * 2**20
_FAILED, _WAITING = "What was asked could not be looked up", "What was asked is being looked up."


@dataclass(frozen=True, slots=True)
class PictureRef:
    """A picture of a document; width and height are null where it was not looked at for that."""

    src: str
    caption: str
    width: int | None = None
    height: int | None = None


def captions(run: StoredRun, factors: pl.DataFrame, titles: Titles) -> list[str]:
    """Caption of each trial: the levels of what it shows."""
    names = [name for name in stimulus_columns(run.study) if name in factors.columns and not name.startswith(_APART)]
    return [caption(row, titles) for row in factors.select(names).iter_rows(named=True)]


def caption(levels: Mapping[str, str | None], titles: Titles) -> str:
    """Levels in words; an attribute is told with its variation."""
    texts = []
    for name, level in levels.items():
        if level is None or (name == "attribute" and levels.get("variation") is not None):
            continue
        is_variation = name == "variation"
        texts.append(titles.variation(levels.get("attribute"), level) if is_variation else titles.get(name, level))
    text = ", ".join(dict.fromkeys(texts))
    return text if len(text) <= _CAPTION else f"{text[: _CAPTION - 1]}…"


def list_pictures(state: RunState, factors: pl.DataFrame) -> Iterator[tuple[PictureRef, ...]]:
    """Pictures of trials, for each row; none where the run's pictures were not named."""
    run, trials = state.run, factors["trial"].to_numpy().astype(np.int64)
    texts = captions(run, factors, state.titles)
    counts = _counts(run, trials)
    for trial, text, count in zip(trials.tolist(), texts, counts, strict=True):
        yield tuple(PictureRef(f"picture/{state.number}/{trial}-{at}", text) for at in range(min(count, _MOST)))


def _counts(run: StoredRun, trials: np.ndarray) -> list[int]:
    """Number of pictures that each trial shows, where they may be shown."""
    if not trials.size or not run.pictures_named:
        return [0] * trials.size
    asking = RequestBuilder(run.study, run.facts.exact, run.facts.asked_of)
    out = [0] * trials.size
    order = np.argsort(trials, kind="stable")
    chunk = asking.chunk(trials[order], np.ones((trials.size, 1), dtype=np.bool_))
    with suppress(DataError):  # a picture that is gone; the page of its trial says so
        for first, stop, stimulus in asking.stimuli(chunk):
            count = 1 if stimulus.pictures is None else stimulus.pictures
            for place in order[first:stop].tolist():
                out[place] = count
    return out


def asked_question(state: RunState) -> AskedQuestion | None:
    """The question of a run's first screen, with its pictures; None where none was answered.

    Raises
    ------
    NotYetError
        It is being looked for.
    DataError
        It cannot be found.
    """
    index, (estimates, _) = index_of(state), state.estimates_and_tally
    return state.make_in_background(
        "asked", lambda: asked_first(state.run, estimates, index.trials, index.rows_of), _FAILED, _WAITING
    )


def pictures_of_question(state: RunState, question: AskedQuestion | None) -> tuple[PictureRef, ...]:
    """Pictures beside the question of a run's first screen."""
    pictures: Sequence[tuple[str, bytes]] = question.pictures if question else ()
    return tuple(PictureRef(f"picture/{state.number}/asked-{at}", text) for at, (text, _) in enumerate(pictures))


def picture_bytes(state: RunState, name: str, *, small: bool = False) -> bytes:
    """A picture by its name, as WebP.

    Raises
    ------
    DataError
        There is none of that name, or it may not be shown, with the reason.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise DataError("There is no picture of that name.")
    encoded = state.make_once(
        "pictures", lambda: lru_cache(_MOST_KEPT)(partial(_encode_picture, state))
    )  # gone with the state
    return encoded(match[1], int(match[2]), SMALL if small else LARGE)


def _encode_picture(state: RunState, trial: str, at: int, longest: int) -> bytes:
    data = smaller(_original(state, trial, at), longest)
    if data is None:
        raise DataError("That is no picture that can be shown.")
    return data


def _original(state: RunState, trial: str, at: int) -> bytes:
    if trial == "asked":
        question = asked_question(state)
        pictures = question.pictures if question else ()
        if at < len(pictures):
            return pictures[at][1]
        raise DataError("There is no picture of that name.")
    if trial.startswith(_MAPS):
        return _map(state, int(trial.removeprefix(_MAPS)), at)
    number = int(trial)
    if number >= state.run.study.design.size:
        raise DataError("There is no picture of that name.")
    look = load_shown(state.run, number, state.rows_of(number) if state.rows_of else None)
    if at >= len(look.images):
        raise DataError(f"Trial {number:,}: {look.why or 'no picture'}.")
    return look.images[at].data


def _map(state: RunState, trial: int, at: int) -> bytes:
    """A map of attention."""
    maps = maps_of(state.run.folder, trial)
    if at >= len(maps):
        raise DataError("There is no picture of that name.")
    return read_file(maps[at].path, _LARGEST_MAP, "a map of attention")


def image_size(data: bytes) -> tuple[int, int] | tuple[None, None]:
    """Width and height of a picture as it is served; nothing of what is no picture."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            share = min(LARGE / max(image.size), 1.0)
            return round(image.width * share), round(image.height * share)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None, None
