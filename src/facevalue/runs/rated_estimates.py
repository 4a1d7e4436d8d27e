"""Estimates of runs with what people said: of statements that answers imply, and of pictures that were made."""

from collections.abc import Sequence

import polars as pl

from facevalue.measures.estimates import stack_estimates
from facevalue.runs.picture_estimates import people_estimates, rated_in
from facevalue.runs.ratings import FOLDER, read_kept
from facevalue.runs.stored import StoredRun


def with_ratings(estimates: pl.DataFrame, runs: Sequence[StoredRun]) -> tuple[pl.DataFrame, list[str]]:
    """Add the ratings that lie in the folders of runs, each to the models of its run; and sentences about them."""
    offer = runs[0].study.extras.questionnaire
    sentences: list[str] = []
    for run in runs:
        pictures = rated_in(run)
        if pictures is not None:
            estimates = stack_estimates([estimates, people_estimates(run, pictures)])
            sentences.append(f"Ratings of pictures: {pictures.ratings.height:,} by {_raters(pictures.raters)}.")
        ratings = read_kept(run.folder) if offer is not None else None
        if offer is None or ratings is None:
            continue
        agreement = offer.beside(estimates.filter(pl.col("model") == run.model), ratings, run.folder)
        people, count = agreement.ratings["rater"].n_unique(), agreement.ratings.height
        summary = f"{count:,} by {_raters(people)}, from {run.folder / FOLDER}" if count else "none that counts"
        sentences += [*agreement.said, f"Ratings by people: {summary}."]
        estimates = stack_estimates([estimates, agreement.rows])
    return estimates, sentences


def _raters(count: int) -> str:
    return "1 rater" if count == 1 else f"{count:,} raters"
