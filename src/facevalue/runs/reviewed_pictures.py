"""Pictures that fail by what people say of them, and results without the answers about these."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, FaceValueError
from facevalue.places import MAKING_FOLDER
from facevalue.protocol.making import IMAGE
from facevalue.runs.passing_answers import PassingAnswers, answers_without
from facevalue.runs.picture_ratings import PictureSet
from facevalue.runs.rated_pictures import PictureAnswers
from facevalue.runs.ratings import read_kept
from facevalue.runs.shown_pictures import pictures_of
from facevalue.runs.stored import StoredRun

_HALF = 0.5


def reviewed_answers(runs: Sequence[StoredRun]) -> PassingAnswers:
    """Take the results of runs again without answers about pictures that fail their review, and paired differences.

    Raises
    ------
    DataError
        Nobody has looked at the pictures of a run.
    """
    failing: set[str] = set()
    for run in runs:
        reviews = _reviews(run)
        if not reviews:
            raise DataError(
                f"{run.place}: nobody has looked at its pictures yet: facevalue review RUN --task picture --out DIR."
            )
        for pictures, ratings in reviews:
            failing |= failing_pictures(pictures, ratings)
    return answers_without(runs, failing, "their review by people")


def failing_pictures(pictures: PictureSet, ratings: pl.DataFrame) -> set[str]:
    """Pictures of which most answers to a question speak against them; as many as speak for them are not enough."""
    answers = PictureAnswers.of(ratings, pictures.items, pictures.unit, pictures.groups).answers
    shares = answers.filter(pl.col("fine") != "").group_by(IMAGE, "question").agg(pl.col("counts").mean())
    return set(shares.filter(pl.col("counts") < _HALF)[IMAGE])


def _reviews(run: StoredRun) -> list[tuple[PictureSet, pl.DataFrame]]:
    """What people said of the pictures of a run: in the run itself, and where they were made."""
    places = [run]
    if "manifest" in run.study.options:
        with suppress(FaceValueError, OSError):  # they may not have been made by us, or lie elsewhere by now
            places.append(StoredRun.open(Path(str(run.study.options["manifest"])).parent / MAKING_FOLDER))
    by_place = ((place, read_kept(place.folder)) for place in places)
    rated = [(pictures_of(place), ratings) for place, ratings in by_place if ratings is not None]
    return [  # ratings may be of a study's own statements alone
        (pictures, ratings) for pictures, ratings in rated if set(ratings["item"]) & set(pictures.items["item"])
    ]
