"""Pictures behind stored replies: shown again only if they are the ones that were shown."""

from typing import NamedTuple

import numpy as np
import polars as pl

from facevalue.errors import FaceValueError
from facevalue.runs.requests import RequestBuilder
from facevalue.runs.stored import StoredRun
from facevalue.store import read_responses
from facevalue.types import Image

NO_PICTURE = "no picture"
NOT_NAMED = "no picture: pictures are shown only from folders named with --pictures"
CHANGED = "no picture: it was changed since it was shown"
GONE = "no picture: it is not there any more"


class TrialPictures(NamedTuple):
    """Picture and text that a trial showed."""

    images: tuple[Image, ...]
    """The pictures; none where there are none to show."""
    why: str = NO_PICTURE
    """Why there are none, in a few words."""


def shown(run: StoredRun, trial: int, rows: pl.DataFrame | None = None) -> TrialPictures:
    """Load what a stored trial showed.

    A run folder says where its pictures lie, and may come from a stranger: only folders that the user named are read
    (`StoredRun.open`), and only what has the digest that was shown, which is a part of the stored request's hash.
    `rows`: what is stored of the trial, where it was read already.
    """
    study = run.study
    rows = read_responses(run.folder, trial, trial) if rows is None else rows
    stored = rows.filter(pl.col("status") != "error").head(1)
    if not stored.height:
        return TrialPictures(())
    asking = RequestBuilder(study, run.facts.exact, run.facts.asked_of)
    try:
        chunk = asking.chunk(np.array([trial]), np.ones((1, 1), dtype=np.bool_))
        ((_, _, stimulus),) = asking.stimuli(chunk)
        repeat = stored["repeat"].to_numpy().astype(np.int64)
        now = asking.request_hashes(chunk.stimulus_hashes, chunk.question_hashes, repeat)
        if int(now[0]) != stored["request"][0]:
            return TrialPictures((), CHANGED if run.pictures_named else NOT_NAMED)
        images = stimulus.load()
        return TrialPictures(images, "" if images else NO_PICTURE)
    except FaceValueError:
        return TrialPictures((), GONE if run.pictures_named else NOT_NAMED)
