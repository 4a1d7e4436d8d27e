"""Replies without a valid answer, as the study understands them."""

from pathlib import Path

import numpy as np
import polars as pl

from facevalue.run.numbers import Index
from facevalue.store import read_responses
from facevalue.studies.base import Study

_OF_RESPONSE = ("trial", "repeat", "status", "text", "probs")


def answers(study: Study, responses: pl.DataFrame) -> pl.DataFrame:
    """Parse stored responses; those with an error are left out, as they are no replies."""
    replies = responses.select(_OF_RESPONSE).filter(pl.col("status") != "error")
    frame = study.design.trials(replies["trial"].to_numpy().astype(np.int64))
    return study.answer(pl.concat([frame, replies.drop("trial")], how="horizontal"))


def count_na(study: Study, responses: pl.DataFrame) -> int:
    """How many replies have no valid answer."""
    return int(answers(study, responses)["na"].is_not_null().sum())


def without_answer(study: Study, folder: Path, trials: Index, repeats: range) -> tuple[Index, Index]:
    """Stored requests whose reply is no valid answer.

    Parameters
    ----------
    study:
        Says what is valid.
    folder:
        The run folder.
    trials:
        Among these trials, ascending.
    repeats:
        Among these repeats.

    Returns
    -------
    Trials and repeats.
    """
    if not trials.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    rows = read_responses(folder, int(trials[0]), int(trials[-1]))
    rows = rows.filter(pl.col("repeat").is_between(repeats.start, repeats.stop - 1))
    if not rows.height:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    invalid = answers(study, rows).filter(pl.col("na").is_not_null())
    return invalid["trial"].to_numpy().astype(np.int64), invalid["repeat"].to_numpy().astype(np.int64)
